"""Log-probabilities of next pieces, and the best of them in an order that nothing leaves open."""

from __future__ import annotations

import torch
from torch import Tensor

from lit_transformer.decoding.protocol import BOS, EOS, PAD, UNK
from lit_transformer.errors import UserError

NEVER_PRODUCED = (PAD, UNK, BOS)


def log_probabilities(logits: Tensor) -> Tensor:
    """Normalise over the whole vocabulary, then rule out the pieces that are never produced.

    Args:
        logits: ``(rows, target_vocab_size)``.

    Returns:
        Log-probabilities in nats, in float32 or float64, ``(rows, target_vocab_size)``.

    Raises:
        UserError: The model gives NaN.
    """
    dtype = logits.dtype if logits.dtype == torch.float64 else torch.float32
    result = torch.log_softmax(logits, dim=-1, dtype=dtype)
    # A row is NaN in all its columns or in none, so one column tells; NaN is an error and never a rank.
    if bool(result[:, EOS].isnan().any()):
        raise UserError(
            "the model's output is NaN: its weights hold NaN or values that overflow, as after a training that "
            "diverged; decode an earlier checkpoint, or train anew with a lower learning rate."
        )
    for piece in NEVER_PRODUCED:
        result[:, piece] = -torch.inf
    return result


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the best columns of each row, best first; of equal ones the lower index comes first and gets in.

    `torch.topk` leaves open which of equal values it takes and in what order; where that matters, the row is sorted.

    Args:
        scores: ``(rows, columns)``; -inf stands for nothing.
        count: How many are wanted, at most the number of columns.

    Returns:
        Scores and column indices, each ``(rows, count)``.
    """
    values, indices = scores.topk(min(count + 1, scores.size(1)), dim=1)
    tied = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > -torch.inf)).any(dim=1)
    if bool(tied.any()):
        rows = tied.nonzero().squeeze(1)
        ordered, order = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], indices[rows] = ordered[:, : values.size(1)], order[:, : values.size(1)]
    return values[:, :count], indices[:, :count]
