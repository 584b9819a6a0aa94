from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from benchmarks.analysis import CPU_SIDE_BY_SIDE, _options, main
from tests.end_to_end.running import succeed, tiny_fit, write_text


@pytest.mark.parametrize(
    ("available", "typed", "message"),
    [
        (False, ["--accelerator=gpu"], "--accelerator gpu needs a CUDA device"),
        (True, ["--accelerator=gpu", "--clock=cpu"], "--clock cpu does not count what a GPU computes"),
    ],
)
def test_a_gpu_that_cannot_be_measured(
    available: bool,
    typed: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(sys, "argv", ["analysis.py", *typed])
    with pytest.raises(SystemExit) as stopped:
        _options()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_the_cpu_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["analysis.py"])
    options = _options()
    assert options.accelerator == "cpu"
    assert options.side_by_side == CPU_SIDE_BY_SIDE


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_text(tmp_path / "text")
    succeed(tiny_fit(text, max_steps=3, val_check_interval=3), tmp_path)
    threads = str(torch.get_num_threads())
    few = ["--limit=6", "--runs=1", "--threads", threads, "--k=1", "--beams=2", "--side_by_side=4"]
    monkeypatch.setattr(sys, "argv", ["analysis.py", "--checkpoint", str(*tmp_path.glob("runs/*/version_0")), *few])
    monkeypatch.chdir(tmp_path)
    main()
    shown = capsys.readouterr().out
    assert "### Beam 2" in shown
    rows = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in shown.splitlines()}
    components = int(rows["contribution"][0])
    assert int(rows["criticality"][0]) >= components
    for score in ("contribution", "criticality", "group ablation, k = 1"):
        assert rows[score][2] == "4"
        assert rows[score][6].startswith("0 of")
    assert int(rows["group ablation, k = 1"][0]) == components
    assert any(name.startswith("CTranslate2") for name in rows)
