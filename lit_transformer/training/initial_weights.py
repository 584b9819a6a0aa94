"""The weights that a run started from: kept in a file of its folder, known by their digest to its checkpoints."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from lit_transformer.errors import UserError
from lit_transformer.files import write_bytes
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer, tensors_digest
from lit_transformer.runs.checkpoints import INITIAL_WEIGHTS, read_checkpoint, run_folder_of
from lit_transformer.version import __version__

log = logging.getLogger(__name__)

FILE = "initial_weights.safetensors"


_FORMAT = 1
_HEADER = "lit_transformer.initial_weights"
_HOW = (
    "criticality and rewinding need the weights that training started from; train with the callback "
    "callbacks.InitialWeights, which fit has unless --trainer.enable_checkpointing is false"
)
_MEND = "put back the file that fit wrote, or remove it to have the weights drawn again from their seed"


class NoInitialWeightsError(UserError):
    """Nobody knows the weights that a run started from."""


def initial_record(
    weights: Mapping[str, Tensor],
    seed: int,
    structure: dict[str, Any],
    parent_digest: str | None = None,
    born: Collection[str] = (),
) -> dict[str, Any]:
    """Return what a checkpoint holds about its initial weights, as plain types.

    Args:
        weights: The initial weights by their names in the model's state.
        seed: Seed that they were drawn with.
        structure: Structure of the model that they were drawn for: the fields of its `TransformerConfig`.
        parent_digest: Digest of the initial weights that these were carried over from.
        born: Names of those among them that began in this run.
    """
    return {
        "digest": tensors_digest(weights),
        "seed": seed,
        # As JSON gives it back.
        "structure": {name: list(value) if isinstance(value, tuple) else value for name, value in structure.items()},
        "parent_digest": parent_digest,
        **({"born": sorted(born)} if born else {}),
    }


def first_weights(model: Transformer, seed: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the weights of a model that was not trained yet, not copied, and their record.

    Args:
        model: The model.
        seed: Seed that its weights were drawn with.
    """
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    return weights, initial_record(weights, seed, asdict(model.config))


