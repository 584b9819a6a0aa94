"""Random abstract sentences of every kind."""

from __future__ import annotations

import random
from collections.abc import Callable

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, Predicate, Sentence
from lit_transformer.grammar.entries import Noun, Pronoun, Verb
from lit_transformer.grammar.lexicon import ADJECTIVES, BE, CLASSES, CONJUNCTIONS, NOUNS, PRONOUNS, VERBS, anaphor
from lit_transformer.grammar.random_clauses import DITRANSITIVE, FREE, GIVEN_BY, ON_PEOPLE, ON_THINGS, VERBS_ON
from lit_transformer.grammar.random_phrases import LOCAL, LOCAL_POSSESSIVES, PEOPLE, SUITABLE, with_class
from lit_transformer.grammar.random_questions import RandomQuestions
from lit_transformer.grammar.random_relatives import RandomRelatives

_COUNTABLE = {kind: tuple(noun for noun in with_class(kind) if not noun.mass) for kind in CLASSES}
_COMPARED = tuple(adjective for adjective in ADJECTIVES.values() if adjective.english[1])
_DONE_TO: dict[Noun, tuple[Verb, ...]] = {
    noun: tuple(verb for verb in verbs if "creation" not in verb.traits) for noun, verbs in VERBS_ON.items()
}
_TALKED_OF = tuple(noun for noun in NOUNS.values() if SUITABLE[noun] and _DONE_TO[noun])
_GIVEN = tuple(noun for noun in _TALKED_OF if GIVEN_BY[noun])
_REFERRED = tuple(noun for noun in PEOPLE if noun.pronoun)
_ON_NAMED_PEOPLE = tuple(VERBS[key] for key in ("help", "visit", "call", "thank", "invite", "answer", "listen to"))
_ON_NAMED_PEOPLE += tuple(VERBS[key] for key in ("wait for", "think of", "talk about", "laugh at"))
_VOLUNTARY = tuple(
    verb for verb in ON_THINGS + DITRANSITIVE + ON_PEOPLE if not verb.stative and "involuntary" not in verb.traits
)
_WEATHER = (VERBS["rain"], VERBS["snow"])


def refer_to(nominal: Nominal) -> Pronoun:
    """Return the pronoun that stands for ``nominal`` once it has been named; a pronoun stands for itself."""
    return nominal if isinstance(nominal, Pronoun) else anaphor(nominal.noun, nominal.plural)


def _join(main: Clause, conjunction: str, second: Clause, second_first: bool = False) -> Sentence:
    """Join two clauses, of which only a main clause that stands first may begin with an expression of time."""
    main.fronted = main.fronted and not second_first
    second.fronted = False
    return Sentence(main, conjunction=CONJUNCTIONS[conjunction], second=second, second_first=second_first)


