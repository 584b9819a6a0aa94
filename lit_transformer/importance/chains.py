"""Sequences of evaluations, and the loop that runs several of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.variant import Variant

Steps: TypeAlias = Generator[Variant, Evaluation, Any]
Chain: TypeAlias = Callable[[], Steps]
"""Starts a sequence of evaluations each of which may depend on the one before, such as the scan of one component's
alphas: a generator that yields variants, is sent their evaluations, and returns its result."""


def single(variant: Variant) -> Chain:
    """Return the chain of a single evaluation, which is its result."""

    def steps() -> Steps:
        return (yield variant)

    return steps


def follow(chains: Sequence[Chain], evaluate: Callable[[Sequence[Variant]], Sequence[Evaluation]]) -> list[Any]:
    """Run chains side by side, a step of each at a time, and return the result of each.

    Args:
        chains: The chains.
        evaluate: Evaluates the next variants of all chains that have not ended.
    """
    steps, results = [chain() for chain in chains], dict[int, Any]()
    made: dict[int, Evaluation | None] = dict.fromkeys(range(len(chains)))
    while made:
        variants = dict[int, Variant]()
        for number, evaluation in made.items():
            try:
                # The first one starts it.
                variants[number] = steps[number].send(evaluation)  # type: ignore[arg-type]
            except StopIteration as end:
                results[number] = end.value
        made = dict(zip(variants, evaluate(list(variants.values())), strict=True)) if variants else {}
    return [results[number] for number in range(len(chains))]
