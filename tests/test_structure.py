from __future__ import annotations

import inspect
import json
from dataclasses import fields, replace

import pytest

from lit_transformer.errors import UserError
from lit_transformer.structure import (
    ARCHITECTURE,
    FIXED_BY_CHECKPOINT,
    REGULARIZATION,
    VOCABULARIES,
    Structure,
)
from lit_transformer.training.module import LitTransformer

SMALL = Structure(
    90,
    90,
    encoder_layers=1,
    decoder_layers=2,
    d_model=16,
    heads=2,
    pruned=("d:sa:1",),
    feed_forward_sizes={"d:ff:2": 8},
    layer_drop={"e:ff": 0.2},
    attention={"d:ea": "dot_product"},
)


def test_every_field_belongs_to_one_group() -> None:
    names = [each.name for each in fields(Structure)]
    assert sorted((*ARCHITECTURE, *VOCABULARIES, *REGULARIZATION)) == sorted(names)
    assert REGULARIZATION == ("dropout", "attention_dropout", "activation_dropout", "layer_drop")
    assert VOCABULARIES == ("source_vocab_size", "target_vocab_size")
    assert set(FIXED_BY_CHECKPOINT) == {*names} - {*REGULARIZATION}


def test_every_field_is_an_option_of_the_module_with_the_same_default() -> None:
    options = inspect.signature(LitTransformer).parameters
    defaults = {each.name: options[each.name].default for each in fields(Structure)}
    assert Structure.of(defaults) == Structure()
    assert {name for name, value in defaults.items() if value is None} == {
        name for name, value in Structure().as_hparams().items() if value in (None, [], {})
    }


def test_hyper_parameters_give_the_structure_back() -> None:
    hparams = SMALL.as_hparams()
    assert json.loads(json.dumps(hparams)) == hparams
    assert Structure.of(hparams) == SMALL
    hparams["feed_forward_sizes"]["d:ff:1"] = 4
    assert SMALL.feed_forward_sizes == {"d:ff:2": 8}


def test_an_older_and_a_newer_checkpoint() -> None:
    hparams = Structure(90, 90, d_model=16).as_hparams()
    later = {"pruned", "feed_forward_sizes", "layer_drop", "attention"}
    older = {name: value for name, value in hparams.items() if name not in later}
    newer = {**hparams, "pruned": None, "of_a_later_version": 3, "learning_rate": 0.1}
    assert Structure.of(older) == Structure.of(newer) == Structure(90, 90, d_model=16)


def test_vocabularies_may_be_unknown() -> None:
    unknown = Structure.of({"source_vocab_size": None})
    assert [unknown.source_vocab_size, unknown.target_vocab_size] == [0, 0]
    assert [unknown.as_hparams()[name] for name in VOCABULARIES] == [None, None]
    # One that is known says nothing of the other.
    assert Structure(source_vocab_size=90).tie_embeddings == "all"
    with pytest.raises(UserError, match="tie_embeddings all needs one vocabulary"):
        Structure(90, 80)


def test_components_are_those_that_are_left() -> None:
    expected = ["e:sa:1", "e:ff:1", "d:sa:2", "d:ea:1", "d:ea:2", "d:ff:1", "d:ff:2"]
    assert SMALL.components == expected
    assert SMALL.whole == replace(SMALL, pruned=(), feed_forward_sizes={})
    assert SMALL.whole.components == sorted([*expected, "d:sa:1"], key=SMALL.whole.components.index)
    assert len(SMALL.whole.components) == 8
    assert replace(SMALL, pruned=("d:ff", "d:sa:1")).pruned == ("d:sa:1", "d:ff:1", "d:ff:2")


def test_differences_are_those_of_the_architecture() -> None:
    other = replace(SMALL, heads=4, dropout=0.3, layer_drop={}, source_vocab_size=80, target_vocab_size=80, pruned=())
    assert SMALL.differences(other) == ["heads", "pruned"]
    assert SMALL.differences(SMALL) == []


@pytest.mark.parametrize("size", ["16", 16.0, 0])
def test_a_size_is_a_whole_number(size: object) -> None:
    with pytest.raises(UserError, match=r"--model\.d_model is .*; give a whole number from 1 up"):
        Structure.of({"d_model": size})
