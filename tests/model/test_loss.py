from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.data.batch import Batch, collate
from lit_transformer.model import (
    Transformer,
    TransformerConfig,
    label_smoothed_loss,
    seeded_transformer,
    teacher_forced_losses,
)

ROWS = [1, 7, 128, 129, 300]
"""Fewer rows than one chunk of the CPU, one, and several with a rest."""


def case(rows: int, dtype: torch.dtype = torch.float64, pieces: int = 23) -> tuple[Tensor, Tensor]:
    torch.manual_seed(rows)
    logits = 4 * torch.randn(rows, pieces, dtype=torch.float64)
    return logits.to(dtype).requires_grad_(), torch.randint(pieces, (rows,))


def gradient_of(loss: Tensor, logits: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(loss, logits)
    return gradient


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 2e-6), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)],
)
def test_equals_torch(rows: int, smoothing: float, dtype: torch.dtype, tolerance: float) -> None:
    logits, target = case(rows, dtype)
    # The reference starts from the same rounded logits and computes in float64.
    exact = logits.detach().double().requires_grad_()
    smoothed, plain = label_smoothed_loss(logits, target, smoothing)
    expected = F.cross_entropy(exact, target, label_smoothing=smoothing, reduction="sum")
    assert smoothed.dtype == plain.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    unsmoothed = F.cross_entropy(exact, target, reduction="sum")
    assert smoothed.item() == pytest.approx(expected.item(), rel=min(tolerance, 2e-6))
    assert plain.item() == pytest.approx(unsmoothed.item(), rel=min(tolerance, 2e-6))
    gradient = gradient_of(smoothed, logits)
    assert gradient.dtype == dtype
    torch.testing.assert_close(gradient.double(), gradient_of(expected, exact), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradcheck(smoothing: float) -> None:
    logits, target = case(6, pieces=5)
    assert torch.autograd.gradcheck(lambda x: label_smoothed_loss(x, target, smoothing)[0], (logits,))


def test_smoothing_0_makes_both_the_same() -> None:
    smoothed, plain = label_smoothed_loss(*case(40), 0.0)
    assert smoothed.item() == pytest.approx(plain.item(), rel=1e-14)


def test_no_gradient_flows_through_the_plain_loss() -> None:
    _, plain = label_smoothed_loss(*case(5), 0.1)
    assert not plain.requires_grad


def test_the_gradient_is_scaled_by_what_follows() -> None:
    logits, target = case(9)
    once = gradient_of(label_smoothed_loss(logits, target, 0.1)[0], logits)
    scaled = gradient_of(label_smoothed_loss(logits, target, 0.1)[0] / 9, logits)
    torch.testing.assert_close(scaled, once / 9)


def test_logits_that_are_made_from_weights() -> None:
    torch.manual_seed(1)
    states, weight = torch.randn(200, 8), torch.randn(31, 8, requires_grad=True)
    target = torch.randint(31, (200,))
    smoothed, _ = label_smoothed_loss(F.linear(states, weight), target, 0.1)
    expected = F.cross_entropy(F.linear(states, weight), target, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(gradient_of(smoothed, weight), gradient_of(expected, weight), rtol=1e-4, atol=1e-4)


def test_without_a_gradient() -> None:
    logits, target = case(130)
    expected = label_smoothed_loss(logits, target, 0.1)
    with torch.no_grad():
        found = label_smoothed_loss(logits, target, 0.1)
    assert [value.requires_grad for value in found] == [False, False]
    assert [value.item() for value in found] == [value.item() for value in expected]


def test_the_logits_stay_as_they_are() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        logits, target = case(150, dtype)
        before = logits.detach().clone()
        label_smoothed_loss(logits, target, 0.1)[0].backward()
        assert torch.equal(logits.detach(), before)


def test_large_logits_do_not_overflow() -> None:
    logits = torch.tensor([[1e4, 0.0, -1e4]], requires_grad=True)
    smoothed, plain = label_smoothed_loss(logits, torch.tensor([2]), 0.0)
    assert (smoothed.item(), plain.item()) == (2e4, 2e4)
    assert gradient_of(smoothed, logits).tolist() == [[1.0, 0.0, -1.0]]


def test_no_rows() -> None:
    smoothed, plain = label_smoothed_loss(torch.zeros(0, 5, requires_grad=True), torch.zeros(0, dtype=torch.int64), 0.1)
    assert (smoothed.item(), plain.item()) == (0.0, 0.0)


class TestTeacherForced:
    @pytest.fixture
    def batch(self) -> Batch:
        return collate(np.arange(3), [([4, 5, 6], [7, 8, 9, 10]), ([11], [12]), ([13, 14], [15, 16, 17])])

    @pytest.fixture
    def network(self) -> Transformer:
        config = TransformerConfig(
            20, 20, encoder_layers=1, decoder_layers=2, d_model=16, feed_forward=24, heads=2, dropout=0.0
        )
        return seeded_transformer(config, 1)

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_equal_torchs_cross_entropy(self, network: Transformer, batch: Batch, smoothing: float) -> None:
        smoothed, plain, pieces = teacher_forced_losses(network, batch, smoothing)
        logits = network(batch.source, batch.target[:, :-1])
        target = batch.target[:, 1:]
        for found, amount in ((smoothed, smoothing), (plain, 0.0)):
            expected = F.cross_entropy(
                logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=amount, reduction="sum"
            )
            assert found.item() == pytest.approx(expected.item(), rel=1e-5)
        assert pieces == 4 + 1 + 3 + 3 == int(target.ne(0).sum())

    def test_the_gradient_is_that_of_torchs_cross_entropy(self, network: Transformer, batch: Batch) -> None:
        smoothed, _, pieces = teacher_forced_losses(network, batch, 0.1)
        (smoothed / pieces).backward()
        found = {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}
        network.zero_grad()
        logits = network(batch.source, batch.target[:, :-1])
        F.cross_entropy(
            logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1
        ).backward()
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-6)

    def test_padding_changes_nothing(self, network: Transformer, batch: Batch) -> None:
        wider = Batch(batch.index, F.pad(batch.source, (0, 3)), F.pad(batch.target, (0, 5)), batch.target_tokens)
        first, second = (teacher_forced_losses(network, each, 0.1) for each in (batch, wider))
        assert second[0].item() == pytest.approx(first[0].item(), rel=1e-5)
        assert second[2] == first[2]
