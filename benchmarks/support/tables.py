"""Markdown tables of measurements, printed row by row, so that a later failure loses no result."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.support.comparison import Comparison
from benchmarks.support.peers import Peer

SIDE_BY_SIDE = (
    "",
    "evaluations",
    "one by one (naive), s",
    "variants in a batch, up to",
    "side by side, s",
    "ratio",
    "ratio, naive in its fastest precision",
    "sentences that differ",
    "largest BLEU difference",
    "mean BLEU difference",
)


def table(columns: Sequence[str]) -> None:
    """Begin a table."""
    print()
    row(*columns)
    print("|---" * len(columns) + "|", flush=True)


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def side_by_side_cells(found: Comparison, factor: float) -> list[object]:
    """Return the cells below `SIDE_BY_SIDE`.

    Args:
        found: What was measured.
        factor: Time of naive decoding in its fastest precision, over that in float32.
    """
    ratio = found.side_by_side / found.naive
    return [
        found.score,
        found.evaluations,
        f"{found.naive:.1f}",
        found.size,
        f"{found.side_by_side:.1f}",
        f"{ratio:.2f}",
        f"{ratio / factor:.2f}",
        f"{found.differing} of {found.sentences:,}",
        f"{max(map(abs, found.gaps)):.4f}",
        f"{statistics.fmean(found.gaps):+.5f}",
    ]


def print_peers(peers: Sequence[Peer], found: Sequence[Comparison]) -> None:
    """Print what decoding with peers would have taken, one call times the number of evaluations.

    Args:
        peers: The peers.
        found: What was measured of this project; the faster of its two ways is compared.
    """
    columns = [f"{each.score}: s, times ours" for each in found]
    table(["", "one decoding, s", *columns, "what is decoded"])
    for peer in peers:
        if peer.seconds is None:
            row(peer.name, "", *("" for _ in found), peer.note)
            continue
        whole = [peer.seconds * (each.evaluations + 1) for each in found]
        ours = [min(each.naive, each.side_by_side) for each in found]
        cells = [f"{spent:.1f}, {spent / own:.1f}" for spent, own in zip(whole, ours, strict=True)]
        row(peer.name, f"{peer.seconds:.2f}", *cells, peer.note)
    print(flush=True)
