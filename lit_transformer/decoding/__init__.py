"""Greedy and beam search over any model with the protocol in `lit_transformer.model.protocol`."""

from lit_transformer.decoding.corpus_decoder import CorpusDecoder
from lit_transformer.decoding.decode import decode, in_precision, source_lengths
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.translate import translate

__all__ = [
    "CorpusDecoder",
    "DecodingSettings",
    "Hypotheses",
    "decode",
    "in_precision",
    "source_lengths",
    "translate",
]
