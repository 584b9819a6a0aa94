"""What a component is: one sub-layer of an encoder-decoder Transformer, named ``kind:layer``.

Ids, their order and the selectors that people type are those of method.md, section 0.1; the kinds are those of
Wang & Tu 2020 (arXiv 2011.03803). Layers count from 1, the one next to the embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from lit_transformer.errors import UserError

ENCODER_KINDS = ("e:sa", "e:ff")
DECODER_KINDS = ("d:sa", "d:ea", "d:ff")
KINDS = ENCODER_KINDS + DECODER_KINDS

_SELECTOR = re.compile(r"(?P<kind>[ed]:(?:sa|ff|ea|\*)|\*)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")


def component_ids(encoder_layers: int, decoder_layers: int, pruned: Collection[str] = ()) -> list[str]:
    """Return the ids of all components of a Transformer, in canonical order (by kind, then by layer).

    Args:
        encoder_layers: Layers of its encoder.
        decoder_layers: Layers of its decoder.
        pruned: Ids of those that it does not have.

    Example:
        >>> component_ids(1, 2)
        ['e:sa:1', 'e:ff:1', 'd:sa:1', 'd:sa:2', 'd:ea:1', 'd:ea:2', 'd:ff:1', 'd:ff:2']
    """
    return [
        f"{kind}:{layer}"
        for kinds, layers in ((ENCODER_KINDS, encoder_layers), (DECODER_KINDS, decoder_layers))
        for kind in kinds
        for layer in range(1, layers + 1)
        if f"{kind}:{layer}" not in pruned
    ]


def kind_of(component: str) -> str:
    """Return the kind of a component, such as ``d:ea`` for ``d:ea:3``."""
    return component.rpartition(":")[0]


def layer_of(component: str) -> int:
    """Return the layer of a component, such as 3 for ``d:ea:3``."""
    return int(component.rpartition(":")[2])


def canonical_key(component: str) -> tuple[int, int]:
    """Return the sort key of the canonical order: kind in the order of `KINDS`, then layer."""
    return KINDS.index(kind_of(component)), layer_of(component)


def select(selectors: str | Iterable[str], existing: Sequence[str]) -> list[str]:
    """Return the components that any of the selectors names, in canonical order, each once.

    Args:
        selectors: One or more of: an id (``d:sa:3``), a range of layers (``d:sa:1-3``), a kind (``d:sa``), one side
            (``d:*``), everything (``*``).
        existing: The ids of the components that the model has.

    Raises:
        UserError: A selector is misspelt or matches nothing, or there is none; the message lists what exists.

    Example:
        >>> select(["d:sa:2-3", "e:ff"], component_ids(1, 3))
        ['e:ff:1', 'd:sa:2', 'd:sa:3']
    """
    chosen: set[str] = set()
    selectors = [selectors] if isinstance(selectors, str) else list(selectors)
    if not selectors:
        raise UserError(f"no component selected; {_allowed(existing)}")
    for selector in selectors:
        matched = _matches(selector, existing)
        if not matched:
            raise UserError(f"component selector {selector!r} matches nothing in this model; {_allowed(existing)}")
        chosen.update(matched)
    return sorted(chosen, key=canonical_key)


def _matches(selector: str, existing: Sequence[str]) -> list[str]:
    parts = _SELECTOR.fullmatch(selector.strip())
    if parts is None:
        return []
    kind, first = parts["kind"], int(parts["first"] or 0)
    last = int(parts["last"] or first)
    return [
        component
        for component in existing
        if (kind == "*" or kind_of(component) == kind or (kind[2:] == "*" and component[:2] == kind[:2]))
        and (parts["first"] is None or first <= layer_of(component) <= last)
    ]


def _allowed(existing: Sequence[str]) -> str:
    return (
        f"it has {', '.join(sorted(existing, key=canonical_key))}; "
        "choose an id (d:sa:3), a range (d:sa:1-3), a kind (d:sa), a side (d:*) or everything (*)."
    )
