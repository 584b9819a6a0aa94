"""Random clauses: a verb, what it takes, and what may be added."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import FIRST_AND_SECOND, Clause, Nominal, NounPhrase, Predicate, Sentence
from lit_transformer.grammar.abstract_syntax import PrepositionalPhrase as Phrase
from lit_transformer.grammar.entries import DATIVE, THIRD_SINGULAR, Noun, Verb
from lit_transformer.grammar.function_words import FREQUENCIES, NEVER, PLACES, PREPOSITIONS, PRONOUNS
from lit_transformer.grammar.nouns import NOUNS
from lit_transformer.grammar.random_phrases import ARRIVAL, SUITABLE, THINGS, Choices
from lit_transformer.grammar.verbs import BE, MODALS, VERBS


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

_WITH, _WITHOUT, _FOR = (PREPOSITIONS[key] for key in ("with", "without", "for"))
_COMPANY = {
    "work": (_WITH, _WITHOUT, _FOR),
    "dance": (_WITH, _WITHOUT, _FOR),
    "play": (_WITH, _WITHOUT),
    "laugh": (_WITH,),
    "cook": (_WITH, _FOR),
    "swim": (_WITH,),
    "travel": (_WITH, _WITHOUT),
    "arrive": (_WITH, _WITHOUT),
    "leave": (_WITH, _WITHOUT),
    "come back": (_WITH, _WITHOUT),
    "go out": (_WITH, _WITHOUT),
    "live": (_WITH,),
    "go": (_WITH, _WITHOUT),
    "buy": (_FOR,),
    "order": (_FOR,),
    "sing": (_FOR, _WITH),
    "repair": (_FOR,),
    "choose": (_FOR,),
}
_PLACED = frozenset(
    [
        "work",
        "sleep",
        "dance",
        "play",
        "laugh",
        "cry",
        "cook",
        "read",
        "write",
        "eat",
        "drink",
        "draw",
        "buy",
        "meet",
        "find",
        "lose",
        "see",
        "photograph",
        "sing",
        "learn",
        "translate",
        "sell",
    ]
)
_COMMON = TRANSITIVE + tuple(VERBS[key] for key in ("drink", "eat", "order", "read", "buy")) * 2
_FRAMES = (_COMMON,) * 20 + (INTRANSITIVE,) * 6 + (DITRANSITIVE,) * 6 + (DIRECTED,) * 3 + (LOCATED,) * 2 + (PLACING,)
CREATING = frozenset(("build", "write"))
_FREQUENT = tuple(FREQUENCIES.values())
FREE = (*FIRST_AND_SECOND, "he", "they")
LOCAL = FIRST_AND_SECOND


class Clauses(Choices):
    """Makes clauses from one random stream.

    A third-person pronoun is an object only where nothing named before could be meant (``FREE``), and then him or
    them, never her: German has one word for her and them, French one for to him and to her.

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
            clause.modal = self.pick(tuple(MODALS.values()))
        self._negate(clause)
        self._take(clause, pronouns)
        if not verb.stative:
            self._add(clause, extras)
        elif verb.frame == "located" and self.chance(extras / 3):
            clause.companion = Phrase(_WITH, self.somebody(subject, LOCAL, True, 0.1))
        return self.settled(clause)

    def settled(self, clause: Clause) -> Clause:
        """Make a past that looks like a present (I read) a present, unless something tells them apart."""
        ambiguous = clause.verb.english[0] == clause.verb.english[2] and clause.subject.person != THIRD_SINGULAR
        if clause.tense == "past" and ambiguous and not clause.negated:
            clause.tense, clause.time = "present", None
        return clause

    def _negate(self, clause: Clause) -> None:
        must = clause.modal is not None and clause.modal.key == "must"
        if not must and self.chance(0.14):
            clause.negated = True
        elif clause.modal is None and not clause.verb.stative and clause.tense != "future" and self.chance(0.13):
            if self.chance(0.3):
                clause.frequency = NEVER
            elif clause.tense == "present":
                clause.frequency = self.pick(_FREQUENT)

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
        negative = clause.negated or clause.frequency is NEVER
        case_needs_definite = bool(verb.german_preposition) or verb.german_case == DATIVE
        definite = verb.stative or (negative and case_needs_definite)
        things = THINGS[verb]
        if "human" in verb.objects and (not things or self.chance(0.55)):
            return self.somebody(clause.subject, pronouns, definite or negative)
        kinds = "definite" if definite else "uncounted" if negative or case_needs_definite else "any"
        return self.thing(self.pick(things), clause.subject, kinds, 0.0 if verb.key in CREATING else 0.35)

    def _add(self, clause: Clause, extras: float) -> None:
        """Add what the verb could do without: place, company, time."""
        key = clause.verb.key
        company = _COMPANY.get(key, ())
        if clause.place is None and self.chance(extras):
            if key in _PLACED:
                clause.place = self.place(clause.subject)
            elif key == "arrive":
                clause.place = self.point(ARRIVAL) if self.chance(0.5) else self.pick(PLACES[:5])
        if company and not clause.negated and self.chance(extras):
            preposition = self.pick(company)
            clause.companion = Phrase(preposition, self.somebody(clause.subject, LOCAL, True, 0.15))
        if clause.frequency is None and self.chance(extras):
            clause.time = self.time(clause.tense, clause.modal is not None, clause.negated)
            clause.fronted = self.chance(0.5)

    def feeling(self, subject: Nominal, tense: str) -> Clause:
        """Return a clause that says how a person or thing is."""
        if isinstance(subject, NounPhrase):
            adjective = self.pick(SUITABLE[subject.noun])
        else:
            adjective = self.pick(SUITABLE[NOUNS["man"]])
        degree = self.pick(adjective.degrees)
        clause = Clause(subject, BE, "past" if tense == "past" else "present", predicate=Predicate(adjective, degree))
        clause.negated = not degree and self.chance(0.2)
        return clause

    def lying(self) -> Sentence:
        """Return a sentence that says where a thing is."""
        noun = self.pick(THINGS[PLACING[0]])
        subject = NounPhrase(noun, self.pick(("the", "the", "this", "my", "your", "our")), self.several(noun, 0.25))
        subject.adjective = self.adjective(noun, 0.4)
        clause = Clause(subject, BE, self.pick(("present", "past")), negated=self.chance(0.15))
        clause.place = self.position(None, False, noun)
        return Sentence(clause)
