"""How sentences are decoded."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lit_transformer.errors import UserError

Precision = Literal["float32", "float64", "bfloat16"]


@dataclass(frozen=True)
class DecodingSettings:
    """The search and its limits (method.md, 0.13); every command decodes by the same ones.

    Args:
        beam: Number of hypotheses kept for each sentence; 1 is greedy search.
        length_penalty: Exponent of the length normalisation, ((5 + length) / 6) ** length_penalty, of Wu et al. 2016;
            0 means none, and it plays no part in greedy search.
        max_extra_pieces: A hypothesis has at most as many pieces as its source and this many more.
        precision: The type in which the model computes while decoding, whatever it is trained in: ``float32``,
            ``float64`` (the text is then the same for any batch size, on the CPU) or ``bfloat16``.
    """

    beam: int = 4
    length_penalty: float = 0.6
    max_extra_pieces: int = 50
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """Refuse settings that no search can follow.

        Raises:
            UserError: A value is out of range.
        """
        if self.beam < 1:
            raise UserError(
                f"--model.decoding.beam is {self.beam!r}; give a whole number from 1 (greedy search) up, such as 4."
            )
        if not 0.0 <= self.length_penalty < math.inf:
            raise UserError(
                f"--model.decoding.length_penalty is {self.length_penalty!r}; give a number from 0 (none) up, such as "
                "0.6."
            )
        if self.max_extra_pieces < 0:
            raise UserError(
                f"--model.decoding.max_extra_pieces is {self.max_extra_pieces!r}; give a whole number from 0 up, such "
                "as 50."
            )
        if self.precision not in get_args(Precision):
            raise UserError(
                f"--model.decoding.precision is {self.precision!r}; give one of {', '.join(get_args(Precision))}."
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for files and digests."""
        return asdict(self)
