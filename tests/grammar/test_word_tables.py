"""Reading a word list: comments, empty cells, and errors that name file and line."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from lit_transformer.errors import UserError
from lit_transformer.grammar.word_tables import Row, parse_table

WORDS = resources.files("lit_transformer.grammar").joinpath("words")
LISTS = sorted(file.name for file in WORDS.iterdir())
HEADER = "# Words.\nkey\tcase\tclasses\n"
CASES = {"": 1, "acc": 1, "dat": 2}
CLASSES = {"food": "food", "text": "text"}


def entry(row: Row) -> tuple[str, int, tuple[str, ...]]:
    return row["key"], row.choice("case", CASES), row.choices("classes", CLASSES)


def test_a_table() -> None:
    text = f"{HEADER}wait for\tacc\ttext food\n\n# A comment.\nhelp\tdat\t-\nsee\t-\ttext\n"
    assert parse_table(text, "verbs.tsv", entry) == {
        "wait for": ("wait for", 1, ("text", "food")),
        "help": ("help", 2, ()),
        "see": ("see", 1, ("text",)),
    }


def test_the_order_of_the_rows_is_kept() -> None:
    assert list(parse_table(f"{HEADER}b\t-\t-\na\t-\t-\n", "verbs.tsv", entry)) == ["b", "a"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("help\tdat", "expected 3 cells separated by tabs, each with text or -."),
        ("help\tdat\ttext\tfood", "expected 3 cells"),
        ("help\t\ttext", "expected 3 cells"),
        ("help dat text", "expected 3 cells"),
        ("help\tgen\ttext", "case is 'gen'; it must be one of -, acc, dat."),
        ("help\tdat\ttext foot", "classes is 'foot'; it must be one of food, text."),
        ("see\tacc\t-", "'see' occurs twice; key must be unique."),
    ],
)
def test_a_bad_row_is_named(row: str, message: str) -> None:
    with pytest.raises(UserError, match=rf"^verbs\.tsv, line 4: {re.escape(message)}"):
        parse_table(f"{HEADER}see\tacc\t-\n{row}\n", "verbs.tsv", entry)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UserError, match=r"^verbs\.tsv, line 2: there is no column 'case'; .* key, classes"):
        parse_table("key\tclasses\nsee\ttext\n", "verbs.tsv", entry)


@pytest.mark.parametrize("name", LISTS)
def test_every_list_explains_its_columns_and_survives_an_editor(name: str) -> None:
    text = WORDS.joinpath(name).read_text(encoding="utf-8")
    assert text.startswith("# ")
    # An editor that strips blanks at the end of a line would take empty cells away.
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
