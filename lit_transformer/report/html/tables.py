"""The tables of a report: plain cells that a page shows and sorts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lit_transformer.report.agreement import Agreement, Shared
from lit_transformer.report.runs import Run
from lit_transformer.report.studies import Study

FAMILIES = {"base": "trained models", "trained": "from the trained model", "scratch": "from scratch"}
"""Families of a study's arms, as its ``study.csv`` names them."""


@dataclass(frozen=True)
class Cell:
    """A cell: what is shown, and what it is sorted by.

    Args:
        text: What is shown.
        value: A number to sort by; None sorts by the text.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Args:
        columns: The heads.
        rows: A cell for each column of each row.
        notes: What a column means, by head.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Mapping[str, str] = field(default_factory=dict)

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers, which stand to the right."""
        return any(row[column].value is not None for row in self.rows)


def cell(value: Any, form: str = "") -> Cell:
    """Return the cell of a value.

    Args:
        value: A number, a text, or None for an empty cell.
        form: How a number is written, such as ``+.2f``.
    """
    if value is None or value == "":
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float)):
        return Cell(format(value, form or (",d" if isinstance(value, int) else ".2f")), float(value))
    return Cell(str(value))


Column = tuple[str, str, str, str]
"""Its head, the key of its cells, how a number is written, and what it means."""

_COMPONENT_COLUMNS: tuple[Column, ...] = (
    ("component", "component", "", "kind and layer; layer 1 is next to the embeddings"),
    ("parameters", "parameters", ",d", "weights of the sub-layer, its LayerNorm left out"),
    ("BLEU without", "ablated_bleu", ".2f", "on the scoring set, with the component ablated"),
    ("BLEU lost", "drop", "+.2f", "baseline minus that"),
    ("from", "drop_lower", "+.2f", "lower bound of the loss, 95 % over sentences for all components together"),
    ("to", "drop_upper", "+.2f", "upper bound of it"),
    ("sure", "label", "", "what the interval allows to say"),
    ("contribution", "contribution", ".2f", "the loss as a score from 0 to 1"),
    ("mean ablation", "mean_contribution", ".2f", "contribution when its mean output takes its place"),
    ("criticality", "criticality", ".1f", "least share of its training that it needs"),
    ("re-randomized", "rerandomized_drop", "+.2f", "BLEU lost with fresh random weights"),
    ("moved by", "relative_distance", ".2f", "distance from its initial weights over their length"),
    ("cosine", "cosine", ".2f", "to its initial weights"),
    ("loss rise", "loss_rise", "+.3f", "teacher-forced loss without it minus the baseline's, nats per piece"),
    ("chrF lost", "chrf_drop", "+.2f", "baseline's chrF minus that without it"),
    ("not ended", "non_terminated", ".1%", "share of hypotheses that ran to the length limit without it"),
    ("length ratio", "length_ratio", ".3f", "hypotheses over references, in words"),
)


_CHECKPOINT_ONLY = "95 % of resampled sentences; for this checkpoint only"
_STUDY_COLUMNS: tuple[Column, ...] = (
    ("arm", "arm", "", "what each is stands in study.md"),
    ("seed", "seed", "d", "of the base model"),
    ("draw", "draw", "d", "number of a random choice"),
    ("components", "components", "", "that were removed or changed"),
    ("parameters", "parameters", ",d", "of the whole model"),
    ("validation BLEU", "validation_bleu", ".2f", "of the average of the last checkpoints"),
    ("test BLEU", "test_bleu", ".2f", "of the average of the last checkpoints"),
    ("minus control", "difference", "+.2f", "test BLEU minus that of the family's control with the same seed"),
    ("from", "difference_lower_this_checkpoint_only", "+.2f", _CHECKPOINT_ONLY),
    ("to", "difference_upper_this_checkpoint_only", "+.2f", _CHECKPOINT_ONLY),
    ("test loss", "test_loss", ".3f", "nats per piece"),
    ("sentences/s", "sentences_per_second", ".1f", "decoded side by side with the others of the seed"),
    ("minutes", "training_minutes", ".1f", "of fine-tuning or training"),
    ("status", "status", "", "done, or why it is not"),
)
_COMPARISON_COLUMNS: tuple[Column, ...] = (
    ("arm", "arm", "", "what each is stands in study.md"),
    ("control", "control", "", "of its family"),
    ("seeds", "seeds", "d", "that have both"),
    ("mean difference", "mean_difference", "+.2f", "test BLEU minus the control's, over the seeds"),
    ("from", "lower", "+.2f", "t interval over the seeds, with Holm's correction over the arms"),
    ("to", "upper", "+.2f", "t interval over the seeds, with Holm's correction over the arms"),
    ("p, corrected", "corrected_p", ".3f", "of a mean at least as far from 0, if there is no difference"),
    ("verdict", "verdict", "", "better or worse only where the interval excludes 0"),
)


def components_table(run: Run) -> Table:
    """Return everything that is known of each component, the most important first."""
    rows = sorted(run.components, key=lambda row: -float(row.get("drop") or row.get("criticality") or 0))
    return _table(rows, _COMPONENT_COLUMNS)


def study_table(study: Study, family: str) -> Table:
    """Return the runs of a family of a study."""
    return _table([row for row in study.rows if row.get("family") == family], _STUDY_COLUMNS)


def comparisons_table(study: Study, family: str) -> Table:
    """Return what a study claims of the arms of a family, over the seeds."""
    return _table([row for row in study.comparisons if row.get("family") == family], _COMPARISON_COLUMNS)


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """Return a table of the columns that any row has."""
    used = [column for column in columns if any(row.get(column[1]) is not None for row in rows)]
    return Table(
        [head for head, *_ in used],
        [[cell(row.get(key), form) for _, key, form, _ in used] for row in rows],
        {head: note for head, _, _, note in used},
    )


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


def runs_table(runs: Sequence[Run]) -> Table:
    """Return what the runs of a report are."""
    heads = ["run", "checkpoint", "scoring set", "baseline BLEU", "components", "search", "weights", "signature"]
    rows = []
    for run in runs:
        scores, decoding = run.scores, run.scores.get("decoding", {})
        rows.append(
            [
                cell(run.label),
                cell(scores.get("checkpoint")),
                cell(run.scoring_set),
                cell(run.baseline.get("bleu"), ".2f"),
                cell(len(run.components)),
                cell(f"beam {decoding['beam']}" if "beam" in decoding else None),
                cell(str(scores.get("weights", ""))[:12]),
                cell(scores.get("signature")),
            ]
        )
    return Table(heads, rows)


def shared_table(shared: Sequence[Shared], labels: Sequence[str]) -> Table:
    """Return what each component costs in each run.

    Args:
        shared: The components.
        labels: The runs to give a column of their own.
    """
    return Table(
        ["component", "mean BLEU lost", "cheap in", "in all", *labels],
        [
            [
                cell(row.component),
                cell(row.mean, "+.2f"),
                Cell(f"{row.unimportant} of {len(row.drops)}", row.unimportant),
                cell(row.unimportant_in_all),
                *(cell(row.drops.get(label), "+.2f") for label in labels),
            ]
            for row in shared
        ],
    )


def agreements_table(pairs: Sequence[Agreement]) -> Table:
    """Return the rank correlations of each pair of runs."""
    return Table(
        ["run", "other run", "Spearman", "Kendall", "components"],
        [[cell(p.first), cell(p.second), cell(p.spearman), cell(p.kendall), cell(p.shared)] for p in pairs],
    )
