"""How much text a run was trained on: its batches are a pure function of seed and epoch, so they can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from lit_transformer.data.batching import training_batches
from lit_transformer.data.datamodule import TranslationDataModule


def target_tokens(checkpoint: Mapping[str, Any], trainer: Mapping[str, Any], updates: int) -> int:
    """Return the target pieces and ends of sentences of a run's first updates, over all its processes.

    Args:
        checkpoint: A checkpoint of the run.
        trainer: Options of the Trainer that it was trained with.
        updates: Optimizer steps.
    """
    data = TranslationDataModule.of_checkpoint(checkpoint)
    corpus = data.open_split("train")
    rows, _ = corpus.usable_for_training(data.max_length)
    source, target = corpus.source_lengths[rows], corpus.target_lengths[rows]
    accumulated, processes = int(trainer.get("accumulate_grad_batches") or 1), _processes(trainer)
    total, epoch = 0, 0
    while updates > 0:
        batches = training_batches(source, target, data.max_tokens, data.seed, epoch, processes * accumulated)
        steps = min(updates, -(-_limited(len(batches) // processes, trainer) // accumulated))
        if steps == 0:
            break
        used = batches[: min(steps * accumulated, _limited(len(batches) // processes, trainer)) * processes]
        total += sum(int(target[batch].sum()) + len(batch) for batch in used)
        updates, epoch = updates - steps, epoch + 1
    return total


def batches_of(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options of a Trainer that decide which batches it trains on."""
    names = ("accumulate_grad_batches", "limit_train_batches", "devices", "num_nodes", "accelerator")
    return {name: trainer.get(name) for name in names}


def _limited(batches: int, trainer: Mapping[str, Any]) -> int:
    """Return how many batches of an epoch each process trains on."""
    limit = trainer.get("limit_train_batches")
    if limit is None:
        return batches
    return int(batches * limit) if isinstance(limit, float) else min(batches, int(limit))


def _processes(trainer: Mapping[str, Any]) -> int:
    """Return how many processes a run has."""
    devices, nodes = trainer.get("devices"), int(trainer.get("num_nodes") or 1)
    if isinstance(devices, list):
        return len(devices) * nodes
    if isinstance(devices, str) and not devices.lstrip("-").isdigit() and devices != "auto":
        return len(devices.split(",")) * nodes
    if devices not in (None, "auto", "-1", -1):
        return int(devices) * nodes
    # As Lightning does by itself.
    on_cpu = trainer.get("accelerator") == "cpu" or not torch.cuda.is_available()
    return (1 if on_cpu else torch.cuda.device_count()) * nodes
