"""The sentences that variants of a model are scored on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lit_transformer.data.batch import Batch


@dataclass(frozen=True)
class ScoringSet:
    """A whole split, or a sample of it, on one device; every process holds all of it.

    Args:
        batches: The sentences.
        digest: What tells this set from every other one.
        split: ``validation`` or ``test``.
        phenomena: Names of what each sentence shows, in the order of ``references``; nothing where none are known.
    """

    batches: Sequence[Batch]
    digest: str
    split: str = "validation"
    phenomena: Sequence[tuple[str, ...]] = ()

    @property
    def order(self) -> Tensor:
        """Where each sentence of the corpus stands in the batches, one after another, int64 ``(sentences,)``."""
        return torch.argsort(torch.cat([batch.index.cpu() for batch in self.batches]), stable=True)

    @property
    def references(self) -> list[str]:
        """The reference translations, in the order of the corpus."""
        texts = [reference for batch in self.batches for reference in batch.references]
        return [texts[place] for place in self.order.tolist()]

    def __len__(self) -> int:
        """Return the number of sentences."""
        return sum(len(batch) for batch in self.batches)
