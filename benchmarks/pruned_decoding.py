"""Times the decoding of a full, a pruned and a shallow model side by side, in one run.

Run it alone on the machine: ``make bench`` or ``python benchmarks/pruned_decoding.py RUN RUN RUN``. Without runs it
takes the newest run of the demo below ``runs`` (or trains the demo briefly) and prunes it in memory, without training
on: of its least important components, or of decoder attention where it was not analysed, and of whole decoder layers,
from the top, of about as many parameters. All models decode the same sentences in the same batches, in turn, round by
round. Everything is printed as Markdown: medians over the rounds, and beside them the multiply-adds of all matrix
products, which do not depend on the machine. Models that were not trained on write longer or shorter hypotheses than
the full one, which has nothing to do with their speed; therefore without runs (or with ``--same_length``) no hypothesis
ends before it has two pieces more than its source.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import logging
import os
import platform
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# As the command line sets it; see lit_transformer.cli.environment.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.support.clock import CLOCKS, seconds, use_clock
from benchmarks.support.subject import Subject, demo_run, description
from benchmarks.support.tables import row, table
from lit_transformer.components import kind_of, select
from lit_transformer.data.datamodule import tokenizer_of_state
from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.decoding import CorpusDecoder, DecodingSettings
from lit_transformer.errors import UserError
from lit_transformer.importance.selection import Selection
from lit_transformer.model import Transformer, weights_digest
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint, run_folder_of
from lit_transformer.runs.scores import read_scores
from lit_transformer.training.module import LitTransformer

GONE = 7
"""Components that are pruned: the number of the paper, which equals two decoder layers (method.md 1.7)."""

EXTRA_PIECES = 2
"""By how many pieces a hypothesis is longer than its source, where all are of the same length."""

COLUMNS = (
    "",
    "parameters",
    "sentences/s",
    "ratio",
    "pieces/s",
    "ratio",
    "pieces per sentence",
    "multiply-adds per sentence",
    "ratio",
    "per piece",
    "ratio",
)


@dataclass
class Measured:
    """What decoding all sentences with one model takes.

    Args:
        parameters: Of the model.
        sentences: How many.
        pieces: Of all hypotheses together, ends of sentence included.
        operations: Multiply-adds of the matrix products.
        spent: Seconds of each round.
    """

    parameters: int
    sentences: int
    pieces: int
    operations: int
    spent: list[float] = field(default_factory=list)

    def cells(self, first: Measured) -> list[object]:
        """Return the cells below all but the first of `COLUMNS`, with ratios to another model."""
        ratio = statistics.median(other / mine for mine, other in zip(self.spent, first.spent, strict=True))
        longer = self.pieces / first.pieces
        each, of_first = self.operations / self.sentences, first.operations / first.sentences
        return [
            f"{self.parameters:,}",
            f"{self.sentences / statistics.median(self.spent):.1f}",
            f"{ratio:.2f}",
            f"{self.pieces / statistics.median(self.spent):,.0f}",
            f"{ratio * longer:.2f}",
            f"{self.pieces / self.sentences:.1f}",
            f"{each / 1e6:.1f} M",
            f"{each / of_first:.3f}",
            f"{self.operations / self.pieces / 1e6:.2f} M",
            f"{each / of_first / longer:.3f}",
        ]


def main(args: Sequence[str] | None = None) -> None:
    """Measure what was asked for, and print it.

    Args:
        args: The command line without the program's name.
    """
    options = _options(args)
    torch.set_num_threads(options.threads)
    use_clock(options.clock)
    with TemporaryDirectory() as temporary:
        runs = options.runs
        if not runs:
            folder = Path("runs") if Path("runs/demo").is_dir() else Path(temporary)
            runs = [demo_run(folder, epochs=2)]
        subject = Subject(runs[0], options.data)
        networks = trained(runs, subject) if options.runs else pruned_here(subject)
        rows = subject.data.sample_rows("validation", options.sentences)
        sources = [batch.source for batch in subject.data.whole_batches("validation", rows)]
        print(f"`{shlex.join(['python', *sys.argv])}`\n\n{description(subject)}; of them {len(rows)} decoded, ", end="")
        print(f"{platform.processor() or 'CPU'}, Python {platform.python_version()}, {options.clock} time")
        same_length = options.same_length or not options.runs
        for beam in options.beams:
            subject.decode_with(beam)
            print(f"\n### {'Greedy' if beam == 1 else f'Beam {beam}'}", flush=True)
            table(COLUMNS)
            settings = subject.module.decoding
            with contextlib.ExitStack() as changes:
                if same_length:
                    settings = replace(settings, max_extra_pieces=EXTRA_PIECES)
                    for network in networks.values():
                        changes.enter_context(endless(network))
                found = measured(networks, sources, settings, options.rounds)
            first = next(iter(found.values()))
            for name, each in found.items():
                row(name, *each.cells(first))


def trained(runs: Sequence[Path], subject: Subject) -> dict[str, Transformer]:
    """Return the models of runs by name.

    Args:
        runs: Checkpoints, or folders of runs.
        subject: The first of them.

    Raises:
        UserError: One is no run, or has another tokenizer than the first, so that its batches would be other ones.
    """
    networks = {}
    for run in runs:
        content = read_checkpoint(path := find_checkpoint(run))
        if tokenizer_of_state(content["TranslationDataModule"]).digest != subject.data.tokenizer.digest:
            raise UserError(f"{str(run)!r} has another tokenizer than {str(runs[0])!r}; give runs with the same one.")
        module = LitTransformer.load_from_checkpoint(path, map_location="cpu", weights_only=True)
        networks[str(run)] = module.network.eval()
    return networks


def pruned_here(subject: Subject) -> dict[str, Transformer]:
    """Return a trained model, and what is left of it when components or whole decoder layers are gone, by name."""
    full = subject.module.network
    components, why = unimportant(full, subject.checkpoint)
    networks = {"full": full, f"without {len(components)} components ({why})": without(full, components)}
    layers = layers_of_size(full, sum(_size(full, name) for name in components))
    networks[f"without {len(layers)} of {full.config.decoder_layers} decoder layers"] = without(
        full, [name for name in full.components() if name.startswith("d:") and int(name.split(":")[2]) in layers]
    )
    print("Pruned: " + ", ".join(components) + ".\n")
    return networks


def unimportant(network: Transformer, checkpoint: Path) -> tuple[list[str], str]:
    """Return the least important components of a model, and what says so.

    Args:
        network: The model.
        checkpoint: Its checkpoint, whose analysis is looked for.
    """
    existing = list(network.components())
    count = min(GONE, len(existing) // 3)
    folder = run_folder_of(checkpoint) / "analysis" / checkpoint.stem
    if (folder / "scores.json").is_file():
        scores = read_scores(folder)
        rows = scores["components"]
        if scores["weights"] == weights_digest(network) and all("contribution" in row for row in rows):
            return Selection(by="contribution", count=count).of(existing, scores), "least contribution"
    attention = [name for kind in ("d:sa", "d:ea") for name in existing if kind_of(name) == kind]
    # One source-target attention at least, without which nothing depends on the source.
    return attention[: min(count, len(attention) - 1)], "decoder attention"


def layers_of_size(network: Transformer, size: int) -> list[int]:
    """Return the decoder layers, from the top, that have about so many parameters in their components.

    Args:
        network: The model; one of its decoder layers stays.
        size: The number of parameters.
    """
    depth = network.config.decoder_layers
    decoder = select("d:*", list(network.components()))
    sizes = [sum(_size(network, name) for name in decoder if name.endswith(f":{n}")) for n in range(1, depth + 1)]
    found = min(range(1, max(depth, 2)), key=lambda count: abs(sum(sizes[depth - count :]) - size))
    return list(range(depth - found + 1, depth + 1))


def without(network: Transformer, components: Sequence[str]) -> Transformer:
    """Return a pruned copy of a model."""
    copied = copy.deepcopy(network)
    copied.prune(components)
    return copied


@contextlib.contextmanager
def endless(network: Transformer) -> Iterator[None]:
    """Let a model never end a hypothesis, so that it runs to its limit, while the context lasts."""

    def without_end(module: Any, inputs: Any, logits: Tensor) -> Tensor:
        return logits.index_fill(-1, torch.tensor([SPECIAL_IDS.eos]), float("-inf"))

    hook = network.output.register_forward_hook(without_end)
    try:
        yield
    finally:
        hook.remove()


def measured(
    networks: Mapping[str, Transformer], sources: Sequence[Tensor], settings: DecodingSettings, rounds: int
) -> dict[str, Measured]:
    """Decode the same sentences with each model in turn, round by round.

    Args:
        networks: The models, by name.
        sources: The sentences in batches, each ``(batch, source_length)``.
        settings: The search and its limits.
        rounds: How often; once more, to begin with, is not timed but counted.
    """
    decoders = {name: CorpusDecoder(network, sources, settings) for name, network in networks.items()}
    found = {}
    for name, decoder in decoders.items():
        operations, decoded = multiply_adds(decoder.decode)
        size = sum(parameter.numel() for parameter in networks[name].parameters())
        pieces = int(decoded.lengths.sum()) + len(decoded)
        found[name] = Measured(size, len(decoded), pieces, operations)
    for _ in range(rounds):
        for name, decoder in decoders.items():
            found[name].spent.append(seconds(decoder.decode)[0])
    return found


def multiply_adds(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return how many multiply-adds the matrix products of a function take, those of attention too, and its result."""
    with FlopCounterMode(display=False) as counter:
        result = function()
    return counter.get_total_flops() // 2, result


def _size(network: Transformer, component: str) -> int:
    function = network.components()[component].function
    assert function is not None
    return sum(parameter.numel() for parameter in function.parameters())


def _options(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "runs", type=Path, nargs="*", metavar="RUN", help="checkpoints or runs; the first is the full one"
    )
    parser.add_argument("--data", help="folder of the text, where it is not where it was in training")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: fair with one thread only")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--sentences", type=int, default=200, help="decode a sample of so many")
    parser.add_argument("--same_length", action="store_true", help="end no hypothesis early, of runs too")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed")
    return parser.parse_args(args)


if __name__ == "__main__":
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
    main()