class RandomSentences(RandomRelatives, RandomQuestions):
    """Draws abstract sentences from one random stream.

    Args:
        source: The generator of random numbers.
    """

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        kinds: tuple[tuple[Callable[[], Sentence], int], ...] = (
            (self.simple, 24),
            (self.lying, 2),
            (self.comparison, 4),
            (self.subordinate, 15),
            (self.complement, 10),
            (self.relative, 12),
            (self.anaphora, 14),
            (self.infinitive, 6),
            (self.coordination, 3),
            (self.question, 10),
        )
        self._kinds = tuple(kind for kind, weight in kinds for _ in range(weight))

    def sentence(self) -> Sentence:
        """Return one sentence of any kind."""
        return self.pick(self._kinds)()

    def simple(self) -> Sentence:
        """Return a sentence of one clause."""
        return Sentence(self.clause(self.subject(), pronouns=FREE, extras=0.4))

    def comparison(self) -> Sentence:
        """Return a sentence in which two of a kind are compared."""
        adjective = self.pick(_COMPARED)
        kind = self.pick(sorted(adjective.classes))
        nouns = _COUNTABLE[kind]
        if len(nouns) < 2:
            return self.comparison()
        first = second = self.pick(nouns)
        while second is first:
            second = self.pick(nouns)
        plural = self.several(first, 0.2)
        own = kind != "human" or {"relation"} <= first.classes & second.classes
        one = NounPhrase(first, self.pick(("the", "the", "this", *LOCAL_POSSESSIVES)) if own else "the", plural)
        other = NounPhrase(second, self.pick(("the", "the", *LOCAL_POSSESSIVES)) if own else "the", plural)
        tense = self.pick(("present", "present", "past"))
        return Sentence(Clause(one, BE, tense, predicate=Predicate(adjective, than=other)))

    def _other_person(self, subject: Nominal, same: float) -> Nominal:
        """Return the subject of a second clause: with probability ``same`` the first again, as a pronoun."""
        if self.chance(same) and (isinstance(subject, Pronoun) or subject.plural or subject.noun.pronoun):
            return refer_to(subject)
        return self.person(avoid=subject)

    def _action(self, subject: Nominal) -> Clause:
        """Return a clause in the present that is no state."""
        while True:
            clause = self.clause(subject, "present", extras=0.15)
            if not clause.verb.stative:
                return clause

    def subordinate(self) -> Sentence:
        """Return a sentence with because, if or while."""
        subject = self.subject()
        word = self.pick(("because", "because", "because", "if", "if", "while"))
        if word == "while":
            main = self._action(subject)
            second = self._action(self._other_person(subject, 0.2))
            return _join(main, word, second, second_first=self.chance(0.4))
        if word == "if":
            main = self.clause(subject, self.pick(("future", "modal")), extras=0.1)
            if self.chance(0.25):
                second = Clause(PRONOUNS["it"], self.pick(_WEATHER))
                if self.chance(0.5):
                    second.time = self.time("future")
            else:
                second = self.clause(self._other_person(subject, 0.4), "present", extras=0.1)
            main.fronted = False
            return _join(main, word, second, second_first=self.chance(0.6))
        main = self.clause(subject, extras=0.2)
        tense = "past" if main.tense == "past" else "present"
        other = self._other_person(subject, 0.6)
        if self.chance(0.5) and not (isinstance(other, NounPhrase) and not SUITABLE[other.noun]):
            second = self.feeling(other, tense)
        else:
            second = self.clause(other, tense, extras=0.1)
        return _join(main, word, second)

    def complement(self) -> Sentence:
        """Return a sentence with that or whether."""
        subject = self.subject()
        key = self.pick(("believe", "know that", "say", "hope", "ask", "unknown"))
        main = Clause(subject, VERBS["know that" if key == "unknown" else key], negated=key == "unknown")
        tense = self.pick(("future", "modal")) if key == "hope" else ""
        other = self._other_person(subject, 0.25)
        if not tense and self.chance(0.15):
            second = self.feeling(other, "present")
        else:
            second = self.clause(other, tense, extras=0.25)
        return _join(main, "whether" if key in ("ask", "unknown") else "that", second)

    def anaphora(self) -> Sentence:
        """Return two clauses, of which the second has a pronoun for something in the first."""
        kind = self.pick(("object", "thing", "thing", "person", "given"))
        tense = self.pick(("present", "past"))
        if kind == "object":
            return self._about_object(tense)
        if kind == "person":
            named = NounPhrase(self.pick(_REFERRED), self.pick(("the", "the", "my", "our")))
            if named.determiner != "the" and "relation" not in named.noun.classes:
                named.determiner = "the"
            named.plural = self.several(named.noun, 0.3)
            verb = self.pick(_ON_NAMED_PEOPLE)
        else:
            noun = self.pick(_GIVEN if kind == "given" else _TALKED_OF)
            named = NounPhrase(noun, self.pick(("the", "the", "this", "my")), self.several(noun, 0.25))
            if noun.mass:
                named.determiner = "the"
            verb = self.pick(GIVEN_BY[noun] if kind == "given" else _DONE_TO[noun])
        return self._about_named(named, verb, tense)

    def _about_object(self, tense: str) -> Sentence:
        noun = self.pick(_TALKED_OF)
        plural = self.several(noun, 0.25)
        subject = self.person(plural=0.0 if plural else 0.2, pronoun=0.0)
        target = NounPhrase(noun, self.pick(("the", "the", "this")), plural)
        main = self.settled(Clause(subject, self.pick(_DONE_TO[noun]), tense, object=target))
        if main.verb.stative:
            main.tense = "present"
        second = self.feeling(refer_to(target), main.tense)
        if second.predicate is not None:
            adjective = self.pick(SUITABLE[noun])
            second.predicate = Predicate(adjective, "" if second.negated else self.pick(adjective.degrees))
        return _join(main, "because", second)

    def _about_named(self, named: NounPhrase, verb: Verb, tense: str) -> Sentence:
        main = self.feeling(named, tense)
        subject = self.person(avoid=named, plural=0.15)
        if verb.stative:
            tense = main.tense = "present"
        second = Clause(subject, verb, tense, object=refer_to(named))
        if verb.frame == "ditransitive":
            second.recipient = self.somebody(subject, LOCAL, True, 0.1)
        word = self.pick(("so", "but", "and"))
        second.negated = word == "but" and self.chance(0.5)
        return _join(main, word, self.settled(second))

    def infinitive(self) -> Sentence:
        """Return a sentence with a to-infinitive."""
        subject = self.subject()
        verb = VERBS[self.pick(("try", "decide", "begin", "forget to"))]
        done = self.pick(_VOLUNTARY)
        inner = Clause(subject, done)
        inner.object = self.object_of(inner, FREE)
        if done.frame == "ditransitive":
            inner.recipient = self.somebody(subject, FREE, True, 0.15)
        main = Clause(subject, verb, self.pick(("present", "past", "past", "future")), infinitive=inner)
        if self.chance(0.3):
            main.time, main.fronted = self.time(main.tense), True
        return Sentence(main)

    def coordination(self) -> Sentence:
        """Return two main clauses joined by and or but."""
        subject = self.subject()
        tense = self.tense()
        main = self.clause(subject, tense, extras=0.1)
        second = self.clause(self.person(avoid=subject), tense, extras=0.1)
        return _join(main, self.pick(("and", "but")), second)
