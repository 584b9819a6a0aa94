"""One analysis of a trained model: its settings, its folder, and the evaluators that its callbacks ask."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed import distributed_c10d

from lit_transformer.components import select
from lit_transformer.data.batch import Batch
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.data.encoded import EncodedCorpus
from lit_transformer.errors import UserError
from lit_transformer.importance.dealing import Dealer, StoreDealer
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.journal import Journal
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant_decoder import Replacements, VariantDecoder
from lit_transformer.model import fresh_seed
from lit_transformer.model.seeded import redrawn
from lit_transformer.model.surgery import mean_outputs
from lit_transformer.runs.checkpoints import run_folder_of
from lit_transformer.training.initial_weights import initial_weights_digest, initial_weights_of
from lit_transformer.training.module import LitTransformer

log = logging.getLogger(__name__)

TRAINING_SAMPLE = 512
"""Training pairs that mean outputs and the loss of Chatterji et al. are taken over."""

SPARE_BYTES = 4 << 30
"""Memory that variants may take on an accelerator that does not tell what it has."""


@dataclass(frozen=True)
class AnalysisSettings:
    """How an analysis is made, whatever it scores.

    Args:
        components: Selectors that replace those of the callbacks.
        limit: Score a sample of so many sentences, drawn from the seed.
        record: What to record beside BLEU; see `lit_transformer.importance.records`.
        dry_run: Only say what would be evaluated.
        side_by_side: How many variants are decoded in one batch; None: as many as fit into a GPU's memory, one on a
            CPU.
    """

    components: tuple[str, ...] | None = None
    limit: int | None = None
    record: tuple[str, ...] = ()
    dry_run: bool = False
    side_by_side: int | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing.

        Raises:
            UserError: A value is out of range.
        """
        if self.limit is not None and self.limit < 1:
            raise UserError(f"--limit is {self.limit!r}; give a number of sentences from 1 up.")
        if self.side_by_side is not None and self.side_by_side < 1:
            raise UserError(f"--side_by_side is {self.side_by_side!r}; give a number of variants from 1 up.")
        Recorder(self.record)


