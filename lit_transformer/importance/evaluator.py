"""Evaluate variants of a model on the scoring set, each once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from lit_transformer.decoding import Hypotheses
from lit_transformer.errors import UserError
from lit_transformer.importance.chains import Chain, follow
from lit_transformer.importance.dealing import Dealer
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.model import tensors_digest

ENGINE = 2
"""Version of the evaluator: raised when the same settings may give another result, so that old ones are not reused."""

BASELINE = Variant()

Observer: TypeAlias = Callable[[str, float | None], None]


class Evaluator:
    """Evaluates variants of the model, each once.

    Args:
        decoder: Decodes the scoring set with a variant.
        scoring_set: The sentences.
        identity: What the results depend on beside the variant, as plain types: digests, settings, versions.
        journal: Where evaluations are kept.
        recorder: What else to record.
        dealer: Deals work out to the processes.
        side_by_side: How many variants are decoded in one batch.
    """

    def __init__(
        self,
        decoder: VariantDecoder,
        scoring_set: ScoringSet,
        identity: Mapping[str, Any] | None = None,
        journal: Journal | None = None,
        recorder: Recorder | None = None,
        dealer: Dealer | None = None,
        side_by_side: int = 1,
    ) -> None:
        self._decoder, self.scoring_set = decoder, scoring_set
        self._journal = Journal() if journal is None else journal
        self._recorder = Recorder() if recorder is None else recorder
        self._dealer = Dealer() if dealer is None else dealer
        self.side_by_side = side_by_side
        self._observers: list[Observer] = []
        self._made: list[Evaluation] = []
        self.non_terminated: dict[str, float] = {}
        """Share of the translations, from 0 to 1, that hit the length limit, by name of each variant evaluated."""
        self._identity = {"engine": ENGINE, "torch": str(torch.__version__), **(identity or {})}

    @property
    def components(self) -> list[str]:
        """The components of the model, in canonical order."""
        return list(self._decoder.model.components())

    def expected_seconds(self, chains: int = 1) -> float:
        """Return the seconds that an evaluation takes, estimated from a sample.

        Args:
            chains: How many evaluations can be made at a time.
        """
        with _enough_memory(size := self._at_once(chains)):
            return self._decoder.expected_seconds(size)

    def _at_once(self, chains: int) -> int:
        """Return how many of so many chains are followed side by side: no process is left without any."""
        return max(1, min(self.side_by_side, -(-chains // self._dealer.size)))

    @contextlib.contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Call the observer, on the first process, with name and BLEU of every evaluation that `run` makes or finds."""
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def key(self, variant: Variant) -> str:
        """Return the digest of everything that an evaluation depends on."""
        about: dict[str, Any] = {**self._identity, "search": "plain", "variant": variant.as_dict()}
        if not variant.needs_initial:
            about.pop("initial_weights", None)
        if variant.value == "mean":
            about["means"] = tensors_digest(self._decoder.replacements().means())
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]

    def known(self, variant: Variant) -> bool:
        """Whether it has been evaluated, with all that is to be recorded."""
        found = self._find(variant)
        return found is not None and self._recorder.complete(found)

    def evaluate(self, variant: Variant = BASELINE) -> Evaluation:
        """Return the evaluation of a variant; from the journal if it was evaluated before.

        Raises:
            UserError: A component does not exist, or what the variant needs is missing.
        """
        evaluation = self._find(variant)
        if evaluation is None:
            started = time.perf_counter()
            evaluation = self._made_of(variant, *self._decoder.decode(variant), started=started)
            self._keep(evaluation)
        elif not self._recorder.complete(evaluation):
            evaluation = self._recorded(evaluation)
            self._keep(evaluation)
        self.non_terminated[variant.name] = evaluation.measures["non_terminated"]
        return evaluation

    def run(self, chains: Sequence[Chain]) -> list[Any]:
        """Make the evaluations of chains, each on whichever process is free; afterwards every process knows them all.

        Args:
            chains: The chains; the same on every process.

        Returns:
            The result of each chain's generator.
        """
        self._made = []
        size, results = self._at_once(len(chains)), dict[int, Any]()
        parts = [range(len(chains))[first : first + size] for first in range(0, len(chains), size)]

        def do(number: int) -> None:
            found = follow([chains[place] for place in parts[number]], self._evaluate_together)
            results.update(zip(parts[number], found, strict=True))

        self._dealer.deal(len(parts), do, self._tell)
        for evaluation in self._dealer.gather(self._made):
            self._journal.adopt(evaluation)
        # The evaluations of the other processes are known now, so their chains only read: results need not travel.
        others = [place for place in range(len(chains)) if place not in results]
        found = follow([chains[place] for place in others], lambda variants: [self.evaluate(each) for each in variants])
        results.update(zip(others, found, strict=True))
        return [results[place] for place in range(len(chains))]

    def share(self, work: Sequence[Callable[[], Any]], names: Sequence[str]) -> list[Any]:
        """Do pieces of work that are no evaluations, each on whichever process is free, and return what each gave.

        Args:
            work: The pieces; the same on every process. What they return is plain.
            names: What each is called when it is done.
        """
        mine: list[tuple[int, Any]] = []

        def do(number: int) -> None:
            mine.append((number, work[number]()))
            self._dealer.say({"name": names[number], "bleu": None})

        self._dealer.deal(len(work), do, self._tell)
        return [result for _, result in sorted(self._dealer.gather(mine), key=lambda pair: pair[0])]

    def exact_matches(self, evaluation: Evaluation) -> dict[str, float]:
        """Return the share of hypotheses equal to their reference among the sentences that show each phenomenon.

        Empty for a scoring set whose phenomena are not known (all but the built-in grammar corpus).
        """
        if not self.scoring_set.phenomena or "exact" not in evaluation.records:
            return {}
        exact = evaluation.records["exact"].tolist()
        found: dict[str, list[int]] = {}
        for names, right in zip(self.scoring_set.phenomena, exact, strict=True):
            for name in names:
                found.setdefault(name, []).append(int(right))
        return {name: sum(rights) / len(rights) for name, rights in sorted(found.items())}

    def _evaluate_together(self, variants: Sequence[Variant]) -> list[Evaluation]:
        """Evaluate the next variants of several chains, and report each."""
        self._make_side_by_side(list({self.key(variant): variant for variant in variants}.values()))
        found = []
        for variant in variants:
            found.append(self.evaluate(variant))
            self._dealer.say({"name": variant.name, "bleu": found[-1].bleu})
        return found

    def _tell(self, news: dict[str, Any]) -> None:
        for observer in self._observers:
            observer(news["name"], news["bleu"])

    def _find(self, variant: Variant) -> Evaluation | None:
        """Return the journal's evaluation, which may lack records."""
        return self._journal.find(self.key(variant))

    def _keep(self, evaluation: Evaluation) -> None:
        self._journal.add(evaluation)
        self._made.append(evaluation)

    def _make_side_by_side(self, variants: Sequence[Variant]) -> None:
        """Evaluate in one batch those of the variants that are new and can share one."""
        # The baseline is decoded in the batches of `validate`, so that the two give the same number.
        new = [variant for variant in variants if variant != BASELINE and self._find(variant) is None]
        for value in dict.fromkeys(variant.value for variant in new):
            several = [variant for variant in new if variant.value == value]
            if len(several) < 2:
                continue
            started = time.perf_counter()
            with _enough_memory(len(several)):
                found = self._decoder.side_by_side(several)
            spent = (time.perf_counter() - started) / len(several)
            for variant, (hypotheses, statistics) in zip(several, found, strict=True):
                now = time.perf_counter()
                self._keep(self._made_of(variant, hypotheses, statistics, started=now - spent))

    def _made_of(self, variant: Variant, hypotheses: Hypotheses, statistics: Tensor, started: float) -> Evaluation:
        evaluation = Evaluation(
            key=self.key(variant),
            variant=variant,
            pieces=hypotheses.pieces,
            lengths=hypotheses.lengths.to(torch.int32),
            statistics=statistics,
            non_terminated=hypotheses.non_terminated,
            seconds=time.perf_counter() - started,
        )
        return evaluation if self._recorder.complete(evaluation) else self._recorded(evaluation)

    def _recorded(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with the records that it lacks."""
        with self._decoder.applied(evaluation.variant):
            texts = self._decoder.texts(evaluation.ids())
            return self._recorder.record(evaluation, self._decoder.model, self.scoring_set, texts)


@contextlib.contextmanager
def _enough_memory(variants: int) -> Iterator[None]:
    """Say what to do where so many variants in one batch are too many."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"there is not enough memory to decode {variants} variants in one batch; give a smaller number by "
            "--side_by_side N."
        ) from error
