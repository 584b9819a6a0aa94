"""The LightningModule: trains the Transformer, and scores it by the one path that every command uses."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from sacrebleu import __version__ as sacrebleu_version
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LambdaLR
from typing_extensions import override

from lit_transformer.data.batch import Batch
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.decoding import DecodingSettings
from lit_transformer.errors import UserError
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.metrics.chrf import CorpusChrF
from lit_transformer.model import (
    Transformer,
    TransformerConfig,
    seeded_transformer,
    teacher_forced_losses,
    weights_digest,
)
from lit_transformer.model.attention import attention_class
from lit_transformer.runs.checkpoints import CHECKPOINT_FORMAT, INITIAL_WEIGHTS
from lit_transformer.training.recipe import (
    check_recipe,
    learning_parameters,
    learning_rate_factor,
    set_peak_rate,
    step_seed,
)
from lit_transformer.training.split_scoring import SplitScoring
from lit_transformer.training.translations import Translation
from lit_transformer.version import __version__

log = logging.getLogger(__name__)


class LitTransformer(pl.LightningModule):
    """A Transformer with its training recipe and its way of decoding.

    Args:
        encoder_layers: Layers of the encoder.
        decoder_layers: Layers of the decoder.
        d_model: Width of the residual stream.
        feed_forward: Width of the feed-forward networks' hidden layer.
        heads: Attention heads; they must divide d_model.
        norm: post (Vaswani et al. 2017) or pre (easier to train deep, with a final norm on both stacks).
        tie_embeddings: all (source, target and output projection share one table), target (target and output) or none.
        dropout: Dropout on embeddings and on each sub-layer's output.
        attention_dropout: Dropout on attention weights.
        activation_dropout: Dropout after the feed-forward network's ReLU.
        label_smoothing: Probability mass spread over all pieces in the training loss.
        learning_rate: Peak learning rate.
        warmup_steps: Optimizer steps of linear warm-up to the peak.
        schedule: inverse_sqrt (decay with the square root of the step) or constant, after the warm-up.
        adam_betas: Decay rates of Adam's two averages.
        adam_epsilon: Adam's epsilon.
        decoding: How validation, test, predict and analyze decode.
        validation_decoding: same, or greedy: a cheaper search for validation within fit, logged as val/bleu_greedy.
        bleu_tokenize: sacreBLEU's tokenisation, such as 13a or intl.
        bleu_lowercase: Score without regard to case.
        chrf: Also log chrF.
        layer_drop: By kind of component (d:sa), the probability that a training step goes without one: LayerDrop, for
            models that are to be pruned.
        attention: By kind of component (e:sa, d:sa, d:ea), the name of its attention; dot_product where none is given.
        schedule_start: Optimizer steps that the schedule counts as done at the start: to replay the end of an earlier
            run's (learning-rate rewinding, Renda et al. 2020), its steps minus those of this run.
        pruned: Ids of components that the model does not have; see `callbacks.ComponentPruning`.
        feed_forward_sizes: Width of single feed-forward components, by id, where it is not feed_forward.
        seed: Seed of the initial weights and of dropout.
        source_vocab_size: Number of source pieces; taken from the tokenizer when not given.
        target_vocab_size: Number of target pieces; taken from the tokenizer when not given.
    """

    network: Transformer
    _scoring: SplitScoring
    """The pass over a split that is under way."""

    def __init__(
        self,
        encoder_layers: int = 6,
        decoder_layers: int = 6,
        d_model: int = 512,
        feed_forward: int = 2048,
        heads: int = 8,
        norm: Literal["post", "pre"] = "post",
        tie_embeddings: Literal["all", "target", "none"] = "all",
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        label_smoothing: float = 0.1,
        learning_rate: float = 7e-4,
        warmup_steps: int = 4000,
        schedule: Literal["inverse_sqrt", "constant"] = "inverse_sqrt",
        adam_betas: tuple[float, float] = (0.9, 0.98),
        adam_epsilon: float = 1e-9,
        decoding: DecodingSettings = DecodingSettings(),  # noqa: B008 - frozen, nothing is built from it here
        validation_decoding: Literal["same", "greedy"] = "same",
        bleu_tokenize: str = "13a",
        bleu_lowercase: bool = False,
        chrf: bool = False,
        layer_drop: dict[str, float] | None = None,
        attention: dict[str, str] | None = None,
        schedule_start: int = 0,
        pruned: list[str] | None = None,
        feed_forward_sizes: dict[str, int] | None = None,
        seed: int = 1,
        source_vocab_size: int | None = None,
        target_vocab_size: int | None = None,
    ) -> None:
        super().__init__()
        decoding = decoding if isinstance(decoding, DecodingSettings) else DecodingSettings(**decoding)
        self.save_hyperparameters(
            ignore=["decoding", "adam_betas", "layer_drop", "attention", "pruned", "feed_forward_sizes"]
        )
        # Checkpoints hold plain types only, so that they can be read in five years and with weights_only=True.
        self.save_hyperparameters(
            {
                "decoding": asdict(decoding),
                "adam_betas": list(adam_betas),
                "layer_drop": dict(layer_drop or {}),
                "attention": dict(attention or {}),
                "pruned": list(pruned or ()),
                "feed_forward_sizes": dict(feed_forward_sizes or {}),
            }
        )
        check_recipe(label_smoothing, learning_rate, warmup_steps, schedule_start, adam_betas, adam_epsilon)
        # The structure is checked now, not after the corpus was read.
        self.hparams["pruned"] = self.check_structure()
        self.decoding = decoding
        self.bleu = CorpusBLEU(tokenize=bleu_tokenize, lowercase=bleu_lowercase)
        self.chrf = CorpusChrF() if chrf else None
        self.translations: list[Translation] = []
        self.weights_seed, self.born = seed, set[str]()
        """Seed of the initial weights; names of those that begin in this run, which starts from another's weights."""
        self.initial_weights: dict[str, Any] | None = None
        """The record of the weights that training started from, where they are kept; see `initial_record`."""
        if source_vocab_size is not None and target_vocab_size is not None:
            self.build(source_vocab_size, target_vocab_size)

    @property
    def _data(self) -> TranslationDataModule:
        return self.trainer.datamodule  # type: ignore[attr-defined]

    def build(self, source_vocab_size: int, target_vocab_size: int) -> None:
        """Make the network; its weights depend on the seed and the structure alone.

        Args:
            source_vocab_size: Number of source pieces.
            target_vocab_size: Number of target pieces.
        """
        self.hparams.update(source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
        self.network = seeded_transformer(self._config(source_vocab_size, target_vocab_size), self.hparams["seed"])

    def check_structure(self) -> list[str]:
        """Refuse a structure that no model can have; return the ids of the components that it lacks."""
        structure = self._config(1, 1)
        for kind in structure.attention:
            attention_class(structure, kind)
        return list(structure.pruned)

    def _config(self, source_vocab_size: int, target_vocab_size: int) -> TransformerConfig:
        sizes = {"source_vocab_size": source_vocab_size, "target_vocab_size": target_vocab_size}
        return TransformerConfig(
            **{name: self.hparams[name] for name in TransformerConfig.__dataclass_fields__} | sizes
        )

    @override
    def setup(self, stage: str) -> None:
        tokenizer = self._data.tokenizer
        self.check_tokenizer(not tokenizer.shared)
        sizes = (tokenizer.source_vocab_size, tokenizer.target_vocab_size)
        if not hasattr(self, "network"):
            self.build(*sizes)
        built = (self.hparams["source_vocab_size"], self.hparams["target_vocab_size"])
        if built != sizes:
            raise UserError(
                f"the model has {built[0]} source and {built[1]} target pieces, but the tokenizer has {sizes[0]} and "
                f"{sizes[1]}; give the tokenizer that the model was trained with, or leave --data.tokenizer.model out."
            )

    def check_tokenizer(self, separate: bool) -> None:
        """Refuse to share one table of embeddings between two vocabularies.

        Args:
            separate: The tokenizer has a model for each language.

        Raises:
            UserError: The embeddings are tied all the same.
        """
        if self.hparams["tie_embeddings"] == "all" and separate:
            raise UserError(
                "--model.tie_embeddings all needs one vocabulary, but the tokenizer has one for each language; give "
                "--model.tie_embeddings target, or --data.tokenizer.separate false."
            )

    # Training

    @override
    def configure_optimizers(self) -> Any:
        # The fused kernel is the fastest on the CPU; on a GPU it can't be combined with gradient clipping in 16-mixed.
        optimizer = Adam(
            learning_parameters(self.network),
            lr=self.hparams["learning_rate"],
            **self._adam_settings,
            fused=self.device.type == "cpu",
        )
        factor = learning_rate_factor(
            self.hparams["schedule"], self.hparams["warmup_steps"], self.hparams["schedule_start"]
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": LambdaLR(optimizer, factor), "interval": "step"}}

    @property
    def _adam_settings(self) -> dict[str, Any]:
        return {"betas": tuple(self.hparams["adam_betas"]), "eps": self.hparams["adam_epsilon"]}

    @override
    def configure_gradient_clipping(
        self, optimizer: Optimizer, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        # Lightning refuses a fused optimizer whenever it trains in mixed precision, though nothing is scaled on a CPU.
        if self.device.type == "cpu" and gradient_clip_val and gradient_clip_algorithm in (None, "norm"):
            clip_grad_norm_(self.network.parameters(), gradient_clip_val)
        else:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    @override
    def on_fit_start(self) -> None:
        components = self.network.components()
        inside = sum(p.numel() for sublayer in components.values() for p in sublayer.function.parameters())
        total = sum(parameter.numel() for parameter in self.parameters())
        log.info("Parameters: %s, of them %s in %d components.", f"{total:,}", f"{inside:,}", len(components))

    @override
    def on_train_start(self) -> None:
        # A restored optimizer and scheduler bring back the settings of their own run; what the user typed wins.
        scheduler = self.lr_schedulers()
        if isinstance(scheduler, LambdaLR):
            set_peak_rate(scheduler, self.hparams["learning_rate"])
            for group in scheduler.optimizer.param_groups:
                group.update(self._adam_settings)

    @override
    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout depends on where training is and on nothing before it, so that a resumed run needs no random state.
        torch.manual_seed(step_seed(self.hparams["seed"], self.global_step, batch_idx, self.global_rank))
        # The step that metrics are logged at; resumed after --trainer.max_time had stopped it within an epoch, a run
        # would be one step behind (pytorch-lightning 2.6.6).
        self.trainer.fit_loop.epoch_loop._batches_that_stepped = self.global_step

    @override
    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        loss, _, pieces = teacher_forced_losses(self.network, batch, self.hparams["label_smoothing"])
        loss = loss / pieces
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=pieces)
        self.log("train/learning_rate", self.lr_schedulers().get_last_lr()[0])  # type: ignore[union-attr]
        return loss

    # Scoring: one path for fit's validation, validate, test and predict

    @property
    def validation_bleu(self) -> str:
        """Name under which fit's validation logs BLEU."""
        return "val/bleu_greedy" if self._search_of("fit") is not self.decoding else "val/bleu"

    @property
    def validation_metrics(self) -> list[str]:
        """Names of what fit's validation logs."""
        bleu = self.validation_bleu
        chrf = [] if self.chrf is None else [bleu.replace("bleu", "chrf")]
        return ["val/loss", "val/perplexity", bleu, *chrf, "val/non_terminated"]

    def _search_of(self, command: str | None) -> DecodingSettings:
        if command == "fit" and self.hparams["validation_decoding"] == "greedy" and self.decoding.beam > 1:
            return DecodingSettings(**{**asdict(self.decoding), "beam": 1})
        return self.decoding

    @torch.no_grad()
    def validation_score(self) -> tuple[float, DecodingSettings]:
        """Return what fit's validation would give, outside of its loop: BLEU from 0 to 100, and how it decodes."""
        training, search = self.training, self._search_of("fit")
        self.eval()
        self._begin_pass(search)
        for batch in self._data.val_dataloader():
            self._scoring.add(batch.to(self.device))
        bleu = float(self.bleu.compute())
        self.bleu.reset()
        if self.chrf is not None:
            self.chrf.reset()
        del self._scoring
        self.train(training)
        return bleu, search

    def _begin_pass(self, search: DecodingSettings) -> None:
        detokenize, smoothing = self._data.tokenizer.decode, self.hparams["label_smoothing"]
        self._scoring = SplitScoring(self.network, search, detokenize, smoothing, self.bleu, self.chrf)

    def _end_pass(self, split: str, bleu_name: str) -> None:
        def reduce(sums: Tensor) -> Tensor:
            # Sums are float64, which MPS does not have.
            sums = sums.to(self.device if self.device.type != "mps" else "cpu")
            return self.trainer.strategy.reduce(sums, reduce_op="sum")

        self.translations = self._scoring.translations()
        values = self._scoring.totals(split, bleu_name, self.translations, reduce)
        del self._scoring
        # Every process holds the same totals already.
        for name, value in values.items():
            self.log(name, value.float(), prog_bar=name in (bleu_name, f"{split}/loss"), sync_dist=False)

    @override
    def on_validation_epoch_start(self) -> None:
        self._begin_pass(self._search_of(self.trainer.state.fn))

    @override
    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self._scoring.add(batch)

    @override
    def on_validation_epoch_end(self) -> None:
        self._end_pass("val", self.validation_bleu if self.trainer.state.fn == "fit" else "val/bleu")

    @override
    def on_test_epoch_start(self) -> None:
        self._begin_pass(self.decoding)

    @override
    def test_step(self, batch: Batch, batch_idx: int) -> None:
        self._scoring.add(batch)

    @override
    def on_test_epoch_end(self) -> None:
        self._end_pass("test", "test/bleu")

    @override
    def on_predict_epoch_start(self) -> None:
        self._begin_pass(self.decoding)

    @override
    def predict_step(self, batch: Batch, batch_idx: int) -> list[Translation]:
        return self._scoring.translate(batch)

    @override
    def on_predict_epoch_end(self) -> None:
        self.translations = self._scoring.translations()
        del self._scoring

    def scoring_settings(self, split: str, rows: Any = None) -> dict[str, Any]:
        """Return what a score of this model rests on, as plain types.

        Args:
            split: The split that was scored.
            rows: Only these sentences, a sample.
        """
        return {
            "scoring_set": self._data.describe(split, rows),
            "signature": self.bleu.signature,
            **({} if self.chrf is None else {"chrf_signature": self.chrf.signature}),
            "decoding": asdict(self.decoding),
            "weights": weights_digest(self.network),
            "tokenizer": self._data.tokenizer.digest,
            "data": dict(self._data.hparams),
            "versions": {
                "lit_transformer": __version__,
                "torch": str(torch.__version__),
                "sacrebleu": sacrebleu_version,
            },
        }

    @override
    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        config = getattr(self.trainer, "config", None)
        about = {"format": CHECKPOINT_FORMAT, "version": __version__, "config": config}
        kept = {} if self.initial_weights is None else {INITIAL_WEIGHTS: self.initial_weights}
        checkpoint["lit_transformer"] = {**about, **kept}

    @override
    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.initial_weights = checkpoint.get("lit_transformer", {}).get(INITIAL_WEIGHTS)
