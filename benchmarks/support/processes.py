"""The command ``lit-transformer analyze`` on several processes, timed against one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class Run:
    """One analysis through the command, each process with one thread.

    Args:
        processes: Number of processes.
        whole: Seconds of the command.
        start: Seconds of the same command once more, when nothing is left to evaluate: start and writing of files.
    """

    processes: int
    whole: float
    start: float


def timed_run(
    checkpoint: Path, folder: str | None, beam: int, limit: int | None, processes: int, accelerator: str = "cpu"
) -> Run:
    """Time contribution scores through the command.

    Args:
        checkpoint: A checkpoint, or the folder of a run.
        folder: Where its text lies; None where it always was.
        beam: Width of the beam.
        limit: Analyse a sample of so many sentences.
        processes: Number of processes.
        accelerator: Lightning's name of the device, of which each process has one of its own: cpu or gpu.
    """
    options = {
        "ckpt_path": checkpoint,
        "model.decoding.beam": beam,
        "trainer.accelerator": accelerator,
        "trainer.devices": processes,
        "trainer.enable_progress_bar": "false",
        **({"trainer.strategy": "ddp"} if processes > 1 else {}),
        **({} if folder is None else {"data.dir": folder}),
        **({} if limit is None else {"limit": limit}),
    }
    with TemporaryDirectory() as output:
        command = [sys.executable, "-m", "lit_transformer", "analyze", f"--output={output}"]
        command += [f"--{name}={value}" for name, value in options.items()]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

        def wall_seconds() -> float:
            started = time.perf_counter()
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            return time.perf_counter() - started

        return Run(processes, wall_seconds(), wall_seconds())
