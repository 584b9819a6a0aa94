"""Names in Weights & Biases: of runs, groups, metrics and artifacts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from lit_transformer.runs.config import config_of, section_of

BEST = {
    "train/loss": "min",
    "val/loss": "min",
    "val/perplexity": "min",
    "val/bleu": "max",
    "val/bleu_greedy": "max",
    "val/chrf": "max",
    "val/chrf_greedy": "max",
}
"""Which value of a metric its summary keeps, where that is not the last one."""

STEP = "trainer/global_step"
INDEX = "analysis/index"
"""Place of a component in canonical order: the x-axis of scores."""

COMPONENTS = "analysis/components"
"""The table of components."""

SAMPLES = "samples/translations"
GROUP_ABLATION, LAYER_ABLATION = "group_ablation", "layer_ablation"
REMOVED = "removed"
"""Ends the name of the x-axis of a curve over what was removed."""

STUDY = "study/runs"

HEAT_MAP = "wandb/confusion_matrix/v1"
"""The chart of W&B that draws heat maps: the only one of its own with cells; another would belong to an account."""

HEAT_MAP_FIELDS = {"Actual": "layer", "Predicted": "kind", "nPredictions": "score"}
"""What the chart calls its columns, and what they are called here."""

DIGITS = 12
"""Digits of a digest that an artifact's alias has."""


def score(name: str) -> str:
    """Return the name of a score in the history; each component's own value is ``<this>/<component>`` in the summary.

    Args:
        name: Column of the table of scores.
    """
    return f"analysis/{name}"


def picture(name: str) -> str:
    """Return the name of the picture of a score or curve."""
    return f"analysis/{name}_picture"


def chart(name: str) -> str:
    """Return the name of the chart that W&B draws from a table of its own."""
    return f"analysis/{name}_chart"


def experiment_of(folder: Path) -> str:
    """Return the name of the experiment that the folder of a run belongs to: ``runs/<experiment>/<version>``."""
    return folder.absolute().parent.name


def run_name(folder: Path, command: str) -> str:
    """Return the name of the W&B run of one command on a run's folder."""
    return f"{experiment_of(folder)}-{folder.absolute().name}-{command}"


def parent_of(folder: Path) -> Path | None:
    """Return the folder of the run that a run was started from, if any."""
    return _run_in(config_of(folder), "start_from")


def analysed_run(analysis: Path) -> Path | None:
    """Return the folder of the run that an analysis is of, wherever it lies; None where it does not tell.

    Args:
        analysis: The folder of the analysis.
    """
    return _run_in(config_of(analysis), "ckpt_path")


def _run_in(config: dict[str, Any], name: str) -> Path | None:
    """Return the folder of the run that a setting names by its checkpoint or folder, if any."""
    given = config.get(name)
    if not isinstance(given, str):
        return None
    path = Path(os.path.abspath(given))
    above = path.parent if path.suffix == ".ckpt" else path
    return above.parent if above.name == "checkpoints" else above


def group_of(folder: Path) -> str:
    """Return the group of a run: the one that was given, that of the run it was started from, or the experiment.

    Args:
        folder: The folder of the run; only its name is asked where it is gone.
    """
    seen: set[Path] = set()
    while folder not in seen:
        seen.add(folder)
        given = section_of(config_of(folder), "wandb").get("group")
        if given:
            return str(given)
        parent = parent_of(folder)
        if parent is None:
            break
        folder = parent
    return experiment_of(folder)


def artifact(folder: Path, what: str) -> str:
    """Return the name of an artifact of a run, which W&B keeps versions of.

    Args:
        folder: The folder of the run.
        what: Such as ``tokenizer``, or the stem of a checkpoint.
    """
    return safe(run_name(folder, what))


def safe(name: str) -> str:
    """Return a name with nothing but letters, digits, dots, dashes and underscores, as artifacts have."""
    return re.sub(r"[^\w.-]", "-", name)


def version(name: str, digest: str) -> str:
    """Return the name of the one version of an artifact whose content has this digest."""
    return f"{name}:{digest[:DIGITS]}"
