"""Weights & Biases without an account, a network or a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.end_to_end.running import load, read_csv, run, tiny_fit, with_checkout


def run_bare(args: list[str], folder: Path, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing in the environment but a path and an empty home, and without a terminal."""
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-m", "lit_transformer", *args],
        cwd=folder,
        env=with_checkout({"PATH": os.environ["PATH"], "HOME": str(home), **env}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_online_without_a_key_ends_at_once_with_one_line(text: Path, tmp_path: Path) -> None:
    """cases.md A16."""
    started = time.monotonic()
    finished = run_bare(tiny_fit(text, "--wandb.mode=online"), tmp_path, tmp_path / "home")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.count("\n") == 1
    assert "--wandb.mode offline" in finished.stderr
    assert time.monotonic() - started < 60
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "runs"}
    assert not list(tmp_path.glob("runs/**/*.*"))


def test_the_environment_can_switch_it_off(text: Path, tmp_path: Path) -> None:
    """cases.md A16."""
    finished = run_bare(tiny_fit(text, max_steps=3), tmp_path, tmp_path / "home", WANDB_MODE="disabled")
    assert finished.returncode == 0, finished.stderr
    folder = tmp_path / "runs/run/version_0"
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 3
    assert not (folder / "wandb").exists()


def test_by_default_it_writes_into_the_run_folder(text: Path, tmp_path: Path) -> None:
    finished = run_bare(tiny_fit(text, max_steps=3), tmp_path, tmp_path / "home")
    assert finished.returncode == 0, finished.stderr
    folder = tmp_path / "runs/run/version_0"
    (record,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    assert record.stat().st_size > 1000
    assert {path.name for path in tmp_path.iterdir()} == {"home", "runs"}
    assert {row["metric"] for row in read_csv(folder / "metrics.csv")} > {"train/loss", "val/bleu"}
    assert (folder / "config.yaml").read_text(encoding="utf-8").find("d_model: 32") > 0


def test_a_mode_that_does_not_exist_is_one_line(text: Path, tmp_path: Path) -> None:
    finished = run(tiny_fit(text), tmp_path, env={"WANDB_MODE": "onlin"})
    assert finished.status == 2
    assert "WANDB_MODE is 'onlin'" in finished.errors
    assert not list(tmp_path.rglob("*.ckpt"))
