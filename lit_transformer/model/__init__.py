"""The Transformer, in plain torch."""

from lit_transformer.model.attention import Attention, KeyValues
from lit_transformer.model.decoder_cache import DecoderCache, EncoderState
from lit_transformer.model.digest import tensors_digest, weights_digest
from lit_transformer.model.embedding import Embedding, sinusoidal_positions
from lit_transformer.model.loss import label_smoothed_loss, teacher_forced_losses
from lit_transformer.model.seeded import fresh_seed, seeded_transformer
from lit_transformer.model.sublayer import FeedForward, SubLayer
from lit_transformer.model.transformer import Transformer
from lit_transformer.structure import TransformerConfig

__all__ = [
    "Attention",
    "DecoderCache",
    "Embedding",
    "EncoderState",
    "FeedForward",
    "KeyValues",
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
