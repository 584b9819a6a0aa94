from __future__ import annotations

import sys

import pytest
import torch

from benchmarks.analysis import _options


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
    assert _options().accelerator == "cpu"
