"""Dropout whose random numbers are cheap on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

_LEVELS = 1 << 16


def dropout(x: Tensor, probability: float, training: bool) -> Tensor:
    """Drop units with a probability and scale up the others, in training; else return ``x`` as it is.

    torch's kernel for the CPU draws one number per unit on one thread, which takes an eighth of a training step with
    one core and more with several. Here one draw of 64 bits serves four units, so that on a CPU the probability is
    rounded to a multiple of 1/65536.

    Args:
        x: Any shape.
        probability: Probability to be dropped, from 0 to below 1.
        training: Whether to drop anything.
    """
    if not training or probability == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, probability)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    threshold = round(probability * _LEVELS) - _LEVELS // 2
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= threshold
    return x * kept.to(x.dtype).mul_(1.0 / (1.0 - probability))
