"""Pronouns, prepositions, conjunctions, expressions of time and place, and what they are in each language."""

from __future__ import annotations

from functools import cache

from lit_transformer.grammar.entries import ACCUSATIVE, DATIVE, Link, Phrase, Preposition, Pronoun


def _pronoun(line: str) -> Pronoun:
    key, person, english, german, french, possessive = (column.strip() for column in line.split("|"))
    subject, object_form = english.split()
    nominative, accusative, dative = german.split()
    french_subject, direct, indirect, tonic = french.split()
    plural = person in "34"
    return Pronoun(
        key=key,
        person=int(person),
        english=(subject, object_form),
        german=(nominative, accusative, dative),
        french=(french_subject, direct, indirect, tonic),
        french_gender="f" if french_subject in ("elle", "elles") else "m",
        plural=plural,
        possessive=possessive,
    )


_TABLE = """
i | 0 | I me | ich mich mir | je me me moi | my
you | 1 | you you | du dich dir | tu te te toi | your
he | 2 | he him | er ihn ihm | il le lui lui | his
she | 2 | she her | sie sie ihr | elle la lui elle | her
we | 3 | we us | wir uns uns | nous nous nous nous | our
they | 4 | they them | sie sie ihnen | ils les leur eux | their
"""

PRONOUNS: dict[str, Pronoun] = {entry.key: entry for entry in map(_pronoun, _TABLE.strip().splitlines())}
"""The personal pronouns; a speaker or group whose sex is unknown is masculine in French."""

WHO = Pronoun("who", 2, ("who", "who"), ("wer", "wen", "wem"), ("qui", "qui", "qui", "qui"), "m", False, "")
"""The question pronoun for people."""

WHAT = Pronoun("what", 2, ("what", "what"), ("was", "was", "was"), ("que", "que", "que", "quoi"), "m", False, "")
"""The question pronoun for things."""

IT_WEATHER = Pronoun("weather", 2, ("it", "it"), ("es", "es", "es"), ("il", "le", "lui", "lui"), "m", False, "")
"""The subject of it rains."""

_GERMAN_THIRD = (("er", "ihn", "ihm"), ("sie", "sie", "ihr"), ("es", "es", "ihm"))
_ENGLISH_THIRD = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "n": ("it", "it", "")}


@cache
def third_person(natural: str, german_gender: int, french_gender: str, plural: bool) -> Pronoun:
    """Return the pronoun for something named before.

    Args:
        natural: ``m``, ``f`` or ``n``: he, she or it; without meaning in the plural.
        german_gender: The gender of the German noun: er, sie or es.
        french_gender: The gender of the French noun: il or elle.
        plural: Whether it is they.
    """
    feminine = french_gender == "f"
    if plural:
        french = ("elles", "les", "leur", "elles") if feminine else ("ils", "les", "leur", "eux")
        return Pronoun("3p", 4, ("they", "them"), ("sie", "sie", "ihnen"), french, french_gender, True, "their")
    subject, object_form, possessive = _ENGLISH_THIRD[natural]
    french = ("elle", "la", "lui", "elle") if feminine else ("il", "le", "lui", "lui")
    german = _GERMAN_THIRD[german_gender]
    return Pronoun("3s", 2, (subject, object_form), german, french, french_gender, False, possessive)


PREPOSITIONS: dict[str, Preposition] = {
    entry.key: entry
    for entry in (
        Preposition("in", "in", "in", DATIVE, "dans"),
        Preposition("into", "into", "in", ACCUSATIVE, "dans"),
        Preposition("on", "on", "auf", DATIVE, "sur"),
        Preposition("onto", "on", "auf", ACCUSATIVE, "sur"),
        Preposition("at_an", "at", "an", DATIVE, "à"),
        Preposition("at_auf", "at", "auf", DATIVE, "à"),
        Preposition("at_in", "at", "in", DATIVE, "à"),
        Preposition("back", "to", "in", ACCUSATIVE, "dans"),
        Preposition("to", "to", "zu", DATIVE, "à"),
        Preposition("with", "with", "mit", DATIVE, "avec"),
        Preposition("without", "without", "ohne", ACCUSATIVE, "sans"),
        Preposition("for", "for", "für", ACCUSATIVE, "pour"),
    )
}
"""The prepositions by key; ``in`` and ``into`` differ in German by case alone, and in French not at all."""

