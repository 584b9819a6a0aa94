from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sacrebleu
import torch
from torch import nn

from lit_transformer.components import component_ids
from lit_transformer.data.batch import Batch
from lit_transformer.errors import UserError
from lit_transformer.importance.chains import Chain, Steps, single
from lit_transformer.importance.dealing import Dealer
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scores import contribution_scores
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.model import Transformer, weights_digest
from lit_transformer.model.surgery import ablated
from tests.importance.toy import INITIAL, SETTINGS, evaluator, hypotheses, ids_of, same, spell

VARIANTS = [
    Variant(),
    ablation("e:sa:1"),
    ablation("d:ea:2", "d:ff:1"),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_score_is_sacrebleus_on_the_texts_of_the_ablated_model(
    model: Transformer, batches: list[Batch], variant: Variant
) -> None:
    references = [reference for batch in batches for reference in batch.references]
    found = evaluator(model, batches).evaluate(variant)
    with ablated(model, list(variant.ablated)):
        texts = hypotheses(model, batches)
    expected = sacrebleu.corpus_bleu(texts, [references], force=True)
    assert found.bleu == pytest.approx(expected.score, abs=1e-9)
    assert found.measures["brevity_penalty"] == pytest.approx(expected.bp)
    assert found.measures["length_ratio"] == pytest.approx(expected.sys_len / expected.ref_len)
    assert [spell(ids) for ids in ids_of(found)] == texts
    assert found.sentences == 16
    assert found.variant == variant


def test_contribution_by_hand(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches)
    baseline = scorer.evaluate().bleu
    assert 50 < baseline < 95
    ablations = {component: scorer.evaluate(ablation(component)).bleu for component in scorer.components}
    found = contribution_scores(baseline, ablations)
    capped = {c: min(max(baseline - bleu, 0.0), baseline / 10) for c, bleu in ablations.items()}
    assert max(capped.values()) > 0
    for component, result in found.items():
        assert result.drop == baseline - ablations[component]
        assert result.contribution == pytest.approx(capped[component] / max(capped.values()))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_an_interpolated_component(model: Transformer, batches: list[Batch], alpha: float) -> None:
    found = evaluator(model, batches).evaluate(Variant(interpolated="d:ff:1", alpha=alpha))
    with torch.no_grad():
        for tensor in model.components()["d:ff:1"].function.parameters():
            tensor.copy_((1 - alpha) * INITIAL + alpha * tensor)
    assert [spell(ids) for ids in ids_of(found)] == hypotheses(model, batches)


def test_a_fresh_draw_and_mean_ablation(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches)
    drawn = [scorer.evaluate(Variant(interpolated="d:ff:1", alpha=0.0, draw=draw)) for draw in (0, 1)]
    mean = scorer.evaluate(ablation("d:ff:1", value="mean"))
    zero = scorer.evaluate(ablation("d:ff:1"))
    # All weights and biases 0, as the draw number 0 of these tests has them, is zero ablation.
    assert torch.equal(drawn[0].pieces, zero.pieces)
    assert not same(drawn[1], zero)
    assert not same(mean, zero)


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
    """A component that does nothing: no contribution, with identical hypotheses."""
    silence(model, planted)
    scorer = evaluator(model, batches)
    whole = hypotheses(model, batches)
    with ablated(model, planted):
        assert hypotheses(model, batches) == whole
    baseline, without = scorer.evaluate(), scorer.evaluate(ablation(planted))
    assert same(without, baseline)
    other = next(component for component in scorer.components if component != planted)
    found = {planted: without.bleu, other: scorer.evaluate(ablation(other)).bleu}
    results = contribution_scores(baseline.bleu, found)
    assert (results[planted].drop, results[planted].contribution) == (0.0, 0.0)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_model_is_left_as_it_is(model: Transformer, batches: list[Batch], error: type[BaseException]) -> None:
    digest, before = weights_digest(model), hypotheses(model, batches)
    for variant in (ablation("d:sa:1"), Variant(interpolated="d:ff:1", alpha=0.5)):
        evaluator(model, batches).evaluate(variant)
        assert weights_digest(model) == digest
        scorer = evaluator(model, batches)
        scorer.evaluate(ablation("d:sa:2"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Transformer, "logits", lambda *_: (_ for _ in ()).throw(error))
            with pytest.raises(error):
                scorer.evaluate(variant)
        assert weights_digest(model) == digest
        assert not any(sublayer.ablated for sublayer in model.components().values())
        assert hypotheses(model, batches) == before


def test_the_mode_of_a_model_in_training_stays(model: Transformer, batches: list[Batch]) -> None:
    expected = evaluator(model, batches).evaluate(ablation("d:sa:1"))
    model.train()
    assert same(evaluator(model, batches).evaluate(ablation("d:sa:1")), expected)
    assert all(module.training for module in model.modules())


def test_neither_the_order_of_evaluations_nor_of_batches_counts(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches)
    first = {component: scorer.evaluate(ablation(component)) for component in scorer.components}
    again = evaluator(model, batches[::-1])
    for component in reversed(scorer.components):
        assert same(again.evaluate(ablation(component)), first[component])
    assert len({evaluation.bleu for evaluation in first.values()}) > 5


def test_another_precision_leaves_the_model_alone(model: Transformer, batches: list[Batch]) -> None:
    digest = weights_digest(model)
    settings = dataclasses.replace(SETTINGS, precision="float64")
    scorer = evaluator(model, batches, decoding=settings)
    assert scorer.components == component_ids(2, 2)
    scorer.evaluate(ablation("e:sa:1"))
    assert weights_digest(model) == digest
    assert next(model.parameters()).dtype == torch.float32


def test_an_unknown_component(model: Transformer, batches: list[Batch]) -> None:
    with pytest.raises(UserError, match="'d:sa:9' matches nothing"):
        evaluator(model, batches).evaluate(ablation("d:sa:9"))


class TestJournal:
    def test_nothing_is_evaluated_twice(
        self, model: Transformer, batches: list[Batch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = evaluator(model, batches, journal=Journal(tmp_path)).evaluate(ablation("d:sa:1"))
        again = evaluator(model, batches, journal=Journal(tmp_path))
        monkeypatch.setattr(VariantDecoder, "decode", lambda *_: pytest.fail("it is known"))
        assert again.known(ablation("d:sa:1"))
        assert same(again.evaluate(ablation("d:sa:1")), first)

    @pytest.mark.parametrize("identity", [{"weights": "b"}, {"set": "b"}, {"decoding": {"beam": 2}}])
    def test_what_does_not_fit_is_never_mixed_in(
        self, model: Transformer, batches: list[Batch], tmp_path: Path, identity: Mapping[str, Any]
    ) -> None:
        usual: dict[str, Any] = {"weights": "a", "set": "a", "decoding": {"beam": 1}, "initial_weights": "a"}
        evaluator(model, batches, journal=Journal(tmp_path), identity=usual).evaluate()
        assert evaluator(model, batches, journal=Journal(tmp_path), identity=usual).known(Variant())
        other = evaluator(model, batches, journal=Journal(tmp_path), identity={**usual, **identity})
        assert not other.known(Variant())

    def test_initial_weights_count_where_they_are_used(self, model: Transformer, batches: list[Batch]) -> None:
        scorers = [evaluator(model, batches, identity={"initial_weights": digest}) for digest in "ab"]
        moved = Variant(interpolated="d:ff:1", alpha=0.5)
        assert scorers[0].key(moved) != scorers[1].key(moved)
        assert scorers[0].key(ablation("d:ff:1")) == scorers[1].key(ablation("d:ff:1"))


def scan(component: str) -> Steps:
    """A chain that goes on as long as BLEU rises, and returns how far it went."""
    best = -1.0
    for alpha in (0.0, 0.2, 0.4, 0.6, 0.8):
        evaluation = yield Variant(interpolated=component, alpha=alpha)
        if evaluation.bleu < best:
            return alpha
        best = evaluation.bleu
    return 1.0


class Killed(BaseException):
    """Stands for a process that is killed."""


class TestChains:
    def test_results_in_the_order_of_the_chains(self, model: Transformer, batches: list[Batch]) -> None:
        scorer = evaluator(model, batches)
        told: list[tuple[str, float | None]] = []
        chains: list[Chain] = [partial(scan, "d:ff:1"), single(Variant()), partial(scan, "e:ff:1")]
        with scorer.observed(lambda *news: told.append(news)):
            found = scorer.run(chains)
        assert found[1].bleu == scorer.evaluate().bleu
        assert {type(found[0]), type(found[2])} == {float}
        assert told[0][0] == "d:ff:1 at 0"
        assert ("baseline", scorer.evaluate().bleu) in told
        scorer.run(chains)
        assert len(told) == len({name for name, _ in told})

    def test_side_by_side_they_find_what_they_find_alone(self, model: Transformer, batches: list[Batch]) -> None:
        asked = [Variant(), ablation("d:sa:1"), ablation("d:ff:1", value="mean"), ablation("d:ff:2", value="mean")]
        chains: list[Chain] = [*map(single, asked), partial(scan, "d:ff:1"), partial(scan, "e:ff:1")]
        alone, together = (evaluator(model, batches, side_by_side=size) for size in (1, 5))
        expected = alone.run(chains)
        sizes = []
        several = VariantDecoder.side_by_side

        def counted(self: VariantDecoder, variants: Sequence[Variant]) -> Any:
            sizes.append(len(variants))
            assert Variant() not in variants
            return several(self, variants)

        with mock.patch.object(VariantDecoder, "side_by_side", counted):
            found = together.run(chains)
        assert found[4:] == expected[4:]
        assert all(same(*pair) for pair in zip(found[:4], expected[:4], strict=True))
        assert [one.key for one in found[:4]] == [one.key for one in expected[:4]]
        # The first five chains begin with the baseline, two variants of each value; then one goes on alone.
        assert sizes == [2, 2]

    def test_every_process_has_a_part(self, model: Transformer, batches: list[Batch]) -> None:
        dealt: list[int] = []

        class OneOfThree(Dealer):
            size = 3

            def deal(self, count: int, work: Any, news: Any) -> None:
                dealt.append(count)
                super().deal(count, work, news)

        chains: list[Chain] = [single(ablation(component)) for component in component_ids(2, 2)]
        evaluator(model, batches, side_by_side=64, dealer=OneOfThree()).run(chains)
        evaluator(model, batches, side_by_side=1, dealer=OneOfThree()).run(chains)
        assert dealt == [3, len(chains)]

    def test_no_memory_for_so_many(self, model: Transformer, batches: list[Batch]) -> None:
        scorer = evaluator(model, batches, side_by_side=2)
        with (
            mock.patch.object(VariantDecoder, "side_by_side", side_effect=torch.OutOfMemoryError),
            pytest.raises(UserError, match="2 variants in one batch; give a smaller number by --side_by_side"),
        ):
            scorer.run([single(ablation("d:sa:1")), single(ablation("d:sa:2"))])

    @pytest.mark.parametrize("options", [{}, {"side_by_side": 3}], ids=["one by one", "side by side"])
    def test_killed_after_each_evaluation_and_resumed(
        self, model: Transformer, batches: list[Batch], tmp_path: Path, options: dict[str, Any]
    ) -> None:
        chains: list[Chain] = [single(Variant()), partial(scan, "d:ff:1"), single(ablation("d:sa:1", "d:sa:2"))]
        whole = evaluator(model, batches, journal=Journal(tmp_path / "whole"), **options)
        expected = whole.run(chains)
        lines = (tmp_path / "whole/evaluations.jsonl").read_text().splitlines()
        for survived in range(len(lines)):
            folder = tmp_path / str(survived)

            class Mortal(Journal):
                left = survived

                def add(self, evaluation: Evaluation) -> None:
                    if self.left == 0:
                        raise Killed
                    self.left -= 1
                    super().add(evaluation)

            with pytest.raises(Killed):
                evaluator(model, batches, journal=Mortal(folder), **options).run(chains)
            resumed = evaluator(model, batches, journal=Journal(folder), **options).run(chains)
            assert resumed[1] == expected[1]
            assert same(resumed[2], expected[2])
            files = [{p.name: p.read_bytes() for p in f.glob("evaluations/*")} for f in (tmp_path / "whole", folder)]
            assert files[0] == files[1]
            assert len(files[0]) == len(lines)

    def test_chains_are_followed_once(self, model: Transformer, batches: list[Batch]) -> None:
        begun: list[str] = []

        def counted(component: str) -> Steps:
            begun.append(component)
            return (yield from scan(component))

        evaluator(model, batches).run([partial(counted, "d:ff:1"), partial(counted, "e:ff:1")])
        assert begun == ["d:ff:1", "e:ff:1"]

    def test_hypotheses_become_text_once_where_nothing_is_recorded(
        self, model: Transformer, batches: list[Batch]
    ) -> None:
        spelt: list[int] = []

        def counted(ids: Sequence[int]) -> str:
            spelt.append(len(ids))
            return spell(ids)

        found = evaluator(model, batches, detokenize=counted).evaluate(ablation("d:sa:1"))
        assert len(spelt) == sum(bool(ids) for ids in ids_of(found))

    def test_what_another_process_made_is_adopted(self, model: Transformer, batches: list[Batch]) -> None:
        other = evaluator(model, batches).evaluate(ablation("d:sa:1"))

        class Idle(Dealer):
            def deal(self, *_: Any) -> None: ...

            def gather(self, mine: list[Any]) -> list[Any]:
                return [*mine, other]

        scorer = evaluator(model, batches, dealer=Idle())
        assert scorer.run([single(ablation("d:sa:1"))]) == [other]

    def test_work_that_is_no_evaluation(self, model: Transformer, batches: list[Batch]) -> None:
        work = [lambda number=number: number**2 for number in range(3)]
        assert evaluator(model, batches).share(work, ["a", "b", "c"]) == [0, 1, 4]


def test_exact_matches_by_phenomenon(model: Transformer, batches: list[Batch]) -> None:
    scorer = evaluator(model, batches, recorder=Recorder(exact=True))
    texts = hypotheses(model, batches)
    references = [reference for batch in batches for reference in batch.references]
    right = [text == reference for text, reference in zip(texts, references, strict=True)]
    assert 0 < sum(right) < 16
    phenomena = [("odd", "all") if place % 2 else ("all",) for place in range(16)]
    object.__setattr__(scorer.scoring_set, "phenomena", phenomena)
    found = scorer.exact_matches(scorer.evaluate())
    assert found == {"all": sum(right) / 16, "odd": sum(right[1::2]) / 8}


@pytest.mark.parametrize(("chains", "processes", "sampled"), [(3, 1, 3), (3, 2, 2), (50, 1, 8), (0, 1, 1)])
def test_what_is_expected_is_of_as_many_as_there_will_be(
    model: Transformer, batches: list[Batch], chains: int, processes: int, sampled: int
) -> None:
    class One(Dealer):
        size = processes

    scorer = evaluator(model, batches, side_by_side=8, dealer=One())
    with mock.patch.object(VariantDecoder, "expected_seconds", return_value=1.5) as expected:
        assert scorer.expected_seconds(chains) == 1.5
    expected.assert_called_once_with(sampled)
