"""The training loss: label-smoothed cross-entropy (Szegedy et al. 2016; Vaswani et al. 2017, 5.4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.model.protocol import Decodable

# Rows taken at once: on a CPU, as many as fit its cache with a vocabulary of some thousand pieces.
_CPU_ROWS = 128
_GPU_ROWS = 8192


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Cross-entropy that forms its gradient while the logits are at hand.

    log_softmax, gather and mean, each with a backward pass of its own over (pieces, vocabulary), took a third of a
    training step on a CPU; this takes a third of their time and keeps one matrix instead of four.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
        vocabulary = logits.size(-1)
        smoothed, plain = logits.new_zeros((), dtype=wide), logits.new_zeros((), dtype=wide)
        # float16 has no room for the small probabilities before the loss is scaled up.
        kept = wide if logits.dtype == torch.float16 else logits.dtype
        gradient = torch.empty_like(logits, dtype=kept) if ctx.needs_input_grad[0] else None
        rows = _CPU_ROWS if logits.device.type == "cpu" else _GPU_ROWS
        for first in range(0, logits.size(0), rows):
            part = logits[first : first + rows].to(wide, copy=True)
            wanted = target[first : first + rows, None]
            gold, mean = part.gather(1, wanted), part.mean(dim=-1, keepdim=True)
            largest = part.amax(dim=-1, keepdim=True)
            exponentials = part.sub_(largest).exp_()
            total = exponentials.sum(dim=-1, keepdim=True)
            log_total = total.log() + largest
            plain += (log_total - gold).sum()
            smoothed += (log_total - (1.0 - smoothing) * gold - smoothing * mean).sum()
            if gradient is not None:
                probabilities = exponentials.div_(total).sub_(smoothing / vocabulary)
                probabilities.scatter_add_(1, wanted, torch.full_like(gold, smoothing - 1.0))
                gradient[first : first + rows] = probabilities
        ctx.save_for_backward(gradient)
        ctx.dtype = logits.dtype
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, None]:
        (gradient,) = ctx.saved_tensors
        return (None if gradient is None else (gradient * gradients[0]).to(ctx.dtype)), None, None


def label_smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the sums over pieces of the label-smoothed cross-entropy and of the plain one, in nats.

    Gradients flow through the first alone. The sums are float32 whatever the logits are, float64 for float64.

    Args:
        logits: ``(pieces, target_vocab_size)``.
        target: ``(pieces,)``, no padding.
        smoothing: Probability mass spread evenly over all pieces.
    """
    return _SmoothedCrossEntropy.apply(logits, target, smoothing)


def teacher_forced_losses(network: Decodable[Any], batch: Batch, smoothing: float) -> tuple[Tensor, Tensor, int]:
    """Return what `label_smoothed_loss` gives for the target sides of a batch, and the number of their pieces.

    Args:
        network: The model.
        batch: Sentences with their references.
        smoothing: Probability mass spread evenly over all pieces.
    """
    states = network.step(batch.target[:, :-1], network.start(network.encode(batch.source)))
    following = batch.target[:, 1:]
    real = following.ne(batch.special_ids.pad)
    smoothed, plain = label_smoothed_loss(network.logits(states[real]), following[real], smoothing)
    return smoothed, plain, batch.target_tokens