LINKS: dict[str, Link] = {
    "because": Link("because", "weil", "parce que", "last", False, False),
    "if": Link("if", "wenn", "si", "last", False, False),
    "while": Link("while", "während", "pendant que", "last", False, False),
    "that": Link("that", "dass", "que", "last", False, False),
    "whether": Link("whether", "ob", "si", "last", False, False),
    "and": Link("and", "und", "et", "second", True, False),
    "but": Link("but", "aber", "mais", "second", True, True),
    "so": Link("so", "deshalb", "donc", "first", True, True),
}
"""The conjunctions by their English form."""


def _phrases(table: str) -> tuple[Phrase, ...]:
    return tuple(Phrase(*(column.strip() for column in line.split("|"))) for line in table.strip().splitlines())


TIMES: dict[str, tuple[Phrase, ...]] = {
    "past": _phrases("""
        yesterday | gestern | hier
        last week | letzte Woche | la semaine dernière
        last month | letzten Monat | le mois dernier
        last summer | letzten Sommer | l'été dernier
        yesterday evening | gestern Abend | hier soir
        two days ago | vor zwei Tagen | il y a deux jours
        a week ago | vor einer Woche | il y a une semaine
    """),
    "present": _phrases("""
        today | heute | aujourd'hui
        every day | jeden Tag | tous les jours
        every week | jede Woche | chaque semaine
        in the evening | am Abend | le soir
        in the morning | am Morgen | le matin
        in winter | im Winter | en hiver
    """),
    "future": _phrases("""
        tomorrow | morgen | demain
        next week | nächste Woche | la semaine prochaine
        next month | nächsten Monat | le mois prochain
        next summer | nächsten Sommer | l'été prochain
        soon | bald | bientôt
        in two days | in zwei Tagen | dans deux jours
        this evening | heute Abend | ce soir
    """),
}
"""Expressions of time by the tense that they go with."""

MODAL_TIMES = (TIMES["present"][0], *TIMES["future"])
"""Expressions of time that go with a modal verb: today and the future ones."""

FREQUENCIES: dict[str, Phrase] = {
    phrase.english: phrase
    for phrase in _phrases("""
        always | immer | toujours
        often | oft | souvent
        sometimes | manchmal | parfois
        rarely | selten | rarement
    """)
}
"""Adverbs of frequency, which stand before the full verb in English and after the finite one in French."""

NEVER = Phrase("never", "nie", "jamais")
"""The adverb that negates by itself in English and German and takes ne in French."""

PLACES = _phrases("""
    in Berlin | in Berlin | à Berlin
    in Paris | in Paris | à Paris
    in Rome | in Rom | à Rome
    in Vienna | in Wien | à Vienne
    in London | in London | à Londres
    in Germany | in Deutschland | en Allemagne
    in France | in Frankreich | en France
    in Spain | in Spanien | en Espagne
    in Italy | in Italien | en Italie
    at home | zu Hause | à la maison
""")
"""Fixed places where something happens."""

GOALS = _phrases("""
    to Berlin | nach Berlin | à Berlin
    to Paris | nach Paris | à Paris
    to Rome | nach Rom | à Rome
    to Vienna | nach Wien | à Vienne
    to London | nach London | à Londres
    to Germany | nach Deutschland | en Allemagne
    to France | nach Frankreich | en France
    to Spain | nach Spanien | en Espagne
    to Italy | nach Italien | en Italie
""")
"""Fixed places where somebody goes."""

WHERE = Phrase("where", "wo", "où")
WHERE_TO = Phrase("where", "wohin", "où")
WHEN = Phrase("when", "wann", "quand")
WHY = Phrase("why", "warum", "pourquoi")

DEGREES: dict[str, Phrase] = {
    "": Phrase("", "", ""),
    "very": Phrase("very", "sehr", "très"),
    "too": Phrase("too", "zu", "trop"),
}
"""What can stand before an adjective used as a predicate."""
