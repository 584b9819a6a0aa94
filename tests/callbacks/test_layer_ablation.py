from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callbacks import BestLossCheckpoint, ComponentPruning, GroupAblation, LayerAblation
from lit_transformer.components import component_ids
from lit_transformer.errors import UserError
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.model.surgery import component_parameters
from tests.callbacks.conftest import Setup
from tests.end_to_end.forking import run_on_two
from tests.end_to_end.running import of, read_json

LAYERS = {"decoder_layers": 3}


def layer(number: int) -> list[str]:
    return [f"d:{kind}:{number}" for kind in ("sa", "ea", "ff")]


def analyse(setup: Setup, *callbacks: Any, checkpoint: str = "best-loss", **model: Any) -> Any:
    """Analyse the checkpoint of a run with these scorers; return the scores."""
    path = setup.folder / f"checkpoints/{checkpoint}.ckpt"
    setup.trainer(list(callbacks)).analyze(setup.module(**LAYERS, **model), setup.data(), str(path))
    return read_json(setup.folder / f"analysis/{checkpoint}/scores.json")


@pytest.fixture(scope="module")
def run(setups: Callable[[], Setup]) -> Setup:
    """A trained model."""
    setup = setups()
    options = {"max_steps": 60, "val_check_interval": 60}
    module = setup.module(learning_rate=0.02, **LAYERS)
    setup.trainer([BestLossCheckpoint()], **options).fit(module, datamodule=setup.data())
    return setup


@pytest.fixture(scope="module")
def rows(run: Setup) -> list[dict[str, Any]]:
    section = analyse(run, LayerAblation(count=2))["layer_ablation"]
    assert section["chosen_on"] == "validation"
    found: list[dict[str, Any]] = section["rows"]
    return found


def test_each_step_removes_the_layer_that_costs_least(run: Setup, rows: list[dict[str, Any]]) -> None:
    """The order and its BLEU by brute force."""
    scores: list[dict[int, float]] = []
    sizes: list[int] = []

    class Check(LayerAblation):
        def on_analyze(self, trainer: Any, pl_module: Any, analysis: Any) -> None:
            evaluator: Evaluator = analysis.evaluator
            scores.append({0: evaluator.evaluate().bleu})
            gone: list[str] = []
            for _ in range(2):
                left = [number for number in (1, 2, 3) if layer(number)[0] not in gone]
                variants = {number: ablation(*gone, *layer(number)) for number in left}
                scores.append({number: evaluator.evaluate(variant).bleu for number, variant in variants.items()})
                best = max(scores[-1].items(), key=lambda item: item[1])[0]
                gone += layer(best)
                parameters = [component_parameters(pl_module.network, name) for name in gone]
                sizes.append(sum(p.numel() for named in parameters for p in named.values()))

    path = str(run.folder / "checkpoints/best-loss.ckpt")
    run.trainer([Check(count=2)]).analyze(run.module(**LAYERS), run.data(), path)
    expected = [max(found.items(), key=lambda item: item[1])[0] for found in scores[1:]]
    assert len({round(bleu, 6) for found in scores for bleu in found.values()}) > 3
    assert [row["layer"] for row in rows] == [None, *expected]
    assert [row["components"] for row in rows] == [[], *map(layer, expected)]
    bleu = [scores[0][0], *(found[number] for found, number in zip(scores[1:], expected, strict=True))]
    assert [row["validation_bleu"] for row in rows] == pytest.approx(bleu)
    assert [row["validation_drop"] for row in rows] == pytest.approx([bleu[0] - each for each in bleu])
    assert [row["parameters_removed"] for row in rows] == [0, *sizes]
    assert [row["step"] for row in rows] == [0, 1, 2]


def test_nothing_is_evaluated_twice(run: Setup, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Variant] = []
    original = VariantDecoder.decode

    def noted(decoder: VariantDecoder, variant: Variant) -> Any:
        made.append(variant)
        return original(decoder, variant)

    monkeypatch.setattr(VariantDecoder, "decode", noted)
    assert analyse(run, LayerAblation(count=2))["layer_ablation"]["rows"] == rows
    assert made == []


