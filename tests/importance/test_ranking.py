from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from lit_transformer.components import component_ids, kind_of
from lit_transformer.errors import UserError
from lit_transformer.importance.ranking import average_ranks, random_order, rank_correlation, spearman

COMPONENTS = component_ids(6, 6)


def test_equal_values_share_their_ranks() -> None:
    assert average_ranks([10, 30, 20, 20, 20]).tolist() == [1, 5, 3, 3, 3]
    assert average_ranks([-1.0, -1.0]).tolist() == [1.5, 1.5]


def test_correlation_worked_by_hand() -> None:
    # Without ties 1 - 6 * sum(d ** 2) / (n * (n ** 2 - 1)): differences 1, 1, 1, 1, 0.
    assert spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(1 - 6 * 4 / (5 * 24))
    # Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: deviations -1.5, 0, 0, 1.5 and -1.5, 0.5, -0.5, 1.5.
    assert spearman([0.0, 0.5, 0.5, 1.0], [3.0, 8.0, 4.0, 9.0]) == pytest.approx(4.5 / math.sqrt(4.5 * 5.0))
    assert spearman([1, 2, 3], [1, 4, 9]) == 1.0
    assert spearman([1, 2, 3], [3, 2, 1]) == -1.0


def test_correlation_is_pearsons_of_the_ranks() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        first, second = generator.integers(0, 6, (2, 30)).tolist()
        ranks = [
            [sum(w < v for w in values) + sum(w == v for w in values) / 2 for v in values] for values in (first, second)
        ]
        assert spearman(first, second) == pytest.approx(np.corrcoef(ranks)[0, 1])


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_an_undefined_correlation_is_none(first: list[float], second: list[float]) -> None:
    assert spearman(first, second) is None
    assert spearman(second, first) is None


def test_scores_are_paired_by_component() -> None:
    first = {"e:sa:1": 1.0, "d:sa:1": 2.0, "d:ff:1": 3.0, "e:ff:1": 99.0}
    second = {"d:ff:1": 0.3, "e:sa:1": 0.1, "d:sa:1": 0.2}
    assert rank_correlation(first, second) == 1.0


def test_mistakes_are_errors() -> None:
    with pytest.raises(ValueError, match="2 values of one score, but 1 of the other"):
        spearman([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="NaN has no rank"):
        spearman([1.0, math.nan], [1.0, 2.0])


def test_random_orders_depend_on_the_seed_alone() -> None:
    # The numbers of `random()` are promised to be the same in every version of Python and on every machine.
    generator = random.Random(7)
    numbers = {name: generator.random() for name in COMPONENTS}
    assert random_order(COMPONENTS[::-1], 30, 7) == sorted(COMPONENTS, key=numbers.__getitem__)
    assert random_order(COMPONENTS, 5, 7) == random_order(COMPONENTS, 30, 7)[:5]
    assert random_order(COMPONENTS, 30, 8) != random_order(COMPONENTS, 30, 7)
    assert sorted(random_order(COMPONENTS, 30, 7)) == sorted(COMPONENTS)


def test_every_component_is_as_likely_at_every_place() -> None:
    firsts = Counter(tuple(random_order(COMPONENTS[:4], 2, seed)) for seed in range(2400))
    # 12 ordered pairs of 4, 200 expected of each.
    assert len(firsts) == 12
    assert sum((count - 200) ** 2 / 200 for count in firsts.values()) < 31.3, "chi-square, 11 degrees, p = 0.001"


def test_orders_matched_by_kind_keep_the_kinds_and_draw_the_layers() -> None:
    greedy = ["d:sa:4", "d:ea:1", "d:ff:4", "d:sa:3", "d:sa:2", "d:ea:2", "d:sa:5"]
    kinds = [kind_of(name) for name in greedy]
    orders = [random_order(COMPONENTS, 7, seed, kinds) for seed in range(20)]
    for order in orders:
        assert [kind_of(name) for name in order] == kinds
        assert len(set(order)) == 7
    assert len({tuple(order) for order in orders}) > 15
    assert random_order(COMPONENTS, 3, 5, kinds) == random_order(COMPONENTS, 7, 5, kinds)[:3]


@pytest.mark.parametrize("k", [0, -1, 31])
def test_more_components_than_there_are_cannot_be_drawn(k: int) -> None:
    with pytest.raises(UserError, match=f"k is {k}, but there are 30 components"):
        random_order(COMPONENTS, k, 1)


def test_kinds_that_run_out_are_told() -> None:
    with pytest.raises(UserError, match="no component of kind 'd:ea' is left"):
        random_order(component_ids(1, 1), 2, 1, ["d:ea", "d:ea"])
    with pytest.raises(UserError, match="has 1 components"):
        random_order(COMPONENTS, 2, 1, ["d:ea"])
