"""What a person sees in the terminal: progress on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


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

    def advance(self, name: str, bleu: float) -> None:
        """Say that an evaluation is done.

        Args:
            name: The component that was ablated, or ``baseline``.
            bleu: What it scored, in BLEU points.
        """
        self._done += 1
        text = f"{name:<8} {bleu:6.2f} BLEU"
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=text)
        elif self._shown:
            print(f"{self._done:>3}/{self._total}  {text}", file=sys.stderr, flush=True)


def print_scores(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], folder: Path, picture: Path) -> None:
    """Print the table of scores, the most important component first, and where the files are.

    Args:
        rows: The table's rows.
        about: What the numbers rest on.
        folder: Where the table is.
        picture: The heat map.
    """
    console = Console(emoji=False)
    table = Table(title="Contribution of each component", caption=str(about["signature"]))
    for name in ("rank", "component", "parameters", "BLEU", "drop", "contribution"):
        table.add_column(name, justify="left" if name == "component" else "right")
    for row in sorted(rows, key=lambda row: int(row["rank"])):
        table.add_row(
            str(row["rank"]),
            str(row["component"]),
            f"{row['parameters']:,}",
            f"{row['ablated_bleu']:.2f}",
            f"{row['drop']:+.2f}",
            f"{row['contribution']:.2f}",
        )
    console.print(table)
    baseline = about["baseline"]
    console.print(
        f"Baseline {baseline['bleu']:.2f} BLEU on {baseline['sentences']} sentences of validation. "
        "BLEU: without the component; drop: BLEU lost.",
        highlight=False,
    )
    if not about["reliable"]:
        console.print("A baseline this low makes the scores unreliable (reliable: false in scores.json).")
    for path in (folder / "scores.csv", folder / "scores.json", picture):
        print(path)
