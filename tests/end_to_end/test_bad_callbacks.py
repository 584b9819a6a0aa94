"""Options of callbacks that do not exist or mean nothing: one line, as for every other mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.running import tiny_fit
from tests.end_to_end.test_bad_input import refused

CALLBACK = "--trainer.callbacks+=callbacks.ComponentPruning"


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ([CALLBACK, "--trainer.callbacks.cuont=5"], ["callbacks.cuont: ", "(count?)", "it has components, by, "]),
        ([CALLBACK, "--trainer.callbacks.count=five"], ["callbacks.count is 'five'; give a whole number (int)"]),
        ([CALLBACK, "--trainer.callbacks.by=luck"], ["callbacks.by is 'luck'; give one of 'contribution', 'crit"]),
        ([CALLBACK, "--trainer.callbacks.most=maybe"], ["callbacks.most is 'maybe'; give true or false"]),
        (["--trainer.callbacks.count=5"], ["callbacks.count is an option of a callback", "--config prune.yaml"]),
        (["--trainer.callbacks+=callbacks.Prunning"], ["no class 'callbacks.Prunning'", "ComponentPruning, "]),
        (["--trainer.callbacks+=elsewhere.Pruning"], ["no class 'elsewhere.Pruning'", "callbacks.NAME"]),
        (["--trainer.callbacks+=torch.nn.Linear"], ["'torch.nn.Linear', which names no class"]),
        (["--trainer.callbacks+=pytorch_lightning.callbacks.EarlyStopping"], ["EarlyStopping needs monitor"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) and value[-1].startswith("--") else None,
)
def test_of_callbacks(typed: list[str], named: list[str], text: Path, tmp_path: Path) -> None:
    line = refused(tiny_fit(text, *typed), tmp_path, "--trainer.callbacks", *named)
    assert len(line) < 500
    assert "Union" not in line


@pytest.mark.parametrize(
    ("init_args", "named"),
    [
        ("{by: random, cuont: 5}", ["callbacks.cuont: ", "no option 'cuont' (count?)"]),
        ("{by: random, count: five}", ["callbacks.count is 'five'"]),
    ],
)
def test_of_callbacks_in_a_file(init_args: str, named: list[str], text: Path, tmp_path: Path) -> None:
    callback = f"class_path: callbacks.ComponentPruning\n      init_args: {init_args}"
    (tmp_path / "my.yaml").write_text(f"trainer:\n  callbacks:\n    - {callback}\n")
    line = refused(tiny_fit(text, "--config", "my.yaml"), tmp_path, "--trainer.callbacks", *named)
    assert len(line) < 500
    assert "Union" not in line
