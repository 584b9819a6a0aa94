"""A synchronous grammar that generates the same sentences in English, German and French.

The corpus is synthetic: with it, the whole path from text to scores can be tried in minutes.
"""

from __future__ import annotations

from lit_transformer.grammar.corpus import LANGUAGES, LARGEST, GrammarPair, generate
from lit_transformer.grammar.phenomena import PHENOMENA

__all__ = ["LANGUAGES", "LARGEST", "PHENOMENA", "GrammarPair", "generate"]
