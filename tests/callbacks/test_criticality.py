from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from callbacks import BestLossCheckpoint, ContributionScore, CriticalityScore, InitialWeights
from lit_transformer.errors import UserError
from lit_transformer.importance.variant import Variant
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_csv


def freeze(module: LitTransformer, component: str) -> None:
    """Keep a component's weights at what they are: a component that never moves."""
    for parameter in module.network.components()[component].function.parameters():
        parameter.requires_grad_(False)


class Planted(LitTransformer):
    """Two components do nothing all through training: one is gated off, the output of the other is frozen at zero."""

    def configure_optimizers(self) -> Any:
        sublayers = self.network.components()
        sublayers["e:ff:1"].ablated = True
        freeze(self, "e:ff:1")
        with torch.no_grad():
            for tensor in sublayers["d:ff:1"].function.outer.parameters():  # type: ignore[union-attr]
                tensor.zero_()
        freeze(self, "d:ff:1")
        return super().configure_optimizers()


@pytest.fixture(scope="module")
def planted(setups: Callable[[], Setup]) -> Path:
    """The folder of the scores of a run with two components that do nothing."""
    setup = setups()
    callbacks = [InitialWeights(), BestLossCheckpoint(), CriticalityScore(grid="full")]
    module = Planted(**{**setup.module().hparams, "learning_rate": 0.02})
    setup.trainer(callbacks, max_steps=20, val_check_interval=20).fit(module, datamodule=setup.data())
    return setup.folder / "analysis" / "best-loss"


@pytest.fixture(scope="module")
def rows(planted: Path) -> dict[str, dict[str, str]]:
    return {row["component"]: row for row in read_csv(planted / "scores.csv")}


class TestPlantedControls:
    def test_a_component_that_does_nothing_is_not_critical(self, rows: dict[str, dict[str, str]]) -> None:
        for component in ("e:ff:1", "d:ff:1"):
            assert float(rows[component]["criticality"]) == 0.0
            assert float(rows[component]["criticality_drop"]) == 0.0

    def test_one_that_did_not_move_is_marked(self, rows: dict[str, dict[str, str]]) -> None:
        assert rows["e:ff:1"]["moved_little"] == "True"
        assert float(rows["e:ff:1"]["relative_distance"]) == 0.0
        assert rows["d:ea:1"]["moved_little"] == "False"
        assert float(rows["d:ea:1"]["relative_distance"]) > 0.1
        assert 0 < float(rows["d:ea:1"]["cosine"]) < 1


class TestFullGrid:
    def test_every_alpha_of_every_component(self, planted: Path) -> None:
        curves = read_csv(planted / "criticality_curves.csv")
        assert len(curves) == 5 * 11
        ends = [row for row in curves if row["alpha"] == "1.0"]
        assert {float(row["drop"]) for row in ends} == {0.0}
        assert len(ends) == 5

    def test_the_score_is_the_first_alpha_below_epsilon(self, planted: Path, rows: dict[str, dict[str, str]]) -> None:
        curves = read_csv(planted / "criticality_curves.csv")
        for component, row in rows.items():
            drops = {float(c["alpha"]): float(c["drop"]) for c in curves if c["component"] == component}
            assert float(row["criticality"]) == min(alpha for alpha, drop in drops.items() if drop < 0.5)
            values = list(drops.values())
            assert row["monotone"] == str(values == sorted(values, reverse=True))

    def test_how_the_score_spreads_over_the_sentences(self, planted: Path) -> None:
        found = json.loads((planted / "scores.json").read_text())["criticality"]
        assert found["epsilon"] == 0.5
        assert len(found["distribution"]) == 5
        for shares in found["distribution"].values():
            assert sum(shares.values()) == pytest.approx(1.0)
        assert found["distribution"]["e:ff:1"]["0"] == 1.0

    def test_the_picture(self, planted: Path) -> None:
        assert (planted.parents[1] / "report/criticality.png").read_bytes().startswith(b"\x89PNG")


