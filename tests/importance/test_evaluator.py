from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
from torch import nn

from lit_transformer.bleu import CorpusBLEU
from lit_transformer.components import component_ids
from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import DecodingSettings, translate
from lit_transformer.errors import UserError
from lit_transformer.importance.dealing import Dealer
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Chain, Evaluator, Steps
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.question import Question
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scores import contribution_scores
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import Replacements, VariantDecoder
from lit_transformer.model import Transformer, TransformerConfig, weights_digest
from lit_transformer.surgery import ablated, component_parameters

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


INITIAL = 0.5
"""Every initial weight of the tests."""


def replacements(model: Transformer) -> Replacements:
    return Replacements(
        initial=lambda: {name: torch.full_like(tensor, INITIAL) for name, tensor in model.state_dict().items()},
        # Not the same number everywhere, which the norms of the model would take away again.
        means=lambda: {component: torch.linspace(-1, 1, 16) for component in model.components()},
        drawn=lambda component, draw: {
            name: draw * torch.linspace(-1, 1, tensor.numel()).view_as(tensor)
            for name, tensor in component_parameters(model, component).items()
        },
    )


def evaluator(model: Transformer, batches: list[Batch], **options: Any) -> Evaluator:
    scoring_set = ScoringSet(batches, "digest")
    settings = options.pop("decoding", SETTINGS)
    detokenize = options.pop("detokenize", spell)
    decoder = VariantDecoder(model, scoring_set, detokenize, settings, CorpusBLEU(), replacements(model))
    return Evaluator(decoder, scoring_set, **options)


def hypotheses(model: Transformer, batches: list[Batch]) -> list[str]:
    return [text for batch in batches for text in translate(model, batch, SETTINGS, spell)[0]]


def ids_of(evaluation: Evaluation) -> list[list[int]]:
    return [part.tolist() for part in evaluation.pieces.split(evaluation.lengths.tolist())]


def same(first: Evaluation, second: Evaluation) -> bool:
    tensors = second.tensors()
    return all(torch.equal(tensor, tensors[name]) for name, tensor in first.tensors().items())


