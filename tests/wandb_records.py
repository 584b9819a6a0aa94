"""Reads what an offline run of Weights & Biases wrote: its transaction log."""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

# Made by protobuf when it is loaded, which a type checker does not see.
_Record: Any = vars(wandb_internal_pb2)["Record"]

BLOCK = 32768
HEADER = 7
FULL, FIRST, LAST = 1, 2, 4
WAIT = 60.0
"""Seconds that a run may take to be written after its end: the wandb package writes in a process of its own."""


def payloads(path: Path) -> Iterator[bytes]:
    """Return the records of a ``.wandb`` file as bytes: blocks of records in the layout of LevelDB's log."""
    content = path.read_bytes()
    assert content[:4] == b":W&B"
    position, parts = HEADER, b""
    while position < len(content):
        if BLOCK - position % BLOCK < HEADER:
            position += BLOCK - position % BLOCK
            continue
        checksum, length, kind = struct.unpack_from("<IHB", content, position)
        data = content[position + HEADER : position + HEADER + length]
        assert zlib.crc32(bytes([kind]) + data) == checksum
        position += HEADER + length
        parts = data if kind in (FULL, FIRST) else parts + data
        if kind in (FULL, LAST):
            yield parts


class OfflineRun:
    """What one offline run holds.

    Args:
        path: Its ``.wandb`` file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = [_Record.FromString(payload) for payload in payloads(path)]

    def of(self, kind: str) -> list[Any]:
        """Return the records of a kind."""
        return [getattr(record, kind) for record in self.records if record.WhichOneof("record_type") == kind]

    @property
    def about(self) -> Any:
        """Its record of itself: name, project, group, job type."""
        return self.of("run")[0]

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration, as the last updates left it."""
        found: dict[str, Any] = {}
        for record in [self.about.config, *self.of("config")]:
            for update in record.update:
                _put(found, [update.key] if update.key else list(update.nested_key), update.value_json)
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """The lines of the history."""
        return [_values(record.item) for record in self.of("history")]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary, as the last updates left it."""
        found: dict[str, Any] = {}
        for record in self.of("summary"):
            found.update(_values(record.update))
        return found

    @property
    def metrics(self) -> dict[str, Any]:
        """The definitions of metrics, by name or pattern."""
        return {record.name or record.glob_name: record for record in self.of("metric")}

    def artifacts(self, kind: str) -> list[Any]:
        """Return the artifacts of a kind."""
        return [record for record in self.of("artifact") if record.type == kind]

    def column(self, name: str) -> list[Any]:
        """Return the values of a metric in the order in which they were logged."""
        return [line[name] for line in self.history if name in line]

    def table(self, name: str) -> dict[str, Any]:
        """Return the table that was logged last under a name: ``columns`` and ``data``."""
        path = self.path.parent / "files" / self.column(name)[-1]["path"]
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content


def _values(items: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        _put(found, [item.key] if item.key else list(item.nested_key), item.value_json)
    return found


def _put(into: dict[str, Any], keys: list[str], value: str) -> None:
    for key in keys[:-1]:
        into = into.setdefault(key, {})
    into[keys[-1]] = json.loads(value)


def runs_below(folder: Path) -> list[OfflineRun]:
    """Return the offline runs below a folder, which have ended, in the order of their start."""
    return [_ended(path) for path in sorted(folder.glob("**/offline-run-*/run-*.wandb"))]


def _ended(path: Path) -> OfflineRun:
    """Return a run once its last record is there."""
    until = time.monotonic() + WAIT
    while True:
        try:
            run = OfflineRun(path)
            assert run.of("exit"), f"{path} has no end"
            return run
        except (AssertionError, struct.error):
            if time.monotonic() > until:
                raise
        time.sleep(0.2)
