"""French from an abstract sentence: clitics, negation, agreement of participles, elision and contraction."""

from __future__ import annotations

import re
from functools import lru_cache

from lit_transformer.grammar.abstract_syntax import Clause, Nominal, NounPhrase, PrepositionalPhrase, Sentence
from lit_transformer.grammar.entries import Adjective, Noun, Phrase, Pronoun
from lit_transformer.grammar.function_words import DEGREES, NEVER

# No word of the lexicon begins with an aspirated h.
_VOWELS = "aàâeéèêhiîoôœuyAÀÂEÉÈÊHIÎOÔŒUY"
_ELIDED = re.compile(rf"(?<![\w'-])([jdnmtlJDNMTL]|[Qq]u)e (?=[{_VOWELS}])|(?<![\w'-])([Ll])a (?=[{_VOWELS}])")
_SI = re.compile(r"\b([Ss])i (?=ils?\b)")

# Masculine singular, feminine singular, plural.
_DETERMINERS = {
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
    "a": ("un", "une", ""),
    "two": ("", "", "deux"),
    "three": ("", "", "trois"),
    "four": ("", "", "quatre"),
    "five": ("", "", "cinq"),
    "many": ("", "", "beaucoup de"),
    "this": ("ce", "cette", "ces"),
}
_BEFORE_VOWEL = {"ma": "mon", "ta": "ton", "sa": "son", "ce": "cet"}
_CONTRACTED = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}

_AVOIR = ("ai", "as", "a", "avons", "ont")
_ETRE = ("suis", "es", "est", "sommes", "sont")
_ETAIT = ("étais", "étais", "était", "étions", "étaient")
_FIRST_CLITICS = ("me", "te", "nous")


def _agree(adjective: Adjective, gender: str, plural: bool) -> str:
    return adjective.french[(2 if plural else 0) + (gender == "f")]


def _participle(participle: str, gender: str, plural: bool) -> str:
    if gender == "f":
        participle += "e"
    return participle + "s" if plural and participle[-1] != "s" else participle


def _determiner(noun: Noun, determiner: str, plural: bool, following: str, negated: bool) -> str:
    vowel = following[0] in _VOWELS
    feminine = noun.french_gender == "f"
    if negated and determiner in ("a", "bare"):
        return "de"
    if determiner == "which":
        return ("quelles" if feminine else "quels") if plural else "quelle" if feminine else "quel"
    if determiner == "the" or (determiner == "bare" and not plural):
        article = "les" if plural else "l'" if vowel else "la" if feminine else "le"
        if determiner == "the":
            return article
        return _CONTRACTED.get(f"de {article}", f"de {article}")
    if determiner == "bare":
        return "des"
    word = _DETERMINERS[determiner][2 if plural else feminine]
    return _BEFORE_VOWEL.get(word, word) if vowel else word


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None, negated: bool) -> str:
    """Put a noun phrase without its relative clause into words."""
    if noun.name:
        return noun.key
    word = noun.french[plural]
    if adjective is not None:
        form = _agree(adjective, noun.french_gender, plural)
        if adjective.before and form == adjective.french[0] and word[0] in _VOWELS and not plural:
            form = adjective.french[4]
        word = f"{form} {word}" if adjective.before else f"{word} {form}"
    article = _determiner(noun, determiner, plural, word, negated)
    if article == "des" and determiner == "bare" and adjective is not None and adjective.before:
        article = "de"
    return article + word if article.endswith("'") else f"{article} {word}"


def noun_phrase(nominal: Nominal, preposition: str = "", negated: bool = False) -> str:
    """Put a noun phrase or a pronoun that stands alone into words.

    Args:
        nominal: The noun phrase or pronoun.
        preposition: The preposition before it, contracted with the article where French does so.
        negated: Whether an indefinite article becomes de.
    """
    if isinstance(nominal, Pronoun):
        return f"{preposition} {nominal.french[3]}" if preposition else nominal.french[0]
    words = _core(nominal.noun, nominal.determiner, nominal.plural, nominal.adjective, negated)
    if nominal.relative is not None:
        words = f"{words} {_relative(nominal, nominal.relative)}"
    if not preposition:
        return words
    if nominal.determiner == "the" and not nominal.noun.name:
        article, _, rest = words.partition(" ")
        contracted = _CONTRACTED.get(f"{preposition} {article}")
        if contracted:
            return f"{contracted} {rest}"
    return f"{preposition} {words}"


def _relative(head: NounPhrase, clause: Clause) -> str:
    if clause.gap == "subject":
        return f"qui {_predication(clause)}"
    preposition = clause.verb.french_preposition
    pronoun = {"": "que", "à": "à qui", "de": "dont"}[preposition]
    return f"{pronoun} {noun_phrase(clause.subject)} {_predication(clause)}"


def _place(place: PrepositionalPhrase | Phrase) -> str:
    return place.french if isinstance(place, Phrase) else noun_phrase(place.nominal, place.preposition.french)


