"""The figures of Wang & Tu 2020, as numbers measured from their pictures, to be seen beside a run's own."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from lit_transformer.components import component_ids
from lit_transformer.report.runs import Run

PAPER_LAYERS = (6, 6)
"""Encoder and decoder layers of the paper's base models, the only ones that its figure can be laid beside."""
LANGUAGE_PAIRS = ("en-de", "en-fr")


@functools.cache
def published() -> Mapping[str, Any]:
    """Return the published figures with their source and their errors of measurement."""
    text = resources.files("lit_transformer.report").joinpath("paper_figures.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def published_scores(pair: str, score: str) -> dict[str, float]:
    """Return a heat map of the paper's figure 3.

    Args:
        pair: ``en-de`` or ``en-fr``.
        score: ``contribution`` or ``criticality``.
    """
    scores: dict[str, float] = published()["figure_3"][pair][score]
    return scores


def comparable(run: Run) -> bool:
    """Whether a run has the structure of the paper's models, with at least one score of every component."""
    names = set(component_ids(*PAPER_LAYERS))
    return any(set(run.column(score)) == names for score in ("contribution", "criticality"))


def closest_pair(run: Run) -> str:
    """Return the language pair of the paper that a run is laid beside: its own, or English to German."""
    data = run.scores.get("data", {})
    pair = f"{data.get('source_language')}-{data.get('target_language')}"
    return pair if pair in LANGUAGE_PAIRS else LANGUAGE_PAIRS[0]
