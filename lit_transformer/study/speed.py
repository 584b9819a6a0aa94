"""Sentences per second of several trained models, decoded side by side: ``python -m lit_transformer.study.speed``."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from jsonargparse import ArgumentParser

from lit_transformer.data.batch import Batch
from lit_transformer.data.batching import evaluation_batches
from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.data.loader import BatchDataset, Lines
from lit_transformer.decoding import DecodingSettings, in_precision, translate
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint
from lit_transformer.training.module import LitTransformer

Split = Literal["train", "validation", "test"]


@dataclass
class Subject:
    """A trained model and the sentences that it translates.

    Args:
        network: The model.
        data: Its corpus, with its tokenizer.
        decoding: How it is decoded.
        batches: The sentences, in its own pieces.
    """

    network: Transformer
    data: TranslationDataModule
    decoding: DecodingSettings
    batches: Sequence[Batch] = ()

    @classmethod
    def of(cls, run: str, data_options: Mapping[str, Any]) -> Subject:
        """Load a checkpoint; its data settings hold, unless another value is given.

        Args:
            run: A checkpoint, or the folder of a run.
            data_options: Data settings that take the place of its own, such as ``dir``.

        Raises:
            UserError: There is no such checkpoint, or it can't be read.
        """
        path = find_checkpoint(run)
        data = TranslationDataModule.of_checkpoint(read_checkpoint(path), **data_options)
        module = LitTransformer.load_from_checkpoint(path, map_location="cpu", weights_only=True)
        return cls(module.network.to(_device()), data, module.decoding)

    def texts(self, split: Split, sentences: int | None) -> list[str]:
        """Return the source sentences of a split, or a sample of so many that is drawn from the seed."""
        corpus = self.data.open_split(split)
        size = len(corpus) if sentences is None else sentences
        return [source for source, _ in corpus.texts(self.data.sample_rows(split, size))]

    def read(self, texts: Sequence[str]) -> None:
        """Make these sentences those that it translates."""
        lines = Lines(texts, self.data.tokenizer)
        dataset = BatchDataset(lines, with_references=False)
        rows = evaluation_batches(lines.source_lengths, self.data.eval_max_tokens)
        self.batches = [dataset[batch].to(_device()) for batch in rows]

    def translate(self) -> None:
        """Translate all sentences."""
        for batch in self.batches:
            translate(self.network, batch, self.decoding, self.data.tokenizer.decode)


def speeds(
    work: Mapping[str, Callable[[], Any]], sentences: int, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, dict[str, Any]]:
    """Time several ways to translate the same sentences, which take turns, so that a slow minute is shared by all.

    Args:
        work: Translates all sentences, by name.
        sentences: How many they are.
        rounds: How often each is timed, after once that does not count.
        clock: Tells the time in seconds.

    Returns:
        By name, ``rounds``, the sentences per second of each round, and ``sentences_per_second``, their median.
    """
    found: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, function in work.items():
            started = clock()
            function()
            if number:
                found[name].append(sentences / (clock() - started))
    return {name: {"sentences_per_second": statistics.median(each), "rounds": each} for name, each in found.items()}


def compare(
    runs: Sequence[str],
    split: Split = "test",
    sentences: int | None = None,
    rounds: int = 3,
    data_options: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return how many sentences per second each model translates; see `speeds`.

    All translate the first one's sentences, each in its own pieces, as the first one is decoded: the same search,
    limits and precision.

    Args:
        runs: Checkpoints, or folders of runs.
        split: The split that the sentences are taken from.
        sentences: Translate a sample of so many; None for the whole split.
        rounds: How often each is timed.
        data_options: Data settings that take the place of the checkpoints' own, such as ``dir``.

    Returns:
        What `speeds` returns, with ``sentences`` as asked for and the `stamp_of` each checkpoint.

    Raises:
        UserError: A checkpoint can't be read, a run is named twice, or a number is out of its range.
    """
    if twice := [run for place, run in enumerate(runs) if run in runs[:place]]:
        raise UserError(f"{twice[0]!r} is given twice; name each run once.")
    for name, value in {"--sentences": sentences, "--rounds": rounds}.items():
        if value is not None and value < 1:
            raise UserError(f"{name} is {value!r}; give a whole number from 1 up.")
    subjects = {run: Subject.of(run, data_options or {}) for run in runs}
    first = subjects[runs[0]]
    texts = first.texts(split, sentences)
    for subject in subjects.values():
        subject.decoding = first.decoding
        subject.network = in_precision(subject.network, first.decoding.precision)
        subject.read(texts)
    stamps = {run: stamp_of(find_checkpoint(run)) for run in runs}
    found = speeds({run: subject.translate for run, subject in subjects.items()}, len(texts), rounds)
    return {run: {**each, "sentences": sentences, **stamps[run]} for run, each in found.items()}


def stamp_of(checkpoint: Path) -> dict[str, int]:
    """Return what tells a file from what may be written in its place: ``size`` in bytes, and ``modified`` in ns."""
    about = checkpoint.stat()
    return {"size": about.st_size, "modified": about.st_mtime_ns}


def main(args: Sequence[str] | None = None) -> None:
    """Print as JSON what `compare` finds; a mistake of the user ends it with one line and exit status 2.

    Args:
        args: The command line without the program's name.
    """
    parser = ArgumentParser(
        prog="python -m lit_transformer.study.speed", description=str(__doc__).partition(":")[0] + "."
    )
    parser.add_argument("runs", nargs="+", type=str, metavar="RUN", help="Checkpoint, or folder of a run.")
    parser.add_argument("--split", type=Split, default="test", help="Split that the sentences are taken from.")
    parser.add_argument("--sentences", type=int | None, default=None, help="Size of a sample; not given: all.")
    parser.add_argument("--rounds", type=int, default=3, help="How often each model is timed.")
    parser.add_argument("--data.dir", type=str | None, default=None, help="Folder of the text, if it lies elsewhere.")
    given = parser.parse_args(None if args is None else list(args))
    moved = {} if given.data.dir is None else {"dir": given.data.dir}
    try:
        found = compare(given.runs, given.split, given.sentences, given.rounds, moved)
    except UserError as error:
        print(f"lit_transformer.study.speed: error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    print(json.dumps(found, indent=2))


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


if __name__ == "__main__":
    main()
