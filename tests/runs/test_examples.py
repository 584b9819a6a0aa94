from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.runs.examples import check_examples, read_examples

SENTENCE = {"source": "a", "reference": "b", "baseline": "b", "ablated": "c", "fall": 0.5}
MOST = {"component": "e:sa:1", "drop": 3.0, "changed": 1, "sentences": [SENTENCE]}
CONTENT: dict[str, Any] = {"format": 1, "of": 500, "weights": "w", "most": MOST, "least": {**MOST, "sentences": []}}


def write(folder: Path, content: Any) -> None:
    (folder / "examples.json").write_text(json.dumps(content), encoding="utf-8")


def test_those_of_the_same_weights(tmp_path: Path) -> None:
    assert read_examples(tmp_path, "w") == {}
    write(tmp_path, CONTENT)
    assert read_examples(tmp_path, "w") == CONTENT
    assert read_examples(tmp_path, "of another model") == {}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("weights", None, "weights of examples.json is None"),
        ("of", "x", "of of examples.json is 'x'"),
        ("most", [], "most is no object"),
        ("most.component", "e:sa:x", "invalid literal"),
        ("most.changed", 1.5, "changed of most is 1.5"),
        ("most.drop", 1e16, "drop holds 1e[+]16, which is no number that can be shown"),
        ("most.sentences.0", "x", "a sentence is no object"),
        ("most.sentences.0.fall", True, "fall of a sentence is True"),
        ("least.sentences", {}, "sentences of least is {}"),
    ],
)
def test_what_cannot_be_shown(place: str, value: Any, message: str, tmp_path: Path) -> None:
    changed = copy.deepcopy(CONTENT)
    inner: Any = changed
    *path, last = [int(name) if name.isdigit() else name for name in place.split(".")]
    for name in path:
        inner = inner[name]
    inner[last] = value
    with pytest.raises(ValueError, match=message):
        check_examples(changed)
    write(tmp_path, changed)
    assert read_examples(tmp_path, "w") == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"weights": "w", "of": NaN}'])
def test_another_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "examples.json").write_text(text)
    assert read_examples(tmp_path, "w") == {}
