from __future__ import annotations

from dataclasses import replace

import pytest

from lit_transformer.errors import UserError
from lit_transformer.importance.matching import Structure
from lit_transformer.study.checks import check_bases
from tests.study.making import base_of, settings_of


def test_another_structure_than_the_configuration() -> None:
    with pytest.raises(UserError, match="'runs/1' with d_model 128, but --base_config gives 64"):
        check_bases(settings_of(), [base_of(1)], {"d_model": 64})


def test_structures_that_differ() -> None:
    other = base_of(2, structure=Structure(6, 5, 128, 256, "pre"))
    with pytest.raises(UserError, match="different structures"):
        check_bases(settings_of(), [base_of(1), other], {})


def test_one_seed_twice() -> None:
    with pytest.raises(UserError, match="two runs of one seed"):
        check_bases(settings_of(), [base_of(1), base_of(1)], {})


def test_more_components_than_there_are() -> None:
    with pytest.raises(UserError, match="--count is 31, but there are 30"):
        check_bases(settings_of(count=31), [base_of(1)], {})


def test_steps_in_place_of_epochs() -> None:
    config = {**base_of(1).config, "trainer": {"max_epochs": 5, "max_steps": 60}}
    base = replace(base_of(1), config=config)
    check_bases(settings_of(), [base], {})
    with pytest.raises(UserError, match=r"trained for --trainer.max_steps"):
        check_bases(settings_of(scratch_arms=["full", "shallow"]), [base], {})


def test_bases_that_fit() -> None:
    check_bases(settings_of(count=30), [base_of(1), base_of(2)], {"d_model": 128, "norm": "pre"})
