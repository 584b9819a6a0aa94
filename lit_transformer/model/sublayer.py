"""A component in its place: the sub-layer's function, its residual connection, its norm and its switch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from lit_transformer.model.attention.base import SourceCache
from lit_transformer.model.dropout import dropout
from lit_transformer.model.function import ComponentFunction


class SubLayer(nn.Module):
    """One component: ``norm(x + f(x))`` (post-norm) or ``x + f(norm(x))`` (pre-norm).

    An ablated component adds exactly nothing to the residual stream, its output bias included, and its function is
    not computed: post-norm leaves ``norm(x)``, pre-norm leaves ``x`` (method.md, 0.2 and 1.3). With a ``constant``, an
    ablated component adds that vector at every position instead, such as its mean output.

    A pruned component is for good what an ablated one is for a while: its function is gone, and in a pre-norm model its
    norm, which nothing looks at any more (method.md, 0.3).

    Args:
        function: The attention or feed-forward network.
        d_model: Width of the residual stream.
        dropout: Probability of dropping a unit of the function's output before it is added.
        norm_first: Pre-norm instead of post-norm.
        layer_drop: Probability that a training step goes without the function (LayerDrop, Fan et al. 2020).

    Attributes:
        ablated: Whether the function is left out.
        constant: What an ablated component adds, ``(d_model,)``; None adds nothing. It is no part of the model's state.
        predecessor: The component that this one succeeds (`callbacks.Theseus`), and that may stand in for it in a
            training step. It is no part of the model: no state, no training, no device.
        stands_in: Whether the predecessor does, in the coming training step.
        kept_rows: True where a row of the batch has the component, and is not as if it were ablated, broadcastable to
            the residual stream; None where all have it. It is no part of the model's state.
    """

    def __init__(
        self, function: ComponentFunction, d_model: int, dropout: float, norm_first: bool, layer_drop: float = 0.0
    ) -> None:
        super().__init__()
        self.function = function
        self.norm = nn.LayerNorm(d_model)
        self.dropout = dropout
        self.norm_first = norm_first
        self.layer_drop = layer_drop
        self.ablated = False
        self.constant: Tensor | None = None
        self.predecessor: SubLayer | None
        object.__setattr__(self, "predecessor", None)
        self.stands_in = False
        self.kept_rows: Tensor | None = None

    def succeed(self, predecessor: SubLayer | None) -> None:
        """Let another component stand in for this one in training steps; None for no other any more."""
        # Past torch's registration of modules.
        object.__setattr__(self, "predecessor", predecessor)
        self.stands_in = False

    @property
    def current(self) -> ComponentFunction | None:
        """The function that is computed now; None where none is."""
        if self.training and self.stands_in and self.predecessor is not None:
            return self.predecessor.function
        return None if self.ablated else self.function

    def forward(self, x: Tensor, *inputs: Any) -> Tensor:
        """Apply the component.

        Args:
            x: The residual stream, ``(batch, length, d_model)``.
            inputs: Whatever else the function takes (masks, keys and values).

        Returns:
            The residual stream after it, ``(batch, length, d_model)``.
        """
        return self._run("__call__", x, *inputs)

    @property
    def pruned(self) -> bool:
        """Whether its function is gone for good."""
        return self.function is None

    def prune(self) -> None:
        """Remove its function for good."""
        # Unregistered: torch would take weights of a registered one that is None for loaded, whatever they are.
        del self.function
        self.function, self.ablated, self.constant = None, True, None  # type: ignore[assignment]
        if self.norm_first:
            self.norm = nn.Identity()  # type: ignore[assignment]

    def attend_to(self, x: Tensor, source: SourceCache | None, mask: Tensor) -> Tensor:
        """Apply a source-target attention component; see `Attention.attend_to`.

        Args:
            x: The residual stream, ``(rows, length, d_model)``.
            source: The source as its function prepared it; None where nothing is computed.
            mask: True at the source's padding, ``(batch, 1, 1, source_length)``.
        """
        return self._run("attend_to", x, source, mask)

    def weights(self, include_norm: bool = False) -> dict[str, nn.Parameter]:
        """Return its weights by their names within the component (method.md 0.4).

        Args:
            include_norm: Those of its LayerNorm too.
        """
        return {name: part for name, part in self.named_parameters() if include_norm or not name.startswith("norm.")}

    def _run(self, method: str, x: Tensor, *inputs: Any) -> Tensor:
        if self.training and self.stands_in and self.predecessor is not None:
            return self.predecessor._run(method, x, *inputs) + self._nothing()
        if self.ablated:
            x = x if self.constant is None else x + self.constant
            return x if self.norm_first else self.norm(x)
        if self.training and self.layer_drop and float(torch.rand(())) < self.layer_drop:
            x = x + self._nothing(*inputs)
            return x if self.norm_first else self.norm(x)
        function = getattr(self.function, method)
        if self.norm_first:
            return x + self._of_kept(dropout(function(self.norm(x), *inputs), self.dropout, self.training))
        return self.norm(x + self._of_kept(dropout(function(x, *inputs), self.dropout, self.training)))

    def _of_kept(self, added: Tensor) -> Tensor:
        """Return what is added to the residual stream, with what an ablated component adds where it is not kept."""
        if self.kept_rows is None:
            return added
        return added.where(self.kept_rows, 0.0 if self.constant is None else self.constant)

    def _nothing(self, *inputs: Any) -> Tensor | float:
        """Return a zero that all parameters have a part in, so that a step without them gives them a gradient of zero.

        DDP would wait for the gradient of parameters that have none; so would those that the inputs come from.
        """
        sources = [part for source in inputs for part in getattr(source, "tensors", ())]
        parts = [*self.parameters(), *sources, *(part for part in inputs if isinstance(part, Tensor))]
        zeros = [part.flatten()[0].float() * 0.0 for part in parts if part.requires_grad and part.numel()]
        return torch.stack(zeros).sum() if zeros else 0.0
