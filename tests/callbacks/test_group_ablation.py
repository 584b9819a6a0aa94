from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from callbacks import BestLossCheckpoint, ContributionScore, CriticalityScore, GroupAblation, InitialWeights
from lit_transformer.components import kind_of
from lit_transformer.errors import UserError
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.runs.scores import SAME
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_csv


def analyse(setup: Setup, *callbacks: Any) -> Path:
    """Analyse the checkpoint of a run with these scorers; return the folder of the scores."""
    path = setup.folder / "checkpoints/best-loss.ckpt"
    trainer = setup.trainer(list(callbacks))
    trainer.analyze(setup.module(), setup.data(), str(path))
    return setup.folder / "analysis/best-loss"


@pytest.fixture(scope="module")
def run(setups: Callable[[], Setup]) -> Setup:
    """A trained model."""
    setup = setups()
    options = {"max_steps": 40, "val_check_interval": 40}
    setup.trainer([InitialWeights(), BestLossCheckpoint()], **options).fit(
        setup.module(learning_rate=0.02), datamodule=setup.data()
    )
    return setup


@pytest.fixture
def fresh(setup: Setup, run: Setup) -> Setup:
    """The trained model in a folder of this test's own, with nothing analysed."""
    shutil.copytree(run.folder / "checkpoints", setup.folder / "checkpoints")
    shutil.copy(run.folder / "initial_weights.safetensors", setup.folder)
    return setup


@pytest.fixture(scope="module")
def greedy(run: Setup) -> list[dict[str, str]]:
    return read_csv(analyse(run, GroupAblation(k=3)) / "group_ablation.csv")


