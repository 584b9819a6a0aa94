from __future__ import annotations

from typing import Any

import pytest

from lit_transformer.tracking.wandb_tables import (
    bars_of,
    cells_of,
    group_ablation_steps,
    layer_ablation_steps,
    scored,
    table_of,
    table_of_csv,
)


def test_a_table_has_every_column_and_one_type_in_each() -> None:
    rows = [
        {"component": "e:sa:1", "rank": 1, "drop": 2, "gone": ["a", "b"], "nested": {"x": 1}},
        {"component": "d:ff:1", "rank": 2, "drop": 0.5, "label": None},
    ]
    columns, data = table_of(rows)
    assert columns == ["component", "rank", "drop", "gone", "label"]
    assert data == [["e:sa:1", 1, 2.0, "a b", None], ["d:ff:1", 2, 0.5, None, None]]
    assert [type(row[2]) for row in data] == [float, float]
    assert table_of([]) == ([], [])


def test_scores_stand_in_canonical_order_without_holes() -> None:
    rows: list[dict[str, Any]] = [
        {"component": "d:ff:1", "contribution": 1},
        {"component": "e:sa:2", "contribution": 0.5},
        {"component": "e:sa:1", "contribution": None},
        {"component": "d:sa:1"},
    ]
    assert list(scored(rows, "contribution").items()) == [("e:sa:2", 0.5), ("d:ff:1", 1.0)]


def test_the_cells_of_a_heat_map() -> None:
    columns, cells = cells_of({"e:sa:1": 0.1, "e:ff:1": 0.2, "d:ea:10": 0.3, "d:ff:2": 0.4})
    assert columns == ["layer", "kind", "score"]
    assert cells == [
        ["layer 10", "d:ea", 0.3],
        ["layer 02", "d:ff", 0.4],
        ["layer 01", "e:sa", 0.1],
        ["layer 01", "e:ff", 0.2],
    ]
    assert sorted(cell[0] for cell in cells) == [cell[0] for cell in reversed(cells)]


def test_bars_are_sorted() -> None:
    assert bars_of({"e:sa:1": 0.5, "d:ff:1": 2.0, "e:ff:1": 0.5}, "drop") == (
        ["component", "drop"],
        [["d:ff:1", 2.0], ["e:sa:1", 0.5], ["e:ff:1", 0.5]],
    )


def test_the_curves_of_group_ablation_share_an_axis_that_grows() -> None:
    rows = [
        {"order": "greedy", "step": 0, "validation_bleu": 30.0, "test_bleu": 29.0},
        {"order": "greedy", "step": 1, "validation_bleu": 28.0, "test_bleu": 27.0},
        {"order": "random-1", "step": 0, "validation_bleu": 30.0, "test_bleu": None},
    ]
    assert group_ablation_steps(rows) == [
        {
            "group_ablation/removed": 0,
            "group_ablation/greedy/validation_bleu": 30.0,
            "group_ablation/greedy/test_bleu": 29.0,
            "group_ablation/random-1/validation_bleu": 30.0,
        },
        {
            "group_ablation/removed": 1,
            "group_ablation/greedy/validation_bleu": 28.0,
            "group_ablation/greedy/test_bleu": 27.0,
        },
    ]


def test_the_curve_of_layer_ablation() -> None:
    rows: list[dict[str, Any]] = [
        {"step": 0, "layer": None, "validation_bleu": 30.0},
        {"step": 1, "layer": 4, "validation_bleu": 25},
    ]
    assert layer_ablation_steps(rows) == [
        {"layer_ablation/removed": 0, "layer_ablation/validation_bleu": 30.0},
        {"layer_ablation/removed": 1, "layer_ablation/validation_bleu": pytest.approx(25.0)},
    ]


def test_a_csv_file_as_a_table() -> None:
    text = 'arm,bleu,draw,note\na,1.5,,"x, y"\nb,,2,7\n'
    assert table_of_csv(text) == (["arm", "bleu", "draw", "note"], [["a", 1.5, None, "x, y"], ["b", None, 2.0, "7"]])
    assert table_of_csv("arm,bleu\n") == (["arm", "bleu"], [])
