from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import DecodingSettings, decode, translate
from lit_transformer.model import Transformer, TransformerConfig
from tests.special import EOS, PAD

SETTINGS = DecodingSettings(beam=2, max_extra_pieces=3)
PIECES = [[5, 6, 7], [], [8], [], [9, 10]]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(20, 20, 1, 1, 16, 24, 2, norm="pre", tie_embeddings="none")).eval()
    nn.init.normal_(model.output.weight, std=0.4)
    return model


def batch_of(pieces: Sequence[list[int]]) -> Batch:
    return collate(np.arange(len(pieces)), [(source, [4]) for source in pieces])


def spell(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))


def test_texts_are_what_the_search_finds_in_the_order_of_the_batch(model: Transformer) -> None:
    batch = batch_of([PIECES[0], PIECES[4], PIECES[2]])
    texts, non_terminated = translate(model, batch, SETTINGS, spell)
    expected = decode(model, batch.source, SETTINGS)
    assert texts == [spell(ids) for ids in expected.ids()]
    assert torch.equal(non_terminated, expected.non_terminated)
    assert any(texts)


def test_a_blank_source_gives_an_empty_line(model: Transformer) -> None:
    texts, non_terminated = translate(model, batch_of(PIECES), SETTINGS, spell)
    assert [text == "" for text in texts] == [False, True, False, True, False]
    assert non_terminated[[1, 3]].tolist() == [False, False]
    # The others are what they are without the blank ones between them.
    written = batch_of([pieces for pieces in PIECES if pieces])
    alone, ends = translate(model, written, SETTINGS, spell)
    assert [texts[row] for row in (0, 2, 4)] == alone
    assert non_terminated[[0, 2, 4]].tolist() == ends.tolist()


def test_the_detokenizer_never_sees_a_blank_sentence(model: Transformer) -> None:
    seen: list[Sequence[int]] = []

    def note(ids: Sequence[int]) -> str:
        seen.append(ids)
        return "x"

    texts, _ = translate(model, batch_of(PIECES), SETTINGS, note)
    assert texts == ["x", "", "x", "", "x"]
    assert len(seen) == 3
    assert all(EOS not in ids and PAD not in ids for ids in seen)


def test_nothing_but_blank_lines(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "encode", lambda source: pytest.fail("there is nothing to encode"))
    texts, non_terminated = translate(model, batch_of([[], []]), SETTINGS, spell)
    assert (texts, non_terminated.tolist()) == (["", ""], [False, False])


def test_an_empty_batch(model: Transformer) -> None:
    texts, non_terminated = translate(model, batch_of([]), SETTINGS, spell)
    assert (texts, non_terminated.shape) == ([], (0,))


def test_a_sentence_that_does_not_end_is_told(model: Transformer) -> None:
    with torch.no_grad():
        model.decoder.norm.get_parameter("bias").copy_(model.output.weight[7] * 100)
    texts, non_terminated = translate(model, batch_of(PIECES[:3]), DecodingSettings(1, max_extra_pieces=2), spell)
    assert texts == ["7 7 7 7 7", "", "7 7 7"]
    assert non_terminated.tolist() == [True, False, True]
