"""Runs tests/simulated_gpu_checks.py in a process with a simulated GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.end_to_end.running import with_checkout

CHECKS = "tests/simulated_gpu_checks.py"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_holds_on_a_simulated_gpu() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "tests.simulated_gpu", "pytest", CHECKS, "-q", "-p", "no:cacheprovider"],
        cwd=Path(__file__).parents[1],
        env=with_checkout(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert " passed" in made.stdout
