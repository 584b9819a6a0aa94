"""Forms made by rule, against a grammar book; and that the word lists hold together."""

from __future__ import annotations

from collections import Counter

import pytest

from lit_transformer.grammar.adjectives import ADJECTIVES
from lit_transformer.grammar.inflection import english_past, english_third, french_verb, german_verb
from lit_transformer.grammar.nouns import NAMES, NOUNS
from lit_transformer.grammar.random_phrases import SUITABLE, THINGS
from lit_transformer.grammar.verbs import VERBS


@pytest.mark.parametrize(
    ("infinitive", "present", "we_will", "participle"),
    [
        ("manger", "mange manges mange mangeons mangent", "mangerons", "mangé"),
        ("commencer", "commence commences commence commençons commencent", "commencerons", "commencé"),
        ("acheter", "achète achètes achète achetons achètent", "achèterons", "acheté"),
        ("appeler", "appelle appelles appelle appelons appellent", "appellerons", "appelé"),
        ("envoyer", "envoie envoies envoie envoyons envoient", "enverrons", "envoyé"),
        ("voir", "vois vois voit voyons voient", "verrons", "vu"),
        ("courir", "cours cours court courons courent", "courrons", "couru"),
        ("éteindre", "éteins éteins éteint éteignons éteignent", "éteindrons", "éteint"),
    ],
)
def test_french_verbs(infinitive: str, present: str, we_will: str, participle: str) -> None:
    forms, future, past = french_verb(infinitive)
    assert (" ".join(forms), future[3], past) == (present, we_will, participle)


def test_unknown_irregular_french_verb_is_an_error() -> None:
    with pytest.raises(KeyError):
        french_verb("moudre")


@pytest.mark.parametrize(
    ("key", "i", "you", "he", "participle"),
    [
        ("work", "arbeite", "arbeitest", "arbeitet", "gearbeitet"),
        ("open", "mache", "machst", "macht", "aufgemacht"),
        ("read", "lese", "liest", "liest", "gelesen"),
        ("eat", "esse", "isst", "isst", "gegessen"),
        ("take along", "nehme", "nimmst", "nimmt", "mitgenommen"),
        ("invite", "lade", "lädst", "lädt", "eingeladen"),
        ("play", "spiele", "spielst", "spielt", "gespielt"),
        ("smile", "lächle", "lächelst", "lächelt", "gelächelt"),
        ("dance", "tanze", "tanzt", "tanzt", "getanzt"),
        ("draw", "zeichne", "zeichnest", "zeichnet", "gezeichnet"),
        ("repair", "repariere", "reparierst", "repariert", "repariert"),
        ("translate", "übersetze", "übersetzt", "übersetzt", "übersetzt"),
        ("obey", "gehorche", "gehorchst", "gehorcht", "gehorcht"),
        ("try on", "probiere", "probierst", "probiert", "anprobiert"),
        ("sell", "verkaufe", "verkaufst", "verkauft", "verkauft"),
        ("know that", "weiß", "weißt", "weiß", "gewusst"),
    ],
)
def test_german_verbs(key: str, i: str, you: str, he: str, participle: str) -> None:
    verb = VERBS[key]
    assert (*verb.german[:3], verb.german_participle) == (i, you, he, participle)


def test_german_rain() -> None:
    assert german_verb("regnen")[0][2] == "regnet"


@pytest.mark.parametrize(
    ("base", "third", "past"),
    [("try", "tries", "tried"), ("play", "plays", "played"), ("wash", "washes", "washed"), ("move", "moves", "moved")],
)
def test_english_verbs(base: str, third: str, past: str) -> None:
    assert (english_third(base), english_past(base)) == (third, past)


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
