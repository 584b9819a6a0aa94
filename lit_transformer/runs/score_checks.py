"""Verify that a ``scores.json`` holds what analyses write, as it may be edited or be another program's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lit_transformer.components import KINDS, layer_of
from lit_transformer.runs.json_files import check_fields, check_object, check_size, check_texts, is_a, objects

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

SHOWN_STEPS: Mapping[str, Mapping[str, type]] = {
    "group_ablation": {"parameters_removed": int},
    "layer_ablation": {"validation_bleu": float},
}
"""What else a report needs of the rows of each."""
MOST_LAYERS = 1000

_COMPONENT = re.compile(rf"(?:{'|'.join(KINDS)}):\d{{1,9}}", re.ASCII)


def check_content(content: Any) -> None:
    """Verify what every reader of scores relies on.

    Args:
        content: The content of a ``scores.json``, as `lit_transformer.runs.json_files.read_json` returns it.

    Raises:
        ValueError: Something is missing, is none of the numbers, texts or objects that it should be, or means nothing.
    """
    check_object(content, "the file")
    for name in SECTIONS:
        if name in content:
            check_object(content[name], name)
    rows = objects(content.get("components"), "components")
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
        check_texts(columns, f"columns of {section}")


def check_shown(content: Mapping[str, Any]) -> None:
    """Verify that a report can be made of scores.

    Args:
        content: The content of a ``scores.json`` that `check_content` accepts.

    Raises:
        ValueError: Something that a report shows is missing, or can't be shown.
    """
    check_size(content, "scores.json")
    check_fields(content.get("baseline"), "baseline", {"bleu": float, "sentences": int})
    check_fields(content.get("scoring_set"), "scoring_set", {"split": str, "sentences": int})
    for row in content["components"]:
        _check_row(row)
    for section, kinds in SHOWN_STEPS.items():
        for row in content.get(section, {}).get("rows", []):
            check_fields(row, f"a row of {section}", kinds)
    exact_match = content.get("contribution", {}).get("exact_match", {})
    check_object(exact_match, "exact_match")
    for name, shares in exact_match.items():
        check_object(shares, f"exact_match of {name}")
        for share in shares.values():
            if not isinstance(share, (int, float)):
                raise ValueError(f"exact_match of {name} holds {share!r:.40}")


def _check_row(row: Mapping[str, Any]) -> None:
    name = row["component"]
    if not 1 <= layer_of(name) <= MOST_LAYERS:
        raise ValueError(f"{name} is no component")
    for column in ("contribution", "criticality"):
        if not 0 <= row.get(column, 0) <= 1:
            raise ValueError(f"{column} of {name} is {row[column]!r}, not from 0 to 1")
    for column, value in row.items():
        is_text = isinstance(value, str) and column.endswith(("bleu", "drop", "lower", "upper"))
        if is_text or (column != "kind" and isinstance(value, (list, dict))):
            raise ValueError(f"{column} of {name} is no number")


def _steps(content: Mapping[str, Any], section: str, kinds: Mapping[str, type]) -> None:
    for row in objects(content.get(section, {}).get("rows", []), f"rows of {section}"):
        check_fields(row, f"a row of {section}", kinds)
        # What was not measured, such as test_bleu, is not there or is nothing.
        _numbers(row, f"of a row of {section}", dict.fromkeys(row.keys() & {"parameters_removed"}, True))
        _numbers(row, f"of a row of {section}", dict.fromkeys(row.keys() & {"test_bleu", "test_drop"}, False))
        check_texts(row.get("components", []), f"components of a row of {section}")


def _numbers(found: Mapping[str, Any], of: str, needed: Mapping[str, bool], kind: type = float) -> None:
    """Refuse values of these keys that are no numbers; those that are not needed may be null."""
    for name in found.keys() & needed.keys():
        if not (is_a(found[name], kind) or (found[name] is None and not needed[name])):
            raise ValueError(f"{name} {of} is {found[name]!r:.40}, no number")
