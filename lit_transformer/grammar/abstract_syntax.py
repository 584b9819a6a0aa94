"""The abstract sentence, from which each language makes its own.

An abstract sentence knows meaning and structure only. Order, case, agreement, auxiliaries and elision are made by
``english.py``, ``german.py`` and ``french.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from lit_transformer.grammar.entries import (
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Adjective,
    Link,
    Modal,
    Noun,
    Phrase,
    Preposition,
    Pronoun,
    Verb,
)
from lit_transformer.grammar.function_words import third_person

FIRST_AND_SECOND = ("i", "you", "we")


@dataclass(slots=True, eq=False)
class NounPhrase:
    """A noun phrase of the third person.

    Args:
        noun: The noun or name.
        determiner: ``the``, ``a``, ``bare`` (books, water), ``this``, ``which``, a possessive (``my`` ... ``their``),
            a number word or ``many``; without meaning for a name.
        plural: Whether it is plural.
        adjective: The attributive adjective.
        relative: A relative clause whose ``gap`` says what the noun is in it.
    """

    noun: Noun
    determiner: str = "the"
    plural: bool = False
    adjective: Adjective | None = None
    relative: Clause | None = None

    @property
    def person(self) -> int:
        """The person that verbs agree with."""
        return THIRD_PLURAL if self.plural else THIRD_SINGULAR

    @property
    def french_gender(self) -> str:
        """The gender that French participles and adjectives agree with."""
        return self.noun.french_gender

    @property
    def possessive(self) -> str:
        """The possessive that refers to it, or the empty string where English has no settled one."""
        if self.plural:
            return "their"
        return {"m": "his", "f": "her"}.get(self.noun.natural, "")


Nominal = NounPhrase | Pronoun


@dataclass(slots=True, eq=False)
class PrepositionalPhrase:
    """A preposition with its noun phrase or pronoun."""

    preposition: Preposition
    nominal: Nominal


@dataclass(slots=True, eq=False)
class Predicate:
    """What the copula says: an adjective with a degree, or compared (older than ``than``)."""

    adjective: Adjective
    degree: str = ""
    than: NounPhrase | None = None


@dataclass(slots=True, eq=False)
class Clause:
    """A clause.

    Args:
        subject: The subject.
        verb: The full verb or the copula.
        tense: ``present``, ``past`` or ``future``; a clause with a modal is present.
        object: The object of the verb, direct or as the verb governs it.
        recipient: To whom something is given.
        place: Where or where to.
        companion: With, without or for whom.
        time: When.
        fronted: Whether the time stands at the beginning.
        frequency: How often; ``never`` negates.
        modal: The modal verb.
        negated: Whether the clause is negated (without ``never``).
        predicate: The predicate of the copula.
        infinitive: The infinitive clause that the verb takes; its subject is this one's.
        gap: What is missing, because it stands before the clause as a relative pronoun or a question word:
            ``subject``, ``object`` or ``recipient``. The noun phrase itself stays in its field.
    """

    subject: Nominal
    verb: Verb
    tense: str = "present"
    object: Nominal | None = None
    recipient: Nominal | None = None
    place: PrepositionalPhrase | Phrase | None = None
    companion: PrepositionalPhrase | None = None
    time: Phrase | None = None
    fronted: bool = False
    frequency: Phrase | None = None
    modal: Modal | None = None
    negated: bool = False
    predicate: Predicate | None = None
    infinitive: Clause | None = None
    gap: str = ""


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence of one or two clauses.

    Args:
        main: The main clause.
        question: Empty for a statement, ``yes_no``, ``subject`` (who reads), ``object`` (what, whom, which book),
            ``recipient`` (whom to) or ``adverb``.
        adverb: The question word of an ``adverb`` question: where, when, why.
        link: What joins the second clause.
        second: The second clause.
        second_first: Whether the second clause stands before the main one.
    """

    main: Clause
    question: str = ""
    adverb: Phrase | None = None
    link: Link | None = None
    second: Clause | None = None
    second_first: bool = False


def refer_to(nominal: Nominal) -> Pronoun:
    """Return the pronoun that stands for ``nominal`` once it has been named.

    Args:
        nominal: A pronoun (returned as it is) or a noun phrase, whose gender decides in each language.
    """
    if isinstance(nominal, Pronoun):
        return nominal
    noun = nominal.noun
    return third_person(noun.natural, noun.german_gender, noun.french_gender, nominal.plural)
