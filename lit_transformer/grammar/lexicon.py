"""The lexicon: every word by its key, read from the tables in ``words/`` when this module is first imported."""

from __future__ import annotations

from functools import cache

from lit_transformer.grammar.entries import (
    ACCUSATIVE,
    DATIVE,
    FEMININE,
    MASCULINE,
    NEUTER,
    NOMINATIVE,
    Adjective,
    Adverbial,
    Conjunction,
    Modal,
    Noun,
    Preposition,
    Pronoun,
    Verb,
)
from lit_transformer.grammar.inflection import english_past, english_third, five, french_verb, german_verb
from lit_transformer.grammar.word_tables import Row, read_table


def _texts(texts: str) -> dict[str, str]:
    """Return the allowed texts of a cell, separated by spaces here, each of which stands for itself."""
    return {text: text for text in texts.split()}


_YES_OR_NO = {"yes": True, "": False}
_FRENCH_GENDERS = _texts("m f")
_GERMAN_GENDERS = {"m": MASCULINE, "f": FEMININE, "n": NEUTER}
_GERMAN_CASES = {"nom": NOMINATIVE, "acc": ACCUSATIVE, "dat": DATIVE}
_PERSONS = {"1s": 0, "2s": 1, "3s": 2, "1p": 3, "3p": 4}
_NUMBERS = _texts("mass singular plural") | {"": ""}
_NOUN_PRONOUNS = _texts("he she it") | {"": ""}
_TRAITS = _texts("stative creation involuntary place to_only stressed")
_FRAMES = _texts("intransitive located directed transitive ditransitive placing copula clausal infinitival weather")
_ADVERBIALS = _texts("past present future frequency never in_city in_country at_home goal question")


def _noun(row: Row) -> Noun:
    english, german, german_plural, french = (row[c] for c in ("english", "german", "german_plural", "french"))
    return Noun(
        key=english,
        english=(english, row["english_plural"] or english_third(english)),
        german=(
            german,
            row["german_oblique"] or german,
            german_plural,
            german_plural if german_plural.endswith(("n", "s")) else german_plural + "n",
        ),
        german_gender=row.choice("german_gender", _GERMAN_GENDERS),
        french=(french, row["french_plural"] or french + "s"),
        french_gender=row.choice("french_gender", _FRENCH_GENDERS),
        pronoun=row.choice("pronoun", _NOUN_PRONOUNS),
        classes=frozenset(row["classes"].split()),
        number=row.choice("number", _NUMBERS),
    )


def _name(row: Row) -> Noun:
    name, feminine = row["name"], row.choice("pronoun", {"he": False, "she": True})
    return Noun(
        key=name,
        english=(name, name),
        german=(name, name, name, name),
        german_gender=FEMININE if feminine else MASCULINE,
        french=(name, name),
        french_gender="f" if feminine else "m",
        pronoun=row["pronoun"],
        classes=frozenset(("human",)),
        number="name",
    )


NOUNS = read_table("nouns", _noun)
"""The common nouns by their English singular."""

NAMES = read_table("names", _name)
"""The first names; all are spelt alike in the three languages."""

CLASSES = {name: name for noun in NOUNS.values() for name in noun.classes}
"""The classes of nouns; what else names a class must name one of these."""


def _adjective(row: Row) -> Adjective:
    german, masculine = row["german"], row["french"]
    feminine = row["french_feminine"] or masculine + ("" if masculine.endswith("e") else "e")
    plural = masculine + ("" if masculine[-1] in "sx" else "x" if masculine.endswith("eau") else "s")
    return Adjective(
        key=row["english"],
        english=(row["english"], row["english_comparative"]),
        german=(german, row["german_comparative"], row["german_stem"] or german),
        french=(masculine, feminine, plural, feminine + "s", row["french_before_vowel"] or masculine),
        before=row.choice("french_position", {"before": True, "after": False}),
        classes=frozenset(row.choices("classes", CLASSES)),
        degrees=("", *row.choices("degrees", _texts("very too"))),
    )


ADJECTIVES = read_table("adjectives", _adjective)
"""The adjectives by their English form."""


def _preposition(row: Row) -> Preposition:
    return Preposition(
        row["key"], row["english"], row["german"], row.choice("german_case", _GERMAN_CASES), row["french"]
    )


