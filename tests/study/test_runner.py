from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.console.terminal import QUIET
from lit_transformer.errors import UserError
from lit_transformer.study.conduct import run_study
from lit_transformer.study.processes import Execute
from tests.study.making import Laboratory, Reading, settings_of

ARMS = ["continued", "pruned", "random", "shallow_cut", "rewound", "lr_rewound"]
FOLDER = Path("studies/made")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(execute: Execute, reading: Reading | None = None, **options: Any) -> bool:
    settings = settings_of(**{"arms": ARMS, "seeds": [1, 2], **options})
    demo = Path(__file__).parents[2] / "configs/demo.yaml"
    return run_study(settings, demo, execute, Reading() if reading is None else reading, lambda: 0.0)


def rows() -> list[dict[str, str]]:
    with (FOLDER / "study.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(FOLDER.rglob("*")) if path.is_file()}


def keys(laboratory: Laboratory) -> list[str]:
    """The commands in short."""
    short = []
    for command in laboratory.commands:
        configs = [Path(arg).stem for arg in command if arg.endswith(".yaml")]
        name = command[1] if command[0] == "lit_transformer" else command[0].rpartition(".")[2]
        short.append(" ".join([name, *configs]))
    return short


def test_the_commands_of_a_study_in_their_order() -> None:
    laboratory = Laboratory()
    assert not run(laboratory)
    arms = ["continued", "pruned", "random1", "shallow_cut", "rewound", "lr_rewound"]
    assert keys(laboratory) == [
        "fit base-seed1",
        "fit base-seed2",
        "analyze scores-seed1",
        "analyze scores-seed2",
        "analyze ablations-seed1",
        "analyze ablations-seed2",
        *(f"fit trained-{arm}-seed1" for arm in arms),
        *(f"fit trained-{arm}-seed2" for arm in arms),
        "scoring",
        "speed",
        "speed",
    ]
    base, pruned = laboratory.commands[0], laboratory.commands[7]
    assert base == ["lit_transformer", "fit", "--config", "studies/made/configs/base-seed1.yaml"]
    config = yaml.safe_load(Path(base[3]).read_text())
    assert (config["seed_everything"], config["name"], config["runs_dir"]) == (1, "base-seed1", "studies/made/runs")
    assert config["checkpoint"] == {"average": 2}
    demo = yaml.safe_load((Path(__file__).parents[2] / "configs/demo.yaml").read_text())
    assert (config["model"], config["data"]) == (demo["model"], demo["data"])
    assert config["trainer"].items() > demo["trainer"].items()
    assert pruned == [
        "lit_transformer",
        "fit",
        "--config",
        "studies/made/configs/trained-pruned-seed1.yaml",
        "--start_from=studies/made/runs/base-seed1/version_0/checkpoints/average.ckpt",
    ]
    scoring = laboratory.commands[-3]
    assert scoring[1:3] == ["--accelerator=auto", "--splits=[validation,test]"]
    assert len(scoring[3:]) == 14
    # The runs of a seed and its base, side by side.
    assert laboratory.commands[-1][1] == "--sentences=500"
    assert len(laboratory.commands[-1][2:]) == 7


def test_what_the_study_decides() -> None:
    run(Laboratory())
    config = yaml.safe_load((FOLDER / "configs/trained-pruned-seed1.yaml").read_text())
    # The order is d:ff:1, then decoder feed-forward from the last layer down, 66,176 parameters each with its norm
    # against 198,784 of a decoder layer.
    assert config["trainer"]["callbacks"][0]["init_args"]["count"] == 3
    shallow = yaml.safe_load((FOLDER / "configs/trained-shallow_cut-seed1.yaml").read_text())
    assert shallow["trainer"]["callbacks"][0]["init_args"]["count"] == 1
    replayed = yaml.safe_load((FOLDER / "configs/trained-lr_rewound-seed1.yaml").read_text())
    assert replayed["model"]["schedule_start"] == 620
    seeds = [
        yaml.safe_load((FOLDER / f"configs/trained-random1-seed{n}.yaml").read_text())["trainer"]["callbacks"][0]
        for n in (1, 2)
    ]
    assert [callback["init_args"]["seed"] for callback in seeds] == [1001, 2001]


def test_a_study_that_is_done_does_nothing_again() -> None:
    run(Laboratory())
    before = files()
    laboratory = Laboratory()
    run(laboratory)
    assert laboratory.commands == []
    assert files() == before


def test_wherever_it_is_interrupted_it_ends_with_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Laboratory()
    run(whole, seeds=[1])
    expected, count = files(), len(whole.commands)
    assert count == 11
    # It holds the time at which each checkpoint was written.
    expected.pop("studies/made/speed-seed1.json")
    for place in range(count):
        folder = tmp_path / str(place)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with pytest.raises(KeyboardInterrupt):
            run(Laboratory(stop_at=place), seeds=[1])
        rest = Laboratory()
        run(rest, seeds=[1])
        made = files()
        assert made.pop("studies/made/speed-seed1.json")
        assert made == expected, whole.commands[place]
        # An analysis that had come to its last scorer has nothing left to do.
        assert count - place - len(rest.commands) in ([0, 1] if whole.commands[place][1] == "analyze" else [0])
        if whole.commands[place][1] == "fit":
            assert rest.commands[0][:3] == ["lit_transformer", "fit", "--ckpt_path"]


def test_a_stage_that_failed_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Laboratory(failing=["trained-pruned-seed1", "trained-continued-seed2", "ablations-seed1"]))
    status = {f"{row['arm']}-{row['seed']}": row["status"] for row in rows() if row["family"] == "trained"}
    assert status == {
        "continued-1": "done",
        "pruned-1": "failed: trained-pruned-seed1 is out of luck.",
        "random-1": "done",
        "shallow_cut-1": "done",
        "rewound-1": "done",
        "lr_rewound-1": "done",
        "continued-2": "failed: trained-continued-seed2 is out of luck.",
        "pruned-2": "done",
        "random-2": "done",
        "shallow_cut-2": "done",
        "rewound-2": "done",
        "lr_rewound-2": "skipped: needs the control 'continued'",
    }
    output = capsys.readouterr().out
    assert "trained-pruned-seed1: failed: trained-pruned-seed1 is out of luck." in output
    assert "ablations-seed1: failed" in output
    assert "trained-pruned-seed1 is out of luck." in (FOLDER / "study.md").read_text()
    state = json.loads((FOLDER / "study.json").read_text())["stages"]
    assert state["trained-pruned-seed1"]["message"] == "trained-pruned-seed1 is out of luck."
    again = Laboratory()
    assert not run(again)
    failed = ["ablations-seed1", "trained-pruned-seed1", "trained-continued-seed2", "trained-lr_rewound-seed2"]
    assert [key.split()[1] for key in keys(again)[:4]] == failed
    assert {row["status"] for row in rows()} == {"done"}


