"""The output projection in bfloat16, with a bound of what that can change: enough to tell most best pieces."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

# A product is rounded to 8 bits of mantissa, by half of the last one at most; bounds get some room for float32.
_ROUNDING, _ROOM = 2.0**-8, 1.01


class RoughOutput:
    """Scores pieces in half of the time of float32, where the processor multiplies in bfloat16.

    Args:
        weight: The output projection in float32, ``(target_vocab_size, d_model)``.
    """

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight.bfloat16()
        self._largest = self._weight.float().norm(dim=1).max()
        self._lost = (weight - self._weight.float()).norm(dim=1).max()

    def __call__(self, states: Tensor) -> tuple[Tensor, Tensor, float]:
        """Score every piece as the next one.

        Args:
            states: Float32, ``(rows, d_model)``.

        Returns:
            Scores in float32, ``(rows, target_vocab_size)``. Each may be off by the second value, ``(rows,)``, and by
            the third times itself.
        """
        rounded = states.bfloat16()
        scores = F.linear(rounded, self._weight).float()
        # By Cauchy and Schwarz: |s w - s' w'| <= |s - s'| |w'| + |s| |w - w'|.
        lost = (states - rounded.float()).norm(dim=1) * self._largest + states.norm(dim=1) * self._lost
        return scores, _ROOM * lost, _ROUNDING


def is_fast(weight: Tensor) -> bool:
    """Return whether the processor multiplies in bfloat16 itself, and the weights are such that it is of use."""
    # A private function of torch; without it nothing is lost but time.
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and supported is not None
        and bool(supported())
        and torch.backends.mkldnn.is_available()
    )
