"""Random noun phrases, places and times whose words go together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from lit_transformer.grammar.abstract_syntax import Nominal, NounPhrase, PrepositionalPhrase
from lit_transformer.grammar.entries import Adjective, Adverbial, Noun, Pronoun, Verb
from lit_transformer.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, PREPOSITIONS, PRONOUNS, VERBS, adverbials

Item = TypeVar("Item")


def with_class(*names: str) -> tuple[Noun, ...]:
    """Return the nouns of at least one of some classes."""
    return tuple(noun for noun in NOUNS.values() if not noun.classes.isdisjoint(names))


LOCAL = ("i", "you", "we")
"""The pronouns of the first and second person."""

LOCAL_POSSESSIVES = ("my", "your", "our")

PEOPLE = with_class("human")
RELATIONS = with_class("relation")
_NAMED = tuple(NAMES.values())
_INSIDE = with_class("inside")
_HOMES = with_class("home")
_SURFACES = with_class("surface")
_CONTAINERS = with_class("container")
_AT = ("at_an", "at_auf", "at_in")
_POINTS = with_class(*_AT)
ARRIVAL = tuple(noun for noun in _POINTS if noun.key in ("station", "airport", "school"))

CITIES = adverbials("in_city")
_AWAY = adverbials("in_city", "in_country")
_PLACES = (*_AWAY, *adverbials("at_home"))
_GOALS = adverbials("goal")
_TIMES = {tense: adverbials(tense) for tense in ("past", "present", "future")}
_MODAL_TIMES = (_TIMES["present"][0], *_TIMES["future"])
_ONCE = tuple(time for time in _TIMES["present"] if not time.english.startswith("every"))

SUITABLE: dict[Noun, tuple[Adjective, ...]] = {
    noun: tuple(adjective for adjective in ADJECTIVES.values() if not adjective.classes.isdisjoint(noun.classes))
    for noun in (*NOUNS.values(), *NAMES.values())
}
"""The adjectives that go with a noun."""

THINGS: dict[Verb, tuple[Noun, ...]] = {
    verb: tuple(n for n in NOUNS.values() if "human" not in n.classes and not n.classes.isdisjoint(verb.objects))
    for verb in VERBS.values()
}
"""The nouns, people apart, that can be the object of a verb."""

# How often a determiner is drawn.
_SINGULAR_WEIGHTS = {"the": 30, "a": 20, "own": 14, "this": 8}
_PLURAL_WEIGHTS = {"the": 8, "bare": 8, "this": 3, "own": 3, "two": 1, "three": 1, "four": 1, "five": 1, "many": 2}
_ANY = tuple(
    (determiner, plural)
    for plural, weights in ((False, _SINGULAR_WEIGHTS), (True, _PLURAL_WEIGHTS))
    for determiner, weight in weights.items()
    for _ in range(weight)
)
_DETERMINERS = {
    "any": _ANY,
    "definite": tuple(kind for kind in _ANY if kind[0] in ("the", "this", "own")),
    "uncounted": tuple(kind for kind in _ANY if kind[0] in ("the", "this", "own", "a", "bare")),
}


def _overlap(pronoun: Pronoun, other: Nominal | None) -> bool:
    """Return whether a pronoun and another nominal name the same person, as I and we do in part."""
    if not isinstance(other, Pronoun):
        return False
    return pronoun.key == other.key or {pronoun.key, other.key} == {"i", "we"}


class RandomPhrases:
    """Draws phrases from one random stream.

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
        """Return with this probability an adjective that goes with the noun, else none."""
        suitable = SUITABLE[noun]
        return self.pick(suitable) if suitable and self.chance(probability) else None

    def several(self, noun: Noun, probability: float) -> bool:
        """Return whether the noun is plural: with this probability, if both numbers are usual."""
        if noun.number in ("mass", "singular"):
            return False
        return noun.number == "plural" or self.chance(probability)

    def possessive(self, subject: Nominal | None) -> str:
        """Return a possessive: mostly that of the subject, else one of the first and second person."""
        own = subject.possessive if subject is not None else ""
        return own if own and self.chance(0.75) else self.pick(LOCAL_POSSESSIVES)

    def _another(self, known: Nominal | None, draw: Callable[[], NounPhrase]) -> NounPhrase:
        """Draw noun phrases until one has another noun than that of ``known``."""
        while True:
            drawn = draw()
            if not isinstance(known, NounPhrase) or known.noun is not drawn.noun:
                return drawn

    def person(self, avoid: Nominal | None = None, plural: float = 0.2, pronoun: float = 0.25) -> Nominal:
        """Return somebody who can be a subject.

        Args:
            avoid: Somebody already in the sentence.
            plural: The probability of several people, unless a name is drawn.
            pronoun: The probability of a pronoun of the first or second person.
        """

        def draw() -> NounPhrase:
            if self.chance(0.4):
                return NounPhrase(self.pick(_NAMED))
            own = self.chance(0.25)
            noun = self.pick(RELATIONS if own else PEOPLE)
            determiner = self.pick(LOCAL_POSSESSIVES) if own else "the"
            return NounPhrase(noun, determiner, self.several(noun, plural), self.adjective(noun, 0.15))

        if self.chance(pronoun):
            return PRONOUNS[self.pick([key for key in LOCAL if not _overlap(PRONOUNS[key], avoid)])]
        return self._another(avoid, draw)

    def somebody(self, subject: Nominal, pronouns: Sequence[str], definite: bool, plural: float = 0.2) -> Nominal:
        """Return somebody who can be an object.

        Args:
            subject: The subject of the same clause.
            pronouns: The keys of the pronouns that may be used.
            definite: Whether an indefinite article is out of place.
            plural: The probability of several people, unless a name is drawn.
        """

        def draw() -> NounPhrase:
            roll = self._random()
            if roll < 0.25:
                return NounPhrase(self.pick(_NAMED))
            noun = self.pick(RELATIONS if roll < 0.5 else PEOPLE)
            indefinite = not definite and roll > 0.88 and noun not in RELATIONS
            determiner = self.possessive(subject) if roll < 0.5 else "a" if indefinite else "the"
            several = not indefinite and self.several(noun, plural)
            return NounPhrase(noun, determiner, several, self.adjective(noun, 0.2))

        if self.chance(0.25):
            options = [key for key in pronouns if not _overlap(PRONOUNS[key], subject)]
            if options:
                return PRONOUNS[self.pick(options)]
        return self._another(subject, draw)

    def thing(self, noun: Noun, subject: Nominal | None, kinds: str = "any", adjective: float = 0.35) -> NounPhrase:
        """Return a noun phrase about a thing.

        Args:
            noun: The noun.
            subject: Whose it may be.
            kinds: ``any`` determiner, ``definite`` ones, or ``uncounted``: no numbers.
            adjective: The probability of an adjective.
        """
        if noun.mass:
            determiner = "bare" if kinds != "definite" and self.chance(0.65) else "the"
            return NounPhrase(noun, determiner, False, self.adjective(noun, adjective))
        determiner, plural = self.pick(_DETERMINERS[kinds])
        if noun.number == "plural":
            determiner, plural = "bare" if determiner == "a" else determiner, True
        if determiner == "own":
            determiner = "the" if "visited" in noun.classes else self.possessive(subject)
        return NounPhrase(noun, determiner, plural, self.adjective(noun, adjective))

    def _spot(self, preposition: str, noun: Noun, subject: Nominal | None) -> PrepositionalPhrase:
        determiner = self.pick(("the", "the", "the", "the", "a", "this", "own"))
        if determiner == "own":
            determiner = self.possessive(subject)
        phrase = NounPhrase(noun, determiner, False, self.adjective(noun, 0.3))
        return PrepositionalPhrase(PREPOSITIONS[preposition], phrase)

    def point(self, nouns: Sequence[Noun] = _POINTS, towards: bool = False) -> PrepositionalPhrase:
        """Return a phrase such as *at the station* or, with ``towards``, *to the station*."""
        noun = self.pick(nouns)
        preposition = "to" if towards else next(name for name in _AT if name in noun.classes)
        return PrepositionalPhrase(PREPOSITIONS[preposition], NounPhrase(noun))

    def home(self, subject: Nominal | None) -> PrepositionalPhrase | Adverbial:
        """Return a place where people live."""
        return self.pick(_AWAY) if self.chance(0.5) else self._spot("in", self.pick(_HOMES), subject)

    def place(self, subject: Nominal | None) -> PrepositionalPhrase | Adverbial:
        """Return a place where something happens."""
        roll = self._random()
        if roll < 0.35:
            return self.pick(_PLACES)
        return self._spot("in", self.pick(_INSIDE), subject) if roll < 0.8 else self.point()

    def goal(self, verb: Verb, subject: Nominal | None) -> PrepositionalPhrase | Adverbial:
        """Return a place where somebody goes; German travels to a city by another verb than to a kitchen."""
        roll = self._random()
        if verb.key == "go far" or (roll < 0.3 and verb.key in ("come", "go back")):
            return self.pick(_GOALS)
        if roll < 0.65:
            return self._spot("back" if verb.key == "go back" else "into", self.pick(_INSIDE), subject)
        return self.point(towards=True)

    def position(self, subject: Nominal | None, towards: bool, avoid: Noun) -> PrepositionalPhrase:
        """Return where a thing is, or is put: on the table, in the box."""
        on = self.chance(0.6)
        noun = avoid
        while noun is avoid:
            noun = self.pick(_SURFACES if on else _CONTAINERS)
        return self._spot(("on" if on else "in") + ("to" if towards else ""), noun, subject)

    def time(self, tense: str, modal: bool = False, negated: bool = False) -> Adverbial:
        """Return an expression of time that goes with the tense, but not *every day* for what is not done."""
        if modal:
            return self.pick(_MODAL_TIMES)
        return self.pick(_ONCE if negated and tense == "present" else _TIMES[tense])
