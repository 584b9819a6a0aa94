"""Read the ``examples.json`` of an analysis: translations of a model beside those without a component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lit_transformer.components import layer_of
from lit_transformer.runs.json_files import check_fields, check_size, read_json

_PLACE = {"component": str, "drop": float, "changed": int, "sentences": list}
_SENTENCE = {"source": str, "reference": str, "baseline": str, "ablated": str, "fall": float}


def read_examples(analysis: Path, weights: str) -> dict[str, Any]:
    """Return the examples of an analysis; empty where there are none of this model that can be shown.

    Args:
        analysis: The folder of the analysis.
        weights: Digest of the weights that its scores are of.
    """
    try:
        content = read_json(analysis / "examples.json")
        check_examples(content)
    except (OSError, ValueError):
        return {}
    found: dict[str, Any] = content
    return found if content["weights"] == weights else {}


def check_examples(content: Any) -> None:
    """Verify that examples can be shown.

    Args:
        content: The content of ``examples.json``.

    Raises:
        ValueError: Something has another type than it should, or is missing.
    """
    check_fields(content, "examples.json", {"weights": str})
    check_size(content, "examples.json")
    for place in {"most", "least"} & content.keys():
        check_fields(content, "examples.json", {"of": int})
        check_fields(content[place], place, _PLACE)
        layer_of(content[place]["component"])
        for sentence in content[place]["sentences"]:
            check_fields(sentence, "a sentence", _SENTENCE)
