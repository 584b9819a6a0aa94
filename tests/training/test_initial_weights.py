from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer, weights_digest
from lit_transformer.runs.checkpoints import CHECKPOINT_FORMAT
from lit_transformer.training.initial_weights import (
    FILE,
    NoInitialWeightsError,
    carried_weights,
    first_weights,
    initial_weights_digest,
    initial_weights_of,
    load_initial_weights,
    save_initial_weights,
)
from tests.end_to_end.running import same_tensors

CONFIG = TransformerConfig(20, 20, 1, 1, 8, 12, 2)
OTHER = replace(CONFIG, feed_forward=16)
SEED = 7


def train(model: Transformer) -> None:
    """Change every weight, as an optimizer does: in place."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)


class Run:
    """A run's folder with a checkpoint, whose training changed every weight.

    Args:
        folder: The folder of the run.
        config: Structure of the model.
        record: What the checkpoint says about its initial weights, where that is not the truth.
    """

    def __init__(self, folder: Path, config: TransformerConfig = CONFIG, **record: Any) -> None:
        self.file = folder / FILE
        self.model = seeded_transformer(config, SEED)
        self.weights, self.record = first_weights(self.model, SEED)
        self.initial = {name: tensor.clone() for name, tensor in self.weights.items()}
        save_initial_weights(self.file, self.weights, self.record)
        train(self.model)
        self.checkpoint = folder / "checkpoints" / "last.ckpt"
        self.save(self.model, {**self.record, **record})

    def save(self, model: Transformer, record: dict[str, Any] | None) -> None:
        self.checkpoint.parent.mkdir(exist_ok=True)
        about: dict[str, Any] = {"format": CHECKPOINT_FORMAT, "version": "0"}
        about |= {} if record is None else {"initial_weights": record}
        state = {f"network.{name}": tensor for name, tensor in model.state_dict().items()}
        torch.save({"state_dict": state, "lit_transformer": about}, self.checkpoint)

    def header(self) -> dict[str, Any]:
        with safe_open(self.file, framework="pt") as file:
            found: dict[str, Any] = json.loads(file.metadata()["lit_transformer.initial_weights"])
        return found


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


class TestFile:
    def test_what_was_saved_is_loaded_whatever_training_does(self, run: Run) -> None:
        """cases.md A18."""
        loaded = load_initial_weights(run.file, run.record["digest"])
        fresh = seeded_transformer(CONFIG, SEED).state_dict()
        assert same_tensors(loaded, fresh)
        trained = run.model.state_dict()
        assert not any(torch.equal(loaded[name], trained[name]) for name in trained)

    def test_nothing_else_refers_to_the_memory(self, run: Run) -> None:
        first = load_initial_weights(run.file, run.record["digest"])
        for tensor in first.values():
            tensor.zero_()
        second = load_initial_weights(run.file, run.record["digest"])
        assert same_tensors(second, run.initial)

    @pytest.mark.parametrize("tied", ["all", "target", "none"])
    def test_a_tensor_with_several_names_is_stored_once(self, tmp_path: Path, tied: Any) -> None:
        run = Run(tmp_path, replace(CONFIG, tie_embeddings=tied))
        assert same_tensors(load_initial_weights(run.file, run.record["digest"]), run.initial)
        tables = [name for name in load_file(run.file) if "pieces" in name or name.startswith("output")]
        assert len(tables) == {"all": 1, "target": 2, "none": 3}[tied]

    def test_the_header(self, run: Run) -> None:
        about = run.header()
        assert about["digest"] == weights_digest(seeded_transformer(CONFIG, SEED))
        assert (about["seed"], about["parent_digest"]) == (7, None)
        assert about["structure"] == {**asdict(CONFIG), "pruned": []}
        assert about["versions"]["torch"] == torch.__version__
        assert about["tied"].keys() == {"target_embedding.pieces.weight", "output.weight"}

    def test_the_same_weights_give_the_same_file(self, run: Run) -> None:
        before = run.file.read_bytes()
        weights = load_initial_weights(run.file, run.record["digest"])
        for _ in range(10):
            save_initial_weights(run.file, weights, run.record)
            assert run.file.read_bytes() == before

    def test_a_full_disk(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        before = run.file.read_bytes()
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(UserError, match=r"cannot write '.*initial_weights\.safetensors': No space left on device"):
            save_initial_weights(run.file, run.weights, run.record)
        assert run.file.read_bytes() == before
        assert {path.name for path in run.file.parent.iterdir()} == {FILE, "checkpoints"}


class TestBadFiles:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"'.*no\.safetensors' does not exist; .*callbacks\.InitialWeights"):
            load_initial_weights(tmp_path / "no.safetensors", "0" * 64)

    @pytest.mark.parametrize("length", [0, 5, 100, -1])
    def test_torn(self, run: Run, length: int) -> None:
        run.file.write_bytes(run.file.read_bytes()[:length])
        with pytest.raises(UserError, match=r"cannot be read as initial weights .* put back the file"):
            load_initial_weights(run.file, run.record["digest"])

    def test_of_another_program(self, run: Run) -> None:
        save_file({"w": torch.ones(1)}, run.file)
        with pytest.raises(UserError, match="is a file of another program"):
            load_initial_weights(run.file, run.record["digest"])

    def test_of_a_later_version(self, run: Run) -> None:
        save_file({"w": torch.ones(1)}, run.file, {"lit_transformer.initial_weights": '{"format": 2}'})
        with pytest.raises(UserError, match=r"has format 2 .* install a newer lit-transformer"):
            load_initial_weights(run.file, run.record["digest"])

    def test_of_another_run(self, run: Run, tmp_path: Path) -> None:
        other = seeded_transformer(CONFIG, SEED + 1)
        save_initial_weights(run.file, *first_weights(other, SEED + 1))
        digests = f"their digest is {weights_digest(other)[:12]}, .* from {run.record['digest'][:12]}"
        with pytest.raises(UserError, match=rf"holds the initial weights of another run: {digests}"):
            initial_weights_of(run.checkpoint)

    def test_of_another_structure(self, run: Run) -> None:
        save_initial_weights(run.file, *first_weights(seeded_transformer(OTHER, SEED), SEED))
        with pytest.raises(UserError, match="of another run"):
            initial_weights_of(run.checkpoint)

    def test_with_one_bit_changed(self, run: Run) -> None:
        content = bytearray(run.file.read_bytes())
        content[-1] ^= 1
        run.file.write_bytes(content)
        with pytest.raises(UserError, match="was changed after it was written"):
            initial_weights_of(run.checkpoint)


class TestOfACheckpoint:
    def test_in_its_run(self, run: Run) -> None:
        assert same_tensors(initial_weights_of(run.checkpoint), run.initial)
        assert initial_weights_digest(run.checkpoint) == run.record["digest"]

    def test_copied_elsewhere_they_are_drawn_again(self, run: Run, tmp_path: Path) -> None:
        lone = run.checkpoint.rename(tmp_path / "lone.ckpt")
        assert same_tensors(initial_weights_of(lone), run.initial)

    def test_drawn_again_in_the_precision_of_the_training(self, tmp_path: Path) -> None:
        run = Run(tmp_path)
        half = seeded_transformer(CONFIG, SEED).to(torch.bfloat16)
        weights, record = first_weights(half, SEED)
        run.save(half, record)
        run.file.unlink()
        assert same_tensors(initial_weights_of(run.checkpoint), weights)

    def test_another_draw_is_never_taken_for_them(self, tmp_path: Path) -> None:
        run = Run(tmp_path, seed=SEED + 1)
        run.file.unlink()
        with pytest.raises(NoInitialWeightsError, match=r"is missing, and seed 8 gives other weights with torch"):
            initial_weights_of(run.checkpoint)

    def test_not_kept(self, run: Run) -> None:
        run.save(run.model, None)
        with pytest.raises(NoInitialWeightsError, match=r"last\.ckpt' was trained without keeping .* fit has unless"):
            initial_weights_of(run.checkpoint)
        assert initial_weights_digest(run.checkpoint) is None

    def test_a_checkpoint_that_was_given_another_structure(self, run: Run) -> None:
        run.save(seeded_transformer(OTHER, SEED), run.record)
        with pytest.raises(UserError, match=r"those of another structure: encoder\S+ is \(16, 8\) .*, \(12, 8\) there"):
            initial_weights_of(run.checkpoint)

    def test_no_random_state_is_used_up(self, run: Run) -> None:
        run.file.unlink()
        before = torch.random.get_rng_state()
        initial_weights_of(run.checkpoint)
        assert torch.equal(torch.random.get_rng_state(), before)


class TestCarriedOver:
    def test_to_a_run_with_the_same_structure(self, run: Run, tmp_path: Path) -> None:
        weights, record = carried_weights(run.model, run.checkpoint)
        assert same_tensors(weights, run.initial)
        assert record == {**run.record, "parent_digest": run.record["digest"]}
        save_initial_weights(tmp_path / "child.safetensors", weights, record)
        assert same_tensors(load_initial_weights(tmp_path / "child.safetensors", record["digest"]), run.initial)

    def test_to_a_run_with_fewer_components(self, run: Run, tmp_path: Path) -> None:
        child = Run(tmp_path / "child")
        pruned = drop(child.model, "decoder.layers.0.ea.function.")
        weights, record = carried_weights(pruned, run.checkpoint)
        assert 0 < len(weights) < len(run.initial)
        assert same_tensors(weights, {name: run.initial[name] for name in weights})
        assert record["parent_digest"] == run.record["digest"] != record["digest"]
        save_initial_weights(child.file, weights, record)
        child.save(pruned, record)
        assert same_tensors(initial_weights_of(child.checkpoint), weights)
        # And so does a copy of its checkpoint that has lost the file.
        child.file.unlink()
        assert same_tensors(initial_weights_of(child.checkpoint), weights)

    def test_not_to_another_structure(self, run: Run) -> None:
        with pytest.raises(UserError, match="those of another structure"):
            carried_weights(seeded_transformer(OTHER, SEED), run.checkpoint)


def drop(model: Transformer, prefix: str) -> Transformer:
    """Return the model with the tensors below a name left out of its state."""
    original: Callable[[], dict[str, Tensor]] = model.state_dict
    kept = {name: tensor for name, tensor in original().items() if not name.startswith(prefix)}
    model.state_dict = lambda: kept  # type: ignore[method-assign, assignment]
    return model
