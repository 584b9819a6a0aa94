"""What a person sees in the terminal: progress on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

WIDEST = 30
"""Characters of a variant's name that are shown, so that the bar keeps to its line."""


class EvaluationProgress:
    """A bar with the evaluation just made and the time left; plain lines where there is no terminal.

    Args:
        total: Number of evaluations to come.
        shown: Whether this process shows anything.
    """

    def __init__(self, total: int, shown: bool = True) -> None:
        self._console = Console(stderr=True, emoji=False)
        self._total = total
        self._done = 0
        self._shown = shown
        self._bar: Progress | None = None
        if shown and self._console.is_terminal:
            self._bar = Progress(
                # With markup, ":sa:" in the name of a component would become an emoji.
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("baseline", total=total)

    def __enter__(self) -> EvaluationProgress:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, name: str, bleu: float | None) -> None:
        """Say that an evaluation is done.

        Args:
            name: Name of the variant, such as a component, or ``baseline``.
            bleu: What it scored, in BLEU points; None where that is not what was computed.
        """
        self._done += 1
        name = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
        text = f"{name:<15}" + ("" if bleu is None else f" {bleu:6.2f} BLEU")
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=text)
        elif self._shown:
            print(f"{self._done:>3}/{self._total}  {text}", file=sys.stderr, flush=True)


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
    Console(emoji=False).print(
        f"Baseline {baseline['bleu']:.2f} BLEU on {baseline['sentences']} sentences of validation. BLEU: without the "
        "component; drop: BLEU lost; interval: of the drop, 95 % over the choice of sentences, for all components at "
        "once; score: contribution.",
        highlight=False,
    )
    if not about["reliable"]:
        print("A baseline this low makes the scores unreliable (reliable: false in scores.json).")


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
            ("moved little" if row["moved_little"] else "") or ("early" if "criticality_early" in row else ""),
        ]
        for row in sorted(scored, key=lambda row: int(row["criticality_rank"]))
    ]
    _print_table("Criticality of each component", columns, lines, about)
    Console(emoji=False).print(
        f"Criticality: the least share of its training that a component needs for a drop below {epsilon:.2f} BLEU (0: "
        "its initial weights do); drop: there. Moved by: distance from the initial weights over their length.",
        highlight=False,
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


def print_plans(plans: Mapping[str, tuple[int, int, int]], about: Mapping[str, Any], seconds: float, size: int) -> None:
    """Print what an analysis would evaluate.

    Args:
        plans: By name of the scorer: evaluations that are certain, how many of them are known already, and how many
            more there may be.
        about: What the numbers would rest on.
        seconds: Time of one plain evaluation of the whole scoring set, from a sample.
        size: Bytes that the analysis keeps in memory beside the model.
    """
    columns = ["scorer", "evaluations", "of them known", "and at most"]
    _print_table("To be evaluated", columns, [[name, *map(str, numbers)] for name, numbers in plans.items()], about)
    certain = sum(made - known for made, known, _ in plans.values())
    most = certain + sum(more for *_, more in plans.values())
    Console(emoji=False).print(
        f"A plain evaluation takes about {seconds:.1f} s here, so this takes at most {most * seconds / 60:.1f} minutes "
        f"on one process. Memory: about {size / 2**20:.0f} MiB beside the model.",
        highlight=False,
    )


def _print_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]], about: Mapping[str, Any]) -> None:
    left = ("component", "", "order", "removed", "scorer")
    console = Console(emoji=False)
    table = Table(title=title, caption=str(about["signature"]))
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    console.print(table)
