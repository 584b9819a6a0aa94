"""JSON files of a run: read, and checked for the types of what they hold, as they may be edited or foreign."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MOST_DEPTH = 20
"""Our own files are six objects and lists deep."""
LARGEST = 1e15
"""Numbers of our own that are shown are smaller."""


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        OSError: It can't be read.
        ValueError: It is no JSON, holds a number that is not finite, or is nested too deep.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_integer)
        if _deeper(content, MOST_DEPTH):
            raise RecursionError
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return content


def is_a(value: Any, kind: type) -> bool:
    """Whether a value has a type; a whole number is a ``float`` too, a boolean is no number."""
    return isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)


def check_object(found: Any, what: str) -> None:
    """Verify that something is an object.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"{what} is no object")


def objects(found: Any, what: str) -> Sequence[Mapping[str, Any]]:
    """Return a list after verifying that it is one of objects.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(found, list):
        raise ValueError(f"{what} is no list")
    for each in found:
        check_object(each, f"one of {what}")
    return found


def check_texts(found: Any, what: str) -> None:
    """Verify that something is a list of texts.

    Raises:
        ValueError: It is none.
    """
    if not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise ValueError(f"{what} is no list of names")


def check_fields(found: Any, what: str, kinds: Mapping[str, type]) -> None:
    """Verify that an object has values of these types.

    Args:
        found: The object.
        what: What it is called.
        kinds: The type of each value, by its key.

    Raises:
        ValueError: It is no object, or a value is missing or of another type.
    """
    check_object(found, what)
    for name, kind in kinds.items():
        if not is_a(found.get(name), kind):
            raise ValueError(f"{name} of {what} is {found.get(name)!r:.40}")


def check_size(content: Any, where: str) -> None:
    """Verify that no number, at any depth, is too large to be drawn.

    Raises:
        ValueError: One is.
    """
    if isinstance(content, Mapping):
        for key, each in content.items():
            check_size(each, str(key))
    elif isinstance(content, list):
        for each in content:
            check_size(each, where)
    elif isinstance(content, (int, float)) and not abs(content) < LARGEST:
        raise ValueError(f"{where} holds {content!r:.20}, which is no number that can be shown")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is no finite number")
    return number


def _integer(text: str) -> int:
    # One that no other number can be compared with is no number of ours.
    _number(text)
    return int(text)


def _deeper(content: Any, most: int) -> bool:
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return most < 0 or any(_deeper(each, most - 1) for each in inner)
