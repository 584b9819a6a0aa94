from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import spearmanr

from lit_transformer.report.agreement import agreements, kendall, shared_components, within_kinds
from lit_transformer.report.runs import read_runs
from tests.report.making import make_run


def test_kendall_by_hand() -> None:
    # 6 pairs: 4 in the same order, 1 in the other, 1 equal in the second: tau-b = 3 / sqrt(6 * 5).
    one = {"e:sa:1": 1.0, "e:sa:2": 2.0, "e:sa:3": 3.0, "e:sa:4": 4.0}
    other = {"e:sa:1": 1.0, "e:sa:2": 3.0, "e:sa:3": 2.0, "e:sa:4": 3.0, "d:ff:1": 9.0}
    assert kendall(one, other) == pytest.approx(3 / 30**0.5)


@pytest.mark.parametrize("one", [{"e:sa:1": 1.0}, {"e:sa:1": 1.0, "e:sa:2": 1.0}, {"d:ff:1": 1.0, "d:ff:2": 2.0}])
def test_kendall_that_is_not_defined(one: dict[str, float]) -> None:
    assert kendall(one, {"e:sa:1": 1.0, "e:sa:2": 2.0}) is None


def test_pairs_of_runs_are_aligned_by_component(tmp_path: Path) -> None:
    drops = [
        {"e:sa:1": 3.0, "e:ff:1": 0.2, "d:ff:1": 1.0, "d:ff:2": 2.0},
        {"d:ff:1": 5.0, "e:ff:1": 0.1, "e:sa:1": 2.0},
        {"e:ff:1": 0.1, "e:sa:1": 2.0},
    ]
    runs = read_runs([make_run(tmp_path / f"run/{n}", drops=each) for n, each in enumerate(drops)])
    first, second, third = agreements(runs, "drop")
    assert (first.first, first.second, first.shared) == ("run/0", "run/1", 3)
    assert first.spearman == pytest.approx(spearmanr([3.0, 0.2, 1.0], [2.0, 0.1, 5.0]).statistic)
    assert (second.shared, third.shared) == (2, 2)
    assert agreements(runs, "loss_rise") == []


def test_within_kinds() -> None:
    one = {"e:sa:1": 1.0, "e:sa:2": 2.0, "d:ff:1": 2.0, "d:ff:2": 1.0, "d:sa:1": 1.0}
    other = {"e:sa:1": 1.0, "e:sa:2": 3.0, "d:ff:1": 2.0, "d:ff:2": 4.0}
    assert within_kinds(one, other) == {"e:sa": 1.0, "d:ff": -1.0}


def test_unimportant_in_all(tmp_path: Path) -> None:
    drops = [
        {"e:sa:1": 3.0, "e:ff:1": 0.4, "d:ff:1": 0.3},
        {"e:sa:1": 0.1, "e:ff:1": -0.2},
    ]
    runs = read_runs([make_run(tmp_path / f"run/{n}", drops=each) for n, each in enumerate(drops)])
    rows = {row.component: row for row in shared_components(runs)}
    assert list(rows) == ["e:ff:1", "d:ff:1", "e:sa:1"]
    assert rows["e:ff:1"].mean == pytest.approx(0.1)
    # A component that a run lacks is unimportant where it is, and not in all.
    assert {name: row.unimportant_in_all for name, row in rows.items()} == {
        "e:ff:1": True,
        "d:ff:1": False,
        "e:sa:1": False,
    }
    assert (rows["e:sa:1"].unimportant, rows["d:ff:1"].unimportant) == (1, 1)
