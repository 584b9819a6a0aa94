"""Arrow tables that are made once and then memory-mapped, through Hugging Face ``datasets``.

The tables lie where ``datasets`` keeps its own (``HF_HOME`` or ``HF_DATASETS_CACHE``). Every table has an explicit
fingerprint of what it was made from, so that another process, or the next run, finds it and computes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_ROWS_A_BATCH = 1000


class _NoRowsError(Exception):
    """A generator ended before its first row."""


def quiet_datasets() -> ModuleType:
    """Import ``datasets`` with its progress bars and log lines off, as ours is the only voice on the terminal."""
    import datasets
    import huggingface_hub

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    huggingface_hub.utils.disable_progress_bars()
    huggingface_hub.utils.logging.set_verbosity_error()
    return datasets


def fingerprint_of(*parts: object) -> str:
    """Return 32 hexadecimal digits that stand for ``parts`` (plain types), the same in every process."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def file_stamp(path: Path) -> tuple[str, int, int]:
    """Return path, time of change in nanoseconds and size in bytes: another stamp means other content."""
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size


def generated_table(
    rows: Callable[[], Iterator[dict[str, Any]]], features: datasets.Features, fingerprint: str
) -> datasets.Dataset:
    """Return the table of the rows that ``rows`` yields, which is called only if the table is not there yet.

    Args:
        rows: Starts the rows from the first one.
        features: Columns of the table.
        fingerprint: Stands for what the rows are made from.

    Returns:
        The table; one without rows is not kept in the cache.

    Raises:
        UserError: ``rows`` raised it, or the cache can't be written.
    """
    library = quiet_datasets()

    def at_least_one_row() -> Iterator[dict[str, Any]]:
        empty = True
        for row in rows():
            empty = False
            yield row
        if empty:
            raise _NoRowsError

    try:
        return library.Dataset.from_generator(at_least_one_row, features=features, fingerprint=fingerprint)
    except library.exceptions.DatasetGenerationError as error:
        # The library wraps whatever the generator raises; the person wants the reason.
        cause = error.__cause__
        if isinstance(cause, _NoRowsError):
            return library.Dataset.from_dict({name: [] for name in features}, features=features)
        if isinstance(cause, UserError):
            raise cause from None
        raise (_cannot_write(cause) if isinstance(cause, OSError) else error) from error
    except OSError as error:
        raise _cannot_write(error) from error


def mapped_table(
    table: Callable[[], datasets.Dataset],
    function: Callable[[pa.Table], pa.Table],
    features: datasets.Features,
    fingerprint: str,
    processes: int = 1,
) -> datasets.Dataset:
    """Return ``function`` of a table, batch by batch; neither is called if the result is there already.

    Args:
        table: Gives the table to start from.
        function: From a batch of rows to as many rows with the columns ``features``.
        features: Of the result.
        fingerprint: Stands for table and function together.
        processes: Processes to share the work.

    Raises:
        UserError: ``function`` raised it, or the cache can't be written.
    """
    library = quiet_datasets()
    path = Path(library.config.HF_DATASETS_CACHE) / "lit_transformer" / f"{fingerprint}.arrow"
    if not path.is_file():
        environment = os.environ
        try:
            start = table().with_format("arrow")
            path.parent.mkdir(parents=True, exist_ok=True)
            made = start.map(
                function,
                batched=True,
                batch_size=_ROWS_A_BATCH,
                writer_batch_size=10 * _ROWS_A_BATCH,
                remove_columns=start.column_names,
                features=features,
                num_proc=processes if processes > 1 else None,
                cache_file_name=str(path),
                load_from_cache_file=True,
                new_fingerprint=fingerprint,
            )
        except OSError as error:
            raise _cannot_write(error) from error
        finally:
            # datasets leaves a copy in its place when it has worked with several processes; others hold the first one.
            os.environ = environment  # noqa: B003 - it is the same object as before
        if not path.is_file():  # several processes wrote a file each
            return made.with_format(None)
    # A table read from a file gets a fingerprint of the file's place and time: ours is of its content.
    return library.Dataset(library.Dataset.from_file(str(path)).data, fingerprint=fingerprint)


def _cannot_write(error: OSError) -> UserError:
    reason = error.strerror or str(error)
    return UserError(
        f"cannot make the table of sentences in the cache of Hugging Face datasets: {reason}. Free some space there, "
        "or set HF_DATASETS_CACHE to a folder that can be written, and run the same command again."
    )
