"""The tensors of a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lightning_utilities.core.apply_func import apply_to_collection
from pytorch_lightning.utilities import move_data_to_device

from lit_transformer.data.batch import Batch, collate


def example() -> Batch:
    """Two pairs, the second shorter in the source and longer in the target."""
    pairs = [(np.array([11, 12, 13]), np.array([21])), (np.array([14]), np.array([22, 23]))]
    return collate(np.array([7, 3]), pairs, [("a b c", "x"), ("d", "y z")])


def test_padding_and_special_pieces() -> None:
    batch = example()
    assert batch.index.tolist() == [7, 3]
    assert batch.source.tolist() == [[11, 12, 13, 3], [14, 3, 0, 0]]
    assert batch.target.tolist() == [[2, 21, 3, 0], [2, 22, 23, 3]]
    assert {batch.index.dtype, batch.source.dtype, batch.target.dtype} == {torch.int64}
    # 21, end; 22, 23, end
    assert batch.target_tokens == 5
    assert batch.sources == ["a b c", "d"]
    assert batch.references == ["x", "y z"]
    assert len(batch) == 2


def test_training_batch_has_no_texts() -> None:
    batch = collate(np.array([0]), [([11], [21])])
    assert batch.sources == []
    assert batch.references == []


def test_blank_sides() -> None:
    batch = collate(np.array([0, 1]), [([], []), ([11, 12], [])])
    assert batch.source.tolist() == [[3, 0, 0], [11, 12, 3]]
    assert batch.target.tolist() == [[2, 3], [2, 3]]
    assert batch.blank.tolist() == [True, False]
    assert batch.target_tokens == 2


def test_empty_batch() -> None:
    batch = collate(np.empty(0, dtype=np.int64), [])
    assert len(batch) == 0
    assert batch.source.shape == (0, 1)
    assert batch.target.shape == (0, 2)
    assert batch.target_tokens == 0
    assert batch.blank.shape == (0,)


def test_lightning_moves_it() -> None:
    moved = move_data_to_device(example(), torch.device("meta"))
    assert {moved.index.device.type, moved.source.device.type, moved.target.device.type} == {"meta"}
    assert moved.sources == ["a b c", "d"]
    assert moved.target_tokens == 5


def test_lightning_converts_it() -> None:
    # The double precision plugin walks through a batch's tensors.
    converted = apply_to_collection(example(), dtype=torch.Tensor, function=lambda tensor: tensor)
    assert converted.source.tolist() == example().source.tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_pinned_and_moved_to_a_gpu() -> None:
    pinned = example().pin_memory()
    assert pinned.source.is_pinned()
    assert pinned.to("cuda").target.tolist() == example().target.tolist()
