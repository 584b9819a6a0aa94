"""What the tests of the data share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import datasets
import pytest

TableWriter = Callable[[Path, Sequence[tuple[str, str | None]], str], None]


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


@pytest.fixture
def write_table() -> TableWriter:
    """A function that writes a Parquet file as the hub has them: a `Translation` column, or a column a language."""
    from datasets import Dataset, Features, Translation

    def write(path: Path, pairs: Sequence[tuple[str, str | None]], layout: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"en": source, "de": target} for source, target in pairs]
        if layout == "flat":
            Dataset.from_list(rows).to_parquet(path)
        else:
            features = Features({"translation": Translation(languages=["de", "en"])})
            Dataset.from_list([{"translation": row} for row in rows], features=features).to_parquet(path)

    return write
