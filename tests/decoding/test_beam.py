"""Beam search against a slow one written straight from method.md 0.13: no cache, no batch, loops over everything."""

from __future__ import annotations

import itertools
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.decoding import DecodingSettings, decode
from lit_transformer.model import EncoderState, Transformer, TransformerConfig
from tests.special import BOS, EOS, PAD, UNK

Norm = Literal["pre", "post"]


def build(
    seed: int, vocab: int, norm: Norm = "pre", sharpness: float = 2.0, round_to: float | None = None
) -> Transformer:
    """A tiny random model in float64; with ``round_to``, its logits are multiples of that, so that many are equal."""
    torch.manual_seed(seed)
    config = TransformerConfig(vocab, vocab, 2, 2, 16, 24, 2, norm=norm, tie_embeddings="none")
    model = Transformer(config).double().eval()
    nn.init.normal_(model.output.weight, std=sharpness / 4)
    if round_to is not None:
        model.output.register_forward_hook(lambda module, args, logits: (logits / round_to).round() * round_to)
    return model


def random_sources(seed: int, count: int, vocab: int, longest: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (count,), generator=generator).tolist()
    return [[*torch.randint(4, vocab, (length,), generator=generator).tolist(), EOS] for length in lengths]


def padded(sources: list[list[int]]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(source) for source in sources], batch_first=True)


def log_probabilities(model: Transformer, source: list[int], prefix: list[int]) -> list[float]:
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[BOS, *prefix]]))[0, -1]
    return [
        float("-inf") if piece in (PAD, UNK, BOS) else value
        for piece, value in enumerate(torch.log_softmax(logits, dim=0).tolist())
    ]


def slow_beam_search(
    model: Transformer, source: list[int], beam: int, penalty: float, limit: int
) -> tuple[list[int], float, bool]:
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, float, list[int], bool]] = []
    for length in range(1, limit + 1):
        candidates = [
            (score + added, number, piece)
            for number, (score, prefix) in enumerate(live)
            for piece, added in enumerate(log_probabilities(model, source, prefix))
            if added > float("-inf")
        ]
        candidates = sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1], candidate[2]))[: 2 * beam]
        normaliser = ((5 + length) / 6) ** penalty
        finished += [
            (score / normaliser, score, live[number][1], False)
            for score, number, piece in candidates[:beam]
            if piece == EOS
        ]
        live = [(score, [*live[number][1], piece]) for score, number, piece in candidates if piece != EOS][:beam]
        if len(finished) >= beam or not live:
            break
        if length == limit:
            finished += [(score / normaliser, score, prefix, True) for score, prefix in live]
    _, score, pieces, non_terminated = max(finished, key=lambda hypothesis: hypothesis[0])
    return pieces, score, non_terminated


def assert_equal_to_slow(model: Transformer, sources: list[list[int]], settings: DecodingSettings) -> None:
    found = decode(model, padded(sources), settings)
    for source, pieces, score, non_terminated in zip(
        sources, found.ids(), found.scores.tolist(), found.non_terminated.tolist(), strict=True
    ):
        limit = len(source) - 1 + settings.max_extra_pieces
        expected = slow_beam_search(model, source, settings.beam, settings.length_penalty, limit)
        assert (pieces, non_terminated) == (expected[0], expected[2])
        assert score == pytest.approx(expected[1], abs=1e-9)


