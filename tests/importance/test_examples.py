from __future__ import annotations

from collections.abc import Sequence

import pytest
import sacrebleu
import torch

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.examples import examples
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.metrics.bleu import CorpusBLEU

WORDS = ["the", "small", "cat", "sat", "on", "a", "mat", "today"]
REFERENCES = ["the small cat sat on a mat", "a cat sat today", "the mat sat on the cat", "today the cat sat"]
TEXTS = [(f"source {number}", reference) for number, reference in enumerate(REFERENCES)]


def decode(ids: Sequence[int]) -> str:
    return " ".join(WORDS[piece] for piece in ids)


def evaluation(hypotheses: Sequence[str], component: str | None = None) -> Evaluation:
    pieces = [[WORDS.index(word) for word in text.split()] for text in hypotheses]
    return Evaluation(
        key="k",
        variant=Variant() if component is None else ablation(component),
        pieces=torch.tensor([piece for each in pieces for piece in each], dtype=torch.int32),
        lengths=torch.tensor([len(each) for each in pieces], dtype=torch.int32),
        statistics=CorpusBLEU().sentence_statistics(list(hypotheses), REFERENCES).to(torch.int32),
        non_terminated=torch.zeros(len(pieces), dtype=torch.bool),
    )


BASELINE = evaluation([*REFERENCES[:3], "today a cat sat"])
WORST = evaluation(["the mat", "a cat sat today", "the mat on on the cat", "today a cat sat"], "d:ff:1")
BEST = evaluation(REFERENCES, "e:ff:1")
SAME = evaluation([*REFERENCES[:3], "today a cat sat"], "d:sa:1")


def test_the_most_and_the_least_important_component() -> None:
    found = examples(BASELINE, {"d:sa:1": SAME, "d:ff:1": WORST, "e:ff:1": BEST}, TEXTS, decode)
    most, least = found["most"], found["least"]
    assert (most["component"], most["changed"], least["component"], least["changed"]) == ("d:ff:1", 2, "e:ff:1", 1)
    assert most["drop"] == pytest.approx(BASELINE.bleu - WORST.bleu)
    assert [each["source"] for each in most["sentences"]] == ["source 0", "source 2"]
    assert most["sentences"][0]["ablated"] == "the mat"
    assert most["sentences"][0]["baseline"] == most["sentences"][0]["reference"] == REFERENCES[0]
    assert least["sentences"][0]["ablated"] == REFERENCES[3]
    assert least["sentences"][0]["fall"] < 0


def test_the_loss_of_a_sentence_is_that_of_sacrebleu() -> None:
    [first, _] = examples(BASELINE, {"d:ff:1": WORST}, TEXTS, decode)["most"]["sentences"]
    alone = [
        sacrebleu.corpus_bleu([text], [[REFERENCES[0]]], smooth_method="exp").score
        for text in (REFERENCES[0], "the mat")
    ]
    assert first["fall"] == pytest.approx(alone[0] - alone[1])


def test_no_more_than_asked_for_and_the_greatest_loss_first() -> None:
    found = examples(BASELINE, {"d:ff:1": WORST}, TEXTS, decode, count=1)
    assert [each["source"] for each in found["most"]["sentences"]] == ["source 0"]
    assert found["most"]["changed"] == 2


def test_a_component_without_an_effect() -> None:
    found = examples(BASELINE, {"d:sa:1": SAME}, TEXTS, decode)
    assert found["least"]["sentences"] == []
    assert found["least"]["changed"] == 0
