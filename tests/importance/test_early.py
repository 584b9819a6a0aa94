from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.early_decisions import OFFSETS, Pair, Tally, compared, made_pairs, plain_replay, replay
from lit_transformer.bleu import bleu_from_statistics
from lit_transformer.errors import UserError
from lit_transformer.importance.early import Answer, Comparison, Decision, critical_value, looks
from lit_transformer.importance.extrapolation import seeded_order
from lit_transformer.importance.resampling import Array, bleu

Z = critical_value(0.999, 1)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return list(made_pairs(seed=3))


def named(pairs: list[Pair], name: str) -> Pair:
    return next(pair for pair in pairs if pair.name == name)


def made(pair: Pair, threshold: float, z: float = Z, stop_on: tuple[Answer, ...] = ("under", "above")) -> Comparison:
    return replace(compared(pair, z), threshold=threshold, stop_on=stop_on)


def first_decision(pair: Pair, comparison: Comparison) -> Decision:
    for look in comparison.looks:
        decision = comparison.decide(pair.variant[comparison.sentences[:look]])
        if decision.answer != "undecided":
            break
    return decision


def test_looks_are_at_shares_of_the_changed_sentences_and_never_before_a_hundred() -> None:
    assert looks(3000) == [300, 600, 1200, 2100, 3000]
    assert looks(1014) == [102, 203, 406, 710, 1014]
    assert looks(400) == [100, 160, 280, 400]
    assert looks(142) == [100, 142]
    assert looks(101) == [100, 101]
    for changed in (0, 1, 99, 100):
        assert looks(changed) == [changed]


def test_critical_value_shares_the_error_among_looks_and_decisions() -> None:
    # 0.025 in one tail is 1.95996, one in a million 4.75342 (tables of the normal distribution).
    assert critical_value(0.9, 1) == pytest.approx(1.959964, abs=1e-6)
    assert critical_value(0.9988, 300) == pytest.approx(4.753424, abs=1e-6)
    with pytest.raises(ValueError, match="at least one decision"):
        critical_value(0.999, 0)


def test_a_look_that_can_hardly_settle_anything_is_not_worth_it(pairs: list[Pair]) -> None:
    pair = max(pairs, key=lambda pair: pair.drop)
    comparison = made(pair, threshold=0.0)
    first = Decision("undecided", drop=1.0, lower=-1.0, upper=3.0, standard_error=0.5, decoded=100, changed=1000)

    def worth(threshold: float, look: int, stop_on: tuple[Answer, ...] = ("under", "above")) -> bool:
        return replace(comparison, threshold=threshold, stop_on=stop_on).worth_a_look(first, look)

    # The interval of 2 to either side shrinks by the root of 100 / 700 * 0.3 / 0.9 to 0.436, and is taken at 70 %.
    assert (worth(0.68, 700), worth(0.71, 700)) == (True, False)
    assert (worth(1.32, 700), worth(1.29, 700)) == (True, False)
    assert not worth(0.68, 200)
    assert not worth(0.68, 700, ("under",))
    assert not worth(1.32, 700, ("above",))
    # The last one is exact, whatever came before.
    assert worth(1.0, 1000)


def test_what_is_left_out_changes_no_exact_answer(pairs: list[Pair]) -> None:
    left_out = 0
    for pair in pairs:
        for offset in OFFSETS:
            comparison = made(pair, pair.drop + offset)
            decision: Decision | None = None
            for look in comparison.looks:
                if decision is not None and not comparison.worth_a_look(decision, look):
                    left_out += 1
                    continue
                decision = comparison.decide(pair.variant[comparison.sentences[:look]])
                if decision.answer != "undecided":
                    break
            assert decision is not None
            assert decision.answer == ("under" if pair.drop < comparison.threshold else "above")
    assert left_out > 10


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0, 99.9, float("nan")])
def test_a_confidence_that_makes_no_sense_is_refused(confidence: float) -> None:
    with pytest.raises(
        UserError, match=r"--trainer\.callbacks\.confidence is .*above 0\.5 and below 1, such as 0\.999"
    ):
        critical_value(confidence, 30)


