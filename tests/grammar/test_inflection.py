"""Forms made by rule, against a grammar book."""

from __future__ import annotations

import pytest

from lit_transformer.grammar.inflection import english_past, english_third, five, french_verb, german_verb
from lit_transformer.grammar.lexicon import VERBS


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
    with pytest.raises(ValueError, match=r"'moudre' does not end in -er; add it to french_irregular_verbs\.tsv"):
        french_verb("moudre")


def test_a_missing_person_is_an_error() -> None:
    with pytest.raises(ValueError, match="'vais vas va allons' has 4 forms; give one for each of the 5 persons"):
        five("vais vas va allons")


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


def test_the_copula_is_irregular() -> None:
    be = VERBS["be"]
    assert be.english == ("be", "is", "was")
    assert (*be.german, be.german_participle) == ("bin", "bist", "ist", "sind", "sind", "gewesen")
    assert (*be.french, be.french_future[3], be.french_participle) == (
        *("suis", "es", "est", "sommes", "sont"),
        *("serons", "été"),
    )


def test_german_rain() -> None:
    assert german_verb("regnen")[0][2] == "regnet"


@pytest.mark.parametrize(
    ("base", "third", "past"),
    [("try", "tries", "tried"), ("play", "plays", "played"), ("wash", "washes", "washed"), ("move", "moves", "moved")],
)
def test_english_verbs(base: str, third: str, past: str) -> None:
    assert (english_third(base), english_past(base)) == (third, past)
