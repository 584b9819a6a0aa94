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
        places: Each row's place among those of its sentence, ``(rows,)``; rows stand by sentence, then by place.
        start: The column that keys and values of place 0 go to; those of the other places go to the columns after it.
        blocked: True at columns that a place does not attend to, ``(sentences, places, columns)``, or
            ``(1, places, columns)`` where that is the same for all.
        count: Number of sentences.
    """

    def __init__(self, sentences: Tensor, places: Tensor, start: int, blocked: Tensor, count: int) -> None:
        self.sentences, self.places, self.start, self.blocked, self.count = sentences, places, start, blocked, count
        self.width, self.columns = blocked.size(1), blocked.size(2)
        self._flat = sentences * self.width + places
        # Rows that are all there need no padding.
        self._dense = sentences.numel() == count * self.width

    def among(self, chosen: Tensor) -> Rows:
        """Return some of the rows, ``(rows,)`` of truth values."""
        return Rows(self.sentences[chosen], self.places[chosen], self.start, self.blocked, self.count)

    def padded(self, values: Tensor) -> Tensor:
        """Bring ``(rows, heads, head_size)`` to ``(sentences, heads, places, head_size)``, with zeros."""
        if not self._dense:
            whole = values.new_zeros(self.count * self.width, *values.shape[1:])
            values = whole.index_copy_(0, self._flat, values)
        return values.view(self.count, self.width, *values.shape[1:]).transpose(1, 2)

    def unpadded(self, values: Tensor) -> Tensor:
        """Undo `padded`."""
        values = values.transpose(1, 2).flatten(0, 1)
        return values if self._dense else values.index_select(0, self._flat)


class PrefixStore:
    """Keys and values of the decoder: each sentence has one column for each position of each of its prefixes.

    Args:
        sentences: Number of sentences.
        columns: Columns of each that there is room for; there will be more as they are needed.
        source: Per decoder layer, keys and values of the source, each ``(sentences, heads, source_length, head_size)``,
            or None where nothing looks at them.
        source_padding: True where there is no source, ``(sentences, source_length)``.

    Attributes:
        layers: Per decoder layer, its own keys and values, each ``(sentences, heads, columns, head_size)``.
    """

    def __init__(
        self, sentences: int, columns: int, source: Sequence[KeysValues | None], source_padding: Tensor
    ) -> None:
        self.sentences, self.columns = sentences, columns
        self.source_keys_values = list(source)
        self.source_padding = source_padding
        self.layers: dict[int, KeysValues] = {}

    def focus(self, rows: Rows) -> None:
        """Say what the rows of the coming pass are."""
        self._rows = rows
        if rows.columns > self.columns:
            columns = max(rows.columns, self.columns + self.columns // 2)
            extra = (0, 0, 0, columns - self.columns)
            self.layers = {layer: (F.pad(k, extra), F.pad(v, extra)) for layer, (k, v) in self.layers.items()}
            self.columns = columns

    def put(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Put keys and values, each ``(rows, heads, head_size)``, into the columns of some rows."""
        for held, new in zip(self._room(layer, keys, values), (keys, values), strict=True):
            held[rows.sentences, :, rows.start + rows.places] = new

    def own(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Add the rows' keys and values, and attend; all are ``(rows, heads, head_size)``."""
        rows, held = self._rows, self._room(layer, keys, values)
        for whole, new in zip(held, (keys, values), strict=True):
            whole[:, :, rows.start : rows.start + rows.width] = rows.padded(new)
        seen_keys, seen_values = (whole[:, :, : rows.columns] for whole in held)
        return self._attend(queries, seen_keys, seen_values, rows.blocked.unsqueeze(1))

    def source(self, layer: int, queries: Tensor) -> Tensor:
        """Attend to the rows' sources, ``(rows, heads, head_size)``."""
        keys_values = self.source_keys_values[layer]
        if keys_values is None:
            raise ValueError(f"layer {layer} looks at a source that was not projected for it")
        return self._attend(queries, *keys_values, self.source_padding[:, None, None, :])

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, blocked: Tensor) -> Tensor:
        queries = self._rows.padded(queries)
        if queries.device.type == "cpu":
            scores = torch.matmul(queries / math.sqrt(queries.size(3)), keys.transpose(2, 3))
            weights = scores.masked_fill_(blocked, -torch.inf).softmax(dim=-1)
            attended = torch.matmul(weights, values)
        else:
            attended = F.scaled_dot_product_attention(queries, keys, values, ~blocked)
        return self._rows.unpadded(attended)

    def _room(self, layer: int, keys: Tensor, values: Tensor) -> KeysValues:
        """Return the keys and values of a layer; zeros at first, for a weight of 0 does not undo what memory holds."""
        if layer not in self.layers:
            shape = (self.sentences, keys.size(1), self.columns, keys.size(2))
            self.layers[layer] = keys.new_zeros(shape), values.new_zeros(shape)
        return self.layers[layer]

    def select(self, kept: Tensor, columns: Tensor, room: int) -> PrefixStore:
        """Return a store of these sentences, with these of their columns at the front.

        Args:
            kept: ``(kept,)``.
            columns: Of each, ``(kept, columns)``.
            room: Number of columns that it has room for.
        """
        result = PrefixStore.of([(self, kept)], room)
        result.take(0, self, kept, columns)
        return result

    @classmethod
    def of(cls, parts: Sequence[tuple[PrefixStore, Tensor]], room: int) -> PrefixStore:
        """Return a store with room for sentences of several others, and with their sources.

        Args:
            parts: Stores of the same layers, and which of their sentences, ``(kept,)``.
            room: Number of columns that it has room for.
        """
        paddings = [store.source_padding[kept] for store, kept in parts]
        lengths = [int((~padding).sum(dim=1).max()) for padding in paddings]
        sentences = sum(kept.numel() for _, kept in parts)
        padding = torch.ones(sentences, max(lengths), dtype=torch.bool, device=paddings[0].device)
        sources: list[KeysValues | None] = []
        for pair in parts[0][0].source_keys_values:
            if pair is None:
                sources.append(None)
            else:
                shape = (sentences, pair[0].size(1), max(lengths), pair[0].size(3))
                sources.append((pair[0].new_zeros(shape), pair[1].new_zeros(shape)))
        first = 0
        for (store, kept), length, part in zip(parts, lengths, paddings, strict=True):
            last = first + kept.numel()
            padding[first:last, :length] = part[:, :length]
            for whole, pair in zip(sources, store.source_keys_values, strict=True):
                if whole is not None and pair is not None:
                    for target, tensor in zip(whole, pair, strict=True):
                        target[first:last, :, :length] = tensor[:, :, :length].index_select(0, kept)
            first = last
        return cls(sentences, room, sources, padding)

    def take(self, first: int, store: PrefixStore, kept: Tensor, columns: Tensor) -> None:
        """Copy columns of sentences of another store to the front of those from one sentence on; see `select`."""
        for layer, pair in store.layers.items():
            heads, room, size = pair[0].shape[1:]
            # By rows of one head each, which is far cheaper than element by element.
            head_rows = (kept.unsqueeze(1) * heads + torch.arange(heads, device=kept.device)).unsqueeze(2) * room
            rows = (head_rows + columns.unsqueeze(1)).flatten()
            taken = [
                tensor.view(-1, size).index_select(0, rows).view(-1, heads, columns.size(1), size) for tensor in pair
            ]
            self.fill(first, layer, taken[0], taken[1])

    def fill(self, first: int, layer: int, keys: Tensor, values: Tensor) -> None:
        """Put keys and values, each ``(some, heads, columns, head_size)``, to the front of sentences from one on."""
        for whole, new in zip(self._room(layer, keys[:, :, 0], values[:, :, 0]), (keys, values), strict=True):
            whole[first : first + new.size(0), :, : new.size(2)] = new
