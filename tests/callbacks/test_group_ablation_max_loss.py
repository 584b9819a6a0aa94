"""Of an order that is known beforehand, only the steps are evaluated that `max_loss` leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callbacks import BestLossCheckpoint, ContributionScore, CriticalityScore, GroupAblation, InitialWeights
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.variant import Variant
from lit_transformer.importance.variant_decoder import VariantDecoder
from tests.callbacks.conftest import Setup
from tests.callbacks.test_group_ablation import analyse
from tests.end_to_end.running import read_csv

KNOWN: dict[str, dict[str, Any]] = {
    "random": {"order": "random", "seeds": [1, 2, 3]},
    "matched": {"order": "random", "seeds": [4, 5], "matched": True},
    "contribution": {"order": "contribution"},
    "criticality": {"order": "criticality"},
}
"""Options of every order that is known before anything is removed, by the beginning of its name in the rows."""


def by_order(folder: Path, name: str) -> dict[str, list[dict[str, str]]]:
    """The rows of each order whose name begins with this."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in read_csv(folder / "group_ablation.csv"):
        if row["order"].startswith(name):
            found.setdefault(row["order"], []).append(row)
    return found


@pytest.fixture(scope="module")
def scored(setups: Callable[[], Setup]) -> Setup:
    """A trained model with all that an order rests on."""
    setup = setups()
    scorers = [ContributionScore(), CriticalityScore(), GroupAblation(k=4, test=False)]
    setup.trainer([InitialWeights(), BestLossCheckpoint(), *scorers], max_steps=40, val_check_interval=40).fit(
        setup.module(learning_rate=0.02), datamodule=setup.data()
    )
    return setup


@pytest.fixture
def fresh(setup: Setup, scored: Setup) -> Setup:
    """The trained model with its scores alone: no evaluation is known."""
    shutil.copytree(scored.folder / "checkpoints", setup.folder / "checkpoints")
    shutil.copy(scored.folder / "initial_weights.safetensors", setup.folder)
    (setup.folder / "analysis/best-loss").mkdir(parents=True)
    shutil.copy(scored.folder / "analysis/best-loss/scores.json", setup.folder / "analysis/best-loss")
    return setup


@pytest.mark.parametrize("name", KNOWN)
def test_nothing_is_evaluated_beyond_the_step_that_loses_too_much(
    fresh: Setup, scored: Setup, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"k": 4, "test": False, **KNOWN[name]}
    whole = by_order(analyse(scored, GroupAblation(**options)), name)
    losses = {order: [float(row["validation_drop"]) for row in rows] for order, rows in whole.items()}
    limit = min(max(found[:4]) for found in losses.values()) - 0.01
    ends = {order: next(step for step, loss in enumerate(found) if loss > limit) for order, found in losses.items()}
    assert 0 < min(ends.values()) <= max(ends.values()) < 4
    expected = {order: rows[: ends[order] + 1] for order, rows in whole.items()}
    made, planned = list[Variant](), list[Plan]()
    original = VariantDecoder.decode

    def noted(decoder: VariantDecoder, variant: Variant) -> Any:
        made.append(variant)
        return original(decoder, variant)

    class Look(GroupAblation):
        def plan(self, analysis: Any) -> Plan:
            planned.append(super().plan(analysis))
            return planned[-1]

    monkeypatch.setattr(VariantDecoder, "decode", noted)
    assert by_order(analyse(fresh, Look(**options, max_loss=limit)), name) == expected
    steps = [rows[1 : step + 1] for rows in expected.values() for step in range(len(rows))]
    assert {frozenset(variant.ablated) for variant in made} == {
        frozenset(row["component"] for row in gone) for gone in steps
    }
    # The first step of each order is certain.
    assert [variant.ablated for variant in planned[0].variants] == [
        (),
        *((rows[1]["component"],) for rows in expected.values()),
    ]
    assert planned[0].at_most == 3 * len(expected)
