"""Random clauses: a verb, what it takes, and what may be added."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import (
    NO_ADVERBIAL,
    Clause,
    Nominal,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
)
from lit_transformer.grammar.entries import DATIVE, THIRD_SINGULAR, Noun, Verb
from lit_transformer.grammar.lexicon import BE, MODALS, NOUNS, PREPOSITIONS, PRONOUNS, VERBS, adverbials
from lit_transformer.grammar.random_phrases import (
    ARRIVAL,
    CITIES,
    LOCAL,
    LOCAL_POSSESSIVES,
    SUITABLE,
    THINGS,
    RandomPhrases,
)


def _verbs(*frames: str) -> tuple[Verb, ...]:
    return tuple(verb for verb in VERBS.values() if verb.frame in frames)


TRANSITIVE = _verbs("transitive")
ON_PEOPLE = tuple(verb for verb in TRANSITIVE if "human" in verb.objects)
ON_THINGS = tuple(verb for verb in TRANSITIVE if THINGS[verb] and not verb.german_preposition)
DITRANSITIVE = _verbs("ditransitive")
INTRANSITIVE = _verbs("intransitive")
LOCATED = _verbs("located")
DIRECTED = _verbs("directed")
PLACING = _verbs("placing")

VERBS_ON: dict[Noun, tuple[Verb, ...]] = {
    noun: tuple(verb for verb in ON_THINGS if noun in THINGS[verb] and verb.german_case != DATIVE)
    for noun in NOUNS.values()
}
"""The verbs that can have a thing as their direct object in all three languages."""

GIVEN_BY: dict[Noun, tuple[Verb, ...]] = {
    noun: tuple(verb for verb in DITRANSITIVE if noun in THINGS[verb]) for noun in NOUNS.values()
}
"""The verbs by which a thing goes to somebody."""

_COMMON = TRANSITIVE + tuple(VERBS[key] for key in ("drink", "eat", "order", "read", "buy")) * 2
_FRAMES = (_COMMON,) * 20 + (INTRANSITIVE,) * 6 + (DITRANSITIVE,) * 6 + (DIRECTED,) * 3 + (LOCATED,) * 2 + (PLACING,)
_MODALS = tuple(MODALS.values())
_FREQUENCIES = adverbials("frequency")
(_NEVER,) = adverbials("never")
FREE = (*LOCAL, "he", "they")
"""The pronouns that may be an object where nothing named before could be meant.

