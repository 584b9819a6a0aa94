from __future__ import annotations

import pytest
import torch

from lit_transformer.importance.contribution import contribution_table
from lit_transformer.importance.variant import ablation
from tests.importance.making import SENTENCES, evaluation


def test_by_hand() -> None:
    baseline = evaluation(10)
    ablations = {
        "e:sa:1": evaluation(6, ablation("e:sa:1")),
        "d:ff:1": evaluation(10, ablation("d:ff:1")),
        "d:ff:2": evaluation(11, ablation("d:ff:2")),
    }
    table = contribution_table(baseline, ablations, epsilon=0.5, least=2)
    assert [row["component"] for row in table.rows] == list(ablations)
    first, second, third = table.rows
    assert first["drop"] == pytest.approx(baseline.bleu - ablations["e:sa:1"].bleu)
    assert (first["contribution"], second["contribution"], third["contribution"]) == (1.0, 0.0, 0.0)
    assert [row["rank"] for row in table.rows] == [1, 2, 3]
    # All sentences are alike, so that no choice of them makes a difference.
    assert [row["label"] for row in table.rows] == ["important", "negligible", "harmful"]
    assert first["drop_lower"] == pytest.approx(first["drop"]) == first["drop_upper"]
    assert third["non_terminated"] == 4 / SENTENCES
    assert table.about["least"] == {"components": ["d:ff:1", "d:ff:2"], "overlap": 1.0}
    assert [row["least_share"] for row in table.rows] == [0.0, 1.0, 1.0]


def test_the_rise_of_the_loss() -> None:
    def with_loss(matches: int, loss: float) -> dict[str, torch.Tensor]:
        pieces = torch.full((SENTENCES,), 4, dtype=torch.int32)
        return {"loss": torch.full((SENTENCES,), 4 * loss), "reference_pieces": pieces, "correct_pieces": pieces}

    baseline = evaluation(10, records=with_loss(10, 1.5))
    ablations = {"d:ff:1": evaluation(9, records=with_loss(9, 2.0))}
    [row] = contribution_table(baseline, ablations, 0.5, 5).rows
    assert (row["loss"], row["loss_rise"]) == (2.0, 0.5)


@pytest.mark.parametrize("place", ["baseline", "ablation"])
def test_where_only_one_of_the_two_has_a_record_there_is_no_rise(place: str) -> None:
    pieces = torch.full((SENTENCES,), 4, dtype=torch.int32)
    recorded = {"loss": torch.full((SENTENCES,), 8.0), "reference_pieces": pieces, "correct_pieces": pieces}
    made = {name: evaluation(10, records=recorded if name == place else {}) for name in ("baseline", "ablation")}
    [row] = contribution_table(made["baseline"], {"d:ff:1": made["ablation"]}, 0.5, 5).rows
    assert "loss_rise" not in row
    assert ("loss" in row) == (place == "ablation")


def test_columns_of_mean_ablation_have_names_of_their_own() -> None:
    [row] = contribution_table(evaluation(10), {"d:ff:1": evaluation(9)}, 0.5, 5, prefix="mean_").rows
    assert {"component", "baseline_bleu", "mean_drop", "mean_contribution", "mean_label"} <= row.keys()
    assert "drop" not in row
