"""Read ``metrics.csv``, which `lit_transformer.runs.metrics_log` writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lit_transformer.files import read_table

METRICS_FILE = "metrics.csv"
COLUMNS = ("step", "epoch", "metric", "value", "time")


@dataclass(frozen=True)
class Logged:
    """A logged value.

    Args:
        step: The optimizer step; None for a value without one.
        metric: Name of the metric.
        value: The value, which need not be finite.
        time: Seconds since 1970.
    """

    step: int | None
    metric: str
    value: float
    time: float


def read_metrics(run: str | Path) -> Iterator[Logged]:
    """Yield the values that a run logged, in the order in which they were written; none where there is no such file.

    A line that can't be read is left out, such as the torn last line of a run that was killed. A resumed run may have
    logged a step twice: the last value holds.

    Args:
        run: The folder of the run.
    """
    for row in read_table(Path(run) / METRICS_FILE):
        try:
            step = int(row["step"]) if row["step"] else None
            yield Logged(step, row["metric"], float(row["value"]), float(row["time"]))
        except (KeyError, TypeError, ValueError):
            continue


def last_value(run: str | Path, metric: str) -> float | None:
    """Return the last value of a metric of a run; None where it was not logged.

    Args:
        run: The folder of the run.
        metric: Name of the metric.
    """
    values = [logged.value for logged in read_metrics(run) if logged.metric == metric]
    return values[-1] if values else None
