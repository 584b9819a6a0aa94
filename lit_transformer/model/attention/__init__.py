"""Attentions by name. A new one is a file in this folder and a line in `ATTENTIONS`."""

from lit_transformer.errors import UserError
from lit_transformer.model.attention.base import Attention, PastCache, SourceCache
from lit_transformer.model.attention.dot_product import DotProductAttention, KeyValues, SourceKeyValues
from lit_transformer.structure import Structure

ATTENTIONS: dict[str, type[Attention]] = {"dot_product": DotProductAttention}
"""The names that `Structure.attention` gives to kinds of components."""


def attention_class(structure: Structure, kind: str) -> type[Attention]:
    """Return the class of the attention that a model with this structure has for a kind of component.

    Raises:
        UserError: No attention has the name that the structure gives.
    """
    name = structure.attention_of(kind)
    if name not in ATTENTIONS:
        raise UserError(f"--model.attention has {kind}: {name!r}; choose one of {', '.join(ATTENTIONS)}.")
    return ATTENTIONS[name]


__all__ = [
    "ATTENTIONS",
    "Attention",
    "DotProductAttention",
    "KeyValues",
    "PastCache",
    "SourceCache",
    "SourceKeyValues",
    "attention_class",
]
