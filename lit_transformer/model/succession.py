"""A shallower decoder, and the layers that its own took the place of (Xu et al. 2020, method.md 4)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from lit_transformer.errors import UserError
from lit_transformer.model.attention import PastCache
from lit_transformer.model.transformer import DecoderLayer, Transformer


class SuccessorLayer(DecoderLayer):
    """A decoder layer in whose place several others, its predecessors, can stand in a training step.

    Its state is that of the layer alone. The predecessors see whole target sentences, as training does.

    Args:
        layer: The layer.
        predecessors: What may stand in for it, from the lowest up. No part of the model: no state, no device, and in
            training mode always.

    Attributes:
        stands_in: Whether the predecessors do, in the coming training step.
    """

    predecessors: tuple[DecoderLayer, ...]

    def __init__(self, layer: DecoderLayer, predecessors: Sequence[DecoderLayer]) -> None:
        nn.Module.__init__(self)
        self.sa, self.ea, self.ff = layer.sa, layer.ea, layer.ff
        self.training, self.stands_in = layer.training, False
        # Past torch's registration of modules.
        object.__setattr__(self, "predecessors", tuple(predecessors))
        for predecessor in predecessors:
            predecessor.train().requires_grad_(False)

    @property
    def _is_away(self) -> bool:
        return self.training and self.stands_in

    def source_cache(self, states: Tensor) -> Any:
        """Prepare the encoder's states ``(batch, source_length, d_model)`` for the layers that are computed next."""
        if self._is_away:
            return [predecessor.source_cache(states) for predecessor in self.predecessors]
        return super().source_cache(states)

    def forward(
        self, x: Tensor, causal: Tensor | None, past: PastCache | None, source: Any, source_mask: Tensor
    ) -> Tensor:
        """Map ``(rows, new, d_model)`` to the same shape; see `Decoder.forward`."""
        if not self._is_away:
            return super().forward(x, causal, past, source, source_mask)
        for predecessor, source_cache in zip(self.predecessors, source, strict=True):
            x = predecessor(x, causal, predecessor.new_past(), source_cache, source_mask)
        # DDP would wait for the gradients of what was not computed.
        for component in (self.sa, self.ea, self.ff):
            x = x + component._nothing()
        return x


def cut_decoder(model: Transformer, group: int) -> list[DecoderLayer]:
    """Leave the first layers of a decoder, one for each group of them, as its successor.

    Args:
        model: The model; changed in place.
        group: So many layers become one.

    Returns:
        Copies of all layers that the decoder had.

    Raises:
        UserError: The layers can't be grouped like that, or some of them are not whole.
    """
    config = model.config
    depth = config.decoder_layers
    if group < 2 or depth % group:
        groups = ", ".join(str(number) for number in range(2, depth + 1) if depth % number == 0)
        raise UserError(f"a decoder of {depth} layers has no groups of {group}; give one of {groups or 'none'}.")
    changed = [name for name in (*config.pruned, *config.feed_forward_sizes) if name.startswith("d:")]
    if changed:
        raise UserError(f"only whole decoder layers can be replaced, but {', '.join(changed)} were pruned or narrowed.")
    predecessors = [copy.deepcopy(layer) for layer in model.decoder.layers]
    model.decoder.layers = model.decoder.layers[: depth // group]
    model.config = replace(config, decoder_layers=depth // group)
    return predecessors  # type: ignore[return-value]


def predecessors_of(model: Transformer, states: Sequence[Mapping[str, Tensor]]) -> list[DecoderLayer]:
    """Return the layers of a decoder that was cut, made again from their states.

    Args:
        model: The model with the shallower decoder.
        states: The state of each layer, from the lowest up.
    """
    layers = Transformer(replace(model.config, decoder_layers=len(states))).decoder.layers
    for layer, state in zip(layers, states, strict=True):
        layer.load_state_dict(state)
    return list(layers)  # type: ignore[arg-type]


def attach(model: Transformer, predecessors: Sequence[DecoderLayer]) -> list[SuccessorLayer]:
    """Let the layers that a decoder had before stand in for its own, and return these."""
    layers = model.decoder.layers
    group = len(predecessors) // len(layers)
    for place, layer in enumerate(layers):
        assert isinstance(layer, DecoderLayer)
        layers[place] = SuccessorLayer(layer, predecessors[place * group : (place + 1) * group])
    return list(layers)  # type: ignore[arg-type]
