"""Random sentences with a relative clause."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import Clause, NounPhrase, Sentence
from lit_transformer.grammar.entries import DATIVE, Noun, Verb
from lit_transformer.grammar.lexicon import PRONOUNS
from lit_transformer.grammar.random_clauses import DIRECTED, LOCATED, ON_PEOPLE, ON_THINGS, VERBS_ON, RandomClauses
from lit_transformer.grammar.random_phrases import LOCAL, PEOPLE, THINGS

_DATIVE_OR_PREPOSITION = tuple(verb for verb in ON_PEOPLE if verb.german_preposition or verb.german_case == DATIVE)
_PLAIN_ON_PEOPLE = tuple(verb for verb in ON_PEOPLE if verb not in _DATIVE_OR_PREPOSITION)
_HEADS: dict[Verb, tuple[Noun, ...]] = {
    verb: tuple(noun for noun in THINGS[verb] if len(VERBS_ON[noun]) > 1) for verb in ON_THINGS
}


class RandomRelatives(RandomClauses):
    """Draws relative clauses that have one reading in German.

    ``die Frau, die Anna besucht`` may visit or be visited; so a clause about people has either a thing as its object
    or its subject in a pronoun of the first or second person, or it has a verb that governs the dative or a
    preposition.
    """

    def relative(self) -> Sentence:
        """Return a sentence with a relative clause at its subject or object."""
        if self.chance(0.4):
            noun = self.pick(PEOPLE)
            head = NounPhrase(noun, "the", self.several(noun, 0.3))
            main = self.clause(head, extras=0.15)
            head.relative = self._about_person(head, main)
            return Sentence(main)
        subject = self.subject()
        verb = self.pick(ON_PEOPLE if self.chance(0.3) else ON_THINGS)
        people = "human" in verb.objects
        avoid = subject.noun if isinstance(subject, NounPhrase) else None
        noun = self.pick(tuple(noun for noun in (PEOPLE if people else _HEADS[verb]) if noun is not avoid))
        head = NounPhrase(noun, "the", self.several(noun, 0.3), None if people else self.adjective(noun, 0.25))
        main = Clause(subject, verb, object=head)
        if not verb.stative:
            main.tense = self.pick(("present", "past", "future"))
            main.negated = self.chance(0.12)
        self.settled(main)
        head.relative = self._about_person(head, main) if people else self._about_thing(head, main)
        return Sentence(main)

    def _fitting(self, clause: Clause, main: Clause) -> Clause:
        """Give a relative clause a tense that goes with that of the main clause."""
        if not clause.verb.stative:
            clause.tense = "past" if main.tense == "past" else self.pick(("present", "past"))
        return self.settled(clause)

    def _other(self, verbs: tuple[Verb, ...], main: Clause) -> Verb:
        return self.pick(tuple(verb for verb in verbs if verb is not main.verb))

    def _about_person(self, head: NounPhrase, main: Clause) -> Clause:
        if self.chance(0.5):
            verb = self._other(ON_THINGS if self.chance(0.5) else LOCATED + DIRECTED, main)
            clause = Clause(head, verb, gap="subject")
            if verb in LOCATED:
                clause.place = self.home(None) if verb.stative else self.place(None)
            elif verb in DIRECTED:
                clause.place = self.goal(verb, None)
            else:
                clause.object = self.thing(self.pick(THINGS[verb]), None, "definite" if verb.stative else "any", 0.2)
            return self._fitting(clause, main)
        plain = self.chance(0.4)
        verb = self._other(_PLAIN_ON_PEOPLE if plain else _DATIVE_OR_PREPOSITION, main)
        subject = PRONOUNS[self.pick(LOCAL)] if plain else self.person(head, pronoun=0.4)
        return self._fitting(Clause(subject, verb, object=head, gap="object"), main)

    def _about_thing(self, head: NounPhrase, main: Clause) -> Clause:
        verb = self._other(VERBS_ON[head.noun], main)
        return self._fitting(Clause(self.person(pronoun=0.3), verb, object=head, gap="object"), main)
