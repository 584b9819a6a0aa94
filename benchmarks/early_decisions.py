"""Replays early decisions in random orders of the sentences and counts the wrong ones.

Run it with ``make bench`` or ``python benchmarks/early_decisions.py [FOLDER]``. FOLDER is an analysis with the journal
of its evaluations (``evaluations.jsonl`` and ``evaluations/*.safetensors``); without one, damaged translations are made
from a seed: about a hundred changed sentences up to all of them, most changed a little, one in a hundred a runaway.

Every replay asks whether a drop is above a threshold that lies within 0.4 BLEU of the true drop, where wrong answers
are likeliest. Printed are the shares of wrong answers, of answers before the last sentence, and of wrong answers of a
plain normal interval over all sentences; and the share of changed sentences that are decoded to answer the questions
of an analysis: whether a drop is under 0.5 BLEU, and whether it is above a tenth of the baseline.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from lit_transformer.bleu import CorpusBLEU
from lit_transformer.importance.early import Comparison, critical_value, looks
from lit_transformer.importance.extrapolation import extrapolated
from lit_transformer.importance.resampling import Array, bleu

EXTRA_TOKENS = 50
"""A hypothesis runs at most so much longer than its reference."""

OFFSETS = (-0.4, -0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2, 0.4)
"""BLEU points between the true drop and the threshold."""


@dataclass(frozen=True)
class Pair:
    """A variant and what it is compared with, sentence by sentence, on the same sentences.

    Args:
        name: What a person reads.
        against: Statistics of the baseline or of a rival ``(sentences, 10)``.
        variant: Statistics of the variant ``(sentences, 10)``.
        draft: Statistics of the draft ``(sentences, 10)``.
        held: True where the draft held to the end ``(sentences,)``.
    """

    name: str
    against: Array
    variant: Array
    draft: Array
    held: Array

    @property
    def drop(self) -> float:
        """The true drop, in BLEU points."""
        return float(bleu(self.against.sum(axis=0)) - bleu(self.variant.sum(axis=0)))


@dataclass
class Tally:
    """How replays went.

    Args:
        replays: Number of replays.
        wrong: Number of wrong answers.
        early: Number of answers before the last sentence.
        decoded: Sum of the shares of changed sentences that were decoded.
    """

    replays: int = 0
    wrong: int = 0
    early: int = 0
    decoded: float = 0.0

    def add(self, wrong: bool, early: bool = False, decoded: float = 1.0) -> None:
        """Count one replay."""
        self.replays += 1
        self.wrong += wrong
        self.early += early
        self.decoded += decoded

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def share(self, name: str) -> float:
        """Return one of the counts over the number of replays."""
        return float(getattr(self, name)) / max(self.replays, 1)


def made_pairs(seed: int, sentences: int = 1000) -> Iterator[Pair]:
    """Make damaged translations, each compared with the undamaged ones and one with another.

    Args:
        seed: Seed of all choices.
        sentences: Size of the scoring set.
    """
    generator = np.random.default_rng(seed)
    lengths = np.clip(generator.normal(13, 4, sentences).round().astype(int), 4, 30)
    references = [generator.zipf(1.2, length) % 4000 for length in lengths]
    hypotheses = [_edited(generator, reference, max(1, round(0.25 * len(reference)))) for reference in references]
    baseline = _statistics(hypotheses, references)
    rival = baseline
    for changed, runaways in ((104, 1), (120, 1), (150, 2), (200, 2), (300, 3), (600, 6), (150, 0), (1000, 10)):
        variant = baseline.copy()
        places = generator.permutation(sentences)[: min(changed, sentences)]
        texts = [_edited(generator, hypotheses[place], int(generator.integers(1, 3))) for place in places]
        for number, place in enumerate(places[:runaways]):
            loop = np.tile(hypotheses[place][-2:], len(references[place]) + EXTRA_TOKENS)
            texts[number] = np.concatenate([hypotheses[place], loop])[: len(references[place]) + EXTRA_TOKENS]
        variant[places] = _statistics(texts, [references[place] for place in places])
        held = np.isin(np.arange(sentences), places, invert=True)
        yield Pair(f"{changed} changed, {runaways} runaways", baseline, variant, baseline, held)
        if rival is not baseline:
            yield Pair(
                f"{changed} changed, {runaways} runaways, against the one before", rival, variant, baseline, held
            )
        rival = variant


def _edited(generator: np.random.Generator, tokens: Array, edits: int) -> Array:
    """Return a text with some tokens replaced, left out or doubled."""
    text = list(tokens)
    for kind in generator.integers(0, 4, edits):
        place = int(generator.integers(0, len(text)))
        if kind == 0 and len(text) > 3:
            del text[place]
        elif kind == 1:
            text.insert(place, text[place])
        else:
            text[place] = int(generator.integers(0, 4000))
    return np.array(text)


def _statistics(hypotheses: Sequence[Array], references: Sequence[Array]) -> Array:
    texts = [[" ".join(map(str, tokens)) for tokens in side] for side in (hypotheses, references)]
    return CorpusBLEU(tokenize="none").sentence_statistics(*texts).numpy()


def journalled_pairs(folder: Path) -> Iterator[Pair]:
    """Read every evaluation of an analysis, each compared with the baseline and with the one before.

    Args:
        folder: Where ``evaluations.jsonl`` is.
    """
    lines = [json.loads(line) for path in sorted(folder.glob("evaluations*.jsonl")) for line in path.open()]
    found = {line["name"]: load_file(folder / "evaluations" / f"{line['key']}.safetensors") for line in lines}
    drafts = found.pop("baseline")
    baseline = drafts["statistics"]
    rival = None
    for name, tensors in found.items():
        variant = tensors["statistics"]
        if variant.shape != baseline.shape:
            continue
        hypotheses = [np.split(each["pieces"], np.cumsum(each["lengths"])[:-1]) for each in (drafts, tensors)]
        held = np.array([np.array_equal(*both) for both in zip(*hypotheses, strict=True)])
        yield Pair(name, baseline, variant, baseline, held)
        if rival is not None:
            yield Pair(f"{name}, against the one before", rival, variant, baseline, held)
        rival = variant


def compared(pair: Pair, z: float) -> Comparison:
    """Return the comparison of a pair, whose threshold and order each replay replaces."""
    limits = pair.against[:, -1] + EXTRA_TOKENS
    return Comparison.of(pair.against, pair.held, limits, threshold=0.0, z=z, seed=1, draft=pair.draft)


def replay(pair: Pair, comparison: Comparison, threshold: float, generator: np.random.Generator, tally: Tally) -> None:
    """Decide once, with a new random order of the sentences.

    Args:
        pair: What to compare.
        comparison: What `compared` made of it.
        threshold: The drop in question, in BLEU points.
        generator: Gives the order.
        tally: What is counted up.
    """
    order = generator.permutation(len(comparison.sentences))
    fields = {name: getattr(comparison, name)[order] for name in ("sentences", "against", "limits")}
    comparison = replace(comparison, threshold=threshold, **fields)
    statistics = pair.variant[comparison.sentences]
    for look in comparison.looks:
        decision = comparison.decide(statistics[:look])
        if decision.answer != "undecided":
            break
    truth = "under" if pair.drop < threshold else "above"
    tally.add(decision.answer != truth, not decision.exact, decision.decoded / max(decision.changed, 1))


def plain_replay(pair: Pair, threshold: float, z: float, generator: np.random.Generator, tally: Tally) -> None:
    """Decide once by a normal interval that treats all sentences alike and takes the sample as it is."""
    count = len(pair.against)
    base = pair.against.sum(axis=0)
    differences = (pair.variant - pair.against)[generator.permutation(count)]
    for look in looks(count)[:-1]:
        estimates = extrapolated(base, differences[:look], count)
        beyond = float(bleu(base) - estimates.bleu[0]) - threshold
        if abs(beyond) > z * estimates.standard_errors[0]:
            tally.add((beyond < 0) != (pair.drop < threshold), early=True, decoded=look / count)
            return
    tally.add(False)


def main() -> None:
    """Run the replays and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="an analysis with its journal; made sentences without it")
    parser.add_argument("--replays", type=int, default=20_000, help="of each kind, shared among the pairs")
    parser.add_argument("--confidence", type=float, nargs="+", default=[0.9, 0.999])
    parser.add_argument("--decisions", type=int, default=1, help="decisions that the confidence is shared among")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pairs = list(journalled_pairs(options.folder) if options.folder else made_pairs(options.seed))
    for confidence in options.confidence:
        z = critical_value(confidence, options.decisions, "--confidence")
        started = time.perf_counter()
        print(f"\nnumpy {np.__version__}, confidence {confidence}, {options.decisions} decisions, z {z:.2f}")
        print(f"{'':<52} drop  replays    wrong  early  plain wrong  decoded: under 0.5  above a tenth")
        rows = [measured(pair, z, max(1, options.replays // len(pairs)), options.seed) for pair in pairs]
        for pair, tallies in zip(pairs, rows, strict=True):
            _print(pair.name, f"{pair.drop:6.2f}", tallies)
        _print("all", "      ", [sum(column, Tally()) for column in zip(*rows, strict=True)])
        print(f"{time.perf_counter() - started:.0f} s")


def measured(pair: Pair, z: float, replays: int, seed: int) -> list[Tally]:
    """Replay a pair; return tallies near the threshold, of the plain interval, and of an analysis's two questions."""
    generator = np.random.default_rng(seed)
    comparison = compared(pair, z)
    near, plain, epsilon, cap = (Tally() for _ in range(4))
    for offset in islice(cycle(OFFSETS), replays):
        replay(pair, comparison, pair.drop + offset, generator, near)
        plain_replay(pair, pair.drop + offset, z, generator, plain)
    for _ in range(max(1, replays // 20)):
        for threshold, tally in ((0.5, epsilon), (0.1 * comparison.bleu, cap)):
            replay(pair, comparison, threshold, generator, tally)
    return [near, plain, epsilon, cap]


def _print(name: str, drop: str, tallies: Sequence[Tally]) -> None:
    near, plain, epsilon, cap = tallies
    shares = f"{near.share('wrong'):>8.3%} {near.share('early'):>6.1%} {plain.share('wrong'):>12.2%}"
    decoded = f"{epsilon.share('decoded'):>19.0%} {cap.share('decoded'):>14.0%}"
    print(f"{name:<50} {drop} {near.replays:>8} {shares} {decoded}", flush=True)


if __name__ == "__main__":
    main()
