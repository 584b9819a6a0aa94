from __future__ import annotations

import pytest
import torch

from lit_transformer.model import Transformer, TransformerConfig
from lit_transformer.model.rough_output import RoughOutput, is_fast


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_no_score_is_farther_off_than_is_said(scale: float) -> None:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(500, 64, generator=generator)
    states = scale * torch.randn(200, 64, generator=generator)
    scores, lost, rounding = RoughOutput(weight)(states)
    error = lost.unsqueeze(1) + rounding * scores.abs()
    off = (scores - states @ weight.T).abs()
    assert scores.dtype == torch.float32
    assert (off <= error).all()
    # And the bound is of use: far below the spread of the scores.
    assert float(error.mean()) < 0.2 * float(scores.std())


def test_only_for_float32_on_a_processor_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.zeros(4, 4)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    assert is_fast(weight)
    assert not is_fast(weight.double())
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert not is_fast(weight)
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    assert not is_fast(weight)


def test_a_changed_output_has_no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    model = Transformer(TransformerConfig(20, 20, 1, 1, 16, 24, 2))
    assert model.rough_logits() is not None
    handle = model.output.register_forward_hook(lambda module, args, logits: 2 * logits)
    assert model.rough_logits() is None
    handle.remove()
    assert model.double().rough_logits() is None
