"""Which sentences form a batch: by token budget, from length buckets, the same list for everyone who asks.

Both lists of batches are pure functions of their arguments. So every process computes the whole list by itself and
takes its share, and a resumed run finds its place by counting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch.utils.data import DistributedSampler, SequentialSampler

from lit_transformer.errors import UserError

log = logging.getLogger(__name__)

Integers = npt.NDArray[np.integer]

# A bucket must save more than this number of batches to be worth having: in fewer, wider buckets more sentences can
# meet each other in a batch.
_BUCKET_COST = 0.5
# Within a bucket sentences are ordered by their total length, blurred by this many pieces.
_BLUR = 4.0


@dataclass(frozen=True)
class BucketPlan:
    """How many sentences and batches each length bucket holds; the same in every epoch.

    Args:
        upper: Longest padded side of each bucket, ascending ``(buckets,)``.
        sizes: Sentences of each bucket ``(buckets,)``.
        batches: Batches that each bucket is cut into ``(buckets,)``.
    """

    upper: Integers
    sizes: Integers
    batches: Integers


def padded_lengths(source_lengths: Integers, target_lengths: Integers) -> Integers:
    """Return the longer side of each pair as it stands in a batch.

    Args:
        source_lengths: Pieces of each source sentence ``(sentences,)``; end of sentence is added to them.
        target_lengths: Pieces of each target sentence ``(sentences,)``; begin and end of sentence are added to them.

    Returns:
        Positions that the longer side takes ``(sentences,)``.
    """
    return np.maximum(source_lengths + 1, target_lengths + 2)


def plan_buckets(lengths: Integers, max_tokens: int, multiple_of: int = 1) -> BucketPlan:
    """Choose the buckets that need the fewest batches, and how many batches each is cut into.

    The budget of a bucket's batches is reckoned by the bucket's longest sentence, so it holds whatever the order of the
    sentences within the bucket, and the number of batches is the same in every epoch: Lightning asks for it only once.

    Args:
        lengths: Padded length of each sentence ``(sentences,)``, 1 or more.
        max_tokens: Largest number of sentences times padded length of a batch. A longer sentence is its own batch.
        multiple_of: The number of batches becomes a multiple of this by cutting where the batches are largest.

    Returns:
        The plan.

    Raises:
        UserError: There are too few sentences for ``multiple_of`` batches.
    """
    counts = np.bincount(lengths)
    values = np.flatnonzero(counts)
    before = np.concatenate([[0], np.cumsum(counts[values])])
    capacity = np.maximum(1, max_tokens // np.maximum(values, 1))
    cost = np.zeros(len(values) + 1)
    cut = np.zeros(len(values) + 1, dtype=np.int64)
    for end in range(1, len(values) + 1):
        needed = -(-(before[end] - before[:end]) // capacity[end - 1])
        total = cost[:end] + needed + _BUCKET_COST
        cut[end] = np.argmin(total)
        cost[end] = total[cut[end]]
    ends = [len(values)]
    while ends[-1] > 0:
        ends.append(int(cut[ends[-1]]))
    edges = np.array(ends[::-1], dtype=np.int64)
    upper, sizes = values[edges[1:] - 1], np.diff(before[edges])
    batches = _to_multiple(upper, sizes, -(-sizes // capacity[edges[1:] - 1]), multiple_of)
    return BucketPlan(upper, sizes, batches)


def _to_multiple(upper: Integers, sizes: Integers, batches: Integers, multiple_of: int) -> Integers:
    """Raise the number of batches to a multiple by cutting the bucket whose batches are largest into one more."""
    wanted = max(1, -(-int(batches.sum()) // multiple_of)) * multiple_of
    if wanted > int(sizes.sum()):
        raise UserError(
            f"the training split has {int(sizes.sum())} usable sentence pairs, too few for {wanted} batches: an epoch "
            f"needs a multiple of {multiple_of} batches (processes x accumulated batches) of at least one pair each. "
            "Give more training data, or lower --trainer.devices or --trainer.accumulate_grad_batches"
            + (", or raise --data.max_tokens." if wanted > multiple_of else ".")
        )
    batches = batches.copy()
    for _ in range(wanted - int(batches.sum())):
        tokens = np.where(batches < sizes, -(-sizes // batches) * upper, -1)
        batches[np.argmax(tokens)] += 1
    return batches


def training_batches(
    source_lengths: Integers, target_lengths: Integers, max_tokens: int, seed: int, epoch: int, multiple_of: int = 1
) -> list[npt.NDArray[np.int64]]:
    """Return the batches of one epoch: a pure function of the arguments, each sentence exactly once.

    Sentences are shuffled within buckets of similar length, so that a batch's composition changes from epoch to epoch,
    and the batches are shuffled too. Their number depends neither on ``seed`` nor on ``epoch``.

    Args:
        source_lengths: Pieces of each source sentence, without special pieces ``(sentences,)``.
        target_lengths: Pieces of each target sentence, without special pieces ``(sentences,)``.
        max_tokens: Largest number of sentences times longest padded side of a batch, begin and end of sentence
            included. A longer sentence is its own batch.
        seed: Seed of the shuffling, 0 or more.
        epoch: Number of the epoch, from 0.
        multiple_of: Processes times accumulated batches; the number of batches is a multiple of it.

    Returns:
        Row numbers of each batch, ``(batch,)`` each.

    Raises:
        UserError: There are too few sentences for ``multiple_of`` batches.
    """
    lengths = padded_lengths(source_lengths, target_lengths)
    plan = plan_buckets(lengths, max_tokens, multiple_of)
    random = np.random.default_rng([seed, epoch])
    bucket_of_length = np.searchsorted(plan.upper, np.arange(plan.upper[-1] + 1)).astype(np.uint16)
    # numpy sorts 16-bit keys by radix, in linear time.
    order = np.argsort(bucket_of_length[lengths], kind="stable")
    cuts: list[npt.NDArray[np.int64]] = []
    start = 0
    for size, number in zip(plan.sizes.tolist(), plan.batches.tolist(), strict=True):
        rows = order[start : start + size]
        key = (source_lengths[rows] + target_lengths[rows]).astype(np.float32)
        key += _BLUR * random.random(size, dtype=np.float32)
        order[start : start + size] = rows[np.argsort(key)]
        cuts.append(start + np.arange(number, dtype=np.int64) * size // number)
        start += size
    starts = np.concatenate(cuts)
    stops = np.append(starts[1:], len(order))
    shuffled = np.argsort(random.random(len(starts)))
    return [order[a:b] for a, b in zip(starts[shuffled].tolist(), stops[shuffled].tolist(), strict=True)]


def evaluation_batches(source_lengths: Integers, max_tokens: int) -> list[npt.NDArray[np.int64]]:
    """Return the batches of an evaluation: a pure function of the set, longest sentences first, each exactly once.

    The longest come first so that a batch too large for the memory shows at once, and not after an hour.

    Args:
        source_lengths: Pieces of each source sentence, without special pieces ``(sentences,)``.
        max_tokens: Largest number of sentences times padded source length of a batch, end of sentence included. A
            longer sentence is its own batch.

    Returns:
        Row numbers of each batch, ``(batch,)`` each.
    """
    order = np.argsort(-source_lengths.astype(np.int64), kind="stable")
    batches = []
    start = 0
    while start < len(order):
        stop = start + max(1, max_tokens // (int(source_lengths[order[start]]) + 1))
        batches.append(order[start:stop])
        start = stop
    return batches


class TrainingBatchSampler(DistributedSampler[npt.NDArray[np.int64]]):
    """Yields this process's share of an epoch's batches, from the batch at which the Trainer stands.

    It is a ``DistributedSampler`` because Lightning leaves those alone: the batches are already dealt to the processes.
    ``set_epoch`` has no effect; the epoch comes from ``progress`` at the moment of iterating.

    Args:
        source_lengths: Pieces of each source sentence ``(sentences,)``.
        target_lengths: Pieces of each target sentence ``(sentences,)``.
        max_tokens: Token budget of a batch, see :func:`training_batches`.
        seed: Seed of the shuffling.
        progress: Returns the epoch and the number of this process's batches in it that are already done.
        accumulated: Batches that each process accumulates for a step of the optimizer.
        rank: Number of this process.
        world_size: Number of processes.
    """

    def __init__(
        self,
        source_lengths: Integers,
        target_lengths: Integers,
        max_tokens: int,
        seed: int,
        progress: Callable[[], tuple[int, int]],
        accumulated: int = 1,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        self._lengths = (source_lengths, target_lengths)
        self._max_tokens = max_tokens
        self._seed = seed
        self._progress = progress
        self._accumulated = accumulated
        self._multiple_of = world_size * accumulated
        plan = plan_buckets(padded_lengths(*self._lengths), max_tokens, self._multiple_of)
        self._number = int(plan.batches.sum()) // world_size
        super().__init__(range(len(source_lengths)), num_replicas=world_size, rank=rank, seed=seed)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Batches of this process in a whole epoch, the same for every process and epoch."""
        return self._number

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the remaining batches of the Trainer's epoch."""
        epoch, done = self._progress()
        if done % self._accumulated and self.rank == 0:
            log.warning(
                "The checkpoint was written after %d of %d batches of an optimizer step, and gradients are in no "
                "checkpoint: that step misses the sentences of these batches. Let --trainer.val_check_interval be a "
                "multiple of --trainer.accumulate_grad_batches.",
                done % self._accumulated,
                self._accumulated,
            )
        batches = training_batches(*self._lengths, self._max_tokens, self._seed, epoch, self._multiple_of)
        yield from batches[self.rank :: self.num_replicas][done:]

    def fingerprint(self) -> dict[str, int]:
        """What an epoch's list depends on; it must be the same when a run resumes in the middle of an epoch."""
        return {
            "sentences": len(self._lengths[0]),
            "max_tokens": self._max_tokens,
            "seed": self._seed,
            "multiple_of": self._multiple_of,
            "world_size": self.num_replicas,
        }


class EvaluationBatchSampler(DistributedSampler[npt.NDArray[np.int64]], SequentialSampler):
    """Yields every ``world_size``-th of the given batches, always in the same order.

    Whole batches are dealt, so their shapes are the same for any number of processes; the numbers of batches may differ
    by one. A process that gets none gets one empty batch, because Lightning skips an evaluation without batches, and
    with it the collective operations at its end, for which the other processes then wait.

    Args:
        batches: All batches, row numbers ``(batch,)`` each.
        rank: Number of this process.
        world_size: Number of processes.
    """

    def __init__(self, batches: list[npt.NDArray[np.int64]], rank: int = 0, world_size: int = 1) -> None:
        self._batches = batches[rank::world_size] or [np.empty(0, dtype=np.int64)]
        super().__init__(range(len(batches)), num_replicas=world_size, rank=rank, shuffle=False)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Batches of this process."""
        return len(self._batches)

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:  # type: ignore[override]
        """Yield the batches of this process."""
        return iter(self._batches)
