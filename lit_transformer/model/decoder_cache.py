"""What the decoder keeps between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

from lit_transformer.model.attention import KeyValues

SourceKeyValues: TypeAlias = tuple[Tensor, Tensor] | None


@dataclass
class EncoderState:
    """The encoded source sentences.

    Args:
        states: ``(batch, source_length, d_model)``.
        padding: True at padding, ``(batch, source_length)``.
    """

    states: Tensor
    padding: Tensor


class DecoderCache:
    """Keys and values of every decoder layer, for one batch of sentences with one or more prefixes each.

    Args:
        source: Per layer, keys and values of the source, each ``(batch, heads, source_length, head_size)``, or None
            where the component is not in use.
        padding: True at the source's padding, ``(batch, source_length)``.
    """

    def __init__(self, source: list[SourceKeyValues], padding: Tensor) -> None:
        self.source = source
        self.padding = padding
        self.own = [KeyValues() for _ in source]
        self.length = 0

    @property
    def source_mask(self) -> Tensor:
        """True where source-target attention must not look, ``(batch, 1, 1, source_length)``."""
        return self.padding[:, None, None, :]

    def select_prefixes(self, rows: Tensor) -> None:
        """Keep these prefixes, in this order; each sentence must keep the same number, and sentences their order.

        Args:
            rows: ``(new_rows,)``, indices into the rows of prefixes.
        """
        for layer in self.own:
            layer.select(rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences of the source (their prefixes are chosen by `select_prefixes`).

        Args:
            sentences: ``(new_batch,)``, indices into the batch.
        """
        self.padding = self.padding[sentences]
        longest = int((~self.padding).sum(dim=1).max())
        self.padding = self.padding[:, :longest]
        self.source = [
            None if layer is None else (layer[0][sentences, :, :longest], layer[1][sentences, :, :longest])
            for layer in self.source
        ]
