"""What analyses record, one after another in any order, ends the same as what is recorded at once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from sacrebleu.metrics.chrf import CHRF

from lit_transformer.data.batch import Batch
from lit_transformer.importance.chains import single
from lit_transformer.importance.contribution import contribution_table
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.model import Transformer
from tests.importance.toy import evaluator, hypotheses, same

ASKED = [
    Variant(),
    ablation("d:sa:1"),
    ablation("e:ff:1"),
    ablation("d:ff:1", value="mean"),
    Variant(interpolated="d:ff:2", alpha=0.5),
]
SIDE_BY_SIDE = {"side_by_side": 3}
ORDERS: list[tuple[Sequence[str], dict[str, Any]]] = [
    *((order, {}) for order in itertools.permutations(["", "loss", "chrf exact"])),
    (("loss chrf", ""), SIDE_BY_SIDE),
    (("chrf", "loss exact", "loss"), SIDE_BY_SIDE),
]


def recording(words: str, model: Transformer, batches: list[Batch], folder: Path, **options: Any) -> Evaluator:
    """The evaluator of an analysis that records so much, as if it were a process of its own."""
    names = words.split()
    recorder = Recorder([name for name in names if name != "exact"], exact="exact" in names)
    return evaluator(model, batches, journal=Journal(folder), recorder=recorder, **options)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "evaluations").iterdir()}


@pytest.mark.parametrize(("order", "options"), ORDERS, ids=[" then ".join(order) for order, _ in ORDERS])
def test_whatever_the_order_of_analyses(
    model: Transformer, batches: list[Batch], tmp_path: Path, order: Sequence[str], options: dict[str, Any]
) -> None:
    chains = [single(variant) for variant in ASKED]
    expected = recording(_all(order), model, batches, tmp_path / "once", **options).run(chains)
    for place, words in enumerate(order):
        scorer = recording(words, model, batches, tmp_path / "order", **options)
        with pytest.MonkeyPatch.context() as patch:
            if place:
                for name in ("decode", "side_by_side"):
                    patch.setattr(VariantDecoder, name, lambda *_: pytest.fail("its hypotheses are known"))
            assert scorer.known(Variant()) == (place > 0 and not set(words.split()) - set(_all(order[:place]).split()))
            found = scorer.run(chains)
        assert scorer.known(Variant())
        # What one lacks that is scored with it, such as the loss of the baseline, is no fault.
        contribution_table(found[0], {"d:sa:1": found[1]}, 0.5, 5)
    assert all(same(*pair) for pair in zip(found, expected, strict=True))
    assert [one.measures for one in found] == [one.measures for one in expected]
    assert files(tmp_path / "order") == files(tmp_path / "once")


def _all(order: Sequence[str]) -> str:
    return " ".join(sorted({name for words in order for name in words.split()}))


def test_what_two_analyses_recorded_of_different_components(
    model: Transformer, batches: list[Batch], tmp_path: Path
) -> None:
    """The baseline is of both, and the scores of all can be told afterwards."""
    both = ["d:sa:1", "d:sa:2"]
    for words, components in (("loss", both), ("chrf", both[:1]), ("", both)):
        scorer = recording(words, model, batches, tmp_path)
        scorer.evaluate()
        made = {component: scorer.evaluate(ablation(component)) for component in components}
    table = contribution_table(scorer.evaluate(), made, epsilon=0.5, least=1)
    assert ["chrf" in row for row in table.rows] == [True, False]
    for row in table.rows:
        assert row["loss_rise"] == pytest.approx(row["loss"] - scorer.evaluate().measures["loss"])


def test_what_is_recorded_afterwards_is_of_the_variant(
    model: Transformer, batches: list[Batch], tmp_path: Path
) -> None:
    changed, references = ablation("d:sa:1"), [reference for batch in batches for reference in batch.references]
    recording("", model, batches, tmp_path).evaluate(changed)
    found = recording("loss chrf", model, batches, tmp_path).evaluate(changed)
    model.components()["d:sa:1"].ablated = True
    expected = CHRF().corpus_score(hypotheses(model, batches), [references])
    assert found.measures["chrf"] == pytest.approx(expected.score)
    with torch.no_grad():
        losses = [
            torch.nn.functional.cross_entropy(
                model(batch.source, batch.target[:, :-1]).flatten(0, 1),
                batch.target[:, 1:].flatten(),
                ignore_index=0,
                reduction="sum",
            )
            for batch in batches
        ]
    pieces = sum(int(batch.target[:, 1:].ne(0).sum()) for batch in batches)
    assert found.measures["loss"] == pytest.approx(float(sum(losses)) / pieces, rel=1e-4)


def test_the_journal_says_what_was_added(model: Transformer, batches: list[Batch], tmp_path: Path) -> None:
    for words in ("loss", "chrf", "loss"):
        recording(words, model, batches, tmp_path).evaluate()
    first, second = map(json.loads, (tmp_path / "evaluations.jsonl").read_text().splitlines())
    loss = ["correct_pieces", "loss", "reference_pieces"]
    assert (first.pop("records"), second.pop("records")) == (loss, ["chrf", *loss])
    assert first == second
    # A process that was killed before it wrote the second line has lost nothing.
    path = tmp_path / "evaluations.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    again = Journal(tmp_path).find(first["key"])
    assert isinstance(again, Evaluation)
    assert sorted(again.records) == ["chrf", *loss]
