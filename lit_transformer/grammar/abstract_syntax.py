"""The abstract sentence, from which each language makes its own.

An abstract sentence holds meaning and structure only. Order, case, agreement, auxiliaries and elision are the work of
``english.py``, ``german.py`` and ``french.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from lit_transformer.grammar.entries import (
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Adjective,
    Adverbial,
    Conjunction,
    Modal,
    Noun,
    Preposition,
    Pronoun,
    Verb,
)


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
        return {"he": "his", "she": "her"}.get(self.noun.pronoun, "")

    @property
    def indefinite(self) -> bool:
        """Whether it has an indefinite article or none, so that its negation is German kein and French de."""
        return self.determiner in ("a", "bare") and not self.noun.name


Nominal = NounPhrase | Pronoun
NO_ADVERBIAL = Adverbial("", "", "", "")


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
    place: PrepositionalPhrase | Adverbial | None = None
    companion: PrepositionalPhrase | None = None
    time: Adverbial = NO_ADVERBIAL
    fronted: bool = False
    frequency: Adverbial = NO_ADVERBIAL
    modal: Modal | None = None
    negated: bool = False
    predicate: Predicate | None = None
    infinitive: Clause | None = None
    gap: str = ""

    @property
    def negative(self) -> bool:
        """Whether the clause is negated by not or by never."""
        return self.negated or self.frequency.kind == "never"

    @property
    def stated_object(self) -> Nominal | None:
        """The object, unless it is the gap."""
        return None if self.gap == "object" else self.object

    @property
    def stated_recipient(self) -> Nominal | None:
        """The recipient, unless it is the gap."""
        return None if self.gap == "recipient" else self.recipient

    @property
    def first_time(self) -> Adverbial:
        """The expression of time at the beginning."""
        return self.time if self.fronted else NO_ADVERBIAL

    @property
    def later_time(self) -> Adverbial:
        """The expression of time that does not stand at the beginning."""
        return NO_ADVERBIAL if self.fronted else self.time

    @property
    def place_and_companion(self) -> list[PrepositionalPhrase | Adverbial]:
        """Place and companion in the order of English and French: at home with me, but for me at home."""
        if self.companion is None:
            return [] if self.place is None else [self.place]
        if self.place is None:
            return [self.companion]
        first = self.companion.preposition.key == "for"
        return [self.companion, self.place] if first else [self.place, self.companion]


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence of one or two clauses.

    Args:
        main: The main clause.
        question: Empty for a statement, ``yes_no``, ``subject`` (who reads), ``object`` (what, whom, which book),
            ``recipient`` (whom to) or ``adverb``.
        adverb: The question word of an ``adverb`` question: where, when, why.
        conjunction: What joins the second clause.
        second: The second clause.
        second_first: Whether the second clause stands before the main one.
    """

    main: Clause
    question: str = ""
    adverb: Adverbial = NO_ADVERBIAL
    conjunction: Conjunction | None = None
    second: Clause | None = None
    second_first: bool = False

    @property
    def asked(self) -> Nominal | None:
        """The object or recipient that is asked for."""
        return {"object": self.main.object, "recipient": self.main.recipient}.get(self.question)
