"""What a study has to know of a trained model before it changes it: scorers that are still to run, their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_transformer.errors import UserError
from lit_transformer.importance.matching import most_components
from lit_transformer.importance.selection import Selection
from lit_transformer.runs.scores import SCORES_FILE, read_scores
from lit_transformer.study.arm_configs import allowed, scores_folder
from lit_transformer.study.arms import Arm, Base, Chosen
from lit_transformer.study.study_settings import StudySettings, random_seed

Callback = dict[str, Any]
_SCORERS = {"contribution": "ContributionScore", "criticality": "CriticalityScore"}


@dataclass(frozen=True)
class Draws:
    """What components cost before any fine-tuning: those that were chosen by their scores, and random ones.

    Args:
        chosen: BLEU on validation without the chosen ones.
        random: BLEU on validation without those of each random choice.
    """

    chosen: float
    random: tuple[float, ...]


def missing_scorers(settings: StudySettings, base: Base) -> list[Callback]:
    """Return the scorers of a model's components, as a configuration names them; none where all have scored.

    Args:
        settings: Settings of the study.
        base: The model.
    """
    if settings.by == "group_ablation":
        wanted = settings.count or min(most_components(base.structure), len(allowed(settings, base.structure)))
        if len(_removed(settings, base, "greedy")) >= wanted:
            return []
        return [_callback("GroupAblation", components=settings.components, k=wanted, order="greedy", test=False)]
    # Equal scores are told apart by the drop that the contribution is made of.
    scored = _read(base.analysis, base).get("components", [])
    wanted_scores = list(dict.fromkeys(("contribution", settings.by)))
    known = [{row["component"] for row in scored if score in row} for score in wanted_scores]
    callbacks = [_callback(_SCORERS[score]) for score in wanted_scores]
    return _all_or_none(callbacks, [names.issuperset(base.structure.components) for names in known])


def missing_ablations(settings: StudySettings, base: Base, chosen: Chosen, arms: list[Arm]) -> list[Callback]:
    """Return the ablations that are made once it is known how many components are chosen; none where all are made.

    Args:
        settings: Settings of the study.
        base: The model.
        chosen: What is decided for the whole study.
        arms: The arms of the study.
    """
    callbacks, made = [], []
    if chosen.layers is not None and any(arm.choice == "layers" for arm in arms):
        rows = _read(base.analysis, base).get("layer_ablation", {}).get("rows", [])
        callbacks.append(_callback("LayerAblation", count=chosen.layers))
        made.append(sum(int(row["step"]) > 0 for row in rows) >= chosen.layers)
    if chosen.count is not None and settings.random_draws:
        shared = {"components": settings.components, "k": chosen.count, "test": False}
        seeds, order = _draw_seeds(settings, base), _order_name(settings)
        callbacks.append(_callback("GroupAblation", **shared, order="random", seeds=seeds))
        made.append(all(len(_removed(settings, base, f"random-{seed}")) >= chosen.count for seed in seeds))
        callbacks.append(_callback("GroupAblation", **shared, order=order))
        made.append(len(_removed(settings, base, order)) >= chosen.count)
    return _all_or_none(callbacks, made)


def importance_order(settings: StudySettings, base: Base) -> list[str]:
    """Return the components in the order in which a study chooses them, the least important first.

    Raises:
        UserError: The scores are missing, or lack something.
    """
    names = allowed(settings, base.structure)
    count = len(_removed(settings, base, "greedy")) if settings.by == "group_ablation" else len(names)
    selection = Selection(by=settings.by, count=max(count, 1), among=names)
    return selection.of(base.structure.components, read_scores(scores_folder(settings, base)))


def draws_of(settings: StudySettings, base: Base, count: int) -> Draws | None:
    """Return what the chosen components and random ones cost before any fine-tuning, as far as that was asked for.

    Args:
        settings: Settings of the study.
        base: The model.
        count: How many components are chosen.
    """
    seeds = _draw_seeds(settings, base)
    chosen = _removed(settings, base, _order_name(settings))
    random = [_removed(settings, base, f"random-{seed}") for seed in seeds]
    if not seeds or any(len(rows) < count for rows in (chosen, *random)):
        return None
    return Draws(_bleu_at(count, chosen), tuple(_bleu_at(count, rows) for rows in random))


def _bleu_at(count: int, rows: list[Mapping[str, Any]]) -> float:
    return float(rows[count - 1]["validation_bleu"])


def _all_or_none(callbacks: list[Callback], made: list[bool]) -> list[Callback]:
    """Return all callbacks where one of them is to be run, so that a stage that was interrupted is the same again.

    What the others have evaluated is in the journal and costs nothing.
    """
    return [] if all(made) else callbacks


def _draw_seeds(settings: StudySettings, base: Base) -> list[int]:
    return [random_seed(base.seed, draw) for draw in range(1, settings.random_draws + 1)]


def _order_name(settings: StudySettings) -> str:
    return "greedy" if settings.by == "group_ablation" else settings.by


def _removed(settings: StudySettings, base: Base, order: str) -> list[Mapping[str, Any]]:
    """Return the rows of a group ablation's steps, in their order."""
    partial = len(allowed(settings, base.structure)) < len(base.structure.components)
    folder = base.analysis / "selected" if partial else base.analysis
    rows = _read(folder, base).get("group_ablation", {}).get("rows", [])
    return [row for row in rows if row["order"] == order and row["component"]]


def _read(folder: Path, base: Base) -> dict[str, Any]:
    """Return the scores in a folder; nothing where there are none of this checkpoint."""
    try:
        older = (folder / SCORES_FILE).stat().st_mtime < base.checkpoint.stat().st_mtime
        return {} if older else read_scores(folder)
    except (UserError, OSError):
        return {}


def _callback(name: str, **arguments: Any) -> Callback:
    return {"class_path": f"callbacks.{name}", "init_args": arguments}
