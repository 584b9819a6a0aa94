from __future__ import annotations

import json
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.runs.changes import CHANGES, changed_components


@pytest.mark.parametrize("name", CHANGES)
def test_the_components_that_a_run_changed(name: str, tmp_path: Path) -> None:
    assert changed_components(tmp_path) == ()
    (tmp_path / f"{name}.json").write_text(json.dumps({"format": 1, "components": ["e:sa:1", "d:ff:2"]}))
    assert changed_components(tmp_path) == ("e:sa:1", "d:ff:2")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"components": "e:sa:1"}', '{"components": [1]}', "[" * 100_000])
def test_a_record_that_was_edited(text: str, tmp_path: Path) -> None:
    (tmp_path / "pruning.json").write_text(text)
    with pytest.raises(UserError, match=r"pruning.json' can't be read \(.*put it back, or remove '.*' to train"):
        changed_components(tmp_path)
