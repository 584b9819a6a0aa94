"""German from an abstract sentence: cases, adjective endings, verb second and verb last, separable verbs."""

from __future__ import annotations

from functools import lru_cache

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, PrepositionalPhrase, Sentence
from lit_transformer.grammar.entries import (
    DATIVE,
    NOMINATIVE,
    PLURAL,
    Adjective,
    Noun,
    Phrase,
    Pronoun,
    Verb,
)
from lit_transformer.grammar.function_words import DEGREES, NEVER

# Each row is a case, each column masculine, feminine, neuter, plural.
_ARTICLE = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))
_RELATIVE = (_ARTICLE[0], _ARTICLE[1], ("dem", "der", "dem", "denen"))
_DER_WORD = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
_EIN_WORD = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))
_WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
_MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
_STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))

_POSSESSIVES = {"my": "mein", "your": "dein", "his": "sein", "her": "ihr", "our": "unser", "their": "ihr"}
_NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
_CONTRACTED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "von dem": "vom", "in das": "ins"}
_INDEFINITE = ("a", "bare")

_HABEN = ("habe", "hast", "hat", "haben", "haben")
_SEIN = ("bin", "bist", "ist", "sind", "sind")
_WAR = ("war", "warst", "war", "waren", "waren")
_WERDEN = ("werde", "wirst", "wird", "werden", "werden")


def _determiner(determiner: str, case: int, gender: int) -> tuple[str, str]:
    """Return the determiner and the ending that it asks of an adjective."""
    if determiner == "the":
        return _ARTICLE[case][gender], _WEAK[case][gender]
    if determiner in ("this", "which"):
        stem = "dies" if determiner == "this" else "welch"
        return stem + _DER_WORD[case][gender], _WEAK[case][gender]
    if determiner in _NUMBERS:
        return _NUMBERS[determiner], _STRONG[case][gender]
    if determiner == "many":
        return "viel" + _DER_WORD[case][gender], _STRONG[case][gender]
    if determiner == "bare":
        return "", _STRONG[case][gender]
    stem = {"a": "ein", "no": "kein"}.get(determiner) or _POSSESSIVES[determiner]
    return stem + _EIN_WORD[case][gender], _MIXED[case][gender]


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None, case: int) -> str:
    """Put a noun phrase without its relative clause into words."""
    if noun.name:
        return noun.key
    gender = PLURAL if plural else noun.german_gender
    article, ending = _determiner(determiner, case, gender)
    word = noun.german[(2 if plural else 0) + (case == DATIVE if plural else case != NOMINATIVE)]
    words = [article] if article else []
    if adjective is not None:
        words.append(adjective.german[2] + ending)
    return " ".join([*words, word])


def noun_phrase(nominal: Nominal, case: int, negated: bool = False) -> str:
    """Put a noun phrase (without its relative clause) or pronoun into words.

    Args:
        nominal: The noun phrase or pronoun.
        case: Nominative 0, accusative 1 or dative 2.
        negated: Whether an indefinite one takes kein.
    """
    if isinstance(nominal, Pronoun):
        return nominal.german[case]
    determiner = "no" if negated and nominal.determiner in _INDEFINITE else nominal.determiner
    return _core(nominal.noun, determiner, nominal.plural, nominal.adjective, case)


def _governed(preposition: str, case: int, nominal: Nominal) -> str:
    words = noun_phrase(nominal, case)
    if not preposition:
        return words
    article, _, rest = words.partition(" ")
    contracted = _CONTRACTED.get(f"{preposition} {article}")
    return f"{contracted} {rest}" if contracted and rest else f"{preposition} {words}"


def _place(place: PrepositionalPhrase | Phrase) -> str:
    if isinstance(place, Phrase):
        return place.german
    return _governed(place.preposition.german, place.preposition.german_case, place.nominal)


def _relative(head: NounPhrase) -> str:
    clause = head.relative
    assert clause is not None
    gender = PLURAL if head.plural else head.noun.german_gender
    case, preposition = NOMINATIVE, ""
    if clause.gap == "object":
        case, preposition = clause.verb.german_case, clause.verb.german_preposition
    pronoun = _RELATIVE[case][gender]
    return f"{preposition} {pronoun} {_last(clause)}" if preposition else f"{pronoun} {_last(clause)}"


