from __future__ import annotations

from dataclasses import replace

import pytest

from lit_transformer.errors import UserError
from lit_transformer.study.checks import check_bases, check_count, named_structure
from tests.study.making import base_of, settings_of


def test_another_structure_than_the_configuration() -> None:
    with pytest.raises(UserError, match="'runs/1' with d_model 128, but --base_config gives 64"):
        check_bases(settings_of(), [base_of(1)], {"d_model": 64})


def test_structures_that_differ() -> None:
    other = base_of(2, structure=replace(base_of(2).structure, decoder_layers=5))
    with pytest.raises(UserError, match="different structures"):
        check_bases(settings_of(), [base_of(1), other], {})


def test_bases_may_differ_in_what_is_not_their_architecture() -> None:
    other = replace(base_of(2).structure, dropout=0.3, source_vocab_size=90, target_vocab_size=90)
    check_bases(settings_of(), [base_of(1), base_of(2, structure=other)], {})


def test_the_structure_that_a_configuration_and_options_name() -> None:
    content = {"model": {"heads": 4, "d_model": 64, "dropout": 0.3, "pruned": None, "source_vocab_size": None}}
    assert named_structure(content, ["--model.d_model=32", "--model.norm", "pre", "--model.dropout=0.2"]) == {
        "heads": 4,
        "d_model": 32,
        "norm": "pre",
    }
    assert named_structure({"model": {"heads": None}}, []) == {}


def test_more_components_than_models_to_be_trained_have() -> None:
    with pytest.raises(UserError, match="--count is 6, but there are 5"):
        check_count(settings_of(count=6), {"encoder_layers": 1, "decoder_layers": 1})
    with pytest.raises(UserError, match=r"--model\.d_model is 'wide'; give a whole number"):
        check_count(settings_of(count=6), {"d_model": "wide"})
    check_count(settings_of(count=30), {})


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
