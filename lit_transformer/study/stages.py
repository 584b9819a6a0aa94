"""The stages of a study: commands whose output tells whether they are done, and their record in ``study.json``."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from lit_transformer.console.terminal import tell
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.selection import config_in_current_terms
from lit_transformer.study.processes import Ended, Execute
from lit_transformer.study.progress import StageProgress

STATE_FORMAT = 1
VERSION = "version_0"
PROGRAM = "lit_transformer"
Status = Literal["done", "failed", "skipped"]


@dataclass(frozen=True)
class Stage:
    """How a stage ended.

    Args:
        key: Its name.
        status: ``done``, ``failed``, or ``skipped`` for want of another one.
        message: Why it is not done, in a line.
        seconds: Time that it took in all, also over several tries.
    """

    key: str
    status: Status
    message: str = ""
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether its output is there."""
        return self.status == "done"


class Stages:
    """Runs the stages of one study, unless they are done, and keeps ``study.json``.

    Args:
        folder: Folder of the study.
        execute: Runs a command.
        clock: Tells the time in seconds.
        progress: Shows how far it is.

    Raises:
        UserError: There is a ``study.json`` that can't be read.
    """

    def __init__(
        self,
        folder: Path,
        execute: Execute,
        clock: Callable[[], float] = time.monotonic,
        progress: StageProgress | None = None,
    ) -> None:
        self.folder, self._execute, self._clock = folder, execute, clock
        self.progress = StageProgress(clock) if progress is None else progress
        self._path, self._written = folder / "study.json", ""
        self._content: dict[str, Any] = {"format": STATE_FORMAT, "decided": {}, "stages": {}}
        if self._path.is_file():
            try:
                found = json.loads(self._path.read_text(encoding="utf-8"))
                if found["format"] > STATE_FORMAT:
                    raise UserError(f"{str(self._path)!r} was written by a newer lit-transformer; install that.")
                self._content = {**self._content, **found}
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise UserError(
                    f"{str(self._path)!r} can't be read ({error}); remove it, and what is done is found again."
                ) from error

    @property
    def decided(self) -> dict[str, Any]:
        """What is decided once for the whole study; see `decide`."""
        return dict(self._content["decided"])

    def decide(self, **values: Any) -> None:
        """Keep what is decided for the whole study, also for later calls."""
        self._content["decided"].update(values)
        self._write()

    def run_of(self, key: str) -> Path:
        """Return the folder of the run that a training stage makes."""
        return self.folder / "runs" / key / VERSION

    def average_of(self, key: str) -> Path:
        """Return the checkpoint that a training stage ends with, and that is scored."""
        return self.run_of(key) / "checkpoints" / "average.ckpt"

    def train(
        self,
        key: str,
        args: Sequence[str],
        config: dict[str, Any],
        spent: Callable[[Path], float],
        began: str | None = None,
    ) -> Stage:
        """Train a run, or go on with it.

        Args:
            key: Name of the stage and of the run.
            args: Options of ``fit``, without the configuration that is written for it.
            config: That configuration.
            spent: Tells how many seconds a run took whose end nobody waited for.
            began: Digest of the weights of the model that it starts from, if any.

        Raises:
            UserError: The run that is there was made with other settings, from other weights, or lay elsewhere.
        """
        text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
        path = self.folder / "configs" / f"{key}.yaml"
        command = ["fit", "--config", str(path), *args]
        last = self.run_of(key) / "checkpoints" / "last.ckpt"
        average = self.average_of(key)
        # To know another time whether it was asked for the same.
        kept = {"command": command} | ({} if began is None else {"began": began})
        if average.is_file() or last.is_file():
            self._check_same(key, kept, text, path)
        else:
            # Nothing in it could be gone on with.
            shutil.rmtree(self.run_of(key).parent, ignore_errors=True)
            self._forget(key)
        killed = self._record(key).get("status") == "running"
        unknown = max(spent(self.run_of(key)) - self._seconds(key), 0.0) if killed else 0.0
        if average.is_file():
            return self._known(key, unknown)
        write_text(path, text)
        if last.is_file():
            now = ["fit", "--ckpt_path", str(self.run_of(key))]
            return self._run(key, now, average.is_file, unknown, kept=kept)
        return self._run(key, command, average.is_file, kept=kept)

    def analyze(
        self, key: str, checkpoint: Path, accelerator: str, missing: Callable[[], list[dict[str, Any]]]
    ) -> Stage:
        """Run scoring callbacks on a checkpoint, unless their results are there.

        Args:
            key: Name of the stage.
            checkpoint: The checkpoint.
            accelerator: Lightning's name of the device.
            missing: Tells which callbacks are still to be run.
        """
        callbacks = missing()
        if not callbacks:
            return self._known(key)
        trainer = {"accelerator": accelerator, "callbacks": callbacks}
        path = self.folder / "configs" / f"{key}.yaml"
        write_text(path, yaml.safe_dump({"trainer": trainer}, sort_keys=False, allow_unicode=True))
        command = ["analyze", "--config", str(path), "--ckpt_path", str(checkpoint)]
        return self._run(key, command, lambda: not missing())

    def work(self, key: str, args: Sequence[str], is_done: Callable[[], bool], save: Path | None = None) -> Stage:
        """Run a module of the study, unless its output is there.

        Args:
            key: Name of the stage.
            args: Name of the module below ``lit_transformer.study``, and its options.
            is_done: Tells whether the output is there.
            save: File to write standard output to.
        """
        if is_done():
            return self._known(key)
        return self._run(key, args, is_done, save=save, module=f"{PROGRAM}.study.{args[0]}")

    def skip(self, key: str, needs: str) -> Stage:
        """Say that a stage can't be run.

        Args:
            key: Name of the stage.
            needs: What it needs.
        """
        return self._keep(Stage(key, "skipped", f"needs {needs}", self._seconds(key)))

    def fail(self, key: str, message: str) -> Stage:
        """Say that a stage failed, though not its command.

        Args:
            key: Name of the stage.
            message: Why, in a line.
        """
        print(f"{key}: {message}", file=sys.stderr, flush=True)
        return self._keep(Stage(key, "failed", message, self._seconds(key)), self._kept(key))

    def _run(
        self,
        key: str,
        args: Sequence[str],
        is_done: Callable[[], bool],
        spent: float = 0.0,
        save: Path | None = None,
        module: str | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Stage:
        self.progress.begin(key)
        seconds, started = self._seconds(key) + spent, self._clock()
        kept = kept or {}
        self._content["stages"][key] = {"status": "running", "seconds": seconds, **kept}
        self._write()
        whole = [PROGRAM, *args] if module is None else [module, *args[1:]]
        try:
            ended = self._execute(whole, self.folder / "logs" / f"{key}.log", keep_output=save is not None)
        except KeyboardInterrupt:
            seconds += self._clock() - started
            self._content["stages"][key] = {"status": "interrupted", "seconds": round(seconds, 1), **kept}
            self._write()
            raise
        if save is not None and ended.status == 0:
            write_text(save, ended.output)
        took = self._clock() - started
        stage = _ended(key, ended, is_done(), seconds + took)
        if stage.is_done:
            tell(f"{key}: done ({took:.0f} s)")
        else:
            print(f"{key}: {stage.message} ({took:.0f} s)", file=sys.stderr, flush=True)
        return self._keep(stage, kept)

    def _check_same(self, key: str, kept: Mapping[str, Any], text: str, path: Path) -> None:
        before, run = self._record(key), str(self.run_of(key))
        lines = [(text, path.read_text(encoding="utf-8"))] if path.is_file() else []
        lines = [each for each in lines if config_in_current_terms(yaml.safe_load(each[1])) != yaml.safe_load(text)]
        if "command" in before:
            lines.append(("\n".join(kept["command"]), "\n".join(before["command"])))
        if any(now != then for now, then in lines):
            if moved := moved_from(*("\n".join(each).splitlines() for each in zip(*lines, strict=True))):
                raise UserError(
                    f"{run!r} was trained with files in {moved[0]!r}, and they are looked for in {moved[1]!r} now; "
                    "a study can't be moved: put them back and give the same folders, or give another --name."
                )
            raise UserError(
                f"{run!r} was trained with other settings than the study has now; give another --name, or remove that "
                f"folder to train it again ({str(path)!r} tells what it was)."
            )
        # A study of before that was kept says nothing of it.
        if before.get("began", kept.get("began")) != kept.get("began"):
            raise UserError(
                f"{run!r} was trained from other weights than its base model has now, which was trained on; give "
                "another --name, or remove that folder to train it again."
            )

    def _known(self, key: str, unknown: float = 0.0) -> Stage:
        """Return a stage whose output is there, whoever made it."""
        return self._keep(Stage(key, "done", "", self._seconds(key) + unknown), self._kept(key))

    def _kept(self, key: str) -> dict[str, Any]:
        """Return what stays in the record of a training stage, however it ends."""
        return {name: value for name, value in self._record(key).items() if name in ("command", "began")}

    def _keep(self, stage: Stage, kept: dict[str, Any] | None = None) -> Stage:
        # As it is read another time, so that a study that is done tells the same again.
        stage = replace(stage, seconds=round(stage.seconds, 1))
        content = {"status": stage.status, "seconds": stage.seconds, **(kept or {})}
        self._content["stages"][stage.key] = content | ({"message": stage.message} if stage.message else {})
        self._write()
        self.progress.end(stage.key, stage.seconds if stage.is_done else 0.0)
        return stage

    def _record(self, key: str) -> dict[str, Any]:
        return dict(self._content["stages"].get(key, {}))

    def _seconds(self, key: str) -> float:
        return float(self._record(key).get("seconds", 0.0))

    def _forget(self, key: str) -> None:
        self._content["stages"].pop(key, None)

    def _write(self) -> None:
        text = json.dumps(self._content, indent=2, ensure_ascii=False) + "\n"
        if text != self._written:
            write_text(self._path, text)
            self._written = text


def _ended(key: str, ended: Ended, is_done: bool, seconds: float) -> Stage:
    if ended.status:
        return Stage(key, "failed", ended.message or f"exit status {ended.status}", seconds)
    if not is_done:
        return Stage(key, "failed", "the command ended well, but its output is not there", seconds)
    return Stage(key, "done", "", seconds)


def moved_from(now: Sequence[str], then: Sequence[str]) -> tuple[str, str] | None:
    """Return a folder of before and that of now, if lines differ in nothing but where files lie; None otherwise.

    Args:
        now: The lines as they would be written now.
        then: The lines as they were written.
    """
    places = []
    for here, there in zip(now, then, strict=False):
        if here == there:
            continue
        new, old = (list(Path(re.split("[=: ]+", line)[-1]).parts) for line in (here, there))
        if not new or not old or new[-1] != old[-1]:
            return None
        while new and old and new[-1] == old[-1]:
            new.pop(), old.pop()
        places.append((str(Path(*old)), str(Path(*new))))
    return places[0] if places and len(now) == len(then) else None
