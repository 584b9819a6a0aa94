from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from callbacks import (
    BestLossCheckpoint,
    ComponentPruning,
    ComponentRewinding,
    ContributionScore,
    InitialWeights,
    LastCheckpoint,
)
from lit_transformer.decoding import in_precision
from lit_transformer.errors import UserError
from lit_transformer.model import fresh_seed, seeded_transformer
from lit_transformer.model.surgery import ablated
from lit_transformer.training.initial_weights import initial_weights_digest, initial_weights_of
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import load, same_tensors

LAYERS: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2}


def parent_of(setup: Setup, name: str = "best-loss") -> str:
    return str(setup.folder / f"checkpoints/{name}.ckpt")


@pytest.fixture(scope="module")
def parent(setups: Callable[[], Setup]) -> Setup:
    """A trained and analysed model; nothing may change it."""
    setup = setups()
    options = {"max_steps": 40, "val_check_interval": 40}
    trainer = setup.trainer([InitialWeights(), BestLossCheckpoint()], **options)
    trainer.fit(setup.module(learning_rate=0.02, **LAYERS), datamodule=setup.data())
    setup.trainer([ContributionScore()]).analyze(setup.module(**LAYERS), setup.data(), parent_of(setup))
    return setup


def rank(parent: Setup) -> list[str]:
    rows = json.loads((parent.folder / "analysis/best-loss/scores.json").read_text())["components"]
    return [row["component"] for row in sorted(rows, key=lambda row: (row["contribution"], row["drop"]))]


class Before(LitTransformer):
    """Looks at the weights before the first step."""

    weights: dict[str, torch.Tensor]

    def on_train_start(self) -> None:
        super().on_train_start()
        self.weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}


def prune(setup: Setup, parent: Setup | None, *more: Any, seed: int = 1, **options: Any) -> Before:
    """Prune and train on for some steps."""
    module = Before(**dict(setup.module(seed=seed, **LAYERS).hparams))
    trainer = setup.trainer([ComponentPruning(**options), InitialWeights(), LastCheckpoint(), *more], max_steps=2)
    trainer.fit(module, datamodule=setup.data(), start_from=None if parent is None else parent_of(parent))
    return module


class TestFromATrainedModel:
    def test_the_least_important_go_and_the_others_stay_as_they_are(self, parent: Setup, setup: Setup) -> None:
        module = prune(setup, parent, by="contribution", count=2)
        gone = rank(parent)[:2]
        assert sorted(module.hparams["pruned"]) == sorted(gone)
        assert set(module.network.components()).isdisjoint(gone)
        trained = {name.removeprefix("network."): t for name, t in load(Path(parent_of(parent)))["state_dict"].items()}
        left = module.weights
        assert same_tensors(left, {name: trained[name] for name in left})
        assert not same_tensors(left, module.network.state_dict())

    def test_what_is_written(self, parent: Setup, setup: Setup) -> None:
        module = prune(setup, parent, by="contribution", count=2)
        record = json.loads((setup.folder / "pruning.json").read_text())
        assert record["components"] == rank(parent)[:2]
        assert (record["selection"]["by"], record["init"]) == ("contribution", "trained")
        size = sum(parameter.numel() for parameter in module.network.parameters())
        assert record["parameters_after"] == size < record["parameters_before"]
        # What the whole model scores with the same components ablated.
        whole = LitTransformer.load_from_checkpoint(parent_of(parent), weights_only=True)
        trainer = setup.trainer([], logger=False)
        with ablated(in_precision(whole.network, "float32"), record["components"]):
            [scores] = trainer.validate(whole, datamodule=setup.data(), verbose=False)
        assert record["bleu_before"] == pytest.approx(scores["val/bleu"], abs=1e-4)
        assert "tok:13a" in record["signature"]

    def test_the_checkpoint_describes_itself(self, parent: Setup, setup: Setup) -> None:
        module = prune(setup, parent, by="contribution", count=2)
        path = setup.folder / "checkpoints/last.ckpt"
        again = LitTransformer.load_from_checkpoint(path, weights_only=True, strict=True)
        assert same_tensors(again.network.state_dict(), module.network.state_dict())
        source = torch.tensor([[5, 6, 7, 3]])
        target = torch.tensor([[2, 8, 9]])
        with torch.no_grad():
            assert torch.equal(again.eval().network(source, target), module.eval().network(source, target))
        assert path.stat().st_size < Path(parent_of(parent)).stat().st_size

    def test_its_initial_weights_are_the_parents(self, parent: Setup, setup: Setup) -> None:
        prune(setup, parent, by="contribution", count=2)
        mine = initial_weights_of(setup.folder / "checkpoints/last.ckpt")
        theirs = initial_weights_of(parent_of(parent))
        assert len(mine) < len(theirs)
        assert same_tensors(mine, {name: theirs[name] for name in mine})

    @pytest.mark.parametrize("init", ["initial", "random"])
    def test_trained_anew(self, parent: Setup, setup: Setup, init: str) -> None:
        module = prune(setup, parent, components=["d:sa:1"], init=init)
        before = module.weights
        initial = initial_weights_of(parent_of(parent))
        seed = fresh_seed("pruning", 1, before=initial_weights_digest(parent_of(parent)))
        expected = initial if init == "initial" else seeded_transformer(module.network.config, seed).state_dict()
        assert same_tensors(before, {name: expected[name] for name in before})
        assert same_tensors(initial_weights_of(setup.folder / "checkpoints/last.ckpt"), before)

    def test_pruned_again(self, parent: Setup, setups: Callable[[], Setup]) -> None:
        first, second = setups(), setups()
        prune(first, parent, components=["d:sa:1"])
        module = second.module(**LAYERS, pruned=["d:sa:1"])
        trainer = second.trainer([ComponentPruning(components=["d:ff:2"]), LastCheckpoint()], max_steps=1)
        trainer.fit(module, datamodule=second.data(), start_from=parent_of(first, "last"))
        again = LitTransformer.load_from_checkpoint(second.folder / "checkpoints/last.ckpt", weights_only=True)
        assert again.network.config.pruned == ("d:sa:1", "d:ff:2")
        trainer = second.trainer([ContributionScore()])
        trainer.analyze(second.module(**LAYERS, pruned=["d:sa:1", "d:ff:2"]), second.data(), parent_of(second, "last"))
        scores = json.loads((second.folder / "analysis/last/scores.json").read_text())["components"]
        assert [row["component"] for row in scores] == list(again.network.components())


