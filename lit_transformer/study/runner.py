"""Runs a study: base models, scores, arms, and what they are worth, one stage after another."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lit_transformer.errors import UserError
from lit_transformer.importance.matching import Match, nearest_count, nearest_depth
from lit_transformer.importance.sizes import decoder_layer_size
from lit_transformer.study.analyses import (
    Draws,
    draws_of,
    importance_order,
    missing_ablations,
    missing_scorers,
)
from lit_transformer.study.arm_configs import arm_config, base_config
from lit_transformer.study.arms import CONTROL, FAMILIES, TRAINED, Arm, Base, Chosen, arms_of
from lit_transformer.study.facts import Reader
from lit_transformer.study.options import STRUCTURAL, without
from lit_transformer.study.speed import stamp_of
from lit_transformer.study.stages import Stage, Stages
from lit_transformer.study.study_settings import StudySettings, random_seed

log = logging.getLogger(__name__)

SPLITS = ("validation", "test")


@dataclass(frozen=True)
class Made:
    """An arm's run from one base model.

    Args:
        family: Its family; ``base`` for the base model itself.
        arm: Name of the arm.
        seed: Seed of the base model.
        draw: Number of the random choice, where there are several.
        stage: How its training ended.
        checkpoint: What is scored.
        began: The model whose training it went on from; None for one from scratch.
    """

    family: str
    arm: str
    seed: int
    draw: int | None
    stage: Stage
    checkpoint: Path
    began: Base | None = None


@dataclass(frozen=True)
class Outcome:
    """What a study did.

    Args:
        made: The runs.
        chosen: What was decided.
        matches: Of each base model, the chosen components and the layers that they stand against, by seed.
        draws: What components cost before fine-tuning, by seed.
        speeds: Sentences per second by checkpoint, of those that were timed side by side.
        failed: Stages that did not end well.
    """

    made: list[Made]
    chosen: Chosen
    matches: dict[int, Match]
    draws: dict[int, Draws]
    speeds: dict[Path, float]
    failed: list[Stage]


class StudyRunner:
    """Runs the stages of a study that are not done.

    Args:
        settings: What it is asked to do.
        stages: Runs a stage.
        reader: Reads the files of runs.
        base_config: The content of `StudySettings.base_config`.
    """

    def __init__(self, settings: StudySettings, stages: Stages, reader: Reader, base_config: Mapping[str, Any]) -> None:
        self._settings, self._stages, self._reader, self._base_config = settings, stages, reader, base_config
        self._arms = [arms_of(family)[name] for family in FAMILIES for name in settings.arms_in(family)]
        self._chosen = Chosen()
        self._made: list[Made] = []
        self._failed: dict[str, Stage] = {}
        self._matches: dict[int, Match] = {}
        self._unscored: set[int] = set()

    def run(self, given: Sequence[Base]) -> Outcome:
        """Run what is not done.

        Args:
            given: The base models of `StudySettings.base_runs`; none where the study trains them.

        Raises:
            UserError: A run of another study, or of other settings, is in the way.
        """
        seeds = [base.seed for base in given] or self._settings.seeds
        self._stages.progress.plan(list(self._keys(seeds, trains=not given)))
        bases = {base.seed: base for base in given} or self._bases()
        for base in given:
            stage = Stage(self._base_key(base.seed), "done")
            self._made.append(Made("base", "trained", base.seed, None, stage, base.checkpoint))
        for base in bases.values():
            self._score_components(base)
        self._choose_count(bases)
        for base in bases.values():
            self._ablate(base)
        self._choose_rate(bases)
        for rate in self._settings.learning_rates:
            self._stages.progress.end(self._rate_key(seeds[0], rate))
        self._stages.progress.end("scoring-rates")
        for seed in seeds:
            if seed in bases:
                self._run_arms(bases[seed], first=seed == next(iter(bases)))
            else:
                for arm, draw in self._planned():
                    key = self._key(arm, seed, draw)
                    self._add(arm, seed, draw, self._stages.skip(key, self._base_key(seed)), None)
        self._score_runs([made.checkpoint for made in self._made if made.stage.is_done], SPLITS, "scoring")
        count = self._chosen.count
        found = {} if count is None else {s: draws_of(self._settings, b, count) for s, b in bases.items()}
        draws = {seed: draw for seed, draw in found.items() if draw is not None}
        speeds: dict[Path, float] = {}
        for seed in seeds if self._settings.sentences else []:
            speeds |= self._time(seed)
        return Outcome(self._made, self._chosen, self._matches, draws, speeds, list(self._failed.values()))

    def _keys(self, seeds: Sequence[int], trains: bool) -> Iterator[str]:
        """Yield the names of the stages that there will be, about in their order."""
        if trains:
            yield from map(self._base_key, seeds)
        if self._needs_scores():
            yield from (f"scores-seed{seed}" for seed in seeds)
        yield from (f"ablations-seed{seed}" for seed in seeds)
        rates = self._settings.learning_rates
        several = bool(self._settings.arms) and len(rates) > 1
        if several:
            yield from (self._rate_key(seeds[0], rate) for rate in rates)
            yield "scoring-rates"
        for seed in seeds:
            for arm, draw in self._planned():
                # That one is a run of the choice of the rate.
                if not (several and seed == seeds[0] and arm.family == TRAINED and arm.name == CONTROL[TRAINED]):
                    yield self._key(arm, seed, draw)
        yield "scoring"
        if self._settings.sentences:
            yield from (f"speed-seed{seed}" for seed in seeds)

    def _bases(self) -> dict[int, Base]:
        found = {}
        for seed in self._settings.seeds:
            key = self._base_key(seed)
            config = base_config(self._settings, self._base_config, key, seed)
            args = self._settings.options
            stage = self._noted(self._stages.train(key, args, config, self._reader.seconds_of))
            if stage.is_done:
                found[seed] = self._reader.base(self._stages.run_of(key))
                began = Made("base", "trained", seed, None, stage, self._stages.average_of(key))
                self._made.append(began)
        return found

    def _score_components(self, base: Base) -> None:
        """Score the components of a base model, where an arm asks for it."""
        if self._needs_scores():
            self._analyze(f"scores-seed{base.seed}", base, lambda: missing_scorers(self._settings, base))

    def _needs_scores(self) -> bool:
        needed = any(arm.needs_scores or arm.name == "shallow" or arm.choice == "layers" for arm in self._arms)
        return needed or (self._settings.count is None and any(arm.needs_count for arm in self._arms))

    def _ablate(self, base: Base) -> None:
        def missing() -> list[dict[str, Any]]:
            return missing_ablations(self._settings, base, self._chosen, self._arms)

        key = f"ablations-seed{base.seed}"
        if base.seed not in self._unscored:
            self._analyze(key, base, missing)
        self._stages.progress.end(key)

    def _analyze(self, key: str, base: Base, missing: Callable[[], list[dict[str, Any]]]) -> None:
        stage = self._noted(self._stages.analyze(key, base.checkpoint, self._settings.accelerator, missing))
        if not stage.is_done and key.startswith("scores"):
            self._unscored.add(base.seed)

    def _choose_count(self, bases: dict[int, Base]) -> None:
        """Decide once how many components are chosen, and how many decoder layers weigh as much."""
        count, layers = self._settings.count, None
        for seed, base in bases.items():
            if seed in self._unscored:
                continue
            try:
                order = importance_order(self._settings, base)
            except UserError:
                # No arm needs the scores of components, which were not made.
                continue
            if count is None:
                count = len(nearest_count(base.structure, order, 1).components)
            if base.structure.decoder_layers > 1:
                match = nearest_depth(base.structure, order[:count])
                layers = layers or match.layers
                self._matches[seed] = replace(
                    match, layers=layers, of_layers=layers * decoder_layer_size(base.structure)
                )
        self._chosen = replace(self._chosen, count=count, layers=layers)
        self._stages.decide(count=count, layers=layers)
        for seed, match in self._matches.items():
            if match.told and any(a.choice == "layers" or a.name == "shallow" for a in self._arms):
                log.warning("Seed %d: %s.", seed, match.line)

    def _choose_rate(self, bases: dict[int, Base]) -> None:
        """Decide once on the peak learning rate, by BLEU on validation of the control of the first base model."""
        rates = self._settings.learning_rates
        if not self._settings.arms or not bases:
            return
        decided = self._stages.decided
        known = decided.get("learning_rate") if decided.get("learning_rates") == rates else None
        rate = rates[0] if len(rates) == 1 else known
        if rate is None:
            base, control = next(iter(bases.values())), arms_of(TRAINED)[CONTROL[TRAINED]]
            made = {}
            for candidate in rates:
                self._chosen = replace(self._chosen, learning_rate=candidate)
                stage = self._train(self._rate_key(base.seed, candidate), control, base, self._chosen, 0)
                if stage.is_done:
                    made[candidate] = self._stages.average_of(stage.key)
            self._score_runs(list(made.values()), SPLITS[:1], "scoring-rates")
            found = {candidate: self._reader.scores(path, "validation") for candidate, path in made.items()}
            bleu = {candidate: scores.bleu for candidate, scores in found.items() if scores is not None}
            # Of equal ones the first.
            rate = max(bleu, key=lambda candidate: bleu[candidate]) if bleu else None
            if rate is not None:
                log.info("Peak learning rate: %g (validation BLEU %s).", rate, _listed(bleu))
        self._chosen = replace(self._chosen, learning_rate=rate)
        if rate is not None:
            self._stages.decide(learning_rate=rate, learning_rates=rates)

    def _run_arms(self, base: Base, first: bool) -> None:
        chosen = self._chosen
        for arm, draw in self._planned():
            is_control = arm.name == CONTROL[arm.family]
            key = self._key(arm, base.seed, draw)
            if is_control and arm.family == TRAINED and first and len(self._settings.learning_rates) > 1:
                key = self._rate_key(base.seed, chosen.learning_rate or 0.0)
            needs = self._needs(arm, base, chosen)
            if needs is not None:
                stage = self._stages.skip(key, needs)
            else:
                stage = self._train(key, arm, base, chosen, 0 if draw is None else random_seed(base.seed, draw))
            self._add(arm, base.seed, draw, stage, base if arm.family == TRAINED else None)
            if is_control and arm.family == TRAINED and stage.is_done:
                chosen = replace(chosen, updates=self._reader.updates(self._stages.run_of(key)))

    def _needs(self, arm: Arm, base: Base, chosen: Chosen) -> str | None:
        """Return what an arm lacks; None where it can be trained."""
        if arm.needs_scores and base.seed in self._unscored:
            return f"scores-seed{base.seed}"
        if arm.choice in ("random", "rule", "scores", "most", "matched") and chosen.count is None:
            return "a count; give --count, or have the components scored"
        if (arm.choice == "layers" or arm.name == "shallow") and chosen.layers is None:
            return "the scores of a model with at least two decoder layers"
        if arm.family == TRAINED and chosen.learning_rate is None:
            return "the learning rate, which no run of the control could tell"
        if arm.needs_updates and chosen.updates is None:
            return f"the control {CONTROL[TRAINED]!r}"
        return None

    def _train(self, key: str, arm: Arm, base: Base, chosen: Chosen, draw: int) -> Stage:
        config = arm_config(self._settings, arm, base, chosen, key, draw)
        start = [f"--start_from={base.checkpoint}"] if arm.starts else []
        options = self._settings.options
        if arm.name == "shallow":
            # The others have that setting of the base model, which it has to differ in.
            options = without(options, STRUCTURAL)
        began = base.weights if arm.starts else None
        stage = self._stages.train(key, [*start, *options], config, self._reader.seconds_of, began)
        if stage.is_done and (message := self._stopped_early(key, config)):
            stage = self._stages.fail(key, message)
        return self._noted(stage)

    def _stopped_early(self, key: str, config: Mapping[str, Any]) -> str | None:
        """Return what to say of an arm that was not trained for all its epochs, and so not as its control was."""
        run, planned = self._stages.run_of(key), config["trainer"]["max_epochs"] * self._settings.validations_per_epoch
        made = self._reader.validations(run)
        if made is None or made >= planned:
            return None
        return (
            f"training stopped after {made} of {planned} validations, at step {self._reader.updates(run)}; leave out "
            f"of --options what stops it, and remove {str(run)!r} to train it again"
        )

    def _score_runs(self, checkpoints: Sequence[Path], splits: Sequence[str], key: str) -> None:
        """Score checkpoints, several in one process; where that dies, what is left is tried again."""

        def missing() -> list[Path]:
            return [path for path in checkpoints if any(self._reader.scores(path, split) is None for split in splits)]

        left = missing()
        while left:
            options = [f"--accelerator={self._settings.accelerator}", f"--splits=[{','.join(splits)}]"]
            args = ["scoring", *options, *map(str, left)]
            stage = self._noted(self._stages.work(key, args, lambda: not missing()))
            before, left = left, missing()
            if stage.is_done or len(left) == len(before):
                break
        self._stages.progress.end(key)

    def _time(self, seed: int) -> dict[Path, float]:
        """Return the sentences per second of the runs of a seed, decoded side by side."""
        runs = [made.checkpoint for made in self._made if made.seed == seed and made.stage.is_done]
        sentences = self._settings.sentences
        key = f"speed-seed{seed}"
        path = self._stages.folder / f"{key}.json"
        if runs:
            args = ["speed", f"--sentences={sentences}", *map(str, runs)]
            self._noted(self._stages.work(key, args, lambda: len(_speeds(path, runs, sentences)) == len(runs), path))
        return _speeds(path, runs, sentences)

    def _planned(self) -> Iterator[tuple[Arm, int | None]]:
        """Yield the arms and their random choices, the control of each family first."""
        for arm in self._arms:
            if arm.is_random:
                for draw in range(1, self._settings.random_finetuned + 1):
                    yield arm, draw
            else:
                yield arm, None

    def _add(self, arm: Arm, seed: int, draw: int | None, stage: Stage, began: Base | None) -> None:
        self._made.append(Made(arm.family, arm.name, seed, draw, stage, self._stages.average_of(stage.key), began))
        self._noted(stage)

    def _noted(self, stage: Stage) -> Stage:
        if stage.is_done:
            self._failed.pop(stage.key, None)
        else:
            self._failed[stage.key] = stage
        return stage

    def _key(self, arm: Arm, seed: int, draw: int | None) -> str:
        return f"{arm.family}-{arm.name}{'' if draw is None else draw}-seed{seed}"

    def _rate_key(self, seed: int, rate: float) -> str:
        return f"{TRAINED}-{CONTROL[TRAINED]}-rate{rate:g}-seed{seed}"

    def _base_key(self, seed: int) -> str:
        return f"base-seed{seed}"


def _speeds(path: Path, runs: Sequence[Path], sentences: int) -> dict[Path, float]:
    """Return the sentences per second that a file tells of runs as they are now, timed on so many sentences."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        timed = {run: content[str(run)] for run in runs if str(run) in content}
        # A file of before these were kept tells neither, and is taken as it is.
        same = [
            run
            for run, about in timed.items()
            if all(about.get(name, now) == now for name, now in ({"sentences": sentences} | stamp_of(run)).items())
        ]
        return {run: float(timed[run]["sentences_per_second"]) for run in same}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _listed(bleu: dict[float, float]) -> str:
    return ", ".join(f"{value:.2f} at {rate:g}" for rate, value in bleu.items())
