"""Changes to the components of a model. Temporary ones are context managers that leave no trace."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from lit_transformer.components import select
from lit_transformer.model import Transformer


@contextlib.contextmanager
def ablated(model: Transformer, components: str | Iterable[str]) -> Iterator[list[str]]:
    """Take components out of the residual stream while the context lasts (method.md 0.2).

    No tensor is touched, so that afterwards the model is bit for bit what it was, whatever happened inside.

    Args:
        model: The model.
        components: Ids or selectors; an empty list ablates nothing.

    Yields:
        The ids that are ablated.

    Raises:
        UserError: A selector matches nothing.
    """
    sublayers = model.components()
    components = [components] if isinstance(components, str) else list(components)
    chosen = select(components, list(sublayers)) if components else []
    before = {component: sublayers[component].ablated for component in chosen}
    try:
        for component in chosen:
            sublayers[component].ablated = True
        yield chosen
    finally:
        for component, was in before.items():
            sublayers[component].ablated = was
