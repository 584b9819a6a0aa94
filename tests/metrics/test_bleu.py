from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path

import pytest
import sacrebleu
import torch
from torch import distributed, multiprocessing

from lit_transformer.errors import UserError
from lit_transformer.metrics.bleu import STATISTICS, CorpusBLEU, bleu_from_statistics

# cases.md A06: the mean of the sentences' scores is 33.33.
A06 = (
    ["the cat sat on the mat", "the cat sat", "hello world"],
    ["the cat sat on the mat", "the cat slept", "goodbye moon"],
)
# cases.md A07: no 4-gram matches.
A07 = (["the cat sat", "a dog ran fast"], ["the cat slept", "a dog ran slow"])

REFERENCES = [
    "Ein Mann, der zwei Hunde hat, geht über die Straße.",
    "Die Kinder spielen im Schnee.",
    "Er sagte: „Das ist nicht 3,5 % wert!“",
    "Eine Frau in rotem Kleid singt.",
    "Ja.",
]
DAMAGED = {
    "good": ["Ein Mann, der zwei Hunde hat, geht über den Weg.", *REFERENCES[1:]],
    "perfect": REFERENCES,
    "no 4-gram": [
        "Ein Mann, der geht zwei Hunde",
        "Kinder die im spielen",
        "Das ist nicht",
        "Eine Frau singt",
        "Nein.",
    ],
    "no 3-gram": ["Ein Mann geht", "Die Kinder Kinder", "Das ist", "Frau Kleid Eine rotem", "Ja"],
    "no 2-gram": ["Hunde Mann Ein", "Schnee Kinder", "wert nicht", "Kleid Frau", ". Ja"],
    "nothing": ["a b c d e", "f g h i j", "k l m n", "o p q r", "s t"],
    "loops": ["die die die die die die die die die die " * 5] * 5,
    "some empty": ["", REFERENCES[1], "", "Eine Frau", ""],
    "all empty": [""] * 5,
    "too short for 4-grams": ["Ja", "Ja", "Er sagte", "Eine", "Ja ."],
}


def corpus_bleu(hypotheses: list[str], references: list[str], **options: object) -> float:
    return float(sacrebleu.corpus_bleu(hypotheses, [references], **options).score)


def bleu(hypotheses: list[str], references: list[str]) -> float:
    metric = CorpusBLEU()
    metric.update(hypotheses, references)
    return float(metric.compute())


@pytest.mark.parametrize("hypotheses", DAMAGED.values(), ids=DAMAGED.keys())
def test_equals_sacrebleu_exactly_also_for_damaged_output(hypotheses: list[str]) -> None:
    metric = CorpusBLEU()
    metric.update(hypotheses, REFERENCES)
    expected = sacrebleu.corpus_bleu(hypotheses, [REFERENCES])
    score = metric.score()
    assert float(metric.compute()) == expected.score == score.bleu
    assert list(score.precisions) == expected.precisions
    assert score.brevity_penalty == expected.bp
    assert score.length_ratio == expected.ratio
    assert (score.hypothesis_length, score.reference_length) == (expected.sys_len, expected.ref_len)


def test_published_wrong_scores_are_not_ours() -> None:
    assert bleu(*A06) == pytest.approx(corpus_bleu(*A06))
    one_by_one = sum(bleu([hypothesis], [reference]) for hypothesis, reference in zip(*A06, strict=True)) / 3
    assert abs(bleu(*A06) - one_by_one) > 5
    assert bleu(*A07) == pytest.approx(51.70, abs=0.005)


@pytest.mark.parametrize(
    ("tokenize", "lowercase"), [("13a", False), ("13a", True), ("intl", False), ("char", False), ("none", True)]
)
def test_options_reach_number_and_signature(tokenize: str, lowercase: bool) -> None:
    hypotheses = [text.lower() for text in DAMAGED["good"]]
    metric = CorpusBLEU(tokenize=tokenize, lowercase=lowercase)
    metric.update(hypotheses, REFERENCES)
    assert float(metric.compute()) == corpus_bleu(hypotheses, REFERENCES, tokenize=tokenize, lowercase=lowercase)
    case = "lc" if lowercase else "mixed"
    assert metric.signature == (f"nrefs:1|case:{case}|eff:no|tok:{tokenize}|smooth:exp|version:{sacrebleu.__version__}")


