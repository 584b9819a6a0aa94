from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.files import make_folder, read_table, replacing, write_bytes, write_text


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text("old")
    return path


def content_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_takes_its_place_at_the_end(old: Path) -> None:
    with replacing(old) as temporary:
        temporary.write_text("new")
        assert (temporary.parent, temporary.suffix) == (old.parent, ".csv")
        assert old.read_text() == "old"
    assert content_of(old.parent) == {"scores.csv": "new"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_old_file_and_nothing_else(old: Path, error: type[BaseException]) -> None:
    def write() -> None:
        with replacing(old) as temporary:
            temporary.write_text("half of the n")
            raise error

    with pytest.raises(error):
        write()
    assert content_of(old.parent) == {"scores.csv": "old"}


def test_an_exception_before_anything_was_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), replacing(tmp_path / "new.txt"):
        raise RuntimeError
    assert content_of(tmp_path) == {}


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_is_a_mistake_of_the_user(old: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(call, full)
    with pytest.raises(UserError, match=r"cannot write '.*scores\.csv': No space left on device\..*free some space"):
        write_text(old, "new")
    assert content_of(old.parent) == {"scores.csv": "old"}


def test_a_disk_that_fills_up_while_it_is_written(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(path: Path, content: bytes) -> None:
        with path.open("wb") as file:
            file.write(content[:1])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(UserError, match="No space left on device"):
        write_bytes(old, b"new")
    assert content_of(old.parent) == {"scores.csv": "old"}


def test_an_error_without_a_number(old: Path) -> None:
    with pytest.raises(UserError, match=r"scores\.csv': the writer gave up\."), replacing(old):
        raise OSError("the writer gave up")


def test_the_folder_is_made(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b" / "c.bin", b"\x00\n")
    assert (tmp_path / "a" / "b" / "c.bin").read_bytes() == b"\x00\n"


def test_a_folder_that_is_a_file(old: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        write_text(old / "inside.txt", "new")
    assert content_of(old.parent) == {"scores.csv": "old"}


def test_a_name_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").mkdir()
    with pytest.raises(UserError, match="Is a directory"):
        write_text(tmp_path / "scores.csv", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


def test_text_is_utf8_with_plain_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "t.txt", "grün\nzwei\r\n")
    assert (tmp_path / "t.txt").read_bytes() == b"gr\xc3\xbcn\nzwei\r\n"


def test_a_relative_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("plain", "text")
    assert content_of(tmp_path) == {"plain": "text"}


def test_a_folder_is_made_unless_it_is_there(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot make the folder '.*file/c': Not a directory; give another one"):
        make_folder(tmp_path / "file" / "c")


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,x\n2,y\n", [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]),
        (b"a,b\n1,\0x\n2,\xff\n", [{"a": "1", "b": "x"}, {"a": "2", "b": "\N{REPLACEMENT CHARACTER}"}]),
        (b'a,b\n1,x\n2,"' + b"y" * 200_000, [{"a": "1", "b": "x"}]),
        (b"a,b\n1\n", [{"a": "1", "b": None}]),
        (b"", []),
        (None, []),
    ],
)
def test_a_table_is_read_as_far_as_it_can_be(
    content: bytes | None, rows: list[dict[str, str | None]], tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "table.csv").write_bytes(content)
    assert list(read_table(tmp_path / "table.csv")) == rows
