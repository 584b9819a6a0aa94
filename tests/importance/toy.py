"""A toy model and its evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from lit_transformer.data.batch import Batch
from lit_transformer.decoding import DecodingSettings, translate
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant_decoder import Replacements, VariantDecoder
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import Transformer
from lit_transformer.model.surgery import component_parameters

WORDS = [f"w{piece}" for piece in range(24)]
SETTINGS = DecodingSettings(beam=1, max_extra_pieces=2)


def spell(ids: Sequence[int]) -> str:
    """The text of pieces."""
    return " ".join(WORDS[piece] for piece in ids if piece > 3)


INITIAL = 0.5
"""Every initial weight of the tests."""


def replacements(model: Transformer) -> Replacements:
    """Values to put in place of trained ones."""
    return Replacements(
        initial=lambda: {name: torch.full_like(tensor, INITIAL) for name, tensor in model.state_dict().items()},
        # Not the same number everywhere, which the norms of the model would take away again.
        means=lambda: {component: torch.linspace(-1, 1, 16) for component in model.components()},
        drawn=lambda component, draw: {
            name: draw * torch.linspace(-1, 1, tensor.numel()).view_as(tensor)
            for name, tensor in component_parameters(model, component).items()
        },
    )


def evaluator(model: Transformer, batches: list[Batch], **options: Any) -> Evaluator:
    """An evaluator of the model on these sentences."""
    scoring_set = ScoringSet(batches, "digest")
    settings = options.pop("decoding", SETTINGS)
    detokenize = options.pop("detokenize", spell)
    decoder = VariantDecoder(model, scoring_set, detokenize, settings, CorpusBLEU(), replacements(model))
    return Evaluator(decoder, scoring_set, **options)


def hypotheses(model: Transformer, batches: list[Batch]) -> list[str]:
    """What the model says, by plain decoding."""
    return [text for batch in batches for text in translate(model, batch, SETTINGS, spell)[0]]


def ids_of(evaluation: Evaluation) -> list[list[int]]:
    """The pieces of each hypothesis."""
    return [part.tolist() for part in evaluation.pieces.split(evaluation.lengths.tolist())]


def same(first: Evaluation, second: Evaluation) -> bool:
    """Whether two evaluations found the same."""
    tensors = second.tensors()
    return all(torch.equal(tensor, tensors[name]) for name, tensor in first.tensors().items())
