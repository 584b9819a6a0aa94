from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.report.html.runs_sections import shared_facts
from lit_transformer.report.html.runs_tables import runs_table
from lit_transformer.report.html.settings_section import settings_section
from lit_transformer.report.origins import ORIGINS
from lit_transformer.report.runs import Run, read_runs
from tests.report.making import make_run

MODEL = {"encoder_layers": 6, "decoder_layers": 3, "d_model": 128, "feed_forward": 256, "heads": 4, "dropout": 0.1}
DATA = {"dataset": "grammar", "train_size": 20000, "source_language": "en", "target_language": "de"}
CONFIG = {"seed_everything": 7, "model": MODEL, "data": DATA}
TOLD = {
    "seed": "7",
    "corpus": "grammar, 20,000 pairs",
    "languages": "en to de",
    "layers": "6+3",
    "width": "128",
    "feed-forward": "256",
    "heads": "4",
    "dropout": "0.1",
}


def runs_of(folder: Path, *configs: dict[str, Any]) -> list[Run]:
    made = [make_run(folder / f"runs/{n}", (1, 1), seed=n) for n in range(len(configs))]
    for run, config in zip(made, configs, strict=True):
        (run / "config.yaml").write_text(yaml.safe_dump(config))
    return read_runs(made)


def test_the_settings_of_a_run_say_what_it_was_made_of(tmp_path: Path) -> None:
    [run] = runs_of(tmp_path, CONFIG)
    assert dict(settings_section(run).facts).items() >= TOLD.items()


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("corpus", {"data": {"dataset": "wmt/wmt14", "dataset_config": "de-en"}}, "wmt/wmt14, de-en"),
        ("corpus", {"data": {"dataset": None, "train": "train.{lang}", "dir": "text"}}, "train.{lang}, in text"),
        # What a run does not tell of its training, its scores may tell.
        ("corpus", {}, "mine"),
        ("languages", {}, "en to de"),
        ("dropout", {"model": {"dropout": 0.1, "attention_dropout": 0.2}}, "0.1, attention 0.2"),
        ("layers", {}, ""),
        ("width", {}, ""),
        ("seed", {"seed_everything": 0}, "0"),
    ],
)
def test_origins_of_all_kinds(name: str, config: dict[str, Any], expected: str, tmp_path: Path) -> None:
    [run] = runs_of(tmp_path, config)
    assert ORIGINS[name](run) == expected


@pytest.mark.parametrize(
    ("name", "changed", "other"),
    [
        ("seed", {"seed_everything": 8}, "8"),
        ("corpus", {"data": {**DATA, "train_size": 500}}, "grammar, 500 pairs"),
        ("languages", {"data": {**DATA, "target_language": "fr"}}, "en to fr"),
        ("layers", {"model": {**MODEL, "encoder_layers": 4}}, "4+3"),
        ("width", {"model": {**MODEL, "d_model": 64}}, "64"),
        ("feed-forward", {"model": {**MODEL, "feed_forward": 64}}, "64"),
        ("heads", {"model": {**MODEL, "heads": 8}}, "8"),
        ("dropout", {"model": {**MODEL, "dropout": 0.3}}, "0.3"),
    ],
)
def test_runs_side_by_side_say_what_they_differ_in(
    name: str, changed: dict[str, Any], other: str, tmp_path: Path
) -> None:
    runs = runs_of(tmp_path, CONFIG, {**CONFIG, **changed})
    table = runs_table(runs)
    place = list(table.columns).index(name)
    assert [row[place].text for row in table.rows] == [TOLD[name], other]
    shown = {"seed", name}
    assert set(table.columns) & TOLD.keys() == shown
    same = {f"{each}, all runs": told for each, told in TOLD.items() if each not in shown}
    assert dict(shared_facts(runs)).items() >= same.items()
    assert f"{name}, all runs" not in dict(shared_facts(runs))
