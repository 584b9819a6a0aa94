"""The translations of a split: collected from all processes, in the order of the input, and written as text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from lit_transformer.data.text_files import decode_lines, locate_file, read_lines
from lit_transformer.files import write_text


@dataclass(frozen=True, order=True)
class Translation:
    """One sentence of a split, translated.

    Args:
        index: Position in the split, from 0.
        source: Source text.
        hypothesis: The model's translation, detokenised.
        reference: Reference text; empty where there is none.
        non_terminated: Whether decoding ran to the length limit.
    """

    index: int
    source: str
    hypothesis: str
    reference: str
    non_terminated: bool


def gather_translations(translations: list[Translation]) -> list[Translation]:
    """Return the translations of all processes in the order of the input, on every process."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        shares: list[list[Translation]] = [[] for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather_object(shares, translations)
        translations = [translation for share in shares for translation in share]
    return sorted(translations)


def write_translations(folder: Path, translations: list[Translation]) -> None:
    """Write ``source.txt``, ``hypothesis.txt`` and ``reference.txt``, one line per sentence.

    The score of ``sacrebleu reference.txt -i hypothesis.txt`` is the one that the commands log.

    Raises:
        UserError: A file can't be written.
    """
    for name in ("source", "hypothesis", "reference"):
        lines = [getattr(translation, name) for translation in translations]
        write_text(folder / f"{name}.txt", "".join(f"{line}\n" for line in lines))


def read_input(path: str) -> list[str]:
    """Read the sentences to translate: one per line, whatever other separators a line holds.

    Args:
        path: A text file, plain or .gz; ``-`` is standard input.

    Raises:
        UserError: The file is missing or is no UTF-8.
    """
    if path == "-":
        return list(decode_lines(sys.stdin.buffer, "standard input"))
    return list(read_lines(locate_file(path, None, "--input")))


def write_lines(path: str | None, lines: list[str]) -> None:
    """Write one line per sentence to a file, or to standard output where there is no path.

    Raises:
        UserError: The file can't be written.
    """
    text = "".join(f"{line}\n" for line in lines)
    if path is not None:
        write_text(path, text)
        return
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
