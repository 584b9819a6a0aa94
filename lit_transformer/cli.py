"""The LightningCLI application: fit, validate, test, predict, analyze."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
import yaml
from jsonargparse import Namespace
from pytorch_lightning.cli import ArgsType, LightningArgumentParser, LightningCLI, SaveConfigCallback
from typing_extensions import override

from lit_transformer.checkpoints import find_checkpoint, read_checkpoint, run_folder_of
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.loggers import WandbSettings, run_loggers
from lit_transformer.module import LitTransformer
from lit_transformer.run_folder import new_run_folder
from lit_transformer.trainer import ScoringCallback, Trainer

STRUCTURE = (
    "encoder_layers",
    "decoder_layers",
    "d_model",
    "feed_forward",
    "heads",
    "norm",
    "tie_embeddings",
    "source_vocab_size",
    "target_vocab_size",
)
# Sections of a configuration that a resumed run takes over, beside model and data.
RESUMED = ("trainer", "checkpoint", "early_stopping", "samples")
DEFAULT_SCORING = "callbacks.ContributionScore"


@dataclass(frozen=True)
class CheckpointSettings:
    """Which checkpoints fit keeps.

    Args:
        average: average.ckpt is the mean of the weights after this many last validations; below 2, there is none.
        every_n_steps: Save last.ckpt every so many optimizer steps too, not only after each validation.
    """

    average: int = 5
    every_n_steps: int | None = None


@dataclass(frozen=True)
class EarlyStoppingSettings:
    """When fit stops before its last epoch.

    Args:
        patience: Stop after this many validations without a better value; not given: never.
        monitor: Metric to watch.
        mode: min or max, whichever is better.
    """

    patience: int | None = None
    monitor: str = "val/loss"
    mode: str = "min"


@dataclass(frozen=True)
class SampleSettings:
    """Sample translations.

    Args:
        count: How many to show after each validation within fit.
    """

    count: int = 3


class SaveConfig(SaveConfigCallback):
    """Writes the configuration into the folder of what it made; each command has its own place."""

    @override
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        pass

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write ``config.yaml`` and ``tokenizer.model`` into the run's folder."""
        if trainer.is_global_zero and isinstance(trainer, Trainer) and not trainer.fast_dev_run:
            self.save(Path(trainer.default_root_dir))
            trainer.datamodule.tokenizer.save(Path(trainer.default_root_dir) / "tokenizer.model")

    def save(self, folder: Path) -> None:
        """Write ``config.yaml``."""
        text = self.parser.dump(self.config, skip_none=False)
        write_text(folder / "config.yaml", text)


