from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest, Result, estimate_ci

from lit_transformer.components import component_ids
from lit_transformer.importance.intervals import drop_intervals, label, simultaneous_intervals
from lit_transformer.importance.resampling import Array, bleu, resample_counts, resampled_bleu
from lit_transformer.importance.scores import contribution_scores
from lit_transformer.metrics.bleu import CorpusBLEU, bleu_from_statistics


def corpus(seed: int, sentences: int, damage: float) -> tuple[list[str], list[str], list[str]]:
    """References, hypotheses, and hypotheses of a damaged model."""
    generator = np.random.default_rng(seed)

    def damaged(words: Array, share: float) -> Array:
        return np.where(generator.random(len(words)) < share, generator.integers(0, 3000, len(words)), words)

    references = [generator.integers(0, 3000, generator.integers(5, 20)) for _ in range(sentences)]
    hypotheses = [damaged(words, 0.3) for words in references]
    sides = (references, hypotheses, [damaged(words, damage) for words in hypotheses])
    texts = [[" ".join(f"w{word}" for word in words) for words in side] for side in sides]
    return texts[0], texts[1], texts[2]


def variants_of(population: Array, generator: np.random.Generator, losses: list[float]) -> dict[str, Array]:
    """Statistics of variants that each lose a share of the matches."""
    names = component_ids(2, 2)[: len(losses)]
    made = {}
    for name, loss in zip(names, losses, strict=True):
        made[name] = population.copy()
        kept = generator.binomial(population[:, :4], 1.0 - loss)
        made[name][:, :4] = np.minimum.accumulate(kept, axis=1)
    return made


def population(seed: int, sentences: int) -> Array:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(5, 25, sentences)
    totals = lengths[:, None] - np.arange(4)
    matches = np.minimum.accumulate(generator.binomial(totals, [0.7, 0.5, 0.4, 0.3]), axis=1)
    return np.column_stack([matches, totals, lengths, lengths + generator.integers(-2, 3, sentences)])


def test_resamples_agree_with_the_paired_bootstrap_of_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references, hypotheses, damaged = corpus(seed=1, sentences=150, damage=0.04)
    systems: list[tuple[str, Sequence[str]]] = [("baseline", hypotheses), ("variant", damaged)]
    test = PairedTest(systems, {"BLEU": sacrebleu.BLEU()}, [references], test_type="bs", n_samples=1000)
    baseline, variant = (result for result in test()[1]["BLEU"] if isinstance(result, Result))
    assert baseline.ci is not None
    assert variant.ci is not None
    statistics = [CorpusBLEU().sentence_statistics(texts, references).numpy() for _, texts in systems]

    # With sacrebleu's own draws its numbers come out, up to the float32 in which it divides.
    drawn = np.random.default_rng(12345).choice(150, size=(1000, 150), replace=True)
    counts = np.stack([np.bincount(row, minlength=150) for row in drawn])
    scores = resampled_bleu(counts, statistics)
    assert estimate_ci(scores[:, 0]) == pytest.approx((baseline.mean, baseline.ci), abs=1e-6)
    assert estimate_ci(scores[:, 1]) == pytest.approx((variant.mean, variant.ci), abs=1e-6)
    differences = np.abs(scores[:, 1] - scores[:, 0])
    beyond = np.sum(differences - differences.mean() > abs(baseline.score - variant.score))
    assert variant.p_value == pytest.approx((beyond + 1) / 1001, abs=0.0011)

    # With our own draws they agree within the noise of a thousand resamples.
    own = resampled_bleu(resample_counts(150, 10_000, seed=5), statistics)
    for column, theirs in enumerate((baseline, variant)):
        mean, width = estimate_ci(own[:, column])
        assert mean == pytest.approx(theirs.mean, abs=4 * float(theirs.ci or 0) / 1.96 / np.sqrt(1000))
        assert width == pytest.approx(theirs.ci, rel=0.12)
    result = drop_intervals(statistics[0], {"d:sa:1": statistics[1]}, seed=5).components["d:sa:1"]
    assert result.drop == pytest.approx(baseline.score - variant.score, abs=1e-9)
    signed = np.sort(scores[:, 0] - scores[:, 1])
    assert (result.lower, result.upper) == pytest.approx((signed[25], signed[974]), abs=0.15)


def test_a_single_interval_is_the_percentile_interval() -> None:
    values = np.random.default_rng(1).permutation(1000).astype(float)[:, None]
    # 25 values are cut off at either end, so that 950 of 1000 lie inside.
    assert [bound.tolist() for bound in simultaneous_intervals(values, 0.95)] == [[25.0], [974.0]]


def test_intervals_hold_for_all_columns_at_once_and_no_wider_than_needed() -> None:
    values = np.random.default_rng(2).normal(size=(20_000, 10)) * np.logspace(-2, 2, 10)
    lower, upper = simultaneous_intervals(values, 0.95)
    inside = ((values >= lower) & (values <= upper)).all(axis=1).mean()
    assert 0.95 <= inside < 0.955
    # Independent columns need a joint coverage of 0.95 = p ** 10 (Sidak).
    expected = NormalDist().inv_cdf(0.5 + 0.95**0.1 / 2)
    assert upper / np.logspace(-2, 2, 10) == pytest.approx(expected, rel=0.07)
    assert -lower / np.logspace(-2, 2, 10) == pytest.approx(expected, rel=0.07)