They are *him* and *them*, never *her*: German has one word for her and them, French one for to him and to her.
"""


class RandomClauses(RandomPhrases):
    """Draws clauses from one random stream.

    Args:
        source: The generator of random numbers.
    """

    def subject(self) -> Nominal:
        """Return any subject, he, she and they included."""
        if self.chance(0.12):
            return PRONOUNS[self.pick(("he", "she", "they"))]
        return self.person()

    def tense(self) -> str:
        """Return present, past, future or modal."""
        return self.pick(("present",) * 8 + ("past",) * 6 + ("future",) * 3 + ("modal",) * 3)

    def clause(
        self, subject: Nominal, tense: str = "", pronouns: tuple[str, ...] = LOCAL, extras: float = 0.3
    ) -> Clause:
        """Return a clause with a full verb.

        Args:
            subject: Its subject.
            tense: ``present``, ``past``, ``future`` or ``modal``; empty for any.
            pronouns: The pronouns that its objects may be.
            extras: How likely time, place and company are.
        """
        return self.with_verb(self.pick(self.pick(_FRAMES)), subject, tense or self.tense(), pronouns, extras)

    def with_verb(
        self, verb: Verb, subject: Nominal, tense: str, pronouns: tuple[str, ...] = LOCAL, extras: float = 0.3
    ) -> Clause:
        """Return a clause with a given verb; arguments as for ``clause``."""
        if verb.stative:
            tense = "present"
        clause = Clause(subject, verb, "present" if tense == "modal" else tense)
        if tense == "modal":
            clause.modal = self.pick(_MODALS)
        self._negate(clause)
        self._take(clause, pronouns)
        if not verb.stative:
            self._add(clause, extras)
        elif verb.frame == "located" and self.chance(extras / 3):
            clause.companion = PrepositionalPhrase(PREPOSITIONS["with"], self.somebody(subject, LOCAL, True, 0.1))
        return self.settled(clause)

    def settled(self, clause: Clause) -> Clause:
        """Make a past that looks like a present (I read) a present, unless something tells them apart."""
        ambiguous = clause.verb.english[0] == clause.verb.english[2] and clause.subject.person != THIRD_SINGULAR
        if clause.tense == "past" and ambiguous and not clause.negated:
            clause.tense, clause.time = "present", NO_ADVERBIAL
        return clause

    def _negate(self, clause: Clause) -> None:
        must = clause.modal is not None and clause.modal.key == "must"
        if not must and self.chance(0.14):
            clause.negated = True
        elif clause.modal is None and not clause.verb.stative and clause.tense != "future" and self.chance(0.13):
            if self.chance(0.3):
                clause.frequency = _NEVER
            elif clause.tense == "present":
                clause.frequency = self.pick(_FREQUENCIES)

    def _take(self, clause: Clause, pronouns: tuple[str, ...]) -> None:
        """Give the verb what it cannot stand without."""
        verb, subject = clause.verb, clause.subject
        if verb.frame == "located":
            clause.place = self.home(subject) if verb.stative else self.place(subject)
        elif verb.frame == "directed":
            clause.place = self.goal(verb, subject)
        elif verb.frame in ("transitive", "ditransitive", "placing"):
            clause.object = self.object_of(clause, pronouns)
        if verb.frame == "ditransitive":
            clause.recipient = self.somebody(subject, pronouns, True, 0.15)
        if verb.frame == "placing" and isinstance(clause.object, NounPhrase):
            clause.place = self.position(subject, True, clause.object.noun)

    def object_of(self, clause: Clause, pronouns: tuple[str, ...]) -> Nominal:
        """Return an object for the verb of the clause."""
        verb = clause.verb
        case_needs_definite = bool(verb.german_preposition) or verb.german_case == DATIVE
        definite = verb.stative or (clause.negative and case_needs_definite)
        things = THINGS[verb]
        if "human" in verb.objects and (not things or self.chance(0.55)):
            return self.somebody(clause.subject, pronouns, definite or clause.negative)
        kinds = "definite" if definite else "uncounted" if clause.negative or case_needs_definite else "any"
        return self.thing(self.pick(things), clause.subject, kinds, 0.0 if "creation" in verb.traits else 0.35)

    def _add(self, clause: Clause, extras: float) -> None:
        """Add what the verb could do without: place, company, time."""
        verb = clause.verb
        if clause.place is None and self.chance(extras):
            if "place" in verb.traits:
                clause.place = self.place(clause.subject)
            elif verb.key == "arrive":
                clause.place = self.point(ARRIVAL) if self.chance(0.5) else self.pick(CITIES)
        if verb.companions and not clause.negated and self.chance(extras):
            preposition = self.pick(verb.companions)
            clause.companion = PrepositionalPhrase(preposition, self.somebody(clause.subject, LOCAL, True, 0.15))
        if not clause.frequency.kind and self.chance(extras):
            clause.time = self.time(clause.tense, clause.modal is not None, clause.negated)
            clause.fronted = self.chance(0.5)

    def feeling(self, subject: Nominal, tense: str) -> Clause:
        """Return a clause that says how a person or thing is."""
        noun = subject.noun if isinstance(subject, NounPhrase) else NOUNS["man"]
        adjective = self.pick(SUITABLE[noun])
        degree = self.pick(adjective.degrees)
        clause = Clause(subject, BE, "past" if tense == "past" else "present", predicate=Predicate(adjective, degree))
        clause.negated = not degree and self.chance(0.2)
        return clause

    def lying(self) -> Sentence:
        """Return a sentence that says where a thing is."""
        noun = self.pick(THINGS[PLACING[0]])
        subject = NounPhrase(noun, self.pick(("the", "the", "this", *LOCAL_POSSESSIVES)), self.several(noun, 0.25))
        subject.adjective = self.adjective(noun, 0.4)
        clause = Clause(subject, BE, self.pick(("present", "past")), negated=self.chance(0.15))
        clause.place = self.position(None, False, noun)
        return Sentence(clause)
