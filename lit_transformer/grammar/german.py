"""Realise an abstract sentence in German: cases, adjective endings, verb second and verb last, separable verbs."""

from __future__ import annotations

from functools import lru_cache

from lit_transformer.grammar.abstract_syntax import (
    Clause,
    Nominal,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
)
from lit_transformer.grammar.entries import DATIVE, NOMINATIVE, PLURAL, Adjective, Adverbial, Conjunction, Noun, Pronoun
from lit_transformer.grammar.realisation import punctuated, words

# Each row is a case, each column masculine, feminine, neuter, plural.
_ARTICLE = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))
_RELATIVE = (_ARTICLE[0], _ARTICLE[1], ("dem", "der", "dem", "denen"))
_DER_WORD = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
_EIN_WORD = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))
_WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
_MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
_STRONG = _DER_WORD

_POSSESSIVES = {"my": "mein", "your": "dein", "his": "sein", "her": "ihr", "our": "unser", "their": "ihr"}
_EIN_STEMS = {"a": "ein", "no": "kein", **_POSSESSIVES}
_NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
_CONTRACTED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "von dem": "vom", "in das": "ins"}
_DEGREES = {"": "", "very": "sehr", "too": "zu"}

_HABEN = ("habe", "hast", "hat", "haben", "haben")
_SEIN = ("bin", "bist", "ist", "sind", "sind")
_WAR = ("war", "warst", "war", "waren", "waren")
_WERDEN = ("werde", "wirst", "wird", "werden", "werden")


def _determiner(determiner: str, case: int, gender: int) -> tuple[str, str]:
    """Return the determiner and the ending of an adjective after it."""
    if determiner == "the":
        return _ARTICLE[case][gender], _WEAK[case][gender]
    if determiner in ("this", "which"):
        stem = "dies" if determiner == "this" else "welch"
        return stem + _DER_WORD[case][gender], _WEAK[case][gender]
    if determiner == "many":
        return "viel" + _DER_WORD[case][gender], _STRONG[case][gender]
    if determiner == "bare" or determiner in _NUMBERS:
        return _NUMBERS.get(determiner, ""), _STRONG[case][gender]
    return _EIN_STEMS[determiner] + _EIN_WORD[case][gender], _MIXED[case][gender]


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None, case: int) -> str:
    """Realise a noun phrase without its relative clause."""
    if noun.name:
        return noun.key
    article, ending = _determiner(determiner, case, PLURAL if plural else noun.german_gender)
    text = noun.german[(2 if plural else 0) + (case == DATIVE if plural else case != NOMINATIVE)]
    return words(article, adjective.german[2] + ending if adjective is not None else "", text)


def noun_phrase(nominal: Nominal | None, case: int, negated: bool = False) -> str:
    """Realise a noun phrase (without its relative clause) or pronoun.

    Args:
        nominal: The noun phrase or pronoun; None gives the empty string.
        case: Nominative 0, accusative 1 or dative 2.
        negated: Whether an indefinite one takes kein.
    """
    if nominal is None:
        return ""
    if isinstance(nominal, Pronoun):
        return nominal.german[case]
    determiner = "no" if negated and nominal.indefinite else nominal.determiner
    return _core(nominal.noun, determiner, nominal.plural, nominal.adjective, case)


def _governed(preposition: str, case: int, nominal: Nominal) -> str:
    """Realise a noun phrase or pronoun after a preposition, if there is one."""
    text = noun_phrase(nominal, case)
    article, _, rest = text.partition(" ")
    contracted = _CONTRACTED.get(f"{preposition} {article}")
    return f"{contracted} {rest}" if contracted and rest else f"{preposition} {text}" if preposition else text


def _place(place: PrepositionalPhrase | Adverbial) -> str:
    if isinstance(place, Adverbial):
        return place.german
    return _governed(place.preposition.german, place.preposition.german_case, place.nominal)


def _relative(nominal: Nominal | None) -> str:
    """Realise the relative clause of a noun phrase with the comma before it; empty if it has none."""
    if not isinstance(nominal, NounPhrase) or nominal.relative is None:
        return ""
    clause = nominal.relative
    gender = PLURAL if nominal.plural else nominal.noun.german_gender
    if clause.gap == "subject":
        return f", {_RELATIVE[NOMINATIVE][gender]} {_verb_last(clause)}"
    pronoun = _RELATIVE[clause.verb.german_case][gender]
    return f", {words(clause.verb.german_preposition, pronoun, _verb_last(clause))}"