def test_columns_that_vary_together_cost_nothing_and_constant_ones_neither() -> None:
    values = np.random.default_rng(3).normal(size=(4000, 1))
    alone = simultaneous_intervals(values)
    together = simultaneous_intervals(np.hstack([values, 5 * values + 1, np.zeros_like(values)]))
    for bound, bounds in zip(alone, together, strict=True):
        assert bounds.tolist() == pytest.approx([bound[0], 5 * bound[0] + 1, 0.0])


def test_intervals_cover_the_drops_of_the_population() -> None:
    generator = np.random.default_rng(4)
    everything = population(4, 20_000)
    variants = variants_of(everything, generator, [0.0, 0.002, 0.01, 0.03, 0.1, 0.3])
    true = {name: float(bleu(everything.sum(0)) - bleu(variant.sum(0))) for name, variant in variants.items()}
    covered = 0
    for repeat in range(200):
        drawn = generator.integers(0, len(everything), 250)
        sample = {name: variant[drawn] for name, variant in variants.items()}
        found = drop_intervals(everything[drawn], sample, resamples=600, seed=repeat).components
        covered += all(found[name].lower <= drop <= found[name].upper for name, drop in true.items())
    # 95 % of 200, give or take three standard deviations and what 250 sentences lack.
    assert 0.90 <= covered / 200 <= 0.99


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (0.6, 3.0, "important"),
        (0.5, 3.0, "undecided"),
        (-0.4, -0.1, "harmful"),
        (-0.4, 0.0, "negligible"),
        (-0.4, 0.4, "negligible"),
        (0.1, 0.4, "negligible"),
        (0.0, 0.0, "negligible"),
        (-0.4, 0.5, "undecided"),
        (-2.0, 2.0, "undecided"),
    ],
)
def test_labels(lower: float, upper: float, expected: str) -> None:
    assert label(lower, upper) == expected


def test_epsilon_moves_the_labels() -> None:
    assert label(0.6, 0.9, epsilon=1.0) == "negligible"
    assert label(0.06, 0.9, epsilon=0.05) == "important"


def test_results_are_those_of_each_resample_by_itself() -> None:
    whole = population(5, 80)
    variants = variants_of(whole, np.random.default_rng(5), [0.04, 0.06, 0.05, 0.2])
    counts = resample_counts(80, 200, seed=9)
    result = drop_intervals(whole, dict(reversed(variants.items())), counts=counts)
    names = list(variants)
    assert list(result.components) == names
    drops, contributions = [], []
    for row in counts:
        drawn = np.repeat(np.arange(80), row)
        scores = {name: bleu_from_statistics(rows[drawn].sum(0).tolist()).bleu for name, rows in variants.items()}
        made = contribution_scores(bleu_from_statistics(whole[drawn].sum(0).tolist()).bleu, scores)
        drops.append([made[name].drop for name in names])
        contributions.append([made[name].contribution for name in names])
    assert result.resampled_drops == pytest.approx(np.array(drops), abs=1e-9)
    intervals = result.components.values()
    for values, fields in ((drops, ("lower", "upper")), (contributions, ("contribution_lower", "contribution_upper"))):
        for bound, field in zip(simultaneous_intervals(np.array(values)), fields, strict=True):
            assert [getattr(interval, field) for interval in intervals] == pytest.approx(bound.tolist(), abs=1e-9)
    assert result.baseline_lower < result.baseline < result.baseline_upper

    lowest = [sorted(range(4), key=row.__getitem__)[:2] for row in drops]
    stability = result.stability(2)
    chosen = sorted(sorted(range(4), key=[interval.drop for interval in intervals].__getitem__)[:2])
    assert stability.least == tuple(names[place] for place in chosen)
    expected = [sum(place in row for row in lowest) / 200 for place in range(4)]
    assert list(stability.shares.values()) == pytest.approx(expected)
    assert stability.overlap == pytest.approx(sum(len({*chosen} & {*row}) for row in lowest) / 400)
    assert 0.5 < stability.overlap < 1.0


def test_components_that_change_nothing_are_negligible_and_rank_in_canonical_order() -> None:
    whole = population(6, 50)
    result = drop_intervals(whole, {"d:sa:1": whole, "e:sa:2": whole, "e:sa:1": whole}, resamples=100)
    for interval in result.components.values():
        assert (interval.drop, interval.lower, interval.upper, interval.label) == (0.0, 0.0, 0.0, "negligible")
        assert (interval.contribution_lower, interval.contribution_upper) == (0.0, 0.0)
    assert result.stability(2).least == ("e:sa:1", "e:sa:2")
    assert result.stability(2).shares == {"e:sa:1": 1.0, "e:sa:2": 1.0, "d:sa:1": 0.0}


def test_mistakes_are_errors() -> None:
    whole = population(7, 20)
    with pytest.raises(ValueError, match="no component"):
        drop_intervals(whole, {})
    with pytest.raises(ValueError, match=r"d:sa:1: expected shape \(20, 10\), got \(19, 10\)"):
        drop_intervals(whole, {"d:sa:1": whole[:19]})
    with pytest.raises(ValueError, match=r"the level is 95"):
        simultaneous_intervals(np.zeros((10, 1)), 95)
    with pytest.raises(ValueError, match="not finite"):
        simultaneous_intervals(np.array([[1.0], [np.nan]]))
    with pytest.raises(ValueError, match="k is 2; there are 1 components"):
        drop_intervals(whole, {"d:sa:1": whole}, resamples=10).stability(2)
