"""The structure of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lit_transformer.components import KINDS, component_ids, kind_of, select
from lit_transformer.errors import UserError

STRUCTURE = (
    "encoder_layers",
    "decoder_layers",
    "d_model",
    "feed_forward",
    "heads",
    "norm",
    "tie_embeddings",
    "source_vocab_size",
    "target_vocab_size",
    "pruned",
    "feed_forward_sizes",
    "attention",
)
"""The options of ``--model`` that a checkpoint decides."""


ATTENTION_KINDS = tuple(kind for kind in KINDS if not kind.endswith("ff"))
DEFAULT_ATTENTION = "dot_product"


@dataclass(frozen=True)
class Structure:
    """The structure of a model; method.md 1.9 says which of these values are the paper's.

    Args:
        source_vocab_size: Number of source pieces, special ones included.
        target_vocab_size: Number of target pieces, special ones included.
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

    source_vocab_size: int
    target_vocab_size: int
    encoder_layers: int = 6
    decoder_layers: int = 6
    d_model: int = 512
    feed_forward: int = 2048
    heads: int = 8
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    norm: Literal["post", "pre"] = "post"
    tie_embeddings: Literal["all", "target", "none"] = "all"
    pruned: tuple[str, ...] = ()
    feed_forward_sizes: Mapping[str, int] = field(default_factory=dict)
    layer_drop: Mapping[str, float] = field(default_factory=dict)
    attention: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have.

        Raises:
            UserError: A size or a probability is out of range, the vocabularies can't be tied, there is no such
                component to be pruned, or no source-target attention would be left.
        """
        sizes = ("encoder_layers", "decoder_layers", "d_model", "feed_forward", "heads")
        for name in sizes:
            if getattr(self, name) < 1:
                raise UserError(f"--model.{name} is {getattr(self, name)!r}; give a whole number from 1 up.")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"--model.{name} is {getattr(self, name)!r}; give a probability from 0 to below 1.")
        if self.d_model % self.heads:
            raise UserError(f"--model.heads {self.heads} does not divide --model.d_model {self.d_model}.")
        if self.tie_embeddings == "all" and self.source_vocab_size != self.target_vocab_size:
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

    def attention_of(self, kind: str) -> str:
        """Return the name of the attention of a kind of component, such as ``d:sa``."""
        return self.attention.get(kind, DEFAULT_ATTENTION)


TransformerConfig = Structure
