"""A new attention is one file and one line in the registry; all else works without further change."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
import torch

from callbacks import BestLossCheckpoint, ComponentPruning, ContributionScore, CriticalityScore, InitialWeights
from lit_transformer.data.batch import Batch
from lit_transformer.errors import UserError
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import ATTENTIONS, Transformer
from lit_transformer.model.surgery import component_parameters
from lit_transformer.structure import Structure
from lit_transformer.training.initial_weights import FILE, load_initial_weights
from lit_transformer.training.module import LitTransformer
from tests.callbacks.conftest import Setup, setup, setups, text  # noqa: F401 - fixtures
from tests.importance.conftest import batches  # noqa: F401 - fixtures
from tests.importance.toy import SETTINGS, replacements, spell
from tests.model.attention.uniform import UniformAttention

UNIFORM = {"e:sa": "uniform", "d:sa": "uniform", "d:ea": "uniform"}
SOURCE = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0], [10, 3, 0, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 7, 8, 9], [2, 10, 11, 12]])


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with mock.patch.dict(ATTENTIONS, {"uniform": UniformAttention}):
        yield


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(Structure(24, 24, 2, 2, 16, 24, 2, norm="pre", tie_embeddings="none", attention=UNIFORM)).eval()
    torch.nn.init.normal_(model.output.weight, std=0.5)
    return model


@torch.no_grad()
def test_steps_from_the_cache_give_the_training_outputs(model: Transformer) -> None:
    model = model.double()
    expected = model(SOURCE, TARGET)
    cache = model.start(model.encode(SOURCE))
    steps = [model.logits(model.step(TARGET[:, n : n + 1], cache)) for n in range(TARGET.size(1))]
    assert torch.allclose(torch.cat(steps, dim=1), expected, rtol=0.0, atol=1e-10)


@torch.no_grad()
def test_padding_changes_nothing(model: Transformer) -> None:
    model = model.double()
    alone = model(SOURCE[1:2, :3], TARGET[1:2])
    assert torch.allclose(model(SOURCE, TARGET)[1:2], alone, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("beam", [1, 3])
def test_side_by_side_each_variant_decodes_as_by_itself(model: Transformer, batches: list[Batch], beam: int) -> None:  # noqa: F811
    settings = SETTINGS.__class__(**{**SETTINGS.as_dict(), "beam": beam})
    decoder = VariantDecoder(model, ScoringSet(batches, "set"), spell, settings, CorpusBLEU(), replacements(model))
    variants = [
        *(ablation(name) for name in ("e:sa:1", "d:sa:1", "d:ea:2")),
        *(Variant(interpolated=name, alpha=0.3) for name in ("e:sa:2", "d:sa:2", "d:ea:1")),
    ]
    alone = [decoder.decode(variant)[0].ids() for variant in variants]
    assert [found.ids() for found, _ in decoder.side_by_side(variants)] == alone
    assert len({str(ids) for ids in alone}) > 1


def test_trains_is_scored_and_pruned(setups: Callable[[], Setup]) -> None:  # noqa: F811
    first, second = setups(), setups()
    scorers = [ContributionScore(), ContributionScore(value="mean"), CriticalityScore()]
    trainer = first.trainer([InitialWeights(), BestLossCheckpoint(), *scorers], max_steps=4)
    module = first.module(attention=UNIFORM)
    trainer.fit(module, datamodule=first.data())
    assert {type(module.network.components()[f"{kind}:1"].function) for kind in UNIFORM} == {UniformAttention}
    initial = load_initial_weights(first.folder / FILE, module.initial_weights["digest"])  # type: ignore[index]
    trained = component_parameters(module.network, "d:sa:1")
    assert all(not torch.equal(tensor, initial[name]) for name, tensor in trained.items())
    with (first.folder / "analysis/best-loss/scores.csv").open() as file:
        rows = {row["component"]: row for row in csv.DictReader(file)}
    # Two matrices of 16 by 16, with biases.
    assert {rows[f"{kind}:1"]["parameters"] for kind in UNIFORM} == {str(2 * (16 * 16 + 16))}
    assert all(row["mean_drop"] and row["criticality"] for row in rows.values())

    parent = first.folder / "checkpoints/best-loss.ckpt"
    pruned = second.module(attention=UNIFORM)
    trainer = second.trainer([ComponentPruning(["d:sa:1"]), BestLossCheckpoint()], max_steps=2)
    trainer.fit(pruned, datamodule=second.data(), start_from=str(parent))
    record = json.loads((second.folder / "pruning.json").read_text())
    # A pre-norm model loses the component's norm too.
    assert record["parameters_before"] - record["parameters_after"] == 2 * (16 * 16 + 16) + 2 * 16
    again = LitTransformer.load_from_checkpoint(second.folder / "checkpoints/best-loss.ckpt")
    assert (again.hparams["attention"], again.hparams["pruned"]) == (UNIFORM, ["d:sa:1"])


def test_an_unknown_attention(setup: Setup) -> None:  # noqa: F811
    with pytest.raises(UserError, match=r"--model\.attention has d:sa: 'linear'; choose one of dot_product, uniform\."):
        setup.module(attention={"d:sa": "linear"})
    with pytest.raises(UserError, match=r"--model\.attention has 'd:ff'; give an attention for any of e:sa"):
        setup.module(attention={"d:ff": "uniform"})
