"""What the files of a run tell: scores, training, analysis; read without torch and without the checkpoint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_transformer.components import canonical_key, kind_of, layer_of
from lit_transformer.errors import UserError
from lit_transformer.runs.config import config_of, section_of
from lit_transformer.runs.examples import read_examples
from lit_transformer.runs.metrics import METRICS_FILE, read_metrics
from lit_transformer.runs.scores import SCORES_FORMAT, shown_scores

Row = Mapping[str, Any]
SCORES = ("contribution", "criticality")
ANALYZE = "lit-transformer analyze --config analysis.yaml --ckpt_path RUN"


@dataclass(frozen=True)
class Run:
    """A run as its files show it.

    Args:
        folder: The folder of the run.
        label: What it is called among the runs of a report, such as ``demo/version_0``.
        analysis: The folder of the analysis that is shown; None where there is none.
        scores: The content of its ``scores.json``; empty where there is none.
        problems: What is missing or can't be read, and what to do about it: a sentence each.
    """

    folder: Path
    label: str
    analysis: Path | None
    scores: Mapping[str, Any]
    problems: Sequence[str] = field(default_factory=tuple)

    @cached_property
    def components(self) -> list[dict[str, Any]]:
        """A row for each component that was scored, in canonical order."""
        rows = sorted(self.scores.get("components", []), key=lambda row: canonical_key(row["component"]))
        return [{**row, "kind": kind_of(row["component"]), "layer": layer_of(row["component"])} for row in rows]

    def column(self, name: str) -> dict[str, float]:
        """Return a column of numbers by component id, of the components that have it."""
        return {
            row["component"]: float(row[name]) for row in self.components if isinstance(row.get(name), (int, float))
        }

    @property
    def baseline(self) -> Mapping[str, Any]:
        """Measures of the whole model on the scoring set; empty where nothing was scored."""
        return self.scores.get("baseline", {})

    @property
    def scoring_set(self) -> str:
        """What was scored on, in words; empty where nothing was."""
        found = self.scores.get("scoring_set")
        if not found:
            return ""
        sample = f", a sample of {found['sample_of']:,}" if "sample_of" in found else ""
        return f"{found['sentences']:,} sentences of {found['split']}{sample}"

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The configuration of the training, or else of the analysis; empty where neither can be read."""
        return config_of(self.folder) or (config_of(self.analysis) if self.analysis else {})

    def settings(self, section: str) -> Mapping[str, Any]:
        """Return a section of the configuration, such as ``model``; empty where there is none."""
        return section_of(self.config, section)

    @cached_property
    def metrics(self) -> dict[str, list[tuple[int, float]]]:
        """Steps and finite values of each metric of ``metrics.csv``; the last line of a step is the one that holds."""
        found: dict[str, dict[int, float]] = {}
        for logged in read_metrics(self.folder):
            if logged.step is not None and math.isfinite(logged.value):
                found.setdefault(logged.metric, {})[logged.step] = logged.value
        return {name: sorted(values.items()) for name, values in found.items()}

    @cached_property
    def group_ablation(self) -> list[dict[str, Any]]:
        """A row for each order and step of the group ablation."""
        return list(self.scores.get("group_ablation", {}).get("rows", []))

    @cached_property
    def examples(self) -> Mapping[str, Any]:
        """Translations of the baseline beside those without a component; empty where none were written."""
        return {} if self.analysis is None else read_examples(self.analysis, self.scores.get("weights", ""))


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read the runs of a report, each under a name of its own.

    Args:
        paths: The folders of runs, or of analyses in them.

    Raises:
        UserError: A folder is missing, or is no run's.
    """
    folders = [_run_folder(path) for path in paths]
    places = [folder.resolve() for folder in folders]
    labels = dict(zip(dict.fromkeys(places), _labels(list(dict.fromkeys(places))), strict=True))
    runs = [read_run(path, labels[place]) for path, place in zip(paths, places, strict=True)]
    # Several analyses of one run are told apart by the checkpoint.
    several = {place for place in places if places.count(place) > 1}
    return [
        replace(run, label=f"{run.label}, {_analysis_name(run)}") if place in several else run
        for run, place in zip(runs, places, strict=True)
    ]


def read_run(path: Path, label: str | None = None) -> Run:
    """Read a run.

    Args:
        path: Its folder, or that of one of its analyses; of several analyses in a run that of whole sentences comes
            first, and of those the latest.
        label: What it is called; the last two parts of its folder's path where not given.

    Raises:
        UserError: The folder is missing, or is no run's.
    """
    folder = _run_folder(path)
    label = label or _labels([folder])[0]
    found = [path] if (path / "scores.json").is_file() else analyses_of(folder)
    problems: list[str] = []
    for analysis in found:
        try:
            scores = shown_scores(analysis)
        except UserError as error:
            problems.append(str(error))
            continue
        return Run(folder, label, analysis, scores, (*problems, *_missing(analysis, scores)))
    if not found:
        begun = sorted(file.parent.name for file in folder.glob("analysis/*/evaluations.jsonl"))
        if begun:
            problems.append(
                f"The analysis of {', '.join(begun)} is not finished; the command that began it goes on where it was."
            )
        else:
            problems.append(f"No analysis; `{ANALYZE}` makes one.")
    return Run(folder, label, None, {}, tuple(problems))


def analyses_of(folder: Path) -> list[Path]:
    """Return the analyses in the folder of a run: whole ones, those of samples, those of some components; latest first.

    Args:
        folder: The folder of the run.
    """

    def order(analysis: Path) -> tuple[bool, bool, float]:
        return (
            analysis.name != "selected",
            not analysis.name.startswith("limit-") and not analysis.parent.name.startswith("limit-"),
            (analysis / "scores.json").stat().st_mtime,
        )

    return sorted((path.parent for path in (folder / "analysis").rglob("scores.json")), key=order, reverse=True)


def _run_folder(path: Path) -> Path:
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise UserError(f"{str(path)!r} {what}; give the folder of a run, such as runs/demo/version_0.")
    scores_only = (path / "scores.json").is_file()
    for folder in (path, *path.parents) if scores_only else (path,):
        if (folder / "analysis").is_dir() or (folder / "checkpoints").is_dir() or (folder / METRICS_FILE).is_file():
            return folder
    if scores_only:
        return path
    inside = sorted(found.parent for found in path.glob(f"**/{METRICS_FILE}"))[:3]
    hint = f"it holds {', '.join(map(str, inside))}" if inside else "`lit-transformer fit` makes one"
    raise UserError(
        f"{str(path)!r} is neither the folder of a run nor of a study: no checkpoints, no analysis, no study.csv. Give "
        f"that of a run, such as runs/demo/version_0; {hint}."
    )


def _labels(folders: Sequence[Path]) -> list[str]:
    """Return the shortest ends of different paths, of two parts or more, that tell the folders apart."""
    parts = [folder.absolute().parts[1:] for folder in folders]
    labels = []
    for place, mine in enumerate(parts):
        others = [other for at, other in enumerate(parts) if at != place]
        length = 2
        while length < len(mine) and any(other[-length:] == mine[-length:] for other in others):
            length += 1
        labels.append(_printable("/".join(mine[-length:])))
    return labels


def _printable(text: str) -> str:
    """Return a name as text that any file can hold: a folder may be called by bytes that are none."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _analysis_name(run: Run) -> str:
    return "no analysis" if run.analysis is None else "/".join(run.analysis.relative_to(run.folder).parts[1:])


