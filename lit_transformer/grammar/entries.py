"""The kinds of word of the grammar: what a lexicon entry knows about itself in English, German and French.

Entries compare by identity, so that looking up a noun phrase already put into words is fast. The five persons are
numbered I 0, you 1, he/she/it 2, we 3, they 4; ``you`` is always familiar and singular (du, tu), because English
does not tell the others apart. German cases are numbered nominative 0, accusative 1, dative 2; German genders
m 0, f 1, n 2, and 3 is the plural.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "de", "fr"]

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2
MASCULINE, FEMININE, NEUTER, PLURAL = 0, 1, 2, 3
THIRD_SINGULAR, THIRD_PLURAL = 2, 4


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun or a name.

    Args:
        key: The English singular; unique.
        english: Singular and plural.
        german: Nominative singular, accusative and dative singular, plural, dative plural.
        german_gender: 0, 1 or 2.
        french: Singular and plural.
        french_gender: ``m`` or ``f``.
        natural: The English pronoun's gender: ``m`` he, ``f`` she, ``n`` it, ``?`` for a word that has none (child).
        classes: What can be done with it: ``food``, ``text``, ``human``.
        name: Whether it is a proper name, which takes no article.
        mass: Whether it is a mass noun: no plural, a partitive article in French.
    """

    key: str
    english: tuple[str, str]
    german: tuple[str, str, str, str]
    german_gender: int
    french: tuple[str, str]
    french_gender: str
    natural: str
    classes: frozenset[str]
    name: bool = False
    mass: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective.

    Args:
        key: The English form; unique.
        english: Positive and comparative (empty if it is not compared here).
        german: Positive, comparative and the stem that takes endings.
        french: Masculine and feminine singular, masculine and feminine plural, masculine before a vowel.
        before: Whether French puts it before the noun.
        classes: The classes of the nouns it goes with.
        degrees: What can stand before it: the empty string, ``very``, ``too``.
    """

    key: str
    english: tuple[str, str]
    german: tuple[str, str, str]
    french: tuple[str, str, str, str, str]
    before: bool
    classes: frozenset[str]
    degrees: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb with its government in each language.

    Args:
        key: Unique name.
        frame: What it takes: ``intransitive``, ``located``, ``directed``, ``transitive``, ``ditransitive``,
            ``placing``, ``copula``, ``clausal``, ``infinitival``, ``weather``.
        objects: The classes of its objects.
        english: Base, third person singular, past.
        particle: English particle: ``away`` of throw away.
        preposition: English preposition before the object: ``for`` of wait for.
        english_double: Whether a pronoun can be its indirect object (gives me the book); explain always takes to.
        german: Present of the five persons.
        german_infinitive: Without the separable prefix.
        german_prefix: The separable prefix or the empty string.
        german_participle: With the prefix.
        german_sein: Whether the perfect is made with sein.
        german_case: The case of the object.
        german_preposition: The preposition before the object or the empty string.
        french: Present of the five persons.
        french_infinitive: The infinitive.
        french_future: Future of the five persons.
        french_participle: Masculine singular.
        french_etre: Whether the perfect is made with etre.
        french_preposition: Empty for a direct object, ``à`` or ``de``.
        french_tonic: Whether a pronoun stands after the preposition (pense à moi) and not before the verb.
        french_noun: A noun that belongs to the verb: ``visite`` of rendre visite.
        stative: A state: present only, without time, modal or frequency.
    """

    key: str
    frame: str
    objects: frozenset[str]
    english: tuple[str, str, str]
    particle: str
    preposition: str
    english_double: bool
    german: tuple[str, str, str, str, str]
    german_infinitive: str
    german_prefix: str
    german_participle: str
    german_sein: bool
    german_case: int
    german_preposition: str
    french: tuple[str, str, str, str, str]
    french_infinitive: str
    french_future: tuple[str, str, str, str, str]
    french_participle: str
    french_etre: bool
    french_preposition: str
    french_tonic: bool
    french_noun: str
    stative: bool


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb: its present in each language, person by person; ``english_to`` for want to."""

    key: str
    english: tuple[str, str]
    english_to: bool
    german: tuple[str, str, str, str, str]
    french: tuple[str, str, str, str, str]


@dataclass(frozen=True, eq=False, slots=True)
class Pronoun:
    """A personal or question pronoun.

    Args:
        key: Unique name.
        person: 0 to 4.
        english: Subject and object form.
        german: Nominative, accusative, dative.
        french: Subject, direct clitic, indirect clitic, form after a preposition.
        french_gender: ``m`` or ``f``, for the participle.
        plural: Whether French participles and adjectives take the plural.
        possessive: The possessive determiner that refers to it.
    """

    key: str
    person: int
    english: tuple[str, str]
    german: tuple[str, str, str]
    french: tuple[str, str, str, str]
    french_gender: str
    plural: bool
    possessive: str


@dataclass(frozen=True, eq=False, slots=True)
class Preposition:
    """A preposition and the case that it governs in German."""

    key: str
    english: str
    german: str
    german_case: int
    french: str


@dataclass(frozen=True, eq=False, slots=True)
class Phrase:
    """A fixed expression of time, place, frequency or question: ``yesterday``, ``in Berlin``, ``often``, ``why``."""

    english: str
    german: str
    french: str


@dataclass(frozen=True, eq=False, slots=True)
class Link:
    """What joins two clauses.

    Args:
        english: The English conjunction.
        german: The German one.
        french: The French one.
        german_order: Where the German verb of the clause stands: ``last`` (weil), ``second`` (und), ``first`` after
            an adverb that fills the place before the verb (deshalb).
        comma: Whether English puts a comma before it.
        french_comma: Whether French does.
    """

    english: str
    german: str
    french: str
    german_order: str
    comma: bool
    french_comma: bool
