"""Early decisions: stop decoding as soon as the answer that is needed from an evaluation is settled.

A variant of the model is compared with one whose statistics are known sentence by sentence: the baseline, or, for group
ablation, a rival. The question is on which side of a threshold its drop in BLEU lies. How to use it::

    z = critical_value(confidence=0.999, decisions=300)
    comparison = Comparison.of(against=..., held=..., limits=..., threshold=0.5, z=z, seed=1)
    for look in comparison.looks:
        decode the sentences comparison.sentences[:look] that are not decoded yet
        decision = comparison.decide(their statistics, in that order)
        if decision.answer != "undecided":
            break

The last look is at all sentences: its answer is exact. BLEU is no average, and one runaway hypothesis among hundreds
can outweigh all others; so what was not decoded is represented by a pseudo-sentence that opposes the decision.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lit_transformer.bleu import ORDERS
from lit_transformer.errors import UserError
from lit_transformer.importance.extrapolation import extrapolated, perfect, runaway, seeded_order
from lit_transformer.importance.resampling import Array, bleu, checked_statistics

# Of the width that an interval should have at a later look, by what share it has to clear the threshold.
_HOPE = 0.7

Answer = Literal["under", "above", "undecided"]

LOOKS = (10, 20, 40, 70)
"""Percent of the changed sentences after which there is a look."""

FEWEST = 100
"""Sentences that a look needs, and changed sentences that an early stop needs."""

FEWEST_MATCHES = 10
"""Matched n-grams of each order that a decision needs: below this, BLEU is far from linear in them."""


def looks(changed: int) -> list[int]:
    """Return after how many decoded sentences there is a look; the last one, after all of them, is exact.

    Args:
        changed: Number of sentences whose draft did not hold.

    Example:
        >>> looks(1000), looks(150), looks(99)
        ([100, 200, 400, 700, 1000], [100, 105, 150], [99])
    """
    early = {max(FEWEST, math.ceil(changed * percent / 100)) for percent in LOOKS}
    return [*sorted(look for look in early if look < changed), changed]


def critical_value(confidence: float, decisions: int, flag: str = "--trainer.callbacks.confidence") -> float:
    """Return by how many standard errors an estimate must be beyond its threshold.

    Args:
        confidence: Probability that no decision of the whole analysis is wrong, such as 0.999.
        decisions: Upper bound of their number: components for contribution, components times 10 for criticality, k
            times components for group ablation.
        flag: The option as the user types it, for messages.

    Raises:
        UserError: The confidence is not between 0.5 and 1.
        ValueError: There is no decision.
    """
    if not 0.5 < confidence < 1.0:
        raise UserError(f"{flag} is {confidence!r}; give a number above 0.5 and below 1, such as 0.999.")
    if decisions < 1:
        raise ValueError(f"expected at least one decision, got {decisions}")
    # By symmetry, because 1 minus so small a share would be rounded.
    return -NormalDist().inv_cdf((1.0 - confidence) / (len(LOOKS) * decisions))


@dataclass(frozen=True)
class Decision:
    """What is known of a drop after some of the sentences.

    Args:
        answer: ``under`` or ``above`` the threshold, or ``undecided``; at the threshold itself, ``above``.
        drop: Estimate of the drop in BLEU points; the drop itself once all sentences are decoded.
        lower: The drop is at least this, with the confidence of the analysis.
        upper: The drop is at most this, with the confidence of the analysis.
        standard_error: Standard error of the estimate, in BLEU points; 0 once all sentences are decoded.
        decoded: Number of changed sentences that were decoded.
        changed: Number of changed sentences.
    """

    answer: Answer
    drop: float
    lower: float
    upper: float
    standard_error: float
    decoded: int
    changed: int

    @property
    def exact(self) -> bool:
        """Whether all sentences were decoded."""
        return self.decoded == self.changed


@dataclass(frozen=True)
class Comparison:
    """A variant against one whose statistics are known, over the sentences whose draft did not hold.

    Args:
        sentences: Places of these sentences in the scoring set, in the order in which they are to be decoded.
        against: Statistics of what the variant is compared with, of these sentences in this order ``(changed, 10)``.
        known: Summed statistics of the variant over all other sentences ``(10,)``.
        limits: The most tokens a hypothesis can have, for each of these sentences ``(changed,)``.
        bleu: BLEU of what the variant is compared with, on the whole scoring set.
        threshold: The drop in question, in BLEU points.
        z: What `critical_value` gave.
        stop_on: The answers that settle the question; with any other, decoding goes on to the end.
    """

    sentences: Array
    against: Array
    known: Array
    limits: Array
    bleu: float
    threshold: float
    z: float
    stop_on: Collection[Answer] = ("under", "above")

    @classmethod
    def of(
        cls,
        against: ArrayLike,
        held: ArrayLike,
        limits: ArrayLike,
        threshold: float,
        z: float,
        seed: int,
        draft: ArrayLike | None = None,
        stop_on: Collection[Answer] = ("under", "above"),
    ) -> Comparison:
        """Make the comparison after the parallel pass over all sentences.

        Args:
            against: Statistics of the baseline, or of the rival ``(sentences, 10)``.
            held: True where the draft held to the end ``(sentences,)``.
            limits: The most tokens a hypothesis can have ``(sentences,)``; the most pieces will do, of which there are
                at least as many in all but odd text.
            threshold: The drop in question, in BLEU points.
            z: What `critical_value` gave.
            seed: Seed of the order of the sentences.
            draft: Statistics of the draft ``(sentences, 10)``, where it is not what the variant is compared with.
            stop_on: The answers that settle the question: ``under`` and ``above`` for criticality; ``above`` for
                contribution (the cap) and for group ablation (0, against the rival).

        Raises:
            ValueError: The shapes do not fit.
        """
        reference = checked_statistics(against, "what is compared with")
        count = len(reference)
        drafted = reference if draft is None else checked_statistics(draft, "the draft", count)
        mask, most = np.asarray(held, dtype=bool), np.asarray(limits)
        if mask.shape != (count,) or most.shape != (count,):
            raise ValueError(f"{count} sentences, but held has shape {mask.shape} and limits {most.shape}")
        order = np.asarray(seeded_order(count, seed))
        changed = order[~mask[order]]
        return cls(
            sentences=changed,
            against=reference[changed],
            known=drafted[mask].sum(axis=0, dtype=np.int64),
            limits=most[changed],
            bleu=float(bleu(reference.sum(axis=0, dtype=np.int64))),
            threshold=threshold,
            z=z,
            stop_on=stop_on,
        )

    @property
    def looks(self) -> list[int]:
        """After how many of ``sentences`` to decide."""
        return looks(len(self.sentences))

    def worth_a_look(self, decision: Decision, look: int) -> bool:
        """Return whether a later look may well settle what an earlier one did not; to leave out a look is always safe.

        Args:
            decision: The earlier look's.
            look: Number of sentences of the later one.
        """
        decoded, changed = decision.decoded, decision.changed
        if look == changed:
            return True
        shrunk = math.sqrt(decoded / look * (1 - look / changed) / (1 - decoded / changed))
        # The estimate itself moves a little, so that it need not be quite enough.
        lower = decision.drop - _HOPE * shrunk * (decision.drop - decision.lower)
        upper = decision.drop + _HOPE * shrunk * (decision.upper - decision.drop)
        return ("above" in self.stop_on and lower > self.threshold) or (
            "under" in self.stop_on and upper < self.threshold
        )

    def decide(self, statistics: ArrayLike) -> Decision:
        """Return what can be said after the first sentences are decoded.

        Args:
            statistics: Statistics of the variant for the first of ``sentences``, in their order ``(decoded, 10)``.

        Raises:
            ValueError: There are more of them than sentences, or too few for an estimate.
        """
        rows = np.asarray(statistics, dtype=np.int64).reshape(-1, len(self.known))
        decoded, changed = len(rows), len(self.sentences)
        if not min(FEWEST, changed) <= decoded <= changed:
            raise ValueError(f"statistics of {decoded} sentences; there are looks at {self.looks} of them")
        seen = self.known + rows.sum(axis=0)
        if decoded == changed:
            drop = self.bleu - float(bleu(seen))
            answer: Answer = "under" if drop < self.threshold else "above"
            return Decision(answer, drop, drop, drop, 0.0, decoded, changed)
        return self._estimate(rows, seen)

    def _estimate(self, rows: Array, seen: Array) -> Decision:
        decoded, changed = len(rows), len(self.sentences)
        to_come = self.against[decoded:]
        # What is still to come opposes "above" at its best and "under" at its worst.
        best, worst = perfect(to_come[:, -1]), runaway(to_come[:, -1], self.limits[decoded:])
        pseudo = [(opposing - to_come).mean(axis=0) for opposing in (best, worst)]
        base = self.known + self.against.sum(axis=0)
        made = extrapolated(base, rows - self.against[:decoded], changed, pseudo)
        plain, highest, lowest = made.bleu + self.z * made.standard_errors * (0.0, 1.0, -1.0)
        drop = self.bleu - float(plain)
        lower, upper = min(self.bleu - float(highest), drop), max(self.bleu - float(lowest), drop)
        fewest = min(seen[:ORDERS].min(), made.sums[:, :ORDERS].min())
        error = float(made.standard_errors[0])
        return Decision(self._answer(lower, upper, fewest), drop, lower, upper, error, decoded, changed)

    def _answer(self, lower: float, upper: float, fewest_matches: float) -> Answer:
        if len(self.sentences) < FEWEST or fewest_matches < FEWEST_MATCHES:
            return "undecided"
        answer: Answer = "under" if upper < self.threshold else "above" if lower > self.threshold else "undecided"
        return answer if answer in self.stop_on else "undecided"
