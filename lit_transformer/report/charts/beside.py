"""Where marks are drawn that would hide each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

Place = tuple[float, float]

APART = (0.02, 0.035)
"""How far neighbours stand from each other, across and up, of scales from 0 to 1: a chart is wider than high."""
HIDDEN = 0.6
"""Share of that distance below which a mark would hide another."""
MOST = 500
"""Marks up to which each gets a place of its own; more would hide each other anyway."""


def beside(places: Mapping[str, Place]) -> dict[str, Place]:
    """Return where each mark is drawn: its own place, or beside the one that has that place already.

    Marks that hide none stay; the others are set around their place, in the order given and as near as there is room.
    The same places always give the same drawing.

    Args:
        places: Across and up, from 0 to 1, by name.
    """
    if len(places) > MOST:
        return dict(places)
    scaled = {name: (x / APART[0], y / APART[1]) for name, (x, y) in places.items()}
    drawn: dict[str, Place] = {}
    for name, own in scaled.items():
        if _nearest(own, drawn.values()) >= HIDDEN:
            drawn[name] = own
    for name, own in scaled.items():
        if name not in drawn:
            drawn[name] = next(each for each in _around(own) if _nearest(each, drawn.values()) >= 1 - 1e-9)
    moved = {name: (drawn[name][0] * APART[0], drawn[name][1] * APART[1]) for name in drawn}
    return {name: places[name] if drawn[name] == scaled[name] else moved[name] for name in places}


def reach(places: Iterable[Place]) -> list[Place]:
    """Return the lowest and the highest place to show, across and up: 0 to 1 with room for a mark, and all marks."""
    shown = [(0.0, 0.0), (1.0, 1.0), *places]
    return [
        (min(place[axis] for place in shown) - room, max(place[axis] for place in shown) + room)
        for axis, room in enumerate(APART)
    ]


def _around(place: Place) -> Iterator[Place]:
    """Yield places around one, in rings, each farther away than the one before."""
    x, y = place
    ring = 0
    while True:
        ring += 1
        steps = 6 * ring
        for step in range(steps):
            angle = 2 * math.pi * step / steps
            yield x + ring * math.cos(angle), y + ring * math.sin(angle)


def _nearest(place: Place, others: Iterable[Place]) -> float:
    return min((math.dist(place, other) for other in others), default=math.inf)
