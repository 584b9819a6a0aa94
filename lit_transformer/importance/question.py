"""What is asked of an evaluation that may stop as soon as its answer is settled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lit_transformer.importance.early import Answer
from lit_transformer.importance.variant import Variant

BASELINE = Variant()


@dataclass(frozen=True)
class Question:
    """Whether the drop of a variant is under or above a threshold; see `lit_transformer.importance.early`.

    Args:
        variant: The variant.
        threshold: BLEU points.
        z: What `critical_value` gave for the confidence of the analysis.
        stop_on: The answers that settle it; with any other, all sentences are decoded.
        against: The variant whose BLEU the drop is measured from; it is evaluated exactly.
    """

    variant: Variant
    threshold: float
    z: float
    stop_on: tuple[Answer, ...] = ("under", "above")
    against: Variant = BASELINE

    def as_dict(self) -> dict[str, Any]:
        """Return what the evaluation depends on beside the variant, as plain types."""
        return {
            **asdict(self),
            "variant": None,
            "stop_on": sorted(self.stop_on),
            "against": self.against.as_dict(),
        }
