"""How many components weigh as much as how many whole decoder layers (method.md 1.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lit_transformer.components import component_ids, kind_of

TOLERANCE = 1.0
"""Percent of the parameters from which on a mismatch is told."""


@dataclass(frozen=True)
class Structure:
    """What the number of parameters of components and layers depends on.

    Args:
        encoder_layers: Layers of the encoder.
        decoder_layers: Layers of the decoder.
        d_model: Width of the residual stream.
        feed_forward: Width of the feed-forward networks' hidden layer.
        norm: ``post`` or ``pre``; what prunes a component keeps its norm in post-norm models only.
        pruned: Ids of components that the model does not have.
        feed_forward_sizes: Width of single feed-forward components, by id.
    """

    encoder_layers: int
    decoder_layers: int
    d_model: int
    feed_forward: int
    norm: str
    pruned: tuple[str, ...] = ()
    feed_forward_sizes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, hparams: Mapping[str, Any]) -> Structure:
        """Return the structure that hyper-parameters of the model describe."""
        return cls(
            encoder_layers=hparams["encoder_layers"],
            decoder_layers=hparams["decoder_layers"],
            d_model=hparams["d_model"],
            feed_forward=hparams["feed_forward"],
            norm=hparams["norm"],
            pruned=tuple(hparams.get("pruned") or ()),
            feed_forward_sizes=dict(hparams.get("feed_forward_sizes") or {}),
        )

    @property
    def components(self) -> list[str]:
        """Ids of the components that the model has."""
        return component_ids(self.encoder_layers, self.decoder_layers, self.pruned)

    def component_size(self, component: str) -> int:
        """Return how many parameters a model loses when a component is pruned."""
        norm = 2 * self.d_model if self.norm == "pre" else 0
        if kind_of(component).endswith("ff"):
            return self._feed_forward(self.feed_forward_sizes.get(component, self.feed_forward)) + norm
        return self._attention + norm

    @property
    def size(self) -> int:
        """Parameters of all components together, with what pruning takes away of their norms."""
        return sum(map(self.component_size, self.components))

    @property
    def decoder_layer_size(self) -> int:
        """Parameters of a whole decoder layer, its three norms included."""
        return 2 * self._attention + self._feed_forward(self.feed_forward) + 6 * self.d_model

    @property
    def _attention(self) -> int:
        return 4 * self.d_model * (self.d_model + 1)

    def _feed_forward(self, size: int) -> int:
        return 2 * self.d_model * size + size + self.d_model


@dataclass(frozen=True)
class Match:
    """Components and whole decoder layers that weigh about the same.

    Args:
        components: The components.
        layers: Number of decoder layers.
        removed: Parameters of the components.
        of_layers: Parameters of the layers.
    """

    components: tuple[str, ...]
    layers: int
    removed: int
    of_layers: int

    @property
    def mismatch(self) -> float:
        """By how many percent of the layers' parameters the components have more (above 0) or fewer (below 0)."""
        return 100.0 * (self.removed - self.of_layers) / self.of_layers

    @property
    def told(self) -> str:
        """What a person is told of a mismatch; empty where there is hardly any."""
        return f" (more than {TOLERANCE:.0f} % apart)" if abs(self.mismatch) > TOLERANCE else ""

    @property
    def line(self) -> str:
        """What a person is told."""
        layers = "1 decoder layer" if self.layers == 1 else f"{self.layers} decoder layers"
        return (
            f"{len(self.components)} components ({self.removed:,} parameters) stand against {layers} "
            f"({self.of_layers:,}): {self.mismatch:+.2f} %"
        )


def nearest_depth(structure: Structure, components: Sequence[str], removed: int | None = None) -> Match:
    """Return the number of whole decoder layers that is nearest to components in parameters; at least one stays.

    Args:
        structure: The structure of the model.
        components: Ids of components.
        removed: Parameters of these that are gone; all of them, if not given.

    Raises:
        ValueError: The decoder has one layer, so that none can go.

    Example:
        >>> base = Structure(6, 6, 512, 2048, "post")
        >>> nearest_depth(base, ["d:sa:2", "d:sa:3", "d:sa:4", "d:sa:5", "d:ea:1", "d:ea:2", "d:ff:4"]).layers
        2
    """
    if structure.decoder_layers < 2:
        raise ValueError("a decoder of one layer has none to spare")
    removed = sum(map(structure.component_size, components)) if removed is None else removed
    layer = structure.decoder_layer_size
    # Of two that are as near, the fewer.
    layers = min(range(1, structure.decoder_layers), key=lambda n: (abs(removed - n * layer), n))
    return Match(tuple(components), layers, removed, layers * layer)


def nearest_count(structure: Structure, order: Sequence[str], layers: int) -> Match:
    """Return the first components of an order that are nearest to whole decoder layers in parameters.

    Args:
        structure: The structure of the model.
        order: Ids of components, the one that goes first at the front.
        layers: Number of decoder layers.

    Raises:
        ValueError: There is no component, or no layer.
    """
    if not order or layers < 1:
        raise ValueError(f"expected components and layers; got {list(order)} and {layers}")
    of_layers = layers * structure.decoder_layer_size
    removed, best = 0, None
    for count, component in enumerate(order, start=1):
        removed += structure.component_size(component)
        match = Match(tuple(order[:count]), layers, removed, of_layers)
        if best is None or abs(match.removed - of_layers) < abs(best.removed - of_layers):
            best = match
    assert best is not None
    return best


def most_components(structure: Structure, layers: int = 1) -> int:
    """Return how many components can weigh as much as whole decoder layers at most, whichever they are."""
    smallest = min(map(structure.component_size, structure.components))
    return min(math.ceil(layers * structure.decoder_layer_size / smallest), len(structure.components))
