"""Questions, whose evaluation may stop as soon as they are answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import translate
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.question import Question
from lit_transformer.importance.variant import ablation
from lit_transformer.model import Transformer
from tests.importance.toy import SETTINGS, evaluator, same, spell


@pytest.fixture
def many(model: Transformer) -> list[Batch]:
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


def test_a_clear_answer_needs_only_some_sentences(model: Transformer, many: list[Batch]) -> None:
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


def test_one_that_is_not_settled_is_decoded_to_the_end(model: Transformer, many: list[Batch]) -> None:
    scorer = evaluator(model, many)
    exact = evaluator(model, many).evaluate(ablation("d:ea:1"))
    drop = exact.drop_from(scorer.evaluate())
    found = scorer.evaluate(Question(ablation("d:ea:1"), threshold=drop + 0.01, z=3.0))
    assert not found.early
    # It is as good as one that was asked for by itself, and serves as such.
    assert same(found, exact)
    assert scorer.known(ablation("d:ea:1"))


def test_what_is_known_exactly_answers_every_question(model: Transformer, many: list[Batch]) -> None:
    scorer = evaluator(model, many)
    exact = scorer.evaluate(ablation("d:ea:1"))
    assert scorer.evaluate(Question(ablation("d:ea:1"), threshold=1.0, z=3.0)) is exact


def test_against_a_rival(model: Transformer, many: list[Batch]) -> None:
    scorer = evaluator(model, many)
    found = {component: evaluator(model, many).evaluate(ablation(component)).bleu for component in scorer.components}
    order = sorted(found, key=found.__getitem__, reverse=True)
    rival = ablation(order[0])
    races = [Question(ablation(name), 0.0, z=1.0, stop_on=("above",), against=rival) for name in order[1:]]
    early = [answer for answer in map(scorer.evaluate, races) if answer.early]
    assert early
    for answer in early:
        assert answer.decision is not None
        assert answer.decision["answer"] == "above"
        assert answer.bleu < found[order[0]]


def test_few_changes_are_decoded_at_once(model: Transformer, batches: list[Batch]) -> None:
    found = evaluator(model, batches).evaluate(Question(ablation("d:ea:1"), threshold=1.0, z=3.0))
    assert found.decision is None
    assert same(found, evaluator(model, batches).evaluate(ablation("d:ea:1")))


def test_written_and_read(model: Transformer, many: list[Batch], tmp_path: Path) -> None:
    question = Question(ablation("d:ea:1"), threshold=1.0, z=3.0)
    first = evaluator(model, many, journal=Journal(tmp_path)).evaluate(question)
    again = evaluator(model, many, journal=Journal(tmp_path))
    assert again.known(question)
    assert again.evaluate(question).line() == first.line()
