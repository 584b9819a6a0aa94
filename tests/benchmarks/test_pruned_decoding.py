from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.pruned_decoding import endless, layers_of_size, main, measured, multiply_adds, unimportant, without
from lit_transformer.decoding import DecodingSettings
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer
from tests.end_to_end.running import of, read_json, succeed, tiny_fit, write_text
from tests.special import EOS

WIDTH, INNER, VOCABULARY = 16, 24, 40
SOURCE, TARGET = torch.full((3, 5), 7), torch.full((3, 6), 8)


def model(decoder_layers: int = 2) -> Transformer:
    return seeded_transformer(
        TransformerConfig(VOCABULARY, VOCABULARY, 1, decoder_layers, WIDTH, INNER, 2, norm="pre"), 3
    ).eval()


@torch.no_grad()
def operations(network: Transformer) -> int:
    return multiply_adds(lambda: network(SOURCE, TARGET))[0]


def attention(queries: int, keys: int) -> int:
    """Multiply-adds of one sentence: four projections, scores and weighted values."""
    return 2 * queries * WIDTH**2 + 2 * keys * WIDTH**2 + 2 * queries * keys * WIDTH


def test_multiply_adds_by_hand() -> None:
    source, target = 5, 6
    encoder = attention(source, source) + 2 * source * WIDTH * INNER
    decoder = attention(target, target) + attention(target, source) + 2 * target * WIDTH * INNER
    expected = 3 * (encoder + 2 * decoder + target * WIDTH * VOCABULARY)
    assert operations(model()) == expected
    pruned = 3 * (attention(target, source) + 2 * target * WIDTH * INNER)
    assert operations(without(model(), ["d:ea:1", "d:ff:2"])) == expected - pruned


def test_a_pruned_model_computes_less_per_piece() -> None:
    source = torch.tensor([[5, 6, 7, EOS], [8, 9, EOS, 0]])
    networks = {"full": model(), "pruned": without(model(), ["d:sa:1", "d:ff:2"])}
    found = measured(networks, [source], DecodingSettings(beam=2, max_extra_pieces=3), 2)
    full, pruned = found["full"], found["pruned"]
    assert pruned.operations / pruned.pieces < full.operations / full.pieces
    assert (
        full.parameters - pruned.parameters == 4 * WIDTH**2 + 4 * WIDTH + 2 * WIDTH * INNER + WIDTH + INNER + 4 * WIDTH
    )
    assert full.sentences == 2
    assert len(full.spent) == len(pruned.spent) == 2
    assert full.cells(full)[2] == "1.00"
    assert list(model().components()) == list(networks["full"].components())


@pytest.mark.parametrize("beam", [1, 3])
def test_hypotheses_of_the_same_length(beam: int) -> None:
    source = torch.tensor([[5, 6, 7, EOS], [8, 9, EOS, 0]])
    networks = {"full": model(), "pruned": without(model(), ["d:sa:1", "d:ff:2"])}
    with endless(networks["full"]), endless(networks["pruned"]):
        found = measured(networks, [source], DecodingSettings(beam=beam, max_extra_pieces=2), 1)
    # As many pieces as the sources have, two more for each, and two ends of sentence.
    assert found["full"].pieces == found["pruned"].pieces == 3 + 2 + 2 * 2 + 2
    assert not networks["full"].output._forward_hooks


def test_as_many_layers_as_come_closest() -> None:
    network = model(decoder_layers=4)
    layer = sum(parameter.numel() for parameter in network.decoder.layers[0].parameters()) - 6 * WIDTH
    assert layers_of_size(network, 1) == [4]
    assert layers_of_size(network, int(1.6 * layer)) == [3, 4]
    assert layers_of_size(network, 100 * layer) == [2, 3, 4]


def test_without_scores_decoder_attention_goes(tmp_path: Path) -> None:
    components, why = unimportant(model(decoder_layers=6), tmp_path / "best.ckpt")
    assert components == [f"d:sa:{layer}" for layer in range(1, 7)]
    assert why == "decoder attention"


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    text = write_text(tmp_path / "text")
    succeed(tiny_fit(text, "--name=demo", max_steps=3, val_check_interval=3), tmp_path)
    run = tmp_path / "runs/demo/version_0"
    succeed(of("analyze", run), tmp_path)
    monkeypatch.chdir(tmp_path)
    few = ["--sentences=6", "--rounds=1", f"--threads={threads}"]
    main(few)
    shown = capsys.readouterr().out
    [scores] = map(read_json, run.glob("analysis/*/scores.json"))
    least = sorted(scores["components"], key=lambda row: (row["contribution"], row["drop"]))[:2]
    assert all(row["component"] in shown.split("Pruned: ")[1].split(".")[0] for row in least)
    for expected in ("### Greedy", "### Beam 4", "without 2 components (least contribution)", "of 2 decoder layers"):
        assert expected in shown
    assert sum(line.startswith("| full | ") for line in shown.splitlines()) == 2
    succeed(tiny_fit(text, "--name=less", "--model.pruned=[d:sa]", max_steps=3, val_check_interval=3), tmp_path)
    less = tmp_path / "runs/less/version_0"
    main([str(run), str(less), *few, "--beams=1"])
    shown = capsys.readouterr().out
    assert "Beam" not in shown
    assert f"| {run} | " in shown
    assert f"| {less} | " in shown


def test_runs_of_another_tokenizer(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    options = {"max_steps": 1, "val_check_interval": 1}
    for name, size in (("one", 100), ("other", 90)):
        succeed(tiny_fit(text, f"--name={name}", f"--data.tokenizer.vocab_size={size}", **options), tmp_path)
    runs = [str(tmp_path / f"runs/{name}/version_0") for name in ("one", "other")]
    with pytest.raises(UserError, match="another tokenizer"):
        main([*runs, "--threads", str(torch.get_num_threads())])
