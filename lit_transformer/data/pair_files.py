"""Pairs of sentences from local files: aligned text, TSV, JSON lines, Parquet."""

from __future__ import annotations

import itertools
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lit_transformer.data.cache import file_stamp, fingerprint_of, generated_table, mapped_table, quiet_datasets
from lit_transformer.data.columns import missing_languages, pair_of_row, pairs_of_table
from lit_transformer.data.text_files import count_lines, locate_file, read_lines
from lit_transformer.errors import UserError

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

LANGUAGE_PLACEHOLDER = "{lang}"

_FORMAT_VERSION = 1
_ALLOWED = (
    f"aligned text files such as train.{LANGUAGE_PLACEHOLDER} or train.{LANGUAGE_PLACEHOLDER}.gz "
    f"({LANGUAGE_PLACEHOLDER} stands for the language code), .tsv, .jsonl, .json (each also .gz) and .parquet"
)
_LIKE_A_HEADER = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?|source|target|src|tgt|trg|translation")


def load_pair_files(
    name: str, folder: str | None, flag: str, source: str, target: str, size: int | None
) -> datasets.Dataset:
    """Return the pairs of a local file, or of two aligned ones, as columns ``source`` and ``target``.

    Args:
        name: File name; one with ``{lang}`` names two aligned text files, for any other the suffix tells the format.
        folder: Put before a relative name.
        flag: The option that gave ``name``, for error messages.
        source: Code of the source language.
        target: Code of the target language.
        size: Only the first so many pairs, or None for all.

    Raises:
        UserError: A file is missing, unreadable, of an unknown format, without one of the languages, empty, or not
            aligned with the other.
    """
    if LANGUAGE_PLACEHOLDER in name:
        paths = [locate_file(name.replace(LANGUAGE_PLACEHOLDER, code), folder, flag) for code in (source, target)]
        return _generated(_aligned_pairs(paths[0], paths[1]), paths, source, target, size)
    path = locate_file(name, folder, flag)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix == ".tsv":
        return _generated(_tsv_pairs(path, source, target), [path], source, target, size)
    if suffix in (".jsonl", ".json") and not (suffix == ".json" and _is_json_array(path)):
        return _generated(_json_pairs(path, source, target), [path], source, target, size)
    if suffix == ".json" or path.suffix == ".parquet":
        return _table_pairs(suffix.removeprefix("."), path, source, target, size)
    raise UserError(f"{flag}: cannot tell the format of {name!r}. Allowed are {_ALLOWED}.")


def pair_features() -> datasets.Features:
    """Return the columns of a corpus: ``source`` and ``target``, both text."""
    library = quiet_datasets()
    return library.Features({"source": library.Value("string"), "target": library.Value("string")})


def _generated(
    pairs: Iterator[dict[str, str]], paths: list[Path], source: str, target: str, size: int | None
) -> datasets.Dataset:
    """Return the table of the first ``size`` of ``pairs``, an iterator that reads nothing before its first step."""
    stamps = [file_stamp(path) for path in paths]
    key = fingerprint_of("pair files", _FORMAT_VERSION, stamps, source, target, size)
    return generated_table(lambda: itertools.islice(pairs, size), pair_features(), key)


def _aligned_pairs(source_path: Path, target_path: Path) -> Iterator[dict[str, str]]:
    counts = [count_lines(path) for path in (source_path, target_path)]
    if counts[0] != counts[1]:
        raise UserError(
            f"{str(source_path)!r} has {counts[0]} lines and {str(target_path)!r} has {counts[1]}; aligned files must "
            "have the same number, as line i of one is the translation of line i of the other. Find the line that is "
            "missing or too many."
        )
    for source, target in zip(read_lines(source_path), read_lines(target_path), strict=True):
        yield {"source": source, "target": target}


def _tsv_pairs(path: Path, source: str, target: str) -> Iterator[dict[str, str]]:
    """Yield the pairs of a TSV file: no quoting, so a quotation mark or the word NA is text like any other.

    A line of no characters is no pair, as one at the end of a file is easily left; a blank pair has its tab.
    """
    lines = enumerate(read_lines(path), start=1)
    rows: Iterator[tuple[int, list[str]]] = ((number, line.split("\t")) for number, line in lines if line)
    number, first = next(rows, (0, None))
    if first is None:
        return
    header = [cell.strip() for cell in first]
    has_header = {source, target} <= set(header)
    if not has_header:
        if any(cell in (source, target) for cell in header) or all(map(_LIKE_A_HEADER.fullmatch, header)):
            place = f"the first line of {str(path)!r} looks like a header (if it is a pair, put a header on top) and"
            raise missing_languages(place, [repr(cell) for cell in header], source, target)
        if len(first) != 2:
            raise UserError(
                f"{str(path)!r}, line {number} has {len(first)} columns and no header that names {source!r}, "
                f"{target!r}. A file without header has two columns, source and target, with a tab between them; put a "
                "line with the language codes on top of any other."
            )
        log.warning("%s has no header: its columns are taken as %s and %s, in this order.", path, source, target)
        header, rows = [source, target], itertools.chain([(number, first)], rows)
    places = header.index(source), header.index(target)
    for number, row in rows:
        if len(row) != len(header):
            raise UserError(
                f"{str(path)!r}, line {number} has {len(row)} columns instead of {len(header)}; columns are separated "
                "by one tab, and a sentence cannot hold a tab. Correct this line."
            )
        yield {"source": row[places[0]], "target": row[places[1]]}


def _json_pairs(path: Path, source: str, target: str) -> Iterator[dict[str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{str(path)!r}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"{place} is no JSON: {error}. Every line must be one object.") from None
        if not isinstance(row, dict):
            raise UserError(f"{place} holds {line[:40]!r}; it must be an object with the languages as keys.")
        yield pair_of_row(row, place, source, target)


def _is_json_array(path: Path) -> bool:
    first = next((line for line in read_lines(path) if line.strip()), "")
    return first.lstrip().startswith("[")


def _table_pairs(builder: str, path: Path, source: str, target: str, size: int | None) -> datasets.Dataset:
    """Return the pairs of a file that a builder of ``datasets`` reads as a whole (``parquet``, ``json``)."""

    def table() -> datasets.Dataset:
        library = quiet_datasets()
        try:
            rows = library.load_dataset(builder, data_files=str(path), split="train")
        except OSError:  # of the cache; the file itself was found before
            raise
        except Exception as error:  # the builders let errors of pyarrow, pandas and their own through
            raise UserError(f"cannot read {str(path)!r} as {builder}: {error.__cause__ or error}.") from error
        return rows if size is None else rows.select(range(min(size, len(rows))))

    def pairs(batch: pa.Table) -> pa.Table:
        return pairs_of_table(batch, repr(str(path)), source, target)

    key = fingerprint_of("pair table", _FORMAT_VERSION, file_stamp(path), source, target, size)
    return mapped_table(table, pairs, pair_features(), key)
