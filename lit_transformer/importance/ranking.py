"""Orders of components: how alike two are, and random ones as a control."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_transformer.components import canonical_key, kind_of
from lit_transformer.errors import UserError

# Not that of `resampling`: it loads torch, which a report does without.
Array = NDArray[Any]


def average_ranks(values: Sequence[float]) -> Array:
    """Return the rank of each value, 1 for the lowest; equal values share the average of their ranks.

    Raises:
        ValueError: A value is NaN.

    Example:
        >>> average_ranks([10.0, 30.0, 10.0]).tolist()
        [1.5, 3.0, 1.5]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if np.isnan(numbers).any():
        raise ValueError(f"NaN has no rank; got {list(values)}")
    ordered = np.sort(numbers)
    lowest = np.searchsorted(ordered, numbers, side="left") + 1
    highest = np.searchsorted(ordered, numbers, side="right")
    return np.asarray((lowest + highest) / 2)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation of paired values, equal ones with their average rank.

    Args:
        first: Values of one score.
        second: Values of the other, of the same components in the same order.

    Returns:
        From -1 to 1; None where it is not defined: fewer than 2 values, or all of one score the same.

    Raises:
        ValueError: There are not as many of one as of the other, or one is NaN.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values of one score, but {len(second)} of the other")
    ranks = [average_ranks(first), average_ranks(second)]
    if len(first) < 2 or any(len(set(each.tolist())) == 1 for each in ranks):
        return None
    one, other = (each - each.mean() for each in ranks)
    return float(np.clip(one @ other / np.sqrt((one @ one) * (other @ other)), -1.0, 1.0))


def rank_correlation(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Return `spearman` of two scores over the components that have both, by component id."""
    shared = sorted(first.keys() & second.keys(), key=canonical_key)
    return spearman([first[name] for name in shared], [second[name] for name in shared])


def random_order(components: Sequence[str], k: int, seed: int, matched_kinds: Sequence[str] | None = None) -> list[str]:
    """Return k different components in a random order, the same for the same seed on every platform.

    Args:
        components: Ids to choose from; their order here makes no difference.
        k: How many.
        seed: Seed of the choice.
        matched_kinds: Kinds of the components of another order, such as the greedy one: the n-th component then has the
            n-th kind, so that only the choice of layers is random. None chooses among all alike.

    Raises:
        UserError: There are not so many components, or not so many of a kind.
    """
    if not 0 < k <= len(components):
        raise UserError(f"k is {k}, but there are {len(components)} components to remove; choose k from 1 to that.")
    # Of Python's generator only `random()` is promised to give the same numbers in every version.
    generator = random.Random(seed)
    keys = {component: generator.random() for component in sorted(components, key=canonical_key)}
    shuffled = sorted(keys, key=keys.__getitem__)
    if matched_kinds is None:
        return shuffled[:k]
    order: list[str] = []
    for kind in matched_kinds[:k]:
        chosen = next((name for name in shuffled if kind_of(name) == kind and name not in order), None)
        if chosen is None:
            raise UserError(f"no component of kind {kind!r} is left for a random order matched by kind; choose fewer.")
        order.append(chosen)
    if len(order) < k:
        raise UserError(f"k is {k}, but the order to match by kind has {len(order)} components; choose k up to that.")
    return order
