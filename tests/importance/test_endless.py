from __future__ import annotations

from lit_transformer.importance.endless import endless_line, is_much_more


def test_how_much_is_much() -> None:
    assert not is_much_more(0.05, 0.0)
    assert is_much_more(0.051, 0.0)
    assert not is_much_more(0.99, 0.95)


def test_one_line_about_all_variants() -> None:
    assert endless_line({"d:sa:1": 0.01, "d:ff:1": 0.04}, 0.0) is None
    assert endless_line({}, 0.0) is None
    assert endless_line({"d:sa:1": 0.01, "d:ea:2": 0.34, "d:ff:1 at 0.4": 0.1}, 0.004) == (
        "The model forgets to stop in 2 of 3 variants, most in d:ea:2: 34.0 % of the translations met the length limit "
        "before their end, 0.4 % of the whole model's."
    )
