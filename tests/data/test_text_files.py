from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from lit_transformer.data.text_files import count_lines, decode_lines, locate_file, one_line, read_lines
from lit_transformer.errors import UserError

# Every character at which Python, or another program, ends a line, apart from \n itself.
SEPARATORS = ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r"]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["text.en", "text.en.gz"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_separator_inside_a_line_becomes_a_space(tmp_path: Path, name: str, separator: str) -> None:
    path = written(tmp_path / name, f"a{separator}b\nc\n".encode())
    assert list(read_lines(path)) == ["a b", "c"]
    assert count_lines(path) == 2


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\x00", *SEPARATORS])
def test_one_line_holds_no_separator(separator: str) -> None:
    assert one_line(f"a{separator}b") == "a b"
    assert one_line("tab\tand no-break\u00a0space stay") == "tab\tand no-break\u00a0space stay"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a ", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("  ä  \nß\n".encode(), ["  ä  ", "ß"]),
    ],
)
def test_lines_and_their_count(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    for path in (written(tmp_path / "plain", content), written(tmp_path / "packed.gz", content)):
        assert list(read_lines(path)) == lines
        assert count_lines(path) == len(lines)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path / "text", gzip.compress(b"a\nb\n")))) == ["a", "b"]


def test_count_spans_blocks(tmp_path: Path) -> None:
    assert count_lines(written(tmp_path / "long", b"0123456789\n" * 200_000 + b"end")) == 200_001


@pytest.mark.parametrize("name", ["latin", "latin.gz"])
def test_bytes_that_are_no_utf8_are_named_by_file_and_line(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "gut\nschön\n".encode("latin-1"))
    with pytest.raises(UserError, match=rf"{name}, line 2: byte 0xf6 at position 4 is no UTF-8"):
        list(read_lines(path))


def test_a_stream_is_read_like_a_file() -> None:
    assert list(decode_lines([b"\xef\xbb\xbfa\xe2\x80\xa8b\r\n", b"c"], "standard input")) == ["a b", "c"]
    with pytest.raises(UserError, match="standard input, line 1"):
        list(decode_lines([b"\xff\xfea"], "standard input"))


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(random.Random(1).randbytes(5000).hex().encode())[:1000])
    for read in (count_lines, lambda path: list(read_lines(path))):
        with pytest.raises(UserError, match=r"cannot read .*cut\.gz"):
            read(path)


def test_a_missing_file_names_the_flag_and_what_is_near(tmp_path: Path) -> None:
    written(tmp_path / "train.en", b"a\n")
    with pytest.raises(UserError, match=r"--data\.train: there is no file .*train\.de.* holds train\.en\."):
        locate_file("train.de", str(tmp_path), "--data.train")
    with pytest.raises(UserError, match=r"there is no file .*deeper.* holds train\.en"):
        locate_file("deeper/still/train.de", str(tmp_path), "--data.train")
    with pytest.raises(UserError, match=r"is no file; the folder .* holds train\.en\. Give one file to --input"):
        locate_file(str(tmp_path), None, "--input")


def test_a_relative_name_lies_in_the_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "train.en", b"a\n")
    assert locate_file("train.en", str(tmp_path), "--data.train") == path
    assert locate_file(str(path), "/elsewhere", "--data.train") == path


def test_real_text_has_the_documented_number_of_lines(real_text: Path) -> None:
    counts = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000, "test_2017_flickr": 1_000}
    for stem, lines in counts.items():
        for language in ("en", "de", "fr"):
            assert count_lines(real_text / "multi30k" / f"{stem}.{language}.gz") == lines
    path = real_text / "multi30k" / "val.fr.gz"
    assert list(read_lines(path)) == gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
