from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.study import speed
from lit_transformer.study.speed import Subject, compare, main, speeds
from tests.end_to_end.running import lines_of, succeed, tiny_fit, write_text


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, text: Path) -> list[str]:
    """A run, and one of another structure and seed."""
    root = tmp_path_factory.mktemp("runs")
    for more in (["--name=full"], ["--name=pruned", "--model.pruned=[d:ff:1]", "--seed_everything=5"]):
        succeed(tiny_fit(text, *more, max_steps=2, val_check_interval=2), root)
    return [str(root / f"runs/{name}/version_0") for name in ("full", "pruned")]


def test_the_median_over_rounds_in_turn() -> None:
    called: list[str] = []
    work: dict[str, Callable[[], None]] = {name: (lambda name=name: called.append(name)) for name in "ab"}  # type: ignore[misc]
    # The first round, which does not count, and then spans of 1, 8, 2, 4, 4 and 2 seconds.
    spans = [9.0, 9.0, 1.0, 8.0, 2.0, 4.0, 4.0, 2.0]
    ticks = iter(clock_of(spans))
    found = speeds(work, 8, 3, lambda: next(ticks))
    assert called == ["a", "b"] * 4
    assert found["a"] == {"rounds": [8.0, 4.0, 2.0], "sentences_per_second": 4.0}
    assert found["b"] == {"rounds": [1.0, 2.0, 4.0], "sentences_per_second": 2.0}


def clock_of(spans: list[float]) -> list[float]:
    """What a clock shows before and after each piece of work but the uncounted ones, whose end nobody looks at."""
    shown, now = [], 0.0
    for place, span in enumerate(spans):
        shown += [now] if place < 2 else [now, now + span]
        now += span
    return shown


def test_all_translate_the_sentences_of_the_first(runs: list[str], text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, list[str]] = {}

    def noted(subject: Subject) -> None:
        seen[id(subject)] = [source for batch in subject.batches for source in batch.sources]
        assert subject.decoding.max_extra_pieces == 5

    monkeypatch.setattr(Subject, "translate", noted)
    compare(runs, rounds=1)
    first, second = seen.values()
    assert sorted(first) == sorted(second) == sorted(lines_of(text / "test.en"))
    seen.clear()
    compare(runs, "validation", sentences=5, rounds=1)
    first, second = seen.values()
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 5
    assert set(first) <= set(lines_of(text / "validation.en"))


def test_what_is_printed(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*runs, "--rounds=2", "--sentences=6"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == runs
    for each in found.values():
        assert len(each["rounds"]) == 2
        assert min(each["rounds"]) <= each["sentences_per_second"] <= max(each["rounds"])
        assert min(each["rounds"]) > 0


def test_the_text_may_lie_elsewhere(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(speed, "translate", lambda network, batch, *more: seen.extend(batch.sources))
    (tmp_path / "test.en").write_text("The old duck hears the cat.\n")
    (tmp_path / "test.de").write_text("Die alte Ente hört die Katze.\n")
    main([runs[0], "--data.dir", str(tmp_path), "--rounds", "1"])
    assert set(seen) == {"The old duck hears the cat."}


def test_mistakes(runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="is given twice"):
        compare([runs[0], runs[0]])
    with pytest.raises(UserError, match="--rounds is 0"):
        compare(runs, rounds=0)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "nothing")])
    error = capsys.readouterr().err
    assert "does not exist" in error
    assert error.count("\n") == 1
