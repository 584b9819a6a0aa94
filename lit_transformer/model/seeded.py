"""A model whose initial weights can be made again."""

from __future__ import annotations

import torch

from lit_transformer.model.config import TransformerConfig
from lit_transformer.model.transformer import Transformer


def fresh_seed(seed: int, draw: int) -> int:
    """Return the seed of weights that are drawn anew, which are never those that the seed itself gives.

    Args:
        seed: Seed of a run's initial weights.
        draw: Number of the draw, from 0 up.
    """
    # The CPU's generator looks at 32 bits of a seed; an odd factor gives each draw another value of these.
    return (seed + (draw + 1) * 0x9E3779B1) % 2**32


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
