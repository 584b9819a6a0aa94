"""A trained run that the tests of the commands share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.end_to_end.running import EVERYTHING, Finished, of, run_process, succeed, tiny_fit, write_text

# The form of a real key of Weights & Biases; nothing that is written may hold it.
KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the text."""
    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """The folder of a run with some BLEU, where nothing must be changed."""
    root = tmp_path_factory.mktemp("trained")
    succeed(tiny_fit(text, max_steps=60, val_check_interval=12, max_epochs=100), root)
    return root / "runs" / "run" / "version_0"


@pytest.fixture(scope="session")
def fitted_on_two(tmp_path_factory: pytest.TempPathFactory, text: Path) -> tuple[Finished, Path]:
    """A fit on two processes that scores its components at its end, and its current folder.

    Other tests start their two processes themselves; here Lightning starts the second one.
    """
    root = tmp_path_factory.mktemp("two")
    more = ["--name=demo", "--model.dropout=0", "--trainer.callbacks+=callbacks.ContributionScore"]
    args = tiny_fit(text, *more, max_steps=24, max_epochs=100, val_check_interval=12, devices=2, strategy="ddp")
    finished = run_process(args, root, env={"WANDB_MODE": "offline", "WANDB_API_KEY": KEY})
    assert finished.status == 0, finished.errors
    return finished, root


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path) -> Path:
    """The folder of a run with some BLEU, of this test's own; the current folder of its command is ``tmp_path``."""
    folder = tmp_path / "runs" / "run" / "version_0"
    shutil.copytree(trained_once, folder)
    return folder


@pytest.fixture(scope="session")
def whole(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole analysis with every scorer, in one go, where nothing must be changed."""
    output = tmp_path_factory.mktemp("whole")
    succeed(of("analyze", trained_once, *EVERYTHING, "--output", str(output)), output)
    return output
