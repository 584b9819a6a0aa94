from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from lit_transformer.data.corpora import CorpusSettings, load_corpus
from lit_transformer.data.encoded import EncodedCorpus, encode_corpus
from lit_transformer.data.sentencepiece_training import TokenizerSettings, train_model
from lit_transformer.data.tokenizer import Tokenizer

SOURCE = ["the cat sat on the mat", "a dog ran fast", "no idea at all"] * 20
TARGET = ["die Katze saß auf der Matte", "ein Hund lief schnell", "überhaupt keine Ahnung"] * 20
COLUMNS = {"source": SOURCE, "target": TARGET}


class CountingTokenizer(Tokenizer):
    """Counts the sentences it is given."""

    encoded = 0

    def encode_source(self, texts: list[str]) -> list[list[int]]:
        CountingTokenizer.encoded += len(texts)
        return super().encode_source(texts)


@pytest.fixture(scope="module")
def model() -> bytes:
    return train_model(iter(SOURCE + TARGET), "source and target", TokenizerSettings(vocab_size=330))


@pytest.fixture
def tokenizer(model: bytes) -> Tokenizer:
    CountingTokenizer.encoded = 0
    return CountingTokenizer([model])


def lists(rows: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[list[int], list[int]]]:
    return [(source.tolist(), target.tolist()) for source, target in rows]


def test_ids_lengths_and_texts_are_those_of_the_pairs(tokenizer: Tokenizer) -> None:
    encoded = encode_corpus(datasets.Dataset.from_dict(COLUMNS), tokenizer)
    expected = list(zip(tokenizer.encode_source(SOURCE), tokenizer.encode_target(TARGET), strict=True))
    assert len(encoded) == 60
    assert lists(encoded.fetch(range(60))) == expected
    assert encoded.source_lengths.tolist() == [len(source) for source, _ in expected]
    assert encoded.target_lengths.tolist() == [len(target) for _, target in expected]
    assert encoded.source_lengths.dtype == encoded.target_lengths.dtype == np.int32
    assert encoded.texts([4, 0]) == [(SOURCE[4], TARGET[4]), (SOURCE[0], TARGET[0])]
    assert encoded.phenomena([1, 2]) == [(), ()]


def test_order_repeats_and_bounds(tokenizer: Tokenizer) -> None:
    encoded = encode_corpus(datasets.Dataset.from_dict(COLUMNS), tokenizer)
    wanted = np.array([5, 0, 59, 5])
    assert lists(encoded.fetch(wanted)) == [lists(encoded.fetch([int(index)]))[0] for index in wanted]
    assert encoded.fetch([]) == []
    assert encoded.texts([]) == []
    for index in (-1, 60):
        with pytest.raises(IndexError, match="0 to 59"):
            encoded.fetch([0, index])


def test_fetched_ids_can_be_written(tokenizer: Tokenizer) -> None:
    encoded = encode_corpus(datasets.Dataset.from_dict(COLUMNS), tokenizer)
    row = encoded.fetch([0])[0][0]
    row[:] = 0
    assert 0 not in encoded.fetch([0])[0][0]


def test_phenomena(tokenizer: Tokenizer) -> None:
    corpus = datasets.Dataset.from_dict({**COLUMNS, "phenomena": [["negation"], []] * 30})
    assert encode_corpus(corpus, tokenizer).phenomena([3, 2]) == [(), ("negation",)]


def test_pairs_for_training(tokenizer: Tokenizer) -> None:
    source = ["a dog", "", "a dog", "\u00a0\t", "a dog " * 30, "a dog", "a dog " * 30]
    target = ["ein", "ein", "   ", "", "ein", "ein Hund", ""]
    encoded = encode_corpus(datasets.Dataset.from_dict({"source": source, "target": target}), tokenizer)
    usable, counts = encoded.usable_for_training(20)
    assert usable.tolist() == [0, 5]
    assert counts == {"empty": 4, "too_long": 1}
    usable, counts = encoded.usable_for_training(None)
    assert usable.tolist() == [0, 4, 5]
    assert counts == {"empty": 4, "too_long": 0}
    # Evaluation keeps every pair.
    assert len(encoded) == 7
    assert encoded.texts([2]) == [("a dog", "   ")]


def test_the_limit_of_length_is_inclusive(tokenizer: Tokenizer) -> None:
    encoded = encode_corpus(datasets.Dataset.from_dict(COLUMNS), tokenizer)
    longest = int(max(encoded.source_lengths.max(), encoded.target_lengths.max()))
    assert encoded.usable_for_training(longest)[1] == {"empty": 0, "too_long": 0}
    assert encoded.usable_for_training(longest - 1)[1]["too_long"] > 0


def test_a_selection_is_encoded_in_its_own_order(tokenizer: Tokenizer) -> None:
    corpus = datasets.Dataset.from_dict(COLUMNS)
    encoded = encode_corpus(corpus.select([7, 3]), tokenizer)
    assert lists(encoded.fetch([0, 1])) == lists(encode_corpus(corpus, tokenizer).fetch([7, 3]))
    assert encoded.texts([0]) == [(SOURCE[7], TARGET[7])]


