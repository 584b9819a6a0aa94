"""Batches by token budget: whole, within the budget, the same for everyone who computes them."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pytest

from lit_transformer.data.batching import (
    EvaluationBatchSampler,
    TrainingBatchSampler,
    evaluation_batches,
    padded_lengths,
    plan_buckets,
    training_batches,
)
from lit_transformer.errors import UserError

Lengths = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


def random_lengths(sentences: int, seed: int = 0) -> Lengths:
    """Source and target lengths whose shape is that of ordinary text."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(2.7, 0.6, sentences), 1, 200).astype(np.int32)
    target = np.clip(source * random.normal(1.05, 0.2, sentences), 1, 200).astype(np.int32)
    return source, target


@pytest.mark.parametrize(
    ("sentences", "multiple_of"), [(1, 1), (7, 1), (300, 1), (5000, 1), (7, 6), (300, 6), (5000, 6)]
)
def test_every_sentence_once_within_the_budget(sentences: int, multiple_of: int) -> None:
    source, target = random_lengths(sentences)
    for epoch in range(3):
        batches = training_batches(source, target, 500, 1, epoch, multiple_of)
        assert sorted(np.concatenate(batches).tolist()) == list(range(sentences))
        assert len(batches) % multiple_of == 0
        for batch in batches:
            longest = max(source[batch].max() + 1, target[batch].max() + 2)
            assert len(batch) * longest <= 500 or len(batch) == 1


def test_longest_side_by_hand() -> None:
    # source + end; begin + target + end
    assert padded_lengths(np.array([5, 3, 0]), np.array([3, 5, 0])).tolist() == [6, 7, 2]


def test_budget_by_hand() -> None:
    # 10 pairs of 8 + 2 positions; 4 fit into 45 tokens: 3 batches, as even as can be.
    lengths = np.full(10, 8, dtype=np.int32)
    batches = training_batches(lengths, lengths, 45, 1, 0)
    assert sorted(len(batch) for batch in batches) == [3, 3, 4]


def test_sentence_over_the_budget_is_its_own_batch() -> None:
    source = np.array([3] * 50 + [900], dtype=np.int32)
    batches = training_batches(source, source, 100, 1, 0)
    assert [50] in [batch.tolist() for batch in batches]
    # The others do not suffer: 20 of 5 positions each fill a batch.
    assert len(batches) == 4


def test_epochs_differ_and_repeat() -> None:
    source, target = random_lengths(2000)
    first, again, second = (training_batches(source, target, 1000, 7, epoch) for epoch in (0, 0, 1))
    other_seed = training_batches(source, target, 1000, 8, 0)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    compositions = [{frozenset(batch.tolist()) for batch in batches} for batches in (first, second, other_seed)]
    # Not only the order of the batches but the batches themselves are new.
    assert len(compositions[0] & compositions[1]) <= len(first) // 10
    assert len(compositions[0] & compositions[2]) <= len(first) // 10


def test_number_of_batches_is_the_same_in_every_epoch() -> None:
    source, target = random_lengths(3000)
    numbers = {len(training_batches(source, target, 1000, seed, epoch, 4)) for seed in range(3) for epoch in range(5)}
    assert numbers == {int(plan_buckets(padded_lengths(source, target), 1000, 4).batches.sum())}


def test_batches_hold_similar_lengths() -> None:
    source, target = random_lengths(20000)
    batches = training_batches(source, target, 4000, 1, 0)
    padded = sum(len(b) * (source[b].max() + 1 + target[b].max() + 2) for b in batches)
    # In random order 0.4 of the positions hold a piece.
    assert (source.sum() + target.sum() + 3 * len(source)) / padded > 0.85


def test_order_is_shuffled() -> None:
    source, target = random_lengths(5000)
    lengths = [source[batch].mean() for batch in training_batches(source, target, 1000, 1, 0)]
    assert abs(np.corrcoef(lengths, np.arange(len(lengths)))[0, 1]) < 0.3


def test_fewer_sentences_than_batches_wanted() -> None:
    lengths = np.full(3, 5, dtype=np.int32)
    with pytest.raises(UserError, match=r"3 usable sentence pairs.*multiple of 4.*accumulate_grad_batches"):
        training_batches(lengths, lengths, 100, 1, 0, multiple_of=4)
    # 5 batches of one sentence each cannot become 8.
    lengths = np.full(5, 90, dtype=np.int32)
    with pytest.raises(UserError, match=r"too few for 8 batches.*--data\.max_tokens"):
        training_batches(lengths, lengths, 100, 1, 0, multiple_of=4)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_ranks_share_an_epoch(world_size: int) -> None:
    source, target = random_lengths(500)
    samplers = [
        TrainingBatchSampler(source, target, 300, 1, lambda: (4, 0), accumulated=2, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]
    shares = [list(sampler) for sampler in samplers]
    assert {len(share) for share in shares} == {len(samplers[0])}
    assert len(samplers[0]) % 2 == 0
    rows = [row for share in shares for batch in share for row in batch.tolist()]
    assert sorted(rows) == list(range(500))
    # Dealt in turn, a step of the optimizer sees the same sentences on 2 processes as with 2 accumulated batches.
    whole = training_batches(source, target, 300, 1, 4, 2 * world_size)
    dealt = [batch for step in zip(*shares, strict=True) for batch in step]
    assert all(np.array_equal(a, b) for a, b in zip(whole, dealt, strict=True))


def test_training_sampler_goes_on_at_the_trainers_position() -> None:
    source, target = random_lengths(500)
    done = 0
    sampler = TrainingBatchSampler(source, target, 300, 1, lambda: (2, done))
    whole = list(sampler)
    done = 5
    rest = list(sampler)
    assert [batch.tolist() for batch in rest] == [batch.tolist() for batch in whole[5:]]
    # The length stays the whole epoch's: the Trainer counts on from its own position.
    assert len(sampler) == len(whole)


def test_evaluation_batches() -> None:
    source = np.array([4, 0, 9, 4, 30, 2], dtype=np.int32)
    # Longest first; 20 // 31 -> alone, 20 // 10 = 2, then 20 // 5 = 4.
    assert [batch.tolist() for batch in evaluation_batches(source, 20)] == [[4], [2, 0], [3, 5, 1]]


@pytest.mark.parametrize("world_size", [1, 2, 4, 5])
def test_evaluation_deals_whole_batches(world_size: int) -> None:
    batches = evaluation_batches(np.array([4, 0, 9, 4, 30, 2], dtype=np.int32), 15)
    shares = [list(EvaluationBatchSampler(batches, rank, world_size)) for rank in range(world_size)]
    assert {tuple(b.tolist()) for b in batches} == {tuple(b.tolist()) for share in shares for b in share if len(b)}
    assert sum(len(b) for share in shares for b in share) == 6
    # A process without a batch still takes part.
    assert all(len(share) >= 1 for share in shares)


def test_a_million_pairs_take_seconds() -> None:
    source, target = random_lengths(1_000_000)
    start = time.process_time()
    batches = training_batches(source, target, 16384, 1, 0, 8)
    assert time.process_time() - start < 5
    assert sum(map(len, batches)) == 1_000_000
