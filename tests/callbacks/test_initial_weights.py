from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from callbacks import (
    AverageCheckpoint,
    BestBLEUCheckpoint,
    BestLossCheckpoint,
    InitialWeights,
    LastCheckpoint,
    RecentCheckpoints,
)
from lit_transformer.data.batch import Batch
from lit_transformer.errors import UserError
from lit_transformer.model import weights_digest
from lit_transformer.training.initial_weights import FILE, initial_weights_of, load_initial_weights
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import load, same_tensors

SEED = 5


class Watcher(LitTransformer):
    """Looks for the file before each step."""

    file: Path
    seen: list[bool]

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        super().on_train_batch_start(batch, batch_idx)
        self.seen.append(self.file.is_file())


def fit(setup: Setup, *callbacks: Any, start_from: str | None = None, **options: Any) -> LitTransformer:
    """Train for some steps with the callback."""
    module = setup.module(seed=SEED)
    trainer = setup.trainer([InitialWeights(), *callbacks], **options)
    trainer.fit(module, datamodule=setup.data(seed=SEED), start_from=start_from)
    return module


def checkpoint_of(setup: Setup, name: str = "last") -> Path:
    return setup.folder / "checkpoints" / f"{name}.ckpt"


def record_of(checkpoint: Path) -> dict[str, Any] | None:
    found: dict[str, Any] | None = load(checkpoint)["lit_transformer"].get("initial_weights")
    return found


def forget(checkpoint: Path) -> None:
    """Make a checkpoint one of a run that did not keep its initial weights."""
    content = load(checkpoint)
    del content["lit_transformer"]["initial_weights"]
    torch.save(content, checkpoint)


@pytest.fixture(scope="module")
def trained(setups: Callable[[], Setup]) -> tuple[Setup, LitTransformer]:
    """A run with all kinds of checkpoints; nothing may change it."""
    setup = setups()
    kept = [BestLossCheckpoint(), BestBLEUCheckpoint(), RecentCheckpoints(2), AverageCheckpoint(2), LastCheckpoint()]
    return setup, fit(setup, *kept, max_steps=4)


@pytest.fixture
def parent(setups: Callable[[], Setup]) -> Setup:
    """A run of this test's own."""
    setup = setups()
    fit(setup, LastCheckpoint(), max_steps=2)
    return setup


def fresh(trained: LitTransformer) -> dict[str, Tensor]:
    """The weights that a model built with the same seed has."""
    return LitTransformer(**dict(trained.hparams)).network.state_dict()


