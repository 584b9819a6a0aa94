"""What tells one set of weights from another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn


def weights_digest(model: nn.Module) -> str:
    """Return the SHA-256 of a model's weights, names, types and shapes, in hexadecimal."""
    return tensors_digest(model.state_dict())


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of tensors, their names, types and shapes, in hexadecimal; their order does not matter."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}/{tensor.dtype}/{tuple(tensor.shape)}/".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
