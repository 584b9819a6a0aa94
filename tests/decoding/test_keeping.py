"""References whose draft is what a variant was decoded to."""

from __future__ import annotations

import pytest
import torch

from lit_transformer.decoding import DecodingSettings, PlainDecoder, VerifiedDecoder
from tests.decoding.test_verified import Norm, assert_same, build, perturbed, sources

GREEDY = DecodingSettings(1, 0.6, 5)


# A component of each kind, the first and the last layer of both sides among them.
SOME = ["e:ff:1", "e:sa:2", "d:sa:1", "d:ea:1", "d:ff:2"]


@pytest.mark.parametrize(
    ("norm", "beam", "options"),
    [
        *[(norm, beam, {}) for norm, beam in (("pre", 1), ("post", 1), ("pre", 3), ("post", 4))],
        *[
            (norm, beam, options)
            for norm, beam in (("pre", 1), ("post", 4))
            for options in ({"memory_limit": 0}, {"memory_limit": 30_000}, {"chunk_nodes": 50})
        ],
    ],
    ids=str,
)
def test_along_a_path(norm: Norm, beam: int, options: dict[str, int]) -> None:
    """Each variant is the draft of the next, nearer one, and the text stays that of plain decoding."""
    model, batches, settings = build(norm), sources(60 // beam, 40, 6, 30), DecodingSettings(beam, 0.6, 5)
    plain, fast = PlainDecoder(model, batches, settings), VerifiedDecoder(model, batches, settings, **options)
    baseline = fast.reference()
    from_baseline = from_path = 0
    for component in SOME if options else model.components():
        reference = baseline
        for scale in (0.6, 0.4, 0.35, 0.1):
            with perturbed(model, component, scale):
                trace = fast.trace()
                expected, found = plain.decode(), fast.decode(reference, [component], trace=trace)
                from_baseline += int(fast.start(baseline, [component]).held.sum())
            assert_same(found, expected)
            from_path += int(found.held.sum())
            reference = fast.rebased(reference, found, [component], trace)
            assert_same(reference.decoded, expected)
    assert from_path > from_baseline


def test_what_is_kept_is_the_models_own() -> None:
    model, batches = build(), sources(60, 40, 6, 30)
    fast = VerifiedDecoder(model, batches, GREEDY, chunk_nodes=80)
    baseline = fast.reference()
    for component, start in (("e:sa:2", 1), ("d:ea:1", 1), ("d:sa:2", 3), ("d:ff:2", 5)):
        with perturbed(model, component, 0.5):
            found = fast.decode(baseline, [component])
            made = fast.rebased(baseline, found, [component])
        assert 0 < found.held.sum() < 60
        anew = fast.reference(found)
        assert torch.equal(made.draft.pieces, anew.draft.pieces)
        there = made.draft.exists
        assert list(made.entering) == [start]
        assert torch.allclose(made.entering[start][there], anew.entering[start][there])
        assert list(made.own) == list(range((start + 2) // 3))
        for layer, pair in made.own.items():
            for mine, other in zip(pair, anew.own[layer], strict=True):
                assert torch.allclose(mine[there], other[there])


@pytest.mark.parametrize("beam", [2, 4])
def test_the_trees_of_a_beam_are_those_of_plain_search(beam: int) -> None:
    model, batches, settings = build(), sources(60, 40, 6, 30), DecodingSettings(beam, 0.6, 5)
    fast = VerifiedDecoder(model, batches, settings, chunk_nodes=200)
    baseline = fast.reference()
    for component, start in (("e:sa:2", 1), ("d:sa:2", 3), ("d:ff:2", 5)):
        with perturbed(model, component, 0.3):
            trace = fast.trace()
            found = fast.decode(baseline, [component], trace=trace)
            anew = fast.reference()
        made = fast.rebased(baseline, found, [component], trace)
        assert torch.equal(made.draft.exists, anew.draft.exists)
        there = anew.draft.exists
        assert torch.equal(made.draft.pieces[there], anew.draft.pieces[there])
        assert torch.equal(made.draft.parents[there], anew.draft.parents[there])
        assert torch.allclose(made.entering[start][there], anew.entering[start][there])


def test_known_hypotheses_are_not_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches = build(), sources(60, 40, 6, 30)
    fast = VerifiedDecoder(model, batches, GREEDY)
    expected = fast.reference()
    monkeypatch.setattr(model, "step", lambda ids, cache: pytest.fail("a step of plain decoding"))
    found = fast.reference(expected.decoded)
    assert torch.equal(found.draft.pieces, expected.draft.pieces)
    assert found.entering.keys() == expected.entering.keys()
    there = found.draft.exists
    for place, kept in expected.entering.items():
        assert torch.allclose(found.entering[place][there], kept[there])


def test_a_beam_leaves_no_draft_in_its_hypotheses() -> None:
    fast = VerifiedDecoder(build(), sources(12, 40, 6, 9), DecodingSettings(2, 0.6, 5))
    reference = fast.reference()
    with pytest.raises(ValueError, match="beam"):
        fast.rebased(reference, reference.decoded, ["d:sa:1"])
