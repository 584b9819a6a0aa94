"""The ids of the special tokens of a vocabulary."""

from __future__ import annotations

from typing import NamedTuple


class SpecialIds(NamedTuple):
    """Ids of the special tokens; those of this project's own tokenizers by default.

    Args:
        pad: Fills sentences up to the longest of a batch.
        unk: Stands for what is not in the vocabulary.
        bos: Every target prefix starts with it.
        eos: Ends a sentence.
    """

    pad: int = 0
    unk: int = 1
    bos: int = 2
    eos: int = 3

    @property
    def never_produced(self) -> tuple[int, ...]:
        """Ids that no hypothesis contains: all but `eos`."""
        return tuple(dict.fromkeys(each for each in (self.pad, self.unk, self.bos) if each != self.eos))


SPECIAL_IDS = SpecialIds()