class TransformerCLI(LightningCLI):
    """Commands around one checkpoint: what nobody typed comes from it, its structure always."""

    def __init__(self, args: ArgsType = None) -> None:
        super().__init__(
            model_class=LitTransformer,
            datamodule_class=TranslationDataModule,
            trainer_class=Trainer,
            save_config_callback=SaveConfig,
            seed_everything_default=1,
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            parser_kwargs={name: {"exit_on_error": False} for name in self.subcommands()} | {"exit_on_error": False},
            args=args,
        )

    @staticmethod
    @override
    def subcommands() -> dict[str, set[str]]:
        always = {"model", "datamodule", "weights_only"}
        return {
            "fit": {*always, "train_dataloaders", "val_dataloaders"},
            "validate": {*always, "dataloaders", "verbose"},
            "test": {*always, "dataloaders", "verbose"},
            "predict": {*always, "dataloaders", "return_predictions"},
            "analyze": always,
        }

    @override
    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--name", type=str, default="run", help="Name of the experiment: runs/<name>/version_<n>.")
        parser.add_argument("--runs_dir", type=str, default="runs", help="Folder of all runs.")
        parser.add_class_arguments(CheckpointSettings, "checkpoint")
        parser.add_class_arguments(EarlyStoppingSettings, "early_stopping")
        parser.add_class_arguments(SampleSettings, "samples")
        parser.add_class_arguments(WandbSettings, "wandb")
        parser.link_arguments("seed_everything", "model.seed", compute_fn=int)
        parser.link_arguments("seed_everything", "data.seed", compute_fn=int)
        parser.set_defaults({"trainer.max_epochs": 20, "trainer.num_sanity_val_steps": 0})

    @override
    def parse_arguments(self, parser: LightningArgumentParser, args: ArgsType) -> None:
        super().parse_arguments(parser, args)
        command = self.config["subcommand"]
        chosen = self.config[command]
        self.given = chosen.get("ckpt_path") or chosen.get("start_from")
        if self.given is None:
            return
        if chosen.get("ckpt_path") and chosen.get("start_from"):
            raise UserError("give either --ckpt_path (go on with a run) or --start_from (a new run from its weights).")
        purpose: Literal["resume", "score"] = "resume" if command == "fit" and chosen.get("ckpt_path") else "score"
        path = find_checkpoint(self.given, purpose)
        checkpoint = read_checkpoint(path)
        # The values of the checkpoint become the parser's defaults, so that whatever was typed wins over them.
        self._subcommand_parsers[command].set_defaults(checkpoint_defaults(checkpoint, resumed=purpose == "resume"))
        super().parse_arguments(parser, args)
        check_structure(self.config[command]["model"], checkpoint["hyper_parameters"], path)
        self.given = path

    @override
    def _parse_ckpt_path(self) -> None:
        """Do nothing: Lightning would let the checkpoint win over what was typed."""

    @override
    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        command = str(self.subcommand)
        config = self.config_init[command]
        options = {**config["trainer"], **kwargs}
        folder = self._run_folder(command, config)
        options["default_root_dir"] = str(folder)
        if options.get("logger") is None and command in ("fit", "test", "analyze") and not options.get("fast_dev_run"):
            options["logger"] = run_loggers(config["wandb"], folder, command)
        elif options.get("logger") is None:
            options["logger"] = False
        if command != "fit":
            options["enable_checkpointing"] = False
        if command == "predict":
            options["enable_progress_bar"] = False
        if options.get("enable_model_summary") is None:
            options["enable_model_summary"] = command == "fit"
        trainer = self._instantiate_trainer(options, self._callbacks(command, config, options))
        assert isinstance(trainer, Trainer)
        self._dump_config()
        trainer.config = plain(self.config_dump)
        return trainer

    def _run_folder(self, command: str, config: Namespace) -> Path:
        if config["trainer"].get("default_root_dir"):
            return Path(config["trainer"]["default_root_dir"])
        if command == "fit" and not config.get("ckpt_path"):
            return new_run_folder(config["runs_dir"], config["name"])
        if self.given is None:
            raise UserError(f"{command} needs a trained model; give --ckpt_path with a checkpoint or a run's folder.")
        return run_folder_of(self.given)

    def _callbacks(self, command: str, config: Namespace, options: dict[str, Any]) -> list[pl.Callback]:
        """Return the callbacks that each command has beside those of the configuration, named by class path."""
        given = options.get("callbacks") or []
        given = given if isinstance(given, list) else [given]
        if command == "analyze":
            return [] if any(isinstance(callback, ScoringCallback) for callback in given) else [_make(DEFAULT_SCORING)]
        if command != "fit":
            return []
        made = [
            _make("callbacks.Throughput"),
            _make("callbacks.GradientNorm"),
            _make("callbacks.SampleTranslations", count=config["samples"].count),
        ]
        stopping: EarlyStoppingSettings = config["early_stopping"]
        if stopping.patience is not None:
            made.append(_make("pytorch_lightning.callbacks.EarlyStopping", **asdict(stopping)))
        if options.get("enable_checkpointing") is False:
            return made
        kept: CheckpointSettings = config["checkpoint"]
        made += [_make("callbacks.BestLossCheckpoint"), _make("callbacks.BestBLEUCheckpoint")]
        if kept.average > 1:
            made += [
                _make("callbacks.RecentCheckpoints", count=kept.average),
                _make("callbacks.AverageCheckpoint", count=kept.average),
            ]
        made.append(_make("callbacks.LastCheckpoint"))
        if kept.every_n_steps is not None:
            made.append(_make("callbacks.LastCheckpoint", every_n_steps=kept.every_n_steps))
        return made


def checkpoint_defaults(checkpoint: dict[str, Any], resumed: bool) -> dict[str, Any]:
    """Return the settings of a checkpoint as dotted keys of a configuration.

    Args:
        checkpoint: The checkpoint.
        resumed: Take over how it was trained too, not only what the model and its data are.
    """
    model, data = dict(checkpoint["hyper_parameters"]), dict(checkpoint.get("datamodule_hyper_parameters", {}))
    # The tokenizer comes from the checkpoint itself; the file it once came from may be gone.
    data["tokenizer"] = {**data.get("tokenizer", {}), "model": None}
    seed = model.pop("seed")
    data.pop("seed", None)
    defaults = {"seed_everything": seed, **_dotted("model", model), **_dotted("data", data)}
    config = checkpoint["lit_transformer"].get("config") or {}
    if resumed:
        for section in RESUMED:
            defaults.update(_dotted(section, config.get(section, {})))
        defaults.pop("trainer.default_root_dir", None)
    if "name" in config:
        defaults["name"] = config["name"]
    return defaults


def _dotted(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        nested = key in ("decoding", "tokenizer") and isinstance(value, dict)
        flat.update(_dotted(f"{prefix}.{key}", value) if nested else {f"{prefix}.{key}": value})
    return flat


def check_structure(given: Namespace, trained: dict[str, Any], path: Path) -> None:
    """Refuse to load a checkpoint into a model of another structure.

    Raises:
        UserError: A setting of the structure that was typed differs from the checkpoint's.
    """
    for name in STRUCTURE:
        if given[name] != trained[name]:
            raise UserError(
                f"--model.{name} is {given[name]!r}, but {str(path)!r} was trained with {trained[name]!r}; the "
                "structure of a trained model cannot be changed: leave the option out."
            )


def _make(class_path: str, **arguments: Any) -> pl.Callback:
    module, _, name = class_path.rpartition(".")
    return getattr(importlib.import_module(module), name)(**arguments)


def plain(value: Any) -> Any:
    """Return nested settings as plain types, which a checkpoint may hold."""
    return yaml.safe_load(yaml.safe_dump(value))
