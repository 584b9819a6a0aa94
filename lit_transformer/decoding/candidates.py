"""Next-token log-probabilities and deterministic top-k."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lit_transformer.data.special_ids import SpecialIds
from lit_transformer.errors import UserError
from lit_transformer.model.protocol import Decodable

_NAN = (
    "the model's output is NaN: its weights hold NaN or values that overflow, as after a training that diverged; "
    "decode an earlier checkpoint, or train anew with a lower learning rate."
)

# The scores of this many rows over the whole vocabulary fit into a CPU's cache; those of a whole batch would not, and
# every pass over them would wait for memory.
ROWS_AT_ONCE = 128
# Below this many columns a row is searched directly, above it by the maxima of this many columns each.
_GROUPED_FROM, _GROUP = 1024, 64


def log_probabilities(logits: Tensor, special_ids: SpecialIds) -> Tensor:
    """Normalise over the whole vocabulary, then rule out the tokens that are never produced.

    Args:
        logits: ``(rows, target_vocab_size)``.
        special_ids: The special tokens of the vocabulary.

    Returns:
        Log-probabilities in nats, in float32 or float64, ``(rows, target_vocab_size)``.

    Raises:
        UserError: The model gives NaN.
    """
    dtype = logits.dtype if logits.dtype == torch.float64 else torch.float32
    result = torch.log_softmax(logits, dim=-1, dtype=dtype)
    # A row is NaN in all its columns or in none, so one column tells; NaN is an error and never a rank.
    if bool(result[:, special_ids.eos].isnan().any()):
        raise UserError(_NAN)
    for never in special_ids.never_produced:
        result[:, never] = -torch.inf
    return result


def best_next(model: Decodable[Any], states: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the best next tokens of many prefixes, in the order of `best`, a block of rows at a time.

    Args:
        model: Scores the tokens that can follow.
        states: ``(rows, d_model)``.
        count: How many are wanted; fewer if the vocabulary has fewer.

    Returns:
        Log-probabilities in nats and token ids, each ``(rows, count)``.

    Raises:
        UserError: The model gives NaN.
    """
    parts = [best(log_probabilities(model.logits(part), model.special_ids), count) for part in _row_blocks(states)]
    return torch.cat([values for values, _ in parts]), torch.cat([pieces for _, pieces in parts])


def _row_blocks(states: Tensor) -> tuple[Tensor, ...]:
    """Split rows evenly into blocks; a float32 product over a few rows alone would round otherwise than over many."""
    if states.device.type != "cpu":
        return states.split(64 * ROWS_AT_ONCE)
    return states.chunk(max(1, -(-states.size(0) // ROWS_AT_ONCE)))


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the best columns of each row, best first; of equal ones the lower index comes first and gets in.

    `torch.topk` leaves open which of equal values it takes and in what order; where that matters, the row is sorted.

    Args:
        scores: ``(rows, columns)``; -inf stands for nothing.
        count: How many are wanted; fewer if there are fewer columns.

    Returns:
        Scores and column indices, each ``(rows, count)``.
    """
    if count == 1:
        first = _first_best(scores).unsqueeze(1)
        return scores.gather(1, first), first
    values, indices = _top(scores, min(count + 1, scores.size(1)))
    tied = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > -torch.inf)).any(dim=1)
    if bool(tied.any()):
        rows = tied.nonzero().squeeze(1)
        ordered, order = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], indices[rows] = ordered[:, : values.size(1)], order[:, : values.size(1)]
    return values[:, :count], indices[:, :count]


def _top(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return what `torch.topk` does; on a CPU, where it is slow on long rows, by way of the maxima of groups.

    The best values lie in the groups with the best maxima, as many groups as values are wanted.
    """
    groups = scores.size(1) // _GROUP
    if scores.device.type != "cpu" or scores.size(1) < _GROUPED_FROM or 4 * count > groups:
        return scores.topk(count, dim=1)
    columns = _group_columns(_group_maxima(scores).topk(count, dim=1, sorted=False).indices, scores.size(1))
    values, places = scores.gather(1, columns).topk(count, dim=1)
    return values, columns.gather(1, places)


def _first_best(scores: Tensor) -> Tensor:
    """Return what `torch.argmax` does, of equal columns the first, in the same way."""
    if scores.device.type != "cpu" or scores.size(1) < _GROUPED_FROM:
        return scores.argmax(dim=1)
    columns = _group_columns(_group_maxima(scores).argmax(dim=1, keepdim=True), scores.size(1))
    return columns.gather(1, scores.gather(1, columns).argmax(dim=1, keepdim=True)).squeeze(1)


def _group_maxima(scores: Tensor) -> Tensor:
    whole = scores.size(1) // _GROUP * _GROUP
    return scores[:, :whole].unflatten(1, (-1, _GROUP)).amax(dim=2)


def _group_columns(groups: Tensor, size: int) -> Tensor:
    """Return the columns of these groups and those that are in no group, ``(rows, columns)``."""
    inside = (groups.unsqueeze(2) * _GROUP + torch.arange(_GROUP)).flatten(1)
    return torch.cat([inside, torch.arange(size // _GROUP * _GROUP, size).expand(groups.size(0), -1)], dim=1)
