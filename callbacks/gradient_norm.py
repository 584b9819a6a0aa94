"""The norm of the gradient."""

from __future__ import annotations

import pytorch_lightning as pl
import torch
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer
from typing_extensions import override

from lit_transformer.training.trainer import logging_interval


class GradientNorm(pl.Callback):
    """Logs ``train/gradient_norm``, when the Trainer logs.

    It is the L2 norm of the gradient of the loss (nats per piece) over all parameters, before clipping; of several
    processes that of their mean gradient. In 16-mixed it is infinite where it overflowed; such a step changes nothing,
    and the loss is scaled less.
    """

    @override
    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        if (trainer.global_step + 1) % logging_interval(trainer) == 0:
            gradients = [parameter.grad for parameter in pl_module.parameters() if parameter.grad is not None]
            norm = get_total_norm(gradients)
            if getattr(trainer.precision_plugin, "scaler", None) is not None:
                # Scaled back, some of what overflowed is no number any more.
                norm = norm.nan_to_num(torch.inf, torch.inf)
            pl_module.log("train/gradient_norm", norm)
