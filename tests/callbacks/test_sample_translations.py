from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl

from callbacks import SampleTranslations
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.translations import Translation
from tests.callbacks.conftest import Setup


def shown(count: int, sentences: int, caplog: pytest.LogCaptureFixture, **trainer: Any) -> list[str]:
    module: LitTransformer = LitTransformer.__new__(LitTransformer)
    pl.LightningModule.__init__(module)
    module.translations = [Translation(n, f"source {n}", f"guess {n}", f"truth {n}", False) for n in range(sentences)]
    given: Any = SimpleNamespace(
        **{"sanity_checking": False, "is_global_zero": True, "global_step": 7, "loggers": [], **trainer}
    )
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="callbacks"):
        SampleTranslations(count).on_validation_end(given, module)
    return caplog.messages


@pytest.mark.parametrize(
    ("count", "sentences", "chosen"),
    [(3, 6, [1, 3, 5]), (1, 9, [4]), (4, 4, [0, 1, 2, 3]), (9, 2, [0, 1]), (0, 5, []), (3, 0, [])],
)
def test_samples_are_spread_over_the_split(
    count: int, sentences: int, chosen: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    messages = shown(count, sentences, caplog)
    assert messages == [
        f"sample {number} of {len(chosen)}, step 7\n  source      source {row}\n  hypothesis  guess {row}\n"
        f"  reference   truth {row}"
        for number, row in enumerate(chosen, start=1)
    ]
    assert shown(count, sentences, caplog) == messages


@pytest.mark.parametrize("trainer", [{"sanity_checking": True}, {"is_global_zero": False}])
def test_when_nothing_is_shown(trainer: dict[str, bool], caplog: pytest.LogCaptureFixture) -> None:
    assert shown(3, 6, caplog, **trainer) == []


def test_the_same_sentences_after_each_validation(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    trainer = setup.trainer([SampleTranslations(2)], max_steps=4)
    with caplog.at_level(logging.INFO, logger="callbacks"):
        trainer.fit(setup.module(), datamodule=setup.data())
    samples = [message.split("\n") for message in caplog.messages if message.startswith("sample")]
    assert [lines[0] for lines in samples] == [f"sample {n} of 2, step {step}" for step in (2, 4) for n in (1, 2)]
    texts = (setup.text / "validation.en").read_text().splitlines()
    # 24 sentences: the middles of the two halves.
    assert [lines[1].removeprefix("  source      ") for lines in samples] == [texts[6], texts[18]] * 2
