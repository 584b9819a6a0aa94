from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from callbacks import BestLossCheckpoint, InitialWeights, LastCheckpoint, ShallowDecoder
from lit_transformer.errors import UserError
from lit_transformer.training.initial_weights import initial_weights_of
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import read_json, same_tensors

# Pre-norm, 16 wide, 32 within: attention 4 x 16 x 17 = 1,088, feed-forward 2 x 16 x 32 + 48 = 1,072, a norm 32.
LAYERS: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 3}
A_LAYER = ["d:sa:1", "d:ea:2", "d:ff:3"]
SIZE = 1_088 + 1_088 + 1_072 + 3 * 32


def pruned_run(setup: Setup, **structure: Any) -> str:
    """Write what is read of the checkpoint of a pruned run, and return its name."""
    hparams = {**dict(setup.module(**LAYERS).hparams), **structure}
    path = setup.folder.parent / "pruned.ckpt"
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"hyper_parameters": hparams, "state_dict": {}, "lit_transformer": {"format": 1}}, path)
    return str(path)


def scores(folder: Path, order: list[str]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"component": name, "contribution": place / 100, "drop": place} for place, name in enumerate(order)]
    (folder / "scores.json").write_text(json.dumps({"components": rows, "weights": "of the trained model"}))
    return str(folder)


def train(setup: Setup, callback: ShallowDecoder | None, steps: int = 2, **options: Any) -> LitTransformer:
    module = setup.module(**{**LAYERS, **options})
    given = [] if callback is None else [callback]
    trainer = setup.trainer([*given, InitialWeights(), LastCheckpoint()], max_steps=steps)
    trainer.fit(module, datamodule=setup.data())
    return module


def size(module: LitTransformer) -> int:
    return sum(parameter.numel() for parameter in module.network.parameters())


