"""The words of the lexicon, against a grammar book; and that they hold together."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from lit_transformer.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, PRONOUNS, VERBS, anaphor
from lit_transformer.grammar.random_phrases import SUITABLE, THINGS


@pytest.mark.parametrize(
    ("key", "accusative", "dative_plural", "french_plural"),
    [
        ("neighbour", "Nachbarn", "Nachbarn", "voisins"),
        ("child", "Kind", "Kindern", "enfants"),
        ("car", "Auto", "Autos", "voitures"),
        ("teacher", "Lehrer", "Lehrern", "professeurs"),
        ("horse", "Pferd", "Pferden", "chevaux"),
        ("son", "Sohn", "Söhnen", "fils"),
    ],
)
def test_nouns(key: str, accusative: str, dative_plural: str, french_plural: str) -> None:
    noun = NOUNS[key]
    assert (noun.german[1], noun.german[3], noun.french[1]) == (accusative, dative_plural, french_plural)


@pytest.mark.parametrize(
    ("key", "forms"),
    [
        ("old", "vieux vieille vieux vieilles vieil"),
        ("new", "nouveau nouvelle nouveaux nouvelles nouvel"),
        ("white", "blanc blanche blancs blanches blanc"),
        ("happy", "heureux heureuse heureux heureuses heureux"),
        ("red", "rouge rouge rouges rouges rouge"),
    ],
)
def test_french_adjectives(key: str, forms: str) -> None:
    assert " ".join(ADJECTIVES[key].french) == forms


def test_each_noun_and_adjective_is_one_word_in_each_language() -> None:
    nouns = [*NOUNS.values(), *NAMES.values()]
    for words in (
        [noun.english[0] for noun in nouns],
        [noun.german[0] for noun in nouns],
        [noun.french[0] for noun in nouns],
        [adjective.german[0] for adjective in ADJECTIVES.values()],
        [adjective.french[0] for adjective in ADJECTIVES.values()],
    ):
        assert Counter(words).most_common(1)[0][1] == 1


def test_every_class_of_objects_and_adjectives_has_nouns() -> None:
    classes = {name for noun in NOUNS.values() for name in noun.classes}
    for verb in VERBS.values():
        assert verb.objects <= classes, verb.key
        if verb.frame in ("transitive", "ditransitive", "placing"):
            assert THINGS[verb] or "human" in verb.objects, verb.key
    for adjective in ADJECTIVES.values():
        assert adjective.classes <= classes, adjective.key
    assert all(noun in SUITABLE for noun in NOUNS.values())


def test_french_words_with_h_are_those_with_a_mute_one() -> None:
    mute = {"homme", "histoire", "hôtel", "hôpital", "heureux", "habiter"}
    words = {noun.french[0] for noun in NOUNS.values()} | {entry.french[0] for entry in ADJECTIVES.values()}
    words |= {verb.french_infinitive for verb in VERBS.values()}
    assert {word for word in words if word.startswith("h")} <= mute


@pytest.mark.parametrize(
    ("noun", "plural", "english", "german", "french", "possessive"),
    [
        ("woman", False, ("she", "her"), ("sie", "sie", "ihr"), ("elle", "la", "lui", "elle"), "her"),
        ("girl", True, ("they", "them"), ("sie", "sie", "ihnen"), ("elles", "les", "leur", "elles"), "their"),
        ("key", False, ("it", "it"), ("er", "ihn", "ihm"), ("elle", "la", "lui", "elle"), ""),
        ("book", False, ("it", "it"), ("es", "es", "ihm"), ("il", "le", "lui", "lui"), ""),
        ("book", True, ("they", "them"), ("sie", "sie", "ihnen"), ("ils", "les", "leur", "eux"), "their"),
    ],
)
def test_anaphor_has_the_gender_of_the_noun(
    noun: str, plural: bool, english: tuple[str, ...], german: tuple[str, ...], french: tuple[str, ...], possessive: str
) -> None:
    pronoun = anaphor(NOUNS[noun], plural)
    assert (pronoun.english, pronoun.german, pronoun.french) == (english, german, french)
    assert (pronoun.possessive, pronoun.plural) == (possessive, plural)


def test_the_pronoun_of_the_weather_is_the_one_of_things() -> None:
    it = PRONOUNS["it"]
    assert (it.english[0], it.german[0], it.french[0], it.person) == ("it", "es", "il", 2)


def test_the_word_lists_are_read_for_the_first_pair() -> None:
    code = (
        "import sys; from lit_transformer.grammar import generate; pairs = generate('en', 'de', 'train', 1, 1);"
        "name = 'lit_transformer.grammar.lexicon'; before = name in sys.modules; next(pairs);"
        "print(before, name in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["False", "True"]
