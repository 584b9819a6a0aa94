from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest
import pytorch_lightning as pl

from callbacks import BestLossCheckpoint, ContributionScore
from callbacks.contribution import contribution_rows
from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.importance.evaluator import Evaluation
from lit_transformer.model import weights_digest
from lit_transformer.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_csv


def evaluation(bleu: float, *ablated: str, **changes: Any) -> Evaluation:
    given = {"brevity_penalty": 0.9, "length_ratio": 0.95, "non_terminated": 3, "sentences": 10, "seconds": 0.12345}
    return Evaluation(ablated, bleu, **{**given, **changes})


@pytest.fixture
def module() -> LitTransformer:
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "feed_forward": 32, "heads": 2}
    return LitTransformer(**sizes, source_vocab_size=20, target_vocab_size=20)


class TestRows:
    def test_by_hand(self, module: LitTransformer) -> None:
        ablations = {
            "e:sa:1": evaluation(10.0, "e:sa:1", non_terminated=7),
            "d:ea:1": evaluation(28.5, "d:ea:1"),
            "d:ff:1": evaluation(30.5, "d:ff:1"),
        }
        rows = contribution_rows(module, evaluation(30.0), ablations)
        assert rows[0] == {
            "component": "e:sa:1",
            "kind": "e:sa",
            "layer": 1,
            # Four projections of 16 by 16 with their biases; the norm does not count.
            "parameters": 4 * (16 * 16 + 16),
            "baseline_bleu": 30.0,
            "ablated_bleu": 10.0,
            "drop": 20.0,
            "relative_drop": pytest.approx(2 / 3),
            "contribution": 1.0,
            "rank": 1,
            "brevity_penalty": 0.9,
            "length_ratio": 0.95,
            "non_terminated": 7,
            "sentences": 10,
            "seconds": 0.123,
        }
        assert [row["contribution"] for row in rows] == [1.0, pytest.approx(0.5), 0.0]
        assert [row["drop"] for row in rows] == [20.0, 1.5, -0.5]
        assert [row["rank"] for row in rows] == [1, 2, 3]
        assert rows[2]["parameters"] == 16 * 32 + 32 + 32 * 16 + 16

    def test_the_parameters_are_the_papers(self) -> None:
        base = LitTransformer(source_vocab_size=8, target_vocab_size=8)
        rows = contribution_rows(base, evaluation(30.0), {"d:sa:6": evaluation(1.0), "d:ff:6": evaluation(1.0)})
        # 4 d^2 + 4 d, and 8 d^2 + 5 d, for a width of 512 and a hidden layer four times as wide.
        assert [row["parameters"] for row in rows] == [1_050_624, 2_099_712]


class TestSelectors:
    def test_one_that_matches_nothing_is_told_before_training(self, setup: Setup) -> None:
        class NeverTrains(LitTransformer):
            def training_step(self, *_: Any) -> Any:
                pytest.fail("the selector must be checked before the first step")

        module = NeverTrains(**dict(setup.module().hparams))
        trainer = setup.trainer([ContributionScore(["d:sa:7"])])
        with pytest.raises(UserError, match=r"component selector 'd:sa:7' matches nothing .* it has e:sa:1"):
            trainer.fit(module, datamodule=setup.data())

    def test_in_an_analysis(self, setup: Setup, module: LitTransformer) -> None:
        class Fake:
            components = component_ids(1, 1)

        with pytest.raises(UserError, match="'e:ea' matches nothing"):
            ContributionScore(["e:ea"]).on_analyze(setup.trainer([]), module, Fake())  # type: ignore[arg-type]

    def test_all_by_default(self) -> None:
        assert ContributionScore().components == ["*"]


class Digests(pl.Callback):
    """Notes the weights around an analysis."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_analyze(self, trainer: pl.Trainer, pl_module: LitTransformer, evaluator: object) -> None:
        self.seen.append(weights_digest(pl_module.network))


@pytest.fixture(scope="module")
def analysed(setups: Callable[[], Setup]) -> tuple[Setup, Digests]:
    """A run after which its best checkpoint was analysed, because its callbacks held a scorer."""
    setup, around = setups(), Digests()
    # The same callback before and after the scorer.
    trainer = setup.trainer([around, ContributionScore(["d:ff", "e:*"]), BestLossCheckpoint(), around], max_steps=4)
    trainer.fit(setup.module(), datamodule=setup.data())
    return setup, around


class TestAnalysis:
    def test_files(self, analysed: tuple[Setup, Digests]) -> None:
        folder = analysed[0].folder
        with (folder / "analysis" / "best-loss" / "selected" / "scores.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["component"] for row in rows] == ["e:sa:1", "e:ff:1", "d:ff:1"]
        about = json.loads((folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        assert (about["checkpoint"], about["reliable"], about["decoding"]["beam"]) == ("best-loss.ckpt", False, 1)
        assert about["signature"].startswith("nrefs:1|")
        assert "ablated" not in about["baseline"]
        assert about["selectors"] == ["d:ff", "e:*"]
        assert [entry["component"] for entry in about["components"]] == [row["component"] for row in rows]
        assert (folder / "analysis" / "best-loss" / "selected" / "contribution.png").read_bytes().startswith(b"\x89PNG")

    def test_the_scores_reach_the_log(self, analysed: tuple[Setup, Digests]) -> None:
        about = json.loads((analysed[0].folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        rows = read_csv(analysed[0].folder / "metrics.csv")
        logged = {row["metric"]: float(row["value"]) for row in rows if row["metric"].startswith("analysis/")}
        assert logged == {
            f"analysis/contribution/{entry['component']}": pytest.approx(entry["contribution"])
            for entry in about["components"]
        }

    def test_the_weights_are_what_they_were(self, analysed: tuple[Setup, Digests]) -> None:
        setup, around = analysed
        assert len(around.seen) == 2
        assert len(set(around.seen)) == 1
        about = json.loads((setup.folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        assert about["weights"] == around.seen[0]
