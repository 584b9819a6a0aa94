"""Greedy and beam search over any model that speaks the protocol in `lit_transformer.decoding.protocol`."""

from lit_transformer.decoding.decode import decode, in_precision, source_lengths
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.plain import Decoded, PlainDecoder
from lit_transformer.decoding.protocol import BOS, EOS, PAD, UNK, Decodable, Verifiable
from lit_transformer.decoding.reference import Reference
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.started import StartedDecoding
from lit_transformer.decoding.trace import Trace
from lit_transformer.decoding.translate import translate
from lit_transformer.decoding.verified import VerifiedDecoder

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Decodable",
    "Decoded",
    "DecodingSettings",
    "Hypotheses",
    "PlainDecoder",
    "Reference",
    "StartedDecoding",
    "Trace",
    "Verifiable",
    "VerifiedDecoder",
    "decode",
    "in_precision",
    "source_lengths",
    "translate",
]
