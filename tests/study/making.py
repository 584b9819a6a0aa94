"""A base model that nobody trained, and a laboratory that plays the commands of a study."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lit_transformer.importance.resampling import Array
from lit_transformer.structure import Structure
from lit_transformer.study.arms import Base
from lit_transformer.study.facts import Facts, SplitScores
from lit_transformer.study.processes import Ended
from lit_transformer.study.speed import stamp_of
from lit_transformer.study.study_settings import StudySettings

STRUCTURE = Structure(d_model=128, feed_forward=256, heads=4, norm="pre")
CONFIG = {
    "seed_everything": 1,
    "name": "demo",
    "runs_dir": "runs",
    "trainer": {"max_epochs": 5, "max_steps": -1, "precision": "bf16-mixed", "callbacks": ["callbacks.Other"]},
    "model": {
        "decoder_layers": 6,
        "dropout": 0.1,
        "pruned": None,
        "feed_forward_sizes": None,
        "learning_rate": 3e-3,
        "warmup_steps": 200,
    },
    "data": {"dataset": "grammar", "max_tokens": 2048},
    "checkpoint": {"average": 1, "every_n_steps": None},
    "early_stopping": {"patience": 3, "monitor": "val/loss"},
    "samples": {"count": 3},
}


def settings_of(**options: Any) -> StudySettings:
    """Return settings of a small study."""
    given = {"base_config": "demo.yaml", "finetune_epochs": 2, "average": 2, "warmup_steps": 20, "random_draws": 2}
    return StudySettings(**{**given, "learning_rates": [5e-4], "name": "made", **options})


def base_of(seed: int, run: Path | None = None, structure: Structure = STRUCTURE) -> Base:
    """Return a base model of 720 steps."""
    run = Path(f"runs/{seed}") if run is None else run
    return Base(run, run / "checkpoints" / "average.ckpt", seed, structure, CONFIG, 720, 3e-3, 200)


class Laboratory:
    """Plays the commands of a study: it writes the files that tell of each, and nothing else.

    Args:
        stop_at: Number of the command, from 0, that is interrupted in its middle.
        failing: Keys of the stages whose command fails.
    """

    def __init__(self, stop_at: int | None = None, failing: Sequence[str] = ()) -> None:
        self.stop_at, self.failing = stop_at, failing
        self.commands: list[list[str]] = []

    def __call__(self, args: Sequence[str], log: Path, keep_output: bool = False) -> Ended:
        """Play a command."""
        self.commands.append(list(args))
        stopped = len(self.commands) - 1 == self.stop_at
        if log.stem in self.failing:
            return Ended(2, "", f"{log.stem} is out of luck.")
        output = ""
        if args[0] == "lit_transformer":
            play = self._fit if args[1] == "fit" else self._analyze
            play(args[2:], stopped)
        elif args[0].endswith("scoring"):
            self._score(args[1:], stopped)
        elif not stopped:
            runs = [arg for arg in args[1:] if not arg.startswith("--")]
            sentences = int(next(arg for arg in args if arg.startswith("--sentences")).partition("=")[2])
            about = {run: {"sentences": sentences, **stamp_of(Path(run))} for run in runs}
            output = json.dumps({run: {"sentences_per_second": len(run) / 2, **about[run]} for run in runs})
        if stopped:
            raise KeyboardInterrupt
        return Ended(0, output)

    def _fit(self, args: Sequence[str], stopped: bool) -> None:
        given = dict(itertools.pairwise(args))
        if "--ckpt_path" in given:
            run = Path(given["--ckpt_path"])
            assert (run / "checkpoints/last.ckpt").is_file()
        else:
            config = yaml.safe_load(Path(given["--config"]).read_text(encoding="utf-8"))
            run = Path(config["runs_dir"]) / config["name"] / "version_0"
            assert not run.exists()
        folder = run / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "last.ckpt").touch()
        if not stopped:
            (folder / "average.ckpt").touch()

    def _analyze(self, args: Sequence[str], stopped: bool) -> None:
        given = dict(itertools.pairwise(args))
        callbacks = yaml.safe_load(Path(given["--config"]).read_text(encoding="utf-8"))["trainer"]["callbacks"]
        checkpoint = Path(given["--ckpt_path"])
        path = checkpoint.parents[1] / "analysis" / checkpoint.stem / "scores.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        names = STRUCTURE.components
        content = json.loads(path.read_text()) if path.exists() else {"components": [{"component": n} for n in names]}
        # An analysis that is stopped has come to its first scorer.
        for callback in callbacks[: 1 if stopped else None]:
            _scored(content, callback["class_path"].removeprefix("callbacks."), callback["init_args"])
        path.write_text(json.dumps(content))

    def _score(self, args: Sequence[str], stopped: bool) -> None:
        splits = next(arg for arg in args if arg.startswith("--splits")).partition("=")[2].strip("[]").split(",")
        checkpoints = [Path(arg) for arg in args if not arg.startswith("--")]
        for checkpoint in checkpoints[: 1 if stopped else None]:
            for split in splits:
                (checkpoint.parent / f"{split}.scores").touch()


def _scored(content: dict[str, Any], name: str, arguments: Mapping[str, Any]) -> None:
    if name == "ContributionScore":
        # d:ff:1 is the least important one, then the others from the last back to the first.
        for place, row in enumerate(content["components"]):
            row["contribution"] = 0.0 if row["component"] == "d:ff:1" else 1.0 - place / 100
        return
    if name == "LayerAblation":
        rows = [{"step": n, "layer": n, "components": [f"d:sa:{n}"], "validation_drop": 1.0} for n in range(1, 3)]
        content["layer_ablation"] = {"rows": rows[: arguments["count"]]}
        return
    orders = [f"random-{seed}" for seed in arguments.get("seeds", [])] or [arguments["order"]]
    rows = [
        {
            "order": order,
            "step": step,
            "component": f"d:sa:{step}",
            "validation_bleu": 40.0 - step - len(order),
            "validation_drop": float(step),
        }
        for order in orders
        for step in range(1, arguments["k"] + 1)
    ]
    before = content.get("group_ablation", {"rows": []})["rows"]
    content["group_ablation"] = {"rows": [*(row for row in before if row["order"] not in orders), *rows]}


class Reading:
    """Tells of the runs that a `Laboratory` made.

    Args:
        weights: Digest of the weights of every base model.
        validations: Number of those of every arm.
    """

    def __init__(self, weights: str = "", validations: int | None = 99) -> None:
        self._weights, self._validations = weights, validations

    def base(self, run: Path) -> Base:
        """Return the base model of a run, whose seed is the end of its name."""
        return replace(base_of(int(str(run.parent.name)[-1]), run), weights=self._weights)

    def updates(self, run: Path) -> int:
        """Return the steps of any run."""
        return 100

    def scores(self, checkpoint: Path, split: str) -> SplitScores | None:
        """Return scores that depend on the name of the run alone."""
        if not (checkpoint.parent / f"{split}.scores").exists():
            return None
        bleu = 30.0 + sum(map(ord, checkpoint.parents[2].name)) % 100 / 10
        return SplitScores(bleu, 2.0, "nrefs:1|made", f"{split}, 20 sentences", checkpoint.parent)

    def facts(self, checkpoint: Path, began: Base | None) -> Facts:
        """Return facts of a run."""
        updates = 100 + (0 if began is None else began.updates)
        scores = [self.scores(checkpoint, split) for split in ("validation", "test")]
        return Facts(("d:sa:1",), 2_000_000, 4_000_000, updates, 1000 * updates, *scores)

    def statistics(self, checkpoint: Path, scores: SplitScores) -> Array:
        """Return statistics of 20 sentences of ten words, with more or fewer of them right."""
        right = np.random.default_rng(int(scores.bleu * 10)).integers(4, 11, size=20)
        return np.array([[n, n - 1, n - 2, n - 3, 10, 9, 8, 7, 10, 10] for n in right])

    def seconds_of(self, run: Path) -> float:
        """Return nothing."""
        return 0.0

    def validations(self, run: Path) -> int | None:
        """Return the same of any run."""
        return self._validations
