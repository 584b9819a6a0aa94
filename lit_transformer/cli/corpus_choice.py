"""Which corpus a command reads where files are named and a configuration, or a checkpoint, names the built-in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lit_transformer.data.corpora import GRAMMAR

_FILES = ("train", "validation", "test")


def files_instead(data: Mapping[str, Any], typed: Sequence[str], before: Mapping[str, Any] | None = None) -> list[str]:
    """Return the options that replace the built-in corpus by the files that are named, or nothing.

    Files win over the built-in corpus of an earlier source: a checkpoint, a ``--config`` before them, or the default.
    The sizes given up to there say how many pairs to generate, and go with it. Files and a corpus of the same source
    stay as they are; that contradiction is refused when the corpus is read.

    Args:
        data: The data settings of the command line.
        typed: The command line.
        before: Data settings that hold where the command line gives none, such as a checkpoint's.

    Example:
        >>> files_instead({"dataset": "grammar", "train": "t.tsv"}, ["fit", "--data.train=t.tsv"])
        ['--data.dataset=null', '--data.train_size=null', '--data.validation_size=null', '--data.test_size=null']
        >>> files_instead({"dataset": None, "train": "t.tsv"}, ["fit", "--data.train=t.tsv"])
        []
    """
    sources = _sources(typed)
    named = max((sources.get(name, 0) for name in _FILES if data.get(name) is not None), default=0)
    dataset = data["dataset"] if "dataset" in sources else (before or {}).get("dataset", data["dataset"])
    corpus = sources.get("dataset", 0)
    if dataset != GRAMMAR or named <= corpus:
        return []
    sizes = [size for name in _FILES if sources.get(size := f"{name}_size", 0) <= corpus]
    return [f"--data.{name}=null" for name in ("dataset", *sizes)]


def _sources(typed: Sequence[str]) -> dict[str, int]:
    """Return the number of the last source that gives each data setting; a source is a file, or what stands between."""
    found: dict[str, int] = {}
    source = 1
    for name, value in _options(typed):
        if name in ("config", "c"):
            found |= dict.fromkeys(_data_of(_content(value)), source + 1)
            source += 2
        elif name == "data":
            found |= dict.fromkeys(_data_of({"data": _content(value)}), source)
        elif name.startswith("data."):
            found[name.removeprefix("data.")] = source
    return found


def _options(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each option; a flag has an empty one."""
    for place, option in enumerate(typed):
        if option.startswith("-"):
            flag, equals, value = option.partition("=")
            yield flag.lstrip("-"), value if equals else "".join(typed[place + 1 : place + 2])


def _content(value: str) -> Any:
    """Return the settings in a file, or in the value itself; what can't be read is left to the parser to refuse."""
    try:
        content = yaml.safe_load(value)
        return yaml.safe_load(Path(value).read_text(encoding="utf-8")) if isinstance(content, str) else content
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def _data_of(settings: Any) -> list[str]:
    data = settings.get("data") if isinstance(settings, dict) else None
    return [name for name, value in data.items() if value is not None] if isinstance(data, dict) else []