def _subject(clause: Clause) -> str:
    subject = clause.subject
    words = noun_phrase(subject, NOMINATIVE)
    if isinstance(subject, NounPhrase) and subject.relative is not None and clause.gap != "subject":
        return f"{words}, {_relative(subject)},"
    return words


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and what stands at the end: prefix, participle or infinitive."""
    person, verb = clause.subject.person, clause.verb
    if clause.modal is not None:
        return clause.modal.german[person], verb.german_prefix + verb.german_infinitive
    if clause.tense == "future":
        return _WERDEN[person], verb.german_prefix + verb.german_infinitive
    if clause.tense == "past":
        if verb.frame == "copula":
            return _WAR[person], ""
        return (_SEIN if verb.german_sein else _HABEN)[person], verb.german_participle
    return verb.german[person], verb.german_prefix


def _is_definite(nominal: Nominal | None) -> bool:
    return isinstance(nominal, NounPhrase) and (nominal.noun.name or nominal.determiner not in _INDEFINITE)


def _objects(clause: Clause) -> tuple[list[str], list[str], str]:
    """Return pronoun objects, other objects, and the object with a preposition."""
    verb, target = clause.verb, clause.object if clause.gap != "object" else None
    recipient = clause.recipient if clause.gap != "recipient" else None
    pronouns: list[str] = []
    others: list[str] = []
    prepositional = ""
    if recipient is not None:
        (pronouns if isinstance(recipient, Pronoun) else others).append(noun_phrase(recipient, DATIVE))
    if target is not None:
        if verb.german_preposition:
            prepositional = _governed(verb.german_preposition, verb.german_case, target)
        elif isinstance(target, Pronoun):
            pronouns.insert(0, target.german[verb.german_case])
        else:
            others.append(noun_phrase(target, verb.german_case, clause.negated))
    return pronouns, others, prepositional


def _adverbs_first(clause: Clause) -> bool:
    """Say whether time and frequency stand before the objects.

    An adverb stands before what is new and, where the sentence is negated, after what is known.
    """
    target = clause.object
    if clause.negated:
        return not _is_definite(target)
    if clause.frequency is not None:
        dative = clause.verb.german_case == DATIVE or clause.frequency is NEVER
        return not (dative and _is_definite(target))
    return True


def _middle(clause: Clause) -> list[str]:
    """List what stands between the finite verb and the end of the clause, the subject excluded."""
    pronouns, others, prepositional = _objects(clause)
    adverbs = [] if clause.time is None or clause.fronted else [clause.time.german]
    if clause.frequency is not None:
        adverbs.append(clause.frequency.german)
    words = pronouns + (adverbs + others if _adverbs_first(clause) else others + adverbs)
    indefinite = isinstance(clause.object, NounPhrase) and not _is_definite(clause.object)
    if clause.negated and (prepositional or not indefinite):
        words.append("nicht")
    if prepositional:
        words.append(prepositional)
    if clause.companion is not None:
        words.append(_place(clause.companion))
    if clause.place is not None:
        words.append(_place(clause.place))
    if clause.predicate is not None:
        words.append(_predicate(clause))
    return words


def _predicate(clause: Clause) -> str:
    predicate = clause.predicate
    assert predicate is not None
    if predicate.than is not None:
        return f"{predicate.adjective.german[1]} als {noun_phrase(predicate.than, NOMINATIVE)}"
    degree = DEGREES[predicate.degree].german
    return f"{degree} {predicate.adjective.german[0]}" if degree else predicate.adjective.german[0]


def _zu_infinitive(verb: Verb) -> str:
    return f"{verb.german_prefix}zu{verb.german_infinitive}" if verb.german_prefix else f"zu {verb.german_infinitive}"


def _after(clause: Clause) -> str:
    """Return what stands behind the end of the clause, with its comma: infinitive or relative clause."""
    words = ""
    if clause.infinitive is not None:
        inner = clause.infinitive
        words = f", {' '.join([*_middle(inner), _zu_infinitive(inner.verb)])}"
    target = clause.object
    if clause.gap != "object" and isinstance(target, NounPhrase) and target.relative is not None:
        words += f", {_relative(target)}"
    return words


def _second(clause: Clause, front: str = "") -> str:
    """Put a clause into words with the finite verb second, or first behind ``front``."""
    finite, end = _verbs(clause)
    subject = _subject(clause)
    if not front and clause.time is not None and clause.fronted:
        front = clause.time.german
    words = [front, finite, subject] if front else [subject, finite]
    words += _middle(clause)
    if end:
        words.append(end)
    return " ".join(words) + _after(clause)


def _last(clause: Clause) -> str:
    """Put a clause into words with the finite verb last."""
    finite, end = _verbs(clause)
    words = _middle(clause) if clause.gap == "subject" else [_subject(clause), *_middle(clause)]
    joined = end == clause.verb.german_prefix
    words.append(end + finite if joined else f"{end} {finite}")
    return " ".join(words) + _after(clause)


def _question(sentence: Sentence) -> str:
    clause = sentence.main
    if sentence.question == "subject":
        return _second(clause)
    if sentence.question == "yes_no":
        return _second(clause, " ").lstrip()
    if sentence.adverb is not None:
        return _second(clause, sentence.adverb.german)
    if sentence.question == "recipient":
        assert clause.recipient is not None
        return _second(clause, noun_phrase(clause.recipient, DATIVE))
    assert clause.object is not None
    return _second(clause, _governed(clause.verb.german_preposition, clause.verb.german_case, clause.object))


def realise(sentence: Sentence) -> str:
    """Put an abstract sentence into German.

    Args:
        sentence: The abstract sentence.

    Returns:
        One sentence with a capital letter and a final mark.
    """
    link, second = sentence.link, sentence.second
    if sentence.question:
        words = _question(sentence)
    elif link is not None and second is not None and sentence.second_first:
        words = _second(sentence.main, f"{link.german} {_last(second)},")
    else:
        words = _second(sentence.main)
    if link is not None and second is not None and not sentence.second_first:
        if link.german_order == "last":
            words += f", {link.german} {_last(second)}"
        elif link.german_order == "first":
            words += f", {_second(second, link.german)}"
        else:
            words += f", {link.german} {_second(second)}"
    if ",," in words or words.endswith(","):
        words = words.replace(",,", ",").removesuffix(",")
    return words[0].upper() + words[1:] + ("?" if sentence.question else ".")
