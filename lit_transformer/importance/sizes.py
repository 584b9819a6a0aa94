"""Numbers of parameters by structure, counted in the real model, on torch's meta device, which holds no weights."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from lit_transformer.model import Transformer
from lit_transformer.structure import Structure


def model_size(structure: Structure) -> int:
    """Return the number of parameters of a model, those that are shared counted once.

    Args:
        structure: Its structure, sizes of the vocabularies included.
    """
    return _count(_skeleton(structure))


def component_sizes(structure: Structure) -> dict[str, int]:
    """Return the number of parameters that a model loses when a component is pruned, by id.

    Args:
        structure: Its structure; the vocabularies may be unknown.
    """
    network = _skeleton(_any_vocabulary(structure))
    left, sizes = _count(network), {}
    for name, sublayer in network.components().items():
        before = left
        sublayer.prune()
        left = _count(network)
        sizes[name] = before - left
    return sizes


def decoder_layer_size(structure: Structure) -> int:
    """Return the number of parameters of a whole decoder layer, its norms included.

    Args:
        structure: The structure of a model; the vocabularies may be unknown.
    """
    shallow = replace(_any_vocabulary(structure.whole), encoder_layers=1, decoder_layers=1)
    return model_size(replace(shallow, decoder_layers=2)) - model_size(shallow)


def _any_vocabulary(structure: Structure) -> Structure:
    return replace(structure, source_vocab_size=1, target_vocab_size=1)


def _skeleton(structure: Structure) -> Transformer:
    with torch.device("meta"):
        return Transformer(structure)


def _count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