VARIANTS = [
    Variant(),
    ablation("e:sa:1"),
    ablation("d:ea:2", "d:ff:1"),
    ablation("d:ea:2", "d:ff:1", draft=["d:ff:1"]),
    ablation("d:ff:2", plain=True),
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_score_is_sacrebleus_on_the_texts_of_the_ablated_model(
    model: Transformer, batches: list[Batch], variant: Variant, plain: bool
) -> None:
    references = [reference for batch in batches for reference in batch.references]
    found = evaluator(model, batches, plain=plain).evaluate(variant)
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
    assert without.held == 16
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
        monkeypatch.setattr(VariantDecoder, "verified", lambda *_: pytest.fail("it is known"))
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

    def test_by_itself_a_variant_has_no_draft(self, model: Transformer, batches: list[Batch]) -> None:
        scorer = evaluator(model, batches)
        drafted = ablation("d:ff:1", "d:ff:2", draft=["d:ff:1"])
        assert scorer.key(drafted) != scorer.key(ablation("d:ff:1", "d:ff:2"))
        plain = evaluator(model, batches, plain=True)
        assert plain.key(drafted) == plain.key(ablation("d:ff:1", "d:ff:2"))
        assert plain.key(drafted) == scorer.key(ablation("d:ff:1", "d:ff:2", plain=True))

    def test_without_a_record_that_is_wanted_it_is_made_again(self, model: Transformer, batches: list[Batch]) -> None:
        journal = Journal()
        evaluator(model, batches, journal=journal).evaluate()
        recording = evaluator(model, batches, journal=journal, recorder=Recorder(["loss"]))
        assert not recording.known(Variant())
        assert recording.evaluate().measures["loss"] > 0
        assert recording.known(Variant())


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
        chains = [Chain(lambda: scan("d:ff:1")), Chain.of(Variant()), Chain(lambda: scan("e:ff:1"))]
        with scorer.observed(lambda *news: told.append(news)):
            found = scorer.run(chains)
        assert found[1].bleu == scorer.evaluate().bleu
        assert {type(found[0]), type(found[2])} == {float}
        assert told[0][0] == "d:ff:1 at 0"
        assert ("baseline", scorer.evaluate().bleu) in told
        scorer.run(chains)
        assert len(told) == len({name for name, _ in told})

    def test_killed_after_each_evaluation_and_resumed(
        self, model: Transformer, batches: list[Batch], tmp_path: Path
    ) -> None:
        chains = [Chain.of(Variant()), Chain(lambda: scan("d:ff:1")), Chain.of(ablation("d:sa:1", "d:sa:2"))]
        whole = evaluator(model, batches, journal=Journal(tmp_path / "whole"))
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
                evaluator(model, batches, journal=Mortal(folder)).run(chains)
            resumed = evaluator(model, batches, journal=Journal(folder)).run(chains)
            assert resumed[1] == expected[1]
            assert same(resumed[2], expected[2])
            files = [{p.name: p.read_bytes() for p in f.glob("evaluations/*")} for f in (tmp_path / "whole", folder)]
            assert files[0] == files[1]
            assert len(files[0]) == len(lines)

    def test_what_another_process_made_is_adopted(self, model: Transformer, batches: list[Batch]) -> None:
        other = evaluator(model, batches).evaluate(ablation("d:sa:1"))

        class Idle(Dealer):
            def deal(self, *_: Any) -> None: ...

            def gather(self, mine: list[Any]) -> list[Any]:
                return [*mine, other]

        scorer = evaluator(model, batches, dealer=Idle())
        assert scorer.run([Chain.of(ablation("d:sa:1"))]) == [other]

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


class TestQuestions:
    @pytest.fixture
    def many(self, model: Transformer) -> list[Batch]:
        """400 sentences whose references are what the model says, so that every drop is large."""
        random = np.random.default_rng(2)
        sources = [random.integers(4, 24, random.integers(2, 9)).tolist() for _ in range(400)]
        made = []
        for first in range(0, 400, 50):
            rows = np.arange(first, first + 50)
            batch = collate(rows, [(sources[row], [4]) for row in rows])
            texts, _ = translate(model, batch, SETTINGS, spell)
            made.append(collate(rows, [(sources[row], [4]) for row in rows], [("s", text) for text in texts]))
        return made

    def test_a_clear_answer_needs_only_some_sentences(self, model: Transformer, many: list[Batch]) -> None:
        scorer = evaluator(model, many)
        exact = evaluator(model, many).evaluate(ablation("d:ea:1"))
        drop = exact.drop_from(scorer.evaluate())
        assert drop > 10
        found = scorer.evaluate(Question(ablation("d:ea:1"), threshold=1.0, z=3.0))
        assert found.decision is not None
        assert (found.early, found.decision["answer"]) == (True, "above")
        assert found.decision["decoded"] < found.decision["changed"]
        assert found.decision["lower"] <= drop <= found.decision["upper"]
        # What stopped early answers its own question only.
        assert not scorer.known(ablation("d:ea:1"))
        assert not scorer.known(Question(ablation("d:ea:1"), threshold=2.0, z=3.0))

    def test_one_that_is_not_settled_is_decoded_to_the_end(self, model: Transformer, many: list[Batch]) -> None:
        scorer = evaluator(model, many)
        exact = evaluator(model, many).evaluate(ablation("d:ea:1"))
        drop = exact.drop_from(scorer.evaluate())
        found = scorer.evaluate(Question(ablation("d:ea:1"), threshold=drop + 0.01, z=3.0))
        assert not found.early
        assert found.bleu == pytest.approx(exact.bleu)
        assert torch.equal(found.statistics, exact.statistics)

    def test_what_is_known_exactly_answers_every_question(self, model: Transformer, many: list[Batch]) -> None:
        scorer = evaluator(model, many)
        exact = scorer.evaluate(ablation("d:ea:1"))
        assert scorer.evaluate(Question(ablation("d:ea:1"), threshold=1.0, z=3.0)) is exact

    def test_against_a_rival(self, model: Transformer, many: list[Batch]) -> None:
        scorer = evaluator(model, many)
        found = {
            component: evaluator(model, many).evaluate(ablation(component)).bleu for component in scorer.components
        }
        order = sorted(found, key=found.__getitem__, reverse=True)
        race = Question(ablation(order[-1]), 0.0, z=3.0, stop_on=("above",), against=ablation(order[0]))
        answer = scorer.evaluate(race)
        assert answer.decision is not None
        assert answer.decision["answer"] == "above"
        assert answer.bleu < found[order[0]]

    def test_few_changes_are_decoded_at_once(self, model: Transformer, batches: list[Batch]) -> None:
        found = evaluator(model, batches).evaluate(Question(ablation("d:ea:1"), threshold=1.0, z=3.0))
        assert found.decision is None
        assert same(found, evaluator(model, batches).evaluate(ablation("d:ea:1")))

    def test_written_and_read(self, model: Transformer, many: list[Batch], tmp_path: Path) -> None:
        question = Question(ablation("d:ea:1"), threshold=1.0, z=3.0)
        first = evaluator(model, many, journal=Journal(tmp_path)).evaluate(question)
        again = evaluator(model, many, journal=Journal(tmp_path))
        assert again.known(question)
        assert again.evaluate(question).line() == first.line()