def test_without_its_base_or_its_scores_nothing_is_tried() -> None:
    assert run(Laboratory(failing=["base-seed1", "scores-seed2"]), arms=["continued", "pruned", "random"], count=3)
    status = {f"{row['arm']}-{row['seed']}": row["status"] for row in rows()}
    assert status["continued-1"] == status["pruned-1"] == "skipped: needs base-seed1"
    assert status["pruned-2"] == "skipped: needs scores-seed2"
    assert status["random-2"] == status["continued-2"] == "done"


def test_a_base_that_is_given_is_not_trained() -> None:
    for seed in (3, 4):
        run_folder = Path(f"mine/seed{seed}/version_0/checkpoints")
        run_folder.mkdir(parents=True)
        (run_folder / "average.ckpt").touch()
    laboratory = Laboratory()
    bases = [f"mine/seed{seed}/version_0" for seed in (3, 4)]
    assert not run(laboratory, base_runs=bases, arms=["continued", "rewound"], random_draws=0, sentences=0)
    assert keys(laboratory) == [
        "analyze scores-seed3",
        "analyze scores-seed4",
        "fit trained-continued-seed3",
        "fit trained-rewound-seed3",
        "fit trained-continued-seed4",
        "fit trained-rewound-seed4",
        "scoring",
    ]
    assert [row["training_minutes"] for row in rows()] == [""] * 6
    assert {row["seed"] for row in rows()} == {"3", "4"}


def test_nothing_is_scored_that_no_arm_asks_for() -> None:
    laboratory = Laboratory()
    arms = ["continued", "lr_rewound"]
    assert not run(laboratory, seeds=[1], arms=arms, scratch_arms=["full"], random_draws=0, sentences=0)
    assert [key.split()[0] for key in keys(laboratory)] == ["fit", "fit", "fit", "fit", "scoring"]
    full = laboratory.commands[-2]
    assert not any(arg.startswith("--start_from") for arg in full)


def test_a_shallow_model_has_fewer_layers_than_the_options_say() -> None:
    laboratory = Laboratory()
    options = ["--model.decoder_layers=6", "--model.dropout=0.2"]
    arms: dict[str, Any] = {"arms": ["continued"], "scratch_arms": ["full", "shallow"]}
    assert not run(laboratory, **arms, options=options, seeds=[1], random_draws=0, sentences=0)
    fits = {Path(command[3]).stem: command for command in laboratory.commands if command[1] == "fit"}
    shallow = fits["scratch-shallow-seed1"]
    assert shallow[-1] == "--model.dropout=0.2"
    assert not any("decoder_layers" in arg for arg in shallow)
    assert yaml.safe_load((FOLDER / "configs/scratch-shallow-seed1.yaml").read_text())["model"]["decoder_layers"] == 5
    assert fits["scratch-full-seed1"][-2:] == options


