from __future__ import annotations

import dataclasses
import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import lit_transformer
from lit_transformer.data.corpora import CorpusSettings, load_corpus
from lit_transformer.errors import UserError

FILES = CorpusSettings(dataset=None)
SEPARATORS = ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r"]


def pairs_of(settings: CorpusSettings, split: str = "train") -> list[tuple[str, str]]:
    corpus = load_corpus(settings, split)  # type: ignore[arg-type]
    assert corpus.column_names[:2] == ["source", "target"]
    return list(zip(corpus["source"], corpus["target"], strict=True))


def aligned(folder: Path, source: str, target: str) -> CorpusSettings:
    (folder / "t.en").write_bytes(source.encode())
    (folder / "t.de").write_bytes(target.encode())
    return dataclasses.replace(FILES, dir=str(folder), train="t.{lang}")


class TestAlignedText:
    @pytest.mark.parametrize("separator", SEPARATORS)
    def test_pairs_stay_aligned_over_separators(self, tmp_path: Path, separator: str) -> None:
        settings = aligned(tmp_path, f"a{separator}b\nc\n", "x\ny\n")
        assert pairs_of(settings) == [("a b", "x"), ("c", "y")]

    def test_either_way_round_and_gzip(self, tmp_path: Path) -> None:
        (tmp_path / "t.en.gz").write_bytes(gzip.compress(b"a\nb\n"))
        (tmp_path / "t.de.gz").write_bytes(gzip.compress(b"x\ny"))
        settings = dataclasses.replace(FILES, train=f"{tmp_path}/t.{{lang}}.gz")
        assert pairs_of(settings) == [("a", "x"), ("b", "y")]
        turned = dataclasses.replace(settings, source_language="de", target_language="en")
        assert pairs_of(turned) == [("x", "a"), ("y", "b")]

    def test_the_bom_and_carriage_returns_go_and_blank_lines_stay(self, tmp_path: Path) -> None:
        settings = aligned(tmp_path, "\ufeffA\r\n\r\nC\r\nD\r\n", "a\nb\n  \nd\n")
        assert pairs_of(settings) == [("A", "a"), ("", "b"), ("C", "  "), ("D", "d")]

    def test_other_length_names_both_files_and_both_counts(self, tmp_path: Path) -> None:
        settings = aligned(tmp_path, "1\n2\n3\n4\n5\n", "1\n2\n\n3\n4\n5\n")
        for size in (None, 2):
            with pytest.raises(UserError, match=r"t\.en' has 5 lines and .*t\.de' has 6"):
                load_corpus(dataclasses.replace(settings, train_size=size), "train")

    def test_bad_utf8_is_named_by_file_and_line(self, tmp_path: Path) -> None:
        settings = aligned(tmp_path, "a\nb\n", "x\ny\n")
        (tmp_path / "t.de").write_bytes(b"x\n\xe4\n")
        with pytest.raises(UserError, match=r"t\.de, line 2: byte 0xe4"):
            load_corpus(settings, "train")

    def test_a_changed_file_is_read_anew(self, tmp_path: Path) -> None:
        settings = aligned(tmp_path, "a\n", "x\n")
        assert pairs_of(settings) == [("a", "x")]
        status = (tmp_path / "t.en").stat()
        assert pairs_of(aligned(tmp_path, "b\n", "x\n"))[0][0] in ("a", "b")  # the same size, perhaps the same tick
        os.utime(tmp_path / "t.en", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        assert pairs_of(settings) == [("b", "x")]

    def test_first_pairs_only(self, tmp_path: Path) -> None:
        settings = dataclasses.replace(aligned(tmp_path, "a\nb\nc\n", "x\ny\nz\n"), train_size=2)
        assert pairs_of(settings) == [("a", "x"), ("b", "y")]
        assert len(pairs_of(dataclasses.replace(settings, train_size=9))) == 3

    def test_an_empty_file(self, tmp_path: Path) -> None:
        settings = aligned(tmp_path, "", "")
        for _ in range(2):  # an empty table must not be found in the cache the second time
            with pytest.raises(UserError, match=r"split 'train' of 't.\{lang\}' is empty.*--data\.train"):
                load_corpus(settings, "train")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        settings = dataclasses.replace(aligned(tmp_path, "a\n", "b\n"), validation="v.{lang}")
        with pytest.raises(UserError, match=r"--data\.validation: there is no file .*v\.en.*holds t\.de, t\.en"):
            load_corpus(settings, "validation")

    def test_real_text(self, real_text: Path) -> None:
        settings = dataclasses.replace(FILES, dir=str(real_text / "multi30k"), validation="val.{lang}.gz")
        pairs = pairs_of(settings, "validation")
        assert len(pairs) == 1_014
        assert pairs[0] == (
            "A group of men are loading cotton onto a truck",
            "Eine Gruppe von Männern lädt Baumwolle auf einen Lastwagen",
        )


def one_file(folder: Path, name: str, content: str) -> CorpusSettings:
    raw = content.encode()
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return dataclasses.replace(FILES, dir=str(folder), train=name)


class TestTsv:
    def test_without_a_header_the_order_is_said(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        settings = one_file(tmp_path, "t.tsv", "A house.\tEin Haus.\n")
        reverse = dataclasses.replace(settings, source_language="de", target_language="en")
        assert pairs_of(reverse) == [("A house.", "Ein Haus.")]
        assert "has no header: its columns are taken as de and en, in this order" in caplog.text

    @pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
    @pytest.mark.parametrize("header", ["", "en\tde\n"])
    def test_text_is_taken_as_it_is(self, tmp_path: Path, name: str, header: str) -> None:
        settings = one_file(tmp_path, name, header + 'NA\tnull\n"Yes," he said\tNone\nnan\t\n')
        assert pairs_of(settings) == [("NA", "null"), ('"Yes," he said', "None"), ("nan", "")]

    def test_the_header_gives_the_order(self, tmp_path: Path) -> None:
        settings = one_file(tmp_path, "t.tsv", "id\tde\tfr\ten\n1\tx\tu\ta\r\n2\ty\tv\tb\u2028c\r\n")
        assert pairs_of(settings) == [("a", "x"), ("b c", "y")]

    @pytest.mark.parametrize("header", ["en\tfr", "cs\tfr", "source\ttarget"])
    def test_a_header_without_the_language(self, tmp_path: Path, header: str) -> None:
        first, second = header.split("\t")
        with pytest.raises(UserError, match=rf"'en' and 'de'; it has '{first}', '{second}'"):
            load_corpus(one_file(tmp_path, "t.tsv", f"{header}\na\tb\n"), "train")

    @pytest.mark.parametrize(
        ("content", "line", "columns"), [("A b.\tc\nd\n", 2, 1), ("en\tde\n\na\tb\nc\td\te\n", 4, 3)]
    )
    def test_a_line_of_another_width(self, tmp_path: Path, content: str, line: int, columns: int) -> None:
        with pytest.raises(UserError, match=rf"t\.tsv', line {line} has {columns} columns instead of 2"):
            load_corpus(one_file(tmp_path, "t.tsv", content), "train")

    @pytest.mark.parametrize("header", ["", "\nen\tde\n"])
    def test_a_line_of_no_characters_is_no_pair(self, tmp_path: Path, header: str) -> None:
        settings = one_file(tmp_path, "t.tsv", f"{header}\r\nA b.\tc\n\n\t\nd\te\n\n")
        assert pairs_of(settings) == [("A b.", "c"), ("", ""), ("d", "e")]

    def test_three_columns_need_a_header(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="line 1 has 3 columns and no header"):
            load_corpus(one_file(tmp_path, "t.tsv", "A b.\tC d.\tE f.\n"), "train")

    @pytest.mark.parametrize("content", ["", "en\tde\n"])
    def test_empty(self, tmp_path: Path, content: str) -> None:
        with pytest.raises(UserError, match="is empty"):
            load_corpus(one_file(tmp_path, "t.tsv", content), "train")


NESTED = '{"translation": {"de": "x\\u2028z", "en": "NA"}}\n\n{"id": 1, "translation": {"en": null, "de": "y"}}\n'
FLAT = '{"en": "NA", "id": 7, "de": "x\\u2028z"}\n{"de": "y", "en": null}\n'


class TestJson:
    @pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.json", "t.json.gz"])
    @pytest.mark.parametrize("content", [NESTED, FLAT])
    def test_both_layouts(self, tmp_path: Path, name: str, content: str) -> None:
        assert pairs_of(one_file(tmp_path, name, content)) == [("NA", "x z"), ("", "y")]

    def test_an_array(self, tmp_path: Path) -> None:
        content = '[{"en": "a", "de": "x\\ny"}, {"en": "None", "de": null}]'
        assert pairs_of(one_file(tmp_path, "t.json", content)) == [("a", "x y"), ("None", "")]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"en": "a", "fr": "b"}', r"line 2 has no sentences in both 'en' and 'de'; it has 'en', 'fr'"),
            ('{"translation": {"cs": "b", "en": "a"}}', r"it has 'translation' \(with 'cs', 'en'\)"),
            ('{"en": "a", "de": 5}', r"line 2: the sentence in 'de' is 5; a sentence must be text"),
            ('{"en": "a", "de": "\\ud800"}', r"line 2: .*surrogate"),
            ('["a", "b"]', r"line 2 holds .* it must be an object"),
            ("{en: a}", r"line 2 is no JSON"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path: Path, line: str, message: str) -> None:
        with pytest.raises(UserError, match=message):
            load_corpus(one_file(tmp_path, "t.jsonl", f'{{"en": "a", "de": "b"}}\n{line}\n'), "train")


class TestParquet:
    @pytest.mark.parametrize("layout", ["nested", "flat"])
    @pytest.mark.parametrize("size", [None, 2])
    def test_both_layouts(
        self, tmp_path: Path, layout: str, size: int | None, write_table: Callable[..., None]
    ) -> None:
        write_table(tmp_path / "t.parquet", [("a", "x"), ("b\nc", None), ("NA", "z")], layout)
        settings = dataclasses.replace(FILES, dir=str(tmp_path), train="t.parquet", train_size=size)
        assert pairs_of(settings) == [("a", "x"), ("b c", ""), ("NA", "z")][:size]
        turned = dataclasses.replace(settings, source_language="de", target_language="en")
        assert pairs_of(turned)[1] == ("", "b c")

    def test_a_changed_file_is_read_anew(self, tmp_path: Path, write_table: Callable[..., None]) -> None:
        settings = dataclasses.replace(FILES, dir=str(tmp_path), train="t.parquet")
        for pairs in ([("a", "x")], [("a", "x"), ("b", "y")]):
            write_table(tmp_path / "t.parquet", pairs, "flat")
            assert pairs_of(settings) == pairs

    @pytest.mark.parametrize(
        ("layout", "found"), [("nested", r"'translation' \(with 'de', 'en'\)"), ("flat", "'en', 'de'")]
    )
    def test_a_missing_language(
        self, tmp_path: Path, layout: str, found: str, write_table: Callable[..., None]
    ) -> None:
        write_table(tmp_path / "t.parquet", [("a", "x")], layout)
        settings = CorpusSettings(dataset=None, target_language="fr", train=str(tmp_path / "t.parquet"))
        with pytest.raises(UserError, match=rf"'en' and 'fr'; it has {found}\."):
            load_corpus(settings, "train")

    def test_a_column_of_numbers(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"en": ["a"], "de": [1]}), tmp_path / "t.parquet")
        with pytest.raises(UserError, match="the column 'de' holds int64; it must hold text"):
            load_corpus(dataclasses.replace(FILES, train=str(tmp_path / "t.parquet")), "train")

    def test_what_is_no_parquet(self, tmp_path: Path) -> None:
        settings = one_file(tmp_path, "t.parquet", "hello")
        with pytest.raises(UserError, match=r"cannot read .*t\.parquet' as parquet"):
            load_corpus(settings, "train")


