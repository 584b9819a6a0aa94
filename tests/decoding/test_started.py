"""A decoding in two parts against plain decoding."""

from __future__ import annotations

import pytest
import torch

from lit_transformer.decoding import DecodingSettings, PlainDecoder, VerifiedDecoder
from lit_transformer.surgery import ablated
from tests.decoding.test_verified import build, sources


@pytest.mark.parametrize("beam", [1, 4])
def test_part_by_part(beam: int) -> None:
    model, batches, settings = build(), sources(60, 40, 6, 30), DecodingSettings(beam, 0.6, 5)
    plain = PlainDecoder(model, batches, settings)
    fast = VerifiedDecoder(model, batches, settings, chunk_nodes=200)
    reference = fast.reference()
    parts = torch.randperm(60, generator=torch.Generator().manual_seed(3)).split([7, 0, 30, 23])
    for component in model.components():
        with ablated(model, component):
            expected, started = plain.decode(), fast.start(reference, [component])
            for part in parts:
                found = started.finish(part)
                assert found.ids() == [expected.ids()[number] for number in part.tolist()]
                assert torch.equal(found.non_terminated, expected.non_terminated[part])
                assert torch.equal(found.held, started.held[part])
            # And all of them once more, for which nothing is left to do.
            assert started.finish(torch.arange(60)).ids() == expected.ids()


def test_what_held_is_not_searched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches, settings = build(), sources(60, 40, 6, 30), DecodingSettings(1, 0.6, 5)
    fast = VerifiedDecoder(model, batches, settings)
    reference = fast.reference()
    with ablated(model, "d:ff:2"):
        started = fast.start(reference, ["d:ff:2"])
        assert 0 < started.held.sum() < 60
        monkeypatch.setattr(model, "run_rows", lambda *_: pytest.fail("they are known"))
        found = started.finish(started.held.nonzero().squeeze(1))
    assert found.ids() == [
        ids for ids, held in zip(reference.decoded.ids(), started.held.tolist(), strict=True) if held
    ]


@pytest.mark.parametrize("beam", [1, 4])
def test_nothing_differs(beam: int) -> None:
    fast = VerifiedDecoder(build(), sources(24, 40, 6, 9), DecodingSettings(beam, 0.6, 5))
    reference = fast.reference()
    started = fast.start(reference, [])
    assert started.held.all()
    assert started.finish(torch.tensor([5, 2])).ids() == [reference.decoded.ids()[number] for number in (5, 2)]
