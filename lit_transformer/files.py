"""Write files whole or not at all, and read tables as far as they can be read."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from lit_transformer.errors import UserError


@contextlib.contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; on success the finished file takes its place in one step.

    The temporary file lies in the same folder, because a rename is atomic only within one file system, and keeps the
    suffix of ``path``, because some writers choose the format by it.

    Args:
        path: The file to write. Its folder is made if it is missing.

    Raises:
        UserError: The file can't be written (no space left, no permission).
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot write {str(path)!r}: {error.strerror or error}. What was written before is still whole; "
            "free some space or give another folder, and run the same command again."
        ) from error
    finally:
        # Where the folder could not be made there is nothing to remove either.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def make_folder(folder: Path | str) -> None:
    """Make a folder, unless it is there: before hours of work whose result is to be written into it.

    Raises:
        UserError: It can't be made.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {str(folder)!r}: {error.strerror}; give another one.") from error


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all.

    Raises:
        UserError: The file can't be written.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: Path | str, content: bytes) -> None:
    """Write ``content``, whole or not at all.

    Raises:
        UserError: The file can't be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def read_table(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file as text; none where it is missing or can't be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    # Only what follows a line that can't be read is lost.
    with contextlib.suppress(csv.Error):
        yield from csv.DictReader(io.StringIO(text.replace("\0", "")))
