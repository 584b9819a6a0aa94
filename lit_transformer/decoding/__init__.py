"""Greedy and beam search over any model with the protocol in `lit_transformer.decoding.protocol`."""

from lit_transformer.decoding.corpus_decoder import CorpusDecoder
from lit_transformer.decoding.decode import decode, in_precision, source_lengths
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.protocol import BOS, EOS, PAD, UNK, Decodable
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.translate import translate

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "CorpusDecoder",
    "Decodable",
    "DecodingSettings",
    "Hypotheses",
    "decode",
    "in_precision",
    "source_lengths",
    "translate",
]
