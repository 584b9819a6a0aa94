"""The DataLoaders: a sampler yields the rows of a whole batch, the dataset returns the finished batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from torch.utils.data import DataLoader, Dataset

from lit_transformer.data.batch import Batch, Pieces, collate
from lit_transformer.data.batching import EvaluationBatchSampler, TrainingBatchSampler

if TYPE_CHECKING:
    from lit_transformer.data.tokenizer import Tokenizer

log = logging.getLogger(__name__)


class SentenceTable(Protocol):
    """What a batch is made from: :class:`~lit_transformer.data.encoded.EncodedCorpus`, or lines to translate."""

    def __len__(self) -> int:
        """Rows of the table."""

    @property
    def source_lengths(self) -> npt.NDArray[np.int32]:
        """Pieces of each source sentence, without special pieces ``(rows,)``."""

    def fetch(self, indices: npt.NDArray[np.integer]) -> Sequence[tuple[Pieces, Pieces]]:
        """Source and target pieces of the given rows, without special pieces."""

    def texts(self, indices: npt.NDArray[np.integer]) -> Sequence[tuple[str, str]]:
        """Source and target text of the given rows."""


class Lines:
    """Lines to translate, as a :class:`SentenceTable` without target sentences.

    Args:
        lines: One sentence each; a blank one is kept, so that there are as many translations as lines.
        tokenizer: The tokenizer of the model.
    """

    def __init__(self, lines: Sequence[str], tokenizer: Tokenizer) -> None:
        self._lines = list(lines)
        # A blank line has no pieces whatever the tokenizer makes of white space.
        encoded = tokenizer.encode_source(self._lines)
        self._pieces = [
            np.array(pieces if line.strip() else [], dtype=np.int64)
            for line, pieces in zip(self._lines, encoded, strict=True)
        ]
        self.source_lengths = np.array([len(pieces) for pieces in self._pieces], dtype=np.int32)

    def __len__(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def fetch(self, indices: npt.NDArray[np.integer]) -> list[tuple[npt.NDArray[np.int64], list[int]]]:
        """Source pieces of the given lines, each with an empty target."""
        return [(self._pieces[index], []) for index in indices]

    def texts(self, indices: npt.NDArray[np.integer]) -> list[tuple[str, str]]:
        """The given lines, each with an empty target."""
        return [(self._lines[index], "") for index in indices]


class BatchDataset(Dataset[Batch]):
    """Indexed by the rows of a batch, so that a worker reads and pads a whole batch at once.

    Args:
        table: Where the sentences are.
        rows: The rows of ``table`` that are used, or None for all: indices count within them, while
            :attr:`Batch.index` holds rows of ``table``.
        with_texts: Whether the batches carry the texts.
        with_references: Whether the texts have a target side.
    """

    def __init__(
        self,
        table: SentenceTable,
        rows: npt.NDArray[np.integer] | None = None,
        with_texts: bool = True,
        with_references: bool = True,
    ) -> None:
        self._table = table
        self._rows = rows
        self._with_texts = with_texts
        self._with_references = with_references

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self._table if self._rows is None else self._rows)

    def __getitem__(self, indices: npt.NDArray[np.integer] | int) -> Batch:
        """Return the batch of the given sentences; of one where Lightning asks for one (``overfit_batches``)."""
        indices = np.atleast_1d(np.asarray(indices, dtype=np.int64))
        rows = indices if self._rows is None else self._rows[indices]
        batch = collate(rows, self._table.fetch(rows), self._table.texts(rows) if self._with_texts else ())
        if not self._with_references:
            batch.references = []
        return batch


class TrainingLoader(DataLoader[Batch]):
    """A DataLoader that goes on where a checkpoint left off.

    The sampler asks the Trainer for epoch and position when the first batch is asked for. Lightning makes the iterator
    earlier, before it has settled its counters after a restart, and workers prefetch from that moment on; therefore
    the real iterator is made with the first request.
    """

    sampler: TrainingBatchSampler

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        """Yield the remaining batches of the Trainer's epoch."""
        yield from super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        """What the epoch's list of batches depends on; the position is in the Trainer's own counters."""
        return self.sampler.fingerprint()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Say so if the interrupted epoch cannot be continued exactly."""
        now = self.sampler.fingerprint()
        changed = [f"{key} {state[key]} -> {now[key]}" for key in now if key in state and state[key] != now[key]]
        if changed and self.sampler.rank == 0:
            log.warning(
                "The checkpoint was written under other settings (%s), so the epoch's batches are other ones: in an "
                "epoch that was interrupted, some sentences come twice and some not at all.",
                ", ".join(changed),
            )


def identity(batch: Batch) -> Batch:
    """Return the batch that the dataset has already put together."""
    return batch


def loader_arguments(workers: int, pin_memory: bool) -> dict[str, Any]:
    """Return the arguments that all our DataLoaders share.

    Args:
        workers: Processes that read and pad batches; 0 does it in the training process.
        pin_memory: Whether batches go to a GPU.
    """
    return {
        # None: what the sampler yields is already a batch.
        "batch_size": None,
        "collate_fn": identity,
        "num_workers": workers,
        "persistent_workers": workers > 0,
        "pin_memory": pin_memory,
    }


def evaluation_loader(
    dataset: BatchDataset, batches: list[npt.NDArray[np.int64]], rank: int, world_size: int, **arguments: Any
) -> DataLoader[Batch]:
    """Return the DataLoader of this process's share of ``batches``."""
    return DataLoader(dataset, sampler=EvaluationBatchSampler(batches, rank, world_size), **arguments)
