"""Markdown tables of what was measured, row by row, so that what is known is not lost when something later fails."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.support.comparison import Comparison, Early
from benchmarks.support.peers import Peer

FASTEST = "ratio, naive in its fastest precision"
EXACT = (
    "",
    "evaluations",
    "naive, s",
    "engine, s",
    "ratio",
    FASTEST,
    "floor",
    "drafts that held",
    "sentences that differ",
    "largest BLEU difference",
    "mean BLEU difference",
)
EARLY = (
    "naive, s",
    "engine, s",
    "ratio",
    FASTEST,
    "asked",
    "decided early",
    "decisions that differ",
    "scores that differ",
)

SIDE_BY_SIDE = (
    "naive, s",
    "variants in a batch, up to",
    "s",
    "ratio",
    FASTEST,
    "largest BLEU difference to the engine",
)


def table(columns: Sequence[str]) -> None:
    """Begin a table."""
    print()
    row(*columns)
    print("|---" * len(columns) + "|", flush=True)


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def exact_cells(found: Comparison, factor: float) -> list[object]:
    """Return the cells below `EXACT`.

    Args:
        found: What was measured.
        factor: Time of plain decoding in its fastest precision, over that in float32.
    """
    ratio = found.engine / found.naive
    return [
        found.score,
        found.evaluations,
        f"{found.naive:.1f}",
        f"{found.engine:.1f}",
        f"{ratio:.2f}",
        f"{ratio / factor:.2f}",
        f"{found.floor / found.naive:.2f}",
        f"{found.held / found.sentences:.0%}",
        f"{found.differing} of {found.sentences:,}",
        f"{max(map(abs, found.gaps)):.4f}",
        f"{statistics.fmean(found.gaps):+.5f}",
    ]


def side_by_side_cells(exact: Comparison, found: tuple[int, float, float], factor: float) -> list[object]:
    """Return the cells below the name and `SIDE_BY_SIDE`.

    Args:
        exact: What was measured of the engine and the naive analysis.
        found: How many variants at most, the seconds, and the largest difference of BLEU.
        factor: See `exact_cells`.
    """
    size, spent, gap = found
    ratio = spent / exact.naive
    return [
        exact.score,
        f"{exact.naive:.1f}",
        size,
        f"{spent:.1f}",
        f"{ratio:.2f}",
        f"{ratio / factor:.2f}",
        f"{gap:.4f}",
    ]


def early_cells(exact: Comparison, early: Early, factor: float) -> list[object]:
    """Return the cells below the name and `EARLY`.

    Args:
        exact: What was measured without early decisions.
        early: What was measured with them.
        factor: See `exact_cells`.
    """
    ratio = early.seconds / exact.naive
    times = [f"{exact.naive:.1f}", f"{early.seconds:.1f}", f"{ratio:.2f}", f"{ratio / factor:.2f}"]
    return [early.score, *times, early.asked, early.early, early.wrong, early.changed(exact)]


def print_peers(peers: Sequence[Peer], found: Sequence[Comparison]) -> None:
    """Print what decoding with peers would have taken, one call times the number of evaluations.

    Args:
        peers: The peers.
        found: What was measured of this project.
    """
    columns = [f"{each.score}: s, times ours" for each in found]
    table(["", "one decoding, s", *columns, "what is decoded"])
    for peer in peers:
        if peer.seconds is None:
            row(peer.name, "", *("" for _ in found), peer.note)
            continue
        whole = [peer.seconds * (each.evaluations + 1) for each in found]
        cells = [f"{spent:.1f}, {spent / each.engine:.1f}" for spent, each in zip(whole, found, strict=True)]
        row(peer.name, f"{peer.seconds:.2f}", *cells, peer.note)
    print(flush=True)
