"""A model whose initial weights can be made again."""

from __future__ import annotations

import torch

from lit_transformer.model.transformer import Transformer, TransformerConfig


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
