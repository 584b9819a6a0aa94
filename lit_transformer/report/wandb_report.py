"""The report of runs in Weights & Biases: its blocks, and a thin shell that saves it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_transformer.errors import UserError
from lit_transformer.report.studies import is_study
from lit_transformer.report.wandb_reading import ReportedRun, ReportedStudy, reported_run, reported_studies
from lit_transformer.report.wandb_target import check_target
from lit_transformer.tracking import names
from lit_transformer.tracking.key import has_wandb_key

SCORES = ("contribution", "criticality")
MOST_RUN_SETS = 20
"""Runs that have a run set each; more of them share one."""

_TITLE_LENGTH = 128


def publish(folders: Sequence[Path], target: str) -> str:
    """Save a report of runs in Weights & Biases.

    Args:
        folders: The folders of runs and studies; their W&B runs have to be in the project (``wandb sync``).
        target: ``ENTITY/PROJECT``.

    Returns:
        The address of the report.

    Raises:
        UserError: The target has another form, wandb-workspaces is missing, nobody is logged in, a folder is none of a
            run, or W&B does not take the report.
    """
    entity, project = check_target(target)
    given = [Path(folder) for folder in folders]
    runs, studies = [reported_run(folder) for folder in given if not is_study(folder)], reported_studies(given)
    try:
        import wandb_workspaces.reports.v2 as reports
    except ImportError as error:
        raise UserError(
            "a report in Weights & Biases needs the package wandb-workspaces; install it with `pip install "
            "'lit-transformer[wandb-report]'`, or leave --wandb out: report/index.html needs nothing."
        ) from error
    if not has_wandb_key():
        raise UserError(
            "Weights & Biases has no API key here; log in with `wandb login` or set WANDB_API_KEY, or leave --wandb "
            "out: report/index.html needs no account."
        )
    try:
        report = reports.Report(
            project=project,
            entity=entity,
            title=title_of([run.name for run in runs] or [study.name for study in studies]),
            description="Which sub-layers of a translation Transformer matter.",
            blocks=report_blocks(runs, studies, entity, project),
            width="fixed",
        )
        return str(report.save().url)
    # The package has no exception of its own: what the network, the server or a missing project says comes as it is.
    except Exception as error:
        raise UserError(
            f"Weights & Biases did not take the report: {error}. Check --wandb {target} and the connection, and send "
            "the runs there first: wandb sync RUN/wandb/offline-run-*."
        ) from error


def title_of(reported: Sequence[str]) -> str:
    """Return the title of the report, no longer than W&B takes it."""
    title = f"Components of {', '.join(reported)}"
    return title if len(title) <= _TITLE_LENGTH else f"Components of {len(reported)} runs"


def report_blocks(
    runs: Sequence[ReportedRun], studies: Sequence[ReportedStudy], entity: str, project: str
) -> list[Any]:
    """Return the blocks of the report; builds objects only, asks nobody.

    Args:
        runs: The runs.
        studies: The studies of these runs.
        entity: Whose project it is.
        project: The project that holds their W&B runs.
    """
    import wandb_workspaces.reports.v2 as reports

    sets = _RunSets(entity, project)
    blocks: list[Any] = [reports.TableOfContents()]
    if runs:
        blocks += [*_about_runs(runs, sets), *_group_ablation(runs, sets), *_components(runs, sets)]
    for study in studies:
        blocks += [
            reports.MarkdownBlock(study.text),
            reports.PanelGrid(
                runsets=[sets.named(f"study {study.name}", [f"{study.name}-study"])],
                panels=[reports.WeavePanelSummaryTable(table_name=names.STUDY)],
            ),
        ]
    return blocks


def _about_runs(runs: Sequence[ReportedRun], sets: _RunSets) -> list[Any]:
    import wandb_workspaces.reports.v2 as reports

    curves = [("val/bleu", "BLEU on validation"), ("val/loss", "loss on validation"), ("train/loss", "training loss")]
    plots: list[Any] = [reports.LinePlot(title=title, x=names.STEP, y=[name]) for name, title in curves]
    return [
        reports.H1("What was analysed"),
        reports.MarkdownBlock("\n".join(line for run in runs for line in _described(run))),
        reports.H1("Heat maps"),
        reports.P("Darker is more important, from 0 to 1 in every picture. Columns are kinds, rows are layers."),
        reports.PanelGrid(runsets=sets.of_runs(runs), panels=_heat_maps(len(runs))),
        reports.H1("Training"),
        reports.PanelGrid(runsets=sets.of_groups(runs), panels=plots),
    ]


def _group_ablation(runs: Sequence[ReportedRun], sets: _RunSets) -> list[Any]:
    import wandb_workspaces.reports.v2 as reports

    orders, name = _orders(runs), names.GROUP_ABLATION
    if not orders:
        return []
    plots: list[Any] = [
        reports.LinePlot(
            title=f"BLEU on {split}",
            x=f"{name}/{names.REMOVED}",
            y=[f"{name}/{order}/{split}_bleu" for order in orders],
            title_x="components removed",
        )
        for split in ("validation", "test")
    ]
    grid = reports.PanelGrid(runsets=sets.of_runs(runs), panels=plots)
    return [reports.H1("Components removed together"), grid]


def _components(runs: Sequence[ReportedRun], sets: _RunSets) -> list[Any]:
    import wandb_workspaces.reports.v2 as reports

    tables: list[Any] = [reports.WeavePanelSummaryTable(table_name=name) for name in (names.COMPONENTS, names.SAMPLES)]
    return [
        reports.H1("Components"),
        *(reports.MarkdownBlock(text) for run in runs for text in _component_tables(run)),
        reports.PanelGrid(runsets=sets.of_runs(runs), panels=tables),
    ]


class _RunSets:
    """Makes the run sets of one project."""

    def __init__(self, entity: str, project: str) -> None:
        self._entity, self._project = entity, project

    def named(self, title: str, wandb_names: Sequence[str]) -> Any:
        return self._filtered(title, "Name", wandb_names)

    def of_runs(self, runs: Sequence[ReportedRun]) -> list[Any]:
        if len(runs) > MOST_RUN_SETS:
            return [self.named(f"{len(runs)} runs", [name for run in runs for name in run.wandb_names])]
        return [self.named(run.name, run.wandb_names) for run in runs]

    def of_groups(self, runs: Sequence[ReportedRun]) -> list[Any]:
        groups = list(dict.fromkeys(run.group for run in runs))
        if len(groups) > MOST_RUN_SETS:
            return [self._filtered(f"{len(groups)} groups", "Group", groups)]
        return [self._filtered(f"group {group}", "Group", [group]) for group in groups]

    def _filtered(self, title: str, attribute: str, values: Sequence[str]) -> Any:
        from wandb_workspaces import expr
        from wandb_workspaces.reports.v2 import Runset

        return Runset(
            entity=self._entity,
            project=self._project,
            name=title,
            filters=expr.And(expr.Metric(attribute).isin(list(values))),
        )


def _heat_maps(count: int) -> list[Any]:
    import wandb_workspaces.reports.v2 as reports

    pictures = [
        reports.MediaBrowser(
            title=f"{score} (picture)",
            media_keys=[names.picture(score)],
            num_columns=min(count, 4),
            layout=_place(n, 0),
        )
        for n, score in enumerate(SCORES)
    ]
    charts = [
        reports.CustomChart(
            query={"summaryTable": {"tableKey": f"{names.chart(score)}_table"}},
            chart_name=names.HEAT_MAP,
            chart_fields=names.HEAT_MAP_FIELDS,
            chart_strings={"title": score},
            layout=_place(n, 1),
        )
        for n, score in enumerate(SCORES)
    ]
    return [*pictures, *charts]


def _place(column: int, row: int) -> Any:
    from wandb_workspaces.reports.v2 import Layout

    # A grid is 24 columns wide.
    return Layout(x=12 * column, y=10 * row, w=12, h=10)


def _orders(runs: Sequence[ReportedRun]) -> list[str]:
    rows = [
        row
        for run in runs
        for scores in run.analyses.values()
        for row in (scores.get(names.GROUP_ABLATION) or {}).get("rows", [])
    ]
    return list(dict.fromkeys(str(row["order"]) for row in rows))


def _described(run: ReportedRun) -> list[str]:
    unread = [f"- **{_text(run.name)}**: {_text(problem)}" for problem in run.problems]
    if not run.analyses:
        return unread or [f"- **{_text(run.name)}**: not analysed; run `lit-transformer analyze --ckpt_path RUN`."]
    lines = unread
    for stem, scores in run.analyses.items():
        baseline, scoring_set = scores.get("baseline") or {}, scores.get("scoring_set") or {}
        told = [
            f"{_number(baseline.get('bleu'))} BLEU on {scoring_set.get('sentences', '?')} sentences of "
            f"{_text(scoring_set.get('name', '?'))}",
            f"{len(scores['components'])} components",
            f"signature `{_text(scores.get('signature', '?'))}`",
            f"decoding `{_text(json.dumps(scores.get('decoding')))}`",
        ]
        correlation = (scores.get("correlations") or {}).get("contribution_and_criticality")
        if correlation is not None:
            told.append(f"rank correlation of contribution and criticality {_number(correlation)}")
        if scores.get("reliable") is False:
            told.append("**not reliable**: the model has too little BLEU")
        lines.append(f"- **{_text(run.name)}**, {_text(stem)}: {'; '.join(told)}.")
    return lines


def _component_tables(run: ReportedRun) -> list[str]:
    """Return a table in Markdown for each analysis, the dearest component first."""
    columns = ("component", "parameters", "drop", "interval", "contribution", "criticality")
    texts = []
    for stem, scores in run.analyses.items():
        rows = sorted(scores["components"], key=lambda row: -float(row.get("drop") or 0.0))
        lines = [columns, ["---"] * len(columns), *(_cells(row) for row in rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        texts.append(
            f"### {_text(run.name)}, {_text(stem)}\n\n{table}\n\nDrop: BLEU points lost without the component."
        )
    return texts


def _cells(row: Mapping[str, Any]) -> list[str]:
    parameters, lower, upper = row.get("parameters"), row.get("drop_lower"), row.get("drop_upper")
    return [
        _text(row["component"]).replace("|", "/"),
        "" if parameters is None else f"{parameters:,}",
        _number(row.get("drop")),
        "" if lower is None or upper is None else f"{_number(lower)} to {_number(upper)}",
        _number(row.get("contribution")),
        _number(row.get("criticality")),
    ]


def _number(value: Any) -> str:
    return f"{float(value):.2f}" if isinstance(value, (int, float)) else ""


def _text(value: Any) -> str:
    """Return text from a file as text of Markdown: in one line, and no code or markup can begin or end in it."""
    return re.sub(r"\s+", " ", str(value)).translate({ord("`"): "'", ord("<"): "&lt;", ord(">"): "&gt;"})
