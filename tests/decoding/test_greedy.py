from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lit_transformer.decoding import DecodingSettings, Hypotheses, decode
from lit_transformer.decoding.beam import beam_search
from lit_transformer.model import Transformer, TransformerConfig
from tests.special import EOS


def build(vocab: int = 25, dtype: torch.dtype = torch.float32, round_to: float | None = None) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(vocab, vocab, 2, 2, 16, 24, 2, norm="pre", tie_embeddings="none"))
    nn.init.normal_(model.output.weight, std=0.4)
    if round_to is not None:
        model.output.register_forward_hook(lambda module, args, logits: (logits / round_to).round() * round_to)
    return model.eval().to(dtype)


def sources(count: int, vocab: int, longest: int) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(4, vocab, (count, longest + 1), generator=generator)
    lengths = torch.randint(0, longest + 1, (count, 1), generator=generator)
    columns = torch.arange(longest + 1)
    return ids.where(columns < lengths, EOS).where(columns <= lengths, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("round_to", [None, 1.0, 1e6])
def test_is_beam_search_with_a_beam_of_one(dtype: torch.dtype, penalty: float, round_to: float | None) -> None:
    model, source = build(dtype=dtype, round_to=round_to), sources(40, 25, 8)
    limits = (source > EOS).sum(dim=1) + 6
    found = decode(model, source, DecodingSettings(1, penalty, 6))
    with torch.no_grad():
        expected = beam_search(model, source, limits, 1, penalty)
    assert found.ids() == expected.ids()
    assert torch.equal(found.scores, expected.scores)
    assert torch.equal(found.non_terminated, expected.non_terminated)


def test_takes_the_best_piece_at_each_step() -> None:
    model, source = build(dtype=torch.float64), sources(30, 25, 8)
    found = decode(model, source, DecodingSettings(beam=1, max_extra_pieces=10))
    assert 0 < int(found.non_terminated.sum()) < 30
    for row, pieces, score, cut in zip(
        source, found.ids(), found.scores.tolist(), found.non_terminated.tolist(), strict=True
    ):
        row = row[row > 0].unsqueeze(0)
        with torch.no_grad():
            log_probs = torch.log_softmax(model(row, torch.tensor([[2, *pieces]]))[0], dim=-1)
        expected = pieces if cut else [*pieces, EOS]
        log_probs = log_probs[: len(expected)]
        assert (log_probs[:, 3:].argmax(dim=-1) + 3).tolist() == expected
        assert score == pytest.approx(float(log_probs.gather(1, torch.tensor([expected]).T).sum()), abs=1e-9)
        assert not cut or len(pieces) == int((row > EOS).sum()) + 10


@pytest.mark.parametrize("beam", [1, 4])
def test_float32_text_hardly_depends_on_the_batch(beam: int) -> None:
    model, source = build(vocab=60), sources(1000, 60, 12)
    settings = DecodingSettings(beam=beam, max_extra_pieces=2)
    whole = decode(model, source, settings)
    parts = Hypotheses.join([decode(model, part, settings) for part in source.split(90)])
    assert sum(a != b for a, b in zip(whole.ids(), parts.ids(), strict=True)) <= 1
