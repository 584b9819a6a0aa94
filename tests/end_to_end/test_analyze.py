"""The command `analyze`: what it makes, and that it is the same however it is made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.end_to_end.forking import run_on_two
from tests.end_to_end.running import COMPONENTS, EVERYTHING, config_of, of, read_csv, read_json, results, run, succeed


def test_analyze_scores_every_component(trained: Path, tmp_path: Path) -> None:
    finished = succeed(of("analyze", trained), tmp_path)
    rows = read_csv(trained / "analysis/average/scores.csv")
    about = read_json(trained / "analysis/average/scores.json")
    assert [row["component"] for row in rows] == COMPONENTS
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, 9))
    for row, other in zip(rows, about["components"], strict=True):
        assert float(row["drop"]) == pytest.approx(float(row["baseline_bleu"]) - float(row["ablated_bleu"]))
        assert {key: str(value) for key, value in other.items()} == row
    assert max(float(row["drop"]) for row in rows) > 5
    assert {"format", "signature", "decoding", "weights", "tokenizer", "data", "versions", "baseline"} < about.keys()
    assert about["checkpoint"] == "average.ckpt"
    assert (trained / "report/contribution.png").read_bytes().startswith(b"\x89PNG")
    assert all(component in finished.output.decode() for component in COMPONENTS)
    assert "9/9" in finished.errors


def test_analyze_leaves_the_checkpoint_alone_and_repeats_itself(trained: Path, tmp_path: Path) -> None:
    before = (trained / "checkpoints/average.ckpt").read_bytes()
    logged = (trained / "metrics.csv").read_bytes()
    tables = []
    for output in ("first", "second"):
        succeed(of("analyze", trained, "--output", output), tmp_path)
        tables.append(read_csv(tmp_path / output / "analysis/average/scores.csv"))
    assert tables[0] == tables[1]
    assert (trained / "checkpoints/average.ckpt").read_bytes() == before
    assert not (trained / "analysis").exists()
    assert (trained / "metrics.csv").read_bytes() == logged
    succeed(["analyze", "--config", "first/analysis/average/config.yaml", "--output", "third"], tmp_path)
    assert read_csv(tmp_path / "third/analysis/average/scores.csv")[0]["drop"] == tables[0][0]["drop"]
    assert (tmp_path / "first/report/contribution.png").is_file()


def test_the_configuration_makes_all_again_that_stands_in_the_scores(trained: Path, tmp_path: Path) -> None:
    """However many analyses it took: the last one that a study makes has a scorer of its own."""
    succeed(of("analyze", trained), tmp_path)
    for more in (["LayerAblation"], ["ContributionScore", "--trainer.callbacks.epsilon=9"], ["ContributionScore"]):
        succeed(of("analyze", trained, f"--trainer.callbacks+=callbacks.{more[0]}", *more[1:]), tmp_path)
    succeed(of("analyze", trained, "--components=d:sa"), tmp_path)
    folder = trained / "analysis/average"
    names = [entry["class_path"] for entry in config_of(folder)["trainer"]["callbacks"]]
    assert names == ["callbacks.LayerAblation", "callbacks.ContributionScore"]
    for place in (folder, folder / "selected"):
        output = tmp_path / f"again-{place.name}"
        succeed(["analyze", "--config", str(place / "config.yaml"), "--output", str(output)], tmp_path)
        again = output / place.relative_to(trained)
        assert read_json(again / "scores.json") == read_json(place / "scores.json")
    assert "layer_ablation" in read_json(folder / "scores.json")


def test_the_configuration_of_a_fit_that_scores_makes_its_analysis_again(trained: Path, tmp_path: Path) -> None:
    pruning = ("--config", "prune.yaml", "--trainer.callbacks.components=[d:sa:1]")
    more = ("--trainer.callbacks+=callbacks.ContributionScore", "--name=pruned")
    few = ("--trainer.max_steps=2", "--trainer.val_check_interval=1", "--checkpoint.average=2")
    start = ("--start_from", str(trained), "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false")
    succeed(["fit", *pruning, *more, *few, *start], tmp_path)
    [folder] = (tmp_path / "runs/pruned/version_0/analysis").iterdir()
    succeed(["analyze", "--config", str(folder / "config.yaml"), "--output", "again"], tmp_path)
    again = tmp_path / "again/analysis" / folder.name
    assert read_csv(again / "scores.csv") == read_csv(folder / "scores.csv")


def test_the_order_of_scorers_makes_no_difference(trained: Path, tmp_path: Path) -> None:
    # So large an epsilon that several components are alike.
    scorers = ["ContributionScore"], ["CriticalityScore", "--trainer.callbacks.epsilon=20"]
    found = []
    for output, order in (("there", scorers), ("back", scorers[::-1])):
        for scorer, *more in order:
            given = f"--trainer.callbacks+=callbacks.{scorer}", *more, "--components=d:*", "--output", output
            succeed(of("analyze", trained, *given), tmp_path)
        found.append(read_csv(tmp_path / output / "analysis/average/selected/scores.csv"))
    assert found[0] == found[1]
    alike = [row for row in found[0] if row["criticality"] == "0.0"]
    ranked = sorted(alike, key=lambda row: int(row["criticality_rank"]))
    assert [row["component"] for row in ranked] != [row["component"] for row in alike]


def test_analyze_takes_the_callback_as_configured(trained: Path, tmp_path: Path) -> None:
    chosen = "--trainer.callbacks+=callbacks.ContributionScore", "--trainer.callbacks.components=[d:ea]"
    succeed(of("analyze", trained, *chosen), tmp_path)
    rows = read_csv(trained / "analysis/average/selected/scores.csv")
    assert [row["component"] for row in rows] == ["d:ea:1", "d:ea:2"]


def test_some_components_never_replace_the_scores_of_all(trained: Path, tmp_path: Path) -> None:
    succeed(of("analyze", trained), tmp_path)
    folder, picture = trained / "analysis/average", trained / "report/contribution.png"
    before = (folder / "scores.csv").read_bytes(), picture.read_bytes()
    succeed(of("analyze", trained, "--components", "d:sa:2, e:ff"), tmp_path)
    assert ((folder / "scores.csv").read_bytes(), picture.read_bytes()) == before
    some = {row["component"]: row["drop"] for row in read_csv(folder / "selected/scores.csv")}
    assert list(some) == ["e:ff:1", "d:sa:2"]
    assert {row["component"]: row["drop"] for row in read_csv(folder / "scores.csv")}.items() >= some.items()


class TestEveryScorer:
    def test_one_table_with_the_columns_of_all(self, whole: Path) -> None:
        rows = read_csv(whole / "analysis/average/selected/scores.csv")
        assert [row["component"] for row in rows] == [name for name in COMPONENTS if name.startswith("d:")]
        for row in rows:
            assert float(row["drop_lower"]) <= float(row["drop"]) <= float(row["drop_upper"])
            assert row["label"] in ("important", "negligible", "harmful", "undecided")
            assert float(row["criticality"]) in [tenths / 10 for tenths in range(11)]
            assert float(row["relative_distance"]) > 0

    def test_what_the_numbers_rest_on(self, whole: Path) -> None:
        about = read_json(whole / "analysis/average/selected/scores.json")
        scorers = {"contribution", "criticality", "group_ablation", "correlations"}
        assert scorers | {"signature", "weights", "scoring_set"} <= about.keys()
        assert about["correlations"].keys() == {"contribution_and_criticality"}

    def test_the_curve_on_validation_and_test(self, whole: Path) -> None:
        rows = read_csv(whole / "analysis/average/selected/group_ablation.csv")
        assert [row["step"] for row in rows] == ["0", "1", "2"]
        assert float(rows[0]["test_bleu"]) > 5

    def test_the_journal_holds_each_evaluation_once(self, whole: Path) -> None:
        lines = (whole / "analysis/average/evaluations.jsonl").read_text(encoding="utf-8").splitlines()
        keys = [json.loads(line)["key"] for line in lines]
        assert len(keys) == len(set(keys))
        assert {path.stem for path in (whole / "analysis/average/evaluations").iterdir()} == set(keys)

    @pytest.mark.parametrize("beam", [1, 4])
    def test_variants_side_by_side_have_the_same_scores(self, trained: Path, tmp_path: Path, beam: int) -> None:
        scorer = "--trainer.callbacks+=callbacks.CriticalityScore", "--trainer.callbacks.grid=full"
        # A beam takes its time; of the components that it is tried on, each kind is one.
        chosen = COMPONENTS if beam == 1 else ["e:sa:1", "e:ff:1", "d:sa:2", "d:ea:1", "d:ff:1"]
        changed = f"--model.decoding.beam={beam}", f"--components={','.join(chosen)}"
        options = "--trainer.callbacks+=callbacks.ContributionScore", *scorer, *changed
        made: list[dict[str, float]] = []
        for number in ("1", "5"):
            succeed(of("analyze", trained, *options, "--output", number, "--side_by_side", number), tmp_path)
            folder = tmp_path / number / "analysis/average" / ("" if beam == 1 else "selected")
            curves = read_csv(folder / "criticality_curves.csv")
            ablations = {row["component"]: float(row["ablated_bleu"]) for row in read_csv(folder / "scores.csv")}
            made.append({f"{row['component']} at {row['alpha']}": float(row["bleu"]) for row in curves} | ablations)
        assert len(made[0]) == len(chosen) * (11 + 1)
        assert made[0] == made[1]


class TestOptions:
    def test_a_dry_run_only_tells(self, trained: Path, tmp_path: Path) -> None:
        finished = succeed(of("analyze", trained, "--config", "analysis.yaml", "--dry_run"), tmp_path)
        text = " ".join(finished.output.decode().split())
        # Of criticality, alpha 0 of each of the 8 components is certain, and alpha 0.1 to 0.9 are not.
        assert "ContributionScore │ 9 │ 0 │ 0" in text
        assert "CriticalityScore │ 9 │ 0 │ 72" in text
        assert "minutes" in text
        assert not (trained / "analysis").exists()
        assert not list((trained / "wandb").glob("*analyze*"))

    def test_more_in_a_batch_than_there_are(self, trained: Path, tmp_path: Path) -> None:
        options = ["--components=d:ff:1-2", "--dry_run=true", "--side_by_side=100000"]
        finished = succeed(of("analyze", trained, *options), tmp_path)
        assert "ContributionScore │ 3 │ 0 │ 0" in " ".join(finished.output.decode().split())
        assert "--side_by_side" not in finished.errors

    def test_a_limit_beyond_the_set_is_none(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained, "--limit", "24", "--components=d:ff:1"), tmp_path)
        about = read_json(trained / "analysis/average/selected/scores.json")
        assert "sample_of" not in about["scoring_set"]

    def test_scores_of_another_set_replace_all_tables_and_say_so(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained, *EVERYTHING), tmp_path)
        folder = trained / "analysis/average/selected"
        assert {path.name for path in folder.iterdir()} > {
            "group_ablation.csv",
            "group_ablation.png",
            "criticality.png",
        }
        finished = succeed(of("analyze", trained, "--components=d:*", "--data.validation_size=10"), tmp_path)
        assert "are of another scoring_set, and are replaced" in finished.errors
        made = {"config.yaml", "scores.csv", "scores.json", "examples.json", "contribution.png"}
        assert {path.name for path in folder.iterdir()} == made
        assert read_json(folder / "scores.json")["baseline"]["sentences"] == 10

    def test_a_sample_is_marked_and_written_apart(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained, "--limit", "7"), tmp_path)
        folder = trained / "analysis/average/limit-7"
        about = read_json(folder / "scores.json")
        assert (about["scoring_set"]["sentences"], about["scoring_set"]["sample_of"]) == (7, 24)
        assert about["baseline"]["sentences"] == 7
        assert (folder / "contribution.png").is_file()
        assert not (trained / "report").exists()
        assert not (trained / "analysis/average/scores.csv").exists()

    def test_records(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("validate", trained), tmp_path)
        loss = read_json(trained / "translations/average/validation/scores.json")["scores"]["val/perplexity"]
        succeed(of("analyze", trained, "--record", "[loss,chrf]"), tmp_path)
        about = read_json(trained / "analysis/average/scores.json")
        assert about["baseline"]["loss"] == pytest.approx(torch.tensor(loss).log().item(), abs=1e-4)
        assert about["contribution"]["chrf_signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6")
        rows = read_csv(trained / "analysis/average/scores.csv")
        assert all(0 < float(row["token_accuracy"]) < 1 and 0 < float(row["chrf"]) < 100 for row in rows)
        row = rows[0]
        assert float(row["loss_rise"]) == pytest.approx(float(row["loss"]) - about["baseline"]["loss"])
        assert -1 <= about["correlations"]["drop_and_loss_rise"] <= 1

    def test_mean_ablation_stands_beside_the_papers(self, trained: Path, tmp_path: Path) -> None:
        succeed(of("analyze", trained), tmp_path)
        mean = ["--trainer.callbacks+=callbacks.ContributionScore", "--trainer.callbacks.value=mean"]
        succeed(of("analyze", trained, *mean), tmp_path)
        rows = read_csv(trained / "analysis/average/scores.csv")
        assert any(row["drop"] != row["mean_drop"] for row in rows)
        assert "drop_and_mean_drop" in read_json(trained / "analysis/average/scores.json")["correlations"]
        assert (trained / "report/mean_contribution.png").is_file()

    @pytest.mark.parametrize(("variant", "number"), [("chatterji", "samples"), ("rerandomize", "draws")])
    def test_what_criticality_was_derived_from(self, trained: Path, tmp_path: Path, variant: str, number: str) -> None:
        scorer = "--trainer.callbacks+=callbacks.CriticalityScore"
        options = [scorer, f"--trainer.callbacks.variant={variant}", f"--trainer.callbacks.{number}=2"]
        succeed(of("analyze", trained, *options, "--components", "d:ff:2"), tmp_path)
        rows = read_csv(trained / "analysis/average/selected/scores.csv")
        column = "module_criticality" if variant == "chatterji" else "rerandomized_drop_sd"
        assert [row["component"] for row in rows] == ["d:ff:2"]
        assert all(float(row[column]) > 0 for row in rows)

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            (["--limit", "0"], "--limit is 0"),
            (["--record", "[bleurt]"], "--record 'bleurt' is unknown"),
            (["--side_by_side", "0"], "--side_by_side is 0; give a number of variants from 1 up"),
            (["--config", "analysis.yaml", "--trainer.callbacks.k=0"], "GroupAblation's k is 0; give a number"),
            (["--trainer.callbacks+=callbacks.CriticalityScore", "--trainer.callbacks.epsilon=-1"], "epsilon is -1"),
            (["--config", "analysis.yaml", "--trainer.callbacks.k=9"], "k is 9, but its selectors leave 8 components"),
        ],
    )
    def test_out_of_range(self, trained: Path, tmp_path: Path, option: list[str], message: str) -> None:
        finished = run(of("analyze", trained, *option), tmp_path)
        assert finished.status == 2
        assert message in finished.errors
        assert "Traceback" not in finished.errors


def test_two_processes_make_the_same_files(whole: Path, trained: Path, tmp_path: Path) -> None:
    run_on_two(of("analyze", trained, *EVERYTHING, "--output", "two"), tmp_path)
    assert results(tmp_path / "two") == results(whole)
    lines = [path.read_text().splitlines() for path in sorted((tmp_path / "two/analysis/average").glob("*.jsonl"))]
    assert len(lines) == 2
    keys = [json.loads(line)["key"] for part in lines for line in part]
    assert len(keys) == len(set(keys))
    assert set(keys) == {path.stem for path in (whole / "analysis/average/evaluations").iterdir()}
