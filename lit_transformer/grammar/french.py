"""Realise an abstract sentence in French: clitics, negation, agreement of participles, elision and contraction."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from lit_transformer.grammar.abstract_syntax import (
    Clause,
    Nominal,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
)
from lit_transformer.grammar.entries import Adjective, Adverbial, Noun, Pronoun
from lit_transformer.grammar.realisation import punctuated, two_clauses, words

# No word of the lexicon begins with an aspirated h.
_VOWELS = "aàâeéèêhiîoôœuyAÀÂEÉÈÊHIÎOÔŒUY"
_ELIDED = frozenset(("je", "me", "te", "le", "la", "ne", "de", "que"))

# Masculine and feminine singular, masculine and feminine plural.
_DETERMINERS = {
    "a": ("un", "une", "", ""),
    "this": ("ce", "cette", "ces", "ces"),
    "which": ("quel", "quelle", "quels", "quelles"),
    "my": ("mon", "ma", "mes", "mes"),
    "your": ("ton", "ta", "tes", "tes"),
    "his": ("son", "sa", "ses", "ses"),
    "her": ("son", "sa", "ses", "ses"),
    "our": ("notre", "notre", "nos", "nos"),
    "their": ("leur", "leur", "leurs", "leurs"),
}
_NUMBERS = {"two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "many": "beaucoup de"}
_BEFORE_VOWEL = {"ma": "mon", "ta": "ton", "sa": "son", "ce": "cet"}
_CONTRACTED = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}

_AVOIR = ("ai", "as", "a", "avons", "ont")
_ETRE = ("suis", "es", "est", "sommes", "sont")
_ETAIT = ("étais", "étais", "était", "étions", "étaient")
_DEGREES = {"": "", "very": "très", "too": "trop"}
_FIRST_CLITICS = ("me", "te", "nous")


def _agree(adjective: Adjective, gender: str, plural: bool) -> str:
    return adjective.french[(2 if plural else 0) + (gender == "f")]


def _participle(participle: str, agreeing: Nominal) -> str:
    if agreeing.french_gender == "f":
        participle += "e"
    return participle + "s" if agreeing.plural and participle[-1] != "s" else participle


def _determiner(noun: Noun, determiner: str, plural: bool, vowel: bool) -> str:
    """Return a determiner; an article that is elided before a vowel ends in an apostrophe."""
    feminine = noun.french_gender == "f"
    if determiner == "bare":
        partitive = f"de {_determiner(noun, 'the', plural, vowel)}"
        return _CONTRACTED.get(partitive, partitive)
    if determiner == "the":
        return "les" if plural else "l'" if vowel else "la" if feminine else "le"
    if determiner in _NUMBERS:
        return _NUMBERS[determiner]
    word = _DETERMINERS[determiner][2 * plural + feminine]
    return _BEFORE_VOWEL.get(word, word) if vowel else word


@lru_cache(maxsize=65536)
def _core(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None, negated: bool) -> str:
    """Realise a noun phrase without its relative clause."""
    if noun.name:
        return noun.key
    text = noun.french[plural]
    before = adjective is not None and adjective.before
    if adjective is not None:
        form = _agree(adjective, noun.french_gender, plural)
        if before and form == adjective.french[0] and text[0] in _VOWELS and not plural:
            form = adjective.french[4]
        text = f"{form} {text}" if before else f"{text} {form}"
    if (negated and determiner in ("a", "bare")) or (determiner == "bare" and plural and before):
        return f"de {text}"
    article = _determiner(noun, determiner, plural, text[0] in _VOWELS)
    return article + text if article.endswith("'") else f"{article} {text}"


def noun_phrase(nominal: Nominal | None, preposition: str = "", negated: bool = False) -> str:
    """Realise a noun phrase, or a pronoun that stands alone.

    Args:
        nominal: The noun phrase or pronoun; None gives the empty string.
        preposition: The preposition before it, contracted with the article where French does so.
        negated: Whether an indefinite article becomes de.
    """
    if nominal is None:
        return ""
    if isinstance(nominal, Pronoun):
        return f"{preposition} {nominal.french[3]}" if preposition else nominal.french[0]
    text = _core(nominal.noun, nominal.determiner, nominal.plural, nominal.adjective, negated)
    if preposition and nominal.determiner == "the" and not nominal.noun.name:
        article, _, rest = text.partition(" ")
        contracted = _CONTRACTED.get(f"{preposition} {article}", "")
        preposition, text = (contracted, rest) if contracted else (preposition, text)
    if nominal.relative is not None:
        text = f"{text} {_relative(nominal.relative)}"
    return f"{preposition} {text}" if preposition else text


def _relative(clause: Clause) -> str:
    if clause.gap == "subject":
        return f"qui {_predication(clause)}"
    pronoun = {"": "que", "à": "à qui", "de": "dont"}[clause.verb.french_preposition]
    return f"{pronoun} {noun_phrase(clause.subject)} {_predication(clause)}"


def _place(place: PrepositionalPhrase | Adverbial) -> str:
    return place.french if isinstance(place, Adverbial) else noun_phrase(place.nominal, place.preposition.french)


def _predicate(clause: Clause, predicate: Predicate) -> str:
    adjective = _agree(predicate.adjective, clause.subject.french_gender, clause.subject.plural)
    if predicate.than is not None:
        return f"plus {adjective} que {noun_phrase(predicate.than)}"
    return words(_DEGREES[predicate.degree], adjective)


def _clitics(clause: Clause) -> list[str]:
    """List the pronouns before the verb in their order: me te nous, then le la les, then lui leur."""
    target, recipient, verb = clause.stated_object, clause.stated_recipient, clause.verb
    clitics: list[str] = []
    if isinstance(target, Pronoun) and "stressed" not in verb.traits:
        clitics.append(target.french[2 if verb.french_preposition else 1])
    if isinstance(recipient, Pronoun):
        clitic = recipient.french[2]
        clitics.insert(0 if clitic in _FIRST_CLITICS else len(clitics), clitic)
    return clitics


def _perfect(clause: Clause) -> tuple[str, str]:
    """Return auxiliary and participle, which agrees with the subject or with a direct object before the verb."""
    person, verb, target = clause.subject.person, clause.verb, clause.object
    if verb.french_etre:
        return _ETRE[person], _participle(verb.french_participle, clause.subject)
    precedes = isinstance(target, Pronoun) or clause.gap == "object"
    if target is not None and precedes and not verb.french_preposition:
        return _AVOIR[person], _participle(verb.french_participle, target)
    return _AVOIR[person], verb.french_participle


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb and the participle or infinitive."""
    person, verb = clause.subject.person, clause.verb
    if clause.modal is not None:
        return clause.modal.french[person], verb.french_infinitive
    if clause.tense == "past":
        return (_ETAIT[person], "") if verb.frame == "copula" else _perfect(clause)
    return (verb.french_future if clause.tense == "future" else verb.french)[person], ""


