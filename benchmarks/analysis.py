"""Time the analysis of a trained model one variant after another, side by side, and with other decoders.

Run it alone on the machine: ``make bench`` or ``python benchmarks/analysis.py --checkpoint RUN --data FOLDER``. Without
a checkpoint it takes the newest run of the demo below ``runs``, or trains the demo briefly. Everything is printed as
Markdown. The naive analysis decodes one variant after another, with encoder states computed again only where the
encoder changes; side by side, several variants are decoded in one batch. The times of both include the baseline, BLEU's
statistics and the journal. The other decoders, MarianMT and CTranslate2, are timed for one decoding of all sentences.
With ``--accelerator gpu`` everything is computed on a GPU, and a time ends when the GPU has finished.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import shlex
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# As the command line sets it; see lit_transformer.cli.environment.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.support.clock import CLOCKS, median_seconds, seconds, use_clock
from benchmarks.support.comparison import Comparison, compare
from benchmarks.support.peers import Peer, ctranslate2, marian
from benchmarks.support.processes import timed_run
from benchmarks.support.subject import Subject, demo_run, description, device_name
from benchmarks.support.tables import SIDE_BY_SIDE, print_peers, row, side_by_side_cells, table
from lit_transformer.decoding import CorpusDecoder, in_precision
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.records import Recorder
from lit_transformer.importance.variant import ablation

SCORES = ("contribution", "criticality", "group")

CPU_SIDE_BY_SIDE = 10
"""Variants in one batch on a CPU, where an analysis decodes one by one unless it is told otherwise."""


def main() -> None:
    """Measure what was asked for, and print it."""
    options = _options()
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
    torch.set_num_threads(options.threads)
    with TemporaryDirectory() as temporary:
        checkpoint, limit = options.checkpoint, options.limit
        if checkpoint is None:
            runs = Path("runs") if Path("runs/demo").is_dir() else Path(temporary)
            checkpoint, limit = demo_run(runs, epochs=2), limit or 200
        subject = Subject(checkpoint, options.data, limit, options.accelerator)
        use_clock(options.clock, subject.device)
        print(
            f"`{shlex.join(['python', *sys.argv])}`\n\n{description(subject)}; {device_name(subject.device)}, ",
            end="",
        )
        print(f"Python {platform.python_version()}, {options.clock} time\n", flush=True)
        for beam in options.beams:
            subject.decode_with(beam)
            _measure(subject, beam, options)
        if options.processes > 1:
            _print_processes(checkpoint, options, limit)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint or a run's folder; a run of the demo without it")
    parser.add_argument("--data", help="folder of the text, where it is not where it was in training")
    parser.add_argument("--accelerator", choices=["cpu", "gpu"], default="cpu", help="where everything is computed")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: fair with one thread only")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--scores", nargs="*", choices=SCORES, default=list(SCORES))
    parser.add_argument("--limit", type=int, help="take a sample of so many sentences; without a checkpoint, 200")
    parser.add_argument(
        "--side_by_side",
        type=int,
        help=f"maximum number of variants in one batch (default: on a GPU as many as fit, {CPU_SIDE_BY_SIDE} on a CPU)",
    )
    parser.add_argument("--k", type=int, default=3, help="components that group ablation removes")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of what is short")
    parser.add_argument("--processes", type=int, default=1, help="compare so many with one, each with one thread")
    parser.add_argument("--profile", action="store_true", help="print where the time of one evaluation goes")
    options = parser.parse_args()
    if options.accelerator == "gpu" and not torch.cuda.is_available():
        parser.error("--accelerator gpu needs a CUDA device, and torch finds none; leave it out.")
    if options.accelerator == "gpu" and options.clock == "cpu":
        parser.error("--clock cpu does not count what a GPU computes; give --clock wall, or --accelerator cpu.")
    if options.accelerator == "cpu" and options.side_by_side is None:
        options.side_by_side = CPU_SIDE_BY_SIDE
    return options


def _measure(subject: Subject, beam: int, options: argparse.Namespace) -> None:
    print(f"### {'Greedy' if beam == 1 else f'Beam {beam}'}\n", flush=True)
    baseline = subject.analysis().evaluator.evaluate()
    factor = _print_precisions(subject, options.runs)
    table(SIDE_BY_SIDE)
    found: list[Comparison] = []
    for score in options.scores:
        found.append(compare(subject, score, options.side_by_side, options.k))
        row(*side_by_side_cells(found[-1], factor))
    _print_records(subject, baseline, options.runs)
    print_peers(_peers(subject, baseline, options), found)
    if options.profile:
        _print_profile(subject)


def _print_precisions(subject: Subject, runs: int) -> float:
    """Print the time of decoding in two precisions; return the time of the faster one over that of float32."""
    sources = [batch.source for batch in subject.analysis().evaluator.scoring_set.batches]
    decoders = {
        name: CorpusDecoder(in_precision(subject.module.network, name), sources, subject.module.decoding)
        for name in ("float32", "bfloat16")
    }
    for decoder in decoders.values():
        decoder.decode()
    turns = [{name: seconds(decoder.decode)[0] for name, decoder in decoders.items()} for _ in range(runs)]
    spent = {name: statistics.median(turn[name] for turn in turns) for name in decoders}
    print(f"One decoding of all sentences takes {spent['float32']:.2f} s in float32 and ", end="")
    print(f"{spent['bfloat16']:.2f} s in bfloat16. The naive times below are those in float32.\n", flush=True)
    return min(spent.values()) / spent["float32"]


def _print_records(subject: Subject, baseline: Evaluation, runs: int) -> None:
    """Print how long recording takes for one evaluation."""
    analysis = subject.analysis()
    texts = analysis.evaluator._decoder.texts(baseline.ids())
    network, scoring_set = subject.module.network, analysis.evaluator.scoring_set

    def spent(name: str) -> float:
        recorder = Recorder((name,))
        return median_seconds(lambda: recorder.record(baseline, network, scoring_set, texts), runs)

    print(
        f"\nRecording takes {spent('loss'):.2f} s an evaluation for the loss and {spent('chrf'):.2f} s for chrF.\n",
        flush=True,
    )


def _peers(subject: Subject, baseline: Evaluation, options: argparse.Namespace) -> list[Peer]:
    network, settings = subject.module.network, subject.module.decoding
    scoring_set = subject.analysis().evaluator.scoring_set
    sources = [batch.source for batch in scoring_set.batches]
    hypotheses = baseline.ids()
    # In the order of the batches.
    ids = [hypotheses[place] for place in torch.argsort(scoring_set.order).tolist()]
    lengths = torch.tensor([len(pieces) + 1.0 for pieces in ids]).split([source.size(0) for source in sources])
    means = [round(float(part.mean())) for part in lengths]
    return [
        marian(network, sources, means, settings.beam, options.runs),
        ctranslate2(network, sources, ids, settings, options.threads, options.runs),
    ]


def _print_processes(checkpoint: Path, options: argparse.Namespace, limit: int | None) -> None:
    many = options.processes
    table(["contribution", "1 process, s", f"{many} processes, s", "times as fast", "without start and writing"])
    for beam in options.beams:
        single, dealt = (
            timed_run(checkpoint, options.data, beam, limit, count, options.accelerator) for count in (1, many)
        )
        bare = (single.whole - single.start) / (dealt.whole - dealt.start)
        times = [f"{run.whole:.1f} (start {run.start:.1f})" for run in (single, dealt)]
        row(f"beam {beam}", *times, f"{single.whole / dealt.whole:.2f}", f"{bare:.2f}")
    print()


def _print_profile(subject: Subject) -> None:
    """Print the operations that one evaluation spends its time in, of the middle component of the decoder."""
    analysis = subject.analysis()
    components = [name for name in analysis.evaluator.components if name.startswith("d:")]
    variant = ablation(components[len(components) // 2])
    decoder = analysis.evaluator._decoder
    decoder.decode(variant)
    on_gpu = subject.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]) as found:
        decoder.decode(variant)
    print(f"One evaluation of {variant.name}:\n\n```")
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    print(found.key_averages().table(sort_by=order, row_limit=16, max_name_column_width=40))
    print("```\n", flush=True)


if __name__ == "__main__":
    main()