@pytest.mark.parametrize("beam", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(("seed", "vocab", "norm"), [(1, 9, "pre"), (2, 14, "post"), (3, 30, "pre")])
def test_equals_the_slow_search(seed: int, vocab: int, norm: Norm, beam: int) -> None:
    penalty = (0.0, 0.6, 1.0)[(beam + seed) % 3]
    model = build(seed, vocab, norm)
    settings = DecodingSettings(beam=beam, length_penalty=penalty, max_extra_pieces=4)
    assert_equal_to_slow(model, random_sources(seed, 5, vocab, 6), settings)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("round_to", [1.0, 1e6])
def test_ties_go_to_the_lower_prefix_and_then_to_the_lower_piece(round_to: float, beam: int, penalty: float) -> None:
    # At 1e6 all logits are 0: all pieces of all prefixes are equal.
    model = build(4, 12, round_to=round_to)
    settings = DecodingSettings(beam=beam, length_penalty=penalty, max_extra_pieces=3)
    assert_equal_to_slow(model, random_sources(4, 5, 12, 5), settings)


def test_pieces_that_tie_at_the_cut_of_a_large_vocabulary() -> None:
    model = build(5, 300, round_to=0.5)
    settings = DecodingSettings(beam=3, length_penalty=0.6, max_extra_pieces=1)
    assert_equal_to_slow(model, random_sources(5, 3, 300, 3), settings)


@pytest.mark.parametrize("ablated", [["d:ea:1", "d:ea:2"], ["d:sa:1"], ["e:sa:2", "d:ff:1", "d:sa:2"], None])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_ablated_components(ablated: list[str] | None, norm: Norm) -> None:
    model = build(6, 11, norm)
    for component, sublayer in model.components().items():
        sublayer.ablated = ablated is None or component in ablated
    assert_equal_to_slow(model, random_sources(6, 4, 11, 5), DecodingSettings(beam=3, max_extra_pieces=3))


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_tiny_limits(extra: int, beam: int) -> None:
    settings = DecodingSettings(beam=beam, max_extra_pieces=extra)
    assert_equal_to_slow(build(7, 10), random_sources(7, 6, 10, 3), settings)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_huge_beam_finds_the_best_of_all_hypotheses(penalty: float) -> None:
    model, source, limit = build(8, 7, sharpness=4.0), [5, 4, EOS], 4
    scored: list[tuple[float, list[int]]] = []
    for length in range(limit + 1):
        for pieces in itertools.product((4, 5, 6), repeat=length):
            ending = [EOS] if length < limit else []
            whole = [*pieces, *ending]
            score = sum(log_probabilities(model, source, whole[:place])[piece] for place, piece in enumerate(whole))
            scored.append((score / ((5 + len(whole)) / 6) ** penalty, list(pieces)))
    found = decode(model, torch.tensor([source]), DecodingSettings(200, penalty, max_extra_pieces=2))
    assert found.ids() == [max(scored)[1]]


@pytest.mark.parametrize("vocab", [5, 6, 8])
def test_vocabulary_smaller_than_the_beam(vocab: int) -> None:
    sources = random_sources(9, 3, vocab, 4)
    settings = DecodingSettings(beam=10, max_extra_pieces=9)
    # Ends are improbable and so come late: a search that counted what is not there as finished would miss them.
    model = build(9, vocab, sharpness=0.1)
    penalties = torch.tensor([9.0, 9.0, 9.0, 3.0] + [0.0] * (vocab - 4))
    model.output.register_forward_hook(lambda module, args, logits: logits - penalties)
    assert_equal_to_slow(model, sources, settings)
    found = decode(model, padded(sources), settings)
    assert len(found) == 3
    assert not set(found.pieces.tolist()) & {PAD, UNK, BOS, EOS}


def test_vocabulary_of_special_pieces_alone() -> None:
    found = decode(build(10, 4), torch.tensor([[EOS], [EOS]]), DecodingSettings(beam=3))
    assert found.ids() == [[], []]
    assert found.non_terminated.tolist() == [False, False]


@pytest.mark.parametrize("batch_size", [1, 7])
def test_batch_does_not_change_a_hypothesis(batch_size: int) -> None:
    vocab = 40
    model = build(11, vocab, sharpness=1.0)
    generator = torch.Generator().manual_seed(11)
    lengths = (torch.randperm(30, generator=generator)[:20] + 1).tolist()
    sources = [[*torch.randint(4, vocab, (length,), generator=generator).tolist(), EOS] for length in lengths]
    settings = DecodingSettings(beam=5, max_extra_pieces=20)
    whole = decode(model, padded(sources), settings)
    parts = [decode(model, padded(sources[first : first + batch_size]), settings) for first in range(0, 20, batch_size)]
    assert [pieces for part in parts for pieces in part.ids()] == whole.ids()
    assert len({len(pieces) for pieces in whole.ids()}) > 5


class CoinModel(nn.Module):
    """Ends at once or after piece 4, with probability one half each; speaks the protocol and is no Transformer."""

    def encode(self, source: Tensor) -> EncoderState:
        return EncoderState(source.unsqueeze(2).double(), source.eq(PAD))

    special_ids = SPECIAL_IDS

    def start(self, encoded: EncoderState) -> CoinModel:
        return self

    def step(self, ids: Tensor, cache: CoinModel) -> Tensor:
        return ids.double().unsqueeze(2)

    def logits(self, states: Tensor) -> Tensor:
        certain = torch.tensor([-1e4, -1e4, -1e4, 0.0, -1e4], dtype=torch.float64)
        return certain.where(states == 4, torch.tensor([-1e4, -1e4, -1e4, 0.0, 0.0], dtype=torch.float64))

    def select_prefixes(self, rows: Tensor) -> None: ...

    def select_sentences(self, sentences: Tensor) -> None: ...


def test_of_equal_hypotheses_the_one_finished_first() -> None:
    found = decode(CoinModel(), torch.tensor([[4, 4, EOS]]), DecodingSettings(beam=2, length_penalty=0.0))
    assert found.ids() == [[]]
    penalised = decode(CoinModel(), torch.tensor([[4, 4, EOS]]), DecodingSettings(beam=2, length_penalty=0.6))
    assert penalised.ids() == [[4]]
