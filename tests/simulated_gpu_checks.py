"""What holds on a simulated GPU; run there by tests/test_simulated_gpu.py, and no test of its own elsewhere.

Of the simulation: that it refuses what a GPU refuses. Of the model and the search: that the code for a GPU computes
what the code for a CPU does.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.support.peers import ctranslate2, marian
from lit_transformer.data.batch import Batch
from lit_transformer.decoding import CorpusDecoder, DecodingSettings
from lit_transformer.decoding.candidates import ROWS_AT_ONCE, best, best_next
from lit_transformer.model import Transformer, TransformerConfig, seeded_transformer, teacher_forced_losses
from lit_transformer.model.dropout import dropout
from lit_transformer.model.loss import _GPU_ROWS, label_smoothed_loss
from lit_transformer.model.surgery import ablated
from tests.decoding.test_beam import CoinModel
from tests.decoding.test_greedy import build, sources


def there(*shape: int) -> Tensor:
    return torch.randn(*shape).to("cuda")


def close(found: Tensor, expected: Tensor) -> None:
    assert found.device == torch.device("cuda:0")
    assert expected.device.type == "cpu"
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=1e-5)


class TestSimulation:
    @pytest.mark.parametrize(
        "mixed",
        [
            lambda: there(2, 3) + torch.ones(2, 3),
            lambda: there(2, 3) @ torch.ones(3, 2),
            lambda: nn.Linear(3, 2).to("cuda")(torch.ones(1, 3)),
            lambda: torch.stack([there(1)[0], torch.tensor(1.0)]),
            lambda: torch.zeros(2).copy_(there(2)).scatter_add_(0, torch.zeros(2, dtype=torch.int64).cuda(), there(2)),
            lambda: torch.arange(4)[torch.ones(2, dtype=torch.int64, device="cuda")],
            lambda: there(3).index_put_((torch.tensor([1, 2]),), torch.ones(2)),
            lambda: nn.functional.embedding(torch.ones(2, dtype=torch.int64), there(3, 3)),
            lambda: torch.randn(3, device="cuda", generator=torch.Generator()),
            lambda: torch.ones(2, 2, dtype=torch.int64, device="cuda") @ torch.ones(2, 2, dtype=torch.int64).cuda(),
        ],
    )
    def test_refuses_two_devices(self, mixed: Callable[[], Any]) -> None:
        with pytest.raises(RuntimeError, match=r"device|CPU|not implemented"):
            mixed()

    def test_allows_single_numbers_and_indices(self) -> None:
        x = there(3)
        assert (x * torch.tensor(2.0)).tolist() == [2 * value for value in x.tolist()]
        assert x[torch.tensor([2, 0])].tolist() == x.tolist()[::-2]
        assert torch.ones(3).copy_(x).tolist() == x.tolist()

    @pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: x.detach().numpy()])
    def test_refuses_numpy(self, read: Callable[[Tensor], Any]) -> None:
        assert there(2).cpu().numpy().shape == (2,)
        with pytest.raises(TypeError, match="numpy"):
            read(there(2))

    def test_says_where_a_tensor_lies(self) -> None:
        x = there(2)
        made = [x, x + 1, x[:1], torch.zeros(2, device=x.device), torch.empty_like(x), x.new_zeros(2), x.bool()]
        made += [torch.tensor([1], device=x.device), x.new_tensor([1]), copy.deepcopy(x), torch.zeros(2).to(x)]
        made += [x.bfloat16().log_softmax(0, dtype=torch.float32), x.double(), x.half().float()]
        assert {tensor.device for tensor in made} == {torch.device("cuda:0")}
        assert {tensor.device.type for tensor in (x.cpu(), x.to("cpu"), torch.zeros(2))} == {"cpu"}

    def test_tied_weights_stay_tied_and_gradients_arrive(self) -> None:
        network = Transformer(TransformerConfig(9, 9, 1, 1, 8, 8, 2))
        names = {name for name, _ in network.named_parameters()}
        first = next(network.parameters())
        network.to("cuda")
        assert next(network.parameters()) is first
        assert {name for name, _ in network.named_parameters()} == names
        ids = torch.full((1, 3), 5, device="cuda")
        network(ids, ids).sum().backward()
        assert {parameter.grad.device for parameter in network.parameters() if parameter.grad is not None} == {
            torch.device("cuda:0")
        }
        assert all(parameter.grad is not None for parameter in network.parameters())

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_autocast_computes_in_16_bits(self, dtype: torch.dtype) -> None:
        x, weight = torch.randn(4, 64), torch.randn(3, 64)
        with torch.autocast("cuda", dtype):
            found = nn.functional.linear(x.to("cuda"), weight.to("cuda"))
        assert found.dtype == dtype
        exact = x.double() @ weight.double().T
        lost = float((found.cpu().double() - exact).abs().max())
        assert torch.finfo(dtype).eps / 8 < lost < 64 * torch.finfo(dtype).eps
        with torch.autocast("cuda", dtype), torch.autocast("cuda", enabled=False):
            assert nn.functional.linear(x.to("cuda"), weight.to("cuda")).dtype == torch.float32
        with torch.autocast("cuda", torch.float16):
            assert nn.functional.linear(1e4 * x.to("cuda"), weight.to("cuda")).isinf().any()

    def test_a_checkpoint_is_read_on_a_cpu_with_map_location_only(self) -> None:
        file, x = io.BytesIO(), there(3)
        torch.save({"x": x, "first": x[:1]}, file)
        assert b"cuda:0" in file.getvalue()
        file.seek(0)
        found = torch.load(file, map_location="cpu", weights_only=True)
        assert found["x"].tolist() == x.tolist()
        assert found["x"].data_ptr() == found["first"].data_ptr()


@pytest.mark.parametrize("rows", [5, _GPU_ROWS + 7])
def test_loss(rows: int) -> None:
    logits, target = torch.randn(rows, 11), torch.randint(0, 11, (rows,))
    made = []
    for device in ("cpu", "cuda"):
        given = logits.to(device, copy=True).requires_grad_()
        smoothed, plain = label_smoothed_loss(given, target.to(device), 0.1)
        (smoothed / rows).backward()
        assert given.grad is not None
        made.append((smoothed.detach() / rows, plain / rows, given.grad))
    for expected, found in zip(*made, strict=True):
        close(found, expected)


def test_dropout() -> None:
    x = torch.ones(200, 500, device="cuda")
    dropped = dropout(x, 0.3, True)
    kept = dropped.ne(0)
    assert float(kept.float().mean()) == pytest.approx(0.7, abs=0.01)
    assert torch.equal(dropped.cpu(), kept.cpu() / 0.7)
    assert dropout(x, 0.3, False) is x


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("columns", [7, 5000])
def test_candidates(count: int, columns: int) -> None:
    # Few different values, so that there are ties.
    scores = torch.randint(
        0, 40 * columns // 100 + 3, (64 * ROWS_AT_ONCE + 3 if columns < 100 else 30, columns)
    ).float()
    found, expected = best(scores.to("cuda"), count), best(scores, count)
    assert all(torch.equal(one.cpu(), other) for one, other in zip(found, expected, strict=True))

    class AsGiven(CoinModel):
        def logits(self, states: Tensor) -> Tensor:
            return states.clone()

    values, pieces = best_next(AsGiven(), scores.to("cuda"), count)
    close(values, best_next(AsGiven(), scores, count)[0])
    assert torch.equal(pieces.cpu(), best_next(AsGiven(), scores, count)[1])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_training(norm: Any) -> None:
    """Attention with its masks, the loss and all gradients."""
    config = TransformerConfig(30, 30, 2, 2, 16, 24, 2, norm=norm, dropout=0.0)
    source, target = torch.randint(4, 30, (5, 7)), torch.randint(4, 30, (5, 9))
    source[1:3, 5:], target[2:, 4:] = 0, 0
    batch = Batch(torch.arange(5), source, target, int(target[:, 1:].ne(0).sum()))
    made = []
    for device in ("cpu", "cuda"):
        network = seeded_transformer(config, 1).to(device).train()
        loss, _, pieces = teacher_forced_losses(network, batch.to(device), 0.1)
        (loss / pieces).backward()
        gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
        assert all(gradient is not None for gradient in gradients.values())
        made.append({"loss": loss.detach() / pieces, **gradients})
    assert made[0].keys() == made[1].keys()
    for name, expected in made[0].items():
        assert expected is not None
        close(made[1][name], expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("beam", [1, 3])
def test_decoding(beam: int) -> None:
    """The whole model and ablated ones translate on the GPU as on the CPU."""
    model, settings = build(), DecodingSettings(beam, 0.6, 3)
    on_gpu = copy.deepcopy(model).to("cuda")
    batches = sources(24, 25, 5).split(10)
    expected = CorpusDecoder(model, batches, settings)
    found = CorpusDecoder(on_gpu, [batch.to("cuda") for batch in batches], settings)
    texts = []
    for components in ([], ["e:ff:2"], ["d:sa:1"], ["d:ea:2"], ["d:ff:1"]):
        with ablated(model, components), ablated(on_gpu, components):
            made, right = found.decode(), expected.decode()
        assert made.ids() == right.ids()
        assert torch.equal(made.non_terminated, right.non_terminated)
        texts.append(made.ids())
    assert all(each != texts[0] for each in texts[1:])


def test_peers_compute_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    engine, asked = pytest.importorskip("ctranslate2"), dict[str, Any]()

    def translator(folder: str, **options: Any) -> None:
        asked.update(options)
        raise RuntimeError("no CUDA in this build")

    monkeypatch.setattr(engine, "Translator", translator)
    model, sources_there = build().to("cuda"), [torch.tensor([[9, 4, 3], [7, 3, 0]], device="cuda")]
    # It would refuse the sources if it were on the CPU.
    assert marian(model, sources_there, [3], 2, 1).seconds is not None
    peer = ctranslate2(model, sources_there, [[5], []], DecodingSettings(beam=2), 1, 1)
    assert (asked["device"], asked["device_index"]) == ("cuda", 0)
    assert peer.seconds is None
    assert "does not run on this GPU: no CUDA in this build" in peer.note
