"""Two processes on one machine do what one does: the same files, the same numbers."""

from __future__ import annotations

import collections
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from lit_transformer.importance import module_criticality
from lit_transformer.training.module import LitTransformer
from tests.end_to_end.forking import CAN_FORK, end_well, run_on_two, two_processes
from tests.end_to_end.running import (
    COMPONENTS,
    Finished,
    lines_of,
    load,
    metric,
    of,
    read_csv,
    read_json,
    run_process,
    succeed,
    tiny_fit,
)


@pytest.fixture(scope="module")
def pair(fitted_on_two: tuple[Finished, Path]) -> Path:
    """The current folder of a fit on two processes, followed by the analysis."""
    return fitted_on_two[1]


def test_fit_makes_one_run(pair: Path) -> None:
    assert [path.name for path in (pair / "runs/demo").iterdir()] == ["version_0"]
    folder = pair / "runs/demo/version_0"
    assert {path.name for path in pair.iterdir()} == {"runs"}
    kept = {f"{name}.ckpt" for name in ("best-loss", "best-bleu", "last", "average", "step=12", "step=24")}
    assert {path.name for path in (folder / "checkpoints").iterdir()} == kept
    assert len(list((folder / "wandb").glob("*run-*/run-*.wandb"))) == 1
    rows = collections.Counter((row["step"], row["metric"]) for row in read_csv(folder / "metrics.csv"))
    assert set(rows.values()) == {1}
    assert list(metric(folder, "train/loss")) == list(range(24))
    assert list(metric(folder, "val/bleu")) == [11, 23]


def test_fit_trains_as_one_process_with_twice_the_batches(pair: Path, text: Path, tmp_path: Path) -> None:
    options = {"max_steps": 24, "max_epochs": 100, "val_check_interval": 24, "accumulate_grad_batches": 2}
    succeed(tiny_fit(text, "--model.dropout=0", **options), tmp_path)
    both = [pair / "runs/demo/version_0", tmp_path / "runs/run/version_0"]
    made, expected = (metric(folder, "val/loss") for folder in both)
    # Adam turns rounding into steps where the true gradient is zero.
    assert made == pytest.approx(expected, rel=1e-2)
    # What is counted is counted over both.
    made, expected = (metric(folder, "train/padding") for folder in both)
    assert list(made.values()) == pytest.approx(list(expected.values()), abs=1e-6)
    assert len(set(made.values())) > 1


def test_analysis_after_fit_is_that_of_one_process(pair: Path, tmp_path: Path) -> None:
    folder = pair / "runs/demo/version_0"
    succeed(of("analyze", folder, "--output", str(tmp_path)), tmp_path)
    made = read_csv(folder / "analysis/average/scores.csv")
    assert [row["component"] for row in made] == COMPONENTS
    assert made == read_csv(tmp_path / "analysis/average/scores.csv")
    assert read_json(folder / "analysis/average/scores.json")["baseline"]["sentences"] == 24


@pytest.mark.skipif(not CAN_FORK, reason="forks, so that the grid is as small in both")
def test_what_an_analysis_keeps_of_losses_is_that_of_one_process(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_criticality, "GRID", (0.0, 0.5, 1.0))
    monkeypatch.setattr(module_criticality, "SIGMAS", (0.1, 0.5))
    options = ["--trainer.callbacks.variant=chatterji", "--trainer.callbacks.samples=1", "--components=d:ff"]
    args = of("analyze", trained, "--trainer.callbacks+=callbacks.CriticalityScore", *options)
    dry = run_on_two([*args, "--output=two", "--dry_run=true"], tmp_path)
    assert "losses on training pairs at most" in " ".join(dry.output.decode().split())
    run_on_two([*args, "--output=two"], tmp_path)
    succeed([*args, "--output=one"], tmp_path)
    one, two = (tmp_path / name / "analysis/average" for name in ("one", "two"))
    made = {path.name: path.read_bytes() for path in (one / "module_criticality").iterdir()}
    assert len(made) == 2
    assert {path.name: path.read_bytes() for path in (two / "module_criticality").iterdir()} == made
    assert read_csv(two / "selected/scores.csv") == read_csv(one / "selected/scores.csv")


def test_a_set_that_cannot_be_shared_evenly_is_scored_once(trained: Path, tmp_path: Path, text: Path) -> None:
    """cases.md A13."""
    for language in ("en", "de"):
        lines = (text / f"test.{language}").read_text(encoding="utf-8").splitlines(keepends=True)[:3]
        (tmp_path / f"three.{language}").write_text("".join(lines), encoding="utf-8")
    # Three batches of one sentence for two processes.
    args = of("test", trained, f"--data.test={tmp_path}/three.{{lang}}", "--data.eval_max_tokens=1")
    written = trained / "translations/average/three"
    succeed(args, tmp_path)
    one, hypotheses = read_json(written / "scores.json"), lines_of(written / "hypothesis.txt")
    run_on_two(args, tmp_path)
    two = read_json(written / "scores.json")
    assert two["scores"] == pytest.approx(one["scores"], abs=1e-4)
    assert two["scoring_set"]["sentences"] == 3
    assert lines_of(written / "hypothesis.txt") == hypotheses
    assert len(hypotheses) == 3
    assert one["scores"]["test/bleu"] > 5


