"""Weights & Biases without an account, a network or a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lit_transformer.report.wandb_reading import reported_run
from tests.end_to_end.conftest import KEY
from tests.end_to_end.running import (
    COMPONENTS,
    Finished,
    config_of,
    load,
    of,
    read_csv,
    read_json,
    run,
    run_process,
    tiny_fit,
    with_checkout,
)
from tests.wandb_records import OfflineRun, runs_below

WITHOUT_WANDB = """
import sys

from lit_transformer.__main__ import main

main()
assert "wandb" not in sys.modules
"""


def offline(args: list[str], folder: Path) -> Finished:
    """Run a command in a process of its own, logged in but offline."""
    finished = run_process(args, folder, env={"WANDB_MODE": "offline", "WANDB_API_KEY": KEY})
    assert finished.status == 0, finished.errors
    assert "did not take" not in finished.errors
    return finished


def run_bare(args: list[str], folder: Path, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing in the environment but a path and an empty home, and without a terminal."""
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-m", "lit_transformer", *args],
        cwd=folder,
        env=with_checkout({"PATH": os.environ["PATH"], "HOME": str(home), **env}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_online_without_a_key_ends_before_anything_is_made_with_one_line(text: Path, tmp_path: Path) -> None:
    """cases.md A16."""
    finished = run_bare(tiny_fit(text, "--wandb.mode=online"), tmp_path, tmp_path / "home")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.count("\n") == 1
    assert "--wandb.mode offline" in finished.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "runs"}
    assert not list(tmp_path.glob("runs/**/*.*"))


