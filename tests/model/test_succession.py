from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lit_transformer.errors import UserError
from lit_transformer.model import Transformer
from lit_transformer.model.succession import attach, cut_decoder, predecessors_of
from tests.model.test_transformer import SOURCE, TARGET, Norm, build


def logits(model: Transformer) -> Tensor:
    with torch.no_grad():
        return model(SOURCE, TARGET)


def composed(model: Transformer, whole: Transformer, layers: list[str]) -> Transformer:
    """A plain model of layers of two others: s1 is the first successor, p2 the second predecessor."""
    made = Transformer(replace(whole.config, decoder_layers=len(layers))).eval()
    state = {n: tensor for n, tensor in model.state_dict().items() if not n.startswith("decoder.layers.")}
    for place, layer in enumerate(layers):
        source, number = (model if layer[0] == "s" else whole), int(layer[1:]) - 1
        state |= {f"decoder.layers.{place}.{n}": t for n, t in source.decoder.layers[number].state_dict().items()}
    made.load_state_dict(state)
    return made


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_predecessors_stand_in_for_their_layer(norm: Norm) -> None:
    whole = build(norm, dropout=0.0, decoder_layers=4)
    model = build(norm, dropout=0.0, decoder_layers=4)
    expected = logits(whole)
    layers = attach(model, cut_decoder(model, 2))
    assert model.config.decoder_layers == len(layers) == 2
    with torch.no_grad():
        for parameter in model.decoder.layers.parameters():
            parameter.mul_(1.1)
    model.train()
    for away, names in (
        ([True, True], ["p1", "p2", "p3", "p4"]),
        ([True, False], ["p1", "p2", "s2"]),
        ([False, True], ["s1", "p3", "p4"]),
        ([False, False], ["s1", "s2"]),
    ):
        for layer, stands_in in zip(layers, away, strict=True):
            layer.stands_in = stands_in
        assert torch.allclose(logits(model), logits(composed(model, whole, names)), atol=1e-6), names
        if all(away):
            assert torch.allclose(logits(model), expected, atol=1e-6)
    layers[0].stands_in = layers[1].stands_in = True
    assert torch.equal(logits(model.eval()), logits(composed(model, whole, ["s1", "s2"])))


def test_its_state_is_that_of_the_shallower_model() -> None:
    model = build(decoder_layers=4)
    first = {n: tensor.clone() for n, tensor in model.state_dict().items() if "decoder.layers.1." in n}
    attach(model, cut_decoder(model, 2))
    again = Transformer(model.config)
    again.load_state_dict(model.state_dict(), strict=True)
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in first.items())
    assert list(again.components()) == list(model.components())


def test_what_is_not_computed_has_a_gradient_of_zero() -> None:
    model = build(dropout=0.0, decoder_layers=4)
    layers = attach(model, cut_decoder(model, 2))
    model.train()
    layers[0].stands_in = True
    model(SOURCE, TARGET).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert not any(p.grad.any() for p in layers[0].parameters() if p.grad is not None)
    assert any(p.grad.any() for p in layers[1].parameters() if p.grad is not None)
    assert all(p.grad is None for layer in layers for other in layer.predecessors for p in other.parameters())


def test_predecessors_made_again() -> None:
    model = build(decoder_layers=4)
    predecessors = cut_decoder(model, 4)
    again = predecessors_of(model, [layer.state_dict() for layer in predecessors])
    for one, other in zip(predecessors, again, strict=True):
        assert one.state_dict().keys() == other.state_dict().keys()
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_what_can_not_be_cut() -> None:
    for group, message in ((3, "layers has no groups of 3; give one of 2, 4"), (1, "no groups of 1"), (8, "of 8")):
        with pytest.raises(UserError, match=message):
            cut_decoder(build(decoder_layers=4), group)
    with pytest.raises(UserError, match="give one of none"):
        cut_decoder(build(decoder_layers=1), 2)
    with pytest.raises(UserError, match="d:ff:2 were pruned or narrowed"):
        cut_decoder(build(decoder_layers=4, pruned=("d:ff:2",)), 2)
    cut_decoder(build(decoder_layers=4, pruned=("e:ff:2",)), 2)
