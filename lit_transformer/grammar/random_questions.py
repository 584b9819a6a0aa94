"""Random questions."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import NO_ADVERBIAL, Clause, Nominal, NounPhrase, Sentence
from lit_transformer.grammar.entries import Verb
from lit_transformer.grammar.lexicon import ADVERBIALS, PRONOUNS, VERBS
from lit_transformer.grammar.random_clauses import (
    DIRECTED,
    DITRANSITIVE,
    FREE,
    LOCATED,
    ON_PEOPLE,
    ON_THINGS,
    RandomClauses,
)
from lit_transformer.grammar.random_phrases import THINGS

_WHO, _WHAT = PRONOUNS["who"], PRONOUNS["what"]
_WHERE, _WHERE_TO, _WHEN, _WHY = (ADVERBIALS[german] for german in ("wo", "wohin", "wann", "warum"))
_COUNTING = tuple(verb for verb in ON_THINGS if not all(noun.mass for noun in THINGS[verb]))
# Without its goal, one English "go" would stand for two German verbs.
_WITH_PLACE = tuple(verb for verb in DIRECTED if verb.key != "go far") + LOCATED
_WITH_PLACE += tuple(VERBS[key] for key in ("work", "sleep", "buy", "meet"))


def _positive(clause: Clause) -> Clause:
    """Make a clause fit for a question: neither negated nor with an adverb of frequency, its time at the end."""
    clause.negated, clause.frequency, clause.fronted = False, NO_ADVERBIAL, False
    return clause


class RandomQuestions(RandomClauses):
    """Draws questions from one random stream."""

    def question(self) -> Sentence:
        """Return a question."""
        kind = self.pick(("yes_no", "yes_no", "yes_no", "subject", "object", "which", "recipient", "adverb", "adverb"))
        if kind == "subject":
            return Sentence(self._with_verb(self.pick(ON_THINGS + DITRANSITIVE), _WHO), "subject")
        if self.chance(0.35):
            subject: Nominal = PRONOUNS[self.pick(("you", "he", "she", "we", "they"))]
        else:
            subject = self.person(pronoun=0.0)
        if kind == "yes_no":
            return Sentence(_positive(self.clause(subject, pronouns=FREE, extras=0.25)), "yes_no")
        if kind == "recipient":
            clause = self._with_verb(self.pick(DITRANSITIVE), subject)
            clause.recipient, clause.gap = _WHO, "recipient"
            return Sentence(clause, "recipient")
        if kind == "adverb":
            return self._adverb_question(subject)
        return self._object_question(subject, which=kind == "which")

    def _with_verb(self, verb: Verb, subject: Nominal) -> Clause:
        return _positive(self.with_verb(verb, subject, self.tense(), FREE, 0.25))

    def _adverb_question(self, subject: Nominal) -> Sentence:
        word = self.pick((_WHERE, _WHEN, _WHY))
        if word is _WHERE:
            verb = self.pick(_WITH_PLACE)
            clause = self._with_verb(verb, subject)
            clause.place = clause.companion = None
            return Sentence(clause, "adverb", _WHERE_TO if verb in DIRECTED else _WHERE)
        if word is _WHY:
            return Sentence(_positive(self.clause(subject, "", FREE, 0.1)), "adverb", _WHY)
        clause = _positive(self.clause(subject, self.pick(("past", "future")), FREE, 0.0))
        clause.time = NO_ADVERBIAL
        return Sentence(clause, "adverb", _WHEN)

    def _object_question(self, subject: Nominal, which: bool) -> Sentence:
        on_people = not which and self.chance(0.5)
        verb = self.pick(ON_PEOPLE if on_people else _COUNTING if which else ON_THINGS)
        clause = self._with_verb(verb, subject)
        if which:
            noun = self.pick(tuple(noun for noun in THINGS[verb] if not noun.mass))
            clause.object = NounPhrase(noun, "which", self.several(noun, 0.3), self.adjective(noun, 0.2))
        else:
            clause.object = _WHO if on_people else _WHAT
        clause.gap = "object"
        return Sentence(clause, "object")
