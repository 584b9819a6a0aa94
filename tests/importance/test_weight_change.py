from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lit_transformer.importance.weight_change import chatterji, weight_change

ALPHAS = (0.0, 0.5, 1.0)
SIGMAS = (0.1, 0.5, 1.0)


def test_tensors_are_compared_as_one_vector() -> None:
    # (3, 4) to (3, 0): distance 4 over length 5, cosine 9 / 15.
    change = weight_change([[[3.0]], [4.0]], [[[3.0]], [0.0]])
    assert change.relative_distance == pytest.approx(0.8)
    assert change.cosine == pytest.approx(0.6)
    assert change.distance_squared == pytest.approx(16.0)
    assert not change.moved_little


@pytest.mark.parametrize(("step", "little"), [(0.0, True), (0.099, True), (0.101, False)])
def test_what_hardly_moved_is_told(step: float, little: bool) -> None:
    initial = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))
    change = weight_change([initial], [initial * (1 + step)])
    assert change.moved_little is little
    assert change.relative_distance == pytest.approx(step, abs=1e-6)
    assert change.cosine == pytest.approx(1.0)


def test_zeros_give_numbers() -> None:
    nothing = weight_change([[0.0, 0.0]], [[0.0, 0.0]])
    assert (nothing.relative_distance, nothing.cosine, nothing.moved_little) == (0.0, 1.0, True)
    born = weight_change([[0.0, 0.0]], [[0.0, 2.0]])
    assert (born.relative_distance, born.cosine, born.moved_little) == (1.0, 0.0, False)


def test_other_tensors_are_errors() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\), but trained ones of \(3,\)"):
        weight_change([np.ones(2)], [np.ones(3)])
    with pytest.raises(ValueError, match="shorter"):
        weight_change([np.ones(2), np.ones(2)], [np.ones(2)])


def test_module_criticality_by_hand() -> None:
    # 2.02 is just good enough. Costs (alpha / sigma) ** 2: 25, 1 and 0.25 at alpha 0.5; 100, 4 and 1 at alpha 1.
    losses = [[9.0, 9.0, 9.0], [2.0, 2.02, 2.03], [2.0, 2.0, 2.5]]
    assert chatterji(losses, ALPHAS, SIGMAS, distance_squared=3.0, final_loss=2.0) == pytest.approx(3.0)
    assert chatterji(losses, ALPHAS, SIGMAS, 3.0, 2.0, tolerance=1.005) == pytest.approx(4 * 3.0)
    assert chatterji(losses, ALPHAS, SIGMAS, 3.0, 2.0, tolerance=1.02) == pytest.approx(0.25 * 3.0)


def test_module_criticality_at_its_ends() -> None:
    losses = np.full((3, 3), 9.0)
    assert chatterji(losses, ALPHAS, SIGMAS, 3.0, 2.0) == math.inf
    losses[0, 0] = 2.0
    assert chatterji(losses, ALPHAS, SIGMAS, 3.0, 2.0) == 0.0
    assert chatterji(np.full((3, 3), math.inf), ALPHAS, SIGMAS, 3.0, 2.0) == math.inf


def test_module_criticality_refuses_what_is_no_grid() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 3\), got \(3, 2\)"):
        chatterji(np.ones((3, 2)), ALPHAS, SIGMAS, 3.0, 2.0)
    with pytest.raises(ValueError, match="must be above 0"):
        chatterji(np.ones((3, 3)), ALPHAS, (0.0, 0.5, 1.0), 3.0, 2.0)
    with pytest.raises(ValueError, match="NaN"):
        chatterji(np.full((3, 3), math.nan), ALPHAS, SIGMAS, 3.0, 2.0)
