"""Pairs of sentences from a data set of the Hugging Face hub, or a local folder laid out like one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lit_transformer.data.cache import file_stamp, fingerprint_of, generated_table, mapped_table, quiet_datasets
from lit_transformer.data.columns import pairs_of_table
from lit_transformer.data.pair_files import pair_features
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_FORMAT_VERSION = 1
_ROWS_A_BATCH = 1000
_HUB_TIMEOUT = 10.0
"""Seconds to wait for the hub's first answer; the library itself tries for more than 20."""

_OTHER_WAYS = (
    "Local files (--data.dataset null, --data.train, --data.validation, --data.test) and the built-in grammar corpus "
    "(--data.dataset grammar) need no network"
)


def load_named_dataset(
    name: str, config: str | None, split: str, flag: str, source: str, target: str, size: int | None
) -> datasets.Dataset:
    """Return the pairs of one split as columns ``source`` and ``target``.

    The training split as a whole is downloaded with the data set; the first ``size`` pairs, or another split, are
    streamed, so that a small part of a large data set costs little. What was loaded once is found again without the
    network.

    Args:
        name: Hub name (``wmt/wmt14``) or path of a local folder.
        config: Configuration (``de-en``), or None where the data set has but one.
        split: Name of the split in the data set.
        flag: The option that gives the split's name, for error messages.
        source: Code of the source language.
        target: Code of the target language.
        size: Only the first so many pairs, or None for all.

    Raises:
        UserError: The hub can't be reached, there is no such data set, configuration or split, or it lacks one of the
            languages.
    """
    folder = _local_folder(name)
    stamps = _stamps(folder) if folder else []
    name = str(folder) if folder else name
    key = fingerprint_of("named dataset", _FORMAT_VERSION, name, stamps, config, split, source, target, size)
    place = f"data set {name!r}"

    def pairs(batch: pa.Table) -> pa.Table:
        return pairs_of_table(batch, place, source, target)

    def streamed() -> Iterator[dict[str, str]]:
        # With the network switched off only a data set that was downloaded as a whole can be read.
        rows = _open(name, config, split, flag, streaming=not _hub_is_off(name))
        try:
            rows = rows if size is None else rows.take(size)
            for batch in rows.with_format("arrow").iter(batch_size=_ROWS_A_BATCH):
                yield from pairs(batch).to_pylist()
        except UserError:
            raise
        except (ConnectionError, TimeoutError) as error:
            raise _unreachable(name, error) from error
        except Exception as error:  # whatever a reader of Parquet, JSON, ... raises
            raise UserError(f"cannot read the split {split!r} of {place}: {error.__cause__ or error}.") from error

    if _is_saved(name) or (flag == "--data.train" and size is None):
        return mapped_table(lambda: _first(_open(name, config, split, flag), size), pairs, pair_features(), key)
    return generated_table(streamed, pair_features(), key)


def _first(rows: datasets.Dataset, size: int | None) -> datasets.Dataset:
    return rows if size is None else rows.select(range(min(size, len(rows))))


def _open(
    name: str, config: str | None, split: str, flag: str, streaming: bool = False
) -> datasets.Dataset | datasets.IterableDataset:
    """Return the rows of a split as they are."""
    library = quiet_datasets()
    try:
        if _is_saved(name):
            saved = library.load_from_disk(name)
            splits = saved if isinstance(saved, dict) else {str(saved.split or "train"): saved}
        else:
            if not Path(name).is_dir() and not _hub_is_off(name):
                _reach_hub(name)
            splits = library.load_dataset(name, config, streaming=streaming)
    except (ConnectionError, TimeoutError) as error:
        raise _unreachable(name, error) from error
    except (OSError, ValueError, RuntimeError, library.exceptions.DatasetsError) as error:
        raise UserError(
            f"cannot load data set {name!r} (configuration {config!r}): {error.__cause__ or error}. Correct "
            f"--data.dataset or --data.dataset_config. {_OTHER_WAYS}."
        ) from error
    if split not in splits:
        raise UserError(
            f"{flag}: data set {name!r} has no split {split!r}; it has {', '.join(map(str, splits))}. Name one of "
            f"these (for its first N pairs add {flag}_size N), or set --data.dataset null if {split!r} is a file."
        )
    return splits[split]


def _reach_hub(name: str) -> None:
    """Ask the hub for the data set, because this fails at once where loading would try again and again."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    try:
        huggingface_hub.HfApi().dataset_info(name, timeout=_HUB_TIMEOUT)
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code >= 500:
            raise _unreachable(name, error) from error
        raise UserError(
            f"--data.dataset: there is no public data set {name!r} on the Hugging Face hub, nor a local folder of this "
            f"name. Names look like 'wmt/wmt14'; a private one needs HF_TOKEN. {_OTHER_WAYS}."
        ) from error
    except ValueError as error:
        raise UserError(
            f"--data.dataset: {name!r} is no data set's name and no local folder. {_OTHER_WAYS}."
        ) from error
    except Exception as error:  # the HTTP client's own hierarchy, which differs between versions of the library
        raise _unreachable(name, error) from error


def _unreachable(name: str, error: Exception) -> UserError:
    return UserError(
        f"cannot reach the Hugging Face hub for data set {name!r} ({error}). {_OTHER_WAYS}. If it was downloaded "
        "before, HF_HUB_OFFLINE=1 uses that copy."
    )


def _hub_is_off(name: str) -> bool:
    """Tell whether the network is switched off, which leaves only what ``datasets`` has downloaded before."""
    import huggingface_hub

    return bool(huggingface_hub.constants.HF_HUB_OFFLINE) and not Path(name).is_dir()


def _is_saved(name: str) -> bool:
    """Tell whether the folder was written by ``save_to_disk``."""
    return any((Path(name) / marker).is_file() for marker in ("dataset_dict.json", "state.json"))


def _local_folder(name: str) -> Path | None:
    """Return the folder of this name, or None for a name of the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UserError(f"--data.dataset: there is no folder {name!r}. {_OTHER_WAYS}.")
    return None


def _stamps(folder: Path) -> list[tuple[str, int, int]]:
    return [file_stamp(path) for path in sorted(folder.rglob("*")) if path.is_file()]
