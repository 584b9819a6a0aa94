"""Surgery, decoding and the evaluator speak to the protocol: a model of another kind goes through all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import DecodingSettings, decode, translate
from lit_transformer.importance.chains import single
from lit_transformer.importance.contribution import contribution_table
from lit_transformer.importance.criticality import run_search, scan
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import Replacements, VariantDecoder
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import AnalysableModel, weights_digest
from lit_transformer.model.surgery import ablated, component_parameters, interpolated, mean_outputs
from tests.model.second_model import SPECIAL, Recurrent, build

COMPONENTS = ["e:ff:1", "e:ff:2", "d:ea:1", "d:ff:1"]


def settings(beam: int) -> DecodingSettings:
    return DecodingSettings(beam=beam, max_extra_pieces=2, precision="float64")


def spell(ids: Sequence[int]) -> str:
    return " ".join(f"w{token}" for token in ids)


@pytest.fixture
def model() -> Recurrent:
    return build()


@pytest.fixture
def batches(model: Recurrent) -> list[Batch]:
    """Sentences whose references are the model's translations with every fourth word changed."""
    random = np.random.default_rng(2)
    words = [token for token in range(1, 23) if token != SPECIAL.unk]
    sources = [random.choice(words, random.integers(2, 8)).tolist() for _ in range(14)]
    made = []
    for rows in (
        itertools.batched(range(14), 5) if hasattr(itertools, "batched") else (range(0, 5), range(5, 10), range(10, 14))
    ):
        pairs = [(sources[row], words[row : row + 3]) for row in rows]
        hypotheses, _ = translate(model, collate(np.array(rows), pairs, special_ids=SPECIAL), settings(1), spell)
        texts = [" ".join("x" if n % 4 == 3 else word for n, word in enumerate(h.split())) for h in hypotheses]
        made.append(collate(np.array(rows), pairs, [("s", text) for text in texts], SPECIAL))
    return made


def evaluator(model: AnalysableModel, batches: list[Batch], beam: int = 1, side_by_side: int = 1) -> Evaluator:
    replacements = Replacements(
        initial=lambda: {name: torch.full_like(tensor, 0.3) for name, tensor in model.named_parameters()},
        means=lambda: mean_outputs(model, batches),
        drawn=lambda component, draw: {
            name: tensor * draw for name, tensor in component_parameters(model, component).items()
        },
    )
    decoder = VariantDecoder(model, ScoringSet(batches, "set"), spell, settings(beam), CorpusBLEU(), replacements)
    recorder = Recorder(["loss"])
    return Evaluator(decoder, ScoringSet(batches, "set"), recorder=recorder, side_by_side=side_by_side)


def exhaustive(model: Recurrent, source: Tensor, limit: int) -> tuple[list[int], float]:
    """The most probable of all hypotheses of a sentence, every one of which is scored by itself."""
    tokens = [token for token in range(24) if token not in (SPECIAL.pad, SPECIAL.unk, SPECIAL.eos)]
    found: dict[tuple[int, ...], float] = {}
    for length in range(limit + 1):
        for prefix in itertools.product(tokens, repeat=length):
            ids = torch.tensor([[SPECIAL.bos, *prefix]])
            scores = model.logits(model.step(ids, model.start(model.encode(source)))).log_softmax(-1)[0]
            total = sum(float(scores[place, token]) for place, token in enumerate(prefix))
            found[prefix] = total if length == limit else total + float(scores[length, SPECIAL.eos])
    best = max(found, key=lambda prefix: found[prefix])
    return list(best), found[best]


@torch.no_grad()
def test_a_wide_beam_finds_the_best_of_all_hypotheses(model: Recurrent) -> None:
    source = torch.tensor([[5, SPECIAL.eos, SPECIAL.pad]])
    found = decode(
        model, source, DecodingSettings(beam=24, length_penalty=0.0, max_extra_pieces=1, precision="float64")
    )
    ids, score = exhaustive(model, source, limit=2)
    assert found.ids() == [ids]
    assert float(found.scores[0]) == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("beam", [1, 3])
def test_neither_padding_nor_the_batch_changes_a_hypothesis(model: Recurrent, beam: int) -> None:
    end, pad = SPECIAL.eos, SPECIAL.pad
    source = torch.tensor([[4, 5, 6, 7, end], [8, 9, end, pad, pad], [1, end, pad, pad, pad]])
    alone = [decode(model, source[n : n + 1, : 5 - n * 2 + n // 2], settings(beam)).ids()[0] for n in range(3)]
    assert decode(model, source, settings(beam)).ids() == alone


@torch.no_grad()
@pytest.mark.parametrize("component", COMPONENTS)
def test_ablation_and_interpolation_leave_no_trace(model: Recurrent, batches: list[Batch], component: str) -> None:
    source, digest = batches[0].source, weights_digest(model)
    whole = decode(model, source, settings(1)).ids()
    initial = {name: torch.zeros_like(tensor) for name, tensor in component_parameters(model, component).items()}
    with ablated(model, component):
        without = decode(model, source, settings(1)).ids()
    # Zero weights and biases add exactly zero too.
    with interpolated(model, component, initial, alpha=0.0):
        assert decode(model, source, settings(1)).ids() == without
    assert decode(model, source, settings(1)).ids() == whole
    assert weights_digest(model) == digest


@pytest.mark.parametrize("beam", [1, 3])
def test_contribution_criticality_and_group_ablation(model: Recurrent, batches: list[Batch], beam: int) -> None:
    scorer = evaluator(model, batches, beam)
    assert scorer.components == COMPONENTS
    baseline, *ablations = scorer.run([single(Variant()), *(single(ablation(name)) for name in COMPONENTS)])
    rows = contribution_table(baseline, dict(zip(COMPONENTS, ablations, strict=True)), epsilon=0.5, least=2).rows
    drops = {row["component"]: row["drop"] for row in rows}
    assert max(drops.values()) > 5.0
    assert max(row["contribution"] for row in rows) == 1.0
    assert all(row["loss_rise"] != 0.0 for row in rows)
    for name in COMPONENTS:
        found = run_search(
            scan(0.5),
            lambda alpha, name=name: scorer.evaluate(Variant(interpolated=name, alpha=alpha)).drop_from(baseline),  # type: ignore[misc]
        )
        assert found.curve[1.0] == 0.0
        assert found.curve[found.criticality] < 0.5
    order = sorted(drops, key=drops.__getitem__)
    bleu = [scorer.evaluate(ablation(*order[:count])).bleu for count in range(len(order) + 1)]
    assert bleu[1] == scorer.evaluate(ablation(order[0])).bleu
    assert bleu[-1] < bleu[0]
    mean = scorer.evaluate(ablation("d:ff:1", value="mean"))
    assert mean.ids() != scorer.evaluate(ablation("d:ff:1")).ids()


@pytest.mark.parametrize("beam", [1, 3])
def test_side_by_side(model: Recurrent, batches: list[Batch], beam: int) -> None:
    variants = [
        *map(ablation, COMPONENTS),
        *(Variant(interpolated=name, alpha=0.4) for name in COMPONENTS),
        Variant(interpolated="d:ff:1", alpha=0.4, include_norm=False),
    ]
    chains = [single(variant) for variant in variants]
    alone, together = (evaluator(model, batches, beam, side_by_side=size).run(chains) for size in (1, len(chains)))
    assert [found.ids() for found in together] == [found.ids() for found in alone]
    assert len({str(found.ids()) for found in alone}) > 4
