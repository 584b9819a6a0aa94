"""What surgery says about components: which weights are theirs, how far they moved, what they put out on average."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from lit_transformer.components import component_ids
from lit_transformer.data.batch import Batch, collate
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer, weights_digest
from lit_transformer.model.seeded import redrawn
from lit_transformer.model.surgery import ablated, component_parameters, mean_outputs

CONFIG = TransformerConfig(20, 20, 2, 2, 16, 24, 2)
SOURCE = torch.tensor([[4, 5, 6, 7, 3], [9, 8, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 9, 8, 3]])
ATTENTION = ("in_projection.weight", "in_projection.bias", "out_projection.weight", "out_projection.bias")
FEED_FORWARD = ("inner.weight", "inner.bias", "outer.weight", "outer.bias")
INNER = "decoder.layers.0.ff.function.inner.weight"


@pytest.fixture
def model() -> Transformer:
    return seeded_transformer(CONFIG, 1).eval()


@torch.no_grad()
def logits(model: Transformer) -> Tensor:
    return model(SOURCE, TARGET)


def own(model: Transformer, component: str, norm: bool = False) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in component_parameters(model, component, norm).items()}


class TestComponentParameters:
    @pytest.mark.parametrize(
        ("component", "place", "names"),
        [
            ("e:sa:1", "encoder.layers.0.sa", ATTENTION),
            ("e:ff:2", "encoder.layers.1.ff", FEED_FORWARD),
            ("d:ea:2", "decoder.layers.1.ea", ATTENTION),
        ],
    )
    def test_names_are_those_of_the_state(
        self, model: Transformer, component: str, place: str, names: tuple[str, ...]
    ) -> None:
        found = component_parameters(model, component)
        assert list(found) == [f"{place}.function.{name}" for name in names]
        assert all(found[name].data_ptr() == model.state_dict()[name].data_ptr() for name in found)
        with_norm = component_parameters(model, component, include_norm=True)
        assert set(with_norm) - set(found) == {f"{place}.norm.weight", f"{place}.norm.bias"}

    @pytest.mark.parametrize("norm", ["pre", "post"])
    def test_components_share_nothing_and_leave_the_embeddings_out(self, norm: Any) -> None:
        model = seeded_transformer(replace(CONFIG, norm=norm), 1)
        names = [name for component in component_ids(2, 2) for name in component_parameters(model, component, True)]
        assert len(names) == len(set(names))
        rest = {"source_embedding.pieces.weight", "target_embedding.pieces.weight", "output.weight"}
        final = {f"{side}.norm.{what}" for side in ("encoder", "decoder") for what in ("weight", "bias")}
        assert set(model.state_dict()) - set(names) == rest | (final if norm == "pre" else set())

    def test_a_tied_tensor_never_belongs_to_a_component(self, model: Transformer) -> None:
        first, second = (model.components()[name].function for name in ("d:ff:1", "d:ff:2"))
        second.inner.weight = first.inner.weight  # type: ignore[union-attr]
        for component, layer in (("d:ff:1", 0), ("d:ff:2", 1)):
            expected = [f"decoder.layers.{layer}.ff.function.{name}" for name in FEED_FORWARD[1:]]
            assert list(component_parameters(model, component)) == expected

    def test_nor_does_one_that_shares_the_memory_of_another(self, model: Transformer) -> None:
        table = torch.nn.Parameter(model.output.weight.detach()[:16, :16])
        model.components()["d:sa:1"].function.out_projection.weight = table  # type: ignore[union-attr]
        assert not any(name.endswith("out_projection.weight") for name in component_parameters(model, "d:sa:1"))

    def test_a_component_that_does_not_exist(self, model: Transformer) -> None:
        with pytest.raises(UserError, match="'d:ea:3' matches nothing in this model; it has e:sa:1"):
            component_parameters(model, "d:ea:3")


class TestRedrawn:
    @pytest.mark.parametrize("component", ["e:sa:2", "d:ea:1", "d:ff:2"])
    def test_what_a_new_model_could_start_from(self, model: Transformer, component: str) -> None:
        made = redrawn(CONFIG, component, 2)
        original = own(model, component, norm=True)
        assert {at: tensor.shape for at, tensor in made.items()} == {
            at: tensor.shape for at, tensor in original.items()
        }
        for at, tensor in made.items():
            if "norm" in at or at.endswith("bias"):
                # All models start from the same biases and norms.
                assert torch.equal(tensor, original[at])
            else:
                assert not torch.equal(tensor, original[at])
                assert float(tensor.std()) == pytest.approx(float(original[at].std()), rel=0.15)

    def test_seeds_differ_and_can_be_used_again(self) -> None:
        draws = [redrawn(CONFIG, "d:ff:1", seed)[INNER] for seed in range(4)]
        assert all(not torch.equal(one, other) for place, one in enumerate(draws) for other in draws[:place])
        assert torch.equal(redrawn(CONFIG, "d:ff:1", 3)[INNER], draws[3])

    def test_no_random_state_is_used_up(self) -> None:
        before = torch.random.get_rng_state()
        redrawn(CONFIG, "d:ff:1", 1)
        assert torch.equal(torch.random.get_rng_state(), before)


def batches() -> list[Batch]:
    pairs = [([4, 5, 6], [7, 8]), ([9], [10, 11, 12, 13]), ([5, 4], [6])]
    return [collate(torch.arange(2).numpy(), pairs[:2]), collate(torch.arange(1).numpy(), pairs[2:])]


@torch.no_grad()
def means_by_hand(model: Transformer) -> dict[str, Tensor]:
    """The mean outputs of a post-norm model, one sentence at a time, so without padding or hooks."""
    sublayers = model.components()
    functions: dict[str, Any] = {component: sublayer.function for component, sublayer in sublayers.items()}
    outputs: dict[str, list[Tensor]] = {component: [] for component in sublayers}

    def run(component: str, x: Tensor, made: Tensor) -> Tensor:
        outputs[component].append(made[0])
        return sublayers[component].norm(x + made)

    for source, target in (([4, 5, 6, 3], [2, 7, 8]), ([9, 3], [2, 10, 11, 12, 13]), ([5, 4, 3], [2, 6])):
        x = model.source_embedding(torch.tensor([source]))
        for layer in (1, 2):
            x = run(f"e:sa:{layer}", x, functions[f"e:sa:{layer}"](x, None))
            x = run(f"e:ff:{layer}", x, functions[f"e:ff:{layer}"](x))
        y = model.target_embedding(torch.tensor([target]))
        future = torch.ones(len(target), len(target), dtype=torch.bool).triu(1)
        for layer in (1, 2):
            y = run(f"d:sa:{layer}", y, functions[f"d:sa:{layer}"](y, future))
            attention = functions[f"d:ea:{layer}"]
            y = run(f"d:ea:{layer}", y, attention.attend_to(y, attention.source_cache(x), None))
            y = run(f"d:ff:{layer}", y, functions[f"d:ff:{layer}"](y))
    return {component: torch.cat(made).double().mean(dim=0) for component, made in outputs.items()}


class TestMeanOutputs:
    def test_by_hand(self, model: Transformer) -> None:
        digest, expected = weights_digest(model), means_by_hand(model)
        found = mean_outputs(model, batches())
        assert found.keys() == expected.keys()
        for component, mean in found.items():
            assert mean.dtype == torch.float64
            torch.testing.assert_close(mean, expected[component], rtol=1e-4, atol=1e-6)
        assert weights_digest(model) == digest

    def test_dropout_is_left_out_and_training_goes_on(self, model: Transformer) -> None:
        expected = mean_outputs(model, batches())
        other = seeded_transformer(replace(CONFIG, dropout=0.5, activation_dropout=0.5), 1).train()
        other.encoder.eval()
        found = mean_outputs(other, batches())
        assert all(torch.equal(found[component], expected[component]) for component in expected)
        assert (other.training, other.decoder.training, other.encoder.layers[0].training) == (True, True, False)
        assert not any(module._forward_hooks for module in other.modules())

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_no_trace_after_an_exception(self, model: Transformer, error: type[BaseException]) -> None:
        expected = logits(model)

        def torn() -> Any:
            yield batches()[0]
            raise error

        with pytest.raises(error):
            mean_outputs(model.train(), torn())
        assert all(module.training and not module._forward_hooks for module in model.modules())
        assert torch.equal(logits(model.eval()), expected)

    @pytest.mark.parametrize("norm", ["pre", "post"])
    @pytest.mark.parametrize("component", ["e:sa:1", "e:ff:2", "d:sa:2", "d:ea:1", "d:ff:2"])
    def test_the_mean_in_place_of_an_output_folds_into_a_bias(self, norm: Any, component: str) -> None:
        model = seeded_transformer(replace(CONFIG, norm=norm), 1).eval()
        means = mean_outputs(model, batches())
        with ablated(model, component, means):
            made = logits(model)
        expected = logits(model)
        last = "outer" if "ff" in component else "out_projection"
        with torch.no_grad():
            for at, weight in component_parameters(model, component).items():
                weight.zero_()
                if at.endswith(f"{last}.bias"):
                    weight.copy_(means[component])
        assert torch.equal(made, logits(model))
        assert not torch.equal(made, expected)
