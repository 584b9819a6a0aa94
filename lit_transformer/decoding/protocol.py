"""What decoding asks of a model; `lit_transformer.model.Transformer` is one that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, TypeAlias

from torch import Tensor, nn

PAD, UNK, BOS, EOS = 0, 1, 2, 3

Rough: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor, float]]


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


class RowAttention(Protocol):
    """Holds keys and values of many prefixes and knows which of them each of the model's rows attends to."""

    def own(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Add the rows' keys and values to a decoder layer's, and attend to each row's prefix and itself.

        All are ``(rows, heads, head_size)``; layers count from 0.
        """

    def source(self, layer: int, queries: Tensor) -> Tensor:
        """Attend to the source of each row's sentence, ``(rows, heads, head_size)``."""


class Verifiable(Decodable, Protocol):
    """A model whose components can be computed one after another, from any of them on.

    Draft-verified decoding asks for it. A row is one position of one prefix; rows of many prefixes lie one after
    another, and the attention that is passed knows what belongs together.
    """

    def order(self, side: Literal["e", "d"]) -> list[str]:
        """Return the ids of the encoder's or the decoder's components in the order in which they are computed."""

    def ablated(self, component: str) -> bool:
        """Return whether nothing is computed for a component."""

    def embed_source(self, source: Tensor) -> Tensor:
        """Return what enters the encoder's first component, ``(batch, source_length, d_model)``."""

    def encode_from(
        self, x: Tensor, padding: Tensor, first: int, seen: Callable[[int, Tensor], None] | None = None
    ) -> Any:
        """Encode from the component at a place of `order` on, given what enters it ``(batch, source_length, d_model)``.

        The padding is True where there is none of the sentence, ``(batch, source_length)``. ``seen`` is given the place
        of each component and what enters it. The result has the attributes ``states`` and ``padding``.
        """

    def source_keys_values(self, states: Tensor, layer: int) -> tuple[Tensor, Tensor] | None:
        """Project the encoder's states for a decoder layer: keys and values ``(batch, heads, length, head_size)``.

        None where nothing will look at them.
        """

    def embed_rows(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return what enters the decoder's first component, of ids ``(rows,)`` at positions ``(rows,)``."""

    def run_rows(
        self, x: Tensor, places: range, attention: RowAttention, seen: Callable[[int, Tensor], None] | None = None
    ) -> Tensor:
        """Apply the decoder's components at these places of `order` to ``(rows, d_model)``."""

    def row_states(self, x: Tensor) -> Tensor:
        """Return what `logits` takes, of what leaves the decoder's last component, ``(rows, d_model)``."""

    def rough_logits(self) -> Rough | None:
        """Return a faster stand-in for `logits`, if there is one.

        From states ``(rows, d_model)`` it gives scores ``(rows, target_vocab_size)``, each of which may differ from its
        logit by the second value, ``(rows,)``, and by the third times itself.
        """
