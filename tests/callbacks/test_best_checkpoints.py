from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from callbacks import BestBLEUCheckpoint, BestLossCheckpoint, LastCheckpoint, RecentCheckpoints
from lit_transformer.decoding import DecodingSettings
from lit_transformer.runs.checkpoints import read_checkpoint
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import metric, read_csv


@pytest.fixture(scope="module")
def run(setups: Callable[[], Setup]) -> Path:
    """The folder of a run of 8 steps with a validation after every second one, whose BLEU is greedy."""
    setup = setups()
    kept = [BestLossCheckpoint(), BestBLEUCheckpoint(), RecentCheckpoints(3), LastCheckpoint()]
    module = setup.module(decoding=DecodingSettings(beam=2, max_extra_pieces=3), validation_decoding="greedy")
    setup.trainer(kept).fit(module, datamodule=setup.data())
    return setup.folder


def steps_of(folder: Path) -> dict[str, int]:
    return {path.stem: read_checkpoint(path)["global_step"] for path in (folder / "checkpoints").glob("*.ckpt")}


def test_each_is_there_once_under_its_name(run: Path) -> None:
    names = {path.name for path in (run / "checkpoints").iterdir()}
    recent = {f"step={step}.ckpt" for step in (4, 6, 8)}
    assert names == recent | {"best-loss.ckpt", "best-bleu.ckpt", "last.ckpt"}


def test_they_are_of_the_best_and_the_last_validation(run: Path) -> None:
    # The metrics are logged under the step before, counted from 0.
    loss, bleu = metric(run, "val/loss"), metric(run, "val/bleu_greedy")
    assert len(loss) == len(bleu) == 4
    validated = dict(zip(sorted(loss), (2, 4, 6, 8), strict=True))
    found = steps_of(run)
    assert found["best-loss"] == validated[min(loss, key=loss.__getitem__)]
    assert bleu[next(s for s, step in validated.items() if step == found["best-bleu"])] == max(bleu.values())
    assert found["last"] == 8
    assert {name: step for name, step in found.items() if name.startswith("step=")} == {
        f"step={step}": step for step in (4, 6, 8)
    }


def test_the_module_names_what_can_be_monitored(run: Path, setup: Setup) -> None:
    logged = {row["metric"] for row in read_csv(run / "metrics.csv") if row["metric"].startswith("val/")}
    module = setup.module(decoding=DecodingSettings(beam=2), validation_decoding="greedy")
    assert logged == set(module.validation_metrics)


def test_what_can_be_resumed(run: Path) -> None:
    resumable = {path.stem: "optimizer_states" in read_checkpoint(path) for path in (run / "checkpoints").iterdir()}
    assert resumable == {
        "best-loss": True,
        "best-bleu": True,
        "last": True,
        "step=4": False,
        "step=6": False,
        "step=8": False,
    }


def test_the_last_one_within_an_epoch(setup: Setup) -> None:
    class Notes(LastCheckpoint):
        def __init__(self) -> None:
            super().__init__(every_n_steps=1)
            self.saved: list[int] = []

        def _save_checkpoint(self, trainer: object, filepath: str) -> None:
            super()._save_checkpoint(trainer, filepath)  # type: ignore[arg-type]
            self.saved.append(read_checkpoint(filepath)["global_step"])

    notes = Notes()
    trainer = setup.trainer([notes, LastCheckpoint()], max_steps=5, val_check_interval=3)
    trainer.fit(setup.module(), datamodule=setup.data())
    # Not after step 3, before the validation: a run resumed there would leave that out.
    assert notes.saved == [1, 2, 4, 5]
    assert [path.name for path in (setup.folder / "checkpoints").iterdir()] == ["last.ckpt"]
    assert steps_of(setup.folder) == {"last": 5}
