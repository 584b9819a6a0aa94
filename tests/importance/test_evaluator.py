from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import sacrebleu
import torch
from torch import Tensor, nn

from lit_transformer.bleu import CorpusBLEU
from lit_transformer.components import component_ids
from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import DecodingSettings, translate
from lit_transformer.errors import UserError
from lit_transformer.importance.evaluator import Evaluation, Evaluator
from lit_transformer.importance.scores import contribution_scores
from lit_transformer.model import Transformer, TransformerConfig, weights_digest
from lit_transformer.surgery import ablated

WORDS = [f"w{piece}" for piece in range(24)]
SETTINGS = DecodingSettings(beam=1, max_extra_pieces=2)
Pairs = list[tuple[list[int], list[int]]]


def spell(ids: Sequence[int]) -> str:
    return " ".join(WORDS[piece] for piece in ids if piece > 3)


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(24, 24, 2, 2, 16, 24, 2, norm="pre", tie_embeddings="none")).eval()
    nn.init.normal_(model.output.weight, std=0.5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases start at 0, where they would hide a mistake
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


@pytest.fixture
def batches(model: Transformer) -> list[Batch]:
    """Sentences whose references are what the whole model says, with every fifth word changed: BLEU is not 100."""
    random = np.random.default_rng(1)
    sources = [random.integers(4, 24, random.integers(2, 9)).tolist() for _ in range(16)]
    made = []
    for first in range(0, 16, 6):
        rows = np.arange(first, min(first + 6, 16))
        batch = collate(rows, [(sources[row], [4]) for row in rows])
        texts, _ = translate(model, batch, SETTINGS, spell)
        changed = [" ".join("x" if n % 5 == 4 else word for n, word in enumerate(t.split())) for t in texts]
        made.append(collate(rows, [(sources[row], [4]) for row in rows], [("s", text) for text in changed]))
    return made


def evaluator(
    model: Transformer, batches: list[Batch], total: Callable[[Tensor], Tensor] = lambda sums: sums
) -> Evaluator:
    return Evaluator(model, batches, spell, SETTINGS, CorpusBLEU(), total)


def hypotheses(model: Transformer, batches: list[Batch]) -> list[str]:
    return [text for batch in batches for text in translate(model, batch, SETTINGS, spell)[0]]


def without_time(evaluation: Evaluation) -> tuple[object, ...]:
    return (
        evaluation.bleu,
        evaluation.brevity_penalty,
        evaluation.length_ratio,
        evaluation.non_terminated,
        evaluation.sentences,
    )


def test_the_score_is_sacrebleus_on_the_texts_of_the_ablated_model(model: Transformer, batches: list[Batch]) -> None:
    references = [reference for batch in batches for reference in batch.references]
    for components in ([], ["e:sa:1"], ["d:ea:2", "d:ff:1"]):
        found = evaluator(model, batches).evaluate(components)
        with ablated(model, components):
            expected = sacrebleu.corpus_bleu(hypotheses(model, batches), [references], force=True)
        assert found.bleu == pytest.approx(expected.score, abs=1e-9)
        assert found.brevity_penalty == pytest.approx(expected.bp)
        assert found.length_ratio == pytest.approx(expected.sys_len / expected.ref_len)
        assert found.sentences == 16
        assert found.seconds > 0
        assert sorted(found.ablated) == sorted(components)


def test_contribution_by_hand(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches)
    baseline = scorer.evaluate().bleu
    assert 50 < baseline < 95
    ablations = {component: scorer.evaluate([component]).bleu for component in scorer.components}
    found = contribution_scores(baseline, ablations)
    capped = {c: min(max(baseline - bleu, 0.0), baseline / 10) for c, bleu in ablations.items()}
    assert max(capped.values()) > 0
    for component, result in found.items():
        assert result.drop == baseline - ablations[component]
        assert result.contribution == pytest.approx(capped[component] / max(capped.values()))


def silence(model: Transformer, component: str) -> None:
    """Make the last projection of a component zero, bias included: a component that does nothing."""
    sublayer = model.components()[component]
    linears = [module for module in sublayer.function.modules() if isinstance(module, nn.Linear)]
    with torch.no_grad():
        for tensor in linears[-1].parameters():
            tensor.zero_()
        x = torch.randn(2, 3, 16)
        if component.split(":")[1] == "ff":
            assert torch.equal(sublayer(x), x)


@pytest.mark.parametrize("planted", component_ids(2, 2))
def test_planted_control(model: Transformer, batches: list[Batch], planted: str) -> None:
    silence(model, planted)
    scorer = evaluator(model, batches)
    whole = hypotheses(model, batches)
    with ablated(model, planted):
        assert hypotheses(model, batches) == whole
    baseline, without = scorer.evaluate(), scorer.evaluate([planted])
    assert without_time(without) == without_time(baseline)
    other = next(component for component in scorer.components if component != planted)
    results = contribution_scores(baseline.bleu, {planted: without.bleu, other: scorer.evaluate([other]).bleu})
    assert (results[planted].drop, results[planted].contribution) == (0.0, 0.0)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_model_is_left_as_it_is(model: Transformer, batches: list[Batch], error: type[BaseException]) -> None:
    digest, before = weights_digest(model), hypotheses(model, batches)
    evaluator(model, batches).evaluate(["d:sa:1"])
    assert weights_digest(model) == digest
    calls = []

    def fail(ids: Sequence[int]) -> str:
        calls.append(ids)
        if len(calls) == 8:  # in the second batch
            raise error
        return spell(ids)

    with pytest.raises(error):
        Evaluator(model, batches, fail, SETTINGS, CorpusBLEU(), lambda sums: sums).evaluate(["d:*"])
    assert weights_digest(model) == digest
    assert not any(sublayer.ablated for sublayer in model.components().values())
    assert hypotheses(model, batches) == before


def test_the_mode_of_a_model_in_training_stays(model: Transformer, batches: list[Batch]) -> None:
    expected = evaluator(model, batches).evaluate()
    model.train()
    assert without_time(evaluator(model, batches).evaluate()) == without_time(expected)
    assert all(module.training for module in model.modules())


def test_neither_the_order_of_evaluations_nor_of_batches_counts(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches)
    first = {component: without_time(scorer.evaluate([component])) for component in scorer.components}
    again = evaluator(model, batches[::-1])
    assert {c: without_time(again.evaluate([c])) for c in reversed(scorer.components)} == first
    assert len(set(first.values())) > 5


def test_all_processes_are_added_up(model: Transformer, batches: list[Batch]) -> None:
    shares: list[Tensor] = []

    def note(sums: Tensor) -> Tensor:
        shares.append(sums.clone())
        return sum(shares)  # type: ignore[return-value]

    expected = evaluator(model, batches).evaluate(["e:ff:1"])
    evaluator(model, batches[:1], note).evaluate(["e:ff:1"])
    both = evaluator(model, batches[1:], note).evaluate(["e:ff:1"])
    assert without_time(both) == without_time(expected)


def test_another_precision_leaves_the_model_alone(model: Transformer, batches: list[Batch]) -> None:
    digest = weights_digest(model)
    settings = DecodingSettings(beam=1, max_extra_pieces=2, precision="float64")
    scorer = Evaluator(model, batches, spell, settings, CorpusBLEU(), lambda sums: sums)
    assert scorer.components == component_ids(2, 2)
    assert scorer.evaluate(["e:sa"]).ablated == ("e:sa:1", "e:sa:2")
    assert weights_digest(model) == digest
    assert next(model.parameters()).dtype == torch.float32


def test_an_unknown_component(model: Transformer, batches: list[Batch]) -> None:
    with pytest.raises(UserError, match="'d:sa:9' matches nothing"):
        evaluator(model, batches).evaluate(["d:sa:9"])


def test_the_signature_is_kept(model: Transformer, batches: list[Batch]) -> None:
    assert evaluator(model, batches).signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_a_share_without_batches(model: Transformer) -> None:
    found = evaluator(model, []).evaluate()
    assert (found.bleu, found.sentences) == (0.0, 0)
