"""What one variant of a model scores on the scoring set, sentence by sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lit_transformer.importance.variant import Variant
from lit_transformer.metrics.bleu import STATISTICS, BLEUScore, bleu_from_statistics
from lit_transformer.metrics.chrf import chrf_from_statistics


@dataclass(frozen=True)
class Evaluation:
    """The hypotheses of a variant and what they score; sentences are in the order of the scoring set.

    Args:
        key: Digest of everything that the result depends on.
        variant: What was changed in the model.
        pieces: Ids of all hypotheses one after another, int32 ``(total_length,)``.
        lengths: Number of pieces of each hypothesis, int32 ``(sentences,)``.
        statistics: BLEU's statistics of each sentence, int32 ``(sentences, 10)``; see `lit_transformer.metrics.bleu`.
        non_terminated: True where the search ran to the length limit, bool ``(sentences,)``.
        seconds: Time it took.
        records: What else was recorded, per sentence; see `lit_transformer.importance.records`.
    """

    key: str
    variant: Variant
    pieces: Tensor
    lengths: Tensor
    statistics: Tensor
    non_terminated: Tensor
    seconds: float = 0.0
    records: Mapping[str, Tensor] = field(default_factory=dict)

    @cached_property
    def score(self) -> BLEUScore:
        """Corpus BLEU and what it is made of."""
        return bleu_from_statistics(self.statistics.sum(dim=0, dtype=torch.int64).tolist())

    @property
    def bleu(self) -> float:
        """Corpus BLEU, in BLEU points from 0 to 100."""
        return self.score.bleu

    @property
    def sentences(self) -> int:
        """Size of the scoring set."""
        return self.lengths.numel()

    @cached_property
    def measures(self) -> dict[str, float | int]:
        """The numbers of the whole scoring set, by name; the optional ones only where they were recorded."""
        score = self.score
        found: dict[str, float | int] = {
            "bleu": score.bleu,
            "brevity_penalty": score.brevity_penalty,
            "length_ratio": score.length_ratio,
            "bleu_without_penalty": score.bleu / score.brevity_penalty if score.brevity_penalty else 0.0,
        }
        found["non_terminated"] = int(self.non_terminated.sum()) / max(self.sentences, 1)
        records = self.records
        if "loss" in records:
            pieces = int(records["reference_pieces"].sum())
            found["loss"] = float(records["loss"].double().sum()) / pieces
            found["token_accuracy"] = int(records["correct_pieces"].sum()) / pieces
        if "chrf" in records:
            found["chrf"] = chrf_from_statistics(records["chrf"].sum(dim=0, dtype=torch.int64).tolist())
        if "exact" in records:
            found["exact_match"] = int(records["exact"].sum()) / max(self.sentences, 1)
        return found

    def drop_from(self, baseline: Evaluation) -> float:
        """Return the BLEU points that are lost against the baseline; negative where this variant is better."""
        return baseline.bleu - self.bleu

    def ids(self) -> list[list[int]]:
        """Return the ids of each hypothesis, as a tokenizer takes them."""
        return [sentence.tolist() for sentence in self.pieces.split(self.lengths.tolist())]

    def with_records(self, records: Mapping[str, Tensor]) -> Evaluation:
        """Return the evaluation with further records."""
        return replace(self, records={**self.records, **records})

    def line(self) -> dict[str, Any]:
        """Return what the journal's line says, as plain types."""
        return {
            "key": self.key,
            "name": self.variant.name,
            "variant": self.variant.as_dict(),
            "bleu": self.bleu,
            "sums": dict(zip(STATISTICS, self.statistics.sum(dim=0, dtype=torch.int64).tolist(), strict=True)),
            "non_terminated": int(self.non_terminated.sum()),
            "sentences": self.sentences,
            "seconds": round(self.seconds, 3),
            "records": sorted(self.records),
        }

    def tensors(self) -> dict[str, Tensor]:
        """Return what the journal keeps in the file of the evaluation."""
        own = ("pieces", "lengths", "statistics", "non_terminated")
        records = {f"record.{name}": tensor for name, tensor in self.records.items()}
        return {name: getattr(self, name).contiguous() for name in own} | records

    @classmethod
    def restored(cls, line: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Evaluation:
        """Return the evaluation that was written.

        Args:
            line: What `line` gave.
            tensors: What `tensors` gave.

        Raises:
            ValueError: The two do not belong together.
        """
        made = cls(
            key=line["key"],
            variant=Variant.from_dict(line["variant"]),
            pieces=tensors["pieces"],
            lengths=tensors["lengths"],
            statistics=tensors["statistics"],
            non_terminated=tensors["non_terminated"],
            seconds=line["seconds"],
            records={
                name.removeprefix("record."): value for name, value in tensors.items() if name.startswith("record.")
            },
        )
        if made.sentences != line["sentences"] or not math.isclose(made.bleu, line["bleu"], abs_tol=1e-9):
            raise ValueError(f"the file of evaluation {line['key']} is not the one that its line was written for")
        return made
