from __future__ import annotations

import torch

from lit_transformer.model import DecoderCache, Transformer, TransformerConfig

SOURCE = torch.tensor([[4, 5, 6, 7, 3], [9, 8, 3, 0, 0], [7, 6, 3, 0, 0]])
PREFIXES = torch.tensor([[2, 4, 5], [2, 7, 7], [2, 8, 4]])


def build() -> Transformer:
    torch.manual_seed(1)
    return Transformer(TransformerConfig(20, 20, 2, 2, 16, 24, 2)).double().eval()


@torch.no_grad()
def test_prefixes_of_a_beam_change_their_order() -> None:
    model = build()
    cache = model.start(model.encode(SOURCE))
    for ids in PREFIXES.split(1, dim=1):
        model.step(ids, cache)
    cache.select_prefixes(torch.arange(3).repeat_interleave(2))
    first = torch.tensor([[4], [5], [6], [7], [8], [9]])
    model.step(first, cache)
    order = torch.tensor([1, 0, 2, 2, 5, 4])
    cache.select_prefixes(order)
    last = torch.tensor([[9], [8], [7], [6], [5], [4]])
    found = model.logits(model.step(last, cache))
    targets = torch.cat([PREFIXES.repeat_interleave(2, dim=0), first], dim=1)[order]
    expected = model(SOURCE.repeat_interleave(2, dim=0), torch.cat([targets, last], dim=1))
    assert torch.allclose(found[:, 0], expected[:, -1], rtol=0.0, atol=1e-12)


@torch.no_grad()
def test_sentences_leave_and_the_source_is_trimmed() -> None:
    model = build()
    model.components()["d:ea:2"].ablated = True
    cache = model.start(model.encode(SOURCE))
    model.step(PREFIXES, cache)
    kept = torch.tensor([2, 1])
    cache.select_prefixes(kept)
    cache.select_sentences(kept)
    assert cache.padding.shape == (2, 3)
    assert cache.source[0] is not None
    assert [tensor.shape for tensor in cache.source[0].tensors] == [(2, 2, 3, 8)] * 2
    found = model.logits(model.step(torch.tensor([[5], [6]]), cache))
    targets = torch.cat([PREFIXES[kept], torch.tensor([[5], [6]])], dim=1)
    assert torch.allclose(found[:, 0], model(SOURCE[kept], targets)[:, -1], rtol=0.0, atol=1e-12)


def test_source_mask_covers_the_padding() -> None:
    cache = DecoderCache([], [], SOURCE.eq(0))
    assert torch.equal(cache.source_mask, SOURCE.eq(0)[:, None, None, :])
