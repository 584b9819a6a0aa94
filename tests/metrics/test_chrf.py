from __future__ import annotations

import pytest
import sacrebleu

from lit_transformer.metrics.chrf import CorpusChrF

REFERENCES = ["Ein Mann geht über die Straße.", "Die Kinder spielen im Schnee.", "Ja.", ""]
HYPOTHESES = {
    "good": ["Ein Mann geht über den Weg.", "Die Kinder spielten im Schnee.", "Ja.", "Nein"],
    "damaged": ["Mann Mann Mann", "", "x", ""],
    "nothing": ["q", "q", "q", "q"],
    "empty": ["", "", "", ""],
}


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("hypotheses", HYPOTHESES.values(), ids=HYPOTHESES.keys())
def test_equals_sacrebleu_exactly_whatever_the_batches(hypotheses: list[str], lowercase: bool) -> None:
    metric = CorpusChrF(lowercase=lowercase)
    for pair in zip(hypotheses, REFERENCES, strict=True):
        metric.update([pair[0].upper()], [pair[1]])
    shouted = [hypothesis.upper() for hypothesis in hypotheses]
    expected = sacrebleu.CHRF(lowercase=lowercase).corpus_score(shouted, [REFERENCES])
    assert float(metric.compute()) == expected.score


def test_signature_is_sacrebleus() -> None:
    scorer = sacrebleu.CHRF()
    scorer.corpus_score(HYPOTHESES["good"], [REFERENCES])
    assert CorpusChrF().signature == str(scorer.get_signature())
    assert "case:lc" in CorpusChrF(lowercase=True).signature


def test_unequal_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 hypotheses, but 2 references"):
        CorpusChrF().update(["a"], ["a", "b"])
