"""Realise an abstract sentence in English."""

from __future__ import annotations

from functools import lru_cache

from lit_transformer.grammar.abstract_syntax import (
    Clause,
    Nominal,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
)
from lit_transformer.grammar.entries import THIRD_SINGULAR, Adjective, Adverbial, Noun, Pronoun
from lit_transformer.grammar.realisation import punctuated, two_clauses, words

_BE_PRESENT = ("am", "are", "is", "are", "are")
_BE_PAST = ("was", "were", "was", "were", "were")


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None) -> str:
    """Realise a noun phrase without its relative clause."""
    if noun.name:
        return noun.key
    text = words(adjective.english[0] if adjective is not None else "", noun.english[plural])
    if determiner == "bare":
        return text
    if determiner == "a" and text[0] in "aeiou":
        determiner = "an"
    if determiner == "this" and plural:
        determiner = "these"
    return f"{determiner} {text}"


def noun_phrase(nominal: Nominal | None, object_form: bool = True) -> str:
    """Realise a noun phrase or pronoun.

    Args:
        nominal: The noun phrase or pronoun; None gives the empty string.
        object_form: Whether it is an object (me) and not a subject (I).
    """
    if nominal is None:
        return ""
    if isinstance(nominal, Pronoun):
        return nominal.english[object_form]
    text = _core(nominal.noun, nominal.determiner, nominal.plural, nominal.adjective)
    return text if nominal.relative is None else f"{text} {_relative(nominal, nominal.relative)}"


def _relative(head: NounPhrase, clause: Clause) -> str:
    human = "human" in head.noun.classes
    if clause.gap == "subject":
        return words("who" if human else "that", *_predication(clause))
    return words("whom" if human else "that", noun_phrase(clause.subject, False), *_predication(clause))


def _place(place: PrepositionalPhrase | Adverbial) -> str:
    if isinstance(place, Adverbial):
        return place.english
    return f"{place.preposition.english} {noun_phrase(place.nominal)}"


def _predicate(predicate: Predicate) -> str:
    positive, comparative = predicate.adjective.english
    if predicate.than is not None:
        return f"{comparative} than {noun_phrase(predicate.than, False)}"
    return words(predicate.degree, positive)


def _auxiliary(clause: Clause, needed: bool) -> tuple[str, str]:
    """Return the auxiliary (or the empty string) and the full verb, with do where an auxiliary is ``needed``."""
    person, verb, modal = clause.subject.person, clause.verb, clause.modal
    third, past = person == THIRD_SINGULAR, clause.tense == "past"
    base = verb.english[0]
    if modal is not None and not modal.english[0].endswith(" to"):
        return modal.english[0], base
    if clause.tense == "future":
        return "will", base
    if verb.frame == "copula":
        return (_BE_PAST if past else _BE_PRESENT)[person], ""
    if needed:
        do = "did" if past else "does" if third else "do"
        return do, f"{modal.english[0]} {base}" if modal is not None else base
    if modal is not None:
        return "", f"{modal.english[third]} {base}"
    return "", verb.english[2 if past else 1 if third else 0]


def _complements(clause: Clause) -> list[str]:
    """List what follows the verb; some parts are empty."""
    verb, inner = clause.verb, clause.infinitive
    pronoun_object = isinstance(clause.object, Pronoun)
    recipient, to_recipient = noun_phrase(clause.stated_recipient), ""
    if clause.gap == "recipient":
        to_recipient = "to"
    elif recipient and (pronoun_object or isinstance(clause.recipient, NounPhrase) or "to_only" in verb.traits):
        recipient, to_recipient = "", f"to {recipient}"
    return [
        recipient,
        "" if pronoun_object else verb.particle,
        verb.preposition,
        noun_phrase(clause.stated_object),
        verb.particle if pronoun_object else "",
        to_recipient,
        _predicate(clause.predicate) if clause.predicate is not None else "",
        *map(_place, clause.place_and_companion),
        clause.later_time.english,
        *(("to", inner.verb.english[0], *_complements(inner)) if inner is not None else ()),
    ]


def _predication(clause: Clause, inverted: bool = False) -> list[str]:
    """List everything after the subject, or with ``inverted`` from the auxiliary on; some parts are empty."""
    auxiliary, verb = _auxiliary(clause, inverted or clause.negated)
    start = [auxiliary, noun_phrase(clause.subject, False)] if inverted else [auxiliary]
    if clause.negated:
        start = ["cannot"] if start == ["can"] else [*start, "not"]
    return [*start, clause.frequency.english, verb, *_complements(clause)]


def _statement(clause: Clause) -> str:
    return words(clause.first_time.english, noun_phrase(clause.subject, False), *_predication(clause))


def _question(sentence: Sentence) -> str:
    if sentence.question == "subject":
        return _statement(sentence.main)
    return words(sentence.adverb.english, noun_phrase(sentence.asked), *_predication(sentence.main, inverted=True))


def realise(sentence: Sentence) -> str:
    """Return an abstract sentence in English, with a capital letter and a final mark."""
    text = _question(sentence) if sentence.question else _statement(sentence.main)
    conjunction = sentence.conjunction
    if conjunction is not None and sentence.second is not None:
        second = f"{conjunction.english} {_statement(sentence.second)}"
        text = two_clauses(sentence, text, second, conjunction.english_comma)
    return punctuated(text, "?" if sentence.question else ".")
