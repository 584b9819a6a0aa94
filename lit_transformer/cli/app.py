"""The LightningCLI application: fit, validate, test, predict, analyze."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
import yaml
from jsonargparse import Namespace
from pytorch_lightning.cli import ArgsType, LightningArgumentParser, LightningCLI, SaveConfigCallback
from typing_extensions import override

from lit_transformer.cli.checkpoint_settings import (
    check_structure,
    check_tokenizer,
    checkpoint_defaults,
    drop_replaced_callbacks,
    settle_start,
)
from lit_transformer.cli.corpus_choice import files_instead
from lit_transformer.cli.default_callbacks import (
    chooses_scoring,
    configured_callbacks,
    default_callbacks,
    default_scoring,
)
from lit_transformer.cli.fit_settings import CheckpointSettings, EarlyStoppingSettings, SampleSettings
from lit_transformer.cli.processes import end_launched
from lit_transformer.console.flags import EVERYWHERE, accept_flags
from lit_transformer.console.terminal import is_quiet
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.selection import config_in_current_terms
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint, run_folder_of
from lit_transformer.runs.folder import new_run_folder, remove_if_empty
from lit_transformer.structure import STRUCTURE
from lit_transformer.tracking.loggers import run_loggers
from lit_transformer.tracking.run import finish
from lit_transformer.tracking.wandb_settings import WandbSettings
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


class SaveConfig(SaveConfigCallback):
    """Writes the configuration into the folder of what it made; each command has its own place."""

    @override
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        pass

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write ``config.yaml`` and ``tokenizer.model`` into the run's folder."""
        if trainer.is_global_zero and isinstance(trainer, Trainer) and not trainer.fast_dev_run:
            self.save(Path(trainer.default_root_dir), trainer.config or {})
            trainer.datamodule.tokenizer.save(Path(trainer.default_root_dir) / "tokenizer.model")

    def save(self, folder: Path, origin: dict[str, Any]) -> None:
        """Write ``config.yaml``."""
        config = self.config.clone()
        for name in ("ckpt_path", "start_from"):
            config[name] = origin.get(name)
        for name in STRUCTURE:
            if name in origin.get("model", {}):
                config["model"][name] = origin["model"][name]
        text = self.parser.dump(config, skip_none=False)
        write_text(folder / "config.yaml", text)


