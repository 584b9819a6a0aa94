from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callbacks import LastCheckpoint, LearningRateRewinding
from lit_transformer.errors import UserError
from tests.callbacks.conftest import Setup
from tests.callbacks.test_pruning import parent_of


@pytest.fixture(scope="module")
def parent(setups: Callable[[], Setup]) -> Setup:
    """A model that was trained for eight steps; nothing may change it."""
    setup = setups()
    module = setup.module(learning_rate=0.03, warmup_steps=3, schedule="constant")
    setup.trainer([LastCheckpoint()]).fit(module, datamodule=setup.data())
    return setup


@pytest.mark.parametrize(("steps", "start"), [(3, 5), (8, 0), (9, 0)])
def test_recipe_and_end_are_the_first_runs(
    steps: int, start: int, parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    module = setup.module(learning_rate=0.5)
    trainer = setup.trainer([LearningRateRewinding()], max_steps=steps)
    trainer.fit(module, datamodule=setup.data(), start_from=parent_of(parent, "last"))
    found = {name: module.hparams[name] for name in ("learning_rate", "warmup_steps", "schedule", "schedule_start")}
    assert found == {"learning_rate": 0.03, "warmup_steps": 3, "schedule": "constant", "schedule_start": start}
    assert trainer.optimizers[0].param_groups[0]["initial_lr"] == 0.03
    assert ("makes 9 steps, and the first one made 8" in caplog.text) == (steps == 9)


@pytest.mark.parametrize(
    ("options", "starts", "message"),
    [({}, False, "give --start_from RUN"), ({"max_steps": -1, "max_epochs": -1}, True, "needs the end of this run")],
)
def test_nothing_to_replay(options: dict[str, Any], starts: bool, message: str, parent: Setup, setup: Setup) -> None:
    trainer = setup.trainer([LearningRateRewinding()], **options)
    start = parent_of(parent, "last") if starts else None
    with pytest.raises(UserError, match=message):
        trainer.fit(setup.module(), datamodule=setup.data(), start_from=start)
