"""Whether the scores of several runs can be compared: what they were taken on, and how."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from lit_transformer.report.runs import Run


def _sentences(run: Run) -> str:
    digest = str(run.scores.get("scoring_set", {}).get("digest", ""))[:12]
    return f"{run.scoring_set} ({digest})" if digest else run.scoring_set


def _setting(section: str, name: str) -> Callable[[Run], str]:
    return lambda run: str(run.scores.get(section, {}).get(name, ""))


COMPARED: Mapping[str, Callable[[Run], str]] = {
    "sentences": _sentences,
    "signature": lambda run: str(run.scores.get("signature", "")),
    "decoding": lambda run: json.dumps(run.scores.get("decoding", {}), sort_keys=True).replace('"', "").strip("{}"),
    "cap of contribution": _setting("contribution", "cap"),
    "epsilon of criticality": _setting("criticality", "epsilon_given"),
}
"""What should be the same for scores to be compared, by name."""


def differences(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each condition in which runs differ.

    Args:
        runs: The runs; those without scores don't count.
    """
    scored = [run for run in runs if run.components]
    lines = []
    for name, told in COMPARED.items():
        found: dict[str, list[str]] = {}
        for run in scored:
            if value := told(run):
                found.setdefault(value, []).append(run.label)
        if len(found) > 1:
            parts = [f"{value} in {_of(labels)}" for value, labels in found.items()]
            lines.append(
                f"Compare with care, for {name} differ: {'; '.join(parts[:4])}{'; ...' if len(parts) > 4 else ''}."
            )
    return lines


def told_once(runs: Sequence[Run]) -> list[str]:
    """Return the problems of several runs, each with the runs that have it."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for problem in run.problems:
            found.setdefault(problem, []).append(run.label)
    return [f"{_of(labels)}: {problem}" for problem, labels in found.items()]


def _of(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) <= 3 else f"{len(labels)} runs ({', '.join(labels[:2])}, ...)"
