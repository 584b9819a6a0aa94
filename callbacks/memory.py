"""How much memory training takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from typing_extensions import override

from lit_transformer.training.trainer import logging_interval

GIB = 2.0**30


class Memory(pl.Callback):
    """Logs the highest memory so far, when the Trainer logs.

    On GPUs ``train/gpu_memory``, in GiB: what torch had allocated at most on the process's own GPU since it began, the
    highest of all processes. Else ``train/memory``, in GiB: the memory of the process itself that lay in RAM at most
    since it began, without that of data loaders, summed over all processes; not on Windows.
    """

    @override
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step % logging_interval(trainer) != 0:
            return
        device = pl_module.device
        if device.type == "cuda":
            peak = torch.tensor(torch.cuda.max_memory_allocated(device) / GIB, device=device)
            pl_module.log("train/gpu_memory", trainer.strategy.reduce(peak, reduce_op="max"))
        elif (resident := peak_resident_memory()) is not None:
            total = trainer.strategy.reduce(torch.tensor(resident / GIB, device=device), reduce_op="sum")
            pl_module.log("train/memory", total)


def peak_resident_memory() -> int | None:
    """Return the bytes of this process that lay in RAM at most so far; None where the system does not tell."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Linux hands the ru_maxrss of a process down to what it starts, so that a child's may be its parent's.
        lines = status.read_text(encoding="utf-8").splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
