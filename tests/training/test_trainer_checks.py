from __future__ import annotations

from typing import Any

import pytest

from callbacks import ComponentPruning, ContributionScore, LastCheckpoint, Theseus
from lit_transformer.errors import UserError
from lit_transformer.training.trainer import Trainer
from lit_transformer.training.trainer_checks import check_callbacks, check_resumable, interval_checked

TWICE = [ComponentPruning(["d:sa:1"]), ComponentPruning(["e:ff:1"])]


def trainer(**options: Any) -> Trainer:
    quiet = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return Trainer(**quiet, **options)


def test_a_callback_with_a_state_is_there_once() -> None:
    with pytest.raises(UserError, match=r"--trainer.callbacks has ComponentPruning 2 times"):
        check_callbacks(TWICE)
    with pytest.raises(UserError, match=r"--trainer.callbacks has ComponentPruning 2 times"):
        trainer(callbacks=TWICE)
    check_callbacks([TWICE[0], Theseus(["d:ff"])])
    check_callbacks([ContributionScore(), ContributionScore()])
    # Two checkpoints with states of their own.
    check_callbacks([LastCheckpoint(), LastCheckpoint(every_n_steps=3)])


def test_a_run_that_was_changed_needs_what_changed_it() -> None:
    changed = {
        "optimizer_states": [],
        "callbacks": {"ComponentPruning": {"chosen": ["d:sa:1"], "record": {"format": 1}}},
    }
    check_resumable(changed, [TWICE[0], ContributionScore()], "last.ckpt")
    with pytest.raises(UserError, match=r"'last.ckpt' is of a run of ComponentPruning, which .* leave --trainer.callb"):
        check_resumable(changed, [ContributionScore()], "last.ckpt")
    others = {"LastCheckpoint{}": {"best_model_score": 1.0}, "Odd": None}
    check_resumable({"optimizer_states": [], "callbacks": others}, [], "last.ckpt")
    check_resumable({"optimizer_states": []}, [], "last.ckpt")


def test_weights_alone_can_not_be_resumed() -> None:
    with pytest.raises(UserError, match=r"'average.ckpt' holds weights only .* give last.ckpt"):
        check_resumable({"callbacks": {}}, [], "average.ckpt")


def test_another_mistake_is_not_taken_for_the_interval() -> None:
    with pytest.raises(ValueError, match="something else"), interval_checked(trainer(val_check_interval=9)):
        raise ValueError("something else")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("val_check_interval", 0),
        ("val_check_interval", 0.0),
        ("accumulate_grad_batches", 0),
        ("accumulate_grad_batches", -2),
        ("strategy", "nothing"),
    ],
)
def test_options_that_no_run_can_have(option: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"--trainer.*{option}.*{value}"):
        trainer(**{option: value})
