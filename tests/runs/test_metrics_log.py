from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.runs.metrics_log import MetricsLog

HEADER = "step,epoch,metric,value,time"


@pytest.fixture(autouse=True)
def first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 0, raising=False)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_line_for_each_value(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "demo" / "version_3")
    assert (log.name, log.version, log.save_dir) == ("demo", "version_3", str(tmp_path / "demo" / "version_3"))
    started = time.time()
    log.log_metrics({"train/loss": 1 / 3, "epoch": 2, "train/learning_rate": 1e-4}, step=7)
    log.log_metrics({"val/bleu": 35.0}, step=8)
    found = rows(tmp_path / "demo" / "version_3")
    assert [(row["step"], row["epoch"], row["metric"], float(row["value"])) for row in found] == [
        ("7", "2", "train/loss", 1 / 3),
        ("7", "2", "train/learning_rate", 1e-4),
        ("8", "", "val/bleu", 35.0),
    ]
    assert all(started - 0.001 <= float(row["time"]) <= time.time() + 0.001 for row in found)


def test_a_resumed_run_adds_its_lines(tmp_path: Path) -> None:
    MetricsLog(tmp_path).log_metrics({"train/loss": 2.0}, step=1)
    before = (tmp_path / "metrics.csv").read_bytes()
    MetricsLog(tmp_path).log_metrics({"train/loss": 1.0}, step=2)
    content = (tmp_path / "metrics.csv").read_bytes()
    assert content.startswith(before)
    assert content.count(HEADER.encode()) == 1
    assert [row["step"] for row in rows(tmp_path)] == ["1", "2"]


def test_a_torn_last_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(f"{HEADER}\n1,0,train/loss,2.0,5.0\n2,0,train/lo")
    MetricsLog(tmp_path).log_metrics({"train/loss": 1.0}, step=3)
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert lines[:3] == [HEADER, "1,0,train/loss,2.0,5.0", "2,0,train/lo"]
    assert lines[3].startswith("3,,train/loss,1.0,")
    assert len(lines) == 4


def test_an_empty_file_gets_its_header(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").touch()
    MetricsLog(tmp_path).log_metrics({"a": 1.0}, step=0)
    assert (tmp_path / "metrics.csv").read_text().splitlines()[0] == HEADER


def test_values_that_are_not_finite_are_told(tmp_path: Path) -> None:
    MetricsLog(tmp_path).log_metrics({"a": float("nan"), "b": float("inf")}, step=0)
    assert [row["value"] for row in rows(tmp_path)] == ["nan", "inf"]


def test_other_processes_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    MetricsLog(tmp_path).log_metrics({"a": 1.0}, step=0)
    assert list(tmp_path.iterdir()) == []


def test_the_configuration_is_elsewhere(tmp_path: Path) -> None:
    MetricsLog(tmp_path).log_hyperparams({"a": 1})
    assert list(tmp_path.iterdir()) == []
