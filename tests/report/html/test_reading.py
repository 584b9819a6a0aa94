from __future__ import annotations

import pytest

from lit_transformer.report.html.reading import LONGEST, pieces


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b", "a b", [("a b", False)]),
        ("", "a", [("a", True)]),
        ("a", "", []),
        ("a b c", "a c", [("a ", False), ("c", False)]),
        ("Er geht .", "Er ging .", [("Er ", False), ("ging ", True), (".", False)]),
    ],
)
def test_pieces(before: str, after: str, expected: list[tuple[str, bool]]) -> None:
    assert [(piece.text, piece.changed) for piece in pieces(before, after)] == expected


def test_the_pieces_are_the_text() -> None:
    before, after = "the cat sat on the mat", "a cat  sat\ton a a a mat"
    assert "".join(piece.text for piece in pieces(before, after)) == after


def test_a_hypothesis_without_an_end_is_cut() -> None:
    shown = "".join(piece.text for piece in pieces("a", "ein " * 1000))
    assert len(shown) == LONGEST
    assert shown.endswith("…")
