from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lit_transformer.errors import UserError
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.variant import ablation
from tests.importance.making import evaluation


def same(found: Evaluation | None, made: Evaluation) -> bool:
    return found is not None and found.line() == made.line() and torch.equal(found.pieces, made.pieces)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    journal = Journal(tmp_path)
    journal.add(evaluation(10, key="one"))
    journal.add(evaluation(12, ablation("d:ff:1"), key="two"))
    return tmp_path


def test_what_was_added_is_found_again(kept: Path) -> None:
    journal = Journal(kept)
    assert len(journal) == 2
    assert same(journal.find("two"), evaluation(12, ablation("d:ff:1"), key="two"))
    assert journal.find("three") is None


def test_in_memory_only() -> None:
    journal = Journal()
    journal.add(evaluation(10, key="one"))
    assert same(journal.find("one"), evaluation(10, key="one"))


def test_each_process_writes_its_own_lines_and_reads_all(kept: Path) -> None:
    Journal(kept, rank=1).add(evaluation(14, key="three"))
    assert len((kept / "evaluations.jsonl").read_text().splitlines()) == 2
    assert len((kept / "evaluations.1.jsonl").read_text().splitlines()) == 1
    assert same(Journal(kept).find("three"), evaluation(14, key="three"))


@pytest.mark.parametrize("left", range(1, 40, 6))
def test_a_torn_last_line_is_ignored_and_said(kept: Path, left: int, caplog: pytest.LogCaptureFixture) -> None:
    path = kept / "evaluations.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:left])
    with caplog.at_level(logging.WARNING):
        journal = Journal(kept)
    assert "torn line" in caplog.text
    assert len(journal) == 1
    # What is added next does not stand behind the torn part.
    journal.add(evaluation(12, key="two"))
    assert len(Journal(kept)) == 2


def test_a_torn_line_of_another_process_is_left_to_it(kept: Path) -> None:
    Journal(kept, rank=1).add(evaluation(14, key="three"))
    path = kept / "evaluations.1.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert len(Journal(kept, rank=0)) == 2
    assert not path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"torn")])
def test_an_evaluation_without_its_file_is_made_again(
    kept: Path, damage: Callable[[Path], Any], caplog: pytest.LogCaptureFixture
) -> None:
    damage(kept / "evaluations/one.safetensors")
    journal = Journal(kept)
    assert journal.find("one") is None
    assert "is made again" in caplog.text
    assert journal.find("two") is not None


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"name": "no key"}'])
def test_a_line_that_is_none(kept: Path, line: str) -> None:
    path = kept / "evaluations.jsonl"
    path.write_text(f"{line}\n" + path.read_text())
    with pytest.raises(UserError, match="line 1 is no line of a journal"):
        Journal(kept)


def test_a_full_disk(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(kept)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(UserError, match="No space left on device"):
            journal.add(evaluation(14, key="three"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        patch.setattr("lit_transformer.importance.journal.write_bytes", lambda *_: None)
        with pytest.raises(UserError, match="goes on where it stopped"):
            journal.add(evaluation(14, key="three"))
    assert same(Journal(kept).find("two"), evaluation(12, ablation("d:ff:1"), key="two"))
