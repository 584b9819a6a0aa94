"""The first lines of a report: what the numbers say, in sentences that hold for any run."""

from __future__ import annotations

from collections.abc import Sequence

from lit_transformer.components import kind_of
from lit_transformer.report.agreement import UNIMPORTANT, Agreement, Shared
from lit_transformer.report.runs import Run
from lit_transformer.report.studies import Study

NAMES = {
    "e:sa": "encoder self-attention",
    "e:ff": "encoder feed-forward",
    "d:sa": "decoder self-attention",
    "d:ea": "decoder attention to the encoder",
    "d:ff": "decoder feed-forward",
}
"""What a kind of component is, in words."""


def named(component: str) -> str:
    """Return a component in words, such as ``d:ea:3 (decoder attention to the encoder, layer 3)``."""
    kind, _, layer = component.rpartition(":")
    return f"{component} ({NAMES[kind]}, layer {layer})"


def run_summary(run: Run) -> list[str]:
    """Return what matters in a run, in at most two sentences made from its numbers.

    Args:
        run: The run.
    """
    drops = run.column("drop")
    if drops:
        return [_contribution_sentence(run, drops), *_removal_sentence(run)]
    criticality = run.column("criticality")
    if criticality:
        most = max(criticality, key=criticality.__getitem__)
        least = sum(value == 0 for value in criticality.values())
        return [
            f"The most critical component is {named(most)}, which needs {criticality[most]:.1f} of its training; for "
            f"{least} of {len(criticality)} the initial weights do."
        ]
    mean = run.column("mean_drop")
    if mean:
        most = max(mean, key=mean.__getitem__)
        return [
            f"With its mean output in the place of {named(most)} the model {changed(mean[most])} BLEU, the most of all."
        ]
    return [f"{run.label} has no scores yet."]


def _contribution_sentence(run: Run, drops: dict[str, float]) -> str:
    labels = [row.get("label") for row in run.components if "drop" in row]
    most, least = max(drops, key=drops.__getitem__), min(drops, key=drops.__getitem__)
    epsilon = run.scores.get("contribution", {}).get("epsilon", UNIMPORTANT)
    first = f"Without {named(most)} the model {changed(drops[most])} of {run.baseline['bleu']:.2f} BLEU"
    if drops[most] == drops[least]:
        others = f", as without each of the other {_number(len(drops) - 1, 'component')}" if len(drops) > 1 else ""
        return f"{first}{others}, on {run.baseline['sentences']:,} sentences."
    second = f"{first}, without {named(least)} it {changed(drops[least])}"
    if not any(labels):
        return f"{second}, on {run.baseline['sentences']:,} sentences."
    sure, undecided = labels.count("important"), labels.count("undecided")
    spared = labels.count("negligible") + labels.count("harmful")
    return (
        f"{second}: of {_number(len(drops), 'component')} {_count(sure)} surely worth more than {epsilon:g} BLEU and "
        f"{_count(spared)} surely worth less, while {undecided} {_be(undecided)} undecided on "
        f"{run.baseline['sentences']:,} sentences."
    )


def _removal_sentence(run: Run) -> list[str]:
    rows = [row for row in run.group_ablation if row["order"] == "greedy"]
    cheap = [row for row in rows if row["step"] and row["validation_drop"] < UNIMPORTANT]
    if cheap:
        last = cheap[-1]
        held_out = f", {last['test_drop']:+.2f} on test" if last.get("test_drop") is not None else ""
        return [
            f"{_number(last['step'], 'component')} ({last['parameters_removed']:,} parameters) can go together, "
            f"without retraining, for less than {UNIMPORTANT:g} BLEU on the sentences that they were chosen on "
            f"(loss {last['validation_drop']:+.2f} there{held_out})."
        ]
    correlation = run.scores.get("correlations", {}).get("contribution_and_criticality")
    if correlation is not None:
        return [f"Contribution and criticality order the components alike by {correlation:.2f} (Spearman)."]
    return []


