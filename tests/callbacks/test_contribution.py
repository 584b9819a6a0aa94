from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest
import pytorch_lightning as pl

from callbacks import BestLossCheckpoint, ContributionScore
from lit_transformer.errors import UserError
from lit_transformer.model import weights_digest
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_csv


class TestSettings:
    def test_a_selector_that_matches_nothing_is_told_before_training(self, setup: Setup) -> None:
        class NeverTrains(LitTransformer):
            def training_step(self, *_: Any) -> Any:
                pytest.fail("the selector must be checked before the first step")

        module = NeverTrains(**dict(setup.module().hparams))
        trainer = setup.trainer([ContributionScore(["d:sa:7"])])
        with pytest.raises(UserError, match=r"component selector 'd:sa:7' matches nothing .* it has e:sa:1"):
            trainer.fit(module, datamodule=setup.data())

    def test_all_by_default(self) -> None:
        assert ContributionScore().components == ["*"]

    @pytest.mark.parametrize(
        ("options", "message"), [({"epsilon": 0.0}, "epsilon is 0.0"), ({"least": 0}, "least is 0")]
    )
    def test_out_of_range(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            ContributionScore(**options)


class Digests(pl.Callback):
    """Notes the weights around an analysis."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_analyze(self, trainer: pl.Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
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
        # Four projections of 16 by 16 with their biases; the norm does not count.
        assert rows[0]["parameters"] == str(4 * (16 * 16 + 16))
        assert rows[2]["parameters"] == str(16 * 32 + 32 + 32 * 16 + 16)
        about = json.loads((folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        assert (about["checkpoint"], about["reliable"], about["decoding"]["beam"]) == ("best-loss.ckpt", False, 1)
        assert about["signature"].startswith("nrefs:1|")
        assert about["baseline"]["sentences"] == 24
        assert about["selectors"] == ["d:ff", "e:*"]
        assert about["contribution"]["interval"]["covers"] == "the choice of sentences, not of training runs"
        assert [entry["component"] for entry in about["components"]] == [row["component"] for row in rows]
        assert (folder / "analysis" / "best-loss" / "selected" / "contribution.png").read_bytes().startswith(b"\x89PNG")

    def test_the_scores_reach_the_log(self, analysed: tuple[Setup, Digests]) -> None:
        about = json.loads((analysed[0].folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        rows = read_csv(analysed[0].folder / "metrics.csv")
        logged = {row["metric"]: float(row["value"]) for row in rows if row["metric"].startswith("analysis/")}
        assert logged == {
            f"analysis/{name}/{entry['component']}": pytest.approx(entry[name])
            for entry in about["components"]
            for name in ("contribution", "non_terminated")
        }

    def test_the_weights_are_what_they_were(self, analysed: tuple[Setup, Digests]) -> None:
        setup, around = analysed
        assert len(around.seen) == 2
        assert len(set(around.seen)) == 1
        about = json.loads((setup.folder / "analysis" / "best-loss" / "selected" / "scores.json").read_text())
        assert about["weights"] == around.seen[0]
