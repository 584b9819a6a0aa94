from __future__ import annotations

import pytest

from lit_transformer.cli.parser_messages import parser_line


@pytest.mark.parametrize(
    ("types", "allowed"),
    [
        ("[<class 'int'>, <class 'NoneType'>]", "a whole number (int) or null"),
        ("[typing.Literal['low', 'high'], <class 'NoneType'>]", "one of 'low', 'high' or null"),
        ("[typing.Literal[64, 32], typing.Literal['16', 'bf16']]", "one of 64, 32, '16', 'bf16'"),
        ("[list[str], <class 'NoneType'>]", "list[str] or null"),
        ("[dict[str, float], <class 'bool'>]", "dict[str, float] or true or false (bool)"),
    ],
)
def test_types_in_words(types: str, allowed: str) -> None:
    text = (
        'Parser key "model.size":\n  Does not validate against any of the Union subtypes\n'
        f"  Subtypes: {types}\n  Errors:\n    - Expected a <class 'int'>\n"
        "  Given value type: <class 'str'>\n  Given value: five of them"
    )
    assert parser_line(text) == f"--model.size is 'five of them'; give {allowed}. See --help."


def test_what_it_does_not_know_is_told_as_it_is() -> None:
    assert parser_line("unrecognized arguments: --frob") == "unrecognized arguments: --frob. See --help."
    text = 'Parser key "data":\n  something\n  new.'
    assert parser_line(text) == "--data: something new. See --help."


def test_a_long_value_is_cut() -> None:
    text = f'Parser key "a.b":\n Subtypes: [list[str]] Errors: - Expected a list Given value: {"x" * 999}'
    assert len(parser_line(text)) < 300
