"""What decoding asks of a model; `lit_transformer.model.Transformer` is one that has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor, nn

PAD, UNK, BOS, EOS = 0, 1, 2, 3


class PrefixCache(Protocol):
    """What a model keeps between steps, for each sentence and each of its prefixes."""

    def select_prefixes(self, rows: Tensor) -> None:
        """Keep these prefixes, ``(new_rows,)``, in this order; one may be named several times."""

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences, ``(new_batch,)``; their prefixes are chosen by `select_prefixes`."""


class Decodable(Protocol):
    """A sequence-to-sequence model that reads its target piece by piece."""

    def encode(self, source: Tensor) -> Any:
        """Encode ``(batch, source_length)`` source ids into whatever `start` takes."""

    def start(self, encoded: Any) -> Any:
        """Return a `PrefixCache` with one empty prefix for each sentence."""

    def step(self, ids: Tensor, cache: Any) -> Tensor:
        """Read ``(rows, new)`` further target ids, those of one sentence side by side; return states of them.

        The number of rows is that of the sentences times that of prefixes for each; the states are
        ``(rows, new, d_model)``.
        """

    def logits(self, states: Tensor) -> Tensor:
        """Score every piece as the next one: ``(..., d_model)`` to ``(..., target_vocab_size)``."""

    def modules(self) -> Iterator[nn.Module]:
        """Return the module and those within, as `torch.nn.Module.modules` does."""

    def eval(self) -> Any:
        """Switch to evaluation mode, as `torch.nn.Module.eval` does."""
