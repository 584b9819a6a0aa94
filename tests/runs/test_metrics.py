from __future__ import annotations

import math
from pathlib import Path

import pytest
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.runs.metrics import Logged, last_value, read_metrics
from lit_transformer.runs.metrics_log import MetricsLog

HEADER = "step,epoch,metric,value,time\n"
FIRST, SECOND = Logged(9, "val/loss", 2.5, 1.0), Logged(19, "val/loss", 2.25, 2.0)
LINES = HEADER + "9,0,val/loss,2.5,1.0\n19,1,val/loss,2.25,2.0\n"


def test_what_was_logged_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 0, raising=False)
    log = MetricsLog(tmp_path)
    log.log_metrics({"val/loss": 1 / 3, "epoch": 2}, step=7)
    log.log_metrics({"val/bleu": float("nan")})
    first, second = read_metrics(tmp_path)
    assert (first.step, first.metric, first.value) == (7, "val/loss", 1 / 3)
    assert (second.step, second.metric) == (None, "val/bleu")
    assert math.isnan(second.value)
    assert 0 <= second.time - first.time < 60
    assert last_value(tmp_path, "val/loss") == 1 / 3


@pytest.mark.parametrize(
    "more",
    [
        "",
        "29",
        "29,2,val/loss",
        "29,2,val/loss,2.0",
        "29,2,val/loss,2.0,",
        "29,2,val/loss,much,3.0\n",
        "late,2,val/loss,2.0,3.0\n",
        "\0\0\0",
        '29,2,"val/loss,2.0,3.0\n' + "x" * 200_000,
    ],
)
def test_a_line_that_cannot_be_read_is_left_out(more: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(LINES + more)
    assert list(read_metrics(tmp_path)) == [FIRST, SECOND]
    assert last_value(tmp_path, "val/loss") == 2.25
    (tmp_path / "metrics.csv").write_text(LINES + more + "\n39,3,val/bleu,30.0,4.0\n")
    assert list(read_metrics(tmp_path))[:2] == [FIRST, SECOND]


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"a,b\n1,2\n", HEADER.encode()])
def test_nothing_was_logged(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "metrics.csv").write_bytes(content)
    assert list(read_metrics(tmp_path)) == []
    assert last_value(tmp_path, "val/loss") is None
