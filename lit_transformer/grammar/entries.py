"""The kinds of entry in the lexicon, with the forms of a word in English, German and French.

Entries compare by identity, so that looking up the text of a noun phrase is fast. The five persons are numbered I 0,
you 1, he/she/it 2, we 3, they 4; *you* is always familiar and singular (du, tu), because English does not tell the
others apart. German cases are numbered nominative 0, accusative 1, dative 2; German genders masculine 0, feminine 1,
neuter 2, and 3 is the plural.
"""

from __future__ import annotations

from dataclasses import dataclass

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2
MASCULINE, FEMININE, NEUTER, PLURAL = 0, 1, 2, 3
THIRD_SINGULAR, THIRD_PLURAL = 2, 4

Five = tuple[str, str, str, str, str]
"""The forms of the five persons."""


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun or a first name.

    Args:
        key: The English singular; unique.
        english: Singular and plural.
        german: Nominative singular, accusative and dative singular, plural, dative plural.
        german_gender: 0, 1 or 2.
        french: Singular and plural.
        french_gender: ``m`` or ``f``.
        pronoun: The English pronoun in the singular: ``he``, ``she``, ``it``, or empty where any is used (child).
        classes: What can be done with it: ``food``, ``text``, ``human``.
        number: ``mass`` (no plural; a partitive article in French), ``singular`` or ``plural`` if it is nearly always
            used in that number, else empty; ``name`` for a name, which takes no article.
    """

    key: str
    english: tuple[str, str]
    german: tuple[str, str, str, str]
    german_gender: int
    french: tuple[str, str]
    french_gender: str
    pronoun: str
    classes: frozenset[str]
    number: str = ""

    @property
    def name(self) -> bool:
        """Whether it is a first name."""
        return self.number == "name"

    @property
    def mass(self) -> bool:
        """Whether it is a mass noun."""
        return self.number == "mass"


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective.

    Args:
        key: The English form; unique.
        english: Positive and comparative (empty if it is not compared here).
        german: Positive, comparative and the stem that takes endings.
        french: Masculine and feminine singular, masculine and feminine plural, masculine before a vowel.
        before: Whether French puts it before the noun.
        classes: The classes of the nouns that it describes.
        degrees: What can stand before it as a predicate: the empty string, ``very``, ``too``.
    """

    key: str
    english: tuple[str, str]
    german: tuple[str, str, str]
    french: Five
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
        companions: The prepositions of those who take part.
        traits: Properties that ``words/verbs.tsv`` explains: ``creation``, ``involuntary``, ``place``, ...
        stative: Whether it is a state: present only, without time, modal or frequency.
        english: Base, third person singular, past.
        particle: English particle: ``away`` of throw away.
        preposition: English preposition before the object: ``for`` of wait for.
        german: Present of the five persons.
        german_infinitive: Without the separable prefix.
        german_prefix: The separable prefix or the empty string.
        german_participle: With the prefix.
        german_sein: Whether the perfect is formed with sein.
        german_case: The case of the object.
        german_preposition: The preposition before the object or the empty string.
        french: Present of the five persons.
        french_infinitive: The infinitive.
        french_future: Future of the five persons.
        french_participle: Masculine singular.
        french_etre: Whether the perfect is formed with être.
        french_preposition: Empty for a direct object, ``à`` or ``de``.
        french_noun: A noun that belongs to the verb: ``visite`` of rendre visite.
    """

    key: str
    frame: str
    objects: frozenset[str]
    companions: tuple[Preposition, ...]
    traits: frozenset[str]
    stative: bool
    english: tuple[str, str, str]
    particle: str
    preposition: str
    german: Five
    german_infinitive: str
    german_prefix: str
    german_participle: str
    german_sein: bool
    german_case: int
    german_preposition: str
    french: Five
    french_infinitive: str
    french_future: Five
    french_participle: str
    french_etre: bool
    french_preposition: str
    french_noun: str


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb: its English form for all persons but the third singular, that one, and the five persons."""

    key: str
    english: tuple[str, str]
    german: Five
    french: Five


@dataclass(frozen=True, eq=False, slots=True)
class Pronoun:
    """A personal or question pronoun.

    Args:
        key: Unique name; ``anaphor`` for one that refers to a noun.
        person: 0 to 4.
        english: Subject and object form.
        german: Nominative, accusative, dative.
        french: Subject, direct clitic, indirect clitic, stressed form (after a preposition).
        french_gender: ``m`` or ``f``, for the participle.
        possessive: The possessive determiner that refers to it.
    """

    key: str
    person: int
    english: tuple[str, str]
    german: tuple[str, str, str]
    french: tuple[str, str, str, str]
    french_gender: str
    possessive: str

    @property
    def plural(self) -> bool:
        """Whether French participles and adjectives take the plural."""
        return self.person > THIRD_SINGULAR


@dataclass(frozen=True, eq=False, slots=True)
class Preposition:
    """A preposition and the case that it governs in German."""

    key: str
    english: str
    german: str
    german_case: int
    french: str


@dataclass(frozen=True, eq=False, slots=True)
class Adverbial:
    """A fixed expression of time, frequency or place, or a question word: *yesterday*, *often*, *in Berlin*, *why*."""

    german: str
    english: str
    french: str
    kind: str


@dataclass(frozen=True, eq=False, slots=True)
class Conjunction:
    """What joins two clauses.

    Args:
        english: The English conjunction.
        german: The German one.
        french: The French one.
        german_verb: Where the German verb of the clause stands: ``last`` (weil), ``second`` (und), ``first`` after an
            adverb that fills the place before the verb (deshalb).
        english_comma: Whether English puts a comma before it.
        french_comma: Whether French does.
    """

    english: str
    german: str
    french: str
    german_verb: str
    english_comma: bool
    french_comma: bool
