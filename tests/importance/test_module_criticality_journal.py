from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.importance.module_criticality import ModuleCriticality
from lit_transformer.importance.module_criticality_journal import ModuleCriticalityJournal

RESTS_ON = {"weights": "abc", "samples": 2}


@pytest.mark.parametrize("found", [ModuleCriticality(1 / 3, 0.1, 1e-17), ModuleCriticality(None, None, None)])
def test_what_was_found_is_kept_to_the_last_bit(tmp_path: Path, found: ModuleCriticality) -> None:
    ModuleCriticalityJournal(tmp_path, RESTS_ON).add("d:ff:1", found)
    assert ModuleCriticalityJournal(tmp_path, RESTS_ON).find("d:ff:1") == found


def test_only_what_rests_on_the_same_is_found(tmp_path: Path) -> None:
    ModuleCriticalityJournal(tmp_path, RESTS_ON).add("d:ff:1", ModuleCriticality(1.0, 0.5, 0.1))
    assert ModuleCriticalityJournal(tmp_path, RESTS_ON).find("d:ff:2") is None
    for other in ({"weights": "abd"}, {"samples": 3}, {"device": "cuda"}):
        assert ModuleCriticalityJournal(tmp_path, RESTS_ON | other).find("d:ff:1") is None
    # In whichever order they are named.
    assert ModuleCriticalityJournal(tmp_path, dict(reversed(RESTS_ON.items()))).find("d:ff:1") is not None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"found": null}', '{"found": {"alpha": 1}}', '{"found": {"criticality": "x"}}']
)
def test_a_file_that_cannot_be_used(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    journal = ModuleCriticalityJournal(tmp_path, RESTS_ON)
    journal.add("d:ff:1", ModuleCriticality(1.0, 0.5, 0.1))
    [path] = tmp_path.iterdir()
    path.write_text(content)
    assert journal.find("d:ff:1") is None
    assert "module criticality of d:ff:1 is found again" in caplog.text
    journal.add("d:ff:1", ModuleCriticality(1.0, 0.5, 0.1))
    assert journal.find("d:ff:1") == (1.0, 0.5, 0.1)
