"""Variants in one batch: each has the hypotheses that it has by itself, and the model is afterwards as it was."""

from __future__ import annotations

import signal
from typing import Any, Literal

import pytest
import torch
from torch import nn

from lit_transformer.data.batch import Batch
from lit_transformer.decoding import DecodingSettings
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import MOST_SIDE_BY_SIDE, VariantDecoder
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import SubLayer, Transformer, TransformerConfig, weights_digest
from tests.importance.toy import replacements, spell

ABLATIONS = [
    Variant(),
    ablation("e:sa:1"),
    ablation("e:ff:2", "d:ff:1"),
    ablation("d:sa:1"),
    ablation("d:sa:2", "d:ea:1"),
    ablation("d:ea:2"),
    ablation("d:ff:1"),
]
INTERPOLATIONS = [
    *(Variant(interpolated=name, alpha=0.3) for name in ("e:sa:2", "e:ff:1", "d:sa:1", "d:sa:2", "d:ea:1", "d:ff:2")),
    Variant(interpolated="d:sa:1", alpha=0.0),
    Variant(interpolated="d:ea:2", alpha=0.6, include_norm=True),
    Variant(interpolated="d:ff:1", alpha=0.0, draw=1),
    Variant(ablated=("d:sa:1",), interpolated="d:ff:1", alpha=0.5),
    ablation("d:ff:1"),
    Variant(),
]


def decoder_of(model: Transformer, batches: list[Batch], beam: int) -> VariantDecoder:
    settings = DecodingSettings(beam=beam, max_extra_pieces=2)
    return VariantDecoder(model, ScoringSet(batches, "set"), spell, settings, CorpusBLEU(), replacements(model))


def model_of(norm: Literal["pre", "post"]) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(24, 24, 2, 2, 16, 24, 2, norm=norm, tie_embeddings="none")).eval()
    nn.init.normal_(model.output.weight, std=0.5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "variants",
    [ABLATIONS, [Variant(ablated=v.ablated, value="mean") for v in ABLATIONS], INTERPOLATIONS],
    ids=["ablated", "mean", "interpolated"],
)
def test_each_variant_has_the_hypotheses_that_it_has_by_itself(
    batches: list[Batch], variants: list[Variant], norm: Literal["pre", "post"], beam: int
) -> None:
    model = model_of(norm)
    decoder = decoder_of(model, batches, beam)
    alone = [decoder.decode(variant) for variant in variants]
    before, modules = weights_digest(model), list(model.modules())
    together = decoder.side_by_side(variants)
    assert [decoded.ids() for decoded, _ in together] == [decoded.ids() for decoded, _ in alone]
    for (found, statistics), (expected, counted) in zip(together, alone, strict=True):
        assert torch.equal(found.non_terminated, expected.non_terminated)
        assert torch.equal(statistics, counted)
    # Else the comparison would tell nothing.
    assert len({str(decoded.ids()) for decoded, _ in alone}) > len(variants) // 2
    assert weights_digest(model) == before
    assert list(model.modules()) == modules
    assert [decoder.decode(variant)[0].ids() for variant in variants] == [decoded.ids() for decoded, _ in alone]


def test_a_model_in_training(batches: list[Batch]) -> None:
    """Dropout is never decoded with, not even in the weights that a variant has for itself."""
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(24, 24, 2, 2, 16, 24, 2, dropout=0.5, activation_dropout=0.5)).train()
    decoder = decoder_of(model, batches, 1)
    variants = [Variant(interpolated=name, alpha=0.5) for name in ("d:ff:1", "d:sa:2", "e:ff:1")]
    expected = [decoder.decode(variant)[0].ids() for variant in variants]
    assert [decoded.ids() for decoded, _ in decoder.side_by_side(variants)] == expected
    assert all(module.training for module in model.modules())


def test_ctrl_c_while_the_model_is_put_in_order(batches: list[Batch], monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("post")
    decoder = decoder_of(model, batches, 1)
    digest, names = weights_digest(model), list(model.state_dict())
    variants = [Variant(interpolated="d:ff:1", alpha=0.5), Variant(interpolated="d:sa:1", alpha=0.5), *ABLATIONS]
    # A shell starts what it runs in the background with Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as within:
            calls: list[str] = []

            def interrupted(sublayer: SubLayer, name: str, value: Any) -> None:
                if name == "kept_rows" and value is None:
                    calls.append(name)
                    signal.raise_signal(signal.SIGINT)
                nn.Module.__setattr__(sublayer, name, value)

            within.setattr(SubLayer, "__setattr__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                decoder.side_by_side(variants)
        assert calls
    finally:
        signal.signal(signal.SIGINT, before)
    assert (weights_digest(model), list(model.state_dict())) == (digest, names)
    assert all(sublayer.kept_rows is None for sublayer in model.components().values())


def test_as_many_as_there_is_room_for(batches: list[Batch]) -> None:
    model = model_of("pre")
    rooms = [decoder_of(model, batches, 1).fitting(memory) for memory in (1, 1 << 19, 1 << 20, 1 << 40)]
    assert rooms[0] == 1
    assert rooms[2] in (2 * rooms[1], 2 * rooms[1] + 1)
    assert rooms[3] == MOST_SIDE_BY_SIDE
    # A beam has as many prefixes to keep for each sentence.
    assert 1 < decoder_of(model, batches, 4).fitting(1 << 20) < rooms[2]
