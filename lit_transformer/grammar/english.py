"""English from an abstract sentence."""

from __future__ import annotations

from functools import lru_cache

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, PrepositionalPhrase, Sentence
from lit_transformer.grammar.entries import THIRD_SINGULAR, Adjective, Noun, Phrase, Pronoun
from lit_transformer.grammar.function_words import DEGREES

_BE_PRESENT = ("am", "are", "is", "are", "are")
_BE_PAST = ("was", "were", "was", "were", "were")


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None) -> str:
    """Put a noun phrase without its relative clause into words."""
    if noun.name:
        return noun.key
    words = noun.english[plural]
    if adjective is not None:
        words = f"{adjective.english[0]} {words}"
    if determiner == "bare":
        return words
    if determiner == "a":
        return ("an " if words[0] in "aeiou" else "a ") + words
    if determiner == "this" and plural:
        determiner = "these"
    return f"{determiner} {words}"


def noun_phrase(nominal: Nominal, object_form: bool = True) -> str:
    """Put a noun phrase or pronoun into words.

    Args:
        nominal: The noun phrase or pronoun.
        object_form: Whether it is an object (me) and not a subject (I).
    """
    if isinstance(nominal, Pronoun):
        return nominal.english[object_form]
    words = _core(nominal.noun, nominal.determiner, nominal.plural, nominal.adjective)
    if nominal.relative is not None:
        words = f"{words} {_relative(nominal, nominal.relative)}"
    return words


def _relative(head: NounPhrase, clause: Clause) -> str:
    human = "human" in head.noun.classes
    if clause.gap == "subject":
        return f"{'who' if human else 'that'} {_predication(clause)}"
    pronoun = "whom" if human else "that"
    return f"{pronoun} {noun_phrase(clause.subject, False)} {_predication(clause)}"


def _place(place: PrepositionalPhrase | Phrase) -> str:
    if isinstance(place, Phrase):
        return place.english
    return f"{place.preposition.english} {noun_phrase(place.nominal)}"


def _auxiliary(clause: Clause, emphatic: bool) -> tuple[str, str]:
    """Return auxiliary (or the empty string) and full verb; ``emphatic`` asks for an auxiliary in any case."""
    person, verb = clause.subject.person, clause.verb
    third = person == THIRD_SINGULAR
    modal = clause.modal
    if modal is not None and not modal.english_to:
        return modal.english[0], verb.english[0]
    if clause.tense == "future":
        return "will", verb.english[0]
    if verb.frame == "copula":
        return (_BE_PAST if clause.tense == "past" else _BE_PRESENT)[person], ""
    want = "" if modal is None else modal.english[third]
    if emphatic:
        do = "did" if clause.tense == "past" else "does" if third else "do"
        return do, f"want to {verb.english[0]}" if want else verb.english[0]
    if want:
        return "", f"{want} to {verb.english[0]}"
    return "", verb.english[2 if clause.tense == "past" else 1 if third else 0]


def _complements(clause: Clause) -> list[str]:
    """List what follows the verb, time excluded."""
    verb, words = clause.verb, []
    recipient = clause.recipient if clause.gap != "recipient" else None
    early = verb.english_double and isinstance(recipient, Pronoun) and not isinstance(clause.object, Pronoun)
    if early and recipient is not None:
        words.append(noun_phrase(recipient))
    particle = verb.particle
    if particle and not isinstance(clause.object, Pronoun):
        words.append(particle)
        particle = ""
    if verb.preposition:
        words.append(verb.preposition)
    if clause.object is not None and clause.gap != "object":
        words.append(noun_phrase(clause.object))
    if particle:
        words.append(particle)
    if recipient is not None and not early:
        words.append(f"to {noun_phrase(recipient)}")
    elif clause.gap == "recipient":
        words.append("to")
    if clause.predicate is not None:
        words.append(_predicate(clause))
    around = [clause.place, clause.companion]
    if clause.companion is not None and clause.companion.preposition.key == "for":
        around.reverse()
    words += [_place(phrase) for phrase in around if phrase is not None]
    return words


def _predicate(clause: Clause) -> str:
    predicate = clause.predicate
    assert predicate is not None
    if predicate.than is not None:
        return f"{predicate.adjective.english[1]} than {noun_phrase(predicate.than, False)}"
    degree = DEGREES[predicate.degree].english
    return f"{degree} {predicate.adjective.english[0]}" if degree else predicate.adjective.english[0]


def _infinitive(clause: Clause) -> str:
    return " ".join(["to", clause.verb.english[0], *_complements(clause), *_time(clause)])


def _time(clause: Clause) -> list[str]:
    return [] if clause.time is None or clause.fronted else [clause.time.english]


def _tail(clause: Clause) -> list[str]:
    words = _complements(clause) + _time(clause)
    if clause.infinitive is not None:
        words.append(_infinitive(clause.infinitive))
    return words


def _predication(clause: Clause) -> str:
    """Put everything after the subject into words."""
    auxiliary, verb = _auxiliary(clause, clause.negated)
    words = [auxiliary] if auxiliary else []
    if clause.negated:
        words = ["cannot"] if auxiliary == "can" else [auxiliary, "not"]
    if clause.frequency is not None:
        words.append(clause.frequency.english)
    if verb:
        words.append(verb)
    return " ".join(words + _tail(clause))


def _statement(clause: Clause) -> str:
    words = f"{noun_phrase(clause.subject, False)} {_predication(clause)}"
    return f"{clause.time.english} {words}" if clause.time is not None and clause.fronted else words


def _inverted(clause: Clause) -> str:
    """Put a question into words from its auxiliary on."""
    auxiliary, verb = _auxiliary(clause, True)
    words = [auxiliary, noun_phrase(clause.subject, False)]
    if clause.negated:
        words.append("not")
    if clause.frequency is not None:
        words.append(clause.frequency.english)
    if verb:
        words.append(verb)
    return " ".join(words + _tail(clause))


def _question(sentence: Sentence) -> str:
    clause = sentence.main
    if sentence.question == "yes_no":
        return _inverted(clause)
    if sentence.question == "subject":
        return _statement(clause)
    if sentence.adverb is not None:
        return f"{sentence.adverb.english} {_inverted(clause)}"
    asked = clause.object if sentence.question == "object" else clause.recipient
    assert asked is not None
    return f"{noun_phrase(asked)} {_inverted(clause)}"


def realise(sentence: Sentence) -> str:
    """Put an abstract sentence into English.

    Args:
        sentence: The abstract sentence.

    Returns:
        One sentence with a capital letter and a final mark.
    """
    words = _question(sentence) if sentence.question else _statement(sentence.main)
    link, second = sentence.link, sentence.second
    if link is not None and second is not None:
        other = f"{link.english} {_statement(second)}"
        if sentence.second_first:
            words = f"{other}, {words}"
        else:
            words = f"{words}, {other}" if link.comma else f"{words} {other}"
    return words[0].upper() + words[1:] + ("?" if sentence.question else ".")
