"""What a study shows."""

from __future__ import annotations

from typing import Any

from lit_transformer.report.charts import marks
from lit_transformer.report.html import study_tables
from lit_transformer.report.html.section import Figure, Section
from lit_transformer.report.html.summary import study_summary
from lit_transformer.report.studies import Study


def study_section(study: Study, place: int) -> Section:
    """Return the section of a study.

    Args:
        study: The study.
        place: Its place among the studies of the report, from 1.
    """
    figures, shown = [], []
    for family, title in study_tables.FAMILIES.items():
        if not any(row.get("family") == family for row in study.rows):
            continue
        shown.append((title.capitalize(), study_tables.study_table(study, family)))
        compared = study_tables.comparisons_table(study, family)
        if compared.rows:
            shown.append((f"{title.capitalize()}: claims over the seeds", compared))
            figures.append(_differences_figure(study, family, title))
    lines = [
        study_summary(study),
        "The unit of a claim is the seed: better or worse only where the interval over the seeds, with Holm's "
        "correction over the arms, excludes 0. An interval of a single run is over its sentences, of that checkpoint "
        "only.",
    ]
    facts = [*study.rests_on, ("folder", str(study.folder))]
    return Section(f"study-{place}", f"Study {study.label}", lines, figures, shown, facts=facts)


def _differences_figure(study: Study, family: str, title: str) -> Figure:
    compared = [row for row in study.comparisons if row.get("family") == family]
    control = str(compared[0].get("control"))
    arms = [row.get("arm") for row in compared]
    rows: list[dict[str, Any]] = [
        {"arm": row.get("arm"), "seed": row.get("seed"), "difference": row["difference"]}
        for row in study.rows
        if row.get("family") == family and row.get("arm") in arms and isinstance(row.get("difference"), (int, float))
    ]
    rows += [
        {"arm": row.get("arm"), "seed": "mean", "lower": row["lower"], "upper": row.get("upper")}
        for row in compared
        if isinstance(row.get("lower"), (int, float)) and isinstance(row.get("upper"), (int, float))
    ]
    described = f"Test BLEU of each arm minus that of {control}, a mark for each run" + (
        ", with the interval of the mean over the seeds." if any("lower" in row for row in rows) else "."
    )
    chart = marks.differences(rows, control)
    return Figure(
        f"{title.capitalize()}: BLEU minus {control}", chart, described, study_tables.comparisons_table(study, family)
    )
