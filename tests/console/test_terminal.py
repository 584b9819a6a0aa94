from __future__ import annotations

import logging

import pytest

from lit_transformer.cli.environment import set_up_lightning_messages, set_up_messages
from lit_transformer.console.terminal import is_first_process

LOGGERS = ("lit_transformer", "callbacks", "pytorch_lightning", "lightning_fabric")


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID", "LIT_TRANSFORMER_QUIET"):
        monkeypatch.delenv(name, raising=False)


FIRST: list[dict[str, str]] = [
    {},
    {"LOCAL_RANK": "0"},
    {"NODE_RANK": "0", "LOCAL_RANK": "0"},
    # torchrun, within srun too
    {"RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "SLURM_PROCID": "0"},
    {"SLURM_PROCID": "0"},
]
OTHERS: list[dict[str, str]] = [
    {"LOCAL_RANK": "1"},
    {"NODE_RANK": "1"},
    {"NODE_RANK": "1", "LOCAL_RANK": "0"},
    {"NODE_RANK": "0", "LOCAL_RANK": "1"},
    {"GROUP_RANK": "1", "LOCAL_RANK": "0"},
    {"RANK": "8", "LOCAL_RANK": "0", "GROUP_RANK": "1"},
    {"SLURM_PROCID": "3"},
]


@pytest.mark.parametrize(("told", "first"), [*((told, True) for told in FIRST), *((told, False) for told in OTHERS)])
def test_one_of_all_processes_shows_what_is_for_all(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, str], first: bool
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert is_first_process() is first
    before = {name: (logging.getLogger(name).level, logging.getLogger(name).handlers) for name in LOGGERS}
    propagates = {name: logging.getLogger(name).propagate for name in LOGGERS}
    try:
        set_up_messages()
        set_up_lightning_messages()
        assert {name: logging.getLogger(name).isEnabledFor(logging.INFO) for name in LOGGERS} == dict.fromkeys(
            LOGGERS, first
        )
    finally:
        for name, (level, handlers) in before.items():
            logger = logging.getLogger(name)
            logger.setLevel(level)
            logger.handlers, logger.propagate = handlers, propagates[name]