def _subject(clause: Clause) -> str:
    """Realise the subject with its relative clause between commas; empty if it is the gap."""
    if clause.gap == "subject":
        return ""
    relative = _relative(clause.subject)
    return noun_phrase(clause.subject, NOMINATIVE) + (f"{relative}," if relative else "")


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and what stands at the end: prefix, participle or infinitive."""
    person, verb = clause.subject.person, clause.verb
    if clause.modal is not None:
        return clause.modal.german[person], verb.german_prefix + verb.german_infinitive
    if clause.tense == "future":
        return _WERDEN[person], verb.german_prefix + verb.german_infinitive
    if clause.tense == "present":
        return verb.german[person], verb.german_prefix
    if verb.frame == "copula":
        return _WAR[person], ""
    return (_SEIN if verb.german_sein else _HABEN)[person], verb.german_participle


def _adverbs_first(clause: Clause) -> bool:
    """Return whether time and frequency stand before the objects.

    An adverb stands before what is new and, where the sentence is negated, after what is known.
    """
    after_known = clause.negative or (clause.frequency.kind != "" and clause.verb.german_case == DATIVE)
    return not (after_known and isinstance(clause.object, NounPhrase) and not clause.object.indefinite)


def _middle(clause: Clause) -> list[str]:
    """List what stands between the finite verb (or the subject) and the end of the clause; some parts are empty."""
    verb, recipient, target = clause.verb, clause.stated_recipient, clause.stated_object
    recipient_text = "" if recipient is None else noun_phrase(recipient, DATIVE)
    target_text = prepositional = ""
    if target is not None and verb.german_preposition:
        prepositional = _governed(verb.german_preposition, verb.german_case, target)
    elif target is not None:
        target_text = noun_phrase(target, verb.german_case, clause.negated)
    takes_kein = isinstance(clause.object, NounPhrase) and clause.object.indefinite and not prepositional
    adverbs, adverbs_first = words(clause.later_time.german, clause.frequency.german), _adverbs_first(clause)
    return [
        target_text if isinstance(target, Pronoun) else "",
        recipient_text if isinstance(recipient, Pronoun) else "",
        adverbs if adverbs_first else "",
        "" if isinstance(recipient, Pronoun) else recipient_text,
        "" if isinstance(target, Pronoun) else target_text,
        "" if adverbs_first else adverbs,
        "nicht" if clause.negated and not takes_kein else "",
        prepositional,
        *[_place(phrase) for phrase in (clause.companion, clause.place) if phrase is not None],
        _predicate(clause.predicate) if clause.predicate is not None else "",
    ]


def _predicate(predicate: Predicate) -> str:
    positive, comparative, _ = predicate.adjective.german
    if predicate.than is not None:
        return f"{comparative} als {noun_phrase(predicate.than, NOMINATIVE)}"
    return words(_DEGREES[predicate.degree], positive)


def _after(clause: Clause) -> str:
    """Realise what stands behind the end of the clause, with its comma: infinitive or relative clause."""
    infinitive = ""
    if clause.infinitive is not None:
        verb = clause.infinitive.verb
        zu = f"{verb.german_prefix}zu" if verb.german_prefix else "zu "
        infinitive = f", {words(*_middle(clause.infinitive), zu + verb.german_infinitive)}"
    return infinitive + _relative(clause.stated_object)


def _verb_second(clause: Clause, front: str = "") -> str:
    """Realise a clause with the finite verb second, behind ``front`` or else behind the time or the subject."""
    finite, end = _verbs(clause)
    subject, front = _subject(clause), front or clause.first_time.german
    return words(front or subject, finite, subject if front else "", *_middle(clause), end) + _after(clause)


def _verb_last(clause: Clause) -> str:
    """Realise a clause with the finite verb last."""
    finite, end = _verbs(clause)
    verbs = end + finite if end == clause.verb.german_prefix else f"{end} {finite}"
    return words(_subject(clause), *_middle(clause), verbs) + _after(clause)


def _question(sentence: Sentence) -> str:
    clause, asked, front = sentence.main, sentence.asked, sentence.adverb.german
    if sentence.question == "subject":
        return _verb_second(clause)
    if sentence.question == "recipient":
        front = noun_phrase(asked, DATIVE)
    elif asked is not None:
        front = _governed(clause.verb.german_preposition, clause.verb.german_case, asked)
    # A blank in front leaves the verb first.
    return _verb_second(clause, front or " ").lstrip()


def _two_clauses(sentence: Sentence, conjunction: Conjunction, second: Clause) -> str:
    if sentence.second_first:
        return _verb_second(sentence.main, f"{conjunction.german} {_verb_last(second)},")
    if conjunction.german_verb == "first":
        second_text = _verb_second(second, conjunction.german)
    else:
        verb_last = conjunction.german_verb == "last"
        second_text = f"{conjunction.german} {(_verb_last if verb_last else _verb_second)(second)}"
    return f"{_verb_second(sentence.main)}, {second_text}"


def realise(sentence: Sentence) -> str:
    """Return an abstract sentence in German, with a capital letter and a final mark."""
    if sentence.question:
        text = _question(sentence)
    elif sentence.conjunction is not None and sentence.second is not None:
        text = _two_clauses(sentence, sentence.conjunction, sentence.second)
    else:
        text = _verb_second(sentence.main)
    return punctuated(text.replace(",,", ",").removesuffix(","), "?" if sentence.question else ".")
