"""Whether the content of a ``scores.json`` is what analyses write: it may have been edited, or be another program's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lit_transformer.components import KINDS

SECTIONS = (
    *("baseline", "scoring_set", "decoding", "data", "versions", "columns", "correlations"),
    *("contribution", "mean_contribution", "criticality", "chatterji", "rerandomize"),
    *("group_ablation", "layer_ablation"),
)
"""Keys whose value is an object, where they are there."""

ABLATED = (
    *("ablated_bleu", "drop", "drop_lower", "drop_upper", "contribution_lower", "contribution_upper", "relative_drop"),
    *("contribution", "rank", "brevity_penalty", "length_ratio", "bleu_without_penalty", "non_terminated", "loss"),
    *("token_accuracy", "chrf", "exact_match", "loss_rise", "least_share"),
)
NUMBERS = (
    *("layer", "parameters", "baseline_bleu", *ABLATED, *(f"mean_{name}" for name in ABLATED)),
    *("criticality", "criticality_rank", "criticality_drop", "relative_distance", "cosine"),
    *("module_criticality", "module_criticality_alpha"),
    *("module_criticality_sigma", "module_criticality_per_parameter", "rerandomized_drop", "rerandomized_drop_sd"),
)
"""Columns of numbers; a scorer may add others."""
ALWAYS = ("drop", "contribution", "criticality")
"""Columns that no component has nothing in."""

STEP = {"order": str, "step": int, "component": str, "validation_bleu": float, "validation_drop": float}
"""What a row of a group ablation has."""
LAYER_STEP = {"step": int, "components": list, "validation_drop": float}

MOST_DEPTH = 20
"""Our own files are six objects and lists deep."""

_COMPONENT = re.compile(rf"(?:{'|'.join(KINDS)}):\d{{1,9}}", re.ASCII)


def parsed(text: str) -> Any:
    """Return what a JSON text holds.

    Raises:
        ValueError: It is no JSON, holds a number that is not finite, or is nested too deep.
    """
    try:
        content = json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_integer)
        if _deeper(content, MOST_DEPTH):
            raise RecursionError
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return content


def check_content(content: Any) -> None:
    """Refuse what analyses do not write, as far as anything that reads scores relies on it.

    Args:
        content: The content of a ``scores.json``, as `parsed`.

    Raises:
        ValueError: Something is missing, is none of the numbers, texts or objects that it should be, or means nothing.
    """
    _object(content, "the file")
    for name in SECTIONS:
        if name in content:
            _object(content[name], name)
    rows = _objects(content.get("components"), "components")
    if not rows:
        raise ValueError("there is no component")
    names = [row.get("component") for row in rows]
    for component, row in zip(names, rows, strict=True):
        if not (isinstance(component, str) and _COMPONENT.fullmatch(component)):
            raise ValueError(f"{component!r:.40} is no component")
        _numbers(row, f"of {component}", {column: column in ALWAYS for column in NUMBERS})
    if len(set(names)) != len(names):
        raise ValueError("a component has two rows")
    for section in ("baseline", "correlations"):
        _numbers(content.get(section, {}), f"of {section}", dict.fromkeys(content.get(section, {}), False))
    _numbers(content.get("scoring_set", {}), "of scoring_set", {"sentences": True, "sample_of": True}, int)
    for section in ("contribution", "mean_contribution", "criticality"):
        _numbers(content.get(section, {}), f"of {section}", {"epsilon": True, "cap": True})
    _steps(content, "group_ablation", STEP)
    _steps(content, "layer_ablation", LAYER_STEP)
    for section, columns in content.get("columns", {}).items():
        _texts(columns, f"columns of {section}")


def _steps(content: Mapping[str, Any], section: str, kinds: Mapping[str, type]) -> None:
    for row in _objects(content.get(section, {}).get("rows", []), f"rows of {section}"):
        for name, kind in kinds.items():
            if not _is(row.get(name), kind):
                raise ValueError(f"{name} of a row of {section} is {row.get(name)!r:.40}")
        # What was not measured, such as test_bleu, is not there or is nothing.
        _numbers(row, f"of a row of {section}", dict.fromkeys(row.keys() & {"parameters_removed"}, True))
        _numbers(row, f"of a row of {section}", dict.fromkeys(row.keys() & {"test_bleu", "test_drop"}, False))
        _texts(row.get("components", []), f"components of a row of {section}")


def _numbers(found: Mapping[str, Any], of: str, needed: Mapping[str, bool], kind: type = float) -> None:
    """Refuse values of these keys that are no numbers; those that are not needed may be null."""
    for name in found.keys() & needed.keys():
        if not (_is(found[name], kind) or (found[name] is None and not needed[name])):
            raise ValueError(f"{name} {of} is {found[name]!r:.40}, no number")


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)


def _object(found: Any, what: str) -> None:
    if not isinstance(found, Mapping):
        raise ValueError(f"{what} is no object")


def _objects(found: Any, what: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(found, list):
        raise ValueError(f"{what} is no list")
    for each in found:
        _object(each, f"one of {what}")
    return found


def _texts(found: Any, what: str) -> None:
    if not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise ValueError(f"{what} is no list of names")


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
