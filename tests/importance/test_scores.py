from __future__ import annotations

import math

import pytest

from lit_transformer.components import component_ids
from lit_transformer.importance.scores import RELIABLE_BASELINE, contribution_scores

# Wang & Tu 2020, figure 3 (a), English-German, digitised to 0.03 (method.md 1.5); layers 1 to 6.
FIGURE_3A = {
    "e:sa": (1.00, 0.37, 0.19, 0.19, 0.53, 0.23),
    "e:ff": (0.65, 0.71, 1.00, 0.43, 0.46, 0.42),
    "d:sa": (0.26, 0.15, 0.07, 0.00, 0.21, 0.24),
    "d:ea": (0.01, 0.19, 0.28, 0.35, 0.78, 1.00),
    "d:ff": (1.00, 1.00, 0.47, 0.02, 0.49, 1.00),
}
FIGURE = {f"{kind}:{layer}": value for kind, values in FIGURE_3A.items() for layer, value in enumerate(values, 1)}
BASELINE = 27.5


def test_published_figure_comes_back_from_its_drops() -> None:
    # C = 2.75 BLEU; components at 1.00 lose anything from C upwards.
    ablated = {
        name: BASELINE - 2.75 * (value if value < 1 else 1 + place / 10)
        for place, (name, value) in enumerate(FIGURE.items())
    }
    results = contribution_scores(BASELINE, ablated)
    assert list(results) == component_ids(6, 6)
    assert {name: result.contribution for name, result in results.items()} == pytest.approx(FIGURE)
    assert results["d:sa:4"].rank == 30
    at_cap = {name for name, value in FIGURE.items() if value == 1}
    assert {name for name, result in results.items() if result.rank <= len(at_cap)} == at_cap
    assert all(results[name].contribution == 1.0 for name in at_cap)


def test_worked_example_without_any_component_at_the_cap() -> None:
    # B = 40, C = 4; drops 2, 1, -0.5: the largest capped drop is 2, below C.
    results = contribution_scores(40.0, {"d:ff:1": 38.0, "d:sa:1": 39.0, "e:sa:1": 40.5})
    assert [(name, r.drop, r.relative_drop, r.contribution, r.rank) for name, r in results.items()] == [
        ("e:sa:1", -0.5, -0.0125, 0.0, 3),
        ("d:sa:1", 1.0, 0.025, 0.5, 2),
        ("d:ff:1", 2.0, 0.05, 1.0, 1),
    ]


def test_cap_holds_the_score_and_not_the_drop_or_the_rank() -> None:
    # B = 20, C = 2; drops 2, 15, 1.
    results = contribution_scores(20.0, {"e:sa:1": 18.0, "e:sa:2": 5.0, "e:sa:3": 19.0})
    assert [result.contribution for result in results.values()] == [1.0, 1.0, 0.5]
    assert [result.drop for result in results.values()] == [2.0, 15.0, 1.0]
    assert [result.rank for result in results.values()] == [2, 1, 3]


@pytest.mark.parametrize(("drops", "ranks"), [((0.0, 0.0, 0.0), [1, 2, 3]), ((-0.2, -0.1, 0.0), [3, 2, 1])])
def test_no_positive_drop_gives_zeros_and_the_order_of_the_raw_drops(
    drops: tuple[float, ...], ranks: list[int]
) -> None:
    ablated = {f"e:sa:{layer}": 32.0 - drop for layer, drop in enumerate(drops, 1)}
    results = list(contribution_scores(32.0, ablated).values())
    assert [result.contribution for result in results] == [0.0, 0.0, 0.0]
    assert [result.drop for result in results] == pytest.approx(drops)
    assert [result.rank for result in results] == ranks


def test_equal_drops_rank_in_canonical_order_whatever_the_order_of_the_input() -> None:
    results = contribution_scores(30.0, dict.fromkeys(("d:ff:1", "e:ff:2", "e:ff:1", "e:sa:10", "e:sa:9"), 29.0))
    assert [(name, result.rank) for name, result in results.items()] == [
        ("e:sa:9", 1),
        ("e:sa:10", 2),
        ("e:ff:1", 3),
        ("e:ff:2", 4),
        ("d:ff:1", 5),
    ]


def test_baseline_of_zero_gives_finite_zeros() -> None:
    results = contribution_scores(0.0, {"e:sa:1": 0.0, "e:ff:1": 0.3})
    assert [result.contribution for result in results.values()] == [0.0, 0.0]
    assert [result.relative_drop for result in results.values()] == [0.0, 0.0]
    assert [result.rank for result in results.values()] == [1, 2]


@pytest.mark.parametrize(("baseline", "reliable"), [(RELIABLE_BASELINE, True), (14.99, False)])
def test_weak_baseline_is_marked(baseline: float, reliable: bool) -> None:
    assert contribution_scores(baseline, {"e:sa:1": 1.0})["e:sa:1"].reliable is reliable


def test_nothing_ablated_gives_nothing() -> None:
    assert contribution_scores(30.0, {}) == {}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -0.1])
def test_number_that_is_no_bleu_is_an_error(bad: float) -> None:
    with pytest.raises(ValueError, match="BLEU of d:sa:2"):
        contribution_scores(30.0, {"d:sa:1": 29.0, "d:sa:2": bad})
    with pytest.raises(ValueError, match="BLEU of the baseline"):
        contribution_scores(bad, {"d:sa:1": 29.0})
