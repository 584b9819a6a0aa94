"""Inflection by rule: German and French verbs, English verbs and plurals.

Only what the rules cannot know is written down: principal parts of irregular verbs.
"""

from __future__ import annotations

from functools import cache

from lit_transformer.grammar.entries import Five
from lit_transformer.grammar.word_tables import read_table

_IRREGULAR_ENGLISH_THIRD = {"be": "is"}
_IRREGULAR_GERMAN_PRESENT: dict[str, Five] = {
    "sein": ("bin", "bist", "ist", "sind", "sind"),
    "wissen": ("weiß", "weißt", "weiß", "wissen", "wissen"),
}
# Verbs with these prefixes form the participle without ge-.
_INSEPARABLE = ("be", "emp", "ent", "er", "über", "ver")


def five(forms: str) -> Five:
    """Return the forms of the five persons, written with spaces between them.

    Raises:
        ValueError: There are not five of them.
    """
    parts = forms.split()
    if len(parts) != 5:
        raise ValueError(f"{forms!r} has {len(parts)} forms; give one for each of the 5 persons.")
    first, second, third, we, they = parts
    return first, second, third, we, they


@cache
def _irregular_french() -> dict[str, tuple[Five, str, str]]:
    """Read present, stem of the future and past participle by the infinitive."""
    return read_table(
        "french_irregular_verbs", lambda row: (five(row["present"]), row["future_stem"], row["participle"])
    )


def french_verb(infinitive: str) -> tuple[Five, Five, str]:
    """Return present, future and past participle of a French verb.

    Args:
        infinitive: A regular verb in -er, or one of the table of irregular verbs.

    Raises:
        ValueError: The verb is neither.
    """
    if infinitive in _irregular_french():
        present, future, participle = _irregular_french()[infinitive]
    else:
        stem = infinitive.removesuffix("er")
        if stem == infinitive:
            raise ValueError(f"{infinitive!r} does not end in -er; add it to french_irregular_verbs.tsv.")
        soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)
        present = five(f"{stem}e {stem}es {stem}e {soft}ons {stem}ent")
        future, participle = infinitive, stem + "é"
    return present, five(" ".join(future + ending for ending in ("ai", "as", "a", "ons", "ont"))), participle


def german_verb(infinitive: str, third: str = "", participle: str = "") -> tuple[Five, str]:
    """Return the present and the past participle of a German verb without its separable prefix.

    Args:
        infinitive: The infinitive.
        third: Third person singular, if the stem changes.
        participle: The past participle, if it is irregular.
    """
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    extra = "e" if stem[-1] in "td" or stem.endswith(("chn", "ffn", "gn")) else ""
    regular = f"{stem}{extra}t"
    if not participle:
        bare = stem.endswith("ier") or infinitive.startswith(_INSEPARABLE)
        participle = regular if bare else "ge" + regular
    third = third or regular
    second = third if third[-2] in "sßzx" else third[:-1] + "st"
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    present = (first, second, third, infinitive, infinitive)
    return _IRREGULAR_GERMAN_PRESENT.get(infinitive, present), participle


def english_third(base: str) -> str:
    """Return the third person singular, or by the same rule the plural of a noun."""
    if base in _IRREGULAR_ENGLISH_THIRD:
        return _IRREGULAR_ENGLISH_THIRD[base]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def english_past(base: str) -> str:
    """Return the past of a regular verb that doubles no consonant."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")
