"""What the Trainer refuses with a line of its own, where Lightning would end with a traceback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from lit_transformer.errors import UserError

CHANGE = "record"
"""What the state of a callback holds that changed the model of its run, such as one that pruned it."""


def check_callbacks(callbacks: Sequence[pl.Callback]) -> None:
    """Refuse two callbacks for whose states a checkpoint has one place.

    Args:
        callbacks: The callbacks that a Trainer is given.

    Raises:
        UserError: There are such two.
    """
    stateful = [callback for callback in callbacks if type(callback).state_dict is not pl.Callback.state_dict]
    names = {callback.state_key: type(callback).__name__ for callback in stateful}
    for key, count in Counter(callback.state_key for callback in stateful).items():
        if count > 1:
            raise UserError(
                f"--trainer.callbacks has {names[key]} {count} times, and a run can have it once; give one with the "
                "options of all, or make a run for each, the second with --start_from the first."
            )


@contextmanager
def options_checked(options: Mapping[str, Any]) -> Iterator[None]:
    """Tell in a line that Lightning's Trainer, which is made within, refuses one of its options or should do so.

    Args:
        options: The options.

    Raises:
        UserError: One is refused.
    """
    if options.get("val_check_interval") == 0:
        raise UserError(
            f"--trainer.val_check_interval is {options['val_check_interval']!r}; give a number of batches from 1 up, "
            "or a share of an epoch up to 1.0; --trainer.limit_val_batches 0 validates never."
        )
    if options.get("accumulate_grad_batches", 1) < 1:
        raise UserError(
            f"--trainer.accumulate_grad_batches is {options['accumulate_grad_batches']!r}; give a number of batches "
            "from 1 up."
        )
    try:
        yield
    except ValueError as error:
        raise UserError(f"--trainer: {error}") from error


def check_resumable(checkpoint: Mapping[str, Any], callbacks: Sequence[pl.Callback], path: str | Path) -> None:
    """Refuse to resume from weights alone, or without the callback that changed the model of the run.

    Without it the model would be trained as another one.

    Args:
        checkpoint: The checkpoint that is resumed.
        callbacks: The callbacks that the Trainer has.
        path: Where the checkpoint is.

    Raises:
        UserError: There are only weights, or such a callback is not there.
    """
    if "optimizer_states" not in checkpoint:
        raise UserError(
            f"{str(path)!r} holds weights only and cannot be resumed; give last.ckpt, or start a new run from it with "
            "--start_from."
        )
    there = {callback.state_key for callback in callbacks}
    states = checkpoint.get("callbacks", {})
    gone = [key for key, state in states.items() if key not in there and isinstance(state, dict) and state.get(CHANGE)]
    if gone:
        raise UserError(
            f"{str(path)!r} is of a run of {', '.join(gone)}, which the callbacks that were typed leave out; to go on "
            "leave --trainer.callbacks out, or add to them with --trainer.callbacks+=; to begin a new run from its "
            "weights give --start_from instead of --ckpt_path."
        )


@contextmanager
def interval_checked(trainer: pl.Trainer) -> Iterator[None]:
    """Tell in a line that validations are further apart than an epoch is long, which is known within fit only.

    Args:
        trainer: The Trainer, whose fit is called within.

    Raises:
        UserError: They are.
    """
    try:
        yield
    except ValueError as error:
        interval, batches = trainer.val_check_interval, trainer.num_training_batches
        counted = isinstance(interval, int) and trainer.check_val_every_n_epoch is not None
        if not counted or interval <= batches or "val_check_interval" not in str(error):
            raise
        raise UserError(
            f"--trainer.val_check_interval is {interval} batches, but an epoch has {batches}; give {batches} at most, "
            "a share of an epoch up to 1.0, or --trainer.check_val_every_n_epoch null to count over epochs."
        ) from error
