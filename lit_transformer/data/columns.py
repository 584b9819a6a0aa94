"""The two sentences of a pair, found in either layout of columns that translation data sets use.

Nested: one column, ``translation`` or of another name, holds ``{"en": ..., "de": ...}``. Flat: a column a language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lit_transformer.data.text_files import SEPARATOR_PATTERN, one_line
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa


def missing_languages(place: str, found: list[str], source: str, target: str) -> UserError:
    """Return the error for data that lacks one of the languages; ``found`` describes the columns there are."""
    return UserError(
        f"{place} has no sentences in both {source!r} and {target!r}; it has {', '.join(found) or 'no column'}. Set "
        "--data.source_language and --data.target_language to two of these, or rename the columns."
    )


def pair_of_row(row: Mapping[str, Any], place: str, source: str, target: str) -> dict[str, str]:
    """Return the pair of one row as ``{"source": ..., "target": ...}``; a missing sentence (null) is an empty one.

    Args:
        row: The columns, nested or flat.
        place: How error messages call the row, such as ``'train.jsonl', line 3``.
        source: Code of the source language.
        target: Code of the target language.

    Raises:
        UserError: A language is missing or not text.
    """
    holders = [row, *(value for value in row.values() if isinstance(value, dict))]
    holder = next((holder for holder in holders if source in holder and target in holder), None)
    if holder is None:
        found = [_described(name, list(value) if isinstance(value, dict) else []) for name, value in row.items()]
        raise missing_languages(place, found, source, target)
    return {
        "source": _sentence(holder[source], place, source),
        "target": _sentence(holder[target], place, target),
    }


def pairs_of_table(table: pa.Table, place: str, source: str, target: str) -> pa.Table:
    """Return the pairs of a table as columns ``source`` and ``target``; a missing sentence (null) is an empty one.

    Args:
        table: Rows with nested or flat columns.
        place: How error messages call the table.
        source: Code of the source language.
        target: Code of the target language.

    Raises:
        UserError: A language is missing or not text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if {source, target} <= set(table.column_names):
        columns = {language: table[language] for language in (source, target)}
    else:
        struct = next((f.name for f in table.schema if {source, target} <= set(_languages(f.type))), None)
        if struct is None:
            found = [_described(field.name, _languages(field.type)) for field in table.schema]
            raise missing_languages(place, found, source, target)
        columns = {language: pc.struct_field(table[struct], language) for language in (source, target)}
    return pa.table(
        {
            "source": _sentences(columns[source], place, source),
            "target": _sentences(columns[target], place, target),
        }
    )


def _languages(column_type: pa.DataType) -> list[str]:
    import pyarrow as pa

    return [field.name for field in column_type] if pa.types.is_struct(column_type) else []


def _described(name: str, languages: list[str]) -> str:
    return f"{name!r} (with {', '.join(map(repr, languages))})" if languages else repr(name)


def _sentence(value: object, place: str, language: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{place}: the sentence in {language!r} is {value!r}; a sentence must be text.")
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        raise UserError(f"{place}: the sentence in {language!r} holds half of a surrogate pair: {value!r}.") from None
    return one_line(value)


def _sentences(column: pa.ChunkedArray, place: str, language: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    textual = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    if not any(is_text(column.type) for is_text in textual):
        raise UserError(f"{place}: the column {language!r} holds {column.type}; it must hold text.")
    text = pc.fill_null(column.cast(pa.string()), "")
    return pc.replace_substring_regex(text, pattern=SEPARATOR_PATTERN, replacement=" ")
