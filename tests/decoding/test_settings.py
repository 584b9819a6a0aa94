from __future__ import annotations

from typing import Any

import pytest

from lit_transformer.decoding import DecodingSettings
from lit_transformer.errors import UserError


def test_defaults_are_vaswanis() -> None:
    assert DecodingSettings().as_dict() == {
        "beam": 4,
        "length_penalty": 0.6,
        "max_extra_pieces": 50,
        "precision": "float32",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beam", 0),
        ("beam", -3),
        ("length_penalty", -0.1),
        ("length_penalty", float("nan")),
        ("length_penalty", float("inf")),
        ("max_extra_pieces", -1),
        ("precision", "float16"),
    ],
)
def test_refuses_what_no_search_can_follow(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"--model\.decoding\.{name} is {value!r}; give "):
        DecodingSettings(**{name: value})
