"""The protocol of analysable models.

Surgery, decoding, the evaluator, side-by-side decoding and recorders speak to these protocols and never to
`lit_transformer.model.Transformer`, which is one model that has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from lit_transformer.data.special_ids import SpecialIds
from lit_transformer.model.function import ComponentFunction


@dataclass(frozen=True)
class EncoderState:
    """The encoded source sentences.

    Args:
        states: ``(batch, source_length, d_model)``.
        padding: True at padding, ``(batch, source_length)``.
    """

    states: Tensor
    padding: Tensor

    @classmethod
    def join(cls, parts: Sequence[EncoderState]) -> EncoderState:
        """Return the sentences of several batches with the same source length, one batch after another."""
        return cls(torch.cat([part.states for part in parts]), torch.cat([part.padding for part in parts]))


class PrefixCache(Protocol):
    """What a model keeps between steps, for each sentence and each of its prefixes."""

    def select_prefixes(self, rows: Tensor) -> None:
        """Keep these prefixes, ``(new_rows,)``, in this order; one may be named several times."""

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences, ``(new_batch,)``; their prefixes are chosen by `select_prefixes`."""


Cache = TypeVar("Cache", bound=PrefixCache)


class Decodable(Protocol[Cache]):
    """A sequence-to-sequence model that reads its target token by token."""

    @property
    def special_ids(self) -> SpecialIds:
        """The special tokens of its vocabularies."""

    def encode(self, source: Tensor) -> EncoderState:
        """Encode source ids ``(batch, source_length)``, each row ending in the end-of-sentence token, then padding."""

    def start(self, encoded: EncoderState) -> Cache:
        """Return a cache with one empty prefix for each sentence."""

    def step(self, ids: Tensor, cache: Cache) -> Tensor:
        """Read further target tokens.

        Args:
            ids: ``(rows, new)``; rows are the cache's prefixes, those of one sentence side by side.
            cache: Filled by the steps before; these tokens are added to it.

        Returns:
            The decoder's states at these tokens, ``(rows, new, d_model)``.
        """

    def logits(self, states: Tensor) -> Tensor:
        """Score every token as the next one: ``(..., d_model)`` to ``(..., target_vocab_size)``."""

    def modules(self) -> Iterator[nn.Module]:
        """Return the module and those within, as `torch.nn.Module.modules` does."""

    def eval(self) -> Any:
        """Switch to evaluation mode, as `torch.nn.Module.eval` does."""


class Component(Protocol):
    """One sub-layer in its place: what it computes, its norm, and its switch.

    Attributes:
        ablated: Nothing is computed for it, and it adds nothing to the residual stream.
        constant: The vector that it adds while it is ablated, ``(d_model,)``; None adds nothing.
        kept_rows: False in rows of the batch in which it is as if it were ablated, broadcastable to the residual
            stream; None where all rows have it.
    """

    ablated: bool
    constant: Tensor | None
    kept_rows: Tensor | None

    @property
    def function(self) -> ComponentFunction:
        """The attention or feed-forward network."""

    @property
    def norm(self) -> nn.Module:
        """Its LayerNorm."""

    def weights(self, include_norm: bool = False) -> dict[str, nn.Parameter]:
        """Return its weights by their names within the component; those of its LayerNorm on demand."""


class AnalysableModel(Decodable[Any], Protocol):
    """A model whose components can be ablated, interpolated and scored: a `torch.nn.Module` with these methods."""

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""

    @property
    def decoder_layers(self) -> int:
        """Layers of the decoder, each of which caches keys and values of two attentions."""

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens, special ones included."""

    def components(self) -> Mapping[str, Component]:
        """Return the components by id, in canonical order."""

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Return all modules with their names, as `torch.nn.Module.named_modules` does."""

    def named_parameters(self, *, remove_duplicate: bool = True) -> Iterator[tuple[str, nn.Parameter]]:
        """Return all parameters with their names, as `torch.nn.Module.named_parameters` does."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return all parameters, as `torch.nn.Module.parameters` does."""

    def to(self, dtype: torch.dtype, /) -> Any:
        """Convert the weights, in place, as `torch.nn.Module.to` does."""
