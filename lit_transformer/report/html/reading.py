"""Translations laid side by side, with the words marked in which one differs from the other."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST = 320
"""Characters of a hypothesis that are shown; one that forgot to end goes on like that."""


@dataclass(frozen=True)
class Piece:
    """A stretch of a hypothesis.

    Args:
        text: Its text.
        changed: Whether the other hypothesis says something else here.
    """

    text: str
    changed: bool


@dataclass(frozen=True)
class Reading:
    """A sentence with its translations.

    Args:
        source: Source text.
        reference: Reference text.
        baseline: What the whole model says.
        ablated: What it says without the component, in pieces.
        fall: BLEU of the sentence that is lost.
    """

    source: str
    reference: str
    baseline: str
    ablated: Sequence[Piece]
    fall: float


def readings(example: Mapping[str, Any]) -> list[Reading]:
    """Return the sentences of a component's examples.

    Args:
        example: What ``examples.json`` has for the component.
    """
    return [
        Reading(
            _short(each["source"]),
            _short(each["reference"]),
            _short(each["baseline"]),
            pieces(each["baseline"], each["ablated"]),
            float(each["fall"]),
        )
        for each in example.get("sentences", [])
    ]


def pieces(before: str, after: str) -> list[Piece]:
    """Return a text in stretches of words that another one has, and of words that it has not.

    Args:
        before: The other text.
        after: The text.

    Example:
        >>> [(piece.text, piece.changed) for piece in pieces("a red car", "a blue car")]
        [('a ', False), ('blue ', True), ('car', False)]
    """
    old, new = (re.findall(r"\S+\s*", text) for text in (_short(before), _short(after)))
    matcher = difflib.SequenceMatcher(None, [word.strip() for word in old], [word.strip() for word in new], False)
    return [
        Piece("".join(new[first:last]), kind != "equal")
        for kind, _, _, first, last in matcher.get_opcodes()
        if last > first
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