def _missing(analysis: Path, scores: Mapping[str, Any]) -> Iterator[str]:
    rows = scores["components"]
    if scores.get("format") != SCORES_FORMAT:
        yield (
            f"The scores are of format {scores.get('format')!r}, this version writes {SCORES_FORMAT}; what is shown "
            "may be incomplete, and analyzing again, which reuses the evaluations, mends it."
        )
    absent = [name for name in ("contribution", "criticality") if not any(name in row for row in rows)]
    if "group_ablation" not in scores:
        absent.append("group ablation")
    if absent:
        yield f"No {', no '.join(absent)} yet; `{ANALYZE}` adds what is missing."
    partial = [name for name in ("contribution", "criticality") if 0 < sum(name in row for row in rows) < len(rows)]
    for name in partial:
        yield f"Only {sum(name in row for row in rows)} of {len(rows)} components have a {name}."
    if analysis.name == "selected":
        yield "Only some components were scored, and their scores are relative to each other."
    if "sample_of" in scores.get("scoring_set", {}):
        scoring_set = scores["scoring_set"]
        yield f"Scored on a sample of {scoring_set['sentences']} of {scoring_set['sample_of']} sentences."
    if scores.get("reliable") is False:
        yield "The baseline is below 15 BLEU, which makes the scores unreliable."