def test_the_environment_can_switch_it_off(text: Path, tmp_path: Path) -> None:
    """cases.md A16; the wandb package is not even loaded then."""
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT_WANDB, *tiny_fit(text, max_steps=3)],
        cwd=tmp_path,
        env=with_checkout({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "WANDB_MODE": "disabled"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    folder = tmp_path / "runs/run/version_0"
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 3
    assert not (folder / "wandb").exists()


def test_by_default_it_writes_into_the_run_folder(text: Path, tmp_path: Path) -> None:
    finished = run_bare(tiny_fit(text, max_steps=3), tmp_path, tmp_path / "home")
    assert finished.returncode == 0, finished.stderr
    folder = tmp_path / "runs/run/version_0"
    (record,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    assert record.stat().st_size > 1000
    assert {path.name for path in tmp_path.iterdir()} == {"home", "runs"}
    assert {row["metric"] for row in read_csv(folder / "metrics.csv")} > {"train/loss", "val/bleu"}
    assert (folder / "config.yaml").read_text(encoding="utf-8").find("d_model: 32") > 0


def test_a_mode_that_does_not_exist_is_one_line(text: Path, tmp_path: Path) -> None:
    finished = run(tiny_fit(text), tmp_path, env={"WANDB_MODE": "onlin"})
    assert finished.status == 2
    assert "WANDB_MODE is 'onlin'" in finished.errors
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.fixture(scope="module")
def fitted(fitted_on_two: tuple[Finished, Path]) -> tuple[OfflineRun, Finished, Path]:
    """What a fit on two processes wrote that scores its components at its end, what it said, and its folder."""
    finished, root = fitted_on_two
    assert "did not take" not in finished.errors
    (made,) = runs_below(root)
    return made, finished, root / "runs/demo/version_0"


@pytest.fixture(scope="module")
def analysed(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[OfflineRun, Path]:
    """What an analysis wrote, and its folder."""
    output = tmp_path_factory.mktemp("analysed")
    config = ("--config", "analysis.yaml", "--trainer.callbacks.k=2", "--output", str(output))
    offline(of("analyze", trained_once, *config), output)
    (made,) = runs_below(output)
    return made, output


class TestFit:
    def test_two_processes_make_one_run(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        made, _, _ = fitted
        about = made.about
        assert (about.project, about.run_group, about.job_type) == ("lit-transformer", "demo", "fit")
        assert about.display_name == "demo-version_0-fit"
        assert made.of("stats"), "no system metrics"

    def test_the_summary_keeps_the_best(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        made, _, folder = fitted
        for name, pick in (("train/loss", min), ("val/loss", min), ("val/bleu", max)):
            values = made.column(name)
            rows = [float(row["value"]) for row in read_csv(folder / "metrics.csv") if row["metric"] == name]
            assert values == pytest.approx(rows)
            assert len(values) > 1
            assert made.summary[name] == {pick.__name__: pick(values)}
            assert made.metrics[name].step_metric == "trainer/global_step"

    def test_no_score_is_lost_for_a_step_that_went_back(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        """cases.md A17."""
        made, finished, _ = fitted
        assert "less than the current step" not in finished.errors + finished.output.decode()
        assert made.column("_step") == list(range(len(made.history)))
        lines = [line for line in made.history if "analysis/contribution" in line]
        assert [line["analysis/index"] for line in lines] == list(range(len(COMPONENTS)))
        assert made.metrics["analysis/contribution"].step_metric == "analysis/index"
        steps = made.column("trainer/global_step")
        assert steps == sorted(steps)

    def test_samples_come_after_each_validation(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        made, _, _ = fitted
        assert len(made.column("samples/translations")) == 2
        table = made.table("samples/translations")
        assert table["columns"] == ["step", "source", "hypothesis", "reference"]
        assert [row[0] for row in table["data"]] == [24, 24, 24]

    def test_the_configuration_is_there_once(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        made, _, folder = fitted
        config, scores = made.config, read_json(folder / "analysis/average/scores.json")
        assert (config["model"]["d_model"], config["trainer"]["max_steps"], config["name"]) == (32, 24, "demo")
        assert not {"d_model", "max_tokens"} & config.keys()
        assert config["signature"] == scores["signature"]
        assert config["scoring_set"] == scores["scoring_set"]
        assert config["initial_weights"] == digest_of(made, "initial-weights")
        assert config["analysis"]["baseline"] == scores["baseline"]

    def test_artifacts(self, fitted: tuple[OfflineRun, Finished, Path]) -> None:
        made, _, folder = fitted
        found = {kind: made.artifacts(kind) for kind in ("tokenizer", "initial-weights", "checkpoint", "scores")}
        assert {kind: [one.name for one in several] for kind, several in found.items()} == {
            "tokenizer": ["demo-version_0-tokenizer"],
            "initial-weights": ["demo-version_0-initial-weights"],
            "checkpoint": ["demo-version_0-average"],
            "scores": ["demo-version_0-average-scores"],
        }
        paths = {
            Path(file.local_path) for several in found.values() for one in several for file in one.manifest.contents
        }
        assert {str(path.relative_to(folder)) for path in paths} == {
            "tokenizer.model",
            "initial_weights.safetensors",
            "checkpoints/average.ckpt",
            "analysis/average/scores.json",
            "analysis/average/scores.csv",
            "analysis/average/examples.json",
        }
        assert all(path.is_file() for path in paths)


def digest_of(made: OfflineRun, kind: str) -> str:
    """The digest that an artifact tells of itself, which begins with one of its aliases."""
    (one,) = made.artifacts(kind)
    digest = str(json.loads(one.metadata)["digest"])
    assert digest[:12] in one.aliases
    return digest


class TestAnalyze:
    def test_it_belongs_to_the_experiment(self, analysed: tuple[OfflineRun, Path]) -> None:
        made, output = analysed
        assert (made.about.run_group, made.about.job_type) == ("run", "analyze")
        # The report of the folder that it was told to write into asks for its name.
        assert made.about.display_name in reported_run(output).wandb_names

    def test_the_table_of_components(self, analysed: tuple[OfflineRun, Path]) -> None:
        made, output = analysed
        rows = read_json(output / "analysis/average/scores.json")["components"]
        table = made.table("analysis/components")
        assert [dict(zip(table["columns"], row, strict=True)) for row in table["data"]] == rows
        assert [row["component"] for row in rows] == COMPONENTS
        for score in ("contribution", "criticality"):
            assert made.column(f"analysis/{score}") == [row[score] for row in rows]
            told = {row["component"]: made.summary[f"analysis/{score}/{row['component']}"] for row in rows}
            assert told == {row["component"]: row[score] for row in rows}

    @pytest.mark.parametrize("score", ["contribution", "criticality"])
    def test_heat_maps_as_picture_and_as_chart(self, score: str, analysed: tuple[OfflineRun, Path]) -> None:
        made, output = analysed
        (picture,) = made.column(f"analysis/{score}_picture")
        written = (made.path.parent / "files" / picture["path"]).read_bytes()
        assert written == (output / f"report/{score}.png").read_bytes()
        panel = made.config["_wandb"]["visualize"][f"analysis/{score}_chart"]["panel_config"]
        assert panel["panelDefId"] == "wandb/confusion_matrix/v1"
        table = made.table(f"analysis/{score}_chart_table")
        assert set(panel["fieldSettings"].values()) == set(table["columns"])
        rows = read_json(output / "analysis/average/scores.json")["components"]
        cells = {(f"layer {row['layer']}", row["kind"]): row[score] for row in rows}
        assert {(layer, kind): value for layer, kind, value in table["data"]} == cells

    def test_the_curves_have_axes_of_their_own(self, analysed: tuple[OfflineRun, Path]) -> None:
        made, output = analysed
        rows = read_csv(output / "analysis/average/group_ablation.csv")
        name = "group_ablation/greedy/validation_bleu"
        assert made.column(name) == [float(row["validation_bleu"]) for row in rows]
        assert made.metrics[name].step_metric == "group_ablation/removed"
        assert [line["group_ablation/removed"] for line in made.history if name in line] == [0, 1, 2]

    def test_what_it_was_made_from(self, analysed: tuple[OfflineRun, Path]) -> None:
        made, output = analysed
        scores, inputs = read_json(output / "analysis/average/scores.json"), made.config["inputs"]
        assert inputs["checkpoint"] == f"run-version_0-average:{scores['weights'][:12]}"
        assert inputs["tokenizer"] == f"run-version_0-tokenizer:{scores['tokenizer'][:12]}"
        initial = scores["criticality"]["initial_weights"]
        assert inputs["initial_weights"] == f"run-version_0-initial-weights:{initial[:12]}"
        (checkpoint,) = made.artifacts("checkpoint")
        assert checkpoint.name == "run-version_0-average"
        assert scores["weights"][:12] in checkpoint.aliases

    def test_no_file_holds_the_key(
        self, analysed: tuple[OfflineRun, Path], fitted: tuple[OfflineRun, Finished, Path]
    ) -> None:
        for folder in (analysed[1], fitted[2]):
            files = [path for path in folder.rglob("*") if path.is_file()]
            assert any(path.suffix == ".wandb" for path in files)
            assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_fine_tuned_run_belongs_to_the_group_of_the_one_it_started_from(trained_once: Path, tmp_path: Path) -> None:
    pruning = ("--config", "prune.yaml", "--trainer.callbacks.components=[d:sa:1]")
    given = (*pruning, "--name=tuned", "--start_from", str(trained_once))
    settings = ("--trainer.max_steps=1", "--trainer.limit_val_batches=0", "--trainer.enable_progress_bar=false")
    offline(["fit", *given, *settings, "--trainer.accelerator=cpu", "--checkpoint.average=0"], tmp_path)
    (made,) = runs_below(tmp_path)
    assert (made.about.run_group, made.about.job_type) == ("run", "fine-tune")
    assert made.about.display_name == "tuned-version_0-fit"
    assert made.config["inputs"]["checkpoint"].startswith("run-version_0-average:")
    assert made.config["pruned"] == ["d:sa:1"]


def test_a_test_and_a_resumed_fit_say_what_they_were_made_from(trained: Path, tmp_path: Path) -> None:
    last = trained / "checkpoints/last.ckpt"
    offline(of("test", last), tmp_path)
    (tested,) = runs_below(tmp_path)
    scores = read_json(trained / "translations/last/test/scores.json")
    assert (tested.about.display_name, tested.about.job_type) == ("run-version_0-test", "test")
    assert tested.config["ckpt_path"] == str(last)
    assert tested.config["test"]["signature"] == scores["signature"]
    assert tested.config["test"]["scoring_set"] == scores["scoring_set"]
    assert tested.column("test/bleu") == pytest.approx([scores["scores"]["test/bleu"]])
    made_from = {
        "checkpoint": f"run-version_0-last:{scores['weights'][:12]}",
        "tokenizer": f"run-version_0-tokenizer:{scores['tokenizer'][:12]}",
    }
    assert tested.config["inputs"] == made_from
    offline(of("fit", trained, "--trainer.max_steps=61", "--trainer.limit_val_batches=0"), tmp_path)
    (resumed,) = (made for made in runs_below(tmp_path) if made.path != tested.path)
    assert (resumed.about.display_name, resumed.about.job_type) == ("run-version_0-fit", "fit")
    assert resumed.config["ckpt_path"] == str(last)
    assert resumed.config["inputs"] == {"checkpoint": made_from["checkpoint"]}
    assert resumed.column("trainer/global_step")[-1] >= 60
    # The run's own configuration trains it anew.
    assert config_of(trained)["ckpt_path"] is None
