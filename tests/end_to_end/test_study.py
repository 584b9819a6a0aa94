"""A whole study of a tiny model, its mistakes, and what its numbers rest on."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.study.conduct import run_study
from lit_transformer.study.facts import FileReader
from lit_transformer.study.processes import Ended
from lit_transformer.study.scoring import main as score
from lit_transformer.study.speed import main as time_speeds
from lit_transformer.study.study_settings import StudySettings
from lit_transformer.training.module import LitTransformer
from tests.end_to_end.running import (
    config_of,
    files_of,
    load,
    metric,
    of,
    read_csv,
    read_json,
    run,
    succeed,
    tiny_fit,
    write_text,
)

EPOCH = 4
"""Batches of an epoch."""

ARMS = ["continued", "pruned", "random", "rewound"]


def settings(base: Path, **changed: Any) -> dict[str, Any]:
    """A study whose arms are trained for two short epochs."""
    given = {
        "name": "tiny",
        "base_runs": [str(base)],
        "options": [f"--trainer.limit_train_batches={EPOCH}", "--trainer.log_every_n_steps=1"],
        "accelerator": "cpu",
        "count": 2,
        "finetune_epochs": 2,
        "average": 2,
        "warmup_steps": 2,
        "learning_rates": [1e-3],
        "arms": ARMS,
        "random_draws": 2,
        "sentences": 5,
    }
    return {**given, **changed}


def study(folder: Path, given: dict[str, Any]) -> list[str]:
    """Write settings, and return the command."""
    (folder / "study.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    return ["study", "--config", "study.yaml"]


def in_this_process(args: Sequence[str], log: Path, keep_output: bool = False) -> Ended:
    """Run a stage as `execute` does, without the seconds that the imports of each process take."""
    if args[0] == "lit_transformer":
        finished = run(list(args[1:]), log.parents[1])
        return Ended(finished.status, "", finished.errors)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        {"scoring": score, "speed": time_speeds}[args[0].rpartition(".")[2]](list(args[1:]))
    return Ended(0, output.getvalue())


def test_a_study_from_a_trained_model_to_its_tables(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = StudySettings(**settings(trained, folder=str(tmp_path / "studies")))
    assert not run_study(made, None, in_this_process)
    printed = capsys.readouterr().out
    folder = tmp_path / "studies/tiny"
    rows = {row["arm"]: row for row in read_csv(folder / "study.csv")}
    assert list(rows) == ["trained", *ARMS]
    assert {row["status"] for row in rows.values()} == {"done"}
    # 2 components of width 32: attention 4 * 32 * 33 or feed-forward 2 * 32 * 64 + 96, each with its norm of 64.
    sizes = {"sa": 4 * 32 * 33 + 64, "ea": 4 * 32 * 33 + 64, "ff": 2 * 32 * 64 + 96 + 64}
    for arm in ("pruned", "random"):
        removed = sum(sizes[name.split(":")[1]] for name in rows[arm]["components"].split())
        assert int(rows["continued"]["parameters"]) - int(rows[arm]["parameters"]) == removed
        assert int(rows[arm]["file_size"]) < int(rows["continued"]["file_size"])
    assert rows["rewound"]["parameters"] == rows["continued"]["parameters"] == rows["trained"]["parameters"]
    assert rows["rewound"]["components"] == rows["pruned"]["components"]
    scores = {row["component"]: row for row in read_csv(trained / "analysis/average/scores.csv")}
    least = sorted(scores, key=lambda name: (float(scores[name]["contribution"]), float(scores[name]["drop"])))[:2]
    assert rows["pruned"]["components"].split() == least
    # 60 steps of the model, and two epochs.
    assert {int(rows[arm]["updates"]) for arm in ARMS} == {60 + 2 * EPOCH}
    assert len({rows[arm]["target_tokens"] for arm in ARMS}) == 1
    record = read_json(folder / "study.json")["stages"]["trained-pruned-seed1"]
    assert record["began"] == read_json(trained / "analysis/average/scores.json")["weights"]
    # One for each of two epochs.
    assert FileReader().validations(folder / "runs/trained-pruned-seed1/version_0") == 2
    assert FileReader().validations(tmp_path) is None
    check_scores(folder, rows)
    check_settings(folder, trained)
    again = succeed(["study", "--config", str(folder / "config.yaml")], tmp_path)
    assert again.errors == ""
    assert again.output.decode() == printed
    tables = printed.split(str(tmp_path))[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert "not decidable" in tables


def check_scores(folder: Path, rows: dict[str, dict[str, str]]) -> None:
    """The numbers are those of sacreBLEU on the written translations, and each says what it rests on."""
    for arm in ARMS:
        translations = next(folder.glob(f"runs/trained-{arm}*/version_0/translations/average"))
        command = [sys.executable, "-m", "sacrebleu", "reference.txt", "-i", "hypothesis.txt", "-b", "-w", "4"]
        told = subprocess.run(command, cwd=translations / "test", capture_output=True, check=True, timeout=300)
        assert float(rows[arm]["test_bleu"]) == pytest.approx(float(told.stdout), abs=1e-3)
        about = read_json(translations / "validation/scores.json")
        assert float(rows[arm]["validation_bleu"]) == pytest.approx(about["scores"]["val/bleu"], abs=1e-3)
        assert rows[arm]["signature"] == about["signature"]
        assert float(rows[arm]["sentences_per_second"]) > 0
        assert (rows[arm]["difference"] == "") == (arm == "continued")
    text = (folder / "study.md").read_text(encoding="utf-8")
    assert "Before any fine-tuning" in text
    assert "Against `continued`, over the seeds" in text


def check_settings(folder: Path, base: Path) -> None:
    """What was really trained differs in what the arms are about alone: the configurations that fit itself wrote."""
    configs = {path.parent.parent.name: config_of(path.parent) for path in folder.glob("runs/*/*/config.yaml")}
    assert set(configs) == {f"trained-{arm}-seed1" for arm in ("continued", "pruned", "random1", "rewound")}
    control = configs.pop("trained-continued-seed1")
    assert control["start_from"] == str(base / "checkpoints/average.ckpt")
    for config in configs.values():
        assert config["trainer"].pop("callbacks")
        config["name"] = control["name"]
        config["trainer"]["callbacks"] = control["trainer"]["callbacks"]
        assert config == control
    for run_folder in folder.glob("runs/*/version_0"):
        # The same schedule, from its start, and the same data in the same order: as many pieces in each batch.
        rate = metric(run_folder, "train/learning_rate")
        assert list(rate.values()) == pytest.approx(
            [1e-3 * f for f in (0.5, 1, *((2 / n) ** 0.5 for n in range(3, 9)))]
        )
        padding = metric(run_folder, "train/padding")
        assert padding == metric(folder / "runs/trained-continued-seed1/version_0", "train/padding")
        assert load(run_folder / "checkpoints/average.ckpt")["averaged"] == ["step=4.ckpt", "step=8.ckpt"]


def test_target_tokens_are_counted_as_they_were_trained_on(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, step = [], LitTransformer.training_step

    def counted(self: LitTransformer, batch: Batch, batch_idx: int) -> Tensor:
        seen.append(batch.target_tokens)
        return step(self, batch, batch_idx)

    monkeypatch.setattr(LitTransformer, "training_step", counted)
    options = {"max_steps": 7, "val_check_interval": 1, "limit_train_batches": 3, "accumulate_grad_batches": 2}
    succeed(tiny_fit(text, **options), tmp_path)
    # Seven steps, of which an epoch has two: three epochs of three batches, and two batches more.
    assert len(seen) == 3 * 3 + 2
    facts = FileReader().facts(tmp_path / "runs/run/version_0/checkpoints/average.ckpt", None)
    assert facts.target_tokens == sum(seen)
    assert facts.updates == 7


def test_text_that_is_gone_cannot_be_counted_but_everything_else_is_told(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    succeed(tiny_fit(text), tmp_path)
    (text / "train.en").unlink()
    facts = FileReader().facts(tmp_path / "runs/run/version_0/checkpoints/average.ckpt", None)
    assert facts.target_tokens is None
    assert (facts.updates, facts.validation) == (6, None)


def test_scoring_several_writes_what_the_commands_write(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("validate", "test"):
        succeed(of(command, trained), tmp_path)
    names = ("scores.json", "hypothesis.txt", "reference.txt", "source.txt")
    paths = [trained / "translations/average" / split / name for split in ("validation", "test") for name in names]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        path.unlink()
    checkpoint = trained / "checkpoints/average.ckpt"
    with pytest.raises(SystemExit, match="2"):
        score(["--accelerator=cpu", str(tmp_path / "missing.ckpt"), str(checkpoint)])
    assert "error: " in capsys.readouterr().err.splitlines()[-1]
    score(["--accelerator=cpu", "--splits=[test]", str(checkpoint)])
    assert [path.read_bytes() for path in paths] == before


def test_scores_of_another_search_or_split_are_not_the_studys(trained: Path, tmp_path: Path) -> None:
    checkpoint, reader = trained / "checkpoints/average.ckpt", FileReader()
    assert reader.scores(checkpoint, "validation") is None
    succeed(of("validate", trained, "--model.decoding.beam=2"), tmp_path)
    succeed(of("test", trained, "--data.test=validation.{lang}"), tmp_path)
    assert reader.scores(checkpoint, "validation") is None
    assert reader.scores(checkpoint, "test") is None
    succeed(of("validate", trained), tmp_path)
    found = reader.scores(checkpoint, "validation")
    assert found is not None
    assert found.scoring_set == "validation, 24 sentences"
    assert reader.statistics(checkpoint, found).shape == (24, 10)


class TestMistakes:
    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            ({"finetune_epoch": 3}, "finetune_epoch"),
            ({"arms": ["continued", "prunned"]}, "'prunned'"),
            ({"arms": ["pruned"]}, "lacks 'continued'"),
            ({"count": 9}, "--count is 9, but there are 8 components"),
            ({"components": ["d:sa:7"]}, "'d:sa:7' matches nothing"),
            ({"average": 3}, "--average is 3"),
            ({"base_config": "demo.yaml"}, "but --base_config gives"),
            ({"base_config": "nothing.yaml"}, "'nothing.yaml' is no file"),
            ({"base_runs": ["elsewhere"]}, "'elsewhere' does not exist"),
            ({"by": "luck"}, "by"),
        ],
    )
    def test_one_line_and_nothing_is_written(
        self, changed: dict[str, Any], named: str, trained: Path, tmp_path: Path
    ) -> None:
        command = study(tmp_path, settings(trained, **changed))
        before = files_of(tmp_path)
        finished = run(command, tmp_path)
        assert (finished.status, finished.output) == (2, b"")
        assert finished.errors.count("\n") == 1, finished.errors
        assert finished.errors.startswith("lit-transformer: error: ")
        assert named in finished.errors
        assert files_of(tmp_path) == before

    def test_a_run_without_its_configuration(self, trained: Path, tmp_path: Path) -> None:
        (trained / "config.yaml").unlink()
        finished = run(study(tmp_path, settings(trained)), tmp_path)
        assert finished.status == 2
        assert "config.yaml' can't be read" in finished.errors


def test_the_help_tells_every_setting(tmp_path: Path) -> None:
    text = succeed(["study", "--help"], tmp_path).output.decode()
    assert "--finetune_epochs" in text
    assert "Peak learning rates to choose from" in text
    assert files_of(tmp_path) == set()
