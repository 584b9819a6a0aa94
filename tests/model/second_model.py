"""A small model that is no Transformer: recurrent, with other special tokens, and the rarest words first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lit_transformer.data.special_ids import SpecialIds
from lit_transformer.model import DotProductAttention, EncoderState, FeedForward, SubLayer
from lit_transformer.model.attention import SourceKeyValues

SPECIAL = SpecialIds(pad=23, unk=11, bos=23, eos=0)
"""Padding is the last id and starts the target too, the end of sentence is the first."""


class State:
    """The recurrent state of each prefix, and the source of each sentence."""

    def __init__(self, hidden: Tensor, source: SourceKeyValues | None, padding: Tensor) -> None:
        self.hidden, self.source, self.padding = hidden, source, padding

    def select_prefixes(self, rows: Tensor) -> None:
        self.hidden = self.hidden[:, rows]

    def select_sentences(self, sentences: Tensor) -> None:
        self.padding = self.padding[sentences]
        if self.source is not None:
            self.source = self.source.select(sentences, self.padding.size(1))


class Recurrent(nn.Module):
    """Two feed-forward layers over the source; a GRU, attention to the source and a feed-forward network after it."""

    special_ids = SPECIAL
    d_model, decoder_layers, target_vocab_size = 16, 1, 24

    def __init__(self) -> None:
        super().__init__()
        self.table, self.output = nn.Embedding(24, 16), nn.Linear(16, 24)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.layers = nn.ModuleDict(
            {
                "e:ff:1": SubLayer(FeedForward(16, 20, 0.0), 16, 0.0, norm_first=False),
                "e:ff:2": SubLayer(FeedForward(16, 20, 0.0), 16, 0.0, norm_first=True),
                "d:ea:1": SubLayer(DotProductAttention(16, 2, 0.0), 16, 0.0, norm_first=True),
                "d:ff:1": SubLayer(FeedForward(16, 20, 0.0), 16, 0.0, norm_first=False),
            }
        )

    def components(self) -> dict[str, SubLayer]:
        return dict(self.layers.items())  # type: ignore[arg-type]

    def encode(self, source: Tensor) -> EncoderState:
        states = self.layers["e:ff:2"](self.layers["e:ff:1"](self.table(source)))
        return EncoderState(states, source.eq(SPECIAL.pad))

    def start(self, encoded: EncoderState) -> State:
        function = self.components()["d:ea:1"].current
        source = None if function is None else function.source_cache(encoded.states)  # type: ignore[operator]
        return State(encoded.states.new_zeros(1, encoded.states.size(0), 16), source, encoded.padding)

    def step(self, ids: Tensor, cache: State) -> Tensor:
        states, cache.hidden = self.gru(self.table(ids), cache.hidden.contiguous())
        mask = cache.padding[:, None, None, :]
        return self.layers["d:ff:1"](self.components()["d:ea:1"].attend_to(states, cache.source, mask))

    def logits(self, states: Tensor) -> Tensor:
        return self.output(states)


def build() -> Recurrent:
    torch.manual_seed(5)
    model = Recurrent().double().eval()
    nn.init.normal_(model.output.weight, std=0.8)
    return model
