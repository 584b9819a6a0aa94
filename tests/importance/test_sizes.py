from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from lit_transformer.importance.sizes import component_sizes, decoder_layer_size, model_size
from lit_transformer.model import ATTENTIONS, Transformer
from lit_transformer.structure import Structure
from tests.model.attention.uniform import UniformAttention

SMALL = Structure(encoder_layers=2, decoder_layers=3, d_model=12, feed_forward=20, heads=2)


def count(structure: Structure) -> int:
    return sum(parameter.numel() for parameter in Transformer(structure).parameters())


def test_sizes_are_those_of_method_1_7() -> None:
    sizes = component_sizes(Structure())
    assert sizes["d:sa:1"] == sizes["d:ea:3"] == sizes["e:sa:6"] == 1_050_624
    assert sizes["d:ff:6"] == sizes["e:ff:1"] == 2_099_712
    assert decoder_layer_size(Structure()) == 4_204_032


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("changes", [{}, {"pruned": ("e:sa:1", "d:ff:3"), "feed_forward_sizes": {"d:ff:2": 7}}])
def test_sizes_are_those_of_the_model(norm: str, changes: dict[str, object]) -> None:
    structure = Structure.of({**SMALL.as_hparams(), "norm": norm, **changes})
    known = replace(structure, source_vocab_size=9, target_vocab_size=9)
    assert model_size(known) == count(known)
    sizes = component_sizes(structure)
    assert list(sizes) == structure.components
    for component, size in sizes.items():
        without = replace(known, pruned=(*structure.pruned, component))
        assert count(known) - count(without) == size, component
    whole = known.whole
    assert count(whole) - count(replace(whole, decoder_layers=2)) == decoder_layer_size(structure)


@pytest.mark.parametrize(("tie", "tables"), [("all", 1), ("target", 2), ("none", 3)])
def test_shared_parameters_are_counted_once(tie: str, tables: int) -> None:
    structure = Structure.of({**SMALL.as_hparams(), "tie_embeddings": tie})
    size = {words: model_size(replace(structure, source_vocab_size=words, target_vocab_size=words)) for words in (8, 9)}
    assert size[9] - size[8] == tables * structure.d_model


def test_an_attention_of_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTENTIONS, "uniform", UniformAttention)
    structure = replace(SMALL, attention={"d:sa": "uniform"})
    own, other = component_sizes(SMALL), component_sizes(structure)
    assert {name for name, size in other.items() if size != own[name]} == {"d:sa:1", "d:sa:2", "d:sa:3"}
    assert decoder_layer_size(SMALL) - decoder_layer_size(structure) == own["d:sa:1"] - other["d:sa:1"] > 0


def test_counting_draws_no_random_numbers() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    component_sizes(SMALL)
    assert torch.equal(torch.rand(3), expected)
