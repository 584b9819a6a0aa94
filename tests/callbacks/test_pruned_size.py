"""What pruning takes away at the paper's width, computed by hand: parameters, and bytes of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from callbacks import ComponentPruning, InitialWeights, KeptCheckpoints
from lit_transformer.training.initial_weights import FILE
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import load

# method.md 1.7, post-norm: four matrices of 512 x 512 with biases; two of 512 x 2,048 with biases. The norms stay.
ATTENTION = 4 * (512 * 512 + 512)
FEED_FORWARD = 512 * 2048 + 2048 + 2048 * 512 + 512
GONE = 2 * ATTENTION + FEED_FORWARD
PAPER: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_model": 512,
    "feed_forward": 2048,
    "heads": 8,
    "norm": "post",
}
# Names, shapes and padding of the tensors that are gone, within the containers.
OVERHEAD = 16_384


def train(setup: Setup, *callbacks: Any, start_from: str | None = None) -> Path:
    """Train for a step; return the checkpoint of it, weights only, as average.ckpt is."""
    options: dict[str, Any] = {"max_steps": 1, "limit_val_batches": 0, "enable_checkpointing": False}
    trainer = setup.trainer([*callbacks, InitialWeights(), KeptCheckpoints([1])], **options)
    trainer.fit(setup.module(**PAPER), datamodule=setup.data(), start_from=start_from)
    return setup.folder / "checkpoints/step-1.ckpt"


def parameters(path: Path) -> int:
    return sum(tensor.numel() for tensor in load(path)["state_dict"].values())


def test_parameters_and_file_size_fall_as_computed_by_hand(setup: Setup, setups: Any) -> None:
    assert (ATTENTION, FEED_FORWARD) == (1_050_624, 2_099_712)
    other = setups()
    whole = train(setup)
    pruned = train(other, ComponentPruning(["d:sa", "e:ff"]), start_from=str(whole))
    assert load(pruned)["hyper_parameters"]["pruned"] == ["e:ff:1", "d:sa:1", "d:sa:2"]
    assert parameters(whole) - parameters(pruned) == GONE == 4_200_960
    assert {tensor.dtype for tensor in load(pruned)["state_dict"].values()} == {torch.float32}
    for before, after in ((whole, pruned), (setup.folder / FILE, other.folder / FILE)):
        saved = before.stat().st_size - after.stat().st_size
        assert 0 <= saved - 4 * GONE < OVERHEAD, before.name
