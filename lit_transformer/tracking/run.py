"""Writes into the runs of Weights & Biases; the wandb package is loaded only where there is one."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger, WandbLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.tracking import names
from lit_transformer.tracking.wandb_tables import (
    Row,
    bars_of,
    cells_of,
    group_ablation_steps,
    layer_ablation_steps,
    scored,
    table_of,
)

log = logging.getLogger(__name__)


def runs_of(loggers: Sequence[Logger]) -> list[Any]:
    """Return the W&B runs among loggers: those of the first process, none on the others."""
    if getattr(rank_zero_only, "rank", 0):
        return []
    return [logger.experiment for logger in loggers if isinstance(logger, WandbLogger)]


def others_of(loggers: Sequence[Logger]) -> list[Logger]:
    """Return the loggers that are not of W&B."""
    return [logger for logger in loggers if not isinstance(logger, WandbLogger)]


@contextlib.contextmanager
def harmless(what: str) -> Iterator[None]:
    """Turn what goes wrong within W&B into a warning.

    The results are in files by then. Hours of work must not end because a picture of them can't be sent.
    """
    try:
        yield
    except Exception as error:
        log.warning("Weights & Biases did not take %s (%s); the files of the run are complete.", what, error)


def start(run: Any, config: Mapping[str, Any]) -> None:
    """Tell a run its configuration and its axes, before anything is logged.

    Args:
        run: The run.
        config: The whole configuration, as plain types.
    """
    run.config.update(dict(config), allow_val_change=True)
    for name, summary in names.BEST.items():
        run.define_metric(name, step_metric=names.STEP, summary=summary)
    run.define_metric(names.INDEX, hidden=True)


def describe(run: Any, **values: Any) -> None:
    """Add to the configuration of a run what became known later: plain types."""
    run.config.update(values, allow_val_change=True)


def log_samples(loggers: Sequence[Logger], step: int, samples: Sequence[Row]) -> None:
    """Log sample translations as a table: a new one after each validation, which is told by its column ``step``.

    Args:
        loggers: The loggers of the Trainer.
        step: Optimizer step.
        samples: The sentences.
    """
    for run in runs_of(loggers):
        with harmless("the sample translations"):
            made = new_table(*table_of([{"step": step, **sample} for sample in samples]))
            run.log({names.SAMPLES: made})


def log_component_scores(
    loggers: Sequence[Logger], name: str, rows: Sequence[Row], picture: Path | None = None, bars: str | None = None
) -> None:
    """Log a score of components: a line of the history each, their values in the summary, heat maps.

    Args:
        loggers: The loggers of the Trainer.
        name: Column of the score.
        rows: The table of components.
        picture: The heat map as a picture; without it, none is drawn by W&B either.
        bars: Column to draw as sorted bars too.
    """
    values, measure = scored(rows, name), names.score(name)
    for run in runs_of(loggers):
        with harmless(f"the {name} of components"):
            # Exact names win over Lightning's own axis for everything, a pattern might not.
            run.define_metric(measure, step_metric=names.INDEX, summary="none")
            for index, value in enumerate(values.values()):
                run.log({names.INDEX: index, measure: value})
            run.summary.update({f"{measure}/{component}": value for component, value in values.items()})
            if picture is not None:
                run.log({names.chart(name): _heat_map(values, name), **_image(name, picture)})
            if bars is not None:
                run.log({names.chart(bars): _bars(scored(rows, bars), bars)})


def log_group_ablation(loggers: Sequence[Logger], rows: Sequence[Row], picture: Path) -> None:
    """Log the curves of group ablation over the number of components removed.

    Args:
        loggers: The loggers of the Trainer.
        rows: The rows of the orders that were made now.
        picture: The curves as a picture.
    """
    _log_steps(loggers, names.GROUP_ABLATION, group_ablation_steps(rows), picture)


def log_layer_ablation(loggers: Sequence[Logger], rows: Sequence[Row]) -> None:
    """Log the curve of layer ablation over the number of layers removed."""
    _log_steps(loggers, names.LAYER_ABLATION, layer_ablation_steps(rows), None)


def _log_steps(
    loggers: Sequence[Logger], name: str, steps: Sequence[Mapping[str, float]], picture: Path | None
) -> None:
    axis = f"{name}/{names.REMOVED}"
    for run in runs_of(loggers):
        with harmless(f"the curve of {name}"):
            run.define_metric(axis, hidden=True)
            for measure in dict.fromkeys(measure for step in steps for measure in step if measure != axis):
                run.define_metric(measure, step_metric=axis)
            for step in steps:
                run.log(dict(step))
            if picture is not None:
                run.log(_image(name, picture))


def log_components(run: Any, rows: Sequence[Row]) -> None:
    """Log the table of components."""
    run.log({names.COMPONENTS: new_table(*table_of(rows))})


def log_files(run: Any, name: str, kind: str, files: Sequence[Path], digest: str, about: Mapping[str, Any]) -> None:
    """Log files as an artifact; offline, they are uploaded by ``wandb sync``, from where they are.

    Args:
        run: The run.
        name: Name of the artifact.
        kind: What it is: ``initial-weights``, ``tokenizer``, ``checkpoint``, ``scores`` or ``study``.
        files: The files that are there.
        digest: Tells this version from others; its first digits become an alias.
        about: What is told of it.
    """
    import wandb

    made = wandb.Artifact(name, kind, metadata={**about, "digest": digest})
    for file in files:
        # Not copied: weights may be large, and offline the copies would stay.
        made.add_file(str(file.absolute()), policy="immutable", skip_cache=True)
    run.log_artifact(made, aliases=["latest", digest[: names.DIGITS]])


def use(run: Any, inputs: Mapping[str, str]) -> list[str]:
    """Tell what a run was made from: by name in its configuration, and online as lineage too.

    Args:
        run: The run.
        inputs: Names of artifacts with their version, by what they are.

    Returns:
        Those that W&B does not know.
    """
    describe(run, inputs=dict(inputs))
    if run.offline:
        return list(inputs)
    unknown = []
    for what, name in inputs.items():
        try:
            run.use_artifact(name)
        # One that was never uploaded has an exception of its own in every release.
        except Exception as error:
            log.info("Weights & Biases has no %s: %s", name, error)
            unknown.append(what)
    return unknown


def new_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """Return a table of W&B."""
    import wandb

    return wandb.Table(columns=list(columns), data=[list(row) for row in rows])


def finish() -> None:
    """End the run of this command, as failed where an exception is on its way."""
    wandb = sys.modules.get("wandb")
    if wandb is not None and getattr(wandb, "run", None) is not None:
        failed = sys.exc_info()[0] is not None
        with harmless("the end of the run"):
            wandb.finish(exit_code=int(failed))


def _image(name: str, picture: Path) -> dict[str, Any]:
    import wandb

    return {names.picture(name): wandb.Image(str(picture), caption=picture.stem)}


def _heat_map(values: Mapping[str, float], name: str) -> Any:
    import wandb

    title = f"{name} of components, by layer and kind (1: most important)"
    return wandb.plot_table(names.HEAT_MAP, new_table(*cells_of(values)), names.HEAT_MAP_FIELDS, {"title": title})


def _bars(values: Mapping[str, float], column: str) -> Any:
    import wandb

    return wandb.plot.bar(new_table(*bars_of(values, column)), "component", column, title=f"{column} (BLEU points)")
