"""The callbacks that each command has beside those that its configuration names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import pytorch_lightning as pl

from lit_transformer.cli.fit_settings import CheckpointSettings, EarlyStoppingSettings
from lit_transformer.errors import UserError
from lit_transformer.training.scoring import ScoringCallback

DEFAULT_SCORING = "callbacks.ContributionScore"


def configured_callbacks(trainer: Mapping[str, Any]) -> list[pl.Callback]:
    """Return the callbacks among the trainer's options, of which one may stand there by itself."""
    given = trainer.get("callbacks") or []
    return list(given) if isinstance(given, list) else [given]


def default_callbacks(
    command: str, config: Mapping[str, Any], trainer: Mapping[str, Any], monitored: Collection[str]
) -> list[pl.Callback]:
    """Return the callbacks that a command has by itself.

    They are named by class path, since the application never imports them.

    Args:
        command: fit, validate, test, predict or analyze.
        config: Its settings.
        trainer: The options that its trainer is made from.
        monitored: Metrics that fit's validation logs.

    Raises:
        UserError: Early stopping watches what is not logged.
    """
    given = configured_callbacks(trainer)
    tracking = _make("callbacks.WandbTracking", log_weights=config["wandb"].log_weights)
    if command == "analyze":
        return [*([] if chooses_scoring(trainer) else [_make(DEFAULT_SCORING)]), tracking]
    shows = trainer.get("enable_progress_bar") is not False
    shows = shows and not any(isinstance(callback, pl.callbacks.ProgressBar) for callback in given)
    progress = [_make("callbacks.RunProgress")] if shows else []
    if command != "fit":
        return [*progress, tracking] if command == "test" else progress
    made = [
        tracking,
        *progress,
        _make("callbacks.Throughput"),
        _make("callbacks.GradientNorm"),
        _make("callbacks.Memory"),
        _make("callbacks.NonTerminated"),
        _make("callbacks.SampleTranslations", count=config["samples"].count),
        *_stopping(config["early_stopping"], monitored),
    ]
    return made if trainer.get("enable_checkpointing") is False else [*made, *_keeping(config["checkpoint"])]


def chooses_scoring(trainer: Mapping[str, Any]) -> bool:
    """Tell whether a scorer is among the callbacks of the trainer's options."""
    return any(isinstance(callback, ScoringCallback) for callback in configured_callbacks(trainer))


def default_scoring() -> tuple[str, dict[str, Any]]:
    """Return the class path of what scores where nobody chose a scorer, and its options."""
    parameters = inspect.signature(type(_make(DEFAULT_SCORING))).parameters.values()
    return DEFAULT_SCORING, {each.name: each.default for each in parameters}


def _stopping(settings: EarlyStoppingSettings, monitored: Collection[str]) -> list[pl.Callback]:
    if settings.patience is None:
        return []
    if settings.monitor not in monitored:
        raise UserError(
            f"--early_stopping.monitor is {settings.monitor!r}, which fit's validation does not log; give one of "
            f"{', '.join(monitored)}."
        )
    return [_make("callbacks.early_stopping.EarlyStopping", **asdict(settings))]


def _keeping(settings: CheckpointSettings) -> list[pl.Callback]:
    made = [_make(f"callbacks.{name}") for name in ("InitialWeights", "BestLossCheckpoint", "BestBLEUCheckpoint")]
    if settings.average > 1:
        made.append(_make("callbacks.RecentCheckpoints", count=settings.average))
    made.append(_make("callbacks.AverageCheckpoint", count=settings.average))
    if settings.keep_steps:
        made.append(_make("callbacks.KeptCheckpoints", steps=settings.keep_steps))
    made.append(_make("callbacks.LastCheckpoint"))
    if settings.every_n_steps is not None:
        made.append(_make("callbacks.LastCheckpoint", every_n_steps=settings.every_n_steps))
    return made


def _make(class_path: str, **arguments: Any) -> pl.Callback:
    module, _, name = class_path.rpartition(".")
    return getattr(importlib.import_module(module), name)(**arguments)
