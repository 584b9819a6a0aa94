"""Hooks of Lightning typed with this program's Trainer and model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import pytorch_lightning as pl

from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

C = TypeVar("C", bound=pl.Callback)
P = ParamSpec("P")
R = TypeVar("R")


def typed_hook(
    hook: Callable[Concatenate[C, Trainer, LitTransformer, P], R],
) -> Callable[Concatenate[C, pl.Trainer, pl.LightningModule, P], R]:
    """Let a hook of a callback rely on this program's Trainer and model, where Lightning promises less.

    Args:
        hook: The method, after ``self`` with a Trainer and a LitTransformer.

    Returns:
        The method as Lightning calls it; it raises a TypeError when it is called with other classes.
    """

    @functools.wraps(hook)
    def checked(self: C, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: P.args, **kwargs: P.kwargs) -> R:
        if not isinstance(trainer, Trainer) or not isinstance(pl_module, LitTransformer):
            raise TypeError(
                f"{type(self).__name__} needs the Trainer and the LitTransformer of lit_transformer, but was called "
                f"with {type(trainer).__module__}.{type(trainer).__name__} and {type(pl_module).__name__}."
            )
        return hook(self, trainer, pl_module, *args, **kwargs)

    return checked