def _complements(clause: Clause) -> list[str]:
    """List what follows the verb; some parts are empty."""
    verb, target, recipient, inner = clause.verb, clause.stated_object, clause.stated_recipient, clause.infinitive
    if isinstance(target, Pronoun) and "stressed" not in verb.traits:
        target = None
    infinitive: list[str] = []
    if inner is not None:
        infinitive = [verb.french_preposition, *_clitics(inner), inner.verb.french_infinitive, *_complements(inner)]
    return [
        verb.french_noun,
        noun_phrase(target, verb.french_preposition, clause.negative and not verb.french_preposition),
        noun_phrase(recipient, "à") if isinstance(recipient, NounPhrase) else "",
        _predicate(clause, clause.predicate) if clause.predicate is not None else "",
        *map(_place, clause.place_and_companion),
        clause.later_time.french,
        *infinitive,
    ]


def _predication(clause: Clause) -> str:
    """Realise everything after the subject."""
    finite, end = _verbs(clause)
    clitics = _clitics(clause)
    return words(
        "ne" if clause.negative else "",
        *(clitics if clause.modal is None else ()),
        finite,
        "pas" if clause.negated else "",
        clause.frequency.french,
        *(clitics if clause.modal is not None else ()),
        end,
        *_complements(clause),
    )


def _statement(clause: Clause) -> str:
    time = clause.first_time.french
    return words(f"{time}," if time else "", noun_phrase(clause.subject), _predication(clause))


def _question(sentence: Sentence) -> str:
    statement = _statement(sentence.main)
    if sentence.question == "subject":
        return statement
    preposition = "à" if sentence.question == "recipient" else sentence.main.verb.french_preposition
    return words(sentence.adverb.french, noun_phrase(sentence.asked, preposition), "est-ce que", statement)


def _elide(text: str) -> str:
    """Put an apostrophe for the last letter of some words before a vowel, and of si before il."""
    parts = text.split(" ")
    elided = []
    for word, following in pairwise(parts):
        vowel = word in _ELIDED and following[0] in _VOWELS
        si_il = word == "si" and following in ("il", "ils")
        elided.append(f"{word[:-1]}'" if vowel or si_il else f"{word} ")
    return "".join(elided) + parts[-1]


def realise(sentence: Sentence) -> str:
    """Return an abstract sentence in French, with a capital letter and a final mark.

    The space before a question mark is a plain one: tokenizers fold the narrow one to it anyway.
    """
    text = _question(sentence) if sentence.question else _statement(sentence.main)
    conjunction = sentence.conjunction
    if conjunction is not None and sentence.second is not None:
        second = f"{conjunction.french} {_statement(sentence.second)}"
        text = two_clauses(sentence, text, second, conjunction.french_comma)
    return punctuated(_elide(text), " ?" if sentence.question else ".")
