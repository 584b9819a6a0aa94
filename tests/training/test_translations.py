from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from lit_transformer.errors import UserError
from lit_transformer.training.translations import (
    Translation,
    gather_translations,
    read_input,
    write_lines,
    write_translations,
)


def made(*indices: int) -> list[Translation]:
    return [Translation(index, f"s {index}", f"h {index}", f"r {index}", index % 2 == 0) for index in indices]


def test_the_order_of_the_input() -> None:
    # Text order would put 10 before 2.
    assert gather_translations(made(10, 2, 0, 1)) == made(0, 1, 2, 10)
    assert gather_translations([]) == []


def test_the_shares_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_gather(shares: list[list[Translation]], own: list[Translation]) -> None:
        assert [len(shares), own] == [3, made(4, 1)]
        shares[:] = [made(0, 3), own, []]

    fake = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_world_size=lambda: 3,
        all_gather_object=all_gather,
    )
    monkeypatch.setattr(torch, "distributed", fake)
    assert gather_translations(made(4, 1)) == made(0, 1, 3, 4)


def test_three_files_of_as_many_lines(tmp_path: Path) -> None:
    translations = [*made(0), Translation(1, "", "", "ü", False), *made(2)]
    write_translations(tmp_path / "test" / "best", translations)
    content = {path.name: path.read_bytes() for path in (tmp_path / "test" / "best").iterdir()}
    assert content == {
        "source.txt": b"s 0\n\ns 2\n",
        "hypothesis.txt": b"h 0\n\nh 2\n",
        "reference.txt": "r 0\nü\nr 2\n".encode(),
    }


class TestInput:
    TEXT = "\ufeffone\r\n\ntwo\u2028three\rfour\nlast".encode()
    LINES = ("one", "", "two three four", "last")

    @pytest.mark.parametrize("name", ["a.txt", "a.gz"])
    def test_a_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(self.TEXT) if name.endswith(".gz") else self.TEXT)
        assert read_input(str(tmp_path / name)) == [*self.LINES]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(self.TEXT), encoding="ascii"))
        assert read_input("-") == [*self.LINES]

    def test_standard_input_that_is_no_utf8(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\xff\n")))
        with pytest.raises(UserError, match="standard input, line 2: byte 0xff at position 2 is no UTF-8"):
            read_input("-")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"--input: there is no file '.*no\.txt'"):
            read_input(str(tmp_path / "no.txt"))

    def test_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "empty").touch()
        assert read_input(str(tmp_path / "empty")) == []


class TestOutput:
    def test_a_file(self, tmp_path: Path) -> None:
        write_lines(str(tmp_path / "made" / "out.txt"), ["ä", "", "b"])
        assert (tmp_path / "made" / "out.txt").read_bytes() == b"\xc3\xa4\n\nb\n"

    def test_standard_output_is_utf8_whatever_the_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", newline="\r\n"))
        write_lines(None, ["ä", "", "b"])
        assert written.getvalue() == b"\xc3\xa4\n\nb\n"

    def test_no_lines(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        write_lines(str(tmp_path / "out.txt"), [])
        write_lines(None, [])
        assert (tmp_path / "out.txt").read_bytes() == b""
        assert capfd.readouterr().out == ""