@pytest.mark.parametrize("name", ["t.txt", "t", "t.parquet.gz", "t.csv"])
def test_an_unknown_format_lists_the_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"--data\.train: cannot tell the format .*\{lang\}.*\.tsv.*\.parquet"):
        load_corpus(one_file(tmp_path, name, "a"), "train")


@pytest.fixture
def small_grammar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[object, ...]]:
    """A stand-in for the grammar, so that this file tests the corpus alone; returns the calls."""
    calls: list[tuple[object, ...]] = []

    def generate(*arguments: object) -> Iterator[SimpleNamespace]:
        calls.append(arguments)
        for number in range(int(str(arguments[3]))):
            names = ("negation",) if number % 2 else ()
            yield SimpleNamespace(source=f"s {number}", target=f"t {number}", phenomena=names)

    (tmp_path / "grammar.py").write_text("")
    module = SimpleNamespace(generate=generate, LANGUAGES=("en", "de", "fr"), __file__=str(tmp_path / "grammar.py"))
    monkeypatch.setitem(sys.modules, "lit_transformer.grammar", module)
    monkeypatch.setattr(lit_transformer, "grammar", module, raising=False)
    return calls


class TestGrammar:
    def test_size_seed_and_phenomena(self, small_grammar: list[tuple[object, ...]]) -> None:
        settings = CorpusSettings(source_language="fr", target_language="en", train_size=3, seed=7)
        corpus = load_corpus(settings, "train")
        assert corpus[:] == {
            "source": ["s 0", "s 1", "s 2"],
            "target": ["t 0", "t 1", "t 2"],
            "phenomena": [[], ["negation"], []],
        }
        load_corpus(settings, "train")
        assert small_grammar == [("fr", "en", "train", 3, 7)]
        load_corpus(dataclasses.replace(settings, seed=8), "train")
        assert len(small_grammar) == 2

    def test_the_real_grammar(self) -> None:
        settings = CorpusSettings(source_language="de", target_language="en", validation_size=20)
        corpus = load_corpus(settings, "validation")
        assert len(corpus) == 20
        assert all(corpus["source"])
        assert all(corpus["target"])
        assert any(corpus["phenomena"])

    def test_default_sizes(self, small_grammar: list[tuple[object, ...]]) -> None:
        assert len(load_corpus(CorpusSettings(), "validation")) == 500
        assert len(load_corpus(CorpusSettings(), "test")) == 500
        load_corpus(CorpusSettings(), "train")
        assert [call[3] for call in small_grammar] == [500, 500, 20_000]

    def test_an_unknown_language(self, small_grammar: list[tuple[object, ...]]) -> None:
        with pytest.raises(UserError, match="no language 'cs'; it has en, de, fr"):
            load_corpus(CorpusSettings(source_language="cs"), "train")

    @pytest.mark.parametrize("changed", ["grammar.py", "words/nouns.tsv"])
    def test_a_changed_grammar_is_run_anew(
        self, small_grammar: list[tuple[object, ...]], tmp_path: Path, changed: str
    ) -> None:
        load_corpus(CorpusSettings(), "test")
        (tmp_path / "words").mkdir()
        (tmp_path / changed).write_text("# changed")
        load_corpus(CorpusSettings(), "test")
        assert len(small_grammar) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (CorpusSettings(target_language="en"), "are both 'en'"),
        (CorpusSettings(train="t.{lang}"), r"--data\.train 't.\{lang\}': the built-in grammar .* --data\.dataset null"),
        (CorpusSettings(dir="d"), r"--data\.dir 'd': the built-in grammar .* --data\.dataset null.* --data\.train"),
        (CorpusSettings(dataset_config="de-en"), r"--data\.dataset_config 'de-en': the built-in grammar"),
        (CorpusSettings(train_size=0), r"--data\.train_size is 0; it must be at least 1"),
        (CorpusSettings(dataset=None, test="t.tsv"), r"no file for the split 'train': give --data\.train"),
    ],
)
def test_contradictions(settings: CorpusSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_corpus(settings, "train")


def test_the_table_is_memory_mapped_and_found_by_another_process(tmp_path: Path, huggingface_cache: Path) -> None:
    settings = aligned(tmp_path, "a\nb\n", "x\ny\n")
    corpus = load_corpus(settings, "train")
    assert all(str(huggingface_cache) in file["filename"] for file in corpus.cache_files)
    assert corpus.cache_files
    code = (
        "import lit_transformer.data.pair_files as files\n"
        "from lit_transformer.data.corpora import *\n"
        "def fail(path): raise AssertionError('read again')\n"
        "files.read_lines = files.count_lines = fail\n"
        f"corpus = load_corpus(CorpusSettings(dataset=None, dir={str(tmp_path)!r}, train='t.{{lang}}'), 'train')\n"
        "print(corpus[1]['target'], corpus._fingerprint)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == f"y {corpus._fingerprint}\n"
    assert shown.stderr == ""


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_cache_that_cannot_be_written(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, write_table: Callable[..., None]
) -> None:
    write_table(tmp_path / "t.parquet", [("a", "x")], "flat")
    settings = dataclasses.replace(one_file(tmp_path, "t.jsonl", FLAT), train=name)
    (tmp_path / "file").touch()
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "file" / "cache")
    with pytest.raises(UserError, match="set HF_DATASETS_CACHE to a folder that can be written"):
        load_corpus(settings, "train")


def test_an_interrupted_process_leaves_no_half_table(tmp_path: Path) -> None:
    """A process killed while it makes a table costs the next one nothing but the work."""
    settings = aligned(tmp_path, "a\nb\n", "x\ny\n")
    code = (
        "import os\nimport lit_transformer.data.pair_files as files\n"
        "from lit_transformer.data.corpora import *\n"
        "def killed(path):\n    yield 'a'\n    os._exit(9)\n"
        "files.read_lines = killed\n"
        f"load_corpus(CorpusSettings(dataset=None, dir={str(tmp_path)!r}, train='t.{{lang}}'), 'train')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert pairs_of(settings) == [("a", "x"), ("b", "y")]
