"""The settings that a command takes over from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from lit_transformer.components import component_ids, select
from lit_transformer.errors import UserError
from lit_transformer.structure import STRUCTURE

# Sections of a configuration that a resumed run takes over, beside model and data.
RESUMED = ("trainer", "checkpoint", "early_stopping", "samples")


OPEN = "RUN"
"""What stands for --start_from in a configuration that makes no sense without it."""


def settle_start(options: Namespace, printing: bool = False) -> None:
    """Refuse a start that a configuration leaves open, such as that of continued training; a resumed run needs none.

    Args:
        options: Options of a command; changed.
        printing: They are only printed.

    Raises:
        UserError: Nobody gave --start_from.
    """
    if options.get("start_from") != OPEN or Path(OPEN).exists():
        return
    if not printing and not options.get("ckpt_path"):
        raise UserError(
            "a --config leaves --start_from open, because it is for a model that was trained before; give --start_from "
            "with a run's folder or a checkpoint."
        )
    options["start_from"] = None


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
    if not resumed:
        # A new run's schedule begins at its own start.
        model.pop("schedule_start", None)
    defaults = {"seed_everything": seed, **_dotted("model", model), **_dotted("data", data)}
    config = checkpoint["lit_transformer"].get("config") or {}
    if resumed:
        for section in RESUMED:
            defaults.update(_dotted(section, config.get(section, {})))
        defaults.pop("trainer.default_root_dir", None)
    if "name" in config:
        defaults["name"] = config["name"]
    # What belongs to one run lies in one project.
    for name in ("project", "entity"):
        if name in config.get("wandb", {}):
            defaults[f"wandb.{name}"] = config["wandb"][name]
    return defaults


def drop_replaced_callbacks(options: Namespace, before: list[dict[str, Any]]) -> None:
    """Leave out the callbacks of a checkpoint that were typed again (``--trainer.callbacks+=``) to resume it.

    Args:
        options: Options of the Trainer; changed.
        before: The callbacks of the checkpoint, by class path.
    """
    callbacks = options["callbacks"] or []
    # A name alone, typed in place of those that the run had.
    callbacks = callbacks if isinstance(callbacks, list) else [callbacks]
    names = [callback["class_path"] for callback in callbacks]
    if names[: len(before)] == [callback["class_path"] for callback in before]:
        added = names[len(before) :]
        options["callbacks"] = [
            callback
            for place, callback in enumerate(callbacks)
            if place >= len(before) or callback["class_path"] not in added
        ] or None


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
    # A run's own config.yaml leaves these open.
    for name in ("pruned", "feed_forward_sizes", "attention", "source_vocab_size", "target_vocab_size"):
        if given[name] is None or _same_components(name, given, trained):
            given[name] = trained.get(name)
    for name in STRUCTURE:
        # A checkpoint of before there was pruning says nothing of it.
        if (given[name] or None) != (trained.get(name) or None):
            raise UserError(
                f"--model.{name} is {given[name]!r}, but {str(path)!r} was trained with {trained.get(name)!r}; the "
                "structure of a trained model cannot be changed: leave the option out, here and in --config."
            )


def check_tokenizer(given: Namespace, checkpoint: dict[str, Any], path: Path) -> None:
    """Refuse options of the tokenizer that a checkpoint's own was not made with: it is the one that is used.

    Args:
        given: The options; with a file of a tokenizer, which is compared when it is read, the others are not used.
        checkpoint: The checkpoint.
        path: Where it is.

    Raises:
        UserError: An option that was typed differs from the checkpoint's.
    """
    before = checkpoint.get("datamodule_hyper_parameters", {}).get("tokenizer", {})
    sizes = [checkpoint["hyper_parameters"].get(f"{side}_vocab_size") for side in ("source", "target")]
    if given["model"] is not None:
        return
    for name, trained_with in before.items():
        # A tokenizer that was given as a file may have another size than the option that came with it.
        same = given[name] == trained_with or (name == "vocab_size" and given[name] in sizes)
        if name != "model" and not same:
            raise UserError(
                f"--data.tokenizer.{name} is {given[name]!r}, but {str(path)!r} was trained with {trained_with!r} and "
                "brings its tokenizer along: leave the option out, here and in --config."
            )


def _same_components(name: str, given: Namespace, trained: dict[str, Any]) -> bool:
    """Whether the selectors that were typed name what the checkpoint lacks."""
    if name != "pruned" or not given[name] or not trained.get(name):
        return False
    every = component_ids(trained["encoder_layers"], trained["decoder_layers"])
    return set(select(given[name], every)) == set(trained[name])