def _clitics(clause: Clause) -> list[str]:
    """List the pronouns before the verb in their order: me te nous, then le la les, then lui leur."""
    target, recipient, government = clause.object, clause.recipient, clause.verb.french_preposition
    words: list[str] = []
    if isinstance(target, Pronoun) and clause.gap != "object":
        if not government:
            words.append(target.french[1])
        elif not clause.verb.french_tonic:
            words.append(target.french[2])
    if isinstance(recipient, Pronoun) and clause.gap != "recipient":
        clitic = recipient.french[2]
        words.insert(0 if clitic in _FIRST_CLITICS else len(words), clitic)
    return words


def _preceding_object(clause: Clause) -> Nominal | None:
    """Return the direct object that stands before the verb, with which the participle agrees."""
    target = clause.object
    if target is None or clause.verb.french_preposition:
        return None
    return target if isinstance(target, Pronoun) or clause.gap == "object" else None


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and the participle or infinitive."""
    person, verb = clause.subject.person, clause.verb
    if clause.modal is not None:
        return clause.modal.french[person], verb.french_infinitive
    if clause.tense == "future":
        return verb.french_future[person], ""
    if clause.tense == "present":
        return verb.french[person], ""
    if verb.frame == "copula":
        return _ETAIT[person], ""
    if verb.french_etre:
        subject = clause.subject
        return _ETRE[person], _participle(verb.french_participle, subject.french_gender, subject.plural)
    before = _preceding_object(clause)
    if before is None:
        return _AVOIR[person], verb.french_participle
    return _AVOIR[person], _participle(verb.french_participle, before.french_gender, before.plural)


def _complements(clause: Clause) -> list[str]:
    """List what follows the verb, time excluded."""
    verb, words = clause.verb, []
    negated = clause.negated or clause.frequency is NEVER
    if verb.french_noun:
        words.append(verb.french_noun)
    target = clause.object
    if target is not None and clause.gap != "object":
        if not isinstance(target, Pronoun):
            words.append(noun_phrase(target, verb.french_preposition, negated and not verb.french_preposition))
        elif verb.french_tonic:
            words.append(noun_phrase(target, verb.french_preposition))
    if isinstance(clause.recipient, NounPhrase) and clause.gap != "recipient":
        words.append(noun_phrase(clause.recipient, "à"))
    if clause.predicate is not None:
        words.append(_predicate(clause))
    around = [clause.place, clause.companion]
    if clause.companion is not None and clause.companion.preposition.key == "for":
        around.reverse()
    words += [_place(phrase) for phrase in around if phrase is not None]
    return words


def _predicate(clause: Clause) -> str:
    predicate = clause.predicate
    assert predicate is not None
    form = _agree(predicate.adjective, clause.subject.french_gender, clause.subject.plural)
    if predicate.than is not None:
        return f"plus {form} que {noun_phrase(predicate.than)}"
    degree = DEGREES[predicate.degree].french
    return f"{degree} {form}" if degree else form


def _time(clause: Clause) -> list[str]:
    return [] if clause.time is None or clause.fronted else [clause.time.french]


def _predication(clause: Clause) -> str:
    """Put everything after the subject into words."""
    finite, end = _verbs(clause)
    clitics = _clitics(clause)
    never = clause.frequency is NEVER
    words = ["ne"] if clause.negated or never else []
    if clause.modal is None:
        words += clitics
    words.append(finite)
    if clause.negated:
        words.append("pas")
    if clause.frequency is not None:
        words.append(clause.frequency.french)
    if clause.modal is not None:
        words += clitics
    if end:
        words.append(end)
    words += _complements(clause) + _time(clause)
    inner = clause.infinitive
    if inner is not None:
        verb = inner.verb.french_infinitive
        words += [clause.verb.french_preposition, *_clitics(inner), verb, *_complements(inner), *_time(inner)]
    return " ".join(words)


def _statement(clause: Clause) -> str:
    words = f"{noun_phrase(clause.subject)} {_predication(clause)}"
    return f"{clause.time.french}, {words}" if clause.time is not None and clause.fronted else words


def _question(sentence: Sentence) -> str:
    clause = sentence.main
    asked = f"est-ce que {_statement(clause)}"
    if sentence.question == "yes_no":
        return asked
    if sentence.question == "subject":
        return _statement(clause)
    if sentence.adverb is not None:
        return f"{sentence.adverb.french} {asked}"
    if sentence.question == "recipient":
        assert clause.recipient is not None
        return f"{noun_phrase(clause.recipient, 'à')} {asked}"
    target = clause.object
    assert target is not None
    return f"{noun_phrase(target, clause.verb.french_preposition)} {asked}"


def realise(sentence: Sentence) -> str:
    """Put an abstract sentence into French.

    The space before a question mark is a plain one: tokenizers fold the narrow one to it anyway.

    Args:
        sentence: The abstract sentence.

    Returns:
        One sentence with a capital letter and a final mark.
    """
    words = _question(sentence) if sentence.question else _statement(sentence.main)
    link, second = sentence.link, sentence.second
    if link is not None and second is not None:
        other = f"{link.french} {_statement(second)}"
        if sentence.second_first:
            words = f"{other}, {words}"
        else:
            words = f"{words}, {other}" if link.french_comma else f"{words} {other}"
    words = _ELIDED.sub(r"\1\2'", words)
    if "si il" in words:
        words = _SI.sub(r"\1'", words)
    return words[0].upper() + words[1:] + (" ?" if sentence.question else ".")
