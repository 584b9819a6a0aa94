from __future__ import annotations

import pickle
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch

from lit_transformer.decoding import DecodingSettings
from lit_transformer.errors import UserError
from lit_transformer.model import weights_digest
from lit_transformer.training.module import LitTransformer

SMALL: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 16, "feed_forward": 24, "heads": 2}


def small(**options: Any) -> LitTransformer:
    return LitTransformer(**{**SMALL, "source_vocab_size": 20, "target_vocab_size": 20, **options})


class TestBuild:
    def test_the_seed_and_nothing_else_makes_the_weights(self) -> None:
        torch.manual_seed(11)
        first = weights_digest(small().network)
        torch.manual_seed(22)
        torch.rand(7)
        assert weights_digest(small().network) == first
        assert weights_digest(small(seed=2).network) != first

    def test_later_is_the_same_as_at_once(self) -> None:
        module = LitTransformer(**SMALL)
        assert not hasattr(module, "network")
        module.build(20, 20)
        assert weights_digest(module.network) == weights_digest(small().network)
        assert (module.hparams["source_vocab_size"], module.hparams["target_vocab_size"]) == (20, 20)

    def test_what_does_not_belong_to_the_structure_leaves_the_weights(self) -> None:
        changed = small(dropout=0.4, learning_rate=1e-2, label_smoothing=0.0, decoding=DecodingSettings(beam=9))
        assert weights_digest(changed.network) == weights_digest(small().network)

    def test_the_random_states_stay(self) -> None:
        torch.manual_seed(5)
        states = torch.get_rng_state(), random.getstate(), pickle.dumps(np.random.get_state())
        small()
        assert torch.equal(torch.get_rng_state(), states[0])
        assert random.getstate() == states[1]
        assert pickle.dumps(np.random.get_state()) == states[2]


@pytest.mark.parametrize(
    ("beam", "validation", "name", "searched"),
    [
        (4, "same", "val/bleu", 4),
        (4, "greedy", "val/bleu_greedy", 1),
        (1, "greedy", "val/bleu", 1),  # greedy is what every command does: it needs no name of its own
        (1, "same", "val/bleu", 1),
    ],
)
def test_validation_within_fit_is_named_by_its_search(beam: int, validation: Any, name: str, searched: int) -> None:
    module = small(decoding=DecodingSettings(beam=beam, length_penalty=0.9), validation_decoding=validation)
    assert module.validation_bleu == name
    assert module._search_of("fit") == DecodingSettings(beam=searched, length_penalty=0.9)
    for command in ("validate", "test", "predict", None):
        assert module._search_of(command) == module.decoding


def test_what_validation_within_fit_logs() -> None:
    module = small(decoding=DecodingSettings(beam=4), validation_decoding="greedy", chrf=True)
    logged = {"val/loss", "val/perplexity", "val/bleu_greedy", "val/chrf_greedy", "val/non_terminated"}
    assert set(module.validation_metrics) == logged
    assert "val/chrf" not in small().validation_metrics


def plain_types(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and plain_types(entry) for key, entry in value.items())
    if isinstance(value, list):
        return all(map(plain_types, value))
    return value is None or type(value) in (str, int, float, bool)


class TestHyperParameters:
    def test_plain_types_only(self) -> None:
        module = small(decoding=DecodingSettings(beam=2), adam_betas=(0.8, 0.9))
        parameters = dict(module.hparams)
        assert plain_types(parameters)
        assert parameters["decoding"] == asdict(DecodingSettings(beam=2))
        assert parameters["adam_betas"] == [0.8, 0.9]

    def test_they_make_the_same_module_again(self) -> None:
        module = small(decoding=DecodingSettings(beam=2), adam_betas=(0.8, 0.9), norm="pre", seed=4)
        again = LitTransformer(**dict(module.hparams))
        assert dict(again.hparams) == dict(module.hparams)
        assert again.decoding == module.decoding
        assert weights_digest(again.network) == weights_digest(module.network)

    def test_those_of_an_older_checkpoint_make_it_too(self) -> None:
        module = small()
        later = {"pruned", "feed_forward_sizes", "layer_drop", "attention"}
        again = LitTransformer(**{name: value for name, value in module.hparams.items() if name not in later})
        assert dict(again.hparams) == dict(module.hparams)

    def test_selectors_of_pruned_components_become_their_ids(self) -> None:
        module = LitTransformer(**SMALL, pruned=["d:ff", "d:sa:1"])
        assert module.hparams["pruned"] == module.hparams_initial["pruned"] == ["d:sa:1", "d:ff:1", "d:ff:2"]
        assert module.structure.components == ["e:sa:1", "e:ff:1", "d:sa:2", "d:ea:1", "d:ea:2"]

    def test_the_structure_is_that_of_the_network(self) -> None:
        module = small(norm="pre", layer_drop={"d:sa": 0.1}, feed_forward_sizes={"d:ff:2": 8})
        assert module.structure == module.network.config
        module.network.prune(["d:ff:1"])
        module.set_structure(module.network.config)
        assert module.structure.pruned == ("d:ff:1",)
        assert plain_types(dict(module.hparams))
        again = LitTransformer(**dict(module.hparams))
        assert again.state_dict().keys() == module.state_dict().keys()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"label_smoothing": 1.0}, r"--model\.label_smoothing is 1\.0"),
            ({"label_smoothing": -0.1}, r"--model\.label_smoothing is -0\.1"),
            ({"label_smoothing": float("nan")}, r"--model\.label_smoothing is nan"),
            ({"learning_rate": 0.0}, r"--model\.learning_rate is 0\.0"),
            ({"learning_rate": float("nan")}, r"--model\.learning_rate is nan"),
            ({"warmup_steps": -1}, r"--model\.warmup_steps -1"),
            ({"bleu_tokenize": "14a"}, r"--model\.bleu_tokenize '14a' is unknown"),
            ({"heads": 3}, r"--model\.heads 3 does not divide --model\.d_model 16"),
            ({"heads": 3, "source_vocab_size": None}, r"--model\.heads 3 does not divide"),  # before there are data
            ({"dropout": 1.0}, r"--model\.dropout is 1\.0"),
            ({"adam_betas": (0.9, 1.0)}, r"--model\.adam_betas"),
            ({"adam_epsilon": -1.0}, r"--model\.adam_epsilon"),
        ],
    )
    def test_values_out_of_range(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UserError, match=message):
            small(**options)


def test_chrf_is_scored_on_request_only() -> None:
    assert small().chrf is None
    assert small(chrf=True).chrf is not None
    assert small().state_dict().keys() == small(chrf=True).state_dict().keys()


def test_the_optimizer_follows_the_schedule() -> None:
    module = small(learning_rate=1e-3, warmup_steps=10)
    made = module.configure_optimizers()
    optimizer, scheduler = made["optimizer"], made["lr_scheduler"]["scheduler"]
    assert made["lr_scheduler"]["interval"] == "step"
    rates = []
    for _ in range(40):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert [rates[0], rates[9], rates[39]] == pytest.approx([1e-4, 1e-3, 5e-4])
    assert (optimizer.defaults["betas"], optimizer.defaults["eps"]) == ((0.9, 0.98), 1e-9)
