"""The journal of an analysis: every finished evaluation, so that nothing is computed twice."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from lit_transformer.errors import UserError
from lit_transformer.files import make_folder, write_bytes
from lit_transformer.importance.evaluation import Evaluation

log = logging.getLogger(__name__)


class Journal:
    """The finished evaluations in a folder.

    ``evaluations/<key>.safetensors`` holds token ids and per-sentence statistics and is written first; then a line in
    ``evaluations.jsonl`` names it. A process that is killed in between loses that one evaluation only. Each process
    has a file of lines of its own and reads those of all. An evaluation that is added again, with more records, has a
    line for each time, of which the last one holds.

    Args:
        folder: Where to keep it; None keeps it in memory only.
        rank: Number of this process.
    """

    def __init__(self, folder: Path | None = None, rank: int = 0) -> None:
        self._folder = folder
        self._path = None if folder is None else folder / _file_name(rank)
        self._lines: dict[str, dict[str, Any]] = {}
        self._held: dict[str, Evaluation] = {}
        if folder is None:
            return
        for path in sorted(folder.glob("evaluations*.jsonl")):
            self._lines.update({line["key"]: line for line in _read_lines(path, own=path == self._path)})

    def __len__(self) -> int:
        """Return the number of evaluations known."""
        return len(self._lines)

    def find(self, key: str) -> Evaluation | None:
        """Return the evaluation with this key, or None where there is none that can be read."""
        if key in self._held:
            return self._held[key]
        line = self._lines.get(key)
        if line is None or self._folder is None:
            return None
        try:
            self._held[key] = Evaluation.restored(line, load_file(self._file(key)))
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            log.warning("Evaluation %s (%s) is made again: its file cannot be used (%s).", line["name"], key, error)
            del self._lines[key]
            return None
        return self._held[key]

    def add(self, evaluation: Evaluation) -> None:
        """Keep an evaluation: its file first, then the line that names it.

        Raises:
            UserError: It can't be written, for example because the disk is full.
        """
        if self._path is not None:
            write_bytes(self._file(evaluation.key), save(evaluation.tensors()))
            self._append(json.dumps(evaluation.line(), ensure_ascii=False))
        self.adopt(evaluation)

    def adopt(self, evaluation: Evaluation) -> None:
        """Know an evaluation that another process has kept."""
        self._lines[evaluation.key] = evaluation.line()
        self._held[evaluation.key] = evaluation

    def _file(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / "evaluations" / f"{key}.safetensors"

    def _append(self, text: str) -> None:
        assert self._path is not None
        make_folder(self._path.parent)
        try:
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(
                f"cannot write {str(self._path)!r}: {error.strerror or error}. The evaluations before this one are "
                "kept; free some space, and the same command goes on where it stopped."
            ) from error


def _file_name(rank: int) -> str:
    return "evaluations.jsonl" if rank == 0 else f"evaluations.{rank}.jsonl"


def _read_lines(path: Path, own: bool) -> list[dict[str, Any]]:
    """Return the whole lines of a journal; a torn last one, of a process that was killed, is left out and said.

    Args:
        path: The file.
        own: This process will append to it, so that what is torn must go.

    Raises:
        UserError: A line in the middle is no line of a journal.
    """
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        log.warning("%s ends in a torn line, which is ignored: that evaluation is made again.", path)
        if own:
            with path.open("r+b") as file:
                file.truncate(len(whole))
    lines = []
    for number, text in enumerate(whole.splitlines(), start=1):
        try:
            line = json.loads(text)
            lines.append({**line, "key": str(line["key"])})
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{str(path)!r}, line {number} is no line of a journal; remove the line, or the file to begin anew."
            ) from error
    return lines
