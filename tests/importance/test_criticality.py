from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from lit_transformer.bleu import bleu_from_statistics
from lit_transformer.errors import UserError
from lit_transformer.importance.criticality import (
    GRID,
    bisect,
    criticality_distribution,
    criticality_ranks,
    full,
    is_close,
    rank_by_criticality,
    run_search,
    scan,
    threshold,
)
from lit_transformer.importance.resampling import resample_counts
from lit_transformer.importance.tables import ScoreTable, read_scores

FALLING = dict(zip(GRID, [9.0, 7.0, 5.0, 3.0, 1.0, 0.6, 0.5, 0.49, 0.2, 0.1], strict=False))
# Below epsilon at 0.3, above it again at 0.4 to 0.6.
BUMPY = dict(zip(GRID, [9.0, 7.0, 5.0, 0.4, 1.0, 0.9, 0.7, 0.3, 0.2, -0.1], strict=False))


def asked(curve: dict[float, float]) -> tuple[list[float], object]:
    """A list that fills with the alphas that are asked for, and the function that answers."""
    asked_for: list[float] = []

    def drop_at(alpha: float) -> float:
        asked_for.append(alpha)
        return curve[alpha]

    return asked_for, drop_at


def test_the_grid_is_exact_decimals() -> None:
    assert [repr(alpha) for alpha in GRID] == [f"{tenths // 10}.{tenths % 10}" for tenths in range(11)]


def test_scan_takes_the_first_alpha_from_below_that_is_strictly_under_epsilon() -> None:
    # At 0.6 the drop equals epsilon, which is not under it.
    alphas, drop_at = asked(FALLING)
    result = run_search(scan(0.5), drop_at)  # type: ignore[arg-type]
    assert (result.criticality, result.monotone) == (0.7, None)
    assert alphas == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert result.curve == {alpha: FALLING[alpha] for alpha in alphas} | {1.0: 0.0}
    assert run_search(scan(0.5), BUMPY.__getitem__).criticality == 0.3


@pytest.mark.parametrize(("drop", "expected", "evaluations"), [(0.0, 0.0, 1), (0.5, 1.0, 10), (50.0, 1.0, 10)])
def test_alpha_one_is_never_asked_for(drop: float, expected: float, evaluations: int) -> None:
    for search, count in ((scan, evaluations), (full, 10)):
        alphas, drop_at = asked(dict.fromkeys(GRID[:-1], drop))
        result = run_search(search(0.5), drop_at)  # type: ignore[arg-type]
        assert (result.criticality, len(alphas)) == (expected, count)
        assert result.curve[1.0] == 0.0


def test_bisect_finds_the_same_on_every_falling_curve_with_four_evaluations_at_most() -> None:
    for first in range(11):
        curve = {alpha: 0.4 if place >= first else 0.5 for place, alpha in enumerate(GRID[:-1])}
        alphas, drop_at = asked(curve)
        result = run_search(bisect(0.5), drop_at)  # type: ignore[arg-type]
        assert result.criticality == GRID[first] == run_search(scan(0.5), curve.__getitem__).criticality
        assert len(alphas) == len(set(alphas)) <= 4
        assert 1.0 not in alphas
        assert list(result.curve) == sorted({*alphas, 1.0})
    # The price of assuming that the drop never rises: the first alpha under epsilon is passed over.
    assert run_search(bisect(0.5), BUMPY.__getitem__).criticality == 0.7


def test_full_asks_for_all_and_tells_whether_the_curve_is_monotone() -> None:
    result = run_search(full(0.5), FALLING.__getitem__)
    assert (result.criticality, result.monotone) == (0.7, True)
    assert result.curve == {**FALLING, 1.0: 0.0}
    result = run_search(full(0.5), BUMPY.__getitem__)
    assert (result.criticality, result.monotone) == (0.3, False)


@pytest.mark.parametrize("search", [scan, bisect, full])
@pytest.mark.parametrize("drop", [math.nan, math.inf])
def test_a_drop_that_is_no_number_is_an_error(search: object, drop: float) -> None:
    with pytest.raises(ValueError, match=r"the drop at alpha 0\.[05] is (nan|inf)"):
        run_search(search(0.5), lambda _: drop)  # type: ignore[operator]


def test_decisions_near_epsilon_are_told() -> None:
    assert [is_close(drop, 0.5) for drop in (0.47, 0.48, 0.5, 0.52, 0.53)] == [False, True, True, True, False]
    assert is_close(0.9, 1.0, margin=0.1)


def test_threshold_is_points_or_a_share_of_the_baseline() -> None:
    assert threshold(0.5, 30.0) == threshold("0.5", 12.0) == 0.5
    assert threshold("2%", 30.0) == pytest.approx(0.6)
    assert threshold(" 2.5 %", 40.0) == pytest.approx(1.0)
    assert threshold(1, 0.0) == 1.0


