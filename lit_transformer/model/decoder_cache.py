"""What the decoder keeps between steps."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lit_transformer.model.attention import PastCache, SourceCache


class DecoderCache:
    """The caches of every decoder layer, for one batch of sentences with one or more prefixes each.

    Args:
        past: Per layer, the empty cache of its self-attention; None where nothing is computed.
        source: Per layer, the source as its source-target attention prepared it; None where nothing is computed.
        padding: True at the source's padding, ``(batch, source_length)``.

    Attributes:
        length: Number of tokens of every prefix.
    """

    def __init__(self, past: Sequence[PastCache | None], source: Sequence[SourceCache | None], padding: Tensor) -> None:
        self.past, self.source, self.padding, self.length = list(past), list(source), padding, 0

    @property
    def source_mask(self) -> Tensor:
        """True where source-target attention must not look, ``(batch, 1, 1, source_length)``."""
        return self.padding[:, None, None, :]

    def select_prefixes(self, rows: Tensor) -> None:
        """Keep these prefixes, in this order; each sentence must keep the same number, and sentences their order.

        Args:
            rows: ``(new_rows,)``, indices into the rows of prefixes.
        """
        for layer in self.past:
            if layer is not None:
                layer.select(rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences of the source (their prefixes are chosen by `select_prefixes`).

        Args:
            sentences: ``(new_batch,)``, indices into the batch.
        """
        self.padding = self.padding[sentences]
        longest = int((~self.padding).sum(dim=1).max())
        self.padding = self.padding[:, :longest]
        self.source = [None if layer is None else layer.select(sentences, longest) for layer in self.source]
