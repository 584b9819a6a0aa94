"""Runs commands: in this process, which saves the seconds of the imports, or in one of their own."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import logging
import math
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import torch
import yaml

from lit_transformer.__main__ import main

# A model and settings with which a command takes a second and training gets somewhere.
MODEL = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_model": 32,
    "feed_forward": 64,
    "heads": 2,
    "norm": "pre",
    "learning_rate": 0.02,
    "warmup_steps": 10,
    "decoding.beam": 1,
    "decoding.max_extra_pieces": 5,
}
DATA = {
    "dataset": "null",
    "train": "train.{lang}",
    "validation": "validation.{lang}",
    "test": "test.{lang}",
    "max_tokens": 500,
    "tokenizer.vocab_size": 100,
    "tokenizer.byte_fallback": "false",
}
QUIET = {"accelerator": "cpu", "devices": 1, "enable_progress_bar": False}
TRAINER = {**QUIET, "enable_model_summary": False, "log_every_n_steps": 1, "check_val_every_n_epoch": "null"}
COMPONENTS = ["e:sa:1", "e:ff:1", "d:sa:1", "d:sa:2", "d:ea:1", "d:ea:2", "d:ff:1", "d:ff:2"]

_ADJECTIVES = (("red", "rote"), ("green", "grüne"), ("old", "alte"), ("young", "junge"))
_NOUNS = (("cat", "Katze"), ("woman", "Frau"), ("goat", "Ziege"), ("duck", "Ente"))
_VERBS = (("sees", "sieht"), ("hears", "hört"), ("likes", "mag"), ("helps", "rettet"))


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    Args:
        status: Exit status.
        output: Standard output.
        errors: Standard error.
    """

    status: int
    output: bytes
    errors: str


def options(section: str, values: Mapping[str, Any]) -> list[str]:
    """Return settings as they are typed."""
    return [f"--{section}.{name}={value}" for name, value in values.items()]


def tiny_fit(text: Path, *more: str, **trainer: Any) -> list[str]:
    """Return the command that trains a tiny model.

    Args:
        text: Folder of the training text.
        more: Options to add.
        trainer: Options of the Trainer.
    """
    trainer = {"max_steps": 6, "val_check_interval": 3, **TRAINER, **trainer}
    data = {"dir": text, **DATA}
    return ["fit", *options("trainer", trainer), *options("model", MODEL), *options("data", data), *more]


def of(command: str, checkpoint: Path | str, *more: str, **trainer: Any) -> list[str]:
    """Return a command on a checkpoint, with these options of the Trainer."""
    return [command, "--ckpt_path", str(checkpoint), *options("trainer", {**QUIET, **trainer}), *more]


def write_text(folder: Path) -> Path:
    """Write sentence pairs that a tiny model half learns in 60 steps: 200 to train on, 24 and 12 to score."""
    choices = itertools.product(_ADJECTIVES, _NOUNS, _VERBS, _ADJECTIVES, _NOUNS)
    pairs = [
        (f"The {a[0]} {n[0]} {v[0]} the {b[0]} {m[0]}.", f"Die {a[1]} {n[1]} {v[1]} die {b[1]} {m[1]}.")
        for a, n, v, b, m in choices
    ]
    random.Random(1).shuffle(pairs)
    folder.mkdir(parents=True, exist_ok=True)
    for split, part in (("train", pairs[:200]), ("validation", pairs[200:224]), ("test", pairs[224:236])):
        for side, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[side]}\n" for pair in part)
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return folder


def run(
    args: list[str],
    folder: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    stderr: TextIO | None = None,
) -> Finished:
    """Run a command in this process, and leave the process as it was.

    Args:
        args: The command line.
        folder: Current folder of the command.
        stdin: Standard input.
        env: Added to the environment.
        stderr: Standard error; what is written to it is returned where it is not given.
    """
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = io.StringIO()
    status = 0
    with (
        _loggers_kept(),
        warnings.catch_warnings(),
        torch.random.fork_rng(),
        mock.patch.dict(os.environ, env or {}),
        mock.patch.object(sys, "argv", ["lit-transformer"]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors if stderr is None else stderr),
    ):
        try:
            main(args)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    return Finished(status, output.buffer.getvalue(), errors.getvalue())


def succeed(args: list[str], folder: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Finished:
    """Run a command in this process; it must end with status 0."""
    finished = run(args, folder, stdin, env)
    assert finished.status == 0, finished.errors
    return finished


def run_process(
    args: list[str],
    folder: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> Finished:
    """Run a command in a process of its own.

    Args:
        args: The command line.
        folder: Current folder of the command.
        stdin: Standard input.
        env: Added to the environment.
        timeout: Seconds after which it has failed.
    """
    made = subprocess.run(
        [sys.executable, "-m", "lit_transformer", *args],
        cwd=folder,
        input=stdin,
        env=with_checkout({**os.environ, **(env or {})}),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Finished(made.returncode, made.stdout, made.stderr.decode())


def with_checkout(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python finds the packages of this checkout from any folder."""
    return {**env, "PYTHONPATH": str(Path(__file__).parents[2])}


@contextlib.contextmanager
def _loggers_kept() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("lit_transformer", "callbacks", "pytorch_lightning")]
    kept = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    try:
        yield
    finally:
        for logger, (level, propagate, handlers) in zip(loggers, kept, strict=True):
            logger.level, logger.propagate, logger.handlers = level, propagate, handlers


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def metric(run_folder: Path, name: str) -> dict[int, float]:
    """Return a metric of a run by step; of several values of a step, the last one."""
    rows = read_csv(run_folder / "metrics.csv")
    return {int(row["step"]): float(row["value"]) for row in rows if row["metric"] == name}


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file, whatever other separators they hold."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def load(path: Path) -> dict[str, Any]:
    """Return a checkpoint, read as a stranger would."""
    content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return content


def same_tensors(first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]) -> bool:
    """Whether two sets of weights are equal bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def finite(value: Any) -> bool:
    """Whether a JSON value holds plain types and finite numbers only."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and finite(item) for key, item in value.items())
    if isinstance(value, list):
        return all(finite(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int, bool))


def files_of(folder: Path) -> set[str]:
    """Return the files below a folder, relative to it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def config_of(run_folder: Path) -> dict[str, Any]:
    """Return the configuration of a run."""
    config: dict[str, Any] = yaml.safe_load((run_folder / "config.yaml").read_text(encoding="utf-8"))
    return config


EVERYTHING = ("--config", "analysis.yaml", "--trainer.callbacks.k=2", "--components=d:*")
RESULTS = ("scores.csv", "scores.json", "criticality_curves.csv", "group_ablation.csv")


def results(output: Path) -> dict[str, bytes]:
    """Every file of an analysis that must not depend on how it was made; times and settings are left out."""
    folder = output / "analysis/average"
    # A process that is killed while it writes leaves a temporary file, whose name begins with a dot.
    paths = [*folder.glob("evaluations/[!.]*"), *(folder / "selected").iterdir(), *output.glob("report/*.png")]
    assert {folder / "selected" / name for name in RESULTS} <= set(paths)
    return {str(path.relative_to(output)): path.read_bytes() for path in paths if path.name != "config.yaml"}
