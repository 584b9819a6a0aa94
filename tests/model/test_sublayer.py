from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lit_transformer.model import FeedForward, SubLayer, Transformer, TransformerConfig

Norm = Literal["pre", "post"]
SOURCE = torch.tensor([[4, 5, 6, 7, 3], [9, 8, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 9, 8, 3]])
KINDS = ["e:sa:1", "e:ff:2", "d:sa:2", "d:ea:1", "d:ff:1"]


def build(norm: Norm) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(20, 20, 2, 2, 16, 24, 2, norm=norm)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def by_hand(model: Transformer, ablated: str) -> Tensor:
    """The forward pass as one loop over all sub-layers, in which the ablated one has no function at all."""
    padding = SOURCE.eq(0)[:, None, None, :]
    causal = torch.ones(4, 4, dtype=torch.bool).triu(1)
    components, pre = model.components(), model.config.norm == "pre"

    def apply(component: str, x: Tensor, *inputs: Any) -> Tensor:
        sublayer = components[component]
        norm, function = sublayer.norm, sublayer.function
        call = function.attend_to if component.startswith("d:ea") else function
        if component == ablated:
            return x if pre else F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias)
        if pre:
            return x + call(norm(x), *inputs)  # type: ignore[operator]
        return F.layer_norm(x + call(x, *inputs), norm.normalized_shape, norm.weight, norm.bias)  # type: ignore[operator]

    x = model.source_embedding(SOURCE)
    for layer in (1, 2):
        x = apply(f"e:ff:{layer}", apply(f"e:sa:{layer}", x, padding))
    memory = model.encoder.norm(x)
    x = model.target_embedding(TARGET)
    for layer in (1, 2):
        x = apply(f"d:sa:{layer}", x, causal)
        source = components[f"d:ea:{layer}"].function.source_cache(memory)  # type: ignore[operator]
        x = apply(f"d:ff:{layer}", apply(f"d:ea:{layer}", x, source, padding))
    return F.linear(model.decoder.norm(x), model.output.weight)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("component", KINDS)
@torch.no_grad()
def test_ablation_equals_a_model_without_the_function(component: str, norm: Norm) -> None:
    model = build(norm)
    before = model(SOURCE, TARGET)
    sublayer = model.components()[component]
    sublayer.ablated = True
    found = model(SOURCE, TARGET)
    assert torch.equal(found, by_hand(model, component))
    assert not torch.equal(found, before)
    sublayer.ablated = False
    assert torch.equal(model(SOURCE, TARGET), before)
    assert torch.equal(by_hand(model, ablated=""), before)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("component", KINDS)
@torch.no_grad()
def test_weights_of_an_ablated_component_do_not_matter(component: str, norm: Norm) -> None:
    model = build(norm)
    sublayer = model.components()[component]
    sublayer.ablated = True
    expected = model(SOURCE, TARGET)
    for parameter in sublayer.function.parameters():
        parameter.fill_(float("nan"))
    assert torch.equal(model(SOURCE, TARGET), expected)


@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_output_bias_of_100_goes_with_the_component(norm_first: bool) -> None:
    torch.manual_seed(2)
    sublayer = SubLayer(FeedForward(8, 12, 0.0), 8, 0.0, norm_first).eval()
    nn.init.constant_(sublayer.function.outer.bias, 100.0)  # type: ignore[union-attr, arg-type]
    x = torch.randn(2, 3, 8)
    first = sublayer(x)
    sublayer.ablated = True
    expected = x if norm_first else F.layer_norm(x, (8,), sublayer.norm.weight, sublayer.norm.bias)
    assert float((sublayer(x) - expected).abs().max()) == 0.0
    sublayer.ablated = False
    assert torch.equal(sublayer(x), first)


@pytest.mark.parametrize("component", KINDS)
def test_nothing_is_computed_for_an_ablated_component(component: str) -> None:
    model = build("post")
    calls: list[str] = []
    for name, sublayer in model.components().items():
        for module in sublayer.function.modules():
            module.register_forward_hook(lambda module, args, output, name=name: calls.append(name))
        for method in ("attend_to", "source_cache"):
            if hasattr(sublayer.function, method):
                watched(sublayer.function, method, name, calls)
    model(SOURCE, TARGET)
    assert set(calls) == set(model.components())
    calls.clear()
    model.components()[component].ablated = True
    model(SOURCE, TARGET)
    assert set(calls) == set(model.components()) - {component}


def watched(module: nn.Module, method: str, name: str, calls: list[str]) -> None:
    original = getattr(module, method)

    def call(*args: Tensor) -> object:
        calls.append(name)
        return original(*args)

    setattr(module, method, call)


def test_an_ablated_decoder_attention_keeps_no_keys() -> None:
    model = build("post")
    model.components()["d:ea:1"].ablated = True
    cache = model.start(model.encode(SOURCE))
    assert [layer is None for layer in cache.source] == [True, *[False] * (len(cache.source) - 1)]


@torch.no_grad()
def test_feed_forward_start() -> None:
    torch.manual_seed(3)
    network = FeedForward(64, 256, 0.0)
    for linear in (network.inner, network.outer):
        bound = (6 / (64 + 256)) ** 0.5
        assert 0.98 * bound < float(linear.weight.abs().max()) <= bound
        assert not linear.bias.any()


@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_a_constant_takes_the_place_of_an_ablated_component(norm_first: bool) -> None:
    torch.manual_seed(4)
    sublayer = SubLayer(FeedForward(8, 12, 0.0), 8, 0.0, norm_first).eval()
    x, constant, names = torch.randn(2, 3, 8), torch.randn(8), set(sublayer.state_dict())
    first = sublayer(x)
    sublayer.constant = constant
    assert torch.equal(sublayer(x), first)
    sublayer.ablated = True
    added = x + constant
    expected = added if norm_first else F.layer_norm(added, (8,), sublayer.norm.weight, sublayer.norm.bias)
    assert torch.equal(sublayer(x), expected)
    assert set(sublayer.state_dict()) == names