def test_value_depends_on_neither_order_nor_batches() -> None:
    pairs = list(zip(DAMAGED["no 4-gram"] + DAMAGED["good"], REFERENCES * 2, strict=True))
    expected = corpus_bleu(DAMAGED["no 4-gram"] + DAMAGED["good"], REFERENCES * 2)
    for size in (1, 3, 10):
        random.Random(size).shuffle(pairs)
        metric = CorpusBLEU()
        for first in range(0, len(pairs), size):
            batch = pairs[first : first + size]
            metric.update([hypothesis for hypothesis, _ in batch], [reference for _, reference in batch])
        assert float(metric.compute()) == expected


def test_statistics_of_sentences_in_documented_order() -> None:
    # Worked by hand for A07: 3 and 4 tokens, of which 2 and 3 match in a row.
    statistics = CorpusBLEU().sentence_statistics(*A07)
    assert statistics.dtype == torch.int64
    assert [dict(zip(STATISTICS, row, strict=True)) for row in statistics.tolist()] == [
        {
            "matches_1": 2, "matches_2": 1, "matches_3": 0, "matches_4": 0,
            "totals_1": 3, "totals_2": 2, "totals_3": 1, "totals_4": 0,
            "hypothesis_length": 3, "reference_length": 3,
        },
        {
            "matches_1": 3, "matches_2": 2, "matches_3": 1, "matches_4": 0,
            "totals_1": 4, "totals_2": 3, "totals_3": 2, "totals_4": 1,
            "hypothesis_length": 4, "reference_length": 4,
        },
    ]  # fmt: skip


def test_stored_statistics_give_the_score_again() -> None:
    texts, stored = CorpusBLEU(), CorpusBLEU()
    statistics = texts.sentence_statistics(DAMAGED["good"], REFERENCES)
    stored.update_statistics(statistics[:2])
    first = float(stored.compute())
    stored.update_statistics(statistics[2:])
    texts.update(DAMAGED["good"], REFERENCES)
    assert float(stored.compute()) == float(texts.compute()) != first
    assert bleu_from_statistics(statistics.sum(dim=0).tolist()).bleu == float(texts.compute())


def test_no_sentences_score_zero() -> None:
    metric = CorpusBLEU()
    metric.update([], [])
    assert float(metric.compute()) == 0.0
    assert metric.sentence_statistics([], []).shape == (0, len(STATISTICS))


def test_reset_and_copies_start_from_what_they_hold() -> None:
    metric = CorpusBLEU()
    metric.update(*A07)
    copies = [copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))]
    metric.reset()
    metric.update(REFERENCES, REFERENCES)
    assert float(metric.compute()) == pytest.approx(100)
    assert [float(each.compute()) for each in copies] == pytest.approx([51.6973, 51.6973], abs=1e-4)


def test_counts_stay_exact_whatever_the_precision_of_the_model() -> None:
    metric = CorpusBLEU()
    torch.nn.ModuleList([metric]).half().to(torch.bfloat16)
    metric.update_statistics(torch.tensor([[2**24 + 1] * 10]))
    assert metric.statistics.tolist() == [2**24 + 1] * 10
    assert metric.compute().dtype == torch.float64


def test_mistakes_are_errors() -> None:
    metric = CorpusBLEU()
    with pytest.raises(ValueError, match="2 hypotheses, but 1 references"):
        metric.update(["a", "b"], ["a"])
    with pytest.raises(ValueError, match=r"\(sentences, 10\); got \(3, 18\)"):
        metric.update_statistics(torch.zeros(3, 18, dtype=torch.int64))
    with pytest.raises(ValueError, match="10 sums"):
        bleu_from_statistics([1, 2, 3])
    with pytest.raises(UserError, match=r"--model\.bleu_tokenize '13b' is unknown; give one of none, zh, 13a"):
        CorpusBLEU(tokenize="13b")


def _score_on_one_of_two(rank: int, meeting: str, result: str) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    metric = CorpusBLEU()
    metric.update(DAMAGED["no 4-gram"][rank::2], REFERENCES[rank::2])
    Path(f"{result}{rank}").write_text(repr(float(metric.compute())))
    distributed.destroy_process_group()


def test_two_processes_give_the_number_of_one(tmp_path: Path) -> None:
    multiprocessing.spawn(_score_on_one_of_two, (str(tmp_path / "meeting"), str(tmp_path / "result")), nprocs=2)
    expected = corpus_bleu(DAMAGED["no 4-gram"], REFERENCES)
    assert [float((tmp_path / f"result{rank}").read_text()) for rank in (0, 1)] == [expected, expected]
