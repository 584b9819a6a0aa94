from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.study.processes import Ended, execute, last_words, locked
from lit_transformer.study.stages import Stages, moved_from


class Clock:
    """Every command takes ten seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def execute(self, args: Sequence[str], log: Path, keep_output: bool = False) -> Ended:
        self.now += 10.0
        return Ended(1, "", "no luck")


def test_time_adds_up_over_the_tries(tmp_path: Path) -> None:
    for tries in (1, 2):
        clock = Clock()
        stages = Stages(tmp_path, clock.execute, clock)
        stage = stages.train("arm", ["--x"], {"name": "arm"}, lambda run: 0.0)
        assert (stage.status, stage.message) == ("failed", "no luck")
        # Without a checkpoint to go on with, a run begins anew, and so does its time.
        assert stage.seconds == 10.0
        stage = stages.work("scoring", ["scoring"], lambda: False)
        assert stage.seconds == 10.0 * tries


def test_time_is_the_same_when_it_is_told_again(tmp_path: Path) -> None:
    ticks = iter([0.0, 0.0, 15.27, 15.27, 15.27])
    stages = Stages(tmp_path, lambda args, log, keep_output=False: Ended(0), lambda: next(ticks))
    done = iter([False, True])
    stage = stages.work("scoring", ["scoring"], lambda: next(done))
    assert stage.seconds == 15.3
    assert Stages(tmp_path, execute).work("scoring", ["scoring"], lambda: True).seconds == stage.seconds


def test_time_of_a_run_whose_study_was_killed_is_that_of_its_metrics(tmp_path: Path) -> None:
    clock = Clock()
    stages = Stages(tmp_path, clock.execute, clock)
    stages.train("arm", [], {"name": "arm"}, lambda run: 0.0)
    checkpoint = stages.run_of("arm") / "checkpoints/last.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace('"failed"', '"running"').replace('"seconds": 10.0', '"seconds": 4.0'))
    stage = Stages(tmp_path, clock.execute, clock).train("arm", [], {"name": "arm"}, lambda run: 30.0)
    assert stage.seconds == 30.0 + 10.0


def test_time_of_a_run_that_ended_after_its_study_was_killed_is_that_of_its_metrics(tmp_path: Path) -> None:
    stages = Stages(tmp_path, Clock().execute)
    stages.train("arm", [], {"name": "arm"}, lambda run: 0.0)
    stages.average_of("arm").parent.mkdir(parents=True)
    stages.average_of("arm").touch()
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace('"failed"', '"running"'))
    for _ in range(2):
        # Once known, it is not asked for again.
        stage = Stages(tmp_path, execute).train("arm", [], {"name": "arm"}, lambda run: 30.0)
        assert (stage.status, stage.seconds) == ("done", 30.0)


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        (["runs_dir: b/made/runs"], ["runs_dir: a/made/runs"], ("a", "b")),
        (["--config", "/x/b/c/k.yaml"], ["--config", "/x/a/c/k.yaml"], ("/x/a", "/x/b")),
        (["runs_dir: /b/made", "epochs: 2"], ["runs_dir: /a/made", "epochs: 3"], None),
        (["runs_dir: b/made"], ["runs_dir: b/made", "epochs: 3"], None),
        (["same"], ["same"], None),
        (["--model.dropout=0.1"], ["--model.dropout=0.2"], None),
        (["start: b/same"], ["start: a/other"], None),
    ],
)
def test_where_a_folder_lay(now: list[str], then: list[str], expected: tuple[str, str] | None) -> None:
    assert moved_from(now, then) == expected


def test_a_state_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(UserError, match=r"can't be read.*remove it"):
        Stages(tmp_path, execute)
    (tmp_path / "study.json").write_text('{"format": 99}')
    with pytest.raises(UserError, match="newer lit-transformer"):
        Stages(tmp_path, execute)


def test_an_output_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    stages = Stages(tmp_path, lambda args, log, keep_output=False: Ended(0, "text"), lambda: 0.0)
    stage = stages.work("speed", ["speed"], lambda: False, tmp_path / "speed.json")
    assert (stage.status, stage.message) == ("failed", "the command ended well, but its output is not there")
    assert (tmp_path / "speed.json").read_text() == "text"


def test_a_command_in_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "logs/one.log"
    ended = execute(["json.tool", str(tmp_path / "missing")], log, keep_output=True)
    assert ended.status != 0
    assert "missing" in ended.message
    (tmp_path / "some.json").write_text("[1]")
    ended = execute(["json.tool", "--compact", str(tmp_path / "some.json")], log, keep_output=True)
    assert ended == Ended(0, "[1]\n", "")
    execute(["json.tool", "--compact", str(tmp_path / "some.json")], log)
    said = log.read_text()
    assert said.count("$ python -m json.tool") == 3
    assert said.endswith("[1]\n")


@pytest.mark.parametrize(
    ("said", "status", "expected"),
    [
        ("Training pairs: 3.\nlit-transformer: error: no such thing.\n", 2, "no such thing."),
        ("lit_transformer.study.speed: error: twice\nlast\n", 2, "twice"),
        ("Traceback\n  File x\nValueError: oh\n", 1, "exit status 1: ValueError: oh"),
        ("", -9, "stopped by signal 9"),
        ("Epoch 1\n", 0, ""),
    ],
)
def test_the_line_that_says_why(said: str, status: int, expected: str) -> None:
    assert last_words(said, status) == expected


def test_two_studies_do_not_share_a_folder(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from lit_transformer.study.processes import locked\n"
        "with locked(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(UserError, match="is at work in"), locked(tmp_path):
            pass
        other.communicate(b"")
    with locked(tmp_path):
        pass


def test_a_command_that_outlives_its_study_keeps_others_out(tmp_path: Path) -> None:
    # The command inherits the lock; it ends as soon as this test closes its input.
    code = (
        "import os, sys, subprocess; from pathlib import Path\n"
        "from lit_transformer.study import processes\n"
        "with processes.locked(Path(sys.argv[1])):\n"
        "    subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], pass_fds=processes._held)\n"
        "    print('gone', flush=True); os._exit(9)"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"gone\n"
        assert killed.wait(timeout=300) == 9
        with pytest.raises(UserError, match="or a command that it started"), locked(tmp_path):
            pass
