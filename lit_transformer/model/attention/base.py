"""The interface of attentions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, Self

from torch import Tensor

from lit_transformer.model.function import ComponentFunction
from lit_transformer.structure import Structure


class PastCache(Protocol):
    """What a self-attention keeps of the positions before."""

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, ``(new_batch,)``, in this order; a row may be named several times."""


class SourceCache(Protocol):
    """What a source-target attention keeps of the encoder's states."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that hold it."""

    def select(self, sentences: Tensor, length: int) -> Self:
        """Return these sentences, ``(new_batch,)``, with their first positions, as many as the longest has."""


class Attention(ComponentFunction):
    """Attention, in training over whole sentences and in decoding step by step from a cache.

    Both give the same outputs, and padding changes nothing. An attention is registered by name in
    `lit_transformer.model.attention.ATTENTIONS`.
    """

    @classmethod
    @abstractmethod
    def of(cls, structure: Structure, kind: str) -> Self:
        """Return a new attention for a kind of component, such as ``d:sa``, of a model with this structure."""

    @abstractmethod
    def new_past(self) -> PastCache:
        """Return the empty cache of a self-attention."""

    @abstractmethod
    def forward(self, x: Tensor, mask: Tensor | None, past: PastCache | None = None) -> Tensor:
        """Self-attention: each position attends to those before it that the mask leaves.

        Args:
            x: ``(batch, length, d_model)``.
            mask: True where a query must not look, broadcastable to ``(batch, heads, length, past + length)``.
            past: The cache of the positions before ``x``, to which those of ``x`` are added.

        Returns:
            ``(batch, length, d_model)``.
        """

    @abstractmethod
    def source_cache(self, memory: Tensor) -> SourceCache:
        """Prepare the encoder's states ``(batch, source_length, d_model)`` for `attend_to`, once for all steps."""

    @abstractmethod
    def attend_to(self, x: Tensor, source: SourceCache, mask: Tensor) -> Tensor:
        """Source-target attention. Several rows of ``x`` may share one sentence (the prefixes of a beam).

        Args:
            x: ``(batch * beam, length, d_model)``.
            source: The result of `source_cache`.
            mask: True at the source's padding, ``(batch, 1, 1, source_length)``.

        Returns:
            ``(batch * beam, length, d_model)``.
        """
