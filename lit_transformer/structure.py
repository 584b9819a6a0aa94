"""The structure of a model, spelt out here alone: everything else derives from the fields of `Structure`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from lit_transformer.components import KINDS, component_ids, kind_of, select
from lit_transformer.errors import UserError

# What decides the value of a field, unless it is the architecture.
_VOCABULARY = {"group": "vocabulary"}
_REGULARIZATION = {"group": "regularization"}

ATTENTION_KINDS = tuple(kind for kind in KINDS if not kind.endswith("ff"))
DEFAULT_ATTENTION = "dot_product"


@dataclass(frozen=True)
class Structure:
    """The structure of a model; method.md 1.9 says which of these values are the paper's.

    Args:
        source_vocab_size: Number of source pieces, special ones included; 0 until the tokenizer is known.
        target_vocab_size: Number of target pieces, special ones included; 0 until the tokenizer is known.
        encoder_layers: Layers of the encoder.
        decoder_layers: Layers of the decoder.
        d_model: Width of the residual stream.
        feed_forward: Width of the feed-forward networks' hidden layer.
        heads: Attention heads.
        dropout: Dropout on embeddings and on each sub-layer's output.
        attention_dropout: Dropout on attention weights.
        activation_dropout: Dropout after the feed-forward network's ReLU.
        norm: ``post`` (Vaswani et al.) or ``pre`` (with a final norm on both stacks).
        tie_embeddings: ``all`` (source, target and output projection), ``target`` (target and output) or ``none``.
        pruned: Ids of the components that the model does not have, in canonical order; all others keep their ids.
        feed_forward_sizes: Width of the hidden layer of single feed-forward components, by id, where it is another one.
        layer_drop: By kind of component, the probability that a training step goes without one (Fan et al. 2020).
        attention: By kind of component, the name of its attention; ``dot_product`` where none is given.
    """

    source_vocab_size: int = field(default=0, metadata=_VOCABULARY)
    target_vocab_size: int = field(default=0, metadata=_VOCABULARY)
    encoder_layers: int = 6
    decoder_layers: int = 6
    d_model: int = 512
    feed_forward: int = 2048
    heads: int = 8
    dropout: float = field(default=0.1, metadata=_REGULARIZATION)
    attention_dropout: float = field(default=0.0, metadata=_REGULARIZATION)
    activation_dropout: float = field(default=0.0, metadata=_REGULARIZATION)
    norm: Literal["post", "pre"] = "post"
    tie_embeddings: Literal["all", "target", "none"] = "all"
    pruned: tuple[str, ...] = ()
    feed_forward_sizes: Mapping[str, int] = field(default_factory=dict)
    layer_drop: Mapping[str, float] = field(default_factory=dict, metadata=_REGULARIZATION)
    attention: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have.

        Raises:
            UserError: A size or a probability is out of range, the vocabularies can't be tied, there is no such
                component to be pruned, or no source-target attention would be left.
        """
        sizes = ("encoder_layers", "decoder_layers", "d_model", "feed_forward", "heads")
        for name in sizes:
            size = getattr(self, name)
            if not isinstance(size, int) or size < 1:
                raise UserError(f"--model.{name} is {size!r}; give a whole number from 1 up.")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"--model.{name} is {getattr(self, name)!r}; give a probability from 0 to below 1.")
        if self.d_model % self.heads:
            raise UserError(f"--model.heads {self.heads} does not divide --model.d_model {self.d_model}.")
        vocabularies = {size for name in VOCABULARIES if (size := getattr(self, name))}
        if self.tie_embeddings == "all" and len(vocabularies) > 1:
            raise UserError(
                f"--model.tie_embeddings all needs one vocabulary, but the source has {self.source_vocab_size} pieces "
                f"and the target {self.target_vocab_size}; give --model.tie_embeddings target."
            )
        every = component_ids(self.encoder_layers, self.decoder_layers)
        object.__setattr__(self, "pruned", tuple(select(self.pruned, every) if self.pruned else []))
        if self.pruned and all(name in self.pruned for name in every if kind_of(name) == "d:ea"):
            raise UserError(
                f"without {', '.join(self.pruned)} there is no source-target attention (d:ea), so that the model could "
                "not see its source; keep one of them."
            )
        for component, size in self.feed_forward_sizes.items():
            if component not in every or not kind_of(component).endswith("ff") or size < 1:
                raise UserError(
                    f"--model.feed_forward_sizes has {component!r}: {size!r}; give a width from 1 up for feed-forward "
                    "components of this model, such as '{d:ff:1: 64}'."
                )
        for kind, probability in self.layer_drop.items():
            if kind not in KINDS or not 0.0 <= probability < 1.0:
                raise UserError(
                    f"--model.layer_drop has {kind!r}: {probability!r}; give a probability from 0 to below 1 for each "
                    f"of {', '.join(KINDS)} that is to be dropped, such as '{{d:sa: 0.2}}'."
                )
        for kind in self.attention:
            if kind not in ATTENTION_KINDS:
                raise UserError(
                    f"--model.attention has {kind!r}; give an attention for any of {', '.join(ATTENTION_KINDS)}."
                )

    @classmethod
    def of(cls, hparams: Mapping[str, Any]) -> Structure:
        """Return the structure that hyper-parameters describe, those of an older or a newer checkpoint included.

        Args:
            hparams: Hyper-parameters by name. One that is missing or None has the default; those that are no part of
                the structure are ignored.

        Raises:
            UserError: No model can have this structure.
        """
        given = {each.name: hparams.get(each.name) for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})

    def as_hparams(self) -> dict[str, Any]:
        """Return the fields as plain types, which a checkpoint may hold; an unknown size of a vocabulary is None."""
        plain: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            value = list(value) if isinstance(value, tuple) else value
            plain[each.name] = dict(value) if isinstance(value, Mapping) else value
        return plain | {name: plain[name] or None for name in VOCABULARIES}

    @property
    def components(self) -> list[str]:
        """Ids of the components that the model has, in canonical order."""
        return component_ids(self.encoder_layers, self.decoder_layers, self.pruned)

    @property
    def whole(self) -> Structure:
        """The structure before anything was pruned or narrowed."""
        return replace(self, pruned=(), feed_forward_sizes={})

    def attention_of(self, kind: str) -> str:
        """Return the name of the attention of a kind of component, such as ``d:sa``."""
        return self.attention.get(kind, DEFAULT_ATTENTION)

    def differences(self, other: Structure) -> list[str]:
        """Return the names of the fields of the architecture in which two structures differ."""
        return [name for name in ARCHITECTURE if getattr(self, name) != getattr(other, name)]


def _names(group: str | None) -> tuple[str, ...]:
    return tuple(each.name for each in fields(Structure) if each.metadata.get("group") == group)


ARCHITECTURE = _names(None)
"""The fields that a person chooses and that decide what a model computes and which weights it has."""
VOCABULARIES = _names("vocabulary")
"""The fields that the tokenizer decides."""
REGULARIZATION = _names("regularization")
"""The fields that matter in training only, and that a run may choose anew."""
FIXED_BY_CHECKPOINT = (*ARCHITECTURE, *VOCABULARIES)
"""The options of ``--model`` that a checkpoint decides."""

TransformerConfig = Structure
