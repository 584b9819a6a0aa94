from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from callbacks import AverageCheckpoint, RecentCheckpoints
from lit_transformer.runs.checkpoints import CHECKPOINT_FORMAT, AtomicCheckpointIO, read_checkpoint
from tests.callbacks.conftest import Setup


def average(folder: Path, count: int, step: int, **trainer: Any) -> Path:
    given: Any = SimpleNamespace(
        **{
            "is_global_zero": True,
            "default_root_dir": str(folder),
            "global_step": step,
            "strategy": SimpleNamespace(checkpoint_io=AtomicCheckpointIO()),
            **trainer,
        }
    )
    AverageCheckpoint(count).on_fit_finished(given, None)  # type: ignore[arg-type]
    return folder / "checkpoints" / "average.ckpt"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Checkpoints after the steps 2, 4, 10 and 20, whose only weight is the step."""
    (tmp_path / "checkpoints").mkdir()
    for step in (2, 4, 10, 20):
        about = {"format": CHECKPOINT_FORMAT, "version": "0"}
        content = {"state_dict": {"w": torch.tensor([float(step)])}, "global_step": step, "lit_transformer": about}
        torch.save(content, tmp_path / "checkpoints" / f"step={step}.ckpt")
    return tmp_path


@pytest.mark.parametrize(
    ("count", "reached", "steps"),
    [(2, 20, [10, 20]), (3, 20, [4, 10, 20]), (9, 20, [2, 4, 10, 20]), (2, 19, [4, 10]), (5, 2, [2])],
)
def test_the_mean_of_the_last_ones_up_to_the_step_reached(
    run: Path, count: int, reached: int, steps: list[int]
) -> None:
    made = read_checkpoint(average(run, count, reached))
    assert made["state_dict"]["w"].tolist() == pytest.approx([sum(steps) / len(steps)])
    assert made["averaged"] == [f"step={step}.ckpt" for step in steps]
    assert made["global_step"] == steps[-1]


@pytest.mark.parametrize(("count", "first"), [(1, True), (0, True), (5, False)])
def test_when_there_is_none(run: Path, count: int, first: bool) -> None:
    assert not average(run, count, 20, is_global_zero=first).exists()


def test_without_a_validation(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="callbacks"):
        assert not average(run, 5, 1).exists()
    assert caplog.messages == ["No average: there was no validation, so that no checkpoint was kept."]


def test_at_the_end_of_fit(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    module = setup.module()
    with caplog.at_level(logging.INFO, logger="callbacks"):
        trainer = setup.trainer([RecentCheckpoints(2), AverageCheckpoint(2)], max_steps=6)
        trainer.fit(module, datamodule=setup.data())
    assert "average.ckpt is the mean of the checkpoints at steps 4, 6." in caplog.messages
    folder = setup.folder / "checkpoints"
    made = read_checkpoint(folder / "average.ckpt")
    first, second = (read_checkpoint(folder / f"step={step}.ckpt")["state_dict"] for step in (4, 6))
    assert made["state_dict"].keys() == first.keys() == module.state_dict().keys()
    for name, tensor in made["state_dict"].items():
        torch.testing.assert_close(tensor, (first[name] + second[name]) / 2)
    assert any(not torch.equal(first[name], second[name]) for name in first)
    # The model of the program is still that of the last step.
    assert all(torch.equal(tensor, second[name]) for name, tensor in module.state_dict().items())
