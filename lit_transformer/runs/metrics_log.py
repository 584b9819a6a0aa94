"""A logger that only ever adds lines to ``metrics.csv``."""

from __future__ import annotations

import csv
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.rank_zero import rank_zero_only
from typing_extensions import override

from lit_transformer.runs.metrics import COLUMNS, METRICS_FILE


class MetricsLog(Logger):
    """Writes one line per value: ``step, epoch, metric, value, time`` (seconds since 1970).

    Lightning's own CSV logger has a column per metric and deletes the file of a run that it goes on with. A table in
    long form never has to be written again: a resumed run adds its lines to those that are there, and the last line
    of a step and a metric is the one that holds.

    Args:
        folder: The folder of the run.
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self._folder = Path(folder)

    @property
    def path(self) -> Path:
        """The file."""
        return self._folder / METRICS_FILE

    @property
    @override
    def name(self) -> str:
        return self._folder.parent.name

    @property
    @override
    def version(self) -> str:
        return self._folder.name

    @property
    @override
    def save_dir(self) -> str:
        return str(self._folder)

    @override
    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the configuration of a run is in its ``config.yaml``."""

    @override
    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        epoch = metrics.get("epoch", "")
        rows = [
            (step, epoch if epoch == "" else int(epoch), name, repr(float(value)), f"{time.time():.3f}")
            for name, value in metrics.items()
            if name != "epoch"
        ]
        self._folder.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and self.path.stat().st_size > 0 and not _ends_with_newline(self.path)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if torn:
                file.write("\n")
            if file.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerows(rows)


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
