"""Names for the ids of this project's special tokens."""

from __future__ import annotations

from lit_transformer.data.special_ids import SPECIAL_IDS

PAD, UNK, BOS, EOS = SPECIAL_IDS
