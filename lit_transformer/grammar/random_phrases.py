"""Random choices of words that go together: noun phrases, places, companions, times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from lit_transformer.grammar.abstract_syntax import FIRST_AND_SECOND, Nominal, NounPhrase, PrepositionalPhrase
from lit_transformer.grammar.adjectives import ADJECTIVES
from lit_transformer.grammar.entries import Adjective, Noun, Phrase, Preposition, Pronoun, Verb
from lit_transformer.grammar.function_words import GOALS, MODAL_TIMES, PLACES, PREPOSITIONS, PRONOUNS, TIMES
from lit_transformer.grammar.nouns import NAMES, NOUNS
from lit_transformer.grammar.verbs import VERBS

Item = TypeVar("Item")


def _with_class(*names: str) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS.values() if not noun.classes.isdisjoint(names))


PEOPLE = _with_class("human")
RELATIONS = _with_class("relation")
INSIDE = _with_class("inside")
HOMES = _with_class("home")
SURFACES = _with_class("surface")
CONTAINERS = _with_class("container")
POINTS = _with_class("at_an", "at_auf", "at_in")
ARRIVAL = tuple(noun for noun in POINTS if noun.key in ("station", "airport", "school"))
NAMED = tuple(NAMES.values())

SUITABLE: dict[Noun, tuple[Adjective, ...]] = {
    noun: tuple(adjective for adjective in ADJECTIVES.values() if not adjective.classes.isdisjoint(noun.classes))
    for noun in NOUNS.values()
} | {name: tuple(a for a in ADJECTIVES.values() if "human" in a.classes) for name in NAMED}
"""The adjectives that go with a noun."""

THINGS: dict[Verb, tuple[Noun, ...]] = {
    verb: tuple(n for n in NOUNS.values() if "human" not in n.classes and not n.classes.isdisjoint(verb.objects))
    for verb in VERBS.values()
}
"""The nouns, people apart, that can be the object of a verb."""

_ONCE = tuple(phrase for phrase in TIMES["present"] if not phrase.english.startswith("every"))
_AT = {"at_an": PREPOSITIONS["at_an"], "at_auf": PREPOSITIONS["at_auf"], "at_in": PREPOSITIONS["at_in"]}

# Determiner, plural, weight.
_DETERMINERS = (
    (("the", False), 30),
    (("a", False), 20),
    (("own", False), 14),
    (("this", False), 8),
    (("the", True), 8),
    (("bare", True), 8),
    (("this", True), 3),
    (("own", True), 3),
    (("two", True), 1),
    (("three", True), 1),
    (("four", True), 1),
    (("five", True), 1),
    (("many", True), 2),
)
_ANY = tuple(kind for kind, weight in _DETERMINERS for _ in range(weight))
_DEFINITE = tuple(kind for kind in _ANY if kind[0] in ("the", "this", "own"))
_NOT_COUNTED = tuple(kind for kind in _ANY if kind[0] in ("the", "this", "own", "a", "bare"))


class Choices:
    """Draws words from one random stream.

    Only ``random()`` of the generator is used: its values for a seed are the same in every version of Python.

    Args:
        source: The generator of random numbers.
    """

    def __init__(self, source: random.Random) -> None:
        self._random = source.random

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one item, each as likely as the others."""
        return items[int(self._random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self._random() < probability

    def adjective(self, noun: Noun, probability: float) -> Adjective | None:
        """Return an adjective that goes with the noun, or with the other probability none."""
        suitable = SUITABLE[noun]
        return self.pick(suitable) if suitable and self._random() < probability else None

    def several(self, noun: Noun, probability: float) -> bool:
        """Say whether the noun is plural: with this probability, if both numbers are usual."""
        if noun.mass or "single" in noun.classes:
            return False
        return "pair" in noun.classes or self._random() < probability

    def possessive(self, subject: Nominal | None) -> str:
        """Return a possessive: mostly that of the subject, else one of the first and second person."""
        own = subject.possessive if subject is not None else ""
        return own if own and self._random() < 0.75 else self.pick(("my", "your", "our"))

    def person(self, avoid: Nominal | None = None, plural: float = 0.2, pronoun: float = 0.25) -> Nominal:
        """Return somebody who can be a subject.

        Args:
            avoid: Somebody already in the sentence.
            plural: The probability of several people, if it is no name.
            pronoun: The probability of a pronoun of the first or second person.
        """
        if self._random() < pronoun:
            options = [key for key in FIRST_AND_SECOND if not self._overlap(PRONOUNS[key], avoid)]
            return PRONOUNS[self.pick(options)]
        while True:
            if self._random() < 0.4:
                found = NounPhrase(self.pick(NAMED))
            else:
                own = self._random() < 0.25
                noun = self.pick(RELATIONS if own else PEOPLE)
                determiner = self.pick(("my", "your", "our")) if own else "the"
                found = NounPhrase(noun, determiner, self.several(noun, plural), self.adjective(noun, 0.15))
            if not isinstance(avoid, NounPhrase) or avoid.noun is not found.noun:
                return found

    def somebody(self, subject: Nominal, pronouns: Sequence[str], definite: bool, plural: float = 0.2) -> Nominal:
        """Return somebody who can be an object.

        Args:
            subject: The subject of the same clause.
            pronouns: The keys of the pronouns that may be used.
            definite: Whether an indefinite article is out of place.
            plural: The probability of several people, if it is no name.
        """
        if self._random() < 0.25:
            options = [key for key in pronouns if not self._overlap(PRONOUNS[key], subject)]
            if options:
                return PRONOUNS[self.pick(options)]
        while True:
            roll = self._random()
            if roll < 0.25:
                found = NounPhrase(self.pick(NAMED))
            else:
                noun = self.pick(RELATIONS if roll < 0.5 else PEOPLE)
                indefinite = not definite and roll > 0.88 and noun not in RELATIONS
                determiner = self.possessive(subject) if roll < 0.5 else "a" if indefinite else "the"
                several = not indefinite and self.several(noun, plural)
                found = NounPhrase(noun, determiner, several, self.adjective(noun, 0.2))
            if not isinstance(subject, NounPhrase) or subject.noun is not found.noun:
                return found

    def _overlap(self, pronoun: Pronoun, other: Nominal | None) -> bool:
        """Say whether a pronoun and another nominal name the same person, as I and we do in part."""
        if not isinstance(other, Pronoun):
            return False
        return pronoun.key == other.key or {pronoun.key, other.key} == {"i", "we"}

    def thing(self, noun: Noun, subject: Nominal | None, kinds: str = "any", adjective: float = 0.35) -> NounPhrase:
        """Return a noun phrase about a thing.

        Args:
            noun: The noun.
            subject: Whose it may be.
            kinds: ``any`` determiner, ``definite`` ones, or ``uncounted``: no numbers.
            adjective: The probability of an adjective.
        """
        if noun.mass:
            determiner = "bare" if kinds != "definite" and self._random() < 0.65 else "the"
            return NounPhrase(noun, determiner, False, self.adjective(noun, adjective))
        options = _ANY if kinds == "any" else _DEFINITE if kinds == "definite" else _NOT_COUNTED
        determiner, plural = self.pick(options)
        if "pair" in noun.classes:
            determiner, plural = "bare" if determiner == "a" else determiner, True
        if determiner == "own":
            determiner = "the" if "visited" in noun.classes else self.possessive(subject)
        return NounPhrase(noun, determiner, plural, self.adjective(noun, adjective))

    def _spot(self, preposition: Preposition, noun: Noun, subject: Nominal | None) -> PrepositionalPhrase:
        determiner = self.pick(("the", "the", "the", "the", "a", "this", "own"))
        if determiner == "own":
            determiner = self.possessive(subject)
        return PrepositionalPhrase(preposition, NounPhrase(noun, determiner, False, self.adjective(noun, 0.3)))

    def point(self, nouns: Sequence[Noun] = POINTS, towards: bool = False) -> PrepositionalPhrase:
        """Return at the station, at the market; or to the station."""
        noun = self.pick(nouns)
        preposition = PREPOSITIONS["to"] if towards else next(_AT[name] for name in _AT if name in noun.classes)
        return PrepositionalPhrase(preposition, NounPhrase(noun))

    def home(self, subject: Nominal | None) -> PrepositionalPhrase | Phrase:
        """Return a place where people live."""
        if self._random() < 0.5:
            return self.pick(PLACES[:-1])
        return self._spot(PREPOSITIONS["in"], self.pick(HOMES), subject)

    def place(self, subject: Nominal | None) -> PrepositionalPhrase | Phrase:
        """Return a place where something happens."""
        roll = self._random()
        if roll < 0.35:
            return self.pick(PLACES)
        return self._spot(PREPOSITIONS["in"], self.pick(INSIDE), subject) if roll < 0.8 else self.point()

    def goal(self, verb: Verb, subject: Nominal | None) -> PrepositionalPhrase | Phrase:
        """Return a place where somebody goes; German travels to a city by another verb than to a kitchen."""
        roll = self._random()
        if verb.key == "go far" or (roll < 0.3 and verb.key in ("come", "go back")):
            return self.pick(GOALS)
        if roll < 0.65:
            preposition = PREPOSITIONS["back" if verb.key == "go back" else "into"]
            return self._spot(preposition, self.pick(INSIDE), subject)
        return self.point(towards=True)

    def position(self, subject: Nominal | None, towards: bool, avoid: Noun) -> PrepositionalPhrase:
        """Return where a thing is, or is put: on the table, in the box."""
        on = self._random() < 0.6
        noun = avoid
        while noun is avoid:
            noun = self.pick(SURFACES if on else CONTAINERS)
        key = ("onto" if towards else "on") if on else "into" if towards else "in"
        return self._spot(PREPOSITIONS[key], noun, subject)

    def time(self, tense: str, modal: bool = False, negated: bool = False) -> Phrase:
        """Return an expression of time that goes with the tense; what is not done is not said to be done every day."""
        if modal:
            return self.pick(MODAL_TIMES)
        return self.pick(_ONCE if negated and tense == "present" else TIMES[tense])
