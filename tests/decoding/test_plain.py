from __future__ import annotations

import pytest
import torch
from torch import nn

from lit_transformer.decoding import EOS, DecodingSettings, PlainDecoder, decode
from lit_transformer.decoding.trace import Trace
from lit_transformer.model import Transformer, TransformerConfig

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
class TestPlainDecoder:
    def test_hypotheses_in_the_order_of_the_sentences(self, model: Transformer, beam: int) -> None:
        settings = DecodingSettings(beam, max_extra_pieces=8)
        found = PlainDecoder(model, BATCHES, settings).decode()
        first = decode(model, BATCHES[0][[0, 2]], settings)
        last = decode(model, BATCHES[2], settings)
        assert found.ids() == [first.ids()[0], [], first.ids()[1], [], *last.ids()]
        cut = torch.cat([first.non_terminated, last.non_terminated]).tolist()
        assert found.non_terminated.tolist() == [cut[0], False, cut[1], False, cut[2], cut[3]]
        assert not found.held.any()

    def test_some_sentences_in_another_order(self, model: Transformer, beam: int) -> None:
        decoder = PlainDecoder(model, BATCHES, DecodingSettings(beam, max_extra_pieces=8))
        whole, wanted = decoder.decode(), [5, 1, 2]
        found = decoder.decode(decoder.encode(), torch.tensor(wanted))
        assert found.ids() == [whole.ids()[number] for number in wanted]
        assert found.non_terminated.tolist() == whole.non_terminated[wanted].tolist()

    def test_encodes_once_for_many(self, model: Transformer, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
        decoder = PlainDecoder(model, BATCHES, DecodingSettings(beam, max_extra_pieces=8))
        expected, encoded = decoder.decode(), decoder.encode()
        monkeypatch.setattr(model, "encode", lambda source: pytest.fail("it is encoded already"))
        assert decoder.decode(encoded).ids() == expected.ids()

    def test_trace_holds_the_prefixes_of_the_hypothesis(self, model: Transformer, beam: int) -> None:
        traces: list[tuple[torch.Tensor, Trace]] = []
        found = PlainDecoder(model, BATCHES, DecodingSettings(beam, max_extra_pieces=8)).decode(traces=traces)
        assert [numbers.tolist() for numbers, _ in traces] == [[0, 2], [4, 5]]
        for numbers, trace in traces:
            for row, number in enumerate(numbers.tolist()):
                live: list[list[int]] = [[]]
                for parents, pieces, exists in zip(trace.parents, trace.pieces, trace.exists, strict=True):
                    depth = [
                        [*live[parent], piece]
                        for parent, piece, there in zip(
                            parents[row].tolist(), pieces[row].tolist(), exists[row].tolist(), strict=True
                        )
                        if there
                    ]
                    assert depth == [] or len({tuple(prefix) for prefix in depth}) == beam
                    if found.ids()[number][: len(depth[0]) if depth else 0] in depth:
                        break
                    live = depth
                else:
                    assert found.ids()[number] == []
