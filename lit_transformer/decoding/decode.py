"""The one entry to decoding."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

from lit_transformer.data.special_ids import SpecialIds
from lit_transformer.decoding.beam import beam_search
from lit_transformer.decoding.greedy import greedy_search
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.settings import DecodingSettings, Precision
from lit_transformer.model.protocol import AnalysableModel, Decodable

AnyModel = TypeVar("AnyModel", bound=AnalysableModel)


def decode(model: Decodable[Any], source: Tensor, settings: DecodingSettings) -> Hypotheses:
    """Decode a batch of sentences.

    The model is used in evaluation mode, without gradients and without autocast, whatever the caller is in the midst
    of, and is left in the mode it was in. It computes in the type of its weights: see `in_precision`. A hypothesis has
    at most as many pieces as its source (end of sentence and padding not counted in either) and
    ``settings.max_extra_pieces`` more.

    Args:
        model: The model, on the device of ``source``.
        source: Ids, ``(batch, source_length)``, each row ending in the end-of-sentence piece, then padding.
        settings: The search and its limits.

    Returns:
        One hypothesis for each row of ``source``, in the same order.

    Raises:
        UserError: The model gives NaN.
    """
    if source.size(0) == 0:
        return Hypotheses.join([])
    limits = source_lengths(source, model.special_ids) + settings.max_extra_pieces
    with for_decoding(model, source.device):
        if settings.beam == 1:
            return greedy_search(model, source, limits)
        return beam_search(model, source, limits, settings.beam, settings.length_penalty)


@contextmanager
def for_decoding(model: Decodable[Any], device: torch.device) -> Iterator[None]:
    """Use a model in evaluation mode, without gradients and autocast, and leave it in the mode it was in."""
    trained = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        for module in trained:
            module.training = True


def source_lengths(source: Tensor, special_ids: SpecialIds) -> Tensor:
    """Return the number of pieces of each source, end of sentence and padding not counted, ``(batch,)``.

    Args:
        source: ``(batch, source_length)``.
        special_ids: The special tokens of the source's vocabulary.
    """
    return (source.ne(special_ids.pad) & source.ne(special_ids.eos)).sum(dim=1)


def in_precision(model: AnyModel, precision: Precision) -> AnyModel:
    """Return the model itself if its weights have this precision, else a copy that has it; the model stays as it is.

    Args:
        model: The model.
        precision: The name of a floating-point type of torch.
    """
    dtype: torch.dtype = getattr(torch, precision)
    if all(tensor.dtype == dtype for tensor in model.parameters() if tensor.is_floating_point()):
        return model
    return copy.deepcopy(model).to(dtype)
