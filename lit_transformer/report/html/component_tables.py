"""Tables of the components of a run, and of what was removed from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lit_transformer.report.html.table import Column, Table, cell, table_of
from lit_transformer.report.runs import Run

_COMPONENT_COLUMNS: tuple[Column, ...] = (
    ("component", "component", "", "kind and layer; layer 1 is next to the embeddings"),
    ("BLEU lost", "drop", "+.2f", "the baseline's BLEU minus that without the component"),
    ("from", "drop_lower", "+.2f", "lower bound of the loss, 95 % over sentences for all components together"),
    ("to", "drop_upper", "+.2f", "upper bound of it"),
    (
        "sure",
        "label",
        "",
        "what the interval allows to say: important is surely above epsilon, negligible surely below",
    ),
    ("contribution", "contribution", ".2f", "the loss as a score from 0 to 1, at most the cap, over the highest"),
    ("mean ablation", "mean_contribution", ".2f", "contribution when its mean output takes its place"),
    ("criticality", "criticality", ".1f", "least share of its training that it needs"),
    ("BLEU without", "ablated_bleu", ".2f", "on the scoring set, with the component ablated"),
    ("re-randomized", "rerandomized_drop", "+.2f", "BLEU lost with fresh random weights"),
    ("moved by", "relative_distance", ".2f", "distance from its initial weights over their length"),
    ("cosine", "cosine", ".2f", "to its initial weights"),
    ("loss rise", "loss_rise", "+.3f", "teacher-forced loss without it minus the baseline's, nats per piece"),
    ("chrF lost", "chrf_drop", "+.2f", "the baseline's chrF minus that without it"),
    ("parameters", "parameters", ",d", "weights of the sub-layer, its LayerNorm left out"),
    ("not ended", "non_terminated", ".1%", "share of hypotheses that ran to the length limit without it"),
    ("length ratio", "length_ratio", ".3f", "hypotheses over references, in words, without it"),
    ("remarks", "remarks", "", "moved little: training hardly changed it"),
)


def components_table(run: Run) -> Table:
    """Return everything that is known of each component, the most important first."""
    names = [name for name in ("drop", "mean_drop", "criticality") if run.column(name)]
    order = run.column(names[0]) if names else {}
    rows = sorted(run.components, key=lambda row: -order.get(row["component"], -math.inf))
    remarked = [{**row, "remarks": "moved little" if row.get("moved_little") else None} for row in rows]
    return table_of(remarked, _COMPONENT_COLUMNS)


def group_ablation_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the steps of the group ablations."""
    splits = [split for split in ("validation", "test") if any(f"{split}_bleu" in row for row in rows)]
    heads = ["order", "step", "removed", "parameters removed"]
    for split in splits:
        heads += [f"{split} BLEU", f"{split} BLEU lost"]
    return Table(
        heads,
        [
            [
                *map(cell, (row["order"], row["step"], row["component"] or "nothing", row["parameters_removed"])),
                *(
                    cell(row.get(f"{split}_{name}"), form)
                    for split in splits
                    for name, form in (("bleu", ".2f"), ("drop", "+.2f"))
                ),
            ]
            for row in rows
        ],
    )


def layer_ablation_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what whole decoder layers cost that are removed one after another."""
    told = [{**row, "removed": " ".join(map(str, row.get("components") or [])) or "nothing"} for row in rows]
    columns = (
        ("step", "step", "d", ""),
        ("layer", "layer", "d", ""),
        ("removed", "removed", "", ""),
        ("parameters removed", "parameters_removed", ",d", ""),
        ("validation BLEU", "validation_bleu", ".2f", ""),
        ("validation BLEU lost", "validation_drop", "+.2f", ""),
    )
    return table_of(told, columns)
