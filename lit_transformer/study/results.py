"""The results of a study as rows: one for each run, and one for each arm over the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from lit_transformer.study.arms import CONTROL, FAMILIES
from lit_transformer.study.facts import Facts, Reader
from lit_transformer.study.runner import Made, Outcome
from lit_transformer.study.statistics import Comparison, SentenceInterval, compare, over_sentences


@dataclass(frozen=True)
class Row:
    """A run of a study.

    Args:
        made: What was made.
        facts: What its files tell; None where it is not done.
        speed: Sentences per second, side by side with the other runs of its seed; None where it was not timed.
        versus: Against the control of the same seed, over sentences; None for a control, and where there is none.
    """

    made: Made
    facts: Facts | None
    speed: float | None
    versus: SentenceInterval | None

    @property
    def test_bleu(self) -> float | None:
        """BLEU on the test split."""
        return None if self.facts is None or self.facts.test is None else self.facts.test.bleu

    @property
    def status(self) -> str:
        """``done``, or why it is not."""
        stage = self.made.stage
        if not stage.is_done:
            return f"{stage.status}: {stage.message}"
        return "done" if self.test_bleu is not None else "done, but not scored"


def rows_of(outcome: Outcome, reader: Reader) -> list[Row]:
    """Return a row for each run, those of a family together.

    Args:
        outcome: What the study did.
        reader: Reads the files of runs.
    """
    facts = {made.stage.key: reader.facts(made.checkpoint, made.began) for made in outcome.made if made.stage.is_done}
    controls = {
        (made.family, made.seed): made
        for made in outcome.made
        if made.arm == CONTROL.get(made.family) and made.stage.is_done
    }
    order = ("base", *FAMILIES)
    return [
        Row(
            made,
            facts.get(made.stage.key),
            outcome.speeds.get(made.checkpoint),
            _versus(made, controls.get((made.family, made.seed)), facts, reader),
        )
        for made in sorted(outcome.made, key=lambda made: order.index(made.family))
    ]


def comparisons(rows: list[Row]) -> dict[str, list[Comparison]]:
    """Return how the arms of each family compare with its control on the test split, over the seeds.

    Several random choices of an arm count as one, their mean.
    """
    found = {}
    for family in FAMILIES:
        mine = [row for row in rows if row.made.family == family]
        scored = [(row.made, row.test_bleu) for row in mine if row.test_bleu is not None]
        control = {made.seed: bleu for made, bleu in scored if made.arm == CONTROL[family]}
        differences: dict[str, dict[int, list[float]]] = {}
        for made, bleu in scored:
            if made.arm != CONTROL[family] and made.seed in control:
                differences.setdefault(made.arm, {}).setdefault(made.seed, []).append(bleu - control[made.seed])
        means = {arm: [fmean(values) for values in by_seed.values()] for arm, by_seed in differences.items()}
        if means:
            found[family] = compare(means)
    return found


def _versus(made: Made, control: Made | None, facts: Mapping[str, Facts], reader: Reader) -> SentenceInterval | None:
    if control is None or control is made or not made.stage.is_done:
        return None
    mine, other = facts[made.stage.key].test, facts[control.stage.key].test
    if mine is None or other is None:
        return None
    return over_sentences(reader.statistics(made.checkpoint, mine), reader.statistics(control.checkpoint, other))
