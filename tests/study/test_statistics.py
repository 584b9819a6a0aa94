from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lit_transformer.study.statistics import compare, holm, over_sentences, t_interval, t_test

# Student's sleep data: extra hours of sleep with two drugs, by patient. The differences' t test is in every textbook:
# mean 1.58, t = 4.0621 with 9 degrees of freedom, p = 0.002833, 95 % from 0.7001 to 2.4599.
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


def test_the_t_test_is_students() -> None:
    assert t_test(SLEEP) == pytest.approx(0.002833, abs=1e-6)
    assert t_interval(SLEEP, 0.05) == pytest.approx((0.7001142, 2.4598858), abs=1e-6)
    assert t_test(SLEEP) == pytest.approx(stats.ttest_1samp(SLEEP, 0.0).pvalue)


def test_the_t_interval_is_scipys() -> None:
    values = [0.3, -0.1, 0.5, 0.45, 0.2]
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.99)
    assert t_interval(values, 0.01) == pytest.approx((expected.low, expected.high))


def test_equal_differences_have_no_spread() -> None:
    assert t_test([0.5, 0.5]) == 0.0
    assert t_test([0.0, 0.0, 0.0]) == 1.0
    assert t_interval([0.5, 0.5], 0.05) == (0.5, 0.5)


def test_one_difference_is_no_sample() -> None:
    for function in (t_test, lambda values: t_interval(values, 0.05)):
        with pytest.raises(ValueError, match="two differences"):
            function([1.0])


def test_holm_by_a_worked_example() -> None:
    # p sorted 0.005, 0.01, 0.03, 0.04 against 0.05 / 4, / 3, / 2, / 1: the third, 0.03 > 0.025, ends it.
    corrected, levels = holm([0.01, 0.04, 0.03, 0.005], 0.05)
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert levels == pytest.approx([0.05 / 3, 0.025, 0.025, 0.0125])
    assert holm([0.6, 0.8], 0.05)[0] == pytest.approx([1.0, 1.0])
    assert holm([], 0.05) == ([], [])


def test_intervals_exclude_0_exactly_where_holm_rejects() -> None:
    generator = np.random.default_rng(1)
    decided = 0
    for _ in range(200):
        effects = generator.normal(0, 0.5, size=4)
        given = {f"arm{n}": list(generator.normal(effect, 0.3, size=5)) for n, effect in enumerate(effects)}
        for each in compare(given):
            assert each.corrected_p is not None
            rejected = each.corrected_p <= 0.05
            assert rejected == (each.verdict != "not decidable")
            if rejected:
                decided += 1
                assert each.verdict == ("better" if each.mean > 0 else "worse")
    assert 100 < decided < 700


def test_comparisons_by_hand() -> None:
    better, same = compare({"a": [1.0, 1.2, 1.1, 0.9], "b": [0.1, -0.1, 0.2, -0.2]})
    assert better.mean == pytest.approx(1.05)
    spread = math.sqrt((0.05**2 + 0.15**2 + 0.05**2 + 0.15**2) / 3)
    # Of two arms the clearer one is held against 0.025: t of 0.9875 with 3 degrees of freedom is 4.1765.
    assert better.lower == pytest.approx(1.05 - 4.1765 * spread / 2, abs=1e-4)
    assert better.verdict == "better"
    assert same.verdict == "not decidable"
    # And then the other one against 0.05: t of 0.975 is 3.1824.
    assert same.upper == pytest.approx(3.1824 * math.sqrt(0.1 / 3) / 2, abs=1e-4)
    (worse,) = compare({"c": [-1.0, -1.1, -0.9]})
    assert worse.verdict == "worse"


def test_with_one_seed_nothing_is_decidable() -> None:
    compared = compare({"a": [30.0], "b": [], "c": [-30.0]})
    assert [each.arm for each in compared] == ["a", "c"]
    assert all(each.verdict == "not decidable" and each.p is None and each.lower is None for each in compared)
    assert compared[0].mean == 30.0


def test_an_arm_with_one_seed_does_not_count_among_the_tested() -> None:
    alone = compare({"a": SLEEP})[0]
    assert compare({"a": SLEEP, "b": [1.0]})[0].corrected_p == alone.corrected_p == alone.p


def test_sentences_of_one_checkpoint() -> None:
    # Every sentence of ten words; the arm has all n-grams right, the control half of them.
    full = np.array([[10, 9, 8, 7, 10, 9, 8, 7, 10, 10]] * 30)
    half = np.array([[5, 4, 4, 3, 10, 9, 8, 7, 10, 10], [10, 9, 8, 7, 10, 9, 8, 7, 10, 10]] * 15)
    found = over_sentences(full, half, resamples=500)
    # Matches of two sentences: 15 of 20, 13 of 18, 12 of 16, 10 of 14.
    expected = 100 - 100 * (15 / 20 * 13 / 18 * 12 / 16 * 10 / 14) ** 0.25
    assert found.difference == pytest.approx(expected)
    assert 0 < found.lower < expected < found.upper
    assert over_sentences(full, full, resamples=100) == type(found)(0.0, 0.0, 0.0)