@pytest.mark.parametrize(
    "epsilon", [0, -0.5, "0%", "-2%", "two", "2 %%", "", "%", math.nan, "nan", math.inf, 101, True]
)
def test_a_threshold_that_makes_no_sense_is_refused(epsilon: float | str) -> None:
    with pytest.raises(UserError, match=r"--trainer\.callbacks\.epsilon is .*; give BLEU points above 0") as error:
        threshold(epsilon, 30.0)
    assert repr(epsilon) in str(error.value)


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match=r"--my\.flag is '2%', but the baseline has 0\.00 BLEU"):
        threshold("2%", 0.0, flag="--my.flag")


def test_distribution_counts_the_resamples_in_which_each_alpha_is_the_first() -> None:
    generator = np.random.default_rng(1)
    totals = np.tile(np.arange(12, 8, -1), (60, 1))
    lengths = np.full((60, 2), 12)

    def statistics(share: float) -> np.ndarray:
        matches = np.minimum.accumulate(generator.binomial(totals, share), axis=1)
        return np.hstack([matches, totals, lengths])

    baseline = statistics(0.9)
    curve = {alpha: statistics(0.8 + 0.1 * alpha) for alpha in (0.0, 0.5, 0.9)}
    counts = resample_counts(60, 300, seed=2)
    found = criticality_distribution(baseline, {**curve, 1.0: baseline}, epsilon=1.0, counts=counts)
    expected = dict.fromkeys([0.0, 0.5, 0.9, 1.0], 0)
    for row in counts:
        drawn = np.repeat(np.arange(60), row)
        best = bleu_from_statistics(baseline[drawn].sum(0).tolist()).bleu
        drops = {a: best - bleu_from_statistics(rows[drawn].sum(0).tolist()).bleu for a, rows in curve.items()}
        expected[next((alpha for alpha, drop in drops.items() if drop < 1.0), 1.0)] += 1
    assert found == pytest.approx({alpha: count / 300 for alpha, count in expected.items()})
    assert sum(share > 0 for share in found.values()) >= 2
    assert sum(found.values()) == pytest.approx(1.0)


def test_ranks_break_ties_by_drop_and_then_canonically() -> None:
    criticality = {"d:ff:1": 0.4, "d:sa:2": 0.4, "d:sa:1": 0.4, "e:sa:1": 0.0, "e:ff:1": 1.0}
    drops = {"d:ff:1": 0.3, "d:sa:2": -0.1, "d:sa:1": -0.1, "e:sa:1": 9.0, "e:ff:1": 0.0}
    assert criticality_ranks(criticality, drops) == {"e:sa:1": 5, "e:ff:1": 1, "d:sa:1": 3, "d:sa:2": 4, "d:ff:1": 2}
    assert list(criticality_ranks(criticality)) == ["e:sa:1", "e:ff:1", "d:sa:1", "d:sa:2", "d:ff:1"]
    assert criticality_ranks(criticality)["d:sa:1"] == 2


DROPS = {"d:sa:1": -0.1, "d:sa:2": 0.3, "d:ff:1": 9.0, "d:ff:2": 0.0}
CRITICALITY = {"d:sa:1": 0.4, "d:sa:2": 0.4, "d:ff:1": 0.1, "d:ff:2": 0.4}


def scored(table: ScoreTable, section: str, column: str, values: Mapping[str, float]) -> None:
    rows = [{"component": component, column: value} for component, value in values.items()]
    table.add(section, {}, [{**row, "criticality_rank": None} if column == "criticality" else row for row in rows])
    rank_by_criticality(table)
    table.write()


@pytest.mark.parametrize("together", [True, False], ids=["in one analysis", "in two"])
@pytest.mark.parametrize("order", list(itertools.permutations(["drop", "criticality", "other drops"])), ids=" ".join)
def test_ranks_are_of_what_stands_there_whatever_came_first(
    tmp_path: Path, order: Sequence[str], together: bool
) -> None:
    drops = {"drop": DROPS, "other drops": {"d:sa:1": 5.0, "d:ff:1": 1.0}}
    table = ScoreTable(tmp_path, {})
    for name in order:
        if name == "criticality":
            scored(table, "criticality", "criticality", CRITICALITY)
        else:
            scored(table, "contribution", "drop", drops[name])
        table = table if together else ScoreTable(tmp_path, {})
    rows = read_scores(tmp_path)["components"]
    found = {row["component"]: row["criticality_rank"] for row in rows}
    of_now = drops[next(name for name in reversed(order) if name in drops)]
    assert found == criticality_ranks(CRITICALITY, of_now)
    assert found == (
        {"d:sa:1": 3, "d:sa:2": 1, "d:ff:1": 4, "d:ff:2": 2}
        if of_now is DROPS
        else {"d:sa:1": 1, "d:sa:2": 2, "d:ff:1": 4, "d:ff:2": 3}
    )


def test_without_criticality_there_is_no_rank_of_it(tmp_path: Path) -> None:
    scored(ScoreTable(tmp_path, {}), "contribution", "drop", DROPS)
    assert all(row.keys() == {"component", "drop"} for row in read_scores(tmp_path)["components"])


def test_nan_is_never_a_rank() -> None:
    with pytest.raises(ValueError, match="d:sa:1 has criticality nan"):
        criticality_ranks({"d:sa:1": math.nan})
    with pytest.raises(ValueError, match="drop nan"):
        criticality_ranks({"d:sa:1": 0.5}, {"d:sa:1": math.nan})
