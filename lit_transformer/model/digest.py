"""What tells one set of weights from another."""

from __future__ import annotations

import hashlib

import torch
from torch import nn


def weights_digest(model: nn.Module) -> str:
    """Return the SHA-256 of a model's weights, names, types and shapes, in hexadecimal."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}/{tensor.dtype}/{tuple(tensor.shape)}/".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