def runs_summary(runs: Sequence[Run], pairs: Sequence[Agreement], shared: Sequence[Shared]) -> list[str]:
    """Return what several runs have in common, in at most two sentences.

    Args:
        runs: The runs.
        pairs: How alike their drops are.
        shared: What each component costs in each of them.
    """
    scored = sum(bool(run.column("drop")) for run in runs)
    known = [pair.spearman for pair in pairs if pair.spearman is not None]
    lines = []
    if known:
        spread = f"{known[0]:.2f}" if len(known) == 1 else f"{min(known):.2f} to {max(known):.2f}"
        lines.append(
            f"The components of {scored} runs stand in orders that are alike by {spread} (Spearman's rank correlation "
            f"of the BLEU lost, {counted(len(known), len(pairs))}, over the components that both have)."
        )
    if scored > 1:
        lines.append(_shared_sentence(shared))
    return lines or [f"{len(runs)} runs, of which {scored} {_have(scored)} scores."]


def counted(known: int, pairs: int) -> str:
    """Return of how many pairs of runs a rank correlation is known, such as ``2 of 3 pairs of runs``."""
    told = "1 pair of runs" if pairs == 1 else f"{pairs:,} pairs of runs"
    return told if known == pairs else f"{known:,} of {told}"


def _shared_sentence(shared: Sequence[Shared]) -> str:
    """Return what can go in every run, of the components that every run has."""
    common = [row for row in shared if row.in_all]
    names = [row.component for row in common if row.unimportant_in_all]
    if not common:
        return "No component is in every run."
    of = "" if len(common) == len(shared) else f" of the {_number(len(common), 'component')} that every run has"
    if not names:
        subject = f"None{of}" if of else "No component"
        return f"{subject} costs less than {UNIMPORTANT:g} BLEU in every run."
    kinds = {kind_of(name) for name in names}
    alike = f", all of them {NAMES[next(iter(kinds))]}" if len(kinds) == 1 and len(names) > 1 else ""
    first = f"{of[1:].capitalize()}, less" if of else "Less"
    return f"{first} than {UNIMPORTANT:g} BLEU is lost in every run without {_listed(names)}{alike}."


def study_summary(study: Study) -> str:
    """Return what a study decides, in a sentence.

    Args:
        study: The study.
    """
    rows = [row for row in study.comparisons if row.get("arm") and row.get("verdict")]
    done = sum(row.get("status") == "done" for row in study.rows)
    if not rows:
        if not study.rows:
            return f"{study.label} is not finished: its tables are not written yet."
        return (
            f"{study.label}: {done} of {len(study.rows)} runs are done, and no arm is compared with its control; the "
            "same `lit-transformer study` command goes on, and writes what it claims."
        )
    decided = [
        f"{row['arm']} is {row['verdict']} than {row.get('control')}" for row in rows if row["verdict"] in VERDICTS
    ]
    seeds = max((row["seeds"] for row in rows if isinstance(row.get("seeds"), int)), default=1)
    said = "; ".join(decided) or "no difference is decidable"
    return f"{study.label}, {_number(seeds, 'seed')}: {said}."


VERDICTS = ("better", "worse")
"""What a study says of an arm whose interval excludes 0."""


def changed(drop: float) -> str:
    """Return what a drop is in words, such as ``loses 1.50``."""
    return f"loses {drop:.2f}" if drop >= 0 else f"gains {-drop:.2f}"


def gained(drop: float) -> str:
    """Return what a drop is in words, such as ``1.50 lost``."""
    return f"{drop:.2f} lost" if drop >= 0 else f"{-drop:.2f} gained"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _count(number: int) -> str:
    return f"{number} {_be(number)}"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Sequence[str]) -> str:
    if len(names) > 8:
        return f"any of {len(names)} components, such as {', '.join(names[:4])}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