def test_as_large_as_the_pruned_model(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    module = train(setup, ShallowDecoder(like=pruned_run(setup, pruned=A_LAYER)))
    pruned = setup.module(**LAYERS, pruned=A_LAYER, source_vocab_size=100, target_vocab_size=100)
    assert module.hparams["decoder_layers"] == module.network.config.decoder_layers == 2
    assert size(module) == size(pruned)
    told = "3 components (3,344 parameters) stand against 1 decoder layer (3,344): +0.00 %."
    assert f"2 of 3 decoder layers stay: {told}" in caplog.messages
    record = read_json(setup.folder / "shallow.json")
    assert (record["decoder_layers"], record["parameters_of_components"], record["mismatch_percent"]) == (2, SIZE, 0.0)
    assert sorted(record["components"]) == sorted(A_LAYER)


def test_it_is_the_model_that_has_this_depth_from_the_start(setup: Setup, setups: Any) -> None:
    other = setups()
    found = train(setup, ShallowDecoder(components=A_LAYER))
    expected = train(other, None, decoder_layers=2)
    assert same_tensors(found.network.state_dict(), expected.network.state_dict())
    paths = [one.folder / "checkpoints/last.ckpt" for one in (setup, other)]
    assert same_tensors(*(initial_weights_of(path) for path in paths))
    again = LitTransformer.load_from_checkpoint(paths[0], weights_only=True, strict=True)
    assert again.network.config.decoder_layers == 2


def test_a_network_that_is_there_already_is_made_again(setup: Setup) -> None:
    module = train(setup, ShallowDecoder(components=A_LAYER), source_vocab_size=100, target_vocab_size=100)
    assert len(module.network.decoder.layers) == 2


def test_a_mismatch_is_told_with_a_count_that_is_nearer(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    folder = scores(setup.folder.parent / "analysis", ["d:sa:1", "d:ea:1", "d:ff:1", "e:sa:1", *_others()])
    train(setup, ShallowDecoder(by="contribution", count=2, scores=folder), steps=1)
    # Two attentions are 2,240 of 3,344, with a feed-forward network 3,344.
    assert any("1 decoder layer (3,344): -33.01 % (more than 1 % apart)." in line for line in caplog.messages)
    nearer = (
        "Nearer to it would be count 3: 3 components (3,344 parameters) stand against 1 decoder layer (3,344): +0.00 %"
    )
    assert any(line.startswith(nearer) for line in caplog.messages)
    assert read_json(setup.folder / "shallow.json")["mismatch_percent"] == pytest.approx(-33.0143, abs=1e-4)


def _others() -> list[str]:
    return ["e:ff:1", "d:sa:2", "d:sa:3", "d:ea:2", "d:ea:3", "d:ff:2", "d:ff:3"]


def test_a_narrowed_model_lacks_what_it_is_narrower_by(setup: Setup) -> None:
    # 24 of 32 hidden units are gone from each of three networks: 3 x 24 x 33 = 2,376 parameters, of a layer 3,344.
    sizes = dict.fromkeys(["d:ff:1", "d:ff:2", "d:ff:3"], 8)
    train(setup, ShallowDecoder(like=pruned_run(setup, feed_forward_sizes=sizes)), steps=1)
    record = read_json(setup.folder / "shallow.json")
    assert (record["decoder_layers"], record["parameters_of_components"]) == (2, 2_376)
    assert record["components"] == list(sizes)


def test_a_resumed_run_is_as_it_was(setup: Setup) -> None:
    train(setup, ShallowDecoder(like=(path := pruned_run(setup, pruned=A_LAYER))), steps=1)
    Path(path).unlink()
    module = setup.module(**{**LAYERS, "decoder_layers": 2})
    trainer = setup.trainer([ShallowDecoder(like=path), InitialWeights(), LastCheckpoint()], max_steps=2)
    trainer.fit(module, datamodule=setup.data(), ckpt_path=str(setup.folder / "checkpoints/last.ckpt"))
    assert trainer.global_step == 2
    assert module.network.config.decoder_layers == 2
    with pytest.raises(UserError, match=r"begun with like .*, not other"):
        setup.trainer([ShallowDecoder(like="other"), LastCheckpoint()], max_steps=3).fit(
            setup.module(**{**LAYERS, "decoder_layers": 2}),
            datamodule=setup.data(),
            ckpt_path=str(setup.folder / "checkpoints/last.ckpt"),
        )


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "like with a pruned run, or what would be pruned"),
            ({"like": "run", "count": 3}, "like with a pruned run, or what would be pruned"),
            ({"count": 3}, "or by, such as contribution"),
            ({"by": "random"}, "give either count or threshold"),
        ],
    )
    def test_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=f"ShallowDecoder: .*{message}"):
            ShallowDecoder(**options)

    @pytest.mark.parametrize(
        ("structure", "options", "message"),
        [
            ({}, {"like": None, "by": "contribution", "count": 1}, "give scores FOLDER, or like RUN"),
            ({}, {"like": None, "components": ["d:sa:7"]}, "'d:sa:7' matches nothing"),
            ({}, {"like": "nowhere"}, "'nowhere' does not exist"),
            ({"d_model": 32}, {}, "has d_model 32, but this model 16"),
            ({"decoder_layers": 2, "pruned": ["d:sa:1"]}, {}, "has decoder_layers 2, but this model 3"),
            ({"heads": 4}, {}, "has heads 4, but this model 2"),
            ({"pruned": []}, {}, "lacks nothing of this model; give a pruned run"),
        ],
    )
    def test_what_can_not_be_matched(
        self, setup: Setup, structure: dict[str, Any], options: dict[str, Any], message: str
    ) -> None:
        given = {"like": pruned_run(setup, **{"pruned": A_LAYER, **structure}), **options}
        with pytest.raises(UserError, match=f"ShallowDecoder: .*{message}"):
            train(setup, ShallowDecoder(**given))

    @pytest.mark.parametrize(
        ("own", "message"),
        [({"decoder_layers": 1}, "it has one layer"), ({"pruned": ["d:sa:2"]}, "d:sa:2 of it are pruned or narrowed")],
    )
    def test_a_decoder_that_can_not_lose_layers(self, setup: Setup, own: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=f"cannot lose whole layers, because {message}"):
            train(setup, ShallowDecoder(components=["d:sa:1"]), **own)

    def test_a_trained_model_is_cut_by_pruning(self, setup: Setup) -> None:
        setup.trainer([BestLossCheckpoint()], max_steps=1, val_check_interval=1).fit(
            setup.module(**LAYERS), datamodule=setup.data()
        )
        best = str(setup.folder / "checkpoints/best-loss.ckpt")
        cut = r"cut as many off the trained model with --config prune.yaml .*by layers .*count 1, after"
        with pytest.raises(UserError, match=rf"it trains from scratch; 3 components .*\+0.00 %\. .*{cut}"):
            setup.trainer([ShallowDecoder(components=A_LAYER)]).fit(
                setup.module(**LAYERS), datamodule=setup.data(), start_from=best
            )
