"""The module criticality of Chatterji, Neyshabur & Sedghi 2020 (arXiv 1912.00528), method.md 2.2."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.importance.criticality import GRID
from lit_transformer.importance.records import mean_loss
from lit_transformer.importance.weight_change import TOLERANCE, weight_change
from lit_transformer.model import AnalysableModel
from lit_transformer.model.surgery import component_parameters, perturbed

SIGMAS = tuple(tenths / 10 for tenths in range(1, 11))
"""Standard deviations of the noise that are tried, in units of the root mean square of the initial weights: the authors
scale theirs by a ratio too, because what is little noise depends on the size of the weights."""


class ModuleCriticality(NamedTuple):
    """The result of one component.

    Args:
        criticality: ``(alpha / sigma) ** 2`` times the squared distance of trained from initial weights, at its least;
            None where the loss is too high at every point of the grid.
        alpha: Where it was found.
        sigma: Where it was found, in the units of the weights.
    """

    criticality: float | None
    alpha: float | None
    sigma: float | None


def grid_settings(include_norm: bool, samples: int) -> dict[str, Any]:
    """Return what a result depends on beside weights and sentences, as plain types."""
    about = {"samples": samples, "tolerance": TOLERANCE, "include_norm": include_norm}
    return {**about, "alphas": list(GRID), "sigmas": list(SIGMAS)}


def most_seconds(
    model: AnalysableModel,
    component: str,
    initial: Mapping[str, Tensor],
    batches: Sequence[Batch],
    samples: int,
    include_norm: bool = False,
) -> float:
    """Return the seconds that a component takes at most, by the time of one pass over the training pairs.

    Args:
        model: The trained model; left as it is.
        component: Id of the component.
        initial: Initial weights by their names in the model.
        batches: Training pairs that the loss is taken over.
        samples: Draws of the noise at each point.
        include_norm: Move the component's LayerNorm too.
    """
    spent = 0.0
    # The first one makes room.
    for seed in range(2):
        started = time.perf_counter()
        with perturbed(model, component, initial, 0.5, 0.0, seed, include_norm=include_norm):
            mean_loss(model, batches)
        spent = time.perf_counter() - started
    # That of the trained model, and no point of the grid will do, which shows at its last draw.
    return spent * (1 + len(GRID) * len(SIGMAS) * samples)


def module_criticality(
    model: AnalysableModel,
    component: str,
    initial: Mapping[str, Tensor],
    batches: Sequence[Batch],
    samples: int,
    include_norm: bool = False,
    tolerance: float = TOLERANCE,
) -> ModuleCriticality:
    """Find how near to its initial weights, and under how much noise, a component still does its work.

    The points of the grid are tried in the order of what they would score, so that the first one where the loss,
    averaged over the noise, is at most ``tolerance`` times that of the trained model is the least.

    Args:
        model: The trained model; left as it is.
        component: Id of the component.
        initial: Initial weights by their names in the model.
        batches: Training pairs that the loss is taken over.
        samples: Draws of the noise at each point.
        include_norm: Move the component's LayerNorm too.
        tolerance: What the loss may rise to, as a multiple.

    Raises:
        UserError: The model has no such component, or the initial weights are those of another structure.
    """
    trained = component_parameters(model, component, include_norm)
    start = [initial[name].numpy() for name in trained]
    distance = weight_change(start, [tensor.detach().cpu().numpy() for tensor in trained.values()]).distance_squared
    squares = sum(float((values.astype("float64") ** 2).sum()) for values in start)
    unit = math.sqrt(squares / sum(values.size for values in start))
    limit = tolerance * mean_loss(model, batches)
    points = sorted(((alpha / (unit * share)) ** 2, unit * share, alpha) for alpha in GRID for share in SIGMAS)
    for ratio, sigma, alpha in points:
        total = 0.0
        for seed in range(samples):
            with perturbed(model, component, initial, alpha, sigma, seed, include_norm=include_norm):
                total += mean_loss(model, batches)
            # Losses are positive: once the sum is too high, no later draw can make the mean low enough.
            if total > limit * samples:
                break
        if total <= limit * samples:
            return ModuleCriticality(ratio * distance, alpha, sigma)
    return ModuleCriticality(None, None, None)
