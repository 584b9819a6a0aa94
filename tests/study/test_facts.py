from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.study.facts import FileReader

LINES = "step,epoch,metric,value,time\n9,0,val/loss,2.5,1764000000.5\n9,0,val/loss,2.5,1764000007.25\n"


@pytest.mark.parametrize("torn", ["", "19", "19,1,val/loss,2.0", "19,1,train/loss,2.0,17"])
def test_an_interrupted_run(torn: str, tmp_path: Path) -> None:
    reader = FileReader()
    assert reader.seconds_of(tmp_path) == 0.0
    assert reader.validations(tmp_path) is None
    (tmp_path / "metrics.csv").write_text(LINES + torn)
    assert reader.seconds_of(tmp_path) == 6.75
    # A step that a resumed run came by twice.
    assert reader.validations(tmp_path) == 1
