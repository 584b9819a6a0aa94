from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import sacrebleu
import torch
from torch.nn import functional as F

from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import DecodingSettings
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.metrics.chrf import CorpusChrF
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer
from lit_transformer.training.split_scoring import SplitScoring
from lit_transformer.training.translations import Translation

PAIRS = [([4, 5, 6], [7, 8, 9, 10]), ([11], [12]), ([13, 14], [15, 16, 17]), ([4, 9], [5, 5])]
REFERENCES = ["a b a a a b", "b b", "a a b b a", "b a b a b a"]


def letters(ids: Iterable[int]) -> str:
    """A text of two words, so that even a model that was not trained finds some of the references."""
    return " ".join("ab"[piece % 2] for piece in ids)


@pytest.fixture(scope="module")
def network() -> Transformer:
    config = TransformerConfig(20, 20, encoder_layers=1, decoder_layers=1, d_model=16, feed_forward=24, heads=2)
    return seeded_transformer(config, 3).eval()


def batch_of(rows: list[int]) -> Batch:
    made = collate(np.array(rows), [PAIRS[row] for row in rows])
    return Batch(
        made.index,
        made.source,
        made.target,
        made.target_tokens,
        [f"source {row}" for row in rows],
        [REFERENCES[row] for row in rows],
    )


def scoring(network: Transformer, chrf: CorpusChrF | None = None) -> SplitScoring:
    search = DecodingSettings(beam=1, max_extra_pieces=6)
    return SplitScoring(network, search, letters, 0.1, CorpusBLEU(), chrf)


def scored(made: SplitScoring, batches: Iterable[list[int]]) -> tuple[list[Translation], dict[str, float]]:
    with torch.no_grad():
        for rows in batches:
            made.add(batch_of(rows))
    translations = made.translations()
    totals = made.totals("val", "val/bleu", translations, lambda sums: sums)
    return translations, {name: float(value) for name, value in totals.items()}


def test_bleu_and_chrf_are_sacrebleus(network: Transformer) -> None:
    translations, totals = scored(scoring(network, CorpusChrF()), [[2, 0], [3, 1]])
    hypotheses = [translation.hypothesis for translation in translations]
    assert totals["val/bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [REFERENCES]).score, abs=1e-4)
    assert totals["val/chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [REFERENCES]).score, abs=1e-4)
    assert totals["val/bleu"] > 0
    assert totals["val/chrf"] > 0


def test_losses_are_torchs_over_all_pieces(network: Transformer) -> None:
    _, totals = scored(scoring(network), [[0, 1, 2], [3]])
    batch = batch_of([0, 1, 2, 3])
    logits = network(batch.source, batch.target[:, :-1]).flatten(0, 1)
    target = batch.target[:, 1:].flatten()
    loss = F.cross_entropy(logits, target, ignore_index=0, label_smoothing=0.1)
    assert totals["val/loss"] == pytest.approx(loss.item(), rel=1e-5)
    plain = F.cross_entropy(logits, target, ignore_index=0)
    assert totals["val/perplexity"] == pytest.approx(plain.exp().item(), rel=1e-5)


def test_batches_change_nothing_and_order_is_that_of_the_split(network: Transformer) -> None:
    first, second = (scored(scoring(network), batches) for batches in ([[0, 1, 2, 3]], [[3, 1], [], [2], [0]]))
    assert [translation.index for translation in second[0]] == [0, 1, 2, 3]
    assert second[0] == first[0]
    assert second[1] == pytest.approx(first[1], rel=1e-6)


def test_runaway_translations_are_counted(network: Transformer) -> None:
    translations, totals = scored(scoring(network), [[0, 1, 2, 3]])
    # A model that was not trained does not know when to stop, but the shares must tell the rows apart.
    share = sum(translation.non_terminated for translation in translations) / 4
    assert totals["val/non_terminated"] == pytest.approx(share)
    assert share > 0


def test_the_metrics_are_empty_afterwards(network: Transformer) -> None:
    made = scoring(network, CorpusChrF())
    _, first = scored(made, [[0, 1]])
    with torch.no_grad():
        again = SplitScoring(network, made._search, made._detokenize, 0.1, made._bleu, made._chrf)
        _, second = scored(again, [[0, 1]])
    assert second == first


def test_without_references_there_are_translations_and_no_score(network: Transformer) -> None:
    made, batch = scoring(network), batch_of([1, 0])
    with torch.no_grad():
        given = made.translate(Batch(batch.index, batch.source, batch.target, batch.target_tokens, batch.sources))
    assert [(one.index, one.source, one.reference) for one in given] == [(1, "source 1", ""), (0, "source 0", "")]
    assert made.translations() == sorted(given)
    assert not made._sums.any()
