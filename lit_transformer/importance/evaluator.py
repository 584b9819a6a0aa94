"""One evaluator for every score: what a variant of the model scores on the scoring set, each evaluated once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import torch
from torch import Tensor

from lit_transformer.decoding import Decoded
from lit_transformer.errors import UserError
from lit_transformer.importance.chains import Asked, Chain, follow
from lit_transformer.importance.dealing import Dealer
from lit_transformer.importance.early import FEWEST, Comparison, Decision
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.question import Question
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.model import tensors_digest

ENGINE = 2
"""Version of the evaluator: raised when the same settings may give another result, so that old ones are not reused."""

ORDER_SEED = 1
"""Seed of the order in which early decisions look at sentences."""

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
        plain: Decode variants without drafts.
        side_by_side: How many variants without drafts are decoded in one batch.
    """

    def __init__(
        self,
        decoder: VariantDecoder,
        scoring_set: ScoringSet,
        identity: Mapping[str, Any] | None = None,
        journal: Journal | None = None,
        recorder: Recorder | None = None,
        dealer: Dealer | None = None,
        plain: bool = False,
        side_by_side: int = 1,
    ) -> None:
        self._decoder, self.scoring_set = decoder, scoring_set
        self._journal = Journal() if journal is None else journal
        self._recorder = Recorder() if recorder is None else recorder
        self._dealer = Dealer() if dealer is None else dealer
        self._plain, self.side_by_side = plain, side_by_side
        self._observers: list[Observer] = []
        self._made: list[Evaluation] = []
        self.endless: dict[str, float] = {}
        """Share of the translations, from 0 to 1, that met the length limit before their end, by name of the variant;
        of every whole evaluation that was asked for."""
        self._identity = {"engine": ENGINE, "torch": str(torch.__version__), **(identity or {})}

    @property
    def components(self) -> list[str]:
        """The components of the model, in canonical order."""
        return list(self._decoder.model.components())

    def expected(self, chains: int = 1) -> tuple[float, int]:
        """Return what an evaluation takes: seconds of plain decoding, by a sample, and bytes kept beside the model.

        Args:
            chains: How many evaluations may be made at a time.
        """
        with _enough_memory(size := self._at_once(chains)):
            return self._decoder.expected(size)

    def _at_once(self, chains: int) -> int:
        """Return how many of so many chains are followed side by side: no process is left without any."""
        return max(1, min(self.side_by_side, -(-chains // self._dealer.size))) if self._plain else 1

    @contextlib.contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Call the observer, on the first process, with name and BLEU of every evaluation that `run` makes or finds."""
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def key(self, asked: Asked) -> str:
        """Return the digest of everything that an evaluation depends on."""
        variant = asked.variant if isinstance(asked, Question) else asked
        about: dict[str, Any] = {**self._identity, "search": "verified", "variant": variant.as_dict()}
        if not variant.needs_initial:
            about.pop("initial_weights", None)
        if variant.value == "mean":
            about["means"] = tensors_digest(self._decoder.replacements().means())
        if self._is_plain(variant):
            # By itself, a variant does not depend on what would have been its draft.
            about |= {"search": "plain", "variant": variant.by_itself.as_dict()}
        if isinstance(asked, Question):
            about |= {"question": asked.as_dict(), "order": ORDER_SEED}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]

    def known(self, asked: Asked) -> bool:
        """Whether it has been evaluated, with all that is to be recorded."""
        found = self._find(asked)
        return found is not None and self._recorder.complete(found)

    def evaluate(self, asked: Asked = Variant()) -> Evaluation:  # noqa: B008 - it is frozen
        """Return what a variant scores; from the journal if it was evaluated before.

        Args:
            asked: The change of the model (none for the baseline), or a question about it, which may be answered
                before all sentences are decoded.

        Raises:
            UserError: A component does not exist, or what the variant needs is missing.
        """
        evaluation = self._find(asked)
        if evaluation is None:
            evaluation = self._decide(asked) if isinstance(asked, Question) else self._make(asked)
            self._keep(evaluation)
        elif not self._recorder.complete(evaluation):
            evaluation = self._recorded(evaluation)
            self._keep(evaluation)
        if not evaluation.early:
            self.endless[evaluation.variant.name] = evaluation.measures["non_terminated"]
        return evaluation

    def run(self, chains: Sequence[Chain]) -> list[Any]:
        """Make the evaluations of chains, each on whichever process is free; afterwards every process knows them all.

        Args:
            chains: The chains; the same on every process.

        Returns:
            What each chain's generator returned.
        """
        self._made = []
        size = self._at_once(len(chains))
        parts = [chains[first : first + size] for first in range(0, len(chains), size)]
        costs = [sum(chain.cost for chain in part) for part in parts]

        def do(number: int) -> None:
            follow(parts[number], self._told)

        self._dealer.deal(costs, do, self._tell)
        for evaluation in self._dealer.gather(self._made):
            self._journal.adopt(evaluation)
        # All is known now, so this only reads; a chain's result need not travel between the processes.
        return follow(chains, lambda asked: [self.evaluate(each) for each in asked])

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

        self._dealer.deal([1.0] * len(work), do, self._tell)
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

    def _told(self, asked: Sequence[Asked]) -> list[Evaluation]:
        """Evaluate what several chains ask for at a time, and say what came of it."""
        variants = {self.key(each): each for each in asked if isinstance(each, Variant)}
        self._make_side_by_side(list(variants.values()))
        found = []
        for each in asked:
            found.append(self.evaluate(each))
            self._dealer.say({"name": found[-1].variant.name, "bleu": found[-1].bleu})
        return found

    def _tell(self, news: dict[str, Any]) -> None:
        for observer in self._observers:
            observer(news["name"], news["bleu"])

    def _find(self, asked: Asked) -> Evaluation | None:
        """Return what the journal has, whatever was recorded with it."""
        if isinstance(asked, Question):
            # Its own answer first: the exact one may be a later step's, and an analysis that was killed there and goes
            # on has to find what it found.
            if (answer := self._journal.find(self.key(asked))) is not None:
                return answer
            # What is known exactly answers every other question.
            asked = asked.variant
        return self._journal.find(self.key(asked))

    def _is_plain(self, variant: Variant) -> bool:
        # The baseline is what `validate` decodes, so that the two give the same number.
        return self._plain or variant.plain or variant == Variant()

    def _keep(self, evaluation: Evaluation) -> None:
        self._journal.add(evaluation)
        self._made.append(evaluation)

    def _make_side_by_side(self, variants: Sequence[Variant]) -> None:
        """Evaluate those of the variants in one batch of which nothing is known and that go together."""
        # The baseline is decoded in the batches of `validate`.
        new = [variant for variant in variants if variant != Variant() and self._find(variant) is None]
        for value in dict.fromkeys(variant.value for variant in new):
            several = [variant for variant in new if variant.value == value and self._is_plain(variant)]
            if len(several) < 2:
                continue
            started = time.perf_counter()
            with _enough_memory(len(several)):
                found = self._decoder.side_by_side(several)
            spent = (time.perf_counter() - started) / len(several)
            for variant, (decoded, statistics) in zip(several, found, strict=True):
                now = time.perf_counter()
                self._keep(self._made_of(variant, decoded, statistics, started=now - spent))

    def _make(self, variant: Variant) -> Evaluation:
        if self._is_plain(variant):
            started = time.perf_counter()
            return self._made_of(variant, *self._decoder.plain(variant), started=started)
        before = self._before(variant)
        started = time.perf_counter()
        return self._made_of(variant, *self._decoder.verified(variant, before), started=started)

    def _before(self, variant: Variant) -> list[Evaluation]:
        """Return the evaluations whose hypotheses its draft is made from."""
        return [self.evaluate(Variant()), *(self.evaluate(step) for step in variant.before)]

    def _made_of(self, variant: Variant, decoded: Decoded, statistics: Tensor, started: float) -> Evaluation:
        evaluation = Evaluation(
            key=self.key(variant),
            variant=variant,
            pieces=decoded.pieces,
            lengths=decoded.lengths.to(torch.int32),
            statistics=statistics,
            non_terminated=decoded.non_terminated,
            held=int(decoded.held.sum()),
            seconds=time.perf_counter() - started,
        )
        return self._recorded(evaluation)

    def _recorded(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation with what it lacks of all that is to be recorded."""
        with self._decoder.applied(evaluation.variant):
            texts = self._decoder.texts(evaluation.ids())
            return self._recorder.record(evaluation, self._decoder.model, self.scoring_set, texts)

    def _decide(self, question: Question) -> Evaluation:
        """Decode only as many sentences as it takes to answer a question."""
        variant = question.variant
        against, before = self.evaluate(question.against), self._before(variant)
        started = time.perf_counter()
        search = self._decoder.start(variant, before)
        held = search.held
        if int((~held).sum()) < FEWEST:
            return self._made_of(variant, *search.whole(), started=started)
        comparison = Comparison.of(
            against.statistics.numpy(),
            held.numpy(),
            self._decoder.limits.numpy(),
            question.threshold,
            question.z,
            ORDER_SEED,
            search.statistics.numpy(),
            question.stop_on,
        )
        statistics, done = search.statistics.clone(), 0
        decision: Decision | None = None
        for look in comparison.looks:
            # Few sentences take nearly as long to decode as many.
            if decision is not None and not comparison.worth_a_look(decision, look):
                continue
            rows = comparison.sentences[done:look].tolist()
            statistics[rows] = search.finish(rows)
            done = look
            decision = comparison.decide(statistics[comparison.sentences[:done].tolist()].numpy())
            if decision.exact:
                return self._made_of(variant, *search.whole(), started=started)
            if decision.answer != "undecided":
                break
        assert decision is not None
        nothing = torch.zeros(0, dtype=torch.int32)
        return Evaluation(
            key=self.key(question),
            variant=variant,
            pieces=nothing,
            lengths=torch.zeros(len(held), dtype=torch.int32),
            statistics=statistics,
            non_terminated=torch.zeros(len(held), dtype=torch.bool),
            held=int(held.sum()),
            seconds=time.perf_counter() - started,
            decision={**asdict(decision), "against": against.bleu},
        )


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