def test_a_split_that_cannot_be_opened_is_left_out_by_both(trained: Path, tmp_path: Path) -> None:
    """None goes on alone, which would wait for the other."""
    options = "--trainer.callbacks.k=1", "--components=d:ff", "--data.test=missing.{lang}"
    args = of("analyze", trained, "--trainer.callbacks+=callbacks.GroupAblation", *options)
    expected = succeed([*args, "--output=one"], tmp_path)
    (told,) = (line for line in expected.errors.splitlines() if line.startswith("There is no curve on test"))
    assert "--data.test: there is no" in told
    assert told in run_on_two([*args, "--output=two"], tmp_path).errors.splitlines()
    one, two = (read_csv(tmp_path / f"{name}/analysis/average/selected/group_ablation.csv") for name in ("one", "two"))
    assert [row["step"] for row in two] == ["0", "1"]
    assert two == one


def test_predict_keeps_the_order(trained: Path, tmp_path: Path, text: Path) -> None:
    lines = (text / "validation.en").read_text(encoding="utf-8").splitlines()
    (tmp_path / "input.txt").write_text("\n".join([*lines[:9], "", *lines[9:]]), encoding="utf-8")
    args = of("predict", trained, "--input", "input.txt", "--data.eval_max_tokens=60")
    expected = succeed(args, tmp_path).output
    assert expected.count(b"\n") == 25
    assert run_on_two(args, tmp_path).output == expected


def thread_names() -> str:
    return " ".join(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))


def note_threads_within() -> None:
    """Write the names of the threads at the last barrier."""
    barrier = torch.distributed.barrier

    def noting(*args: Any, **more: Any) -> None:
        barrier(*args, **more)
        Path(f"within-{os.environ['LOCAL_RANK']}").write_text(thread_names())

    torch.distributed.barrier = noting


def note_threads_after() -> None:
    Path(f"after-{os.environ['LOCAL_RANK']}").write_text(thread_names())


@pytest.mark.skipif(sys.platform != "linux", reason="reads the names of the threads from /proc")
@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_no_thread_of_the_process_group_outlives_a_command(
    trained: Path, text: Path, tmp_path: Path, command: str
) -> None:
    """A thread of gloo that is alive while Python ends aborts one process in six."""
    (tmp_path / "input.txt").write_text("The red cat sees the old duck.\n" * 3, encoding="utf-8")
    args = tiny_fit(text) if command == "fit" else of(command, trained, "--input", "input.txt")
    end_well(two_processes(args, tmp_path, note_threads_within, note_threads_after))
    for rank in (0, 1):
        assert "gloo" in (tmp_path / f"within-{rank}").read_text()
        assert "gloo" not in (tmp_path / f"after-{rank}").read_text()


def test_the_last_checkpoint_is_read_by_one_process(pair: Path) -> None:
    assert load(pair / "runs/demo/version_0/checkpoints/last.ckpt")["global_step"] == 24


def test_what_the_first_process_finds_wrong_is_one_line(text: Path, tmp_path: Path) -> None:
    """While the one that it has started waits for it."""
    shutil.copytree(text, tmp_path / "text")
    with (tmp_path / "text/train.de").open("a", encoding="utf-8") as file:
        file.write("Eine Zeile zu viel.\n")
    finished = run_process(tiny_fit(tmp_path / "text", devices=2, strategy="ddp"), tmp_path, timeout=300)
    assert finished.status == 2
    assert finished.errors.splitlines()[-1].startswith("lit-transformer: error:")
    assert "has 200 lines" in finished.errors.splitlines()[-1]
    assert finished.errors.count("error:") == 1
    assert "Traceback" not in finished.errors


@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
@pytest.mark.parametrize("dying", [0, 1])
def test_a_process_that_dies_in_training_is_told_in_one_line(text: Path, tmp_path: Path, dying: int) -> None:
    """Without a launcher that watches them, as on two nodes."""

    def die(self: LitTransformer, *_: object) -> None:
        if self.global_step == 2 and self.global_rank == dying:
            os.kill(os.getpid(), signal.SIGKILL)

    processes = two_processes(
        tiny_fit(text), tmp_path, hook=mock.patch.object(LitTransformer, "on_after_backward", die).start
    )
    left = processes[1 - dying]
    try:
        assert left.wait() == 2, left.errors
    finally:
        for process in processes:
            process.kill()
            process.wait()
    last = left.errors.splitlines()[-1]
    assert last.startswith("lit-transformer: error: another process of this command has ended (")
    assert last.endswith("fit --ckpt_path RUN goes on from its last checkpoint, if it has one.")
    assert left.errors.count("lit-transformer: error:") == 1
    assert "Traceback" not in left.errors


@pytest.mark.skipif(not CAN_FORK, reason="forks, which autograd can't beside a GPU")
def test_a_test_whose_process_fails_leaves_none_behind(tmp_path: Path) -> None:
    def work() -> None:
        if os.environ["LOCAL_RANK"] == "1":
            # As one that waits for the other, which is gone.
            time.sleep(60)
        raise SystemExit(3)

    processes = two_processes([], tmp_path, work=work)
    with pytest.raises(AssertionError):
        end_well(processes)
    assert [process.poll() for process in processes] == [3, -signal.SIGKILL]
