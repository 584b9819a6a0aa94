"""A model whose initial weights can be made again."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from lit_transformer.model.surgery import component_parameters
from lit_transformer.model.transformer import Transformer
from lit_transformer.structure import TransformerConfig


def fresh_seed(purpose: str, seed: int, draw: int = 0, before: str | None = None) -> int:
    """Return the seed of weights that are drawn anew, which are never those that the seed itself gives.

    Each purpose has draws of its own, and so has each model: weights that are drawn anew from one that began with fresh
    weights itself are others than these.

    Args:
        purpose: What they are drawn for, in a word.
        seed: Seed of the run.
        draw: Number of the draw, from 0 up.
        before: Digest of the initial weights of the model that is drawn anew, or of a part of it; of its own weights
            where those are not known.
    """
    digest = hashlib.sha256(f"{purpose}/{seed}/{draw}/{before or ''}".encode()).digest()
    # The CPU's generator looks at 32 bits of a seed.
    found = int.from_bytes(digest[:4], "big")
    return found if found != seed % 2**32 else (found + 1) % 2**32


def seeded_transformer(config: TransformerConfig, seed: int) -> Transformer:
    """Return a new model; its weights depend on the seed, the structure and torch's version alone.

    The state of the random generators is left as it is.

    Args:
        config: The structure.
        seed: Seed of the weights.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Transformer(config)


def redrawn(config: TransformerConfig, component: str, seed: int) -> dict[str, Tensor]:
    """Return fresh initial weights of a component, its LayerNorm included (Zhang et al. 2019, method.md 2.1).

    They come from the distribution that initial weights come from.

    Args:
        config: The structure of the model.
        component: Id of the component.
        seed: Their seed, which `fresh_seed` gives.

    Returns:
        The weights by their names in the model's state.

    Raises:
        UserError: The model has no such component.
    """
    fresh = seeded_transformer(config, seed)
    return {name: weight.detach() for name, weight in component_parameters(fresh, component, include_norm=True).items()}
