"""The model against the layers of torch.nn, which hold the same mathematics in code of others."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import nn

from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.model import (
    DotProductAttention,
    FeedForward,
    SubLayer,
    Transformer,
    TransformerConfig,
    label_smoothed_loss,
)

Norm = Literal["pre", "post"]
SOURCE = torch.tensor([[4, 5, 6, 7, 8, 9, 3], [9, 8, 7, 3, 0, 0, 0], [5, 3, 0, 0, 0, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 9, 8, 3, 0], [2, 6, 3, 0, 0]])


def build(norm: Norm = "post", **changes: Any) -> Transformer:
    """A small model in evaluation mode, all of whose parameters, biases and gains included, are random."""
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"d_model": 32, "feed_forward": 48, "heads": 4, "encoder_layers": 3, "decoder_layers": 2}
    model = Transformer(TransformerConfig(20, 20, norm=norm, **{**sizes, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def copy_attention(sublayer: SubLayer, theirs: nn.MultiheadAttention, norm: nn.LayerNorm) -> None:
    ours = sublayer.function
    assert isinstance(ours, DotProductAttention)
    theirs.in_proj_weight.copy_(ours.in_projection.weight)
    theirs.in_proj_bias.copy_(ours.in_projection.bias)
    theirs.out_proj.load_state_dict(ours.out_projection.state_dict())
    norm.load_state_dict(sublayer.norm.state_dict())


def copy_feed_forward(sublayer: SubLayer, inner: nn.Linear, outer: nn.Linear, norm: nn.LayerNorm) -> None:
    ours = sublayer.function
    assert isinstance(ours, FeedForward)
    inner.load_state_dict(ours.inner.state_dict())
    outer.load_state_dict(ours.outer.state_dict())
    norm.load_state_dict(sublayer.norm.state_dict())


@torch.no_grad()
def torch_stacks(model: Transformer) -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    config, components = model.config, model.components()
    settings: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": config.norm == "pre"}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(config.d_model, config.heads, config.feed_forward, **settings),
        config.encoder_layers,
        nn.LayerNorm(config.d_model) if config.norm == "pre" else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(config.d_model, config.heads, config.feed_forward, **settings),
        config.decoder_layers,
        nn.LayerNorm(config.d_model) if config.norm == "pre" else None,
    )
    for number, layer in enumerate(encoder.layers, start=1):
        assert isinstance(layer, nn.TransformerEncoderLayer)
        copy_attention(components[f"e:sa:{number}"], layer.self_attn, layer.norm1)
        copy_feed_forward(components[f"e:ff:{number}"], layer.linear1, layer.linear2, layer.norm2)
    for number, layer in enumerate(decoder.layers, start=1):
        assert isinstance(layer, nn.TransformerDecoderLayer)
        copy_attention(components[f"d:sa:{number}"], layer.self_attn, layer.norm1)
        copy_attention(components[f"d:ea:{number}"], layer.multihead_attn, layer.norm2)
        copy_feed_forward(components[f"d:ff:{number}"], layer.linear1, layer.linear2, layer.norm3)
    for theirs, ours in ((encoder, model.encoder), (decoder, model.decoder)):
        if theirs.norm is not None:
            theirs.norm.load_state_dict(ours.norm.state_dict())
    return encoder.eval(), decoder.eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.no_grad()
def test_equals_the_layers_of_torch(norm: Norm) -> None:
    model = build(norm)
    encoder, decoder = torch_stacks(model)
    padding, target_padding = SOURCE.eq(0), TARGET.eq(0)
    states = encoder(model.source_embedding(SOURCE), src_key_padding_mask=padding)
    assert torch.allclose(model.encode(SOURCE).states[~padding], states[~padding], rtol=0.0, atol=1e-5)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = decoder(model.target_embedding(TARGET), states, tgt_mask=causal, memory_key_padding_mask=padding)
    found = model.step(TARGET, model.start(model.encode(SOURCE)))
    assert torch.allclose(found[~target_padding], expected[~target_padding], rtol=0.0, atol=1e-5)
    logits = expected @ model.output.weight.T
    assert torch.allclose(model(SOURCE, TARGET)[~target_padding], logits[~target_padding], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.no_grad()
def test_padding_changes_nothing(norm: Norm) -> None:
    model = build(norm).double()
    whole = model(SOURCE, TARGET)
    for row, (source_length, target_length) in enumerate([(7, 5), (4, 4), (2, 3)]):
        alone = model(SOURCE[row : row + 1, :source_length], TARGET[row : row + 1, :target_length])
        assert torch.allclose(whole[row, :target_length], alone[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("ablated", [None, "d:sa:1", "d:ea:2"])
@pytest.mark.parametrize("chunks", [[1, 1, 1, 1, 1], [2, 1, 2], [1, 4]])
@torch.no_grad()
def test_steps_equal_one_teacher_forced_pass(norm: Norm, ablated: str | None, chunks: list[int]) -> None:
    model = build(norm).double()
    if ablated is not None:
        model.components()[ablated].ablated = True
    cache = model.start(model.encode(SOURCE))
    steps = [model.logits(model.step(ids, cache)) for ids in TARGET.split(chunks, dim=1)]
    assert torch.allclose(torch.cat(steps, dim=1), model(SOURCE, TARGET), rtol=0.0, atol=1e-12)
    assert cache.length == 5


def test_components_in_canonical_order() -> None:
    assert list(build().components()) == component_ids(3, 2)


@pytest.mark.parametrize(("tie", "tables"), [("all", 1), ("target", 2), ("none", 3)])
def test_tied_embeddings_share_memory(tie: Literal["all", "target", "none"], tables: int) -> None:
    model = Transformer(TransformerConfig(20, 20, 1, 1, 16, 16, 2, tie_embeddings=tie))
    source, target = model.source_embedding.pieces.weight, model.target_embedding.pieces.weight
    assert len({tensor.data_ptr() for tensor in (source, target, model.output.weight)}) == tables
    assert (target is model.output.weight) == (tie != "none")
    assert (source is target) == (tie == "all")


def test_vocabularies_of_two_sizes() -> None:
    model = Transformer(TransformerConfig(30, 20, 1, 1, 16, 16, 2, tie_embeddings="target"))
    assert model(SOURCE + 20 * SOURCE.gt(3), TARGET).shape == (3, 5, 20)


def test_parameter_counts_of_the_base_model() -> None:
    with torch.device("meta"):
        model = Transformer(TransformerConfig(8, 8))
    counts = {
        component: sum(tensor.numel() for tensor in sublayer.function.parameters())
        for component, sublayer in model.components().items()
    }
    assert {counts[component] for component in ("e:sa:1", "d:sa:6", "d:ea:3")} == {1_050_624}
    assert {counts[component] for component in ("e:ff:1", "d:ff:6")} == {2_099_712}
    assert sum(tensor.numel() for tensor in model.decoder.layers[0].parameters()) == 4_204_032
    total = sum(tensor.numel() for tensor in model.parameters()) - 8 * 512
    assert round(total / 1e6, 2) == 44.14


def test_embeddings_start_as_the_paper_scales_them() -> None:
    torch.manual_seed(2)
    weight = Transformer(TransformerConfig(2000, 2000, 1, 1, 64, 16, 2)).output.weight.detach()
    assert float(weight[1:].std()) == pytest.approx(64**-0.5, rel=0.02)
    assert not weight[0].any()


def test_has_no_buffers() -> None:
    model = build()
    model(SOURCE, TARGET)
    assert list(model.buffers()) == []
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters(remove_duplicate=False)}


def test_trains_under_bfloat16_autocast() -> None:
    model = build("pre").train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(SOURCE, TARGET[:, :-1])
        loss, _ = label_smoothed_loss(logits.flatten(0, 1), TARGET[:, 1:].flatten(), 0.1)
    assert logits.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_label_smoothed_loss_equals_torch(smoothing: float) -> None:
    torch.manual_seed(3)
    logits, target = torch.randn(50, 30, requires_grad=True), torch.randint(30, (50,))
    loss, plain = label_smoothed_loss(logits, target, smoothing)
    expected = nn.functional.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    assert float(plain) == pytest.approx(
        float(nn.functional.cross_entropy(logits.detach(), target, reduction="sum")), rel=1e-6
    )
    assert not plain.requires_grad
    ours, theirs = (torch.autograd.grad(value, logits)[0] for value in (loss, expected))
    assert torch.allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("name", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_dropout_acts_in_training_alone(name: str) -> None:
    settings: dict[str, Any] = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    model = build(**{**settings, name: 0.5})
    assert torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))
    expected = model(SOURCE, TARGET)
    model.train()
    assert not torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))
    without = build(**settings).train()
    assert torch.equal(without(SOURCE, TARGET), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_layers": 0}, "--model.encoder_layers is 0; give"),
        ({"decoder_layers": -1}, "--model.decoder_layers is -1; give"),
        ({"d_model": 0}, "--model.d_model is 0; give"),
        ({"feed_forward": 0}, "--model.feed_forward is 0; give"),
        ({"heads": 0}, "--model.heads is 0; give"),
        ({"heads": 3}, "--model.heads 3 does not divide --model.d_model 16"),
        ({"dropout": 1.0}, "--model.dropout is 1.0; give"),
        ({"attention_dropout": -0.1}, "--model.attention_dropout is -0.1; give"),
        ({"activation_dropout": float("nan")}, "--model.activation_dropout is nan; give"),
        ({"source_vocab_size": 30}, "--model.tie_embeddings all needs one vocabulary"),
    ],
)
def test_refuses_structures_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    sizes = {"source_vocab_size": 20, "target_vocab_size": 20, "d_model": 16, "heads": 2}
    with pytest.raises(UserError, match=message):
        TransformerConfig(**{**sizes, **changes})
