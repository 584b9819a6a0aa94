"""The numbers of training that need no model: checks, learning rate, seeds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from lit_transformer.errors import UserError

if TYPE_CHECKING:
    # Not in a study's help, which loads no torch.
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR


def check_recipe(
    label_smoothing: float,
    learning_rate: float,
    warmup_steps: int,
    schedule_start: int,
    adam_betas: tuple[float, float],
    adam_epsilon: float,
) -> None:
    """Refuse numbers that nothing can be trained with.

    Raises:
        UserError: A number is out of its range.
    """
    if not 0.0 <= label_smoothing < 1.0:
        raise UserError(f"--model.label_smoothing is {label_smoothing!r}; give a number from 0 to below 1.")
    if not 0.0 < learning_rate < math.inf or warmup_steps < 0:
        raise UserError(
            f"--model.learning_rate is {learning_rate!r} and --model.warmup_steps {warmup_steps!r}; "
            "give a rate above 0 and a number of steps from 0 up."
        )
    if schedule_start < 0:
        raise UserError(f"--model.schedule_start is {schedule_start!r}; give a number of steps from 0 up.")
    if not all(0.0 <= beta < 1.0 for beta in adam_betas) or not 0.0 <= adam_epsilon < math.inf:
        raise UserError(
            f"--model.adam_betas is {list(adam_betas)!r} and --model.adam_epsilon {adam_epsilon!r}; give two decay "
            "rates from 0 to below 1, such as [0.9,0.98], and an epsilon from 0 up."
        )


def learning_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that learn.

    Raises:
        UserError: None does.
    """
    learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not learning:
        raise UserError("nothing is left that could learn; let more than the changed components learn.")
    return learning


def learning_rate_factor(schedule: str, warmup_steps: int, start: int = 0) -> Callable[[int], float]:
    """Return the learning rate at a step as a share of the peak.

    Args:
        schedule: ``inverse_sqrt``: the peak at the end of the warm-up, then decay with the square root of the step
            (Vaswani et al. 2017, 5.3); ``constant``: the peak from the end of the warm-up on.
        warmup_steps: Steps of linear growth; 0 for none.
        start: Steps that count as done before the first one.

    Example:
        >>> [learning_rate_factor("inverse_sqrt", 4)(step) for step in (0, 3, 15)]
        [0.25, 1.0, 0.5]
    """

    def factor(step: int) -> float:
        done = start + step + 1
        if done < warmup_steps:
            return done / warmup_steps
        return 1.0 if schedule == "constant" else (max(warmup_steps, 1) / done) ** 0.5

    return factor


def replay_start(steps: int, again: int) -> int:
    """Return the steps of a schedule that count as done for a run that replays its end (Renda et al. 2020).

    Args:
        steps: Steps that the schedule has behind it.
        again: Steps of the run that replays it.

    Example:
        >>> replay_start(720, 100)
        620
    """
    return max(steps - again, 0)


def set_peak_rate(scheduler: LambdaLR, peak: float) -> None:
    """Let a scheduler go on from where it is with another peak learning rate."""
    for group, factor in zip(scheduler.optimizer.param_groups, scheduler.lr_lambdas, strict=True):
        group["initial_lr"] = peak
        group["lr"] = peak * factor(scheduler.last_epoch)
    scheduler.base_lrs = [peak] * len(scheduler.base_lrs)
    scheduler._last_lr = [group["lr"] for group in scheduler.optimizer.param_groups]


def step_seed(seed: int, global_step: int, batch_idx: int, rank: int) -> int:
    """Return the seed of one micro-batch's dropout: a hash of where training is."""
    text = f"{seed}/{global_step}/{batch_idx}/{rank}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big", signed=True)
