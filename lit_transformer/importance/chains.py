"""Evaluations that follow one another, and what runs several such chains side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.question import Question
from lit_transformer.importance.variant import Variant

Asked: TypeAlias = Variant | Question
Steps: TypeAlias = Generator[Asked, Evaluation, Any]


@dataclass(frozen=True)
class Chain:
    """Evaluations each of which may depend on the one before, such as the scan of one component's alphas.

    Args:
        steps: Starts the chain: a generator that yields variants (or questions) and is sent their evaluations.
        cost: What to expect of it, in evaluations.
    """

    steps: Callable[[], Steps]
    cost: float = 1.0

    @classmethod
    def of(cls, asked: Asked, cost: float = 1.0) -> Chain:
        """Return the chain of a single evaluation, which it returns."""

        def steps() -> Steps:
            return (yield asked)

        return cls(steps, cost)


def follow(chains: Sequence[Chain], evaluate: Callable[[Sequence[Asked]], Sequence[Evaluation]]) -> list[Any]:
    """Run chains side by side, a step of each at a time, and return what the generator of each returns.

    Args:
        chains: The chains.
        evaluate: Evaluates what those ask for that are not at their end.
    """
    steps, results = [chain.steps() for chain in chains], dict[int, Any]()
    made: dict[int, Evaluation | None] = dict.fromkeys(range(len(chains)))
    while made:
        asked = dict[int, Asked]()
        for number, evaluation in made.items():
            try:
                # The first one starts it.
                asked[number] = steps[number].send(evaluation)  # type: ignore[arg-type]
            except StopIteration as end:
                results[number] = end.value
        made = dict(zip(asked, evaluate(list(asked.values())), strict=True)) if asked else {}
    return [results[number] for number in range(len(chains))]