def test_bisection_asks_for_less_and_says_what_it_assumes(setup: Setup) -> None:
    callbacks = [InitialWeights(), BestLossCheckpoint(), CriticalityScore(["d:*"], search="bisect", epsilon="3%")]
    setup.trainer(callbacks, max_steps=4).fit(setup.module(), datamodule=setup.data())
    folder = setup.folder / "analysis/best-loss/selected"
    about = json.loads((folder / "scores.json").read_text())
    assert about["criticality"]["assumes"] == "a drop that never rises with alpha"
    assert about["criticality"]["epsilon"] == pytest.approx(0.03 * about["baseline"]["bleu"])
    # Half of the grid, a half of that, and so on: four of the ten at most, and alpha 1.
    assert len(read_csv(folder / "criticality_curves.csv")) <= 3 * 5


def test_without_initial_weights_nothing_is_evaluated(setup: Setup) -> None:
    trainer = setup.trainer([BestLossCheckpoint(), ContributionScore(), CriticalityScore()], max_steps=2)
    with pytest.raises(UserError, match=r"train with the callback callbacks\.InitialWeights"):
        trainer.fit(setup.module(), datamodule=setup.data())
    assert not list(setup.folder.glob("analysis/*/*"))


@pytest.mark.parametrize("include_norm", [False, True])
def test_fresh_weights_of_the_norm_too(setup: Setup, include_norm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The LayerNorm is that of a new model while a variant is decoded: all ones."""
    seen: list[torch.Tensor] = []
    original = VariantDecoder.decode

    def noted(decoder: VariantDecoder, variant: Variant) -> Any:
        if variant != Variant():
            with decoder.applied(variant):
                norm = decoder.model.components()["d:ff:1"].norm
                assert isinstance(norm, torch.nn.LayerNorm)
                seen.append(norm.weight.detach().clone())
        return original(decoder, variant)

    monkeypatch.setattr(VariantDecoder, "decode", noted)
    scorer = CriticalityScore(["d:ff:1"], variant="rerandomize", draws=2, include_norm=include_norm)
    callbacks = [InitialWeights(), BestLossCheckpoint(), scorer]
    setup.trainer(callbacks, max_steps=2).fit(setup.module(), datamodule=setup.data())
    assert [bool(weight.eq(1).all()) for weight in seen] == [include_norm] * 2
    about = json.loads((setup.folder / "analysis/best-loss/selected/scores.json").read_text())
    assert about["rerandomize"] == {"draws": 2, "include_norm": include_norm}


OTHER = {"epsilon": "2%", "search": "bisect", "grid": "full", "draws": 3, "samples": 4}
USED = {"interpolate": {"epsilon", "search", "grid"}, "rerandomize": {"draws"}, "chatterji": {"samples"}}


@pytest.mark.parametrize("variant", USED)
@pytest.mark.parametrize("option", OTHER)
def test_an_option_that_can_not_matter_is_refused(variant: str, option: str) -> None:
    default = inspect.signature(CriticalityScore).parameters[option].default
    CriticalityScore(variant=variant, include_norm=True, **{option: default})  # type: ignore[arg-type]
    if option in USED[variant]:
        CriticalityScore(variant=variant, **{option: OTHER[option]})  # type: ignore[arg-type]
        return
    message = rf"{option} is {OTHER[option]!r}, but matters with variant: \w+ only; leave {option} out, or give variant"
    with pytest.raises(UserError, match=message):
        CriticalityScore(variant=variant, **{option: OTHER[option]})  # type: ignore[arg-type]


def test_a_whole_grid_is_not_searched() -> None:
    with pytest.raises(UserError, match="search is 'bisect', but matters with grid: needed only"):
        CriticalityScore(grid="full", search="bisect")


@pytest.mark.parametrize("epsilon", [0.0, -1, "much", "0%", "200%"])
def test_an_epsilon_that_means_nothing(epsilon: float | str) -> None:
    with pytest.raises(UserError, match="CriticalityScore's epsilon is"):
        CriticalityScore(epsilon=epsilon)
