from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lit_transformer.data.corpora import CorpusSettings, load_corpus
from lit_transformer.errors import UserError


def pairs_of(settings: CorpusSettings, split: str = "train") -> list[tuple[str, str]]:
    corpus = load_corpus(settings, split)  # type: ignore[arg-type]
    return list(zip(corpus["source"], corpus["target"], strict=True))


WMT_CARD = """---
configs:
- config_name: de-en
  data_files:
  - split: train
    path: de-en/train-*
  - split: validation
    path: de-en/validation-*
- config_name: fr-en
  data_files:
  - split: train
    path: de-en/train-*
---
"""


@pytest.fixture
def wmt(tmp_path: Path, write_table: Callable[..., None]) -> CorpusSettings:
    """A local folder laid out like the hub's ``wmt/wmt14``: configurations, Parquet, nested columns."""
    folder = tmp_path / "wmt14"
    write_table(folder / "de-en/train-00000-of-00001.parquet", [(f"a {i}", f"x {i}") for i in range(2500)], "nested")
    write_table(folder / "de-en/validation-00000-of-00001.parquet", [("a", "x"), ("b\u2028c", None)], "nested")
    (folder / "README.md").write_text(WMT_CARD)
    return CorpusSettings(dataset=str(folder), dataset_config="de-en")


@pytest.fixture
def multi30k(tmp_path: Path) -> CorpusSettings:
    """A local folder laid out like the hub's ``bentrevett/multi30k``: JSON lines, flat columns."""
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for name, count in {"train": 3, "val": 2, "test": 1}.items():
        (folder / f"{name}.jsonl").write_text("".join(f'{{"en": "a {i}", "de": "x {i}"}}\n' for i in range(count)))
    return CorpusSettings(dataset=str(folder))


class TestNamedDataset:
    def test_nested_columns_and_a_configuration(self, wmt: CorpusSettings) -> None:
        assert pairs_of(wmt) == [(f"a {i}", f"x {i}") for i in range(2500)]
        assert pairs_of(wmt, "validation") == [("a", "x"), ("b c", "")]

    @pytest.mark.parametrize("size", [1, 1500, 9999])
    def test_first_pairs_only(self, wmt: CorpusSettings, size: int) -> None:
        pairs = pairs_of(dataclasses.replace(wmt, train_size=size))
        assert pairs == [(f"a {i}", f"x {i}") for i in range(min(size, 2500))]

    def test_flat_columns_either_way_round(self, multi30k: CorpusSettings) -> None:
        assert pairs_of(multi30k) == [("a 0", "x 0"), ("a 1", "x 1"), ("a 2", "x 2")]
        turned = dataclasses.replace(multi30k, source_language="de", target_language="en")
        assert pairs_of(turned, "validation") == [("x 0", "a 0"), ("x 1", "a 1")]
        assert pairs_of(turned, "test") == [("x 0", "a 0")]

    def test_a_split_of_another_name(self, multi30k: CorpusSettings) -> None:
        assert len(pairs_of(dataclasses.replace(multi30k, test="validation"), "test")) == 2

    def test_an_unknown_split_lists_the_splits(self, multi30k: CorpusSettings) -> None:
        for split, size in (("train[:2]", None), ("dev", 5)):
            settings = dataclasses.replace(multi30k, train=split, train_size=size)
            with pytest.raises(UserError, match=r"--data\.train: .*it has train, validation, test.*--data\.train_size"):
                load_corpus(settings, "train")

    def test_an_unknown_language_lists_the_columns(self, multi30k: CorpusSettings, wmt: CorpusSettings) -> None:
        for size in (None, 2):
            for settings, found in ((multi30k, "'en', 'de'"), (wmt, r"'translation' \(with 'de', 'en'\)")):
                changed = dataclasses.replace(settings, target_language="fr", train_size=size)
                with pytest.raises(UserError, match=rf"'en' and 'fr'; it has {found}"):
                    load_corpus(changed, "train")

    @pytest.mark.parametrize("config", [None, "de-fr"])
    def test_a_wrong_configuration_lists_the_configurations(self, wmt: CorpusSettings, config: str | None) -> None:
        with pytest.raises(UserError, match=r"de-en.*fr-en.*--data\.dataset_config"):
            load_corpus(dataclasses.replace(wmt, dataset_config=config), "train")

    def test_a_changed_folder_is_read_anew(self, multi30k: CorpusSettings) -> None:
        assert len(pairs_of(multi30k)) == 3
        (Path(str(multi30k.dataset)) / "train.jsonl").write_text('{"en": "new", "de": "neu"}\n')
        assert pairs_of(multi30k) == [("new", "neu")]

    def test_a_folder_of_save_to_disk(self, tmp_path: Path) -> None:
        from datasets import Dataset, DatasetDict

        rows = Dataset.from_dict({"en": ["a", "b"], "de": ["x", "y"]})
        DatasetDict({"train": rows, "test": rows.select([1])}).save_to_disk(tmp_path / "saved")
        settings = CorpusSettings(dataset=str(tmp_path / "saved"))
        assert pairs_of(settings) == [("a", "x"), ("b", "y")]
        assert pairs_of(settings, "test") == [("b", "y")]
        with pytest.raises(UserError, match="it has train, test"):
            load_corpus(settings, "validation")

    def test_a_folder_without_data(self, tmp_path: Path) -> None:
        for folder, message in ((tmp_path, "doesn't contain any data files"), (tmp_path / "no", "there is no folder")):
            with pytest.raises(UserError, match=message):
                load_corpus(CorpusSettings(dataset=str(folder)), "train")

    def test_an_empty_split(self, multi30k: CorpusSettings) -> None:
        (Path(str(multi30k.dataset)) / "test.jsonl").write_text("")
        with pytest.raises(UserError, match="'test'"):
            load_corpus(multi30k, "test")

    @pytest.mark.parametrize("switched_off", [True, False])
    def test_an_unreachable_hub_ends_soon_and_points_to_other_ways(self, switched_off: bool) -> None:
        shown = message_of_the_hub("http://127.0.0.1:9", HF_HUB_OFFLINE=str(int(switched_off)))
        assert "cannot reach the Hugging Face hub for data set 'some/name'" in shown
        assert "--data.dataset null" in shown
        assert "--data.dataset grammar" in shown

    @pytest.mark.parametrize(
        ("status", "message"),
        [(401, "there is no public data set 'some/name'"), (404, "there is no public data set"), (503, "cannot reach")],
    )
    def test_a_hub_that_refuses(self, status: int, message: str) -> None:
        class Refusal(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(status)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            shown = message_of_the_hub(f"http://127.0.0.1:{server.server_port}")
            server.shutdown()
        assert message in shown
        assert "--data.dataset null" in shown


def message_of_the_hub(address: str, **variables: str) -> str:
    """Return the one line that a person reads who asks this hub, in a process of its own, for a data set."""
    code = (
        "from lit_transformer.data.corpora import *\n"
        "try: load_corpus(CorpusSettings(dataset='some/name'), 'train')\n"
        "except UserError as error: print(error)"
    )
    environment = {**os.environ, "HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", **variables}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    assert shown.stderr == ""
    assert shown.stdout.count("\n") == 1
    return shown.stdout
