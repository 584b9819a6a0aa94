"""A component in its place: the sub-layer's function, its residual connection, its norm and its switch."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from lit_transformer.model.dropout import dropout


class FeedForward(nn.Module):
    """Position-wise feed-forward network with ReLU (Vaswani et al. 2017, 3.3).

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


class SubLayer(nn.Module):
    """One component: ``norm(x + f(x))`` (post-norm) or ``x + f(norm(x))`` (pre-norm).

    An ablated component adds exactly nothing to the residual stream, its output bias included, and its function is
    not computed: post-norm leaves ``norm(x)``, pre-norm leaves ``x`` (method.md, 0.2 and 1.3). With a ``constant``, an
    ablated component adds that vector at every position instead, such as its mean output.

    Args:
        function: The attention or feed-forward network.
        d_model: Width of the residual stream.
        dropout: Probability of dropping a unit of the function's output before it is added.
        norm_first: Pre-norm instead of post-norm.

    Attributes:
        ablated: Whether the function is left out.
        constant: What an ablated component adds, ``(d_model,)``; None adds nothing. It is no part of the model's state.
    """

    def __init__(self, function: nn.Module, d_model: int, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.function = function
        self.norm = nn.LayerNorm(d_model)
        self.dropout = dropout
        self.norm_first = norm_first
        self.ablated = False
        self.constant: Tensor | None = None

    def forward(self, x: Tensor, *inputs: Any) -> Tensor:
        """Apply the component.

        Args:
            x: The residual stream, ``(batch, length, d_model)``.
            inputs: Whatever else the function takes (masks, keys and values).

        Returns:
            The residual stream after it, ``(batch, length, d_model)``.
        """
        return self._run(self.function, x, *inputs)

    def attend_to(self, x: Tensor, *inputs: Any) -> Tensor:
        """Apply a source-target attention component to keys and values that were projected before."""
        return self._run(self.function.attend_to, x, *inputs)

    def own_rows(self, x: Tensor, attend: Any) -> Tensor:
        """Apply a self-attention component to positions one after another; see `Attention.own_rows`."""
        return self._run(self.function.own_rows, x, attend)

    def source_rows(self, x: Tensor, attend: Any) -> Tensor:
        """Apply a source-target attention component to positions one after another; see `Attention.source_rows`."""
        return self._run(self.function.source_rows, x, attend)

    def _run(self, function: Any, x: Tensor, *inputs: Any) -> Tensor:
        if self.ablated:
            x = x if self.constant is None else x + self.constant
            return x if self.norm_first else self.norm(x)
        if self.norm_first:
            return x + dropout(function(self.norm(x), *inputs), self.dropout, self.training)
        return self.norm(x + dropout(function(x, *inputs), self.dropout, self.training))
