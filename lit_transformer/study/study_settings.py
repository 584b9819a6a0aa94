"""What a study is asked to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lit_transformer.errors import UserError
from lit_transformer.study.arms import CONTROL, FAMILIES, SCRATCH, TRAINED, arms_of
from lit_transformer.study.options import check_options

# That of `lit_transformer.importance.selection`, which would load torch.
Score = Literal["contribution", "criticality", "group_ablation"]


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study.

    Args:
        name: Name of the study; its folder is <folder>/<name>.
        folder: Folder of all studies.
        base_config: Configuration that the base models are trained with, a file or one that comes with the program; not
            needed where base_runs are given.
        options: Further options of every fit, such as [--data.dir, FOLDER]; not those that the study sets itself.
        seeds: Seeds of the base models; each trains one, and every arm starts from each.
        base_runs: Folders of trained runs to start from, in place of training any; each has its own seed. They can also
            be named by themselves: study RUN...
        accelerator: Lightning's name of the device, such as auto, cpu or gpu.
        by: What chooses the components: contribution, criticality or group_ablation.
        components: Which components may be chosen: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all
            (null).
        count: How many are chosen; null: so many that they weigh about as much as one decoder layer.
        finetune_epochs: Epochs of every arm from the trained model; arms from scratch have the base's epochs and these.
        learning_rates: Peak learning rates to choose from, once, for the control of the arms from the trained model.
        warmup_steps: Optimizer steps of linear growth up to it.
        average: The checkpoints of the last so many validations are averaged, and the average is what is scored.
        validations_per_epoch: How often an epoch is validated.
        arms: Arms from the trained model; continued is their control.
        scratch_arms: Arms from scratch; full is their control.
        random_draws: Random choices that are scored before any fine-tuning.
        random_finetuned: Random choices that are fine-tuned, for each of the random arms.
        sentences: Sentences of the test split that are decoded to compare speeds; 0 compares none.

    Raises:
        UserError: A setting means nothing, or not with another one.
    """

    name: str = "study"
    folder: str = "studies"
    base_config: str | None = None
    options: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=lambda: [1])
    base_runs: list[str] | None = None
    accelerator: str = "auto"
    by: Score = "contribution"
    components: list[str] | None = None
    count: int | None = None
    finetune_epochs: int = 1
    learning_rates: list[float] = field(default_factory=lambda: [1e-3])
    warmup_steps: int = 200
    average: int = 5
    validations_per_epoch: int = 1
    arms: list[str] = field(default_factory=lambda: ["continued", "pruned", "random", "shallow_cut", "rewound"])
    scratch_arms: list[str] = field(default_factory=list)
    random_draws: int = 10
    random_finetuned: int = 1
    sentences: int = 500

    @property
    def path(self) -> Path:
        """The folder of this study."""
        return Path(self.folder) / self.name

    def arms_in(self, family: str) -> list[str]:
        """Return the arms of a family, the control first."""
        given = self.arms if family == TRAINED else self.scratch_arms
        return sorted(given, key=lambda name: name != CONTROL[family])

    def __post_init__(self) -> None:
        """Refuse what means nothing.

        Raises:
            UserError: A setting means nothing, or not with another one.
        """
        if not re.fullmatch(r"\w[\w.+-]*", self.name):
            raise UserError(f"--name {self.name!r} is no name of a folder; use letters, digits, '.', '_', '+' and '-'.")
        if self.base_config is None and not self.base_runs:
            raise UserError("a study needs trained models; name their runs, or give --base_config FILE to train some.")
        _refuse_small(
            count=(self.count, 1),
            finetune_epochs=(self.finetune_epochs, 1),
            warmup_steps=(self.warmup_steps, 0),
            average=(self.average, 2),
            validations_per_epoch=(self.validations_per_epoch, 1),
            random_draws=(self.random_draws, 0),
            random_finetuned=(self.random_finetuned, 1),
            sentences=(self.sentences, 0),
        )
        if not self.learning_rates or min(self.learning_rates) <= 0:
            raise UserError(f"--learning_rates is {self.learning_rates!r}; give one or more above 0, such as [0.001].")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise UserError(f"--seeds is {self.seeds!r}; give one or more different whole numbers from 0 up.")
        if self.finetune_epochs * self.validations_per_epoch < self.average:
            raise UserError(
                f"--average is {self.average}, but --finetune_epochs {self.finetune_epochs} with "
                f"--validations_per_epoch {self.validations_per_epoch} leave fewer checkpoints; average fewer, or "
                "fine-tune longer."
            )
        check_options(self.options)
        for family in FAMILIES:
            self._check_arms(family)

    def _check_arms(self, family: str) -> None:
        flag = "--arms" if family == TRAINED else "--scratch_arms"
        given, existing = self.arms_in(family), list(arms_of(family))
        if unknown := [name for name in given if name not in existing]:
            raise UserError(f"{flag} has {', '.join(map(repr, unknown))}; there are {', '.join(existing)}.")
        if len(set(given)) < len(given):
            raise UserError(f"{flag} is {given!r}; give each arm once.")
        if given and given[0] != CONTROL[family]:
            raise UserError(f"{flag} lacks {CONTROL[family]!r}, the control that the others are compared with; add it.")
        if family == SCRATCH and not given and not self.arms:
            raise UserError("a study needs arms; give --arms or --scratch_arms.")
        if "most" in given and self.by == "group_ablation":
            raise UserError(
                "--by group_ablation tells which components cost least together, not which cost most; leave the arm "
                "'most' out, or choose by contribution or criticality."
            )


def _refuse_small(**given: tuple[int | None, int]) -> None:
    for name, (value, least) in given.items():
        if value is not None and value < least:
            raise UserError(f"--{name} is {value!r}; give a whole number from {least} up.")


def random_seed(seed: int, draw: int) -> int:
    """Return the seed of a random choice, so that the choices of two base models are independent.

    Args:
        seed: Seed of the base model.
        draw: Number of the choice, from 1.
    """
    return 1000 * seed + draw
