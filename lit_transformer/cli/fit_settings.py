"""Settings of fit beside the trainer's own: which checkpoints it keeps, when it stops early, what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lit_transformer.errors import UserError


@dataclass(frozen=True)
class CheckpointSettings:
    """Which checkpoints fit keeps.

    Args:
        average: average.ckpt is the mean of the weights after this many last validations; below 2, there is none.
        every_n_steps: Save last.ckpt every so many optimizer steps too, not only after each validation.
        keep_steps: Keep step-N.ckpt of these optimizer steps, for example to rewind to.
    """

    average: int = 5
    every_n_steps: int | None = None
    keep_steps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing.

        Raises:
            UserError: A number is too small.
        """
        if self.average < 0 or (self.every_n_steps is not None and self.every_n_steps < 1):
            raise UserError(
                f"--checkpoint.average is {self.average!r} and --checkpoint.every_n_steps {self.every_n_steps!r}; give "
                "an average from 0 up, and steps from 1 up or null."
            )
        if any(step < 1 for step in self.keep_steps):
            raise UserError(f"--checkpoint.keep_steps is {self.keep_steps!r}; give steps from 1 up.")


@dataclass(frozen=True)
class EarlyStoppingSettings:
    """When fit stops before its last epoch.

    Args:
        patience: Stop after this many validations without a better value; not given: never.
        monitor: Metric to watch.
        mode: min or max, whichever is better.
    """

    patience: int | None = None
    monitor: str = "val/loss"
    mode: Literal["min", "max"] = "min"


@dataclass(frozen=True)
class SampleSettings:
    """Sample translations.

    Args:
        count: How many to show after each validation within fit.
    """

    count: int = 3

    def __post_init__(self) -> None:
        """Refuse a negative number.

        Raises:
            UserError: The number is below 0.
        """
        if self.count < 0:
            raise UserError(f"--samples.count is {self.count!r}; give 0 for none, or more.")
