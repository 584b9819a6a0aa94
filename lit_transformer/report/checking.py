"""Whether a file has the shape that a report relies on: it may be old, foreign or edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lit_transformer.components import layer_of

SECTIONS = ("baseline", "scoring_set", "decoding", "contribution", "criticality", "group_ablation", "layer_ablation")
"""Keys of ``scores.json`` whose value is an object, where they are there."""
MAPPINGS = (*SECTIONS, "data", "versions", "correlations")
MOST_LAYERS = 1000
LARGEST = 1e15
"""No number of ours is as large."""


def check_scores(scores: Mapping[str, Any]) -> None:
    """Refuse scores that a report can't be made of.

    Args:
        scores: The content of ``scores.json``.

    Raises:
        ValueError: Something has another type than it should, is missing, or is no finite number.
    """
    _finite(scores, "scores.json")
    for name in MAPPINGS:
        if not isinstance(scores.get(name, {}), Mapping):
            raise ValueError(f"{name} is no object")
    _need("baseline", scores.get("baseline"), {"bleu": (int, float), "sentences": (int,)})
    _need("scoring_set", scores.get("scoring_set"), {"split": (str,), "sentences": (int,)})
    for row in scores["components"]:
        _check_component(row)
    steps = scores.get("group_ablation", {}).get("rows", [])
    if not isinstance(steps, list):
        raise ValueError("group_ablation has no list of rows")
    kinds = {"order": (str,), "step": (int,), "component": (str,), "parameters_removed": (int,)}
    for step in steps:
        _need(
            "a step of group_ablation",
            step,
            {**kinds, "validation_bleu": (int, float), "validation_drop": (int, float)},
        )
        if step.get("test_bleu") not in (None, "") and not isinstance(step["test_bleu"], (int, float)):
            raise ValueError("test_bleu of a step of group_ablation is no number")
    for name, shares in _mapping(scores.get("contribution", {}).get("exact_match", {}), "exact_match").items():
        for share in _mapping(shares, f"exact_match of {name}").values():
            if not isinstance(share, (int, float)):
                raise ValueError(f"exact_match of {name} holds {share!r}")
    layers = scores.get("layer_ablation", {}).get("rows", [])
    if not isinstance(layers, list):
        raise ValueError("layer_ablation has no list of rows")
    for layer in layers:
        _need(
            "a step of layer_ablation", layer, {"step": (int,), "components": (list,), "validation_bleu": (int, float)}
        )
    for section in ("contribution", "criticality"):
        for name in ("epsilon", "cap"):
            if not isinstance(scores.get(section, {}).get(name, 0.0), (int, float)):
                raise ValueError(f"{name} of {section} is no number")


def check_examples(content: Mapping[str, Any]) -> None:
    """Refuse examples that can't be shown.

    Args:
        content: The content of ``examples.json``.

    Raises:
        ValueError: Something has another type than it should, or is missing.
    """
    _finite(content, "examples.json")
    for place in ("most", "least"):
        if place not in content:
            continue
        _need("examples.json", content, {"of": (int,)})
        kinds = {"component": (str,), "drop": (int, float), "changed": (int,), "sentences": (list,)}
        _need(place, content[place], kinds)
        layer_of(content[place]["component"])
        texts = dict.fromkeys(("source", "reference", "baseline", "ablated"), (str,))
        for sentence in content[place]["sentences"]:
            _need("a sentence", sentence, {**texts, "fall": (int, float)})


def _check_component(row: Mapping[str, Any]) -> None:
    name = row["component"]
    if not 1 <= layer_of(name) <= MOST_LAYERS:
        raise ValueError(f"{name} is no component")
    for column in ("contribution", "criticality"):
        if column in row and not (isinstance(row[column], (int, float)) and 0 <= row[column] <= 1):
            raise ValueError(f"{column} of {name} is {row[column]!r}, not from 0 to 1")
    for column, value in row.items():
        if column not in ("component", "kind") and isinstance(value, (list, dict)):
            raise ValueError(f"{column} of {name} is no number")
        if column.endswith(("bleu", "drop", "lower", "upper")) and isinstance(value, str):
            raise ValueError(f"{column} of {name} is no number")


def _need(what: str, found: Any, kinds: Mapping[str, tuple[type, ...]]) -> None:
    if not isinstance(found, Mapping):
        raise ValueError(f"{what} is no object")
    for key, types in kinds.items():
        if not isinstance(found.get(key), types) or isinstance(found.get(key), bool):
            raise ValueError(f"{key} of {what} is {found.get(key)!r}")


def _mapping(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ValueError(f"{what} is no object")
    return found


def _finite(value: Any, where: str) -> None:
    """Refuse numbers that are none, at any depth."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            _finite(each, str(key))
    elif isinstance(value, list):
        for each in value:
            _finite(each, where)
    elif isinstance(value, (int, float)) and not abs(value) < LARGEST:
        raise ValueError(f"{where} holds {value!r:.20}, which is no number that can be shown")
