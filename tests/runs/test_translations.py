from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.runs.translations import read_split_scores, read_texts
from lit_transformer.training.translations import Translation, write_translations

CONTENT: dict[str, Any] = {
    "scores": {"test/bleu": 30.5, "test/loss": 2.0, "test/perplexity": float("inf")},
    "scoring_set": {"split": "test", "name": "test2016", "sentences": 2},
    "signature": "nrefs:1",
    "data": {"dataset": "grammar"},
    "decoding": {"beam": 4},
}


def write(run: Path, name: str, text: str) -> Path:
    folder = run / "translations" / "average" / name
    folder.mkdir(parents=True)
    (folder / "scores.json").write_text(text, encoding="utf-8")
    return folder


def test_the_splits_that_were_scored(tmp_path: Path) -> None:
    assert list(read_split_scores(tmp_path, "average")) == []
    folders = [write(tmp_path, name, json.dumps(CONTENT)) for name in ("test2016", "test2017")]
    assert list(read_split_scores(tmp_path, "average")) == [(folder, CONTENT) for folder in folders]
    assert list(read_split_scores(tmp_path, "best-loss")) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "[" * 100_000),
        *(json.dumps({name: value for name, value in CONTENT.items() if name != left_out}) for left_out in CONTENT),
        json.dumps({**CONTENT, "scores": {"test/bleu": "high"}}),
        json.dumps({**CONTENT, "scoring_set": {"split": "test"}}),
    ],
)
def test_a_file_that_was_edited_is_as_if_it_were_missing(text: str, tmp_path: Path) -> None:
    write(tmp_path, "a", text)
    whole = write(tmp_path, "b", json.dumps(CONTENT))
    assert list(read_split_scores(tmp_path, "average")) == [(whole, CONTENT)]


def test_the_texts_that_were_written_are_read(tmp_path: Path) -> None:
    texts = [("einen Hund", "ein Hund"), ("", "Wort\u2028Wort"), ("Ende", "Ende")]
    write_translations(tmp_path, [Translation(i, "x", *pair, False) for i, pair in enumerate(texts)])
    assert read_texts(tmp_path) == tuple(map(list, zip(*texts, strict=True)))