def test_a_second_call_computes_nothing(tokenizer: Tokenizer, huggingface_cache: Path, model: bytes) -> None:
    corpus = datasets.Dataset.from_dict(COLUMNS)
    first = encode_corpus(corpus, tokenizer)
    assert CountingTokenizer.encoded == 60
    again = encode_corpus(corpus, CountingTokenizer([model]))
    assert CountingTokenizer.encoded == 60
    assert lists(again.fetch(range(60))) == lists(first.fetch(range(60)))
    assert len(list(huggingface_cache.rglob("*.arrow"))) == 1


def test_another_tokenizer_or_other_pairs_are_encoded_anew(tokenizer: Tokenizer) -> None:
    corpus = datasets.Dataset.from_dict(COLUMNS)
    other = Tokenizer([train_model(iter(SOURCE + TARGET), "", TokenizerSettings(vocab_size=340))])
    assert lists(encode_corpus(corpus, tokenizer).fetch([0])) != lists(encode_corpus(corpus, other).fetch([0]))
    encode_corpus(datasets.Dataset.from_dict({**COLUMNS, "target": [*TARGET[:-1], ""]}), tokenizer)
    assert CountingTokenizer.encoded == 120


def test_another_process_computes_nothing(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "t.en").write_text("\n".join(SOURCE))
    (tmp_path / "t.de").write_text("\n".join(TARGET))
    tokenizer.save(tmp_path / "t.model")
    settings = CorpusSettings(dataset=None, dir=str(tmp_path), train="t.{lang}")
    encoded = encode_corpus(load_corpus(settings, "train"), tokenizer)
    code = (
        "from lit_transformer.data.corpora import *\nfrom lit_transformer.data.encoded import *\n"
        "from lit_transformer.data.tokenizer import *\n"
        "def fail(*_): raise AssertionError('encoded again')\n"
        "Tokenizer.encode_source = Tokenizer.encode_target = fail\n"
        f"settings = CorpusSettings(dataset=None, dir={str(tmp_path)!r}, train='t.{{lang}}')\n"
        f"tokenizer = Tokenizer.load({str(tmp_path / 't.model')!r})\n"
        "encoded = encode_corpus(load_corpus(settings, 'train'), tokenizer)\n"
        "print(encoded.fetch([7])[0][1].tolist())"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{encoded.fetch([7])[0][1].tolist()}\n"
    assert shown.stderr == ""


def test_several_processes_give_the_same_table(model: bytes) -> None:
    corpus = datasets.Dataset.from_dict(COLUMNS)
    environment = os.environ
    shared = encode_corpus(corpus, Tokenizer([model]), processes=2)
    assert os.environ is environment
    again = encode_corpus(corpus, Tokenizer([model]), processes=1)
    assert lists(shared.fetch(range(60))) == lists(again.fetch(range(60)))
    assert shared.source_lengths.tolist() == again.source_lengths.tolist()


@pytest.fixture
def large(tokenizer: Tokenizer) -> EncodedCorpus:
    """A corpus of many chunks, on disk."""

    def rows() -> Iterator[dict[str, str]]:
        for number in range(30_000):
            yield {"source": f"{SOURCE[number % 60]} {number}", "target": TARGET[number % 60]}

    return encode_corpus(datasets.Dataset.from_generator(rows, fingerprint="0" * 32), tokenizer)


def test_rows_of_every_chunk(large: EncodedCorpus, model: bytes) -> None:
    indices = np.random.default_rng(1).permutation(30_000)[:500]
    texts = large.texts(indices)
    assert [text for text, _ in texts] == [f"{SOURCE[index % 60]} {index}" for index in indices]
    expected = Tokenizer([model]).encode_source([text for text, _ in texts])
    assert [source.tolist() for source, _ in large.fetch(indices)] == expected
    assert large.source_lengths[indices].tolist() == [len(ids) for ids in expected]


def test_ids_and_texts_stay_on_disk(large: EncodedCorpus) -> None:
    """What grows with the corpus in memory is 8 bytes a pair; ids and texts are views of files."""
    pickled = pickle.dumps(large)
    assert len(pickled) < 10_000
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    copy = pickle.loads(pickled)
    python_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    arrow_bytes = pa.total_allocated_bytes() - before
    assert python_bytes + arrow_bytes < 8 * len(copy) + 100_000
    assert lists(copy.fetch([29_999])) == lists(large.fetch([29_999]))
    assert copy.texts([29_999]) == large.texts([29_999])


def test_fetching_a_batch_handles_its_rows_alone(large: EncodedCorpus) -> None:
    indices = np.random.default_rng(2).permutation(30_000)[:64]
    tracemalloc.start()
    batch = large.fetch(indices)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pieces = sum(len(side) for pair in batch for side in pair)
    # Of Python's and NumPy's objects; the whole table has some hundred times as many pieces.
    assert peak < 100 * pieces + 50_000
