"""The module criticality of Chatterji et al. is found of each component once, however often the analysis is stopped."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from callbacks import BestLossCheckpoint, CriticalityScore, InitialWeights, criticality_controls
from lit_transformer.errors import UserError
from lit_transformer.importance import module_criticality
from lit_transformer.importance.module_criticality_journal import ModuleCriticalityJournal
from lit_transformer.training.analysis import TRAINING_SAMPLE
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_json

COMPONENTS = ["e:sa:1", "e:ff:1", "d:sa:1", "d:ea:1", "d:ff:1"]


class Killed(Exception):
    """In place of a signal."""


@pytest.fixture(autouse=True)
def small_grid() -> Iterator[None]:
    with mock.patch.multiple(module_criticality, SIGMAS=(0.1, 0.5), GRID=(0.0, 1.0)):
        yield


@pytest.fixture(scope="module")
def run(setups: Callable[[], Setup]) -> Setup:
    """A trained model."""
    setup = setups()
    callbacks = [InitialWeights(), BestLossCheckpoint()]
    setup.trainer(callbacks, max_steps=20, val_check_interval=20).fit(
        setup.module(learning_rate=0.02), datamodule=setup.data()
    )
    return setup


@pytest.fixture
def fresh(run: Setup) -> Setup:
    """The trained model, with nothing analysed."""
    shutil.rmtree(run.folder / "analysis", ignore_errors=True)
    return run


def analyse(setup: Setup, monkeypatch: pytest.MonkeyPatch, dry_run: bool = False, **options: Any) -> list[str]:
    """Analyse, and return the components whose criticality was computed, in their order."""
    made: list[str] = []
    original = module_criticality.module_criticality

    def noted(model: Any, component: str, *more: Any) -> Any:
        made.append(component)
        return original(model, component, *more)

    monkeypatch.setattr(criticality_controls, "module_criticality", noted)
    trainer = setup.trainer([CriticalityScore(**{"variant": "chatterji", "samples": 2, **options})])
    path = str(setup.folder / "checkpoints/best-loss.ckpt")
    trainer.analyze(setup.module(), setup.data(), path, dry_run=dry_run)
    return made


def files(setup: Setup) -> dict[str, bytes]:
    """All that the analysis has written."""
    folder = setup.folder / "analysis"
    lines = "evaluations.jsonl"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != lines}


def test_killed_after_each_component(fresh: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    assert analyse(fresh, monkeypatch) == COMPONENTS
    whole = files(fresh)
    assert sum("module_criticality" in name for name in whole) == len(COMPONENTS)
    add = ModuleCriticalityJournal.add
    for place in range(1, len(COMPONENTS) + 1):
        shutil.rmtree(fresh.folder / "analysis")
        kept = 0

        def killed(journal: ModuleCriticalityJournal, *found: Any, place: int = place) -> None:
            nonlocal kept
            add(journal, *found)
            kept += 1
            if kept == place:
                raise Killed

        with mock.patch.object(ModuleCriticalityJournal, "add", killed), pytest.raises(Killed):
            analyse(fresh, monkeypatch)
        assert analyse(fresh, monkeypatch) == COMPONENTS[place:]
        assert files(fresh) == whole


def test_what_it_rests_on(fresh: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    analyse(fresh, monkeypatch, components=["d:ff:1"])
    section = read_json(fresh.folder / "analysis/best-loss/selected/scores.json")["chatterji"]
    data = fresh.data()
    data.prepare_data()
    data.setup("fit")
    rows = data.sample_rows("train", TRAINING_SAMPLE)
    pairs = data.encoded["train"].texts(rows)
    digest = hashlib.sha256("".join(f"{source}\n{target}\n" for source, target in pairs).encode()).hexdigest()
    assert section["training_sample"] == {"pairs": len(pairs), "digest": digest}
    analyse(fresh, monkeypatch, components=["d:ff:1"], variant="interpolate", samples=10)
    about = read_json(fresh.folder / "analysis/best-loss/selected/scores.json")
    assert section["initial_weights"] == about["criticality"]["initial_weights"]


@pytest.mark.parametrize(
    "change", [{"samples": 3}, {"include_norm": True}, {"train": "validation.{lang}"}, {"eval_max_tokens": 90}]
)
def test_with_other_settings_it_is_found_again(
    fresh: Setup, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"components": ["d:ff:1"]}
    assert analyse(fresh, monkeypatch, **given) == ["d:ff:1"]
    assert analyse(fresh, monkeypatch, **given) == []
    if change.keys() & {"samples", "include_norm"}:
        assert analyse(fresh, monkeypatch, **given, **change) == ["d:ff:1"]
    else:
        setup = Setup(fresh.folder, fresh.text)
        monkeypatch.setattr(setup, "data", lambda: fresh.data(**change))
        assert analyse(setup, monkeypatch, **given) == ["d:ff:1"]


def test_a_dry_run_tells_how_long_at_most(
    fresh: Setup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all, of those that are left, and of none."""
    ticks = iter(range(0, 60 * 1000, 60))
    monkeypatch.setattr(module_criticality.time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setenv("COLUMNS", "200")

    def told(components: list[str] | None = None) -> str:
        capsys.readouterr()
        assert analyse(fresh, monkeypatch, dry_run=True, components=components) == []
        return capsys.readouterr().out

    # A minute a pass: that of the trained model, and two draws at each of four points.
    assert "losses on training pairs at most 45.0 minutes" in told()
    analyse(fresh, monkeypatch, components=["d:*"])
    assert "losses on training pairs at most 18.0 minutes" in told()
    assert "losses" not in told(["d:*"])


def test_without_the_training_split_nothing_is_evaluated(fresh: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup(fresh.folder, fresh.text)
    monkeypatch.setattr(setup, "data", lambda: fresh.data(train="missing.{lang}"))
    with pytest.raises(UserError, match="missing"):
        analyse(setup, monkeypatch)
    assert not list(fresh.folder.glob("analysis/*/*"))
    assert files(fresh) == {}
