"""The Transformer in plain torch, and the protocol of models whose components can be analysed."""

from lit_transformer.model.attention import ATTENTIONS, Attention, DotProductAttention
from lit_transformer.model.decoder_cache import DecoderCache
from lit_transformer.model.digest import tensors_digest, weights_digest
from lit_transformer.model.embedding import Embedding, sinusoidal_positions
from lit_transformer.model.feed_forward import FeedForward
from lit_transformer.model.function import ComponentFunction
from lit_transformer.model.loss import label_smoothed_loss, teacher_forced_losses
from lit_transformer.model.protocol import AnalysableModel, Component, Decodable, EncoderState, PrefixCache
from lit_transformer.model.seeded import fresh_seed, seeded_transformer
from lit_transformer.model.sublayer import SubLayer
from lit_transformer.model.transformer import Transformer
from lit_transformer.structure import TransformerConfig

__all__ = [
    "ATTENTIONS",
    "AnalysableModel",
    "Attention",
    "Component",
    "ComponentFunction",
    "Decodable",
    "DecoderCache",
    "DotProductAttention",
    "Embedding",
    "EncoderState",
    "FeedForward",
    "PrefixCache",
    "SubLayer",
    "Transformer",
    "TransformerConfig",
    "fresh_seed",
    "label_smoothed_loss",
    "seeded_transformer",
    "sinusoidal_positions",
    "teacher_forced_losses",
    "tensors_digest",
    "weights_digest",
]
