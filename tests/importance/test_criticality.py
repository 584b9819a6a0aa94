from __future__ import annotations

import math

import pytest

from lit_transformer.importance.criticality import (
    GRID,
    bisect,
    full,
    run_search,
    scan,
)

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
