from __future__ import annotations

import pytest
import torch
from torch import nn

from lit_transformer.decoding import CorpusDecoder, DecodingSettings, decode
from lit_transformer.model import Transformer, TransformerConfig
from tests.special import EOS

BATCHES = [
    torch.tensor([[4, 5, 6, 7, EOS], [EOS, 0, 0, 0, 0], [9, 8, EOS, 0, 0]]),
    torch.tensor([[EOS, 0]]),
    torch.tensor([[7, EOS], [11, EOS]]),
]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(20, 20, 2, 2, 16, 24, 2, dropout=0.3, norm="pre", tie_embeddings="none"))
    nn.init.normal_(model.output.weight, std=0.4)
    return model.double()


@pytest.mark.parametrize("beam", [1, 4])
class TestCorpusDecoder:
    def test_hypotheses_in_the_order_of_the_sentences(self, model: Transformer, beam: int) -> None:
        settings = DecodingSettings(beam, max_extra_pieces=8)
        found = CorpusDecoder(model, BATCHES, settings).decode()
        first = decode(model, BATCHES[0][[0, 2]], settings)
        last = decode(model, BATCHES[2], settings)
        assert found.ids() == [first.ids()[0], [], first.ids()[1], [], *last.ids()]
        cut = torch.cat([first.non_terminated, last.non_terminated]).tolist()
        assert found.non_terminated.tolist() == [cut[0], False, cut[1], False, cut[2], cut[3]]

    def test_copies_of_every_sentence(self, model: Transformer, beam: int) -> None:
        decoder = CorpusDecoder(model, BATCHES, DecodingSettings(beam, max_extra_pieces=8))
        expected = decoder.decode()
        for found in decoder.decode_copies(model, 3):
            assert found.ids() == expected.ids()
            assert found.non_terminated.tolist() == expected.non_terminated.tolist()

    def test_encodes_once_for_many(self, model: Transformer, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
        decoder = CorpusDecoder(model, BATCHES, DecodingSettings(beam, max_extra_pieces=8))
        expected, encoded = decoder.decode(), decoder.encode()
        monkeypatch.setattr(model, "encode", lambda source: pytest.fail("it is encoded already"))
        assert decoder.decode(encoded).ids() == expected.ids()
