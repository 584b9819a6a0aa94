"""How many components weigh as much as how many whole decoder layers (method.md 1.7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lit_transformer.importance.sizes import component_sizes, decoder_layer_size
from lit_transformer.structure import Structure

TOLERANCE = 1.0
"""Percent of the parameters from which on a mismatch is told."""


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
        >>> nearest_depth(Structure(), ["d:sa:2", "d:sa:3", "d:sa:4", "d:sa:5", "d:ea:1", "d:ea:2", "d:ff:4"]).layers
        2
    """
    if structure.decoder_layers < 2:
        raise ValueError("a decoder of one layer has none to spare")
    if removed is None:
        sizes = component_sizes(structure)
        removed = sum(sizes[name] for name in components)
    layer = decoder_layer_size(structure)
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
    of_layers, sizes = layers * decoder_layer_size(structure), component_sizes(structure)
    removed, best = 0, None
    for count, component in enumerate(order, start=1):
        removed += sizes[component]
        match = Match(tuple(order[:count]), layers, removed, of_layers)
        if best is None or abs(match.removed - of_layers) < abs(best.removed - of_layers):
            best = match
    assert best is not None
    return best


def most_components(structure: Structure, layers: int = 1) -> int:
    """Return how many components can weigh as much as whole decoder layers at most, whichever they are."""
    sizes = component_sizes(structure)
    return min(math.ceil(layers * decoder_layer_size(structure) / min(sizes.values())), len(sizes))
