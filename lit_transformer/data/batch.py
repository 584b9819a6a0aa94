"""A batch of sentence pairs as tensors, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lit_transformer.data.special_ids import SPECIAL_IDS, SpecialIds

Pieces = Sequence[int] | npt.NDArray[np.integer]


@dataclass
class Batch:
    """Sentence pairs of similar length.

    Args:
        index: Row numbers of the sentences in their split, or line numbers of the input ``(batch,)``.
        source: Pieces, end of sentence, padding ``(batch, source_length)``.
        target: Begin of sentence, pieces, end of sentence, padding ``(batch, target_length + 2)``. Where there is no
            target text (prediction) the rows hold begin and end of sentence only.
        target_tokens: Number of pieces in ``target`` that are predicted: all but begin of sentence and padding.
        sources: Source texts; empty in training.
        references: Target texts; empty in training and prediction.
        special_ids: The special tokens of the vocabularies.
    """

    index: Tensor
    source: Tensor
    target: Tensor
    target_tokens: int
    sources: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    special_ids: SpecialIds = SPECIAL_IDS

    def __len__(self) -> int:
        """Sentences in the batch; 0 for a process that got no batch in an evaluation."""
        return len(self.index)

    @property
    def blank(self) -> Tensor:
        """True where the source sentence has no piece, so that its translation is the empty line ``(batch,)``."""
        return self.source[:, 0] == self.special_ids.eos

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch with its tensors on ``device``."""
        # Only towards a GPU: in the other direction the values may be read before they have arrived.
        non_blocking = torch.device(device).type == "cuda"
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """Return the batch with its tensors in page-locked memory."""
        return self._map(lambda tensor: tensor.pin_memory())

    def _map(self, function: Callable[[Tensor], Tensor]) -> Batch:
        return replace(self, index=function(self.index), source=function(self.source), target=function(self.target))


def collate(
    indices: npt.NDArray[np.integer],
    pairs: Sequence[tuple[Pieces, Pieces]],
    texts: Sequence[tuple[str, str]] = (),
    special_ids: SpecialIds = SPECIAL_IDS,
) -> Batch:
    """Pad the pieces of sentence pairs into a batch.

    Args:
        indices: Row number of each pair ``(batch,)``.
        pairs: Source and target pieces of each pair, without special pieces.
        texts: Source and target text of each pair, or nothing.
        special_ids: The special tokens of the vocabularies.

    Returns:
        The batch; an empty one if there are no pairs.
    """
    target, target_tokens = _pad([target for _, target in pairs], special_ids, begin=True)
    source, _ = _pad([source for source, _ in pairs], special_ids, begin=False)
    return Batch(
        index=torch.from_numpy(np.array(indices, dtype=np.int64)),
        source=source,
        target=target,
        target_tokens=target_tokens,
        sources=[source for source, _ in texts],
        references=[reference for _, reference in texts],
        special_ids=special_ids,
    )


def _pad(rows: Sequence[Pieces], special_ids: SpecialIds, begin: bool) -> tuple[Tensor, int]:
    """Return the rows with special pieces and padding, and the number of pieces with ends of sentence."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    first = int(begin)
    padded = np.full((len(rows), first + int(lengths.max(initial=0)) + 1), special_ids.pad, dtype=np.int64)
    columns = np.arange(padded.shape[1])
    inside = (columns >= first) & (columns < first + lengths[:, None])
    if lengths.sum():
        padded[inside] = np.concatenate(rows)
    padded[np.arange(len(rows)), first + lengths] = special_ids.eos
    if begin:
        padded[:, 0] = special_ids.bos
    return torch.from_numpy(padded), int(lengths.sum()) + len(rows)
