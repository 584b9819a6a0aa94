"""Count the kernels that an analysis launches on a GPU, real or simulated, and its waits for results.

A GPU takes about as long for a kernel over few rows as over many, so that decoding, whose steps are small, takes it as
long as it has launches. ``python benchmarks/gpu_launches.py --checkpoint RUN --data FOLDER`` counts those of the
ablations of all components, decoded one by one (the naive analysis) and side by side. Without a checkpoint it takes the
newest run of the demo below ``runs``, or trains the demo briefly. The counts say nothing about the time of a launch,
and matter only while the steps are too small to keep the GPU busy. Everything is printed as Markdown.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.support.subject import Subject, demo_run, description
from lit_transformer.decoding import Hypotheses
from lit_transformer.importance.variant import ablation
from tests import simulated_gpu

# Operations that only set memory aside.
NO_KERNEL = ("empty", "new_empty")
# Those whose result the program waits for.
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "bincount")


@dataclass
class Asked(TorchDispatchMode):
    """Counts what is asked of the GPU while it is entered."""

    kernels: int = 0
    waits: int = 0

    def __post_init__(self) -> None:
        """Set torch's part up."""
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry an operation out, and count it if it is one of the GPU's."""
        made = func(*args, **(kwargs or {}))
        if func.namespace != "aten":
            return made
        name = func._schema.name.split("::")[1]
        given = [each for each in args if isinstance(each, torch.Tensor)]
        there = isinstance(made, torch.Tensor) and made.is_cuda
        if (there or any(tensor.is_cuda for tensor in given)) and not func.is_view and not name.startswith(NO_KERNEL):
            self.kernels += 1
            by_mask = name == "index" and any(each is not None and each.dtype == torch.bool for each in args[1])
            moved = name == "_to_copy" and not there
            self.waits += by_mask or moved or name in WAITS
        return made


def main() -> None:
    """Count what was asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint or a run's folder; a run of the demo without it")
    parser.add_argument("--data", help="folder of the text, where it is not where it was in training")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--limit", type=int, help="take a sample of so many sentences; without a checkpoint, 100")
    parser.add_argument("--side_by_side", type=int, default=64, help="how many variants are decoded in one batch")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        checkpoint, limit = options.checkpoint, options.limit
        if checkpoint is None:
            runs = Path("runs") if Path("runs/demo").is_dir() else Path(temporary)
            checkpoint, limit = demo_run(runs, epochs=2), limit or 100
        if not torch.cuda.is_available():
            simulated_gpu.install()
        subject = Subject(checkpoint, options.data, limit, "gpu")
    print(f"`{shlex.join(['python', *sys.argv])}`\n\n{description(subject)}, Python {platform.python_version()}\n")
    print("|  | kernels | ratio | waits | ratio | sentences that differ |\n| --- | --- | --- | --- | --- | --- |")
    for beam in options.beams:
        subject.decode_with(beam)
        _print(f"beam {beam}" if beam > 1 else "greedy", _ways(subject, options.side_by_side))


def _ways(subject: Subject, size: int) -> dict[str, Callable[[], list[Hypotheses]]]:
    """Return what decodes the ablations of all components, by name."""
    variants = [ablation(component) for component in subject.module.network.components()]
    parts = [variants[first : first + size] for first in range(0, len(variants), size)]
    decoder = subject.analysis().evaluator._decoder
    # Keep the encoder's states, which are not counted.
    decoder.decode(variants[-1])

    def one_by_one() -> list[Hypotheses]:
        return [decoder.decode(variant)[0] for variant in variants]

    def side_by_side() -> list[Hypotheses]:
        return [hypotheses for part in parts for hypotheses, _ in decoder.side_by_side(part)]

    return {"one by one": one_by_one, "side by side": side_by_side}


def _print(name: str, ways: dict[str, Callable[[], list[Hypotheses]]]) -> None:
    first: tuple[Asked, list[list[list[int]]]] | None = None
    for way, decode in ways.items():
        with Asked() as asked:
            hypotheses = [decoded.ids() for decoded in decode()]
        first = first or (asked, hypotheses)
        before, expected = first
        differing = sum(
            one != other for pair in zip(hypotheses, expected, strict=True) for one, other in zip(*pair, strict=True)
        )
        counts = [f"{asked.kernels:,}", f"{asked.kernels / before.kernels:.2f}"]
        counts += [f"{asked.waits:,}", f"{asked.waits / before.waits:.2f}"]
        sentences = sum(map(len, hypotheses))
        print(f"| {name}, {way} | {' | '.join(counts)} | {differing} of {sentences:,} |", flush=True)


if __name__ == "__main__":
    main()
