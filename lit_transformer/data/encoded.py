"""A corpus as piece ids: memory-mapped Arrow columns, with the lengths in arrays and the text beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lit_transformer.data.cache import fingerprint_of, mapped_table, quiet_datasets

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from lit_transformer.data.tokenizer import Tokenizer

_FORMAT_VERSION = 1


class EncodedCorpus:
    """Pairs as piece ids, without special pieces.

    Only the lengths lie in memory (8 bytes a pair); ids and texts are read from memory-mapped files when asked for.

    Args:
        corpus: The pairs as text, in the columns ``source`` and ``target`` (and ``phenomena`` for some).
        ids: The same pairs in the integer list columns ``source_ids`` and ``target_ids``.
    """

    def __init__(self, corpus: datasets.Dataset, ids: datasets.Dataset) -> None:
        if len(corpus) != len(ids):
            raise ValueError(f"{len(corpus)} pairs of text but {len(ids)} of ids")
        self._corpus = corpus
        self._ids = ids
        self._source = _ListColumn(ids.data["source_ids"])
        self._target = _ListColumn(ids.data["target_ids"])

    @property
    def source_lengths(self) -> np.ndarray:
        """Pieces of every source sentence, int32, `(pairs,)`."""
        return self._source.lengths

    @property
    def target_lengths(self) -> np.ndarray:
        """Pieces of every target sentence, int32, `(pairs,)`."""
        return self._target.lengths

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._corpus)

    def fetch(self, indices: Sequence[int] | np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return source and target ids of the pairs at ``indices``, in that order, each int32 of its own length."""
        return list(zip(self._source.fetch(indices), self._target.fetch(indices), strict=True))

    def texts(self, indices: Sequence[int] | np.ndarray) -> list[tuple[str, str]]:
        """Return source and target text of the pairs at ``indices``, in that order."""
        rows = self._corpus[_integers(indices)]
        return list(zip(rows["source"], rows["target"], strict=True))

    def phenomena(self, indices: Sequence[int] | np.ndarray) -> list[tuple[str, ...]]:
        """Return the names of the phenomena in the pairs at ``indices``; none for a corpus that names none."""
        if "phenomena" not in self._corpus.column_names:
            return [() for _ in indices]
        return [tuple(names) for names in self._corpus[_integers(indices)]["phenomena"]]

    def usable_for_training(self, max_length: int | None) -> tuple[np.ndarray, dict[str, int]]:
        """Return which pairs can be trained on: whole pairs are left out, so the others stay aligned.

        Args:
            max_length: Most pieces of a sentence, special ones not counted, or None for no limit.

        Returns:
            Their indices in rising order, int64, and how many were left out as ``empty`` (a side is blank) and as
            ``too_long`` (a side is above ``max_length``); a pair that is both counts as ``empty``.
        """
        empty = np.minimum(self.source_lengths, self.target_lengths) == 0
        too_long = np.zeros_like(empty)
        if max_length is not None:
            too_long = (np.maximum(self.source_lengths, self.target_lengths) > max_length) & ~empty
        counts = {"empty": int(empty.sum()), "too_long": int(too_long.sum())}
        return np.flatnonzero(~(empty | too_long)), counts

    def __reduce__(self) -> tuple[type[EncodedCorpus], tuple[datasets.Dataset, datasets.Dataset]]:
        """Pickle the tables, which pickle as the names of their files, and not the views of their content."""
        return EncodedCorpus, (self._corpus, self._ids)


def encode_corpus(corpus: datasets.Dataset, tokenizer: Tokenizer, processes: int = 1) -> EncodedCorpus:
    """Return the corpus as piece ids; a second call with the same pairs and tokenizer computes nothing.

    The first process makes the table, in the cache of ``datasets``; any other process finds it there, by the
    fingerprint of the corpus and the digest of the tokenizer. A blank sentence has no pieces.

    Args:
        corpus: Pairs with the text columns ``source`` and ``target``.
        tokenizer: Gives the ids.
        processes: Processes to share the work; pays off from a million pairs or so.

    Raises:
        UserError: The cache can't be written.
    """
    import pyarrow as pa

    library = quiet_datasets()
    ids = pa.list_(pa.int32())

    def encoded(batch: pa.Table) -> pa.Table:
        source, target = batch["source"].to_pylist(), batch["target"].to_pylist()
        return pa.table(
            {
                "source_ids": pa.array(_encode(tokenizer.encode_source, source), ids),
                "target_ids": pa.array(_encode(tokenizer.encode_target, target), ids),
            }
        )

    feature = library.List(library.Value("int32"))
    features = library.Features({"source_ids": feature, "target_ids": feature})
    # An explicit fingerprint: the library's own would pickle the tokenizer, and differ from process to process.
    key = fingerprint_of("encoded", _FORMAT_VERSION, corpus._fingerprint, tokenizer.digest, tokenizer.shared)
    columns = ["source", "target"]
    return EncodedCorpus(
        corpus, mapped_table(lambda: corpus.select_columns(columns), encoded, features, key, processes)
    )


class _ListColumn:
    """One list column as views of its memory-mapped chunks, made once so that a row costs a slice and a copy."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        import pyarrow.compute as pc

        self.lengths: np.ndarray = pc.list_value_length(column).to_numpy().astype(np.int32, copy=False)
        chunks = [chunk for chunk in column.chunks if len(chunk)]
        self._starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])
        self._offsets = [chunk.offsets.to_numpy() for chunk in chunks]
        self._values = [chunk.values.to_numpy() for chunk in chunks]

    def fetch(self, indices: Sequence[int] | np.ndarray) -> list[np.ndarray]:
        wanted = np.asarray(indices, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= self._starts[-1]):
            raise IndexError(
                f"pairs are numbered 0 to {self._starts[-1] - 1}; asked for {wanted.min()} to {wanted.max()}"
            )
        chunks = np.searchsorted(self._starts, wanted, side="right") - 1
        rows = wanted - self._starts[chunks]
        return [self._row(chunk, row) for chunk, row in zip(chunks.tolist(), rows.tolist(), strict=True)]

    def _row(self, chunk: int, row: int) -> np.ndarray:
        offsets = self._offsets[chunk]
        # A copy, because torch warns of arrays that can't be written, as memory-mapped ones can't.
        return self._values[chunk][offsets[row] : offsets[row + 1]].copy()


def _encode(encode: Callable[[list[str]], list[list[int]]], texts: list[str]) -> list[list[int]]:
    return [ids if text.strip() else [] for ids, text in zip(encode(texts), texts, strict=True)]


def _integers(indices: Sequence[int] | np.ndarray) -> list[int]:
    return np.asarray(indices, dtype=np.int64).tolist()
