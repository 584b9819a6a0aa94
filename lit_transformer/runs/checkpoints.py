"""Checkpoint files: found, read with clear errors, written whole, averaged."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO
from typing_extensions import override

from lit_transformer.errors import UserError
from lit_transformer.files import replacing

CHECKPOINT_FORMAT = 1
FOLDER = "checkpoints"
INITIAL_WEIGHTS = "initial_weights"
"""Where a checkpoint holds the record of its initial weights, within its section ``lit_transformer``."""
TRAINING_STATE = ("optimizer_states", "lr_schedulers", "loops", "callbacks")


def find_checkpoint(path: str | Path, purpose: Literal["score", "resume"] = "score") -> Path:
    """Return the checkpoint file that a path means.

    Args:
        path: A checkpoint, or the folder of a run.
        purpose: Which one of a run's folder: to score, ``average.ckpt`` if there is one, else ``best-loss.ckpt``; to
            resume, ``last.ckpt``.

    Raises:
        UserError: There is none.
    """
    path = Path(path)
    if path.is_file():
        return path
    if not path.exists():
        raise UserError(f"checkpoint {str(path)!r} does not exist; give a .ckpt file or the folder of a run.")
    names = ("last.ckpt",) if purpose == "resume" else ("average.ckpt", "best-loss.ckpt")
    for name in names:
        for candidate in (path / FOLDER / name, path / name):
            if candidate.is_file():
                return candidate
    raise UserError(f"no checkpoint in {str(path)!r}; looked for {' and '.join(f'{FOLDER}/{name}' for name in names)}.")


def run_folder_of(checkpoint: str | Path) -> Path:
    """Return the folder of the run that a checkpoint belongs to; for a stray file, the folder it lies in."""
    folder = Path(os.path.abspath(checkpoint)).parent
    return folder.parent if folder.name == FOLDER else folder


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint of this program; it holds tensors and plain types only.

    Raises:
        UserError: The file is missing, is no checkpoint, or is one of another program or of a later version.
    """
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else "it cannot be read as a checkpoint"
        raise UserError(
            f"{str(path)!r} is no checkpoint of lit-transformer: {reason}; give a .ckpt file that fit wrote."
        ) from error
    about = checkpoint.get("lit_transformer") if isinstance(checkpoint, dict) else None
    if not isinstance(about, dict) or "format" not in about:
        raise UserError(
            f"{str(path)!r} is a file of another program; give a .ckpt file that lit-transformer fit wrote."
        )
    if about["format"] > CHECKPOINT_FORMAT:
        raise UserError(
            f"{str(path)!r} has checkpoint format {about['format']}, this program reads up to {CHECKPOINT_FORMAT}; "
            "install a newer lit-transformer."
        )
    return checkpoint


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint whole or not at all, also where the temporary folder is another file system."""

    @override
    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write the checkpoint.

        Raises:
            UserError: It can't be written, for example because the disk is full.
        """
        with replacing(path) as temporary:
            try:
                torch.save(checkpoint, temporary)
            except RuntimeError as error:
                raise OSError(f"{error}") from error


def average_checkpoints(paths: Sequence[str | Path]) -> dict[str, Any]:
    """Return a checkpoint whose weights are the mean of others of the same run, without optimizer or schedule.

    Args:
        paths: Checkpoints, oldest first; everything but the weights comes from the last one.

    Raises:
        UserError: A file is no checkpoint, or they differ in structure or initial weights.
    """
    sums: dict[str, torch.Tensor] = {}
    checkpoint: dict[str, Any] = {}
    origins = set()
    for path in paths:
        checkpoint = read_checkpoint(path)
        state = checkpoint["state_dict"]
        origins.add(checkpoint["lit_transformer"].get(INITIAL_WEIGHTS, {}).get("digest"))
        if len(origins) > 1:
            raise UserError(
                f"{str(path)!r} and {str(paths[0])!r} were trained from different initial weights; average one run's "
                "checkpoints."
            )
        if sums and (state.keys() != sums.keys() or any(state[name].shape != sums[name].shape for name in sums)):
            raise UserError(
                f"{str(path)!r} has another structure than {str(paths[0])!r}; average one run's checkpoints."
            )
        for name, tensor in state.items():
            sums[name] = tensor.double() + sums.get(name, 0.0)
    means = {name: (sums[name] / len(paths)).to(checkpoint["state_dict"][name].dtype) for name in sums}
    kept = {key: value for key, value in checkpoint.items() if key not in TRAINING_STATE}
    return {**kept, "state_dict": means, "averaged": [Path(path).name for path in paths]}
