"""The base class of what components compute."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Self

from torch import nn

from lit_transformer.model.parts import ModuleOfParts, PartRows


class ComponentFunction(nn.Module):
    """What a component computes: an attention or a feed-forward network."""

    @property
    def output_layer(self) -> nn.Module:
        """The layer whose output is the component's output."""
        raise NotImplementedError(f"{type(self).__name__} has no output_layer")

    def of_parts(self, others: Mapping[int, Self], rows: PartRows) -> Self:
        """Return a function that computes some rows of a batch with other weights.

        Modules without children are replaced; they have to map each row of a batch by itself. An attention that holds
        weights of its own, outside of such modules, has to override this.

        Args:
            others: By number of a part of the batch, the function with the weights of that part.
            rows: Tells which rows each part has.
        """
        result = _of_parts(self, others, rows)
        assert isinstance(result, type(self))
        return result


def _of_parts(module: nn.Module, others: Mapping[int, nn.Module], rows: PartRows) -> nn.Module:
    children = dict(module.named_children())
    if not children:
        return ModuleOfParts(module, others, rows) if any(True for _ in module.parameters()) else module
    result = copy.copy(module)
    # Past torch's registration: the parts' modules are not modules of the model.
    result.__dict__["_modules"] = {
        name: _of_parts(child, {part: getattr(other, name) for part, other in others.items()}, rows)
        for name, child in children.items()
    }
    return result
