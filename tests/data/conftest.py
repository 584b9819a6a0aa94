"""What the tests of the data share."""

from __future__ import annotations

import os
from pathlib import Path

import datasets
import pytest


@pytest.fixture(autouse=True)
def huggingface_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let ``datasets`` cache in a folder of this test's own, in this process and in those it starts."""
    folder = tmp_path_factory.mktemp("huggingface")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(folder))
    # The library reads the variable once, when it is imported.
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    return folder


@pytest.fixture
def real_text() -> Path:
    """The folder of real parallel text, where the machine has it."""
    folder = os.environ.get("LIT_TRANSFORMER_DATA")
    if not folder:
        pytest.skip("LIT_TRANSFORMER_DATA names no folder of real text")
    return Path(folder)
