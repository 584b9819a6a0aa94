"""Modules that compute some rows of a batch with other weights than the rest."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class PartRows:
    """The rows of each part of a batch, which change as sentences end."""

    def set(self, sentences: Sequence[int]) -> None:
        """Set the number of sentences that each part has; parts lie one after another."""
        ends = torch.tensor([0, *sentences]).cumsum(0).tolist()
        self._bounds, self._all = list(itertools.pairwise(ends)), ends[-1]

    def of(self, part: int, rows: int) -> slice:
        """Return the rows of a part, of so many in all: as many for each sentence."""
        each = rows // self._all
        first, last = self._bounds[part]
        return slice(first * each, last * each)


class ModuleOfParts(nn.Module):
    """A module that maps rows to rows, of which those of some parts are mapped by others.

    Args:
        module: Maps the rows of all other parts.
        others: The module of each part that has its own, by number of the part.
        rows: The rows of each part.
    """

    _module: nn.Module
    _others: Mapping[int, nn.Module]

    def __init__(self, module: nn.Module, others: Mapping[int, nn.Module], rows: PartRows) -> None:
        super().__init__()
        # Past torch's registration: these are not modules of the model.
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_others", others)
        self._rows = rows

    def forward(self, x: Tensor, *arguments: Any) -> Tensor:
        """Map ``(rows, ...)`` to ``(rows, ...)``; further arguments are the same for all rows."""
        result = self._module(x, *arguments)
        for part, other in self._others.items():
            rows = self._rows.of(part, x.size(0))
            if rows.start < rows.stop:
                result[rows] = other(x[rows], *arguments)
        return result
