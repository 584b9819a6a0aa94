"""Times what this project computes itself in training against torch's own kernels, in turn, in one run.

Run it alone on the machine: ``make bench`` or ``python benchmarks/training_kernels.py``. Printed are medians in
milliseconds over forward and backward pass, and the ratio of ours to torch's; shapes are those of a batch of 4,096
tokens with the sizes of configs/multi30k.yaml.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

# As the command line sets it; see lit_transformer.cli.environment.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.model import DotProductAttention, label_smoothed_loss
from lit_transformer.model.dropout import dropout

SENTENCES, LENGTH, WIDTH, HEADS, VOCABULARY = 256, 16, 128, 4, 6000


def milliseconds(function: Callable[[], Tensor], leaves: list[Tensor]) -> float:
    """Return how long a function and its backward pass take, in milliseconds."""
    started = time.perf_counter()
    function().backward()
    spent = time.perf_counter() - started
    for leaf in leaves:
        leaf.grad = None
    return 1000.0 * spent


def compare(
    name: str, ours: Callable[[], Tensor], theirs: Callable[[], Tensor], leaves: list[Tensor], runs: int
) -> None:
    """Time two functions in turn and print medians and ratio."""
    pairs = [(milliseconds(ours, leaves), milliseconds(theirs, leaves)) for _ in range(runs + 2)][2:]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"{name:<28} {mine:8.1f} {other:8.1f} {ratio:8.2f}", flush=True)


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--runs", type=int, default=20, help="timed runs of each function")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {platform.machine()}, {options.threads} threads, bfloat16, {options.runs} runs")
    print(f"{'forward and backward':<28} {'ours/ms':>8} {'torch/ms':>8} {'ratio':>8}")

    states = torch.randn(SENTENCES, LENGTH, WIDTH, dtype=torch.bfloat16, requires_grad=True)
    compare(
        "dropout",
        lambda: dropout(states, 0.3, training=True).sum(),
        lambda: F.dropout(states, 0.3, training=True).sum(),
        [states],
        options.runs,
    )
    logits = torch.randn(SENTENCES * LENGTH, VOCABULARY, dtype=torch.bfloat16, requires_grad=True)
    target = torch.randint(4, VOCABULARY, (SENTENCES * LENGTH,))
    compare(
        "label-smoothed cross-entropy",
        lambda: label_smoothed_loss(logits, target, 0.1)[0],
        lambda: F.cross_entropy(logits.float(), target, label_smoothing=0.1, reduction="sum"),
        [logits],
        options.runs,
    )
    attention = DotProductAttention(WIDTH, HEADS, dropout=0.0).to(torch.bfloat16)
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    def fused() -> Tensor:
        queries, keys, values = (
            part.view(SENTENCES, LENGTH, HEADS, -1).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )
        attended = F.scaled_dot_product_attention(queries, keys, values, ~mask)
        return attention.out_projection(attended.transpose(1, 2).flatten(2)).sum()

    projected = attention.in_projection(states).detach().requires_grad_()

    def plain() -> Tensor:
        queries, keys, values = (
            part.view(SENTENCES, LENGTH, HEADS, -1).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )
        return attention._attend(queries, keys, values, mask).sum()

    compare("attention", plain, fused, [projected], options.runs)


if __name__ == "__main__":
    main()