class TransformerCLI(LightningCLI):
    """Commands around one checkpoint: what nobody typed comes from it, its structure always."""

    def __init__(self, args: ArgsType = None) -> None:
        self.new_folder: Path | None = None
        # An abbreviated option would be taken for another one as soon as there are two that it may stand for.
        strict: dict[str, Any] = {"exit_on_error": False, "allow_abbrev": False}
        try:
            super().__init__(
                model_class=LitTransformer,
                datamodule_class=TranslationDataModule,
                trainer_class=Trainer,
                save_config_callback=SaveConfig,
                seed_everything_default=1,
                auto_configure_optimizers=False,
                load_from_checkpoint_support=False,
                parser_kwargs={name: strict for name in self.subcommands()} | strict,
                args=args,
            )
        except BaseException:
            if isinstance(trainer := getattr(self, "trainer", None), Trainer):
                end_launched(trainer.strategy.launcher)
            raise
        finally:
            finish()
            if self.new_folder is not None:
                remove_if_empty(self.new_folder)

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
        self._finish_parsers()
        self.parent: str | None = None
        self.structure_before: dict[str, Any] = {}
        typed = [arg for arg in sys.argv[1:] if not arg.startswith("--print_config")]
        printing = args is None and typed != sys.argv[1:]
        if printing:
            # Printing ends the program, and what a checkpoint holds is not in the configuration yet.
            self.config = parser.parse_args(typed)
        else:
            super().parse_arguments(parser, args)
        command = self.config["subcommand"]
        chosen = self.config[command]
        settle_start(chosen, printing)
        self.given = chosen.get("ckpt_path") or chosen.get("start_from")
        if self.given is None:
            if self._files_replace(chosen) or printing:
                super().parse_arguments(parser, args)
            return
        if chosen.get("ckpt_path") and chosen.get("start_from"):
            raise UserError("give either --ckpt_path (go on with a run) or --start_from (a new run from its weights).")
        purpose: Literal["resume", "score"] = "resume" if command == "fit" and chosen.get("ckpt_path") else "score"
        path = find_checkpoint(self.given, purpose)
        checkpoint = read_checkpoint(path)
        about = checkpoint["lit_transformer"]
        config = config_in_current_terms(about.get("config") or {})
        checkpoint = {**checkpoint, "lit_transformer": {**about, "config": config}}
        # The values of the checkpoint become the parser's defaults, so that whatever was typed wins over them.
        self._subcommand_parsers[command].set_defaults(checkpoint_defaults(checkpoint, resumed=purpose == "resume"))
        self._files_replace(chosen, checkpoint.get("datamodule_hyper_parameters"))
        super().parse_arguments(parser, args)
        settle_start(self.config[command])
        check_structure(self.config[command]["model"], checkpoint["hyper_parameters"], path)
        check_tokenizer(self.config[command]["data"]["tokenizer"], checkpoint, path)
        self.given = path
        self.parent = str(path.absolute())
        if purpose == "resume":
            before = checkpoint["lit_transformer"].get("config") or {}
            self.parent = before.get("start_from")
            self.structure_before = {name: before["model"].get(name) for name in STRUCTURE if "model" in before}
            self._keep_place(self.config[command], before)
            drop_replaced_callbacks(self.config[command]["trainer"], before.get("trainer", {}).get("callbacks") or [])

    def _finish_parsers(self) -> None:
        """Give the parsers of the commands what `study` and `report` have too."""
        for name, parser in self._subcommand_parsers.items():
            parser.prog, parser.epilog = f"lit-transformer {name}", EVERYWHERE
            accept_flags(parser, classes=["trainer.callbacks"])

    @staticmethod
    def _files_replace(options: Namespace, before: Mapping[str, Any] | None = None) -> bool:
        """Add what lets named files replace the built-in corpus to the command line, which other processes read too."""
        added = files_instead(options["data"], sys.argv[1:], before)
        sys.argv += added
        return bool(added)

    @staticmethod
    def _keep_place(config: Namespace, before: Mapping[str, Any]) -> None:
        """Let a resumed run record the name and folder that it has, whatever a configuration says."""
        for name in ("name", "runs_dir"):
            if before.get(name, config[name]) != config[name]:
                log.warning(
                    "--%s %s changes nothing: a run that goes on stays where it is; --start_from begins a new one.",
                    name,
                    config[name],
                )
                config[name] = before[name]

    @override
    def _set_seed(self) -> None:
        seed = self.config[self.subcommand]["seed_everything"]
        if isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise UserError(f"--seed_everything is {seed!r}; give a whole number from 0 to {2**32 - 1}.")
        super()._set_seed()

    @override
    def _parse_ckpt_path(self) -> None:
        """Do nothing: Lightning would let the checkpoint win over what was typed."""

    @override
    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        command = str(self.subcommand)
        config = self.config_init[command]
        options = self._trainer_options(command, config, kwargs)
        # Lightning adds to the list that it is given.
        scoring_chosen = chooses_scoring(options)
        added = default_callbacks(command, config, options, self.model.validation_metrics)
        trainer = self._instantiate_trainer(options, added)
        assert isinstance(trainer, Trainer)
        self._dump_config()
        trainer.config = self._recorded(command, scoring_chosen)
        return trainer

    def _trainer_options(self, command: str, config: Namespace, added: Mapping[str, Any]) -> dict[str, Any]:
        options = {**config["trainer"], **added}
        folder = self._run_folder(command, config)
        options["default_root_dir"] = str(folder)
        silent = options.get("fast_dev_run") or (command == "analyze" and config["dry_run"])
        if options.get("logger") is None and command in ("fit", "test", "analyze") and not silent:
            options["logger"] = run_loggers(config["wandb"], folder, command, self.given)
        elif options.get("logger") is None:
            options["logger"] = False
        if command != "fit":
            options["enable_checkpointing"] = False
        if command == "analyze" or is_quiet():
            # An analysis shows its evaluations.
            options["enable_progress_bar"] = False
            given = configured_callbacks(options)
            options["callbacks"] = [each for each in given if not isinstance(each, pl.callbacks.ProgressBar)]
        if options.get("enable_model_summary") is None:
            # It knows no components; the model itself says how many parameters they have.
            options["enable_model_summary"] = False
        return options

    def _recorded(self, command: str, scoring_chosen: bool) -> dict[str, Any]:
        """Return the configuration that checkpoints and analyses keep."""
        recorded: dict[str, Any] = plain(self.config_dump)
        if command == "fit":
            # A resumed run is still the run that it was: its configuration trains it anew, from the parent it had.
            recorded |= {"ckpt_path": None, "start_from": self.parent}
            # Of a run that changed its structure, the one that it began with.
            recorded["model"] |= self.structure_before
        elif command == "analyze" and not scoring_chosen:
            # What scores where nobody chose a scorer is a choice too, which a later analysis has to know.
            typed = recorded["trainer"].get("callbacks") or []
            class_path, init_args = default_scoring()
            scoring = {"class_path": class_path, "init_args": plain(init_args)}
            recorded["trainer"]["callbacks"] = [*(typed if isinstance(typed, list) else [typed]), scoring]
        return recorded

    def _run_folder(self, command: str, config: Namespace) -> Path:
        if config["trainer"].get("default_root_dir"):
            return Path(config["trainer"]["default_root_dir"])
        if command == "analyze" and config.get("output"):
            return Path(config["output"])
        if command == "fit" and not config.get("ckpt_path"):
            self.model.check_tokenizer(self.datamodule.tokenizer_settings.separate)
            self.new_folder = new_run_folder(config["runs_dir"], config["name"])
            return self.new_folder
        if self.given is None:
            raise UserError(f"{command} needs a trained model; give --ckpt_path with a checkpoint or a run's folder.")
        return run_folder_of(self.given)


def plain(value: Any) -> Any:
    """Return nested settings as plain types, which a checkpoint may hold."""
    return yaml.safe_load(yaml.safe_dump(value))
