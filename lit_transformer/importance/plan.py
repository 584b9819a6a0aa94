"""What an analysis is going to evaluate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lit_transformer.importance.variant import Variant


@dataclass(frozen=True)
class Plan:
    """What a scorer will evaluate.

    Args:
        variants: Evaluations that are known beforehand.
        at_most: How many more there may be, depending on what these give.
        other_seconds: What takes no evaluation of the scoring set takes at most, on one process; asked for by a dry run
            only, for it may have to try.
    """

    variants: Sequence[Variant] = field(default_factory=list)
    at_most: int = 0
    other_seconds: Callable[[], float] = float
