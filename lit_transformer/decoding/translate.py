"""From a batch to text: the one way in which every command gets its hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.decoding.decode import decode
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.model.protocol import Decodable


def translate(
    model: Decodable[Any], batch: Batch, settings: DecodingSettings, detokenize: Callable[[Sequence[int]], str]
) -> tuple[list[str], Tensor]:
    """Translate the sentences of a batch.

    Args:
        model: The model, on the batch's device and in the precision wanted.
        batch: The sentences. A blank one is not decoded: its translation is empty.
        settings: The search.
        detokenize: From target pieces to text.

    Returns:
        The hypotheses, in the order of the batch, and for each whether it ran to the length limit, ``(batch,)``.

    Raises:
        UserError: The model gives NaN.
    """
    texts = [""] * len(batch)
    non_terminated = torch.zeros(len(batch), dtype=torch.bool)
    written = (~batch.blank).nonzero().squeeze(1)
    if len(written):
        hypotheses = decode(model, batch.source[written], settings)
        for row, ids in zip(written.tolist(), hypotheses.ids(), strict=True):
            texts[row] = detokenize(ids)
        non_terminated[written.cpu()] = hypotheses.non_terminated
    return texts, non_terminated
