from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lit_transformer.data.batch import Batch, collate
from lit_transformer.errors import UserError
from lit_transformer.importance.criticality import GRID
from lit_transformer.importance.module_criticality import SIGMAS, module_criticality
from lit_transformer.importance.records import mean_loss
from lit_transformer.importance.weight_change import chatterji
from lit_transformer.model import Transformer, TransformerConfig, weights_digest
from lit_transformer.model.surgery import component_parameters, perturbed


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(24, 24, 1, 1, 16, 24, 2, norm="pre", tie_embeddings="none")).eval()
    nn.init.normal_(model.output.weight, std=0.5)
    return model


@pytest.fixture
def initial(model: Transformer) -> dict[str, Tensor]:
    torch.manual_seed(4)
    return {name: 0.8 * tensor + 0.05 * torch.randn_like(tensor) for name, tensor in model.state_dict().items()}


@pytest.fixture
def batches() -> list[Batch]:
    random = np.random.default_rng(1)
    pairs = [(random.integers(4, 24, 5).tolist(), random.integers(4, 24, 4).tolist()) for _ in range(6)]
    return [collate(np.arange(6), pairs)]


def test_the_loss_is_that_of_torch(model: Transformer, batches: list[Batch]) -> None:
    [batch] = batches
    with torch.no_grad():
        logits = model(batch.source, batch.target[:, :-1])
    expected = nn.functional.cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=0)
    assert mean_loss(model, batches) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("tolerance", [1.001, 1.01, 1.1])
def test_it_is_the_least_of_the_whole_grid(
    model: Transformer, initial: dict[str, Tensor], batches: list[Batch], tolerance: float
) -> None:
    """Against the arithmetic on a grid of which every point is measured."""
    names = component_parameters(model, "d:ff:1")
    values = torch.cat([initial[name].flatten() for name in names]).double()
    unit = math.sqrt(float((values**2).mean()))
    distance = sum(float(((initial[name] - tensor.detach()).double() ** 2).sum()) for name, tensor in names.items())
    losses = np.zeros((len(GRID), len(SIGMAS)))
    for row, alpha in enumerate(GRID):
        for column, share in enumerate(SIGMAS):
            for seed in range(2):
                with perturbed(model, "d:ff:1", initial, alpha, unit * share, seed):
                    losses[row, column] += mean_loss(model, batches) / 2
    sigmas = [unit * share for share in SIGMAS]
    expected = chatterji(losses, GRID, sigmas, distance, mean_loss(model, batches), tolerance)
    digest = weights_digest(model)
    found = module_criticality(model, "d:ff:1", initial, batches, samples=2, tolerance=tolerance)
    assert (math.inf if found.criticality is None else found.criticality) == pytest.approx(expected, rel=1e-5)
    assert weights_digest(model) == digest


def test_a_component_that_is_not_needed(model: Transformer, initial: dict[str, Tensor], batches: list[Batch]) -> None:
    for tensor in model.components()["d:ff:1"].function.outer.parameters():  # type: ignore[union-attr]
        nn.init.zeros_(tensor)
    model.output.weight.data.zero_()
    # Nothing that any component does reaches the loss.
    assert module_criticality(model, "d:ff:1", initial, batches, samples=1)[:2] == (0.0, 0.0)


def test_an_unknown_component(model: Transformer, initial: dict[str, Tensor], batches: list[Batch]) -> None:
    with pytest.raises(UserError, match="d:ff:7"):
        module_criticality(model, "d:ff:7", initial, batches, samples=1)
