"""An attention of one file: every query attends to all real positions alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from typing_extensions import override

from lit_transformer.model.attention import Attention
from lit_transformer.structure import Structure


class PastSums:
    """Sum and number of the values before."""

    def __init__(self) -> None:
        self.total, self.count = torch.zeros(()), 0

    def select(self, rows: Tensor) -> None:
        self.total = self.total[rows]


@dataclass(frozen=True)
class SourceValues:
    values: Tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.values,)

    def select(self, sentences: Tensor, length: int) -> SourceValues:
        return SourceValues(self.values[sentences, :length])


class UniformAttention(Attention):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.values, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    @classmethod
    @override
    def of(cls, structure: Structure, kind: str) -> Self:
        return cls(structure.d_model)

    @property
    @override
    def output_layer(self) -> nn.Module:
        return self.out

    @override
    def new_past(self) -> PastSums:
        return PastSums()

    @override
    def forward(self, x: Tensor, mask: Tensor | None, past: PastSums | None = None) -> Tensor:  # type: ignore[override]
        values = self.values(x)
        if past is not None:
            totals = past.total + values.cumsum(dim=1)
            counts = past.count + torch.arange(1, x.size(1) + 1, device=x.device).unsqueeze(1)
            past.total, past.count = totals[:, -1:], past.count + x.size(1)
            return self.out(totals / counts)
        return self.out(_mean(values, mask).expand_as(x))

    @override
    def source_cache(self, memory: Tensor) -> SourceValues:
        return SourceValues(self.values(memory))

    @override
    def attend_to(self, x: Tensor, source: SourceValues, mask: Tensor) -> Tensor:  # type: ignore[override]
        mean = _mean(source.values, mask)
        return self.out(mean.repeat_interleave(x.size(0) // mean.size(0), dim=0).expand_as(x))


def _mean(values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean over the real positions, ``(batch, 1, d_model)``."""
    if mask is None:
        return values.mean(dim=1, keepdim=True)
    real = (~mask[:, 0, 0]).to(values).unsqueeze(2)
    return (values * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)