def test_the_learning_rate_is_chosen_once_for_the_control() -> None:
    laboratory = Laboratory()
    rates = [1e-3, 5e-4, 2e-3]
    assert not run(laboratory, arms=["continued", "pruned"], learning_rates=rates, random_draws=0, sentences=0)
    names = [f"trained-continued-rate{rate:g}-seed1" for rate in rates]
    # What `Reading` takes from the name of the run.
    bleu = {rate: sum(map(ord, name)) % 100 for rate, name in zip(rates, names, strict=True)}
    best = max(bleu, key=lambda rate: bleu[rate])
    assert best != rates[0]
    assert len(set(bleu.values())) == 3
    assert keys(laboratory)[4:] == [
        *(f"fit {name}" for name in names),
        "scoring",
        "fit trained-pruned-seed1",
        "fit trained-continued-seed2",
        "fit trained-pruned-seed2",
        "scoring",
    ]
    for key in ("trained-pruned-seed1", "trained-continued-seed2", "trained-pruned-seed2"):
        assert yaml.safe_load((FOLDER / f"configs/{key}.yaml").read_text())["model"]["learning_rate"] == best
    assert laboratory.commands[7][2] == "--splits=[validation]"
    assert len(rows()) == 2 + 4
    again = Laboratory()
    run(again, arms=["continued", "pruned"], learning_rates=rates, random_draws=0, sentences=0)
    assert again.commands == []


def test_an_arm_can_be_added_later_but_none_can_be_made_otherwise() -> None:
    run(Laboratory(), arms=["continued"], random_draws=0)
    laboratory = Laboratory()
    run(laboratory, arms=["continued", "rewound"], random_draws=0, count=2)
    assert "fit trained-rewound-seed1" in keys(laboratory)
    assert "fit trained-continued-seed1" not in keys(laboratory)
    before = files()
    with pytest.raises(UserError, match="other settings than the study has now"):
        run(Laboratory(), arms=["continued", "rewound"], random_draws=0, count=3)
    with pytest.raises(UserError, match="other settings than the study has now"):
        run(Laboratory(), arms=["continued"], random_draws=0, options=["--model.dropout=0.5"])
    assert {name: files()[name] for name in before if name.startswith("studies/made/runs")} == {
        name: content for name, content in before.items() if name.startswith("studies/made/runs")
    }


def test_several_random_choices_count_as_one_arm() -> None:
    run(Laboratory(), arms=["continued", "random"], random_finetuned=3)
    random = [row for row in rows() if row["arm"] == "random"]
    assert [(row["seed"], row["draw"]) for row in random] == [(seed, draw) for seed in "12" for draw in "123"]
    control = {row["seed"]: float(row["test_bleu"]) for row in rows() if row["arm"] == "continued"}
    means = [sum(float(row["test_bleu"]) - control[seed] for row in random if row["seed"] == seed) / 3 for seed in "12"]
    assert f"| `random` | 2 | {sum(means) / 2:+.2f} |" in (FOLDER / "study.md").read_text()


def test_a_process_of_scoring_that_dies_is_started_again_for_what_is_left() -> None:
    class Dying(Laboratory):
        def _score(self, args: Any, stopped: bool) -> None:
            super()._score(args, stopped=True)

    laboratory = Dying()
    assert not run(laboratory, arms=["continued", "lr_rewound"], random_draws=0, sentences=0, seeds=[1])
    assert keys(laboratory).count("scoring") == 3


STAGE = re.compile(r"stage (\d+) of (\d+): ([\w.-]+) \.\.\.")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"learning_rates": [1e-3, 5e-4]},
        {"scratch_arms": ["full", "pruned_initial"], "sentences": 0},
        {"arms": ["continued"], "count": 3, "random_finetuned": 2},
        {"arms": ["continued", "random"], "random_finetuned": 3, "seeds": [1]},
    ],
)
def test_every_stage_is_counted(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    run(Laboratory(), **options)
    first = STAGE.findall(capsys.readouterr().err)
    assert len({key for _, _, key in first}) == len(first)
    [total] = {int(total) for _, total, _ in first}
    places = [int(place) for place, _, _ in first]
    assert places == sorted(set(places))
    # A stage with nothing to do is passed over, and the last one is the last.
    assert places[0] == 1
    assert places[-1] == total
    run(Laboratory(), **options)
    assert STAGE.findall(capsys.readouterr().err) == []


def test_quiet_studies_tell_of_failures_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(QUIET, "1")
    assert run(Laboratory(failing=["trained-pruned-seed1"]), seeds=[1])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "trained-pruned-seed1: trained-pruned-seed1 is out of luck. (0 s)\n"
    assert "pruned" in (FOLDER / "study.md").read_text(encoding="utf-8")
