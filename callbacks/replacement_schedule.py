"""How often successors are used while they take over (Xu et al. 2020, method.md 4)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from lit_transformer.errors import UserError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReplacementSchedule:
    """The probability with which a successor is used in a training step.

    Args:
        name: Name of the callback.
        schedule: ``linear`` (from ``probability`` up to 1 at step ``until``) or ``constant`` (``probability`` up to
            step ``until``, then 1).
        probability: Probability of successors at the start.
        until: Optimizer step from which on there are only successors.

    Raises:
        UserError: A number is out of its range.

    Example:
        >>> schedule = ReplacementSchedule("Theseus", "linear", probability=0.5, until=4)
        >>> [schedule.at(step) for step in (0, 2, 4, 5)]
        [0.5, 0.75, 1.0, 1.0]
    """

    name: str
    schedule: Literal["linear", "constant"]
    probability: float
    until: int

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        if not 0.0 < self.probability <= 1.0 or self.until < 1:
            raise UserError(
                f"{self.name}: probability is {self.probability!r} and until {self.until!r}; give one above 0 and up "
                "to 1, and a step from 1 up."
            )

    def at(self, step: int) -> float:
        """Return the probability at an optimizer step, counted from 0."""
        if step >= self.until:
            return 1.0
        if self.schedule == "constant":
            return self.probability
        return self.probability + (1.0 - self.probability) * step / self.until

    def warn_of_an_early_end(self, steps: float) -> None:
        """Tell when training ends before the successors are alone.

        Args:
            steps: Optimizer steps of the run.
        """
        if self.until >= steps and self.probability < 1.0:
            log.warning(
                "%s uses predecessors until step %d, but training ends at step %s, so that the successors are never "
                "trained alone; train longer, or give a lower until.",
                self.name,
                self.until,
                steps,
            )
