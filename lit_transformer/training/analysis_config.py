"""The configuration that an analysis leaves beside its scores: it makes all of them again."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_transformer.components import select
from lit_transformer.errors import UserError
from lit_transformer.runs.config import config_of
from lit_transformer.runs.scores import differing, read_scores
from lit_transformer.structure import FIXED_BY_CHECKPOINT, Structure

Entry = dict[str, Any]
"""A callback as a configuration names it: ``class_path`` and ``init_args``."""


def analysis_config(
    config: Mapping[str, Any], checkpoint: Path, structure: Structure, folder: Path, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the configuration of an analysis, with the scorers of earlier ones whose results stand beside its own.

    Args:
        config: The configuration of the command: of ``analyze``, or of a ``fit`` that scores at its end.
        checkpoint: The checkpoint that is analysed.
        structure: The structure of the analysed model.
        folder: The folder of the analysis, before anything is written into it now.
        about: What its scores rest on.
    """
    made = {name: value for name, value in config.items() if name != "start_from"}
    own = list(_entries(config))
    if "start_from" in config:
        # What else a fit has changes the model or watches its training.
        own = [entry for entry in own if _is_scorer(entry)]
        model = dict(made.get("model", {}))
        decided = {name: value for name, value in structure.as_hparams().items() if name in FIXED_BY_CHECKPOINT}
        made["model"] = model | {name: value for name, value in decided.items() if name in model}
    places = _Places(folder, structure, config.get("components"))
    callbacks = _joined(_earlier(places, about), own, places)
    made["trainer"] = {**made.get("trainer", {}), "callbacks": callbacks or None}
    return {**made, "ckpt_path": str(checkpoint)}


@dataclass(frozen=True)
class _Places:
    """Where the scores of scorers go.

    Args:
        folder: The folder of the analysis.
        structure: The structure of the model.
        components: The selectors of the command, which replace those of scorers.
    """

    folder: Path
    structure: Structure
    components: Any

    def of(self, entry: Entry) -> Path:
        own = entry["init_args"].get("components")
        # The folder of some components by the command is theirs already.
        if self.components is not None or not own or not isinstance(own, str | list):
            return self.folder
        existing = self.structure.components
        try:
            return self.folder / "selected" if len(select(own, existing)) < len(existing) else self.folder
        except UserError:
            return self.folder


def _joined(earlier: Sequence[Entry], own: Sequence[Entry], places: _Places) -> list[Entry]:
    """Return the scorers of earlier analyses and the callbacks of now, such that they make what stands there then.

    One that is given again keeps its place where it makes the same there, for another may rest on it. One whose results
    are replaced goes, unless another has made its own of them.
    """
    added: list[Entry] = []
    for entry in own:
        between = [*earlier[earlier.index(entry) + 1 :], *added] if entry in earlier else None
        if (
            between is None
            or any(_replaces(other, entry, places) for other in between)
            or (between and _may_rest(entry))
        ):
            added.append(entry)
    left = added
    for entry in reversed(earlier):
        place = next((n for n, other in enumerate(left) if _replaces(other, entry, places)), None)
        if place is None or any(_may_rest(other) for other in left[:place]):
            left = [entry, *left]
    return left


def _replaces(entry: Entry, earlier: Entry, places: _Places) -> bool:
    """Whether nothing is left of what a scorer found when another one has scored after it."""
    if entry == earlier:
        return True
    names = getattr(_class_of(entry), "apart_by", None)
    if names is None or _class_of(entry) is not _class_of(earlier) or places.of(entry) != places.of(earlier):
        return False
    return all(_argument(entry, name) == _argument(earlier, name) for name in names)


def _may_rest(entry: Entry) -> bool:
    """Whether what a callback finds may depend on what scorers before it have written."""
    return _is_scorer(entry) and bool(getattr(_class_of(entry), "rests_on_others", True))


def _argument(entry: Entry, name: str) -> Any:
    default = inspect.signature(_class_of(entry)).parameters[name].default
    return entry["init_args"].get(name, default)


def _earlier(places: _Places, about: Mapping[str, Any]) -> list[Entry]:
    """Return the scorers of earlier analyses of the same model on the same sentences, among the same components."""
    before = config_of(places.folder)
    # With other components, the command of now would score these in place of those.
    if before.get("components") != places.components:
        return []
    return [entry for entry in _entries(before) if _is_scorer(entry) and _same(places.of(entry), about)]


def _same(folder: Path, about: Mapping[str, Any]) -> bool:
    try:
        return not differing(read_scores(folder), about)
    except UserError:
        return False


def _entries(config: Mapping[str, Any]) -> Iterator[Entry]:
    trainer = config.get("trainer")
    given = (trainer.get("callbacks") if isinstance(trainer, Mapping) else None) or []
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, dict) and isinstance(entry.get("class_path"), str):
            yield {"class_path": entry["class_path"], "init_args": entry.get("init_args") or {}}


def _is_scorer(entry: Entry) -> bool:
    return hasattr(_class_of(entry), "on_analyze")


def _class_of(entry: Entry) -> Any:
    """Return the class of a callback; None for one of the user's own that is gone since then."""
    module, _, name = entry["class_path"].rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return None