def carried_weights(
    model: Transformer, parent: str | Path, born: Collection[str] = ()
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the initial weights of another run, as far as a model has them, and their record (method.md 0.5).

    Args:
        model: A model that starts from the weights of the other run.
        parent: A checkpoint of that run.
        born: Names of weights that begin in this run, as those of a component that was drawn anew; their initial
            values are the model's own.

    Raises:
        NoInitialWeightsError: The other run's initial weights are not known.
        UserError: The file in its folder is not theirs, or the model has weights that they lack.
    """
    found = initial_weights_of(parent)
    names = model.state_dict()
    check_initial_weights(found, {name: tensor for name, tensor in names.items() if name not in born}, parent)
    record = read_checkpoint(parent)["lit_transformer"][INITIAL_WEIGHTS]
    weights = {name: tensor.detach() if name in born else found[name] for name, tensor in names.items()}
    # What the parent's own run gave birth to was not drawn from its seed either.
    new = {*born, *(name for name in record.get("born", ()) if name in names)}
    return weights, initial_record(weights, record["seed"], record["structure"], record["digest"], new)


def save_initial_weights(path: str | Path, weights: Mapping[str, Tensor], record: dict[str, Any]) -> None:
    """Write initial weights, whole or not at all; a tensor with several names is written once.

    Args:
        path: The file to write.
        weights: The initial weights by their names in the model's state.
        record: What `initial_record` says about them.

    Raises:
        UserError: The file can't be written.
    """
    places: dict[int, str] = {}
    stored, tied = {}, {}
    for name, tensor in weights.items():
        first = places.setdefault(tensor.data_ptr(), name)
        if first == name:
            stored[name] = tensor.detach().cpu().contiguous()
        else:
            tied[name] = first
    versions = {"lit_transformer": __version__, "torch": str(torch.__version__)}
    header = {"format": _FORMAT, **record, "tied": tied, "versions": versions}
    # One entry, because safetensors writes several in an order that differs from time to time.
    write_bytes(path, save(stored, {_HEADER: json.dumps(header)}))


def load_initial_weights(path: str | Path, expected_digest: str) -> dict[str, Tensor]:
    """Read initial weights.

    Args:
        path: The file.
        expected_digest: The digest that the checkpoint holds.

    Returns:
        The weights by their names in the model's state; nothing else refers to their memory.

    Raises:
        UserError: The file is missing, damaged, of another program or another run.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{str(path)!r} does not exist; {_HOW}.")
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(_HEADER)
            # Copied, because they would lie in the file itself.
            weights = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{str(path)!r} cannot be read as initial weights ({error}); {_MEND}.") from error
    if header is None:
        raise UserError(f"{str(path)!r} is a file of another program; {_MEND}.")
    about = json.loads(header)
    if about["format"] > _FORMAT:
        raise UserError(
            f"{str(path)!r} has format {about['format']} of initial weights, this program reads up to {_FORMAT}; "
            "install a newer lit-transformer."
        )
    weights |= {name: weights[first] for name, first in about["tied"].items()}
    digest = tensors_digest(weights)
    if digest != about["digest"]:
        raise UserError(
            f"{str(path)!r} was changed after it was written: its weights have the digest {digest[:12]}, its header "
            f"says {about['digest'][:12]}; {_MEND}."
        )
    if digest != expected_digest:
        raise UserError(
            f"{str(path)!r} holds the initial weights of another run: their digest is {digest[:12]}, the checkpoint "
            f"was trained from {expected_digest[:12]}; {_MEND}."
        )
    return weights


def initial_weights_of(checkpoint: str | Path) -> dict[str, Tensor]:
    """Return the weights that the run of a checkpoint started from.

    They come from the run's folder. Without their file, which a checkpoint that was copied elsewhere lacks, they are
    made again from their seed, and used only if they have the digest that the checkpoint holds.

    Args:
        checkpoint: A checkpoint file.

    Returns:
        The weights by their names in the model's state.

    Raises:
        NoInitialWeightsError: They are not known.
        UserError: The file in the run's folder is not theirs.
    """
    content = read_checkpoint(checkpoint)
    record = content["lit_transformer"].get(INITIAL_WEIGHTS)
    if record is None:
        raise NoInitialWeightsError(f"{str(checkpoint)!r} was trained without keeping its initial weights; {_HOW}.")
    prefix = "network."
    trained = {name.removeprefix(prefix): tensor for name, tensor in content["state_dict"].items()}
    path = run_folder_of(checkpoint) / FILE
    if path.is_file():
        weights = load_initial_weights(path, record["digest"])
    else:
        drawn = _drawn_again(record, trained)
        if drawn is None:
            raise NoInitialWeightsError(
                f"{str(path)!r} is missing, and seed {record['seed']} gives other weights with torch "
                f"{torch.__version__} than the checkpoint was trained from; put back the file that fit wrote."
            )
        weights = drawn
        log.info("%s is missing; its weights were drawn again from seed %d.", path, record["seed"])
    check_initial_weights(weights, trained, checkpoint)
    return weights


def initial_weights_digest(checkpoint: str | Path) -> str | None:
    """Return the digest of the weights that the run of a checkpoint started from; None if they were not kept.

    Args:
        checkpoint: A checkpoint file.

    Raises:
        UserError: It is no checkpoint.
    """
    record = read_checkpoint(checkpoint)["lit_transformer"].get(INITIAL_WEIGHTS)
    return None if record is None else str(record["digest"])


def check_initial_weights(
    weights: Mapping[str, Tensor], expected: Mapping[str, Tensor], checkpoint: str | Path
) -> None:
    """Refuse initial weights that do not fit a model.

    Args:
        weights: The initial weights by their names in the model's state.
        expected: The model's state.
        checkpoint: Where they come from.

    Raises:
        UserError: The model has a tensor that they lack or hold in another shape.
    """
    for name, tensor in expected.items():
        if name not in weights or weights[name].shape != tensor.shape:
            found = tuple(weights[name].shape) if name in weights else "not among them"
            raise UserError(
                f"the initial weights of {str(checkpoint)!r} are those of another structure: {name} is "
                f"{tuple(tensor.shape)} in the model, {found} there; give a checkpoint of the same structure."
            )


def _drawn_again(record: dict[str, Any], trained: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
    """Return the weights that the seed and structure of a record give, or None if they have another digest."""
    fresh = seeded_transformer(TransformerConfig(**record["structure"]), record["seed"]).state_dict()
    # In the precision that training had, and without what a later run does not have any more.
    weights = {name: fresh[name].to(trained[name].dtype) for name in trained if name in fresh}
    return weights if tensors_digest(weights) == record["digest"] else None
