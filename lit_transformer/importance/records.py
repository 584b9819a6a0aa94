"""What is recorded of a variant beside its BLEU: loss, token accuracy, chrF, exact matches."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.data.batch import Batch
from lit_transformer.errors import UserError
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.metrics.chrf import CorpusChrF
from lit_transformer.model import AnalysableModel

RECORDS = ("loss", "chrf")
"""What can be asked for; exact matches are recorded wherever the phenomena of the sentences are known."""


class Recorder:
    """Records more than BLEU, which saturates, floors and mixes in length.

    Args:
        record: Any of `RECORDS`: ``loss`` (teacher-forced cross-entropy in nats and accuracy of the pieces of the
            references, one more parallel pass) and ``chrf``.
        exact: Record which hypotheses equal their reference.

    Raises:
        UserError: There is no such record.
    """

    def __init__(self, record: Sequence[str] = (), exact: bool = False) -> None:
        for name in record:
            if name not in RECORDS:
                raise UserError(f"--record {name!r} is unknown; give some of {', '.join(RECORDS)}.")
        self._loss, self._exact = "loss" in record, exact
        self._chrf = CorpusChrF() if "chrf" in record else None

    def complete(self, evaluation: Evaluation) -> bool:
        """Whether an evaluation has all that is to be recorded."""
        return not self._lacking(evaluation)

    def record(
        self, evaluation: Evaluation, model: AnalysableModel, scoring_set: ScoringSet, hypotheses: Sequence[str]
    ) -> Evaluation:
        """Return the evaluation with all that is to be recorded; what it has already stays, asked for or not.

        Args:
            evaluation: What was evaluated, whole.
            model: The variant of the model.
            scoring_set: The sentences.
            hypotheses: The texts, in the order of the corpus.
        """
        lacking, records = self._lacking(evaluation), dict[str, Tensor]()
        if "exact" in lacking:
            equal = [a == b for a, b in zip(hypotheses, scoring_set.references, strict=True)]
            records["exact"] = torch.tensor(equal, dtype=torch.bool)
        if "chrf" in lacking and self._chrf is not None:
            records["chrf"] = self._chrf.sentence_statistics(hypotheses, scoring_set.references).to(torch.int32)
        if "loss" in lacking:
            records |= _teacher_forced(model, scoring_set)
        return evaluation.with_records(records)

    def _lacking(self, evaluation: Evaluation) -> set[str]:
        wanted = {"loss": self._loss, "chrf": self._chrf is not None, "exact": self._exact}
        return {name for name, asked in wanted.items() if asked and name not in evaluation.records}


def mean_loss(model: AnalysableModel, batches: Sequence[Batch]) -> float:
    """Return the teacher-forced cross-entropy of target pieces, in nats per piece.

    Args:
        model: The model, in evaluation mode, on the batches' device.
        batches: The sentence pairs.
    """
    found = _teacher_forced(model, ScoringSet(batches, ""))
    return float(found["loss"].sum()) / int(found["reference_pieces"].sum())


def _teacher_forced(model: AnalysableModel, scoring_set: ScoringSet) -> dict[str, Tensor]:
    """Return, per sentence: summed cross-entropy in nats, correct pieces and pieces of the reference."""
    losses, correct, pieces = [], [], []
    with torch.no_grad(), torch.autocast(scoring_set.batches[0].source.device.type, enabled=False):
        for batch in scoring_set.batches:
            states = model.step(batch.target[:, :-1], model.start(model.encode(batch.source)))
            logits, following = model.logits(states), batch.target[:, 1:]
            real = following.ne(batch.special_ids.pad)
            loss = F.cross_entropy(logits.transpose(1, 2), following, reduction="none")
            losses.append(loss.double().masked_fill(~real, 0.0).sum(dim=1).cpu())
            correct.append((logits.argmax(dim=-1).eq(following) & real).sum(dim=1).cpu())
            pieces.append(real.sum(dim=1).cpu())
    order = scoring_set.order
    return {
        "loss": torch.cat(losses)[order],
        "correct_pieces": torch.cat(correct)[order].to(torch.int32),
        "reference_pieces": torch.cat(pieces)[order].to(torch.int32),
    }
