from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.decoding import DecodingSettings, decode, in_precision, source_lengths
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig
from tests.special import EOS

SOURCE = torch.tensor([[4, 5, 6, 7, EOS], [9, 8, EOS, 0, 0], [EOS, 0, 0, 0, 0]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(20, 20, 2, 2, 16, 24, 2, dropout=0.3, norm="pre", tie_embeddings="none"))
    nn.init.normal_(model.output.weight, std=0.4)
    return model


@pytest.mark.parametrize("beam", [1, 4])
class TestDecode:
    def test_within_autocast_computes_in_the_type_of_the_weights(self, model: Transformer, beam: int) -> None:
        settings = DecodingSettings(beam=beam, max_extra_pieces=8)
        expected = decode(model, SOURCE, settings)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = decode(model, SOURCE, settings)
        assert found.ids() == expected.ids()
        assert torch.equal(found.scores, expected.scores)

    def test_leaves_the_mode_of_each_module(self, model: Transformer, beam: int) -> None:
        model.train()
        model.encoder.eval()
        before = {name: module.training for name, module in model.named_modules()}
        first = decode(model, SOURCE, DecodingSettings(beam=beam))
        assert {name: module.training for name, module in model.named_modules()} == before
        assert torch.equal(decode(model, SOURCE, DecodingSettings(beam=beam)).scores, first.scores)

    def test_leaves_the_mode_after_an_error(self, model: Transformer, beam: int) -> None:
        model.train()
        with torch.no_grad():
            model.output.weight.fill_(float("nan"))
        with pytest.raises(UserError, match="NaN"):
            decode(model, SOURCE, DecodingSettings(beam=beam))
        assert all(module.training for module in model.modules())

    def test_a_model_that_decoded_can_still_be_trained(self, model: Transformer, beam: int) -> None:
        with torch.inference_mode():
            decode(model, SOURCE, DecodingSettings(beam=beam))
        model.train()(SOURCE, SOURCE).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())

    def test_empty_batch(self, model: Transformer, beam: int) -> None:
        for source in (SOURCE[:0], torch.zeros(0, 0, dtype=torch.int64)):
            found = decode(model, source, DecodingSettings(beam=beam))
            assert (len(found), found.ids(), found.scores.shape, found.non_terminated.shape) == (0, [], (0,), (0,))

    def test_source_without_pieces(self, model: Transformer, beam: int) -> None:
        found = decode(model, SOURCE[2:, :1], DecodingSettings(beam=beam, max_extra_pieces=3))
        assert len(found) == 1
        assert len(found.ids()[0]) <= 3

    def test_limit_of_no_pieces(self, model: Transformer, beam: int) -> None:
        found = decode(model, SOURCE, DecodingSettings(beam=beam, max_extra_pieces=0))
        assert found.ids()[2] == []
        assert bool(found.non_terminated[2])
        assert decode(model, SOURCE[2:], DecodingSettings(beam=beam, max_extra_pieces=0)).ids() == [[]]

    def test_hypotheses_that_never_end_meet_the_limit(self, model: Transformer, beam: int) -> None:
        model.output.register_forward_hook(
            lambda module, args, logits: logits.index_fill(-1, torch.tensor([EOS]), -1e4)
        )
        found = decode(model, SOURCE, DecodingSettings(beam=beam, max_extra_pieces=7))
        assert found.lengths.tolist() == [11, 9, 7]
        assert found.non_terminated.all()

    def test_never_gives_special_pieces(self, model: Transformer, beam: int) -> None:
        model.output.register_forward_hook(
            lambda module, args, logits: logits.index_fill(-1, torch.tensor([0, 1, 2]), 1e3)
        )
        found = decode(model, SOURCE, DecodingSettings(beam=beam))
        assert found.pieces.numel() > 0
        assert int(found.pieces.min()) > EOS

    def test_reads_the_encoder_once_and_changes_no_weight(self, model: Transformer, beam: int) -> None:
        before, calls = copy.deepcopy(model.state_dict()), []
        model.encoder.register_forward_hook(lambda module, args, states: calls.append(states.shape))
        decode(model, SOURCE, DecodingSettings(beam=beam))
        assert calls == [(3, 5, 16)]
        assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("beam", [1, 4])
def test_finished_sentences_leave_the_batch(model: Transformer, beam: int) -> None:
    # One sentence of four is long, and none ends by itself: after the limit of the short ones one is left.
    source = torch.tensor([[4, 5, 6, 7, 8, 9, 10, EOS]] + 3 * [[4, EOS, 0, 0, 0, 0, 0, 0]])
    rows = []
    model.output.register_forward_hook(lambda module, args, logits: logits.index_fill(-1, torch.tensor([EOS]), -1e4))
    model.decoder.register_forward_hook(lambda module, args, states: rows.append(states.size(0)))
    decode(model, source, DecodingSettings(beam=beam, max_extra_pieces=2))
    assert rows == [4, 4 * beam, 4 * beam] + 6 * [beam]


def test_source_lengths_leave_out_end_and_padding() -> None:
    assert source_lengths(SOURCE, SPECIAL_IDS).tolist() == [4, 2, 0]


def test_in_precision_gives_the_model_itself_where_it_fits(model: Transformer) -> None:
    assert in_precision(model, "float32") is model


@pytest.mark.parametrize("precision", ["float64", "bfloat16"])
def test_in_precision_converts_a_copy(model: Transformer, precision: str) -> None:
    before = copy.deepcopy(model.state_dict())
    with torch.inference_mode():
        decode(model, SOURCE, DecodingSettings(beam=1))
    converted = in_precision(model, precision)  # type: ignore[arg-type]
    assert {tensor.dtype for tensor in converted.parameters()} == {getattr(torch, precision)}
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert len(decode(converted, SOURCE, DecodingSettings(beam=2))) == 3


def test_in_precision_keeps_ties() -> None:
    tied = in_precision(Transformer(TransformerConfig(20, 20, 1, 1, 16, 24, 2)), "float64")
    assert tied.output.weight is tied.source_embedding.pieces.weight
