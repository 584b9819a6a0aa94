"""Text files, read line by line as UTF-8: one sentence a line, plain or gzip-compressed."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from lit_transformer.errors import UserError

LINE_SEPARATORS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters at which `str.splitlines` and other programs end a line."""

# NUL ends no line, but SentencePiece leaves a training line that holds one out without a word.
SEPARATOR_PATTERN = f"\r\n|[\\x00{LINE_SEPARATORS}]"
"""What becomes one space inside a sentence; the pattern means the same to `re` and to RE2 (pyarrow)."""

_SEPARATOR = re.compile(SEPARATOR_PATTERN)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 1 << 20
_NAMES_SHOWN = 8


def one_line(text: str) -> str:
    """Return ``text`` with a space for every character that some program would take as the end of a line."""
    return _SEPARATOR.sub(" ", text)


def locate_file(name: str, folder: str | None, flag: str) -> Path:
    """Return the absolute path of a file that exists.

    Args:
        name: The path as the user gave it; a relative one is looked up in ``folder``.
        folder: The folder put before a relative name, or None for the current one.
        flag: The option that gave ``name``, such as ``--data.train``.

    Raises:
        UserError: There is no such file; the message lists what lies near it.
    """
    path = (Path(folder).expanduser() if folder else Path()) / Path(name).expanduser()
    if path.is_file():
        return path.resolve()
    options = f"{flag} or --data.dir" if flag.startswith("--data.") else flag
    if path.is_dir():
        raise UserError(f"{flag}: {str(path)!r} is no file; {_holding(path)}. Give one file to {flag}.")
    raise UserError(f"{flag}: there is no file {str(path)!r}; {_what_is_near(path)}. Correct {options}.")


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Yield the lines of a binary stream as text that holds no separator.

    Only ``\n``, with an optional ``\r`` before it, ends a line; other separators become a space, so that line i of two
    aligned files stays line i. A byte order mark at the start is dropped.

    Args:
        stream: A binary file, such as an open file or ``sys.stdin.buffer``.
        name: How error messages call it.

    Raises:
        UserError: A line is no UTF-8; the message names file and line.
    """
    for number, raw in enumerate(stream, start=1):
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number}: byte {error.object[error.start]:#04x} at position {error.start + 1} is no "
                "UTF-8. Text must be UTF-8: convert the file, for example with iconv -f LATIN1 -t UTF-8."
            ) from None
        yield one_line(line.removesuffix("\n").removesuffix("\r"))


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, plain or gzip-compressed, as `decode_lines` does.

    Raises:
        UserError: The file can't be read, or a line is no UTF-8.
    """
    try:
        with _open(path) as file:
            yield from decode_lines(file, str(path))
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def count_lines(path: Path) -> int:
    """Count the lines that `read_lines` would yield, without decoding them.

    Raises:
        UserError: The file can't be read.
    """
    lines, last = 0, b"\n"
    try:
        with _open(path) as file:
            while block := file.read(_BLOCK_BYTES):
                lines += block.count(b"\n")
                last = block[-1:]
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error
    return lines + (last != b"\n")


def _open(path: Path) -> BinaryIO:
    """Open a file for reading bytes, through gzip if its content, whatever its name, says so."""
    with path.open("rb") as file:
        compressed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    return gzip.open(path, "rb") if compressed else path.open("rb")  # type: ignore[return-value]


def _unreadable(path: Path, error: Exception) -> UserError:
    reason = getattr(error, "strerror", None) or str(error)
    return UserError(f"cannot read {str(path)!r}: {reason}. Check the file (for .gz: gzip -t) and its permissions.")


def _what_is_near(path: Path) -> str:
    """Say what the closest folder that exists on the way to ``path`` holds."""
    folder = next((parent for parent in path.absolute().parents if parent.is_dir()), None)
    if folder is None:
        return "its folder does not exist either"
    return _holding(folder)


def _holding(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return f"the folder {str(folder)!r} cannot be read"
    if not names:
        return f"the folder {str(folder)!r} is empty"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"the folder {str(folder)!r} holds {', '.join(names[:_NAMES_SHOWN])}{more}"
