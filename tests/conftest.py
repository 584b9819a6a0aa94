"""What every test runs under: one thread, caches of this session's own, no account anywhere."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

_CACHES = Path(tempfile.mkdtemp(prefix="lit-transformer-tests-"))

# All of these are read once, by libraries that are imported later, and by the processes that tests start.
os.environ.update(
    # Threads that spin while they wait make torch hundreds of times slower as soon as another program has a core.
    OMP_WAIT_POLICY="PASSIVE",
    # The last digits of a product depend on the number of threads.
    OMP_NUM_THREADS="1",
    LIT_TRANSFORMER_CACHE=str(_CACHES / "lit-transformer"),
    HF_HOME=str(_CACHES / "huggingface"),
    HF_DATASETS_CACHE=str(_CACHES / "huggingface" / "datasets"),
    WANDB_MODE="disabled",
)
for _name in ("WANDB_API_KEY", "LIT_TRANSFORMER_DEBUG", "LIT_TRANSFORMER_RUN_FOLDER", "PL_CONFIG"):
    os.environ.pop(_name, None)


def pytest_configure(config: pytest.Config) -> None:
    """Compute on one thread, as the processes that tests start do."""
    import torch

    torch.set_num_threads(1)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the caches."""
    shutil.rmtree(_CACHES, ignore_errors=True)