def test_at_least_999_of_1000_answers_are_right_in_ten_thousand_random_orders(pairs: list[Pair]) -> None:
    generator, tally = np.random.default_rng(1), Tally()
    comparisons = [compared(pair, Z) for pair in pairs]
    for number in range(10_000):
        place = number % len(pairs)
        threshold = pairs[place].drop + OFFSETS[number // len(pairs) % len(OFFSETS)]
        replay(pairs[place], comparisons[place], threshold, generator, tally)
    assert tally.share("wrong") <= 0.001
    assert tally.early > 50, "no early answer tests nothing"


def test_a_plain_interval_errs_in_a_tenth_of_the_replays_where_this_rule_hardly_errs(pairs: list[Pair]) -> None:
    z = critical_value(0.9, 1)
    generator, tally, plain = np.random.default_rng(2), Tally(), Tally()
    for pair in pairs:
        comparison = compared(pair, z)
        for offset in (-0.1, 0.02, -0.02, 0.1) * 12:
            replay(pair, comparison, pair.drop + offset, generator, tally)
            plain_replay(pair, pair.drop + offset, z, generator, plain)
    assert tally.share("wrong") <= 0.02
    assert plain.share("wrong") > 0.05


def test_a_clear_answer_comes_at_the_first_look(pairs: list[Pair]) -> None:
    pair = named(pairs, "1000 changed, 10 runaways")
    decision = first_decision(pair, made(pair, threshold=0.5))
    assert (decision.answer, decision.decoded, decision.changed) == ("above", 100, 1000)
    assert not decision.exact
    assert 0.5 < decision.lower < decision.drop < decision.upper
    assert decision.lower < pair.drop < decision.upper
    assert abs(decision.drop - pair.drop) < 4 * decision.standard_error
    decision = first_decision(pair, made(pair, threshold=60.0))
    assert (decision.answer, decision.decoded) == ("under", 100)


def test_an_answer_that_settles_nothing_does_not_stop(pairs: list[Pair]) -> None:
    pair = named(pairs, "1000 changed, 10 runaways")
    decision = first_decision(pair, made(pair, threshold=60.0, stop_on=("above",)))
    assert (decision.answer, decision.decoded, decision.exact) == ("under", 1000, True)


def test_fewer_than_a_hundred_changed_sentences_are_all_decoded(pairs: list[Pair]) -> None:
    pair = named(pairs, "120 changed, 1 runaways")
    also_held = np.flatnonzero(~pair.held)[99:]
    fewer, held = pair.variant.copy(), pair.held.copy()
    fewer[also_held], held[also_held] = pair.draft[also_held], True
    pair = replace(pair, variant=fewer, held=held)
    decision = first_decision(pair, made(pair, threshold=-90.0))
    assert decision.exact
    assert (decision.answer, decision.changed) == ("above", 99)
    score = bleu_from_statistics(fewer.sum(axis=0).tolist()).bleu
    assert decision.drop == decision.lower == decision.upper
    assert decision.drop == pytest.approx(bleu_from_statistics(pair.against.sum(axis=0).tolist()).bleu - score)
    assert decision.standard_error == 0.0


def test_a_draft_that_held_everywhere_answers_at_once(pairs: list[Pair]) -> None:
    unchanged = replace(pairs[0], variant=pairs[0].draft, held=np.ones(1000, dtype=bool))
    decision = first_decision(unchanged, made(unchanged, threshold=0.5))
    assert (decision.answer, decision.drop, decision.exact) == ("under", 0.0, True)


def test_at_the_threshold_itself_the_drop_is_not_under_it(pairs: list[Pair]) -> None:
    pair = pairs[0]
    assert made(pair, pair.drop).decide(pair.variant[made(pair, 0.0).sentences]).answer == "above"


def test_a_variant_that_hardly_matches_is_decoded_to_the_end(pairs: list[Pair]) -> None:
    pair = named(pairs, "1000 changed, 10 runaways")
    variant = pair.variant.copy()
    variant[:, 1:4] = 0
    variant[:9, 1:4] = [2, 1, 1]
    pair = replace(pair, variant=variant)
    decision = first_decision(pair, made(pair, threshold=0.5))
    assert (decision.answer, decision.exact) == ("above", True)
    few = made(pair, threshold=0.5).decide(pair.variant[made(pair, 0.5).sentences[:700]])
    assert few.lower > 0.5, "only the few matches stand against a decision"


def test_one_runaway_to_come_stands_against_a_decision(pairs: list[Pair]) -> None:
    # Nothing that was decoded differs from the baseline, but one of the 20 to come may run away.
    baseline = pairs[0].against
    held = np.ones(1000, dtype=bool)
    held[seeded_order(1000, 1)[:120]] = False
    comparison = Comparison.of(baseline, held, baseline[:, -1] + 50, threshold=0.1, z=Z, seed=1)
    decision = comparison.decide(baseline[comparison.sentences[:100]])
    assert (decision.answer, decision.drop, decision.standard_error) == ("undecided", 0.0, 0.0)
    one_runaway = baseline.sum(axis=0)
    place = comparison.sentences[110]
    one_runaway[:9] += np.array([0, 0, 0, 0, 60, 59, 58, 57, 60]) - baseline[place, :9]
    assert decision.upper > float(bleu(baseline.sum(axis=0)) - bleu(one_runaway)) > 0.1


def worked(variant: Array, against: Array, opposing: Array, changed: int, known: Array) -> tuple[float, float]:
    """Estimate and standard error as the rule has them, with the gradient from finite differences."""
    n = len(variant)
    x = np.vstack([variant - against[:n], (opposing - against[n:]).mean(axis=0)])
    sums = known + against.sum(axis=0) + changed * x.mean(axis=0)
    gradient = np.array([(bleu(sums + 1e-3 * unit) - bleu(sums - 1e-3 * unit)) / 2e-3 for unit in np.eye(10)])
    spread = np.std(x @ gradient, ddof=1)
    return float(bleu(sums)), float(changed * spread / np.sqrt(n) * np.sqrt(1 - n / changed))


def test_bounds_are_those_of_the_rule_worked_out_another_way(pairs: list[Pair]) -> None:
    pair = named(pairs, "200 changed, 2 runaways, against the one before")
    comparison = made(pair, threshold=0.0)
    known = pair.variant[pair.held].sum(axis=0)
    assert comparison.known.tolist() == known.tolist()
    assert {*comparison.sentences.tolist()} == {*np.flatnonzero(~pair.held).tolist()}
    statistics, against = pair.variant[comparison.sentences[:140]], pair.against[comparison.sentences]
    decision = comparison.decide(statistics)
    reference = against[140:, 9:]
    ngrams = np.maximum(reference - np.arange(4), 0)
    longest = reference + 50 - np.arange(4)
    best = np.hstack([ngrams, ngrams, reference, reference])
    worst = np.hstack([np.zeros_like(longest), longest, reference + 50, reference])
    rival = float(bleu(pair.against.sum(axis=0)))
    estimate, error = worked(statistics, against, best, 200, known)
    assert decision.lower == pytest.approx(rival - estimate - Z * error, abs=1e-4)
    estimate, error = worked(statistics, against, worst, 200, known)
    assert decision.upper == pytest.approx(rival - estimate + Z * error, abs=1e-4)


def test_shapes_that_do_not_fit_are_errors(pairs: list[Pair]) -> None:
    baseline = pairs[0].against
    with pytest.raises(ValueError, match=r"1000 sentences, but held has shape \(3,\)"):
        Comparison.of(baseline, [True] * 3, baseline[:, -1], 0.5, Z, seed=1)
    comparison = made(pairs[0], 0.5)
    for wrong in (0, 99, 105):
        with pytest.raises(ValueError, match=rf"statistics of {wrong} sentences; there are looks at \[100, 104\]"):
            comparison.decide(np.zeros((wrong, 10)))