def test_the_plan_is_kept(setups: Callable[[], Setup], run: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Variant] = []
    planned: list[Any] = []
    original = VariantDecoder.decode

    class Planned(LayerAblation):
        def on_analyze(self, trainer: Any, pl_module: Any, analysis: Any) -> None:
            planned.append(self.plan(analysis))
            super().on_analyze(trainer, pl_module, analysis)

    def noted(decoder: VariantDecoder, variant: Variant) -> Any:
        made.append(variant)
        return original(decoder, variant)

    monkeypatch.setattr(VariantDecoder, "decode", noted)
    path = str(run.folder / "checkpoints/best-loss.ckpt")
    elsewhere = str(setups().folder)
    run.trainer([Planned(count=2)]).analyze(run.module(**LAYERS), run.data(), path, output=elsewhere)
    [plan] = planned
    assert len(plan.variants) == 4
    assert set(plan.variants) <= set(made)
    assert len(made) == len(set(made)) == len(plan.variants) + plan.at_most


def test_two_processes_find_the_same(run: Setup, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    options = ["--output", str(tmp_path), "--trainer.callbacks+=callbacks.LayerAblation", "--trainer.callbacks.count=2"]
    command = of("analyze", run.folder / "checkpoints/best-loss.ckpt", *options)
    finished = run_on_two(command, tmp_path)
    assert read_json(tmp_path / "analysis/best-loss/scores.json")["layer_ablation"]["rows"] == rows
    shown = finished.output.decode().splitlines()
    for row in rows:
        assert any(", ".join(row["components"]) in line and f"{row['validation_bleu']:.2f}" in line for line in shown)


def test_other_sections_stay(run: Setup, rows: list[dict[str, Any]]) -> None:
    scores = analyse(run, GroupAblation(k=1, test=False))
    assert scores["layer_ablation"]["rows"] == rows
    again = analyse(run, LayerAblation(count=1))
    assert again["group_ablation"] == scores["group_ablation"]
    assert again["layer_ablation"]["rows"] == rows[:2]


def test_pruning_by_layers(run: Setup, rows: list[dict[str, Any]], setup: Setup) -> None:
    analyse(run, LayerAblation(count=2))
    module = setup.module(**LAYERS)
    trainer = setup.trainer([ComponentPruning(by="layers", count=1), BestLossCheckpoint()], max_steps=2)
    trainer.fit(module, datamodule=setup.data(), start_from=str(run.folder / "checkpoints/best-loss.ckpt"))
    record = read_json(setup.folder / "pruning.json")
    assert record["components"] == rows[1]["components"]
    assert record["bleu_before"] == pytest.approx(rows[1]["validation_bleu"], abs=1e-4)
    left = [number for number in (1, 2, 3) if number != rows[1]["layer"]]
    # A layer without components is none that could go, and one of the two that are left has to stay.
    pruned = list(module.network.config.pruned)
    section = analyse(setup, LayerAblation(), pruned=pruned)["layer_ablation"]
    assert section["rows"][1]["layer"] in left
    with pytest.raises(UserError, match="count is 2, but of 2 decoder layers"):
        analyse(setup, LayerAblation(count=2), pruned=pruned)


def test_a_layer_without_some_components(setup: Setup) -> None:
    pruned = ["d:sa:1", "d:ff:2"]
    callback = LayerAblation(count=2)
    existing = component_ids(1, 3, pruned)
    expected = {1: ["d:ea:1", "d:ff:1"], 2: ["d:sa:2", "d:ea:2"], 3: layer(3)}
    assert callback._layers(existing, existing) == expected
    assert callback._layers(existing, [name for name in existing if name != "d:ea:2"]) == {1: expected[1], 3: layer(3)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count is 0; give a number of decoder layers from 1 up"),
        ({"count": 3}, "count is 3, but of 3 decoder layers .* choose a count up to 2"),
        ({"count": 2, "components": ["d:*:1"]}, "leave 1 as a whole.* choose a count up to 1"),
        ({"components": ["d:sa"]}, "leave 0 as a whole.* choose other components"),
        ({"components": ["d:sa:4"]}, "'d:sa:4' matches nothing"),
    ],
)
def test_what_can_not_be_removed(run: Setup, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        analyse(run, LayerAblation(**options))
