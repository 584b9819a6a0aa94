"""What is lost with each component, by phenomenon of the built-in grammar corpus."""

from __future__ import annotations

from collections.abc import Mapping

from lit_transformer.report.charts import heat_maps
from lit_transformer.report.html.section import Figure, Section
from lit_transformer.report.html.table import Table, cell
from lit_transformer.report.runs import Run


def exact_matches(run: Run) -> dict[str, dict[str, float]]:
    """Return the share of exact translations that is lost without each component, by phenomenon; empty where unknown.

    Args:
        run: The run.

    Returns:
        By phenomenon and component: the baseline's share minus that without the component, from -1 to 1.
    """
    found: Mapping[str, Mapping[str, float]] = run.scores.get("contribution", {}).get("exact_match", {})
    baseline = found.get("baseline", {})
    lost = {
        phenomenon: {
            component: share - shares[phenomenon]
            for component, shares in found.items()
            if component != "baseline" and phenomenon in shares
        }
        for phenomenon, share in baseline.items()
    }
    # In scores of earlier versions, no component may have been decoded to its end.
    return {phenomenon: shares for phenomenon, shares in lost.items() if shares}


def phenomena_section(run: Run) -> Section:
    """Return the section of a run on the grammar corpus."""
    lost = exact_matches(run)
    cells = {(name, component): value for name, row in lost.items() for component, value in row.items()}
    phenomenon, component = max(cells, key=cells.__getitem__)
    components = list(next(iter(lost.values())))
    baseline = run.scores["contribution"]["exact_match"]["baseline"]
    described = (
        f"Heat map, {len(lost)} phenomena down and {len(components)} components across: the share of exact "
        f"translations lost, most without {component} where there is {phenomenon}, {cells[phenomenon, component]:.0%}."
    )
    table = Table(
        ["phenomenon", "baseline", *components],
        [
            [cell(name), cell(baseline[name], ".0%"), *(cell(v, "+.0%") for v in row.values())]
            for name, row in lost.items()
        ],
    )
    line = (
        "The grammar corpus tells which phenomena a sentence shows: the share of them that is translated exactly, "
        "lost when a component is ablated. Rare phenomena jump."
    )
    figure = Figure("Exact translations lost, by phenomenon", heat_maps.losses(lost), described, table)
    return Section("phenomena", "Phenomena", [line], [figure])
