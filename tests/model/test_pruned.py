"""A pruned model is the ablated one with less in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from lit_transformer.components import component_ids
from lit_transformer.decoding import DecodingSettings, decode
from lit_transformer.errors import UserError
from lit_transformer.model import FeedForward, Transformer, TransformerConfig, seeded_transformer
from lit_transformer.model.surgery import ablated, component_parameters
from tests.model.test_transformer import SOURCE, TARGET, Norm, build

SOME = [["d:sa:1"], ["d:ea:2", "d:ff:2"], ["e:sa:1", "e:ff:1"], ["d:sa:1", "d:ea:1", "d:ff:1"], ["d:sa", "e:ff:3"]]


def logits(model: Transformer) -> Tensor:
    with torch.no_grad():
        return model(SOURCE, TARGET)


@pytest.mark.parametrize("components", SOME, ids=str)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_pruned_is_ablated_bit_for_bit(norm: Norm, components: list[str]) -> None:
    model = build(norm)
    settings = DecodingSettings(beam=2, max_extra_pieces=3)
    with ablated(model, components) as chosen:
        expected, hypotheses = logits(model), decode(model, SOURCE, settings)
    model.prune(components)
    assert torch.equal(logits(model), expected)
    assert decode(model, SOURCE, settings).ids() == hypotheses.ids()
    assert model.config.pruned == tuple(chosen)
    assert list(model.components()) == [name for name in component_ids(3, 2) if name not in chosen]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_checkpoint_of_it_fits_a_model_of_its_structure(norm: Norm) -> None:
    model = build(norm)
    model.prune(["d:sa:2", "e:ff:1"])
    again = Transformer(model.config).eval()
    again.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(logits(again), logits(model))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_weights_of_the_whole_model_do_not_fit(norm: Norm) -> None:
    model = build(norm)
    whole = model.state_dict()
    model.prune(["d:sa:2"])
    with pytest.raises(RuntimeError, match=r"decoder\.layers\.1\.sa\.function"):
        model.load_state_dict(whole, strict=True)


def test_without_attention_to_the_source_there_is_no_translation() -> None:
    for wrong in (["*"], ["d:ea"]):
        with pytest.raises(UserError, match="no source-target attention"):
            build().prune(wrong)
        with pytest.raises(UserError, match="no source-target attention"):
            TransformerConfig(20, 20, 2, 2, 16, 24, 2, pruned=tuple(wrong))


def test_parameters_by_hand() -> None:
    """method.md 1.7: 4 d^2 + 4 d of an attention, 2 d f + d + f of a feed-forward network."""
    config = TransformerConfig(100, 100, 2, 2, 512, 2048, 8)
    size = sum(parameter.numel() for parameter in Transformer(config).parameters())
    for component, expected in (("e:sa:1", 1_050_624), ("d:ea:2", 1_050_624), ("d:ff:1", 2_099_712)):
        pruned = Transformer(replace(config, pruned=(component,)))
        assert size - sum(parameter.numel() for parameter in pruned.parameters()) == expected
    pre = Transformer(replace(config, norm="pre", pruned=("e:sa:1",)))
    whole = Transformer(replace(config, norm="pre"))
    gone = sum(p.numel() for p in whole.parameters()) - sum(p.numel() for p in pre.parameters())
    assert gone == 1_050_624 + 2 * 512


def test_every_parameter_that_is_left_learns() -> None:
    """Of one without a gradient, DDP would wait for it: cases.md A12."""
    norms: tuple[Norm, ...] = ("pre", "post")
    for norm in norms:
        model = build(norm)
        model.prune(["d:sa:1", "e:ff:2", "d:ea:2", "d:ff:2"])
        model.train()
        model(SOURCE, TARGET).square().sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_seed_gives_what_is_left_of_the_whole_models_weights() -> None:
    config = TransformerConfig(20, 20, 2, 2, 16, 24, 2)
    whole = seeded_transformer(config, 3).state_dict()
    pruned = seeded_transformer(replace(config, pruned=("d:sa:1", "e:ff:2")), 3).state_dict()
    assert 0 < len(pruned) < len(whole)
    assert all(torch.equal(tensor, whole[name]) for name, tensor in pruned.items())


def test_less_is_computed() -> None:
    model, counted = build("post"), [0]
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, args, out: counted.__setitem__(0, counted[0] + out.numel()))
    settings = DecodingSettings(beam=1, max_extra_pieces=3)
    decode(model, SOURCE, settings)
    before, counted[0] = counted[0], 0
    with ablated(model, ["d:sa:1", "d:ff:2"]):
        decode(model, SOURCE, settings)
    ablated_count, counted[0] = counted[0], 0
    model.prune(["d:sa:1", "d:ff:2"])
    decode(model, SOURCE, settings)
    assert counted[0] == ablated_count < before


def test_pruned_again() -> None:
    model = build()
    model.prune(["d:sa:1"])
    with pytest.raises(UserError, match="'d:sa:1' matches nothing"):
        model.prune(["d:sa:1"])
    with pytest.raises(UserError, match="'d:sa:1' matches nothing"):
        component_parameters(model, "d:sa:1")
    model.prune(["d:sa:2"])
    assert model.config.pruned == ("d:sa:1", "d:sa:2")
    with pytest.raises(UserError, match="'d:sa:9' matches nothing"):
        TransformerConfig(20, 20, 2, 2, 16, 24, 2, pruned=("d:sa:9",))


def test_a_narrower_feed_forward_network_has_the_largest_units() -> None:
    model = build()
    function = model.components()["d:ff:1"].function
    assert isinstance(function, FeedForward)
    with torch.no_grad():
        function.inner.weight[10:] *= 1e-4
        function.outer.weight[:, 10:] *= 1e-4
        function.inner.bias[10:] = 0.0
    before = logits(model)
    narrow = function.narrowed(10)
    assert torch.equal(narrow.inner.weight, function.inner.weight[:10])
    model.narrow("d:ff:1", narrow)
    assert torch.allclose(logits(model), before, atol=1e-4)
    assert model.config.feed_forward_sizes == {"d:ff:1": 10}
    again = Transformer(model.config).eval()
    again.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(logits(again), logits(model))
    for size in (0, 48):
        with pytest.raises(UserError, match="fewer than 48 units"):
            function.narrowed(size)


class TestLayerDrop:
    def model(self, norm: Norm, **probabilities: float) -> Transformer:
        return build(norm, dropout=0.0, layer_drop={name.replace("_", ":"): p for name, p in probabilities.items()})

    @pytest.mark.parametrize("norm", ["pre", "post"])
    def test_a_training_step_goes_without_some(self, norm: Norm) -> None:
        model = self.model(norm, d_sa=0.5)
        expected: dict[tuple[str, ...], Tensor] = {}
        for chosen in ([], ["d:sa:1"], ["d:sa:2"], ["d:sa:1", "d:sa:2"]):
            with ablated(model, chosen):
                expected[tuple(chosen)] = logits(model)
        model.train()
        found = {gone: 0 for gone in expected}
        torch.manual_seed(2)
        for _ in range(60):
            made = logits(model)
            [gone] = [gone for gone, other in expected.items() if torch.equal(made, other)]
            found[gone] += 1
        assert all(5 < count < 30 for count in found.values())

    def test_not_in_evaluation(self) -> None:
        assert torch.equal(logits(self.model("post", d_sa=0.9)), logits(build(dropout=0.0)))

    @pytest.mark.parametrize("norm", ["pre", "post"])
    def test_what_is_dropped_has_a_gradient_of_zero(self, norm: Norm) -> None:
        model = self.model(norm, e_ff=0.999999, d_ea=0.999999)
        model.train()
        model(SOURCE, TARGET).square().sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        for component in ("e:ff:1", "d:ea:2"):
            assert all(not p.grad.any() for p in component_parameters(model, component).values() if p.grad is not None)

    def test_nonsense_is_refused(self) -> None:
        for wrong in ({"d:sa:1": 0.5}, {"d:sa": 1.0}, {"x": 0.1}):
            with pytest.raises(UserError, match="layer_drop"):
                TransformerConfig(20, 20, layer_drop=wrong)
