"""What a study knows of the stages that it finds done: whether they are what it would make now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.errors import UserError
from tests.study.making import Laboratory, Reading
from tests.study.test_runner import FOLDER, keys, rows, run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_arms_of_a_base_that_was_trained_on_are_not_taken_for_those_of_what_it_is_now() -> None:
    options: dict[str, Any] = {"arms": ["continued"], "scratch_arms": ["full"], "seeds": [1], "random_draws": 0}
    assert not run(Laboratory(), Reading("before"), **options)
    again = Laboratory()
    assert not run(again, Reading("before"), **options)
    assert again.commands == []
    with pytest.raises(UserError, match=r"trained-continued-seed1/version_0' was trained from other weights"):
        run(Laboratory(), Reading("after"), **options)
    # What is said of a study of before that was kept is nothing.
    path = FOLDER / "study.json"
    state = json.loads(path.read_text())
    assert state["stages"]["trained-continued-seed1"].pop("began") == "before"
    assert "began" not in state["stages"]["scratch-full-seed1"]
    path.write_text(json.dumps(state))
    assert not run(Laboratory(), Reading("after"), **options)


def test_an_arm_that_stopped_before_its_last_epoch_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"arms": ["continued"], "seeds": [1], "random_draws": 0, "validations_per_epoch": 2}
    assert run(Laboratory(), Reading(validations=3), **options)
    [row] = [row for row in rows() if row["arm"] == "continued"]
    message = "failed: training stopped after 3 of 4 validations, at step 100; leave out of --options what stops it"
    assert row["status"].startswith(message)
    assert "trained-continued-seed1: training stopped" in capsys.readouterr().err
    again = Laboratory()
    assert run(again, Reading(validations=3), **options)
    assert not any(command[1] == "fit" for command in again.commands)
    # It is still known what it was asked for.
    with pytest.raises(UserError, match="other settings than the study has now"):
        run(Laboratory(), **{**options, "warmup_steps": 7})
    # A run without a log, and one that is whole.
    assert not run(Laboratory(), Reading(validations=None), **options)
    assert not run(Laboratory(), Reading(validations=4), **options)


def test_speeds_are_of_so_many_sentences_and_of_the_checkpoints_as_they_are() -> None:
    options: dict[str, Any] = {"arms": ["continued"], "seeds": [1], "random_draws": 0}
    run(Laboratory(), **options, sentences=500)

    def timed(**changed: Any) -> bool:
        laboratory = Laboratory()
        run(laboratory, **{**options, "sentences": 500, **changed})
        return "speed" in keys(laboratory)

    assert not timed()
    assert timed(sentences=200)
    assert timed(sentences=500)
    checkpoint = FOLDER / "runs/trained-continued-seed1/version_0/checkpoints/average.ckpt"
    checkpoint.write_text("another")
    assert timed()
    assert not timed()
    # A file of before that was kept is taken as it is.
    path = FOLDER / "speed-seed1.json"
    content = {run: {"sentences_per_second": 1.0} for run in json.loads(path.read_text())}
    path.write_text(json.dumps(content))
    assert not timed()


def test_a_study_from_before_there_was_among_is_known_again() -> None:
    options: dict[str, Any] = {"arms": ["continued", "pruned"], "seeds": [1], "random_draws": 0, "components": ["d:*"]}
    run(Laboratory(), **options)
    path = FOLDER / "configs/trained-pruned-seed1.yaml"
    config = yaml.safe_load(path.read_text())
    [callback] = config["trainer"]["callbacks"]
    callback["init_args"]["components"] = callback["init_args"].pop("among")
    path.write_text(yaml.safe_dump(config))
    again = Laboratory()
    run(again, **options)
    assert again.commands == []
    callback["init_args"]["components"] = ["e:*"]
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(UserError, match="other settings than the study has now"):
        run(Laboratory(), **options)


@pytest.mark.parametrize("folder", ["elsewhere/made", "studies/other"])
def test_a_study_that_was_moved_says_so(folder: str) -> None:
    options: dict[str, Any] = {"arms": ["continued", "pruned"], "seeds": [1], "random_draws": 0}
    run(Laboratory(), **options)
    Path(folder).parent.mkdir(exist_ok=True)
    FOLDER.rename(folder)
    there: dict[str, Any] = {"folder": Path(folder).parent.name, "name": Path(folder).name}
    with pytest.raises(
        UserError, match=r"trained with files in 'studies.*they are looked for in '.*put them back"
    ) as said:
        run(Laboratory(), **options, **there)
    assert "\n" not in str(said.value)
    # Something else has changed too.
    with pytest.raises(UserError, match="other settings than the study has now"):
        run(Laboratory(), **options, **there, average=3, validations_per_epoch=2)
    Path(folder).rename(FOLDER)
    again = Laboratory()
    run(again, **options)
    assert again.commands == []
