"""Read the word lists in ``words/``: tab-separated tables with one word a row.

Lines that begin with ``#`` are comments, the first other line names the columns, and ``-`` is an empty cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import TypeVar

from lit_transformer.errors import UserError

Value = TypeVar("Value")


class Row(dict[str, str]):
    """One word: the cells of a row by the names of their columns; an empty cell is the empty string."""

    def __missing__(self, column: str) -> str:
        raise ValueError(f"there is no column {column!r}; the columns are {', '.join(self)}.")

    def choice(self, column: str, choices: Mapping[str, Value]) -> Value:
        """Return the value that a cell stands for.

        Args:
            column: The name of the column.
            choices: The allowed texts and their values.

        Raises:
            ValueError: The cell holds another text.
        """
        text = self[column]
        if text not in choices:
            allowed = ", ".join(choice or "-" for choice in choices)
            raise ValueError(f"{column} is {text or '-'!r}; it must be one of {allowed}.")
        return choices[text]

    def choices(self, column: str, choices: Mapping[str, Value]) -> tuple[Value, ...]:
        """Return the values that the words of a cell stand for; arguments and error as for ``choice``."""
        return tuple(Row({column: word}).choice(column, choices) for word in self[column].split())


def parse_table(text: str, name: str, build: Callable[[Row], Value]) -> dict[str, Value]:
    """Return an entry for each word of a table, in its order, by the text in the first column.

    Args:
        text: The content of the file.
        name: The name of the file, for error messages.
        build: Makes an entry of a row; a ``ValueError`` that it raises says what is wrong with the row.

    Raises:
        UserError: A row has too few or too many cells, an empty one, a key that occurred before, or what ``build``
            rejects; the message names file and line.
    """
    entries: dict[str, Value] = {}
    columns: list[str] = []
    for number, cells in _lines(text):
        try:
            if not columns:
                columns = cells
                continue
            if len(cells) != len(columns) or "" in cells:
                raise ValueError(f"expected {len(columns)} cells separated by tabs, each with text or -.")
            if cells[0] in entries:
                raise ValueError(f"{cells[0]!r} occurs twice; {columns[0]} must be unique.")
            row = Row((column, "" if cell == "-" else cell) for column, cell in zip(columns, cells, strict=True))
            entries[cells[0]] = build(row)
        except ValueError as error:
            raise UserError(f"{name}, line {number}: {error}") from error
    return entries


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip() for cell in line.split("\t")]


def read_table(name: str, build: Callable[[Row], Value]) -> dict[str, Value]:
    """Return the entries of ``words/{name}.tsv``; see ``parse_table``."""
    file = resources.files("lit_transformer.grammar").joinpath("words", f"{name}.tsv")
    return parse_table(file.read_text(encoding="utf-8"), f"lit_transformer/grammar/words/{name}.tsv", build)
