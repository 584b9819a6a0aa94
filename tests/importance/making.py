"""Evaluations made by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.variant import Variant

SENTENCES = 40


def statistics_of(matches: int, sentences: int = SENTENCES) -> Tensor:
    """Statistics of sentences of 20 tokens of which so many n-grams of each order match."""
    rows = torch.tensor([[matches, matches - 1, matches - 2, matches - 3, 20, 19, 18, 17, 20, 20]], dtype=torch.int32)
    return rows.repeat(sentences, 1)


def evaluation(matches: int, variant: Variant | None = None, key: str = "a", **changes: Any) -> Evaluation:
    """An evaluation all of whose sentences have so many matches."""
    lengths = torch.full((SENTENCES,), 2, dtype=torch.int32)
    given: dict[str, Any] = {
        "key": key,
        "variant": variant or Variant(),
        "pieces": torch.arange(2 * SENTENCES, dtype=torch.int32),
        "lengths": lengths,
        "statistics": statistics_of(matches),
        "non_terminated": torch.arange(SENTENCES) < 4,
        "seconds": 1.5,
    }
    return Evaluation(**{**given, **changes})
