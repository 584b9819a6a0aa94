"""A run's heat maps beside those of Wang & Tu 2020."""

from __future__ import annotations

from lit_transformer.components import KINDS
from lit_transformer.report.agreement import agreement, within_kinds
from lit_transformer.report.html.heat_figures import heat_map_of
from lit_transformer.report.html.section import Section
from lit_transformer.report.html.table import Table, cell
from lit_transformer.report.paper import LANGUAGE_PAIRS, closest_pair, published, published_scores
from lit_transformer.report.runs import SCORES, Run


def paper_section(run: Run) -> Section:
    """Return a run's heat maps beside those of the paper, with rank correlations over all and within kinds."""
    source, errors = published()["source"], published()["error"]
    pair = closest_pair(run)
    figures, rows = [], []
    for score in SCORES:
        mine = run.column(score)
        if not mine:
            continue
        theirs = published_scores(pair, score)
        note = f"Measured to within {errors[score]:g}." if errors[score] else ""
        figures.append(heat_map_of(f"{score.capitalize()}: this run", mine, None, f"{score} of {run.label}"))
        figures.append(
            heat_map_of(f"{score.capitalize()}: the paper, {pair}", theirs, None, f"{score} in the paper", note)
        )
        for other in LANGUAGE_PAIRS:
            kinds = within_kinds(mine, published_scores(other, score))
            whole = agreement("", mine, "", published_scores(other, score))
            rows.append(
                [
                    cell(f"{score}, {other}"),
                    cell(whole.spearman),
                    cell(whole.kendall),
                    *(cell(value) for value in kinds.values()),
                ]
            )
    heads = [
        "paper's figure",
        "Spearman",
        "Kendall",
        *(f"within {kind}" for kind in KINDS),
    ]
    lines = [
        f"Figure 3 of the paper beside this run ({source}). Other data, another size, other training: alike or not, "
        "it is one model beside another."
    ]
    return Section(
        "paper", "Beside the paper", lines, figures, [("Rank correlation with the paper", Table(heads, rows))]
    )
