"""The position-wise feed-forward network (Vaswani et al. 2017, 3.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from lit_transformer.errors import UserError
from lit_transformer.model.dropout import dropout
from lit_transformer.model.function import ComponentFunction


class FeedForward(ComponentFunction):
    """Position-wise feed-forward network with ReLU.

    Args:
        d_model: Width of the residual stream.
        size: Width of the hidden layer.
        dropout: Probability of dropping a hidden unit after the ReLU.
    """

    def __init__(self, d_model: int, size: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, size)
        self.outer = nn.Linear(size, d_model)
        self.dropout = dropout
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(batch, length, d_model)`` to the same shape."""
        return self.outer(dropout(F.relu(self.inner(x)), self.dropout, self.training))

    @property
    @override
    def output_layer(self) -> nn.Module:
        return self.outer

    def narrowed(self, size: int) -> FeedForward:
        """Return a narrower network, of the hidden units with the largest weights; this one stays as it is.

        Args:
            size: How many units to keep.

        Raises:
            UserError: It has no more units than that.
        """
        width = self.inner.out_features
        if not 0 < size < width:
            raise UserError(f"a narrower feed-forward network has fewer than {width} units and at least 1; got {size}.")
        norms = self.inner.weight.norm(dim=1) * self.outer.weight.norm(dim=0)
        kept = norms.topk(size).indices.sort().values
        result = FeedForward(self.inner.in_features, size, self.dropout).to(self.inner.weight)
        with torch.no_grad():
            result.inner.weight.copy_(self.inner.weight[kept])
            result.inner.bias.copy_(self.inner.bias[kept])
            result.outer.weight.copy_(self.outer.weight[:, kept])
            result.outer.bias.copy_(self.outer.bias)
        return result