class Analysis:
    """What the scoring callbacks of one analysis share.

    Args:
        module: The trained model, on its device.
        data: The corpus, with the validation split open.
        checkpoint: The file that is analysed.
        output: The folder to write into, in place of the run's own.
        settings: How it is made.
    """

    def __init__(
        self,
        module: LitTransformer,
        data: TranslationDataModule,
        checkpoint: Path,
        output: str | None,
        settings: AnalysisSettings,
    ) -> None:
        self.module, self.data, self.checkpoint, self.settings = module, data, checkpoint, settings
        self.output_folder = Path(output) if output is not None else run_folder_of(checkpoint)
        self.dealer = _dealer()
        self.is_first = self.dealer.rank == 0
        self.evaluator_of = cache(self._evaluator_of)
        self.scorers: tuple[object, ...] = ()
        """The scoring callbacks, in their order."""

    @property
    def is_sample(self) -> bool:
        """Whether the limit leaves sentences out."""
        return self._rows("validation") is not None

    @property
    def is_partial(self) -> bool:
        """Whether the settings leave components out, whatever the callbacks choose."""
        existing, chosen = self.evaluator.components, self.settings.components
        return chosen is not None and len(select(chosen, existing)) < len(existing)

    @property
    def folder(self) -> Path:
        """Where the evaluations and scores of the analysed checkpoint go."""
        folder = self.output_folder / "analysis" / self.checkpoint.stem
        return folder / f"limit-{self.settings.limit}" if self.is_sample else folder

    @property
    def report_folder(self) -> Path:
        """Where pictures go: beside the scores of a sample, which never replace those of the whole set."""
        return self.folder if self.is_sample else self.output_folder / "report"

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator on the validation split, which scores are taken on."""
        return self.evaluator_of("validation")

    @property
    def _device(self) -> torch.device:
        return next(self.module.parameters()).device

    def _side_by_side(self, decoder: VariantDecoder) -> int:
        """Return how many variants are decoded in one batch."""
        if self.settings.side_by_side is not None or self._device.type == "cpu":
            return self.settings.side_by_side or 1
        free = torch.cuda.mem_get_info(self._device)[0] if self._device.type == "cuda" else SPARE_BYTES
        return decoder.fitting(free // 2)

    def about(self, split: str = "validation") -> dict[str, Any]:
        """Return what the scores rest on, as plain types."""
        return {
            "checkpoint": self.checkpoint.name,
            **self.module.scoring_settings(split, self._rows(split)),
        }

    @cached_property
    def initial_digest(self) -> str | None:
        """Digest of the weights that the model was trained from; None where they are not known."""
        return initial_weights_digest(self.checkpoint)

    @cached_property
    def initial_weights(self) -> Mapping[str, Tensor]:
        """The weights that the model was trained from.

        Raises:
            UserError: There are none, or they are those of another run.
        """
        return initial_weights_of(self.checkpoint)

    @cached_property
    def mean_outputs(self) -> Mapping[str, Tensor]:
        """Each component's mean output over training tokens ``(d_model,)``, by id."""
        return mean_outputs(self.module.network, self.training_batches)

    @cached_property
    def training_batches(self) -> list[Batch]:
        """A fixed sample of the training split, on the model's device."""
        self.open_split("train")
        return self._on_device(self.data.whole_batches("train", self._training_rows()))

    @cached_property
    def training_sample(self) -> dict[str, Any]:
        """Number and digest of the pairs of `training_batches`."""
        # Every process opens the split, and one that asks later, by itself, waits for none.
        _ = self.training_batches
        about = self.data.describe("train", self._training_rows())
        return {"pairs": about["sentences"], "digest": about["digest"]}

    def texts(self, split: str) -> list[tuple[str, str]]:
        """Return source and reference of each sentence of a split that is open, in the order of the scoring set."""
        rows, corpus = self._rows(split), self.data.encoded[split]
        return corpus.texts(range(len(corpus)) if rows is None else rows)

    def open_split(self, split: str) -> EncodedCorpus:
        """Open a split of the corpus: the first process makes what the others then find in the caches.

        Raises:
            UserError: A process can't open it; all of them raise it, so that none goes on alone.
        """
        for has_turn in (self.is_first, not self.is_first):
            wrong = []
            try:
                if has_turn:
                    self.data.open_split(split)
            except UserError as error:
                wrong = [str(error)]
            if found := self.dealer.gather(wrong):
                raise UserError(found[0])
        return self.data.encoded[split]

    def _training_rows(self) -> Any:
        return self.data.sample_rows("train", TRAINING_SAMPLE)

    def _rows(self, split: str) -> Any:
        limit = self.settings.limit
        return None if limit is None or limit >= len(self.data.encoded[split]) else self.data.sample_rows(split, limit)

    def _drawn(self, component: str, draw: int) -> Mapping[str, Tensor]:
        """Return fresh weights of a component, none of which the model began with."""
        before = self.initial_digest or self.about()["weights"]
        seed = fresh_seed("rerandomize", self.module.hparams["seed"], draw, before)
        return redrawn(self.module.network.config, component, seed)

    def _on_device(self, batches: Sequence[Batch]) -> list[Batch]:
        return [batch.to(self._device) for batch in batches]

    def _evaluator_of(self, split: str) -> Evaluator:
        corpus, rows = self.open_split(split), self._rows(split)
        about = self.about(split)
        phenomena = corpus.phenomena(range(len(corpus)) if rows is None else rows)
        scoring_set = ScoringSet(
            self._on_device(self.data.whole_batches(split, rows)),
            str(about["scoring_set"]["digest"]),
            split,
            phenomena if any(phenomena) else (),
        )
        identity = {
            "weights": about["weights"],
            "tokenizer": about["tokenizer"],
            "initial_weights": self.initial_digest,
            "batch_tokens": self.data.eval_max_tokens,
            "seed": self.module.hparams["seed"],
            "set": scoring_set.digest,
            "signature": about["signature"],
            "decoding": about["decoding"],
            "device": self._device.type,
        }
        replacements = Replacements(
            initial=lambda: self.initial_weights,
            means=lambda: self.mean_outputs,
            drawn=self._drawn,
        )
        decoder = VariantDecoder(
            self.module.network,
            scoring_set,
            self.data.tokenizer.decode,
            self.module.decoding,
            self.module.bleu,
            replacements,
        )
        return Evaluator(
            decoder,
            scoring_set,
            identity,
            Journal(self.folder, self.dealer.rank),
            Recorder(self.settings.record, exact=bool(scoring_set.phenomena)),
            self.dealer,
            side_by_side=self._side_by_side(decoder),
        )


_analyses = 0


def _dealer() -> Dealer:
    """Return what deals work out to the processes that there are."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return Dealer()
    if torch.distributed.get_world_size() == 1:
        return Dealer()
    global _analyses
    _analyses += 1
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    # Python objects travel between CPUs, whatever the backend of the gradients.
    group = None if torch.distributed.get_backend() == "gloo" else torch.distributed.new_group(backend="gloo")

    def gather(mine: list[Any]) -> list[list[Any]]:
        parts: list[list[Any]] = [[] for _ in range(size)]
        torch.distributed.all_gather_object(parts, mine, group=group)
        return parts

    name = f"lit-transformer-analysis-{_analyses}"
    return StoreDealer(distributed_c10d._get_default_store(), rank, size, gather, name)
