from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import lit_transformer
from lit_transformer.decoding import DecodingSettings
from lit_transformer.errors import UserError
from lit_transformer.training.translator import Translator
from tests.end_to_end.running import COMPONENTS, lines_of, load, of, same_tensors, succeed, tiny_fit
from tests.end_to_end.running import write_text as write_corpus

LINES = ["The red cat sees the old goat.", "", "The old\u2028duck\x0b hears", "   ", "The young woman likes the duck."]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """The folder of a run that searches by a beam of 2, in batches of some sentences, prepared by a worker."""
    root = tmp_path_factory.mktemp("trained")
    more = ["--model.decoding.beam=2", "--data.eval_max_tokens=60", "--data.workers=1"]
    succeed(tiny_fit(text, *more, max_steps=60, val_check_interval=12, max_epochs=100), root)
    return root / "runs/run/version_0"


@pytest.fixture
def model(run: Path) -> Translator:
    return lit_transformer.load(run)


def predicted(run: Path, lines: list[str], folder: Path) -> list[str]:
    content = "".join(f"{line}\n" for line in lines).encode()
    output = succeed(of("predict", run, "--input", "-"), folder, stdin=content).output.decode()
    return output.removesuffix("\n").split("\n")


def test_the_text_is_that_of_predict(model: Translator, run: Path, text: Path, tmp_path: Path) -> None:
    lines = [*LINES, *lines_of(text / "test.en")]
    translations = model.translate(lines)
    assert translations == predicted(run, lines, tmp_path)
    assert translations[0].startswith("Die ")
    assert translations[1] == translations[3] == ""
    # What is translated comes from the call alone.
    assert model.translate(lines[::-1]) == translations[::-1]
    assert model.translate([]) == []


@pytest.mark.parametrize("name", ["last.ckpt", "best-loss.ckpt"])
def test_a_checkpoint_can_be_named(name: str, run: Path, text: Path, tmp_path: Path) -> None:
    path = run / "checkpoints" / name
    lines = lines_of(text / "test.en")
    model = lit_transformer.load(str(path))
    assert model.translate(lines) == predicted(path, lines, tmp_path)
    weights = {f"network.{name}": tensor for name, tensor in model.network.state_dict().items()}
    assert same_tensors(weights, load(path)["state_dict"])


def test_a_folder_means_the_average(model: Translator, run: Path) -> None:
    average = load(run / "checkpoints/average.ckpt")["state_dict"]
    assert same_tensors({f"network.{name}": tensor for name, tensor in model.network.state_dict().items()}, average)


def test_the_search_is_the_runs_own_and_can_be_changed(model: Translator, run: Path, tmp_path: Path) -> None:
    assert model.decoding == DecodingSettings(beam=2, max_extra_pieces=5)
    model.decoding = replace(model.decoding, beam=1, max_extra_pieces=0, precision="float64")
    options = ["beam=1", "max_extra_pieces=0", "precision=float64"]
    content = f"{LINES[0]}\n".encode()
    typed = of("predict", run, "--input", "-", *(f"--model.decoding.{option}" for option in options))
    assert model.translate(LINES[:1]) == succeed(typed, tmp_path, stdin=content).output.decode().splitlines()
    assert next(model.network.parameters()).dtype == torch.float32


def test_ablated_while_the_context_lasts(model: Translator, text: Path) -> None:
    lines = lines_of(text / "test.en")
    before = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    whole = model.translate(lines)
    with model.ablated("d:ea") as chosen:
        changed = model.translate(lines)
    assert chosen == ["d:ea:1", "d:ea:2"]
    # Without the source every sentence has the same translation, up to the limit of its length.
    assert len(set(changed)) < len(set(whole))
    assert model.translate(lines) == whole
    assert same_tensors(model.network.state_dict(), before)


def test_an_exception_leaves_no_ablation(model: Translator) -> None:
    with pytest.raises(KeyError), model.ablated(["d:sa:1", "e:ff"]):
        raise KeyError
    assert not any(sublayer.ablated for sublayer in model.network.components().values())
    with pytest.raises(UserError, match="d:xx"), model.ablated("d:xx"):
        pass


def test_an_ablation_is_the_model_without_the_component(model: Translator, run: Path, text: Path) -> None:
    """Pruned = ablated, to the word."""
    lines = lines_of(text / "test.en")
    pruned = lit_transformer.load(run)
    kept = {name: layer for name, layer in pruned.network.components().items() if name != "d:ff:2"}
    assert list(kept) == [name for name in COMPONENTS if name != "d:ff:2"]
    last = pruned.network.components()["d:ff:2"].function.outer
    torch.nn.init.zeros_(last.weight)  # type: ignore[arg-type, union-attr]
    torch.nn.init.zeros_(last.bias)  # type: ignore[arg-type, union-attr]
    with model.ablated("d:ff:2"):
        assert model.translate(lines) == pruned.translate(lines)


def test_components_in_their_order(model: Translator) -> None:
    assert model.components == COMPONENTS


def test_mistakes_are_told(model: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"takes a list of sentences; got the string 'The cat\.'"):
        model.translate("The cat.")
    with pytest.raises(UserError, match=r"does not exist; give a \.ckpt file or the folder of a run"):
        lit_transformer.load(tmp_path / "none")
    next(model.network.parameters()).data.fill_(float("nan"))
    with pytest.raises(UserError, match="NaN"):
        model.translate(LINES)


def test_the_public_names() -> None:
    assert dir(lit_transformer) == sorted(lit_transformer.__all__)
    assert set(lit_transformer.__all__) == {"Scores", "Translator", "__version__", "load", "load_scores"}
    for name in lit_transformer.__all__:
        assert getattr(lit_transformer, name)
    with pytest.raises(AttributeError, match="'lit_transformer' has no attribute 'lode'"):
        _ = lit_transformer.lode


def test_three_lines_of_python_in_a_process_of_their_own(run: Path) -> None:
    """Nothing but translations on standard output, and no warning."""
    code = f"import lit_transformer\nmodel = lit_transformer.load({str(run)!r})\n"
    code += f"print(*model.translate({LINES!r}), sep='|')"
    made = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert made.stdout.count("|") == len(LINES) - 1
    assert made.stdout.startswith("Die ")
    assert made.stderr == ""
