from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.components import component_ids
from lit_transformer.report.paper import comparable, published, published_scores
from lit_transformer.report.runs import read_run
from tests.report.making import make_run


def test_the_published_figures() -> None:
    assert "2011.03803" in published()["source"]
    for pair in ("en-de", "en-fr"):
        for score in ("contribution", "criticality"):
            found = published_scores(pair, score)
            assert set(found) == set(component_ids(6, 6))
            assert all(0 <= value <= 1 for value in found.values())
    # Read off the picture: the highest attention to the encoder is the darkest cell of its column.
    assert published_scores("en-de", "contribution")["d:ea:6"] == 1.0
    assert published_scores("en-de", "criticality")["d:sa:3"] == 0.0


@pytest.mark.parametrize(("layers", "expected"), [((6, 6), True), ((6, 5), False), ((12, 6), False)])
def test_only_a_model_of_its_structure_is_laid_beside_it(
    layers: tuple[int, int], expected: bool, tmp_path: Path
) -> None:
    assert comparable(read_run(make_run(tmp_path / "run", layers))) is expected
