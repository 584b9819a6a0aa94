"""Keys and values of many sentences' prefixes, where each row of a pass attends to the prefix that it belongs to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

KeysValues: TypeAlias = tuple[Tensor, Tensor]


class Rows:
    """What the rows of a pass are.

    Args:
        sentences: Each row's sentence, ``(rows,)``.
        slots: The slot that its keys and values go to, ``(rows,)``.
        places: Each row's place among those of its sentence, ``(rows,)``.
        blocked: True at slots that a place does not attend to, ``(sentences, places, used_slots)``, or
            ``(1, places, used_slots)`` where that is the same for all.
        count: Number of sentences.
    """

    def __init__(self, sentences: Tensor, slots: Tensor, places: Tensor, blocked: Tensor, count: int) -> None:
        self.sentences, self.slots, self.blocked, self.count = sentences, slots, blocked, count
        self._places, self._total = sentences * blocked.size(1) + places, count * blocked.size(1)
        # Rows that are all there, in order, need no padding.
        self._dense = sentences.numel() == self._total and bool(
            (self._places == torch.arange(self._total, device=sentences.device)).all()
        )

    def first(self, count: int) -> Rows:
        """Return the first rows alone."""
        return self if count == self.sentences.numel() else self._part(slice(count))

    def last(self, count: int) -> Rows:
        """Return the last rows alone."""
        return self._part(slice(self.sentences.numel() - count, None))

    def _part(self, part: slice) -> Rows:
        places = self._places[part] - self.sentences[part] * self.blocked.size(1)
        return Rows(self.sentences[part], self.slots[part], places, self.blocked, self.count)

    def padded(self, values: Tensor) -> Tensor:
        """Bring ``(rows, heads, head_size)`` to ``(sentences * places, heads, head_size)``."""
        if self._dense:
            return values
        result = values.new_zeros(self._total, *values.shape[1:])
        result[self._places] = values
        return result

    def unpadded(self, values: Tensor) -> Tensor:
        """Undo `padded`."""
        return values if self._dense else values[self._places]


class PrefixStore:
    """Keys and values of the decoder, in slots: each sentence has one slot for each position of each of its prefixes.

    Args:
        sentences: Number of sentences.
        slots: Number of slots of each; there will be more as they are needed.
        source: Per decoder layer, keys and values of the source, each ``(sentences, heads, source_length, head_size)``,
            or None where nothing looks at them.
        source_padding: True where there is no source, ``(sentences, source_length)``.
    """

    def __init__(self, sentences: int, slots: int, source: Sequence[KeysValues | None], source_padding: Tensor) -> None:
        self.sentences, self.slots = sentences, slots
        self.source_keys_values = list(source)
        self.source_padding = source_padding
        self.layers: dict[int, KeysValues] = {}

    def focus(self, rows: Rows) -> None:
        """Say what the rows of the coming pass are."""
        self._rows = rows

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Put keys and values, each ``(rows, heads, head_size)``, into the slots of these rows."""
        used = rows.blocked.size(2)
        if used > self.slots:
            self._grow(max(used, self.slots + self.slots // 2))
        for held, new in zip(self._room_in(layer, (keys, values)), (keys, values), strict=True):
            held[rows.sentences, :, rows.slots] = new

    def own(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Add the rows' keys and values, and attend; all are ``(rows, heads, head_size)``."""
        self.write(layer, self._rows, keys, values)
        used = self._rows.blocked.size(2)
        held_keys, held_values = self.layers[layer]
        return self._attend(queries, held_keys[:, :, :used], held_values[:, :, :used], self._rows.blocked.unsqueeze(1))

    def source(self, layer: int, queries: Tensor) -> Tensor:
        """Attend to the rows' sources, ``(rows, heads, head_size)``."""
        keys_values = self.source_keys_values[layer]
        if keys_values is None:
            raise ValueError(f"layer {layer} looks at a source that was not projected for it")
        return self._attend(queries, *keys_values, self.source_padding[:, None, None, :])

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, blocked: Tensor) -> Tensor:
        heads, size = queries.shape[1:]
        queries = self._rows.padded(queries).view(self.sentences, -1, heads, size).transpose(1, 2)
        if queries.device.type == "cpu":
            scores = torch.matmul(queries / math.sqrt(size), keys.transpose(2, 3))
            weights = scores.masked_fill_(blocked, -torch.inf).softmax(dim=-1)
            attended = torch.matmul(weights, values)
        else:
            attended = F.scaled_dot_product_attention(queries, keys, values, ~blocked)
        return self._rows.unpadded(attended.transpose(1, 2).reshape(-1, heads, size))

    def _grow(self, slots: int) -> None:
        extra = (0, 0, 0, slots - self.slots)
        self.layers = {
            layer: (F.pad(keys, extra), F.pad(values, extra)) for layer, (keys, values) in self.layers.items()
        }
        self.slots = slots

    def select(self, kept: Tensor, used: int) -> PrefixStore:
        """Return a store of these sentences, ``(kept,)``, and of what is in their first slots."""
        result = PrefixStore.empty([(self, kept)], self.slots)
        result.take(0, self, kept, used)
        return result

    @classmethod
    def empty(cls, parts: Sequence[tuple[PrefixStore, Tensor]], slots: int) -> PrefixStore:
        """Return a store with room for sentences of several others, and with their sources.

        Args:
            parts: Stores of the same layers, and which of their sentences, ``(kept,)``.
            slots: Slots of each.
        """
        paddings = [store.source_padding[kept] for store, kept in parts]
        lengths = [int((~padding).sum(dim=1).max()) for padding in paddings]
        sentences = sum(kept.numel() for _, kept in parts)
        padding = torch.ones(sentences, max(lengths), dtype=torch.bool, device=paddings[0].device)
        sources: list[KeysValues | None] = []
        for pair in parts[0][0].source_keys_values:
            sources.append(None if pair is None else _room(pair, sentences, max(lengths)))
        result = cls(sentences, slots, sources, padding)
        first = 0
        for (store, kept), length, part in zip(parts, lengths, paddings, strict=True):
            last = first + kept.numel()
            padding[first:last, :length] = part[:, :length]
            for whole, pair in zip(sources, store.source_keys_values, strict=True):
                if whole is not None and pair is not None:
                    for target, tensor in zip(whole, pair, strict=True):
                        target[first:last, :, :length] = tensor[:, :, :length].index_select(0, kept)
            first = last
        return result

    def take(self, first: int, store: PrefixStore, kept: Tensor, used: int) -> None:
        """Copy keys and values of sentences of another store, those in their first slots, from one sentence on."""
        for layer, pair in store.layers.items():
            for target, tensor in zip(self._room_in(layer, pair), pair, strict=True):
                target[first : first + kept.numel(), :, :used] = tensor[:, :, :used].index_select(0, kept)

    def take_rows(self, first: int, layer: int, pair: KeysValues) -> None:
        """Put keys and values, each ``(sentences, slots, heads, head_size)``, into first slots, from a sentence on."""
        for target, tensor in zip(self._room_in(layer, (pair[0][:, 0], pair[1][:, 0])), pair, strict=True):
            target[first : first + tensor.size(0), :, : tensor.size(1)] = tensor.transpose(1, 2)

    def _room_in(self, layer: int, like: KeysValues) -> KeysValues:
        if layer not in self.layers:
            self.layers[layer] = _room(like, self.sentences, self.slots)
        return self.layers[layer]


def _room(pair: KeysValues, sentences: int, length: int) -> KeysValues:
    """Return zeros like keys and values, since a weight of zero does not undo what memory may happen to hold."""
    keys, values = (tensor.new_zeros(sentences, tensor.size(1), length, tensor.size(-1)) for tensor in pair)
    return keys, values