def test_from_scratch(setup: Setup) -> None:
    module = prune(setup, None, components=["d:sa:2", "e:ff"], init="random")
    assert module.hparams["pruned"] == list(module.network.config.pruned) == ["e:ff:1", "e:ff:2", "d:sa:2"]
    whole = setup.module(**LAYERS, source_vocab_size=100, target_vocab_size=100)
    sizes = {name: tensor.shape for name, tensor in whole.network.state_dict().items()}
    assert set(module.network.state_dict()) < set(sizes)
    # Nothing is known of a model that was never trained.
    assert not any("bleu" in name for name in json.loads((setup.folder / "pruning.json").read_text()))


def test_a_resumed_run_is_not_pruned_again(parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    prune(setup, parent, by="contribution", count=2)
    before = load(setup.folder / "checkpoints/last.ckpt")["hyper_parameters"]["pruned"]
    caplog.clear()
    # Neither the parent nor its scores are asked for.
    callback = ComponentPruning(by="contribution", count=2, scores="gone")
    module = setup.module(**LAYERS, pruned=before)
    trainer = setup.trainer([callback, InitialWeights(), LastCheckpoint()], max_steps=4)
    trainer.fit(module, datamodule=setup.data(), ckpt_path=parent_of(setup, "last"))
    assert trainer.global_step == 4
    assert module.hparams["pruned"] == before
    assert callback.chosen == rank(parent)[:2]


def test_one_after_another(parent: Setup, setup: Setup) -> None:
    """Until its turn comes a component works in training steps as it was trained."""
    seen: list[list[str]] = []

    class Watcher(pl.Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *others: Any) -> None:
            network = pl_module.network
            seen.append([name for name in network.config.pruned if network.sublayer(name).stands_in])

    order = ["d:ff:2", "d:sa:1", "e:ff:1"]
    scores = [{"component": name, "contribution": place, "drop": 0.0} for place, name in enumerate(order)]
    given = json.loads((parent.folder / "analysis/best-loss/scores.json").read_text())
    setup.folder.mkdir(parents=True, exist_ok=True)
    (setup.folder / "scores.json").write_text(json.dumps({**given, "components": scores}))
    pruning = ComponentPruning(among=order, by="contribution", count=3, scores=str(setup.folder), every_n_steps=2)
    module = setup.module(**LAYERS)
    trainer = setup.trainer([pruning, LastCheckpoint(), Watcher()], max_steps=6)
    trainer.fit(module, datamodule=setup.data(), start_from=parent_of(parent))
    assert [sorted(step) for step in seen] == [["d:sa:1", "e:ff:1"]] * 2 + [["e:ff:1"]] * 2 + [[]] * 2
    again = LitTransformer.load_from_checkpoint(setup.folder / "checkpoints/last.ckpt", weights_only=True, strict=True)
    assert set(again.network.config.pruned) == set(order)


def test_without_validation(parent: Setup, setup: Setup) -> None:
    module = setup.module(**LAYERS)
    trainer = setup.trainer([ComponentPruning(["d:sa:1"])], max_steps=1, limit_val_batches=0)
    trainer.fit(module, datamodule=setup.data(), start_from=parent_of(parent))
    assert "bleu_before" not in json.loads((setup.folder / "pruning.json").read_text())


def test_a_network_that_is_there_already(setup: Setup) -> None:
    module = setup.module(**LAYERS, source_vocab_size=100, target_vocab_size=100)
    trainer = setup.trainer([ComponentPruning(["d:sa:2"], init="random"), LastCheckpoint()], max_steps=1)
    trainer.fit(module, datamodule=setup.data())
    again = LitTransformer.load_from_checkpoint(setup.folder / "checkpoints/last.ckpt", weights_only=True, strict=True)
    assert again.network.config.pruned == ("d:sa:2",)


def test_naming_components_overrides_by_and_count(
    parent: Setup, setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    module = prune(setup, parent, components=["d:sa:1"], by="contribution", count=3)
    assert module.hparams["pruned"] == ["d:sa:1"]
    [told] = [line for line in caplog.messages if "components" in line]
    assert told.startswith("ComponentPruning changes exactly the components named and ignores by and count; ")
    chosen = json.loads((setup.folder / "pruning.json").read_text())["selection"]
    assert [chosen[name] for name in ("components", "by", "count", "among")] == [["d:sa:1"], None, None, None]


class TestBadInput:
    def test_an_option_that_there_is_not(self) -> None:
        with pytest.raises(TypeError, match="cuont"):
            ComponentPruning(by="random", cuont=3)  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"components": ["*"]}, "no source-target attention"),
            ({"components": ["d:ea"]}, "no source-target attention"),
            ({"by": "contribution", "count": 11}, "there are 10 components"),
            ({"components": ["d:sa:7"]}, "'d:sa:7' matches nothing"),
            ({"by": "criticality", "count": 1}, "no criticality of"),
            ({"by": "group_ablation", "count": 1}, "run GroupAblation first"),
            ({"components": ["d:sa"], "init": "initial", "every_n_steps": 2}, "with trained weights"),
        ],
    )
    def test_what_can_not_be_done(self, parent: Setup, setup: Setup, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            prune(setup, parent, **options)

    def test_scores_of_another_checkpoint(self, parent: Setup, setups: Callable[[], Setup]) -> None:
        first, second = setups(), setups()
        prune(first, parent, components=["d:sa:1"])
        module = second.module(**LAYERS, pruned=["d:sa:1"])
        pruning = ComponentPruning(by="contribution", count=1, scores=str(parent.folder / "analysis/best-loss"))
        with pytest.raises(UserError, match="whose weights are not those of"):
            second.trainer([pruning]).fit(module, datamodule=second.data(), start_from=parent_of(first, "last"))
        missing = ComponentPruning(by="contribution", count=1)
        with pytest.raises(UserError, match="run `lit-transformer analyze` first"):
            second.trainer([missing]).fit(module, datamodule=second.data(), start_from=parent_of(first, "last"))

    def test_a_resumed_run_with_another_choice(self, parent: Setup, setup: Setup) -> None:
        prune(setup, parent, components=["d:sa:1"])
        for callback, message in (
            (ComponentPruning(["d:sa:2"]), "what was changed stays as it is"),
            (ComponentPruning(["d:sa:1"], init="random"), "begun with init trained, not random"),
            (ComponentRewinding(["d:ff:1"]), "give --start_from instead of --ckpt_path"),
        ):
            trainer = setup.trainer([callback, LastCheckpoint()], max_steps=4)
            module = setup.module(**LAYERS, pruned=["d:sa:1"])
            with pytest.raises(UserError, match=message):
                trainer.fit(module, datamodule=setup.data(), ckpt_path=parent_of(setup, "last"))

    def test_scores_need_a_trained_model(self, setup: Setup) -> None:
        for options in (
            {"by": "contribution", "count": 1, "init": "random"},
            {"components": ["d:sa"], "init": "initial"},
            {"components": ["d:sa"], "init": "trained"},
        ):
            with pytest.raises(UserError, match="give --start_from RUN"):
                prune(setup, None, **options)
