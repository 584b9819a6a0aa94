from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from lit_transformer.cli.configs import find_config
from lit_transformer.errors import UserError
from lit_transformer.importance import selection
from lit_transformer.runs.config import read_settings
from lit_transformer.study import study_settings as module
from lit_transformer.study.arms import SCRATCH, TRAINED
from lit_transformer.study.checks import check_count, named_structure
from lit_transformer.study.command import settings_of
from lit_transformer.study.speed import compare
from lit_transformer.study.study_settings import StudySettings, random_seed

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path.name for path in (ROOT / "configs").glob("study_*.yaml"))


def made(**options: Any) -> StudySettings:
    return StudySettings(**{"base_config": "demo.yaml", "average": 2, "finetune_epochs": 2, **options})


def test_the_scores_are_those_that_a_selection_knows() -> None:
    assert get_args(module.Score) == get_args(selection.Score)


def test_controls_come_first() -> None:
    settings = made(arms=["pruned", "rewound", "continued"], scratch_arms=["shallow", "full"])
    assert settings.arms_in(TRAINED) == ["continued", "pruned", "rewound"]
    assert settings.arms_in(SCRATCH) == ["full", "shallow"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ["continued", "prunned"]}, "'prunned'.*there are continued, pruned, random"),
        ({"scratch_arms": ["full", "rewound"]}, "--scratch_arms has 'rewound'.*full, pruned_initial"),
        ({"arms": ["pruned", "random"]}, "lacks 'continued', the control"),
        ({"scratch_arms": ["shallow"]}, "lacks 'full', the control"),
        ({"arms": ["continued", "pruned", "pruned"]}, "each arm once"),
        ({"arms": [], "scratch_arms": []}, "needs arms"),
        ({"average": 3}, "--average is 3, but --finetune_epochs 2.*average fewer"),
        ({"average": 1}, "--average is 1; give a whole number from 2 up"),
        ({"count": 0}, "--count is 0"),
        ({"finetune_epochs": 0}, "--finetune_epochs is 0"),
        ({"learning_rates": []}, "--learning_rates is"),
        ({"learning_rates": [1e-3, 0.0]}, "--learning_rates is"),
        ({"seeds": [1, 1]}, "--seeds is"),
        ({"seeds": []}, "--seeds is"),
        ({"base_config": None}, "name their runs, or give --base_config FILE"),
        ({"name": "../x"}, "--name '../x'"),
        ({"by": "group_ablation", "arms": ["continued", "most"]}, "leave the arm 'most' out"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        made(**options)


def test_several_validations_of_an_epoch_make_up_for_epochs() -> None:
    assert made(finetune_epochs=1, average=4, validations_per_epoch=4).average == 4


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_studies_can_be_read_and_name_every_setting_that_they_use(name: str) -> None:
    settings = settings_of(["--config", str(ROOT / "configs" / name)])
    assert settings.base_config is not None
    config = yaml.safe_load((ROOT / "configs" / name).read_text(encoding="utf-8"))
    assert config.keys() | {"seeds"} == {field for field in StudySettings.__dataclass_fields__}
    check_count(
        settings, named_structure(read_settings(find_config(settings.base_config), "--base_config"), settings.options)
    )


def test_an_option_wins_over_the_file() -> None:
    settings = settings_of(["--config", str(ROOT / "configs/study_demo.yaml"), "--name=other", "--seeds=[3,4]"])
    assert (settings.name, settings.seeds, settings.average) == ("other", [3, 4], 2)


def test_the_structure_that_is_named() -> None:
    config = ROOT / "configs" / "demo.yaml"
    options = ["--model.encoder_layers=3", "--model.d_model", "64", "--data.dir", "x", "--model.dropout=0.2"]
    named = named_structure(read_settings(config, "--base_config"), options)
    sizes = {"encoder_layers": 3, "decoder_layers": 6, "d_model": 64, "feed_forward": 256, "heads": 4}
    assert named == {**sizes, "norm": "pre"}
    assert named_structure({}, []) == {}


def test_more_than_there_is_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(UserError, match="--count is 3, but there are 2 components to choose from"):
        check_count(made(count=3, components=["d:sa:1-2"]), {})
    with pytest.raises(UserError, match="matches nothing"):
        check_count(made(components=["d:sa:7"]), {})
    check_count(made(components=["d:sa:7"]), {"decoder_layers": 7})


def test_random_choices_of_two_models_are_independent() -> None:
    assert len({random_seed(seed, draw) for seed in range(5) for draw in range(1, 11)}) == 50


def test_the_help_names_the_split_whose_sentences_are_timed() -> None:
    split = inspect.signature(compare).parameters["split"].default
    assert f"Sentences of the {split} split that are decoded" in (StudySettings.__doc__ or "")


def test_the_help_loads_no_torch() -> None:
    code = (
        "import sys; from lit_transformer.study.command import parser; parser().format_help(); "
        "assert 'torch' not in sys.modules and 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)
