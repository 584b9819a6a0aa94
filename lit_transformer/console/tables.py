"""The tables of results that commands print to standard output; all fit 80 columns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from lit_transformer.console.terminal import console

log = logging.getLogger(__name__)


def print_contributions(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], prefix: str = "") -> None:
    """Print the table of contributions, the most important component first.

    Args:
        rows: The table's rows.
        about: What the numbers rest on.
        prefix: Of the columns, such as ``mean_``.
    """
    baseline = about["baseline"]
    scored = [row for row in rows if f"{prefix}contribution" in row]
    columns = ["rank", "component", "BLEU", "drop", "interval", "", "score"]
    lines = [
        [
            str(row[f"{prefix}rank"]),
            str(row["component"]),
            f"{row[f'{prefix}ablated_bleu']:.2f}",
            f"{row[f'{prefix}drop']:+.2f}",
            f"{row[f'{prefix}drop_lower']:+.1f} to {row[f'{prefix}drop_upper']:+.1f}",
            str(row[f"{prefix}label"]),
            f"{row[f'{prefix}contribution']:.2f}",
        ]
        for row in sorted(scored, key=lambda row: int(row[f"{prefix}rank"]))
    ]
    kind = " (mean ablation)" if prefix else ""
    _print_table(f"Contribution of each component{kind}", columns, lines, about)
    console().print(
        f"Baseline {baseline['bleu']:.2f} BLEU on {baseline['sentences']} sentences of validation. BLEU: without the "
        "component; drop: BLEU lost; interval: of the drop, 95 % over the choice of sentences, for all components at "
        "once; score: contribution.",
    )
    if not about["reliable"]:
        log.warning("A baseline this low makes the scores unreliable (reliable: false in scores.json).")


def print_criticalities(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], epsilon: float) -> None:
    """Print the table of criticalities, the most critical component first.

    Args:
        rows: The table's rows.
        about: What the numbers rest on.
        epsilon: The drop that counts, in BLEU points.
    """
    scored = [row for row in rows if "criticality" in row]
    columns = ["rank", "component", "criticality", "drop", "moved by", "cosine", ""]
    lines = [
        [
            str(row["criticality_rank"]),
            str(row["component"]),
            f"{row['criticality']:.1f}",
            f"{row['criticality_drop']:+.2f}",
            f"{row['relative_distance']:.2f}",
            f"{row['cosine']:.2f}",
            "moved little" if row["moved_little"] else "",
        ]
        for row in sorted(scored, key=lambda row: int(row["criticality_rank"]))
    ]
    _print_table("Criticality of each component", columns, lines, about)
    console().print(
        f"Criticality: the least share of its training that a component needs for a drop below {epsilon:.2f} BLEU (0: "
        "its initial weights do); drop: there. Moved by: distance from the initial weights over their length.",
    )


def print_group_ablation(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
    """Print the curve of a group ablation.

    Args:
        rows: A row per step.
        about: What the numbers rest on.
    """
    splits = [name.removesuffix("_bleu") for name in rows[0] if name.endswith("_bleu")]
    columns = ["order", "step", "removed", "parameters", *(f"{split} BLEU" for split in splits)]
    lines = [
        [
            str(row["order"]),
            str(row["step"]),
            str(row["component"]) or "nothing",
            f"{-int(row['parameters_removed']):,}",
            *(f"{float(row[f'{split}_bleu']):.2f}" for split in splits),
        ]
        for row in rows
    ]
    _print_table("Components removed one after another, without retraining", columns, lines, about)


def print_layer_ablation(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
    """Print what whole decoder layers cost that are removed one after another.

    Args:
        rows: A row per step.
        about: What the numbers rest on.
    """
    columns = ["step", "layer", "removed", "parameters", "BLEU", "drop"]
    lines = [
        [
            str(row["step"]),
            "" if row["layer"] is None else str(row["layer"]),
            ", ".join(row["components"]) or "nothing",
            f"{-int(row['parameters_removed']):,}",
            f"{float(row['validation_bleu']):.2f}",
            f"{float(row['validation_drop']):+.2f}",
        ]
        for row in rows
    ]
    _print_table("Decoder layers removed one after another, without retraining", columns, lines, about)


def print_plans(
    plans: Sequence[tuple[str, int, int, int]],
    about: Mapping[str, Any],
    seconds: float,
    other_seconds: float = 0.0,
) -> None:
    """Print what an analysis would evaluate.

    Args:
        plans: Name of each scorer, evaluations that are certain, how many of them are known already, and how many more
            there may be.
        about: What the numbers would rest on.
        seconds: Time of one plain evaluation of the whole scoring set, from a sample.
        other_seconds: What else there is to do takes at most: losses on training pairs.
    """
    columns = ["scorer", "evaluations", "of them known", "and at most"]
    _print_table("To be evaluated", columns, [[name, *map(str, numbers)] for name, *numbers in plans], about)
    certain = sum(made - known for _, made, known, _ in plans)
    most = certain + sum(more for *_, more in plans)
    losses = f" and losses on training pairs at most {other_seconds / 60:.1f} minutes" if other_seconds else ""
    minutes = (most * seconds + other_seconds) / 60
    console().print(
        f"An evaluation takes about {seconds:.1f} s here{losses}, so this takes at most {minutes:.1f} minutes on one "
        "process."
    )


def print_scores(scores: Mapping[str, float], about: Mapping[str, Any], checkpoint: str, sentences: int) -> None:
    """Print what a split scored.

    Args:
        scores: The scores, by name.
        about: What they rest on.
        checkpoint: Name of the checkpoint's file.
        sentences: How many were scored.
    """
    scored = about["scoring_set"]
    name = "" if scored["name"] == scored["split"] else f" ({scored['name']})"
    title = f"{checkpoint}: {sentences:,} sentences of {scored['split']}{name}"
    # The name of a file may be wider than the numbers are.
    console().print(title, overflow="fold")
    _print_table("", ["score", "value"], [[name, f"{value:,.4f}"] for name, value in scores.items()], {})
    chrf = f"; chrF: {about['chrf_signature']}" if "chrf_signature" in about else ""
    console().print(
        f"{about['signature']}{chrf}. BLEU and chrF: points from 0 to 100; loss: nats per piece, label smoothing "
        "included; non_terminated: share of the translations that met the length limit before their end."
    )


def _print_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]], about: Mapping[str, Any]) -> None:
    left = ("component", "", "order", "removed", "scorer", "score")
    table = Table(title=title or None, caption=about.get("signature"))
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    console().print(table)
