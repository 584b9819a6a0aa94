"""Where a report in Weights & Biases goes."""

from __future__ import annotations

import re

from lit_transformer.errors import UserError


def check_target(target: str) -> tuple[str, str]:
    """Return entity and project of a target.

    Args:
        target: ``ENTITY/PROJECT``.

    Raises:
        UserError: It has another form.
    """
    if not re.fullmatch(r"[^/\\#?%:\s]+/[^/\\#?%:]+", target):
        raise UserError(f"--wandb is {target!r}; give ENTITY/PROJECT, such as my-team/lit-transformer.")
    entity, _, project = target.partition("/")
    return entity, project