class TestGreedy:
    def test_each_step_removes_what_costs_least(self, run: Setup, greedy: list[dict[str, str]]) -> None:
        """The order by brute force."""
        found: list[str] = []

        class Check(GroupAblation):
            def on_analyze(self, trainer: Any, pl_module: Any, analysis: Any) -> None:
                evaluator: Evaluator = analysis.evaluator
                for _ in range(3):
                    left = [name for name in evaluator.components if name not in found]
                    found.append(max(left, key=lambda name: evaluator.evaluate(ablation(*found, name)).bleu))

        analyse(run, Check())
        assert [row["component"] for row in greedy] == ["", *found]

    def test_the_curve(self, greedy: list[dict[str, str]]) -> None:
        assert [row["step"] for row in greedy] == ["0", "1", "2", "3"]
        assert (greedy[0]["validation_drop"], greedy[0]["test_drop"], greedy[0]["parameters_removed"]) == (
            "0.0",
        ) * 2 + ("0",)
        for row in greedy[1:]:
            drop = float(greedy[0]["validation_bleu"]) - float(row["validation_bleu"])
            assert float(row["validation_drop"]) == pytest.approx(drop)
        removed = [int(row["parameters_removed"]) for row in greedy]
        assert removed == sorted(set(removed))
        assert len({row["test_bleu"] for row in greedy}) > 1

    def test_each_step_is_evaluated_once(self, fresh: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first one as a contribution; those of the curve while the order was chosen."""
        made: list[Variant] = []
        original = VariantDecoder.decode

        def noted(decoder: VariantDecoder, variant: Variant) -> Any:
            made.append(variant)
            return original(decoder, variant)

        monkeypatch.setattr(VariantDecoder, "decode", noted)
        analyse(fresh, ContributionScore(["d:*"]), GroupAblation(["d:*"], k=2, test=False))
        assert len(made) == len(set(made)) == 1 + 3 + 2

    def test_of_components_that_cost_the_same_the_first_goes(
        self, fresh: Setup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Evaluation, "bleu", 7.0)
        folder = analyse(fresh, GroupAblation(["d:ff", "d:ea", "d:sa"], k=2, test=False)) / "selected"
        assert [row["component"] for row in read_csv(folder / "group_ablation.csv")] == ["", "d:sa:1", "d:ea:1"]

    def test_it_stops_where_too_much_is_lost(self, run: Setup, greedy: list[dict[str, str]]) -> None:
        losses = [float(row["validation_drop"]) for row in greedy]
        limit = max(losses) - 0.01
        expected = next(step for step, loss in enumerate(losses) if loss > limit)
        folder = analyse(run, GroupAblation(k=4, max_loss=limit, test=False))
        assert len(read_csv(folder / "group_ablation.csv")) == expected + 1


class Killed(Exception):
    """In place of a signal."""


class TestKilled:
    """Wherever an analysis is killed, the same command ends with the same files."""

    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("callbacks.contribution.heat_map", lambda *_, **__: None)
        monkeypatch.setattr("callbacks.group_ablation.group_ablation_curve", lambda *_, **__: None)

    def made(self, setup: Setup, scorers: Sequence[Any], kill_after: int | None = None) -> dict[str, bytes]:
        """Analyse, and return the files that must not depend on how it was made."""
        add, added = Journal.add, 0

        def counting(journal: Journal, evaluation: Evaluation) -> None:
            nonlocal added
            add(journal, evaluation)
            added += 1
            if added == kill_after:
                raise Killed

        with mock.patch.object(Journal, "add", counting):
            trainer = setup.trainer(list(scorers))
            trainer.analyze(setup.module(), setup.data(), str(setup.folder / "checkpoints/best-loss.ckpt"))
        folder = setup.folder / "analysis/best-loss"
        paths = [*folder.glob("evaluations/*"), *folder.glob("**/scores.*"), *folder.glob("**/group_ablation.csv")]
        return {path.name: path.read_bytes() for path in paths}

    @pytest.mark.parametrize(
        "scorers",
        [
            [GroupAblation(["d:*"], k=2, test=False)],
            [ContributionScore(["d:*"]), GroupAblation(["d:*"], k=2, test=False)],
            [ContributionScore(["d:ea", "d:sa"]), GroupAblation(["d:*"], k=2, test=False)],
        ],
    )
    def test_killed_after_each_evaluation(self, fresh: Setup, scorers: Sequence[Any]) -> None:
        whole = self.made(fresh, scorers)
        journal = (fresh.folder / "analysis/best-loss/evaluations.jsonl").read_text().splitlines()
        assert len(journal) >= 6
        for place in range(1, len(journal)):
            shutil.rmtree(fresh.folder / "analysis")
            with pytest.raises(Killed):
                self.made(fresh, scorers, place)
            again = self.made(fresh, scorers)
            assert [name for name in whole.keys() | again.keys() if whole.get(name) != again.get(name)] == [], place

    def test_made_again(self, fresh: Setup) -> None:
        scorers = [ContributionScore(), GroupAblation(k=3, test=False)]
        assert self.made(fresh, scorers) == self.made(fresh, scorers)


class TestOtherOrders:
    def test_by_contribution(self, run: Setup) -> None:
        folder = analyse(run, ContributionScore(), GroupAblation(k=3, order="contribution", test=False))
        scores = {row["component"]: float(row["drop"]) for row in read_csv(folder / "scores.csv")}
        rows = [row for row in read_csv(folder / "group_ablation.csv") if row["order"] == "contribution"]
        removed = [row["component"] for row in rows][1:]
        contributions = {row["component"]: float(row["contribution"]) for row in read_csv(folder / "scores.csv")}
        assert removed == sorted(scores, key=lambda name: (contributions[name], scores[name]))[:3]

    def test_without_the_scores(self, run: Setup) -> None:
        with pytest.raises(UserError, match="CriticalityScore first"):
            analyse(run, ContributionScore(), GroupAblation(k=1, order="criticality"))

    @pytest.mark.parametrize("name", SAME)
    def test_scores_of_anything_else_give_no_order(self, fresh: Setup, name: str) -> None:
        path = analyse(fresh, ContributionScore()) / "scores.json"
        scores = json.loads(path.read_text())
        scores[name] = {"format": 1, "scoring_set": {}, "decoding": {}}.get(name, "other")
        path.write_text(json.dumps(scores))
        with pytest.raises(UserError, match=rf"of another {name}\); run ContributionScore first"):
            analyse(fresh, GroupAblation(k=1, order="contribution"))

    @pytest.mark.parametrize("order", ["contribution", "criticality"])
    def test_of_some_components_that_the_same_analysis_scores(self, fresh: Setup, order: str) -> None:
        scorer = ContributionScore(["d:*"]) if order == "contribution" else CriticalityScore(["d:*"])
        folder = analyse(fresh, scorer, GroupAblation(["d:*"], k=2, order=order, test=False)) / "selected"  # type: ignore[arg-type]
        scores = {row["component"]: float(row[order]) for row in read_csv(folder / "scores.csv")}
        removed = [row["component"] for row in read_csv(folder / "group_ablation.csv")][1:]
        assert [scores[name] for name in removed] == sorted(scores.values())[:2]

    def test_of_some_components_among_all_that_were_scored(self, fresh: Setup) -> None:
        scores = {
            row["component"]: float(row["drop"]) for row in read_csv(analyse(fresh, ContributionScore()) / "scores.csv")
        }
        folder = analyse(fresh, GroupAblation(["d:*"], k=1, order="contribution", test=False)) / "selected"
        [_, row] = read_csv(folder / "group_ablation.csv")
        assert row["component"] == min((name for name in scores if name.startswith("d:")), key=scores.__getitem__)

    def test_random_orders_stand_beside_the_greedy_one(self, run: Setup) -> None:
        analyse(run, GroupAblation(k=3, test=False))
        folder = analyse(run, GroupAblation(k=3, order="random", seeds=[1, 2], test=False))
        rows = read_csv(folder / "group_ablation.csv")
        assert {"greedy", "random-1", "random-2"} <= {row["order"] for row in rows}
        assert len({(row["order"], row["step"]) for row in rows}) == len(rows)
        assert (run.folder / "report/group_ablation.png").read_bytes().startswith(b"\x89PNG")

    def test_random_orders_matched_by_kind(self, run: Setup) -> None:
        analyse(run, GroupAblation(k=2, test=False))
        folder = analyse(run, GroupAblation(k=2, order="random", matched=True, seeds=[5], test=False))
        rows = read_csv(folder / "group_ablation.csv")
        removed = {
            order: [kind_of(row["component"]) for row in rows if row["order"] == order and row["component"]]
            for order in ("greedy", "matched-5")
        }
        assert removed["matched-5"] == removed["greedy"]


class TestSeveralOrders:
    def test_the_test_set_stays_with_what_was_scored_on_it(self, fresh: Setup) -> None:
        path = analyse(fresh, GroupAblation(["d:*"], k=1)) / "selected/scores.json"
        before = json.loads(path.read_text())["group_ablation"]
        analyse(fresh, GroupAblation(["d:*"], k=1, order="random", seeds=[1], test=False))
        section = json.loads(path.read_text())["group_ablation"]
        assert section["test_set"] == before["test_set"]
        assert section["rows"][:2] == before["rows"]
        assert [row["order"] for row in section["rows"] if "test_bleu" not in row] == ["random-1"] * 2
        analyse(fresh, GroupAblation(["d:*"], k=1, test=False))
        section = json.loads(path.read_text())["group_ablation"]
        assert not any("test_bleu" in row for row in section["rows"])
        assert "test_set" not in section

    def test_two_test_sets_are_not_told_as_one(self, fresh: Setup, caplog: pytest.LogCaptureFixture) -> None:
        path = analyse(fresh, GroupAblation(["d:*"], k=1)) / "selected/scores.json"
        section = json.loads(path.read_text())
        section["group_ablation"]["test_set"]["digest"] = "other"
        path.write_text(json.dumps(section))
        analyse(fresh, GroupAblation(["d:*"], k=1, order="random", seeds=[1]))
        section = json.loads(path.read_text())["group_ablation"]
        assert section["test_set"]["digest"] != "other"
        assert [row["order"] for row in section["rows"] if "test_bleu" in row] == ["random-1"] * 2
        assert "lose their BLEU on test" in caplog.text


class TestOtherComponents:
    @pytest.fixture
    def both(self, fresh: Setup, caplog: pytest.LogCaptureFixture) -> Path:
        """The folder of the scores of one choice of components, with those of another one before."""
        for chosen in (["d:*"], ["e:*"]):
            folder = analyse(fresh, ContributionScore(chosen), GroupAblation(chosen, k=1, test=False)) / "selected"
        assert "What contribution found for d:sa:1, d:ea:1, d:ff:1 goes from the scores in" in caplog.text
        assert "was among other components, and is replaced" in caplog.text
        return folder

    def test_no_ranks_and_no_order_of_two(self, both: Path) -> None:
        rows = read_csv(both / "scores.csv")
        assert [row["component"] for row in rows] == ["e:sa:1", "e:ff:1"]
        assert sorted(row["rank"] for row in rows) == ["1", "2"]
        assert len(read_csv(both / "group_ablation.csv")) == 2
        assert json.loads((both / "scores.json").read_text())["group_ablation"]["components"] == ["e:sa:1", "e:ff:1"]

    def test_no_random_order_is_matched_to_that_of_others(self, fresh: Setup, both: Path) -> None:
        with pytest.raises(UserError, match="matched random orders need a greedy order"):
            analyse(fresh, GroupAblation(["d:*"], k=1, order="random", matched=True))


class TestWhatAnOrderRestsOn:
    @pytest.mark.parametrize(
        ("before", "options", "message"),
        [
            (ContributionScore(), {"order": "criticality"}, "order is 'criticality', but .* have no such score"),
            (ContributionScore(["d:*"]), {"order": "contribution"}, "order is 'contribution', but .* no such score"),
            (ContributionScore(value="mean"), {"order": "contribution"}, "order is 'contribution', but"),
            (ContributionScore(), {"order": "random", "matched": True}, "need a greedy order of 1 components"),
        ],
    )
    @pytest.mark.parametrize("dry_run", [False, True])
    def test_what_is_missing_is_told_before_anything_is_evaluated(
        self, fresh: Setup, before: ContributionScore, options: dict[str, Any], message: str, dry_run: bool
    ) -> None:
        trainer = fresh.trainer([before, GroupAblation(k=1, **options)])
        path = str(fresh.folder / "checkpoints/best-loss.ckpt")
        with pytest.raises(UserError, match=message):
            trainer.analyze(fresh.module(), fresh.data(), path, dry_run=dry_run)
        assert not list(fresh.folder.glob("analysis/*/*"))

    @pytest.mark.parametrize(
        ("before", "options"),
        [
            (ContributionScore(), {"order": "contribution"}),
            (ContributionScore(), {"components": ["d:*"], "order": "contribution"}),
            (GroupAblation(k=2, test=False), {"order": "random", "matched": True, "seeds": [1]}),
        ],
    )
    def test_a_scorer_before_it_makes_it(self, fresh: Setup, before: Any, options: dict[str, Any]) -> None:
        """Under an analysis of nothing known yet."""
        analyse(fresh, before, GroupAblation(k=2, test=False, **options))
        folder = "selected" if "components" in options else "."
        orders = {row["order"] for row in read_csv(fresh.folder / "analysis/best-loss" / folder / "group_ablation.csv")}
        assert orders > {"greedy"} or orders == {"contribution"}


def test_every_scorer_of_an_analysis_is_counted(
    fresh: Setup, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one class, too."""
    monkeypatch.setenv("COLUMNS", "100")
    scorers = [GroupAblation(k=2, test=False), GroupAblation(k=1, order="random", seeds=[1], test=False)]
    path = str(fresh.folder / "checkpoints/best-loss.ckpt")
    fresh.trainer(scorers).analyze(fresh.module(), fresh.data(), path, dry_run=True)
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│ GroupAblation")]
    # Greedily the baseline, each of five, and each of the four that are left; at random the baseline and a step.
    assert [[int(cell) for cell in row[2:5]] for row in rows] == [[6, 0, 4], [2, 0, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 0}, "k is 0"), ({"max_loss": 0.0}, "max_loss is 0.0"), ({"k": 6}, r"k is 6, but .* 5 components")],
)
def test_settings_out_of_range(run: Setup, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        analyse(run, GroupAblation(**options))


@pytest.mark.parametrize("seeds", [[], [2, 2], [1, 2, 1], [1, -1], [-3]])
def test_seeds_that_give_no_order_of_their_own(seeds: list[int]) -> None:
    """None at all, and two that would draw one order: Python takes the seed -1 for 1."""
    with pytest.raises(UserError, match=r"seeds are \[.*\]; give at least one number from 0 up, and each once"):
        GroupAblation(order="random", seeds=seeds)


@pytest.mark.parametrize("order", ["greedy", "contribution", "criticality"])
@pytest.mark.parametrize("option", [{"seeds": [1, 2, 3]}, {"seeds": [7]}, {"matched": True}])
def test_what_matters_for_random_orders_only(order: Any, option: dict[str, Any]) -> None:
    GroupAblation(order=order, seeds=None, matched=False)
    GroupAblation(order="random", **option)
    with pytest.raises(UserError, match=f"{next(iter(option))} is .* but matters with order: random only; leave"):
        GroupAblation(order=order, **option)
