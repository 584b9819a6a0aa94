"""Build sentences from realised parts: what English, German and French share."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import Sentence


def words(*parts: str) -> str:
    """Join the parts that are not empty with spaces."""
    return " ".join(filter(None, parts))


def two_clauses(sentence: Sentence, main: str, second: str, comma: bool) -> str:
    """Join two realised clauses in English and French order.

    Args:
        sentence: The abstract sentence.
        main: The main clause.
        second: The second clause with its conjunction.
        comma: Whether a comma stands before the conjunction.
    """
    if sentence.second_first:
        return f"{second}, {main}"
    return f"{main}, {second}" if comma else f"{main} {second}"


def punctuated(text: str, mark: str) -> str:
    """Return a sentence with a capital letter and its final mark."""
    return text[0].upper() + text[1:] + mark
