"""A synchronous grammar that makes sentences in English, German and French at once.

The corpus is synthetic: it is there so that the whole path from text to scores can be tried in minutes.
"""

from __future__ import annotations

from lit_transformer.grammar.corpus import LANGUAGES, LARGEST, GrammarPair, generate
from lit_transformer.grammar.phenomena import PHENOMENA

__all__ = ["LANGUAGES", "LARGEST", "PHENOMENA", "GrammarPair", "generate"]
