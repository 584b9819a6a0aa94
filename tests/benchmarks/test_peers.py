from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import torch

from benchmarks.support.peers import converted, ctranslate2, marian
from lit_transformer.decoding import DecodingSettings
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer
from tests.special import BOS, EOS, PAD


def model(norm: Literal["pre", "post"]) -> Transformer:
    made = seeded_transformer(TransformerConfig(40, 40, 2, 2, 16, 24, 4, norm=norm, tie_embeddings="none"), 3).eval()
    # Biases of a new model are 0, which would hide that one is put into the wrong place.
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return made


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_ctranslate2_has_the_log_probabilities_of_the_model(norm: Literal["pre", "post"], tmp_path: Path) -> None:
    engine = pytest.importorskip("ctranslate2")
    generator = torch.Generator().manual_seed(1)
    source, target = (
        torch.randint(4, 40, (9, 6), generator=generator),
        torch.randint(4, 40, (9, 8), generator=generator),
    )
    source[:, -1], target[:, -1] = EOS, EOS
    converted(model(norm)).save(str(tmp_path))
    translator = engine.Translator(str(tmp_path), compute_type="float32")
    tokens = [[[str(piece) for piece in row[:-1].tolist()] for row in side] for side in (source, target)]
    found = translator.score_batch([[*row, "</s>"] for row in tokens[0]], tokens[1])
    before = torch.cat([torch.full((9, 1), BOS), target[:, :-1]], dim=1)
    with torch.no_grad():
        expected = model(norm)(source, before).log_softmax(-1).gather(2, target.unsqueeze(2)).squeeze(2)
    torch.testing.assert_close(torch.tensor([each.log_probs for each in found]), expected, atol=1e-4, rtol=0)


def test_peers_decode_as_often_as_they_are_asked() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("ctranslate2")
    source = torch.tensor([[9, 4, EOS], [7, EOS, PAD]])
    settings = DecodingSettings(beam=2, max_extra_pieces=4)
    for peer in (
        marian(model("pre"), [source], [3], 2, 1),
        ctranslate2(model("pre"), [source], [[5], []], settings, 1, 1),
    ):
        assert peer.seconds is not None
        assert peer.seconds > 0


def test_a_peer_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    settings = DecodingSettings(beam=1)
    for peer in (marian(model("pre"), [], [], 1, 1), ctranslate2(model("pre"), [], [], settings, 1, 1)):
        assert peer.seconds is None
        assert "not installed" in peer.note


def test_a_conversion_leaves_the_model_as_it_is() -> None:
    pytest.importorskip("ctranslate2")
    made = model("post")
    before = {name: tensor.clone() for name, tensor in made.state_dict().items()}
    converted(made)
    assert all(torch.equal(tensor, before[name]) for name, tensor in made.state_dict().items())
