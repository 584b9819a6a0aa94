"""Draft-verified decoding against plain decoding: the same text, for every kind of variant."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from lit_transformer.decoding import BOS, EOS, Decoded, DecodingSettings, PlainDecoder, VerifiedDecoder
from lit_transformer.model import Transformer, TransformerConfig, weights_digest
from lit_transformer.surgery import ablated

Norm = Literal["pre", "post"]
Tie = Literal["all", "target", "none"]


def build(
    norm: Norm = "pre", tie: Tie = "none", vocab: int = 40, seed: int = 1, dtype: torch.dtype = torch.float64
) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(vocab, vocab, 2, 2, 16, 24, 2, norm=norm, tie_embeddings=tie)
    model = Transformer(config).to(dtype).eval()
    with torch.no_grad():
        # Sharp enough that sentences end, and that one component changes some hypotheses and not others.
        nn.init.normal_(model.output.weight, std=0.5)
        for sublayer in model.components().values():
            for parameter in sublayer.function.parameters():
                parameter.mul_(0.5)
    return model


def sources(count: int, vocab: int, longest: int, batch: int, seed: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, vocab, (count, longest + 1), generator=generator)
    lengths = torch.randint(1, longest + 1, (count, 1), generator=generator)
    lengths[[3, count - 1]] = 0
    columns = torch.arange(longest + 1)
    return list(ids.where(columns < lengths, EOS).where(columns <= lengths, 0).split(batch))


@contextmanager
def perturbed(model: Transformer, component: str, scale: float) -> Iterator[None]:
    parameters = list(model.components()[component].function.parameters())
    before = [parameter.detach().clone() for parameter in parameters]
    generator = torch.Generator().manual_seed(7)
    try:
        with torch.no_grad():
            for parameter in parameters:
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter.dtype)
                parameter.add_(scale * parameter.std() * noise)
        yield
    finally:
        with torch.no_grad():
            for parameter, old in zip(parameters, before, strict=True):
                parameter.copy_(old)


def assert_same(found: Decoded, expected: Decoded) -> None:
    assert found.ids() == expected.ids()
    assert torch.equal(found.non_terminated, expected.non_terminated)


def check_all(
    model: Transformer, batches: Sequence[Tensor], settings: DecodingSettings, pairs: int = 4, **options: int
) -> dict[str, float]:
    """Compare all single ablations, some pairs and perturbed weights; return the share that held for each."""
    plain, fast = PlainDecoder(model, batches, settings), VerifiedDecoder(model, batches, settings, **options)
    reference, held = fast.reference(), {}
    assert_same(reference.decoded, plain.decode())
    components = list(model.components())
    every = list(itertools.combinations(components, 2))
    for chosen in [(component,) for component in components] + every[:: max(1, len(every) // pairs)]:
        with ablated(model, chosen):
            found = fast.decode(reference, chosen)
            assert_same(found, plain.decode())
        held["+".join(chosen)] = float(found.held.float().mean())
    for component in components:
        with perturbed(model, component, 0.3):
            assert_same(fast.decode(reference, [component]), plain.decode())
    return held


@pytest.mark.parametrize("beam", [1, 2, 4, 10])
@pytest.mark.parametrize(("norm", "tie"), [("pre", "none"), ("post", "target"), ("pre", "all"), ("post", "none")])
def test_same_text_as_plain_decoding(norm: Norm, tie: Tie, beam: int) -> None:
    check_all(build(norm, tie), sources(16, 40, 6, 6), DecodingSettings(beam, 0.6, 5), pairs=2)


@pytest.mark.parametrize("beam", [1, 4])
def test_some_drafts_hold_and_some_do_not(beam: int) -> None:
    held = check_all(build(), sources(60, 40, 6, 30), DecodingSettings(beam, 0.6, 5), pairs=1)
    assert 0.02 < sum(held.values()) / len(held) < 0.98


@pytest.mark.parametrize("beam", [2, 5])
def test_without_length_penalty(beam: int) -> None:
    check_all(build("post"), sources(20, 40, 6, 9), DecodingSettings(beam, 0.0, 5))


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_tight_limits(beam: int) -> None:
    check_all(build(), sources(20, 40, 6, 9), DecodingSettings(beam, 0.6, 0))


@pytest.mark.parametrize("vocab", [5, 8])
def test_beam_beyond_the_vocabulary(vocab: int) -> None:
    check_all(build(vocab=vocab), sources(12, vocab, 5, 6), DecodingSettings(10, 0.6, 3))


@pytest.mark.parametrize("round_to", [1.0, 1e6])
@pytest.mark.parametrize("beam", [1, 4])
def test_ties(beam: int, round_to: float) -> None:
    model = build(vocab=12)
    model.output.register_forward_hook(lambda module, args, logits: (logits / round_to).round() * round_to)
    check_all(model, sources(16, 12, 5, 8), DecodingSettings(beam, 0.6, 3))


@pytest.mark.parametrize(
    "options",
    [
        {"memory_limit": 0},
        {"memory_limit": 60_000},
        {"window": 1},
        {"window": 3, "chunk_nodes": 50, "pool_rows": 10},
        {"window": 1000, "chunk_nodes": 100_000, "pool_rows": 100_000},
        {"chunk_nodes": 1, "pool_rows": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("beam", [1, 3])
def test_room_and_sizes_do_not_change_the_text(beam: int, options: dict[str, int]) -> None:
    check_all(build("post"), sources(12, 40, 6, 5), DecodingSettings(beam, 0.6, 5), pairs=2, **options)


def test_keeps_no_more_than_there_is_room_for() -> None:
    model, batches, settings = build(), sources(20, 40, 6, 9), DecodingSettings(4, 0.6, 5)
    kept = [
        VerifiedDecoder(model, batches, settings, memory_limit=limit).reference() for limit in (0, 700_000, 1 << 30)
    ]
    assert [len(reference.entering) for reference in kept] == [0, 1, 5]
    assert kept[0].encoder.entering == {}


@pytest.mark.parametrize("beam", [1, 4])
def test_some_of_the_sentences(beam: int) -> None:
    model, batches, settings = build(), sources(24, 40, 6, 9), DecodingSettings(beam, 0.6, 5)
    fast = VerifiedDecoder(model, batches, settings, chunk_nodes=60)
    reference, wanted = fast.reference(), torch.tensor([17, 3, 0, 23, 9])
    for component in ("e:ff:1", "d:sa:2", "d:ff:1"):
        with ablated(model, component):
            whole, some = fast.decode(reference, [component]), fast.decode(reference, [component], wanted)
            plain = PlainDecoder(model, batches, settings).decode(sentences=wanted)
        assert some.ids() == [whole.ids()[number] for number in wanted.tolist()] == plain.ids()
        assert torch.equal(some.held, whole.held[wanted])
        assert torch.equal(some.non_terminated, whole.non_terminated[wanted])
    assert len(fast.decode(reference, ["d:ff:1"], wanted[:0])) == 0


@pytest.mark.parametrize("beam", [1, 4])
def test_reference_of_a_model_without_components(beam: int) -> None:
    model, batches, settings = build("post"), sources(24, 40, 6, 9), DecodingSettings(beam, 0.6, 5)
    plain, fast = PlainDecoder(model, batches, settings), VerifiedDecoder(model, batches, settings)
    for gone in (["d:sa:1", "d:ff:2"], ["d:ea:1"], ["e:sa:1", "d:ea:2"], ["d:ea:1", "d:ea:2"]):
        with ablated(model, gone):
            reference = fast.reference()
            for component in model.components():
                with ablated(model, [component]):
                    assert_same(fast.decode(reference, [component]), plain.decode())
        # And back: a component that the reference did without.
        assert_same(fast.decode(reference, gone), plain.decode())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_constant_in_place_of_a_component(norm: Norm) -> None:
    model, batches, settings = build(norm), sources(24, 40, 6, 9), DecodingSettings(3, 0.6, 5)
    plain, fast = PlainDecoder(model, batches, settings), VerifiedDecoder(model, batches, settings)
    reference = fast.reference()
    generator = torch.Generator().manual_seed(4)
    for component, sublayer in model.components().items():
        with ablated(model, component):
            without = plain.decode().ids()
            sublayer.constant = torch.randn(16, generator=generator, dtype=torch.float64)
            assert_same(fast.decode(reference, [component]), expected := plain.decode())
            assert expected.ids() != without
            sublayer.constant = None


@pytest.mark.parametrize("beam", [1, 4])
def test_without_a_change_no_step_is_made(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches, settings = build(), sources(24, 40, 6, 9), DecodingSettings(beam, 0.6, 5)
    fast = VerifiedDecoder(model, batches, settings, window=1000)
    reference, passes = fast.reference(), list[range]()
    monkeypatch.setattr(model, "step", lambda ids, cache: pytest.fail("a step of plain decoding"))
    run_rows = model.run_rows

    def noted(x: Tensor, places: range, *others: Any) -> Tensor:
        passes.append(places)
        return run_rows(x, places, *others)

    monkeypatch.setattr(model, "run_rows", noted)
    # That one component is said to differ, though it does not, makes it compute.
    found = fast.decode(reference, ["d:ff:2"])
    assert passes == [range(5, 6)] * len(reference.draft.chunks)
    assert_same(found, reference.decoded)
    assert found.held.all()
    assert fast.decode(reference, []).held.all()
    assert len(passes) == len(reference.draft.chunks)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_start_tells_what_holds(beam: int) -> None:
    model, batches, settings = build(), sources(40, 40, 6, 20), DecodingSettings(beam, 0.6, 5)
    fast = VerifiedDecoder(model, batches, settings)
    reference = fast.reference()
    baseline = reference.decoded.ids()
    for component in model.components():
        with ablated(model, component):
            held, found = fast.start(reference, [component]).held, fast.decode(reference, [component])
        assert torch.equal(held, found.held)
        assert held[3]
        assert all(a == b for a, b, same in zip(found.ids(), baseline, held.tolist(), strict=True) if same)


def test_nothing_below_the_change_is_computed() -> None:
    model, batches, settings = build(), sources(24, 40, 6, 9), DecodingSettings(4, 0.6, 5)
    fast, components = VerifiedDecoder(model, batches, settings), model.components()
    reference, calls = fast.reference(), dict.fromkeys(components, 0)

    def counted(component: str, rows: int) -> None:
        calls[component] += rows

    for component, sublayer in components.items():
        sublayer.norm.register_forward_hook(
            lambda module, args, output, component=component: counted(component, output.numel() // 16)
        )
    with ablated(model, "d:ff:2"):
        found = fast.decode(reference, ["d:ff:2"])
    nodes = int(reference.draft.exists.sum())
    # Below the change only prefixes are computed that the draft does not have.
    assert calls["e:sa:1"] == calls["e:ff:2"] == 0
    assert 0 < calls["d:sa:1"] == calls["d:ea:2"] < nodes
    assert found.held.any()
    with ablated(model, "e:ff:2"):
        fast.decode(reference, ["e:ff:2"])
    assert calls["e:sa:1"] == calls["e:sa:2"] == 0


def test_leaves_the_model_as_it_is() -> None:
    model, batches = build(), sources(24, 40, 6, 9)
    model.train()
    before, modes = weights_digest(model), [module.training for module in model.modules()]
    fast = VerifiedDecoder(model, batches, DecodingSettings(2, 0.6, 5))
    reference = fast.reference()
    with ablated(model, "d:sa:1"):
        fast.decode(reference, ["d:sa:1"])
        fast.start(reference, ["d:sa:1"]).finish(torch.arange(24))
    assert weights_digest(model) == before
    assert [module.training for module in model.modules()] == modes


def test_within_autocast() -> None:
    model, batches = build(dtype=torch.float32), sources(24, 40, 6, 9)
    fast = VerifiedDecoder(model, batches, DecodingSettings(2, 0.6, 5))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reference = fast.reference()
        found = fast.decode(reference, ["d:sa:1"])
    assert_same(found, fast.reference().decoded)


@pytest.fixture(scope="module")
def trained() -> Transformer:
    """A model that has learnt, in seconds, to reverse its source, doubling each piece below 8."""
    torch.manual_seed(5)
    model = Transformer(TransformerConfig(20, 20, 2, 2, 32, 64, 4, norm="pre", dropout=0.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(6)
    for _ in range(250):
        inputs, outputs = list[Tensor](), list[Tensor]()
        for length in torch.randint(1, 7, (48,), generator=generator).tolist():
            pieces = torch.randint(4, 20, (length,), generator=generator).tolist()
            doubled = [piece for piece in reversed(pieces) for _ in range(2 if piece < 8 else 1)]
            inputs.append(torch.tensor([*pieces, EOS]))
            outputs.append(torch.tensor([BOS, *doubled, EOS]))
        source, target = (nn.utils.rnn.pad_sequence(side, batch_first=True) for side in (inputs, outputs))
        logits = model(source, target[:, :-1]).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.mark.parametrize("beam", [1, 4])
def test_a_trained_model(trained: Transformer, beam: int) -> None:
    model, batches = copy.deepcopy(trained).double(), sources(120, 20, 8, 64)
    held = check_all(model, batches, DecodingSettings(beam, 0.6, 10))
    # A beam over so few pieces is hardly ever the same to its end.
    assert (0.1 if beam == 1 else 0.0) < sum(held.values()) / len(held) < 0.9


@pytest.mark.parametrize("beam", [1, 4])
def test_float32_differs_in_near_ties_alone(trained: Transformer, beam: int) -> None:
    for model in (build(dtype=torch.float32), trained):
        batches, settings = sources(200, 20, 8, 100), DecodingSettings(beam, 0.6, 4)
        plain, fast = PlainDecoder(model, batches, settings), VerifiedDecoder(model, batches, settings)
        reference, differing = fast.reference(), 0
        for component in model.components():
            with ablated(model, component):
                pairs = zip(fast.decode(reference, [component]).ids(), plain.decode().ids(), strict=True)
                differing += sum(a != b for a, b in pairs)
        assert differing <= 2


@pytest.mark.parametrize("batches", [[], [torch.tensor([[EOS, 0], [EOS, 0]])], [torch.zeros(0, 0, dtype=torch.int64)]])
def test_nothing_to_decode(batches: list[Tensor]) -> None:
    fast = VerifiedDecoder(build(), batches, DecodingSettings(2, 0.6, 5))
    found = fast.decode(fast.reference(), ["d:sa:1"])
    assert found.ids() == [[] for batch in batches for _ in batch]
    assert found.held.all()
    assert not found.non_terminated.any()
