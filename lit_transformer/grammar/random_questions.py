"""Random questions."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, Sentence
from lit_transformer.grammar.entries import Verb
from lit_transformer.grammar.function_words import PRONOUNS, WHAT, WHEN, WHERE, WHERE_TO, WHO, WHY
from lit_transformer.grammar.random_clauses import DIRECTED, DITRANSITIVE, FREE, LOCATED, ON_PEOPLE, ON_THINGS, Clauses
from lit_transformer.grammar.random_phrases import THINGS
from lit_transformer.grammar.verbs import VERBS

_COUNTING = tuple(verb for verb in ON_THINGS if not all(noun.mass for noun in THINGS[verb]))
# Without its goal, one English "go" would stand for two German verbs.
_WHERE = tuple(verb for verb in DIRECTED if verb.key != "go far")


class Questions(Clauses):
    """Makes questions from one random stream."""

    def _asked_subject(self) -> Nominal:
        return (
            PRONOUNS[self.pick(("you", "he", "she", "we", "they"))] if self.chance(0.35) else self.person(pronoun=0.0)
        )

    def _plain(self, verb: Verb, subject: Nominal) -> Clause:
        """Return a clause for a question: neither negated nor with an adverb of frequency."""
        clause = self.with_verb(verb, subject, self.tense(), FREE, 0.25)
        clause.negated, clause.frequency, clause.fronted = False, None, False
        return clause

    def question(self) -> Sentence:
        """Return a question."""
        kind = self.pick(("yes_no", "yes_no", "yes_no", "subject", "object", "which", "recipient", "adverb", "adverb"))
        if kind == "subject":
            return Sentence(self._plain(self.pick(ON_THINGS + DITRANSITIVE), WHO), "subject")
        subject = self._asked_subject()
        if kind == "yes_no":
            clause = self.clause(subject, pronouns=FREE, extras=0.25)
            clause.negated, clause.frequency, clause.fronted = False, None, False
            return Sentence(clause, "yes_no")
        if kind == "recipient":
            clause = self._plain(self.pick(DITRANSITIVE), subject)
            clause.recipient, clause.gap = WHO, "recipient"
            return Sentence(clause, "recipient")
        if kind == "adverb":
            return self._adverb_question(subject)
        return self._object_question(subject, which=kind == "which")

    def _adverb_question(self, subject: Nominal) -> Sentence:
        word = self.pick((WHERE, WHEN, WHY))
        if word is WHERE:
            verb = self.pick(_WHERE + LOCATED + (VERBS["work"], VERBS["sleep"], VERBS["buy"], VERBS["meet"]))
            clause = self._plain(verb, subject)
            clause.place = clause.companion = None
            return Sentence(clause, "adverb", WHERE_TO if verb in DIRECTED else WHERE)
        if word is WHEN:
            clause = self.clause(subject, self.pick(("past", "future")), FREE, 0.0)
        else:
            clause = self.clause(subject, "", FREE, 0.1)
        clause.negated, clause.frequency, clause.fronted = False, None, False
        if word is WHEN:
            clause.time = None
        return Sentence(clause, "adverb", word)

    def _object_question(self, subject: Nominal, which: bool) -> Sentence:
        on_people = not which and self.chance(0.5)
        verb = self.pick(ON_PEOPLE if on_people else _COUNTING if which else ON_THINGS)
        clause = self._plain(verb, subject)
        if which:
            noun = self.pick(tuple(noun for noun in THINGS[verb] if not noun.mass))
            clause.object = NounPhrase(noun, "which", self.several(noun, 0.3), self.adjective(noun, 0.2))
        else:
            clause.object = WHO if on_people else WHAT
        clause.gap = "object"
        return Sentence(clause, "object")
