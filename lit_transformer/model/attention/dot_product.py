"""Multi-head dot-product attention, and the keys and values it keeps while decoding (Vaswani et al. 2017, 3.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from lit_transformer.model.attention.base import Attention
from lit_transformer.model.dropout import dropout
from lit_transformer.structure import Structure


class KeyValues:
    """Keys and values of the positions seen so far, of one attention component.

    Attributes:
        length: Number of positions held.
    """

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions and return all keys and values, each ``(batch, heads, length, head_size)``.

        The first ones are kept as they come, so that a pass over whole sentences copies nothing and keeps its
        gradients; later ones are written into buffers that grow by half, so that a step does not copy the past.

        Args:
            keys: ``(batch, heads, new, head_size)``.
            values: ``(batch, heads, new, head_size)``.
        """
        if self._keys is None or self._values is None:
            self._keys, self._values, self.length = keys, values, keys.size(2)
            return keys, values
        start, self.length = self.length, self.length + keys.size(2)
        if self.length > self._keys.size(2):
            capacity = max(self.length, start + start // 2 + 8)
            self._keys = _with_capacity(self._keys, start, capacity)
            self._values = _with_capacity(self._values, start, capacity)
        self._keys[:, :, start : self.length] = keys
        self._values[:, :, start : self.length] = values
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; a row may be named several times.

        Args:
            rows: ``(new_batch,)``, indices into the batch.
        """
        if self._keys is not None and self._values is not None:
            # With the spare room, so that the next step need not make a larger buffer again.
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)


def _with_capacity(buffer: Tensor, length: int, capacity: int) -> Tensor:
    larger = buffer.new_empty(*buffer.shape[:2], capacity, buffer.size(3))
    larger[:, :, :length] = buffer[:, :, :length]
    return larger


@dataclass(frozen=True)
class SourceKeyValues:
    """Keys and values of source positions.

    Args:
        keys: ``(batch, heads, source_length, head_size)``.
        values: ``(batch, heads, source_length, head_size)``.
    """

    keys: Tensor
    values: Tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Keys and values."""
        return self.keys, self.values

    def select(self, sentences: Tensor, length: int) -> SourceKeyValues:
        """Return these sentences, ``(new_batch,)``, with their first positions, as many as the longest has."""
        return SourceKeyValues(self.keys[sentences, :, :length], self.values[sentences, :, :length])


class PackedLinear(nn.Linear):
    """A linear layer of which some outputs can be computed alone."""

    def forward(self, x: Tensor, columns: slice | None = None) -> Tensor:
        """Return some of the outputs, ``(..., columns)``; all by default."""
        return super().forward(x) if columns is None else F.linear(x, self.weight[columns], self.bias[columns])


class DotProductAttention(Attention):
    """Multi-head attention whose query, key and value projections lie in one matrix, in this order.

    Args:
        d_model: Width of the residual stream.
        heads: Number of heads; it must divide ``d_model``.
        dropout: Probability of dropping an attention weight.
    """

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.in_projection = PackedLinear(d_model, 3 * d_model)
        self.out_projection = nn.Linear(d_model, d_model)
        for projection in self.in_projection.weight.chunk(3):
            nn.init.xavier_uniform_(projection)
        nn.init.xavier_uniform_(self.out_projection.weight)
        nn.init.zeros_(self.in_projection.bias)
        nn.init.zeros_(self.out_projection.bias)

    @classmethod
    @override
    def of(cls, structure: Structure, kind: str) -> Self:
        return cls(structure.d_model, structure.heads, structure.attention_dropout)

    @property
    @override
    def output_layer(self) -> nn.Module:
        return self.out_projection

    @override
    def new_past(self) -> KeyValues:
        return KeyValues()

    @override
    def forward(self, x: Tensor, mask: Tensor | None, past: KeyValues | None = None) -> Tensor:  # type: ignore[override]
        queries, keys, values = (self._split(part) for part in self.in_projection(x).chunk(3, dim=-1))
        if past is not None:
            keys, values = past.append(keys, values)
        return self._attend(queries, keys, values, mask)

    @override
    def source_cache(self, memory: Tensor) -> SourceKeyValues:
        keys, values = self.in_projection(memory, slice(memory.size(-1), None)).chunk(2, dim=-1)
        # Every step multiplies them: strided, they would be copied each time.
        return SourceKeyValues(self._split(keys).contiguous(), self._split(values).contiguous())

    @override
    def attend_to(self, x: Tensor, source: SourceKeyValues, mask: Tensor | None) -> Tensor:  # type: ignore[override]
        rows, length, d_model = x.shape
        x = x.reshape(source.keys.size(0), -1, d_model)
        queries = self._split(self.in_projection(x, slice(d_model)))
        return self._attend(queries, source.keys, source.values, mask).reshape(rows, length, d_model)

    def _split(self, x: Tensor) -> Tensor:
        batch, length, d_model = x.shape
        return x.view(batch, length, self.heads, d_model // self.heads).transpose(1, 2)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        if queries.device.type == "cpu":
            # On short sentences the fused CPU kernel's backward pass takes half of a training step; plain products
            # take half as long, and one path for training and decoding gives one result.
            scores = torch.matmul(queries / math.sqrt(queries.size(-1)), keys.transpose(2, 3))
            if mask is not None:
                scores = scores.masked_fill(mask, float("-inf"))
            weights = dropout(torch.softmax(scores, dim=-1, dtype=scores.dtype), self.dropout, self.training)
            attended = torch.matmul(weights, values)
        else:
            allowed = None if mask is None else ~mask
            attended = F.scaled_dot_product_attention(
                queries, keys, values, allowed, self.dropout if self.training else 0.0
            )
        return self.out_projection(attended.transpose(1, 2).flatten(2))