PREPOSITIONS = read_table("prepositions", _preposition)
"""The prepositions by key; ``in`` and ``into`` differ in German by case alone, and in French not at all."""


def _verb(row: Row) -> Verb:
    base = row["english"]
    prefix, _, german = row["german"].rpartition("-")
    german_present, german_participle = german_verb(german, row["german_third"], row["german_participle"])
    french_present, french_future, french_participle = french_verb(row["french"])
    traits = frozenset(row.choices("traits", _TRAITS))
    return Verb(
        key=row["key"],
        frame=row.choice("frame", _FRAMES),
        objects=frozenset(row.choices("objects", CLASSES)),
        companions=row.choices("companions", PREPOSITIONS),
        traits=traits,
        stative="stative" in traits,
        english=(base, english_third(base), row["english_past"] or english_past(base)),
        particle=row["particle"],
        preposition=row["preposition"],
        german=german_present,
        german_infinitive=german,
        german_prefix=prefix,
        german_participle=prefix + german_participle,
        german_sein=row.choice("german_auxiliary", {"haben": False, "sein": True}),
        german_case=row.choice("german_case", {"": ACCUSATIVE, "acc": ACCUSATIVE, "dat": DATIVE}),
        german_preposition=row["german_preposition"],
        french=french_present,
        french_infinitive=row["french"],
        french_future=french_future,
        french_participle=french_participle,
        french_etre=row.choice("french_auxiliary", {"avoir": False, "être": True}),
        french_preposition=row.choice("french_preposition", {"": "", "à": "à", "de": "de"}),
        french_noun=row["french_noun"],
    )


VERBS = read_table("verbs", _verb)
"""The full verbs and the copula by key."""

BE = VERBS["be"]
"""The copula: its past is was, war, était."""


def _modal(row: Row) -> Modal:
    return Modal(row["key"], (row["english"], row["english_third"]), five(row["german"]), five(row["french"]))


MODALS = read_table("modals", _modal)
"""The modal verbs by key."""


def _pronoun(row: Row) -> Pronoun:
    return Pronoun(
        key=row["key"],
        person=row.choice("person", _PERSONS),
        english=(row["english_subject"], row["english_object"]),
        german=(row["german_nominative"], row["german_accusative"], row["german_dative"]),
        french=(row["french_subject"], row["french_direct"], row["french_indirect"], row["french_stressed"]),
        french_gender=row.choice("french_gender", _FRENCH_GENDERS),
        possessive=row["possessive"],
    )


PRONOUNS = read_table("pronouns", _pronoun)
"""The personal and question pronouns by key; ``they_f`` are women and feminine things in French."""


@cache
def anaphor(noun: Noun, plural: bool) -> Pronoun:
    """Return the pronoun for something named before, whose gender differs between the languages.

    Args:
        noun: The noun; in the singular one with a pronoun.
        plural: Whether it is they.
    """
    feminine = noun.french_gender == "f"
    if plural:
        english = german = PRONOUNS["they"]
        french = PRONOUNS["they_f" if feminine else "they"]
    else:
        english = PRONOUNS[noun.pronoun]
        german = PRONOUNS[("he", "she", "it")[noun.german_gender]]
        french = PRONOUNS["she" if feminine else "he"]
    person, possessive = english.person, english.possessive
    return Pronoun("anaphor", person, english.english, german.german, french.french, noun.french_gender, possessive)


def _conjunction(row: Row) -> Conjunction:
    return Conjunction(
        english=row["english"],
        german=row["german"],
        french=row["french"],
        german_verb=row.choice("german_verb", _texts("first second last")),
        english_comma=row.choice("english_comma", _YES_OR_NO),
        french_comma=row.choice("french_comma", _YES_OR_NO),
    )


CONJUNCTIONS = read_table("conjunctions", _conjunction)
"""The conjunctions by their English form."""


def _adverbial(row: Row) -> Adverbial:
    return Adverbial(row["german"], row["english"], row["french"], row.choice("kind", _ADVERBIALS))


ADVERBIALS = read_table("adverbials", _adverbial)
"""The adverbials by their German form, the only one that is unique: where is wo and wohin."""


def adverbials(*kinds: str) -> tuple[Adverbial, ...]:
    """Return the adverbials of some kinds, kind by kind."""
    return tuple(entry for kind in kinds for entry in ADVERBIALS.values() if entry.kind == kind)
