"""The grammatical phenomena of a sentence, and the key by which it is given to a split."""

from __future__ import annotations

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, Sentence
from lit_transformer.grammar.entries import DATIVE, Adverbial, Pronoun

PHENOMENA: dict[str, str] = {
    "adjective": "an adjective before a noun: German endings; French agreement and position",
    "anaphora": "a pronoun for something named before, whose gender decides: it is sie, er, es; il, elle",
    "comparison": "a comparative with than: älter als, plus vieux que",
    "coordination": "two main clauses joined by and, but, so; so inverts the German one",
    "dative": "a recipient, or the object of a German verb that governs the dative (hilft dem Mann)",
    "fronting": "an expression of time or a clause at the beginning, so that German inverts subject and verb",
    "future": "will: werden with the infinitive at the end; the French simple future",
    "infinitive_clause": "to with a verb: a German zu-infinitive at the end (aufzumachen); French de or à",
    "modal": "a modal verb: the German infinitive goes to the end; French clitics stand before the infinitive",
    "negation": "not or never: nicht or kein in its place; ne ... pas, with de for an indefinite article",
    "object_pronoun": "a pronoun as object or recipient: early in German; before the verb in French",
    "partitive": "a mass noun without an article: strong endings in German; du, de la, de l' in French",
    "past": "the English simple past: perfect with haben or sein and participle at the end; passé composé",
    "past_with_sein": "a past whose auxiliary is sein in German; with être the French participle agrees",
    "possessive": "a possessive determiner: his, her, their follow the subject; French ones follow the thing",
    "preposition": "a phrase of place or company: German case by preposition and movement; French contraction",
    "prepositional_object": "a German verb with a preposition of its own: wait for, warten auf, attendre",
    "relative_clause": "a relative clause: German pronoun by gender and case, verb last; French qui, que, à qui, dont",
    "separable_verb": "a German separable verb: split in a main clause, joined in a clause, ge or zu in the middle",
    "subordinate_clause": "because, if, while, that, whether: the German verb goes last",
    "wh_question": "a question with a question word: do-support; verb second; est-ce que",
    "yes_no_question": "a question without a question word: do-support; verb first; est-ce que",
}
"""Each phenomenon with what it means for the translation."""


_POSSESSIVES = ("my", "your", "his", "her", "our", "their")


def _nominal(nominal: Nominal, found: set[str], key: list[str], is_object: bool = False) -> None:
    """Add a noun phrase or pronoun."""
    if isinstance(nominal, Pronoun):
        if nominal.key == "anaphor":
            found.add("anaphora")
        if is_object:
            found.add("object_pronoun")
        return
    key.append(nominal.noun.key)
    if nominal.adjective is not None:
        found.add("adjective")
        key.append(nominal.adjective.key)
    if nominal.determiner in _POSSESSIVES:
        found.add("possessive")
    elif nominal.determiner == "bare" and not nominal.plural:
        found.add("partitive")
    if nominal.relative is not None:
        found.add("relative_clause")
        _clause(nominal.relative, found, key)


def _verb_with_objects(clause: Clause, found: set[str], key: list[str]) -> None:
    """Add a verb with its tense, modal, negation and objects."""
    verb = clause.verb
    key.append(f"{verb.key}/{clause.tense}")
    if verb.german_prefix:
        found.add("separable_verb")
    if clause.modal is not None:
        found.add("modal")
        key.append(clause.modal.key)
    elif clause.tense == "future":
        found.add("future")
    elif clause.tense == "past" and verb.frame != "copula":
        found.add("past")
        if verb.german_sein:
            found.add("past_with_sein")
    if clause.negative:
        found.add("negation")
        key.append("not")
    if clause.object is not None and verb.german_preposition:
        found.add("prepositional_object")
    elif clause.recipient is not None or (clause.object is not None and verb.german_case == DATIVE):
        found.add("dative")
    for nominal in (clause.stated_recipient, clause.stated_object):
        if nominal is not None:
            _nominal(nominal, found, key, is_object=True)


def _clause(clause: Clause, found: set[str], key: list[str]) -> None:
    """Add a clause."""
    if clause.gap != "subject":
        _nominal(clause.subject, found, key)
    _verb_with_objects(clause, found, key)
    for phrase in (clause.companion, clause.place):
        if phrase is None:
            continue
        found.add("preposition")
        if isinstance(phrase, Adverbial):
            key.append(phrase.english)
        else:
            key.append(phrase.preposition.key)
            _nominal(phrase.nominal, found, key)
    if clause.time.kind:
        key.append(clause.time.english)
        if clause.fronted:
            found.add("fronting")
    if clause.frequency.kind:
        key.append(clause.frequency.english)
    if clause.predicate is not None:
        key.append(clause.predicate.adjective.key)
        if clause.predicate.than is not None:
            found.add("comparison")
            _nominal(clause.predicate.than, found, key)
    if clause.infinitive is not None:
        found.add("infinitive_clause")
        _verb_with_objects(clause.infinitive, found, key)


def describe(sentence: Sentence) -> tuple[tuple[str, ...], str]:
    """Name the phenomena of a sentence and make its key.

    Two sentences with one text in some language have one key: it holds what is plain in all of them (nouns, verbs,
    adjectives, tense, negation, time, place, kind of sentence) and not what one of them may hide (pronouns, articles,
    number). So giving sentences to splits by their keys keeps every text of one split out of the others.

    Args:
        sentence: The abstract sentence.

    Returns:
        The phenomena in alphabetical order, and the key.
    """
    found: set[str] = set()
    key = [sentence.question]
    _clause(sentence.main, found, key)
    if sentence.question:
        found.add("yes_no_question" if sentence.question == "yes_no" else "wh_question")
        if sentence.adverb.kind:
            key.append(sentence.adverb.english)
        if isinstance(sentence.asked, NounPhrase):
            key.append(sentence.asked.noun.key)
    conjunction = sentence.conjunction
    if conjunction is not None and sentence.second is not None:
        key.append(conjunction.english)
        found.add("subordinate_clause" if conjunction.german_verb == "last" else "coordination")
        if sentence.second_first:
            found.add("fronting")
            key.append("first")
        _clause(sentence.second, found, key)
    return tuple(sorted(found)), " ".join(key)
