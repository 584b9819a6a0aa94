"""The configuration that an analysis leaves beside its scores: it makes all of them again."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from lit_transformer.checkpoint_settings import STRUCTURE
from lit_transformer.errors import UserError
from lit_transformer.importance.tables import SAME, SCORES_FORMAT, read_scores

Entry = dict[str, Any]
"""A callback as a configuration names it: ``class_path`` and ``init_args``."""


def analysis_config(
    config: Mapping[str, Any], checkpoint: Path, structure: Mapping[str, Any], folder: Path, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the configuration of an analysis, with the scorers of earlier ones whose results stand beside its own.

    Args:
        config: The configuration of the command: of ``analyze``, or of a ``fit`` that scores at its end.
        checkpoint: The checkpoint that is analysed.
        structure: The settings of the analysed model.
        folder: The folder of the analysis, before anything is written into it now.
        about: What its scores rest on.
    """
    made = {name: value for name, value in config.items() if name != "start_from"}
    own = list(_entries(config))
    if "start_from" in config:
        # What else a fit has changes the model or watches its training.
        own = [entry for entry in own if _is_scorer(entry)]
        made["model"] = dict(made.get("model", {})) | {
            name: structure[name] for name in STRUCTURE if name in structure and name in made.get("model", {})
        }
    earlier = _earlier(folder, about, config.get("components"))
    # One that is given again keeps its place: another may need its scores.
    own = [entry for entry in own if entry not in earlier]
    made["trainer"] = {**made.get("trainer", {}), "callbacks": [*earlier, *own] or None}
    return {**made, "ckpt_path": str(checkpoint)}


def _earlier(folder: Path, about: Mapping[str, Any], components: str | None) -> list[Entry]:
    """Return the scorers of earlier analyses of the same model on the same sentences, among the same components."""
    if not any(_same(place, {"format": SCORES_FORMAT, **about}) for place in (folder, folder / "selected")):
        return []
    try:
        before = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return []
    # With other components, the command of now would score these in place of those.
    same = isinstance(before, Mapping) and before.get("components") == components
    return [entry for entry in _entries(before) if _is_scorer(entry)] if same else []


def _same(folder: Path, about: Mapping[str, Any]) -> bool:
    try:
        before = read_scores(folder)
    except UserError:
        return False
    return all(before.get(name) == about.get(name) for name in SAME)


def _entries(config: Any) -> Iterator[Entry]:
    trainer = config.get("trainer") if isinstance(config, Mapping) else None
    given = (trainer.get("callbacks") if isinstance(trainer, Mapping) else None) or []
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, dict) and isinstance(entry.get("class_path"), str):
            yield {"class_path": entry["class_path"], "init_args": entry.get("init_args") or {}}


def _is_scorer(entry: Entry) -> bool:
    module, _, name = entry["class_path"].rpartition(".")
    try:
        return hasattr(getattr(importlib.import_module(module), name), "on_analyze")
    # A callback of the user's own that is gone since then.
    except (ImportError, AttributeError, ValueError):
        return False
