"""How far training moved a component's weights, and the module criticality that is measured with that distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LITTLE = 0.1
"""A component that moved less than this share of its initial weights scores low trivially."""

TOLERANCE = 1.01
"""The loss may rise to this multiple of the trained model's (the authors' implementation, method.md 2.2)."""


@dataclass(frozen=True)
class WeightChange:
    """From a component's initial to its trained weights.

    Args:
        relative_distance: Length of the difference over length of the initial weights; where those are all zero, over
            the length of the trained ones.
        cosine: Cosine of the angle between the two, from -1 to 1; 0 where one of them is zero, 1 where both are.
        distance_squared: Square of the length of the difference.
        moved_little: The relative distance is below `LITTLE`.
    """

    relative_distance: float
    cosine: float
    distance_squared: float
    moved_little: bool


def weight_change(initial: Sequence[ArrayLike], trained: Sequence[ArrayLike]) -> WeightChange:
    """Compare the tensors of a component, all of them taken together as one vector.

    Args:
        initial: The tensors at the start.
        trained: The same tensors after training, in the same order.

    Raises:
        ValueError: A tensor is missing or has another shape.

    Example:
        >>> weight_change([[3.0, 4.0]], [[3.0, 4.4]]).moved_little
        True
    """
    start_squared = end_squared = product = distance_squared = 0.0
    for before, after in zip(initial, trained, strict=True):
        start, end = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
        if start.shape != end.shape:
            raise ValueError(f"initial weights of shape {start.shape}, but trained ones of {end.shape}")
        start_squared += float(np.vdot(start, start))
        end_squared += float(np.vdot(end, end))
        product += float(np.vdot(start, end))
        distance_squared += float(np.vdot(end - start, end - start))
    unit = math.sqrt(start_squared or end_squared)
    relative = math.sqrt(distance_squared) / unit if unit else 0.0
    lengths = math.sqrt(start_squared) * math.sqrt(end_squared)
    cosine = product / lengths if lengths else float(start_squared == end_squared)
    return WeightChange(
        relative_distance=relative,
        cosine=max(-1.0, min(1.0, cosine)),
        distance_squared=distance_squared,
        moved_little=relative < LITTLE,
    )


def chatterji(
    losses: ArrayLike,
    alphas: Sequence[float],
    sigmas: Sequence[float],
    distance_squared: float,
    final_loss: float,
    tolerance: float = TOLERANCE,
) -> float:
    """Return the module criticality of Chatterji et al. 2020 (arXiv 1912.00528) on a grid; see method.md 2.2.

    It is the least ``(alpha / sigma) ** 2 * distance_squared`` among the points where the loss, averaged over noise of
    standard deviation sigma on weights interpolated at alpha, is at most ``tolerance * final_loss``.

    Args:
        losses: Mean perturbed loss at each point ``(alphas, sigmas)``.
        alphas: From 0 (initial weights) to 1 (trained weights).
        sigmas: Standard deviations of the noise, above 0.
        distance_squared: Squared distance of the trained from the initial weights.
        final_loss: Loss of the trained model on the same sentences.
        tolerance: What the loss may rise to, as a multiple.

    Returns:
        The criticality: 0 where alpha 0 is good enough, infinity where no point is.

    Raises:
        ValueError: The shapes do not fit, a sigma is not above 0, or a number is NaN.
    """
    found = np.asarray(losses, dtype=np.float64)
    if found.shape != (len(alphas), len(sigmas)):
        raise ValueError(f"expected losses of shape ({len(alphas)}, {len(sigmas)}), got {found.shape}")
    if not all(sigma > 0.0 for sigma in sigmas):
        raise ValueError(f"sigmas are {list(sigmas)}; each must be above 0")
    if np.isnan(found).any() or math.isnan(distance_squared) or math.isnan(final_loss):
        raise ValueError("a loss or distance is NaN; a score needs numbers")
    ratios = np.asarray(alphas, dtype=np.float64)[:, None] / np.asarray(sigmas, dtype=np.float64)
    costs = ratios**2 * distance_squared
    return float(np.where(found <= tolerance * final_loss, costs, np.inf).min(initial=np.inf))
