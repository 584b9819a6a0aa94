from __future__ import annotations

from pathlib import Path

import pytest

import lit_transformer
from lit_transformer.errors import UserError
from tests.report.making import BASELINE, make_run


def test_plain_objects_and_a_table(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", drops={"d:ff:1": 0.1, "e:sa:1": 3.0})
    scores = lit_transformer.load_scores(folder)
    assert scores.folder == folder / "analysis" / "average"
    assert [row["component"] for row in scores.components] == ["e:sa:1", "d:ff:1"]
    assert scores.column("drop") == {"e:sa:1": 3.0, "d:ff:1": 0.1}
    assert scores.about["baseline"]["bleu"] == BASELINE
    assert "components" not in scores.about
    assert len(scores.group_ablation) == 3
    table = scores.to_pandas()
    assert table.loc["e:sa:1", "drop"] == 3.0
    assert list(table.index) == ["e:sa:1", "d:ff:1"]


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    scores = lit_transformer.load_scores(str(make_run(tmp_path / "run")))
    with pytest.raises(UserError, match="no column 'bleu'; they have component, kind,"):
        scores.column("bleu")


def test_a_run_without_scores(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    with pytest.raises(UserError, match="No analysis"):
        lit_transformer.load_scores(tmp_path / "run")


def test_a_name_that_the_package_does_not_give() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'scores'"):
        lit_transformer.scores  # noqa: B018 - asking is the test
