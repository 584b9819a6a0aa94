"""An analysis that was interrupted, killed or lost one of its processes goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from unittest import mock

import pytest

from lit_transformer.importance import heartbeat
from tests.end_to_end.forking import CAN_FORK, Forked, two_processes
from tests.end_to_end.running import EVERYTHING, of, results, run, succeed, with_checkout


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something that a running or just ended command does within its time."""
    deadline = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def impatient() -> None:
    """Let a process be missed soon."""
    heartbeat.BEAT_SECONDS, heartbeat.SILENCE_SECONDS = 0.2, 3.0


class Running(Protocol):
    """A command in a process of its own."""

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""


def far_enough(process: Running, folder: Path, lines: int) -> None:
    """Wait until an analysis into the folder ``killed`` has made so many evaluations."""
    journals = folder / "killed/analysis/average"

    def are_made() -> bool:
        assert process.poll() is None
        return sum(path.read_bytes().count(b"\n") for path in journals.glob("*.jsonl")) >= lines

    wait_until(are_made)


class TestGoingOn:
    @pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
    def test_killed_and_gone_on_with(self, whole: Path, trained: Path, tmp_path: Path) -> None:
        args = of("analyze", trained, *EVERYTHING, "--output", "killed")
        process = Forked(args, tmp_path)
        far_enough(process, tmp_path, lines=4)
        process.kill()
        assert process.wait(timeout=300) == -signal.SIGKILL
        assert not (tmp_path / "killed/analysis/average/selected/group_ablation.csv").exists()
        succeed(args, tmp_path)
        assert results(tmp_path / "killed") == results(whole)

    def test_a_first_process_that_dies_is_noticed_by_the_other(
        self, whole: Path, trained: Path, tmp_path: Path
    ) -> None:
        args = of("analyze", trained, *EVERYTHING, "--output", "killed")
        command = [sys.executable, "-m", "lit_transformer", *args, "--trainer.devices=2", "--trainer.strategy=ddp"]
        # Processes of their own: what torch says is settled when it is loaded.
        with (tmp_path / "errors").open("wb") as errors:
            env = with_checkout(os.environ)
            process = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=errors)
        far_enough(process, tmp_path, lines=8)
        process.kill()
        process.wait(timeout=300)
        wait_until(lambda: "the first process of the analysis is gone" in (tmp_path / "errors").read_text())
        said = (tmp_path / "errors").read_text().splitlines()
        assert len([line for line in said if line.startswith("lit-transformer: error:")]) == 1
        assert not any("Traceback" in line or line.startswith("frame #") for line in said)
        succeed(args, tmp_path)
        assert results(tmp_path / "killed") == results(whole)

    @pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
    def test_sigterm_is_answered_with_how_to_go_on(self, trained: Path, tmp_path: Path) -> None:
        process = Forked(of("analyze", trained, *EVERYTHING, "--output", "killed"), tmp_path)
        far_enough(process, tmp_path, lines=3)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=300) == 143, process.errors
        last = process.errors.splitlines()[-1]
        assert last.startswith("lit-transformer: terminated.")
        assert last.endswith("the same command goes on where it was.")
        assert "Traceback" not in process.errors

    @pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
    def test_another_process_that_dies_is_noticed_by_the_first(self, trained: Path, tmp_path: Path) -> None:
        """As on two nodes: nobody but the first process can tell."""
        args = of("analyze", trained, *EVERYTHING, "--output", "killed")
        first, second = two_processes(args, tmp_path, impatient)
        try:
            far_enough(first, tmp_path, lines=6)
            second.kill()
            assert first.wait(timeout=300) == 2, first.errors
        finally:
            first.kill()
        # While it waits for work to be done, or while it hands on what was found.
        told = "process 1 of the analysis (the first is 0) has shown no sign", "another process of the analysis is gone"
        assert any(line in first.errors for line in told)
        assert "Traceback" not in first.errors
        assert first.errors.count("lit-transformer: error:") == 1

    def test_nothing_is_evaluated_again(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained, *EVERYTHING), tmp_path)
        before = results(trained)
        with mock.patch("lit_transformer.importance.variant_decoder.VariantDecoder.decode", side_effect=AssertionError):
            succeed(of("analyze", trained, *EVERYTHING), tmp_path)
        assert results(trained) == before

    def test_a_torn_journal_is_said(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained), tmp_path)
        journal = trained / "analysis/average/evaluations.jsonl"
        journal.write_bytes(journal.read_bytes()[:-20])
        finished = succeed(of("analyze", trained), tmp_path)
        assert "ends in a torn line, which is ignored" in finished.errors
        assert len(journal.read_bytes().splitlines()) == 9

    def test_a_file_of_scores_edited_into_nonsense(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained), tmp_path)
        (trained / "analysis/average/scores.json").write_text('{"components": [{"component": "d"}]}')
        finished = run(of("analyze", trained), tmp_path)
        assert finished.status == 2
        assert "holds no scores that can be read" in finished.errors

    def test_ctrl_c_leaves_the_model_and_what_was_written(self, trained: Path, tmp_path: Path) -> None:
        before = (trained / "checkpoints/average.ckpt").read_bytes()
        with mock.patch("callbacks.contribution.contribution_table", side_effect=KeyboardInterrupt):
            finished = run(of("analyze", trained), tmp_path)
        assert finished.status == 130
        assert finished.errors.splitlines()[-1].startswith("lit-transformer: interrupted.")
        assert (trained / "checkpoints/average.ckpt").read_bytes() == before
        assert len((trained / "analysis/average/evaluations.jsonl").read_text().splitlines()) == 9
        succeed(of("analyze", trained), tmp_path)