class TestFirstFit:
    def test_they_are_those_of_a_model_built_with_the_same_seed(self, trained: tuple[Setup, LitTransformer]) -> None:
        """cases.md A18."""
        setup, module = trained
        kept = initial_weights_of(checkpoint_of(setup))
        assert same_tensors(kept, fresh(module))
        parameters = dict(module.network.named_parameters())
        # A gradient that is always zero, of a key's bias or a piece that never occurs, moves nothing by itself.
        assert all(not torch.equal(kept[name], parameter.detach()) for name, parameter in parameters.items())

    def test_every_checkpoint_knows_them(self, trained: tuple[Setup, LitTransformer]) -> None:
        setup, module = trained
        names = ("best-loss", "best-bleu", "step=2", "step=4", "average", "last")
        records = [record_of(checkpoint_of(setup, name)) for name in names]
        digest = weights_digest(LitTransformer(**dict(module.hparams)).network)
        for record in records:
            assert record is not None
            assert (record["digest"], record["seed"], record["parent_digest"]) == (digest, SEED, None)
            assert record["structure"]["d_model"] == 16
        assert {path.name for path in (setup.folder / "checkpoints").iterdir()} == {f"{name}.ckpt" for name in names}

    def test_they_are_written_before_the_first_step(self, setup: Setup) -> None:
        module = Watcher(**dict(setup.module(seed=SEED).hparams))
        module.file, module.seen = setup.folder / FILE, []
        setup.trainer([InitialWeights()], max_steps=2).fit(module, datamodule=setup.data(seed=SEED))
        assert module.seen == [True, True]

    def test_a_second_fit_in_memory_keeps_them(self, setup: Setup) -> None:
        module = setup.module(seed=SEED)
        setup.trainer([InitialWeights()], max_steps=2).fit(module, datamodule=setup.data(seed=SEED))
        before = (setup.folder / FILE).read_bytes()
        trainer = setup.trainer([InitialWeights(), LastCheckpoint()], max_steps=2)
        trainer.fit(module, datamodule=setup.data(seed=SEED))
        assert (setup.folder / FILE).read_bytes() == before
        assert same_tensors(initial_weights_of(checkpoint_of(setup)), fresh(module))

    def test_named_twice_it_writes_once(self, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        written = []
        monkeypatch.setattr("callbacks.initial_weights.save_initial_weights", lambda path, *_: written.append(path))
        fit(setup, InitialWeights(), max_steps=1)
        assert written == [setup.folder / FILE]

    def test_not_in_a_development_run(self, setup: Setup) -> None:
        assert fit(setup, fast_dev_run=True).initial_weights is None
        assert not (setup.folder / FILE).exists()

    def test_other_processes_write_nothing(self, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        module = setup.module(seed=SEED, source_vocab_size=100, target_vocab_size=100)
        trainer = setup.trainer([])
        monkeypatch.setattr(type(trainer), "is_global_zero", False)
        InitialWeights().on_fit_start(trainer, module)
        assert not (setup.folder / FILE).exists()


class TestResumed:
    def resume(self, setup: Setup) -> LitTransformer:
        module = setup.module(seed=SEED)
        trainer = setup.trainer([InitialWeights(), LastCheckpoint()], max_steps=4)
        trainer.fit(module, datamodule=setup.data(seed=SEED), ckpt_path=str(checkpoint_of(setup)))
        assert load(checkpoint_of(setup))["global_step"] == 4
        return module

    def test_the_file_is_left_alone(self, parent: Setup) -> None:
        before, record = (parent.folder / FILE).stat(), record_of(checkpoint_of(parent))
        module = self.resume(parent)
        after = (parent.folder / FILE).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        assert module.initial_weights == record == record_of(checkpoint_of(parent))
        assert same_tensors(initial_weights_of(checkpoint_of(parent)), fresh(module))

    def test_a_missing_file_is_written_again(self, parent: Setup, caplog: pytest.LogCaptureFixture) -> None:
        before = (parent.folder / FILE).read_bytes()
        (parent.folder / FILE).unlink()
        with caplog.at_level(logging.INFO, logger="callbacks"):
            self.resume(parent)
        assert (parent.folder / FILE).read_bytes() == before
        assert f"{parent.folder / FILE} was missing and is written again." in caplog.messages

    def test_a_run_that_never_had_them_is_told(self, parent: Setup, caplog: pytest.LogCaptureFixture) -> None:
        (parent.folder / FILE).unlink()
        forget(checkpoint_of(parent))
        self.resume(parent)
        assert not (parent.folder / FILE).exists()
        assert record_of(checkpoint_of(parent)) is None
        told = [message for message in caplog.messages if message.startswith("Resuming without the weights that")]
        assert len(told) == 1
        assert "was trained without keeping its initial weights" in told[0]

    def test_a_file_of_another_run_is_an_error(self, parent: Setup, trained: tuple[Setup, LitTransformer]) -> None:
        content = bytearray((trained[0].folder / FILE).read_bytes())
        content[-1] ^= 1
        (parent.folder / FILE).write_bytes(content)
        with pytest.raises(UserError, match="was changed after it was written"):
            self.resume(parent)

    def test_one_that_others_were_trained_from_is_an_error(self, parent: Setup, setup: Setup) -> None:
        other = setup.module(seed=SEED + 1)
        setup.trainer([InitialWeights()], max_steps=1).fit(other, datamodule=setup.data(seed=SEED + 1))
        (setup.folder / FILE).replace(parent.folder / FILE)
        with pytest.raises(UserError, match="holds the initial weights of another run"):
            self.resume(parent)


class TestStartedFromAnotherRun:
    def test_the_parents_are_carried_over(self, parent: Setup, setup: Setup) -> None:
        module = fit(setup, LastCheckpoint(), start_from=str(checkpoint_of(parent)), max_steps=2)
        before = record_of(checkpoint_of(parent))
        assert before is not None
        record = record_of(checkpoint_of(setup))
        assert record == {**before, "parent_digest": before["digest"]}
        assert same_tensors(load_initial_weights(setup.folder / FILE, record["digest"]), fresh(module))
        assert same_tensors(initial_weights_of(checkpoint_of(setup)), initial_weights_of(checkpoint_of(parent)))

    def test_also_to_grandchildren_of_another_seed(self, parent: Setup, setups: Callable[[], Setup]) -> None:
        previous = parent
        for seed in (11, 12):
            child = setups()
            module = child.module(seed=seed)
            trainer = child.trainer([InitialWeights(), LastCheckpoint()], max_steps=1)
            trainer.fit(module, datamodule=child.data(seed=seed), start_from=str(checkpoint_of(previous)))
            previous = child
        expected = initial_weights_of(checkpoint_of(parent))
        assert same_tensors(initial_weights_of(checkpoint_of(previous)), expected)
        # Without any file too: they are drawn from the seed of the first run.
        (previous.folder / FILE).unlink()
        assert same_tensors(initial_weights_of(checkpoint_of(previous)), expected)

    def test_a_parent_that_does_not_know_them(
        self, parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture
    ) -> None:
        forget(checkpoint_of(parent))
        fit(setup, LastCheckpoint(), start_from=str(checkpoint_of(parent)), max_steps=1)
        assert not (setup.folder / FILE).exists()
        assert record_of(checkpoint_of(setup)) is None
        told = [message for message in caplog.messages if message.startswith("This run won't know the weights that")]
        assert len(told) == 1
        with pytest.raises(UserError, match="was trained without keeping its initial weights"):
            initial_weights_of(checkpoint_of(setup))

    def test_a_parent_with_the_file_of_another_run(self, parent: Setup, setup: Setup) -> None:
        content = bytearray((parent.folder / FILE).read_bytes())
        content[-1] ^= 1
        (parent.folder / FILE).write_bytes(content)
        with pytest.raises(UserError, match="was changed after it was written"):
            fit(setup, LastCheckpoint(), start_from=str(checkpoint_of(parent)), max_steps=1)
