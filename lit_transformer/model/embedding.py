"""Piece embeddings with sinusoidal positions (Vaswani et al. 2017, 3.4 and 3.5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lit_transformer.model.dropout import dropout


def sinusoidal_positions(first: int, length: int, d_model: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the encodings of ``length`` positions from ``first`` on, ``(length, d_model)``.

    Even columns hold sines and odd ones cosines of wavelengths from 2 pi to 10000 * 2 pi.

    Example:
        >>> sinusoidal_positions(0, 1, 4, torch.device("cpu"), torch.float32).tolist()
        [[0.0, 1.0, 0.0, 1.0]]
    """
    # Computed in float64 whatever the model's type, so that an encoding does not depend on it before rounding.
    positions = torch.arange(first, first + length, device=device, dtype=torch.float64).unsqueeze(1)
    steps = torch.arange(0, d_model, 2, device=device, dtype=torch.float64)
    angles = positions * torch.exp(steps * (-math.log(10000.0) / d_model))
    encoding = torch.zeros(length, d_model, device=device, dtype=torch.float64)
    encoding[:, 0::2] = torch.sin(angles)
    encoding[:, 1::2] = torch.cos(angles[:, : d_model // 2])
    return encoding.to(dtype)


class Embedding(nn.Module):
    """Embeds pieces, scaled by the square root of the width, and adds their positions.

    The table of positions is no buffer: it is no part of the model's state, and DDP has nothing to broadcast, so that
    processes may evaluate different numbers of batches.

    Args:
        pieces: The table, ``(vocabulary, d_model)``; several embeddings may share one.
        dropout: Probability of dropping a unit of the sum.
    """

    def __init__(self, pieces: nn.Embedding, dropout: float) -> None:
        super().__init__()
        self.pieces = pieces
        self.dropout = dropout
        self._positions: Tensor | None = None

    def forward(self, ids: Tensor, first: int = 0) -> Tensor:
        """Embed ids.

        Args:
            ids: ``(batch, length)``.
            first: Position of the first column.

        Returns:
            ``(batch, length, d_model)``.
        """
        embedded = self.pieces(ids) * math.sqrt(self.pieces.embedding_dim)
        last = first + ids.size(1)
        return dropout(embedded + self._table(last, embedded)[first:last], self.dropout, self.training)

    def _table(self, last: int, embedded: Tensor) -> Tensor:
        table = self._positions
        if table is None or table.size(0) < last or table.device != embedded.device or table.dtype != embedded.dtype:
            size = max(256, 2 * last)
            table = sinusoidal_positions(0, size, self.pieces.embedding_dim, embedded.device, embedded.dtype)
            self._positions = table
        return table
