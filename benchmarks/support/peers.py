"""What a user could have decoded with instead: transformers' MarianMT and CTranslate2, in models of the same size."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.support.clock import median_seconds
from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.decoding import DecodingSettings
from lit_transformer.model import DotProductAttention, Transformer
from lit_transformer.model.embedding import sinusoidal_positions

POSITIONS = 512
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")


@dataclass(frozen=True)
class Peer:
    """How long a peer takes for the scoring set once.

    Args:
        name: The peer, with its version.
        seconds: One decoding of all sentences, the median of several; None where the peer does not run.
        note: What was decoded.
    """

    name: str
    seconds: float | None
    note: str


def marian(model: Transformer, sources: Sequence[Tensor], lengths: Sequence[int], beam: int, runs: int) -> Peer:
    """Time ``generate`` of a MarianMTModel with random weights, forced to a number of pieces.

    Args:
        model: Its structure is taken, and its device.
        sources: Ids in batches on that device, each ``(batch, source_length)``.
        lengths: How many pieces to generate in each batch, end of sentence included.
        beam: Width of the beam; 1 is greedy search.
        runs: How often.
    """
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError:
        return Peer("transformers MarianMT", None, "not installed: pip install --editable '.[bench]'")
    config = model.config
    transformers.logging.set_verbosity_error()
    made = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=config.target_vocab_size,
            max_position_embeddings=POSITIONS,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_ffn_dim=config.feed_forward,
            decoder_ffn_dim=config.feed_forward,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            d_model=config.d_model,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=SPECIAL_IDS.pad,
            eos_token_id=SPECIAL_IDS.eos,
            forced_eos_token_id=SPECIAL_IDS.eos,
            decoder_start_token_id=SPECIAL_IDS.bos,
        )
    )
    made.eval().to(_device(model))

    def once() -> None:
        for source, length in zip(sources, lengths, strict=True):
            options = {"num_beams": beam, "min_new_tokens": length, "max_new_tokens": length, "do_sample": False}
            made.generate(input_ids=source, attention_mask=source.ne(SPECIAL_IDS.pad).long(), **options)

    with torch.no_grad():
        spent = median_seconds(once, runs)
    note = "random weights; each batch runs for the mean length of its hypotheses"
    return Peer(f"transformers {transformers.__version__}, MarianMT `generate`", spent, note)


def ctranslate2(
    model: Transformer,
    sources: Sequence[Tensor],
    hypotheses: Sequence[Sequence[int]],
    settings: DecodingSettings,
    threads: int,
    runs: int,
) -> Peer:
    """Time CTranslate2 with the weights of a model, in float32.

    Args:
        model: The model, on the device that CTranslate2 is to use.
        sources: Ids in batches, each ``(batch, source_length)``.
        hypotheses: What the model's own decoding gives, to be compared with.
        settings: Beam, length penalty and limit.
        threads: Threads of one translation.
        runs: How often.
    """
    try:
        engine: Any = importlib.import_module("ctranslate2")
    except ImportError:
        return Peer("CTranslate2", None, "not installed: pip install --editable '.[bench]'")
    with TemporaryDirectory() as folder:
        converted(model).save(folder)
        try:
            found, spent = _translated(engine, folder, _device(model), sources, settings, threads, runs)
        except RuntimeError as error:
            # It is built for a CPU alone, or finds none of the libraries of CUDA that it was built for.
            if _device(model).type == "cpu":
                raise
            return Peer(f"CTranslate2 {engine.__version__}", None, f"does not run on this GPU: {error}")
    same = sum(
        each.hypotheses[0] == [_token(piece) for piece in ids] for each, ids in zip(found, hypotheses, strict=True)
    )
    note = f"the same weights; {same / max(len(found), 1):.1%} of the hypotheses are ours"
    return Peer(f"CTranslate2 {engine.__version__}, float32", spent, note)


def _translated(
    engine: Any,
    folder: str,
    device: torch.device,
    sources: Sequence[Tensor],
    settings: DecodingSettings,
    threads: int,
    runs: int,
) -> tuple[list[Any], float]:
    """Return what a converted model translates, and the median time in seconds."""
    options = {"compute_type": "float32", "intra_threads": threads}
    translator = engine.Translator(folder, device=device.type, device_index=device.index or 0, **options)
    batches = [
        [[_token(piece) for piece in row.tolist() if piece != SPECIAL_IDS.pad] for row in source] for source in sources
    ]
    found: list[Any] = []

    def once() -> None:
        found.clear()
        for batch in batches:
            limit = max(map(len, batch)) - 1 + settings.max_extra_pieces
            options = {"beam_size": settings.beam, "length_penalty": settings.length_penalty}
            found.extend(translator.translate_batch(batch, max_decoding_length=limit, **options))

    spent = median_seconds(once, runs)
    return found, spent


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device


def converted(model: Transformer) -> Any:
    """Return a model as CTranslate2's specification of a Transformer."""
    specs, config = importlib.import_module("ctranslate2.specs"), model.config
    layers = (config.encoder_layers, config.decoder_layers)
    spec: Any = specs.TransformerSpec.from_config(layers, config.heads, pre_norm=config.norm == "pre")
    positions = sinusoidal_positions(0, POSITIONS, config.d_model, torch.device("cpu"), torch.float32).numpy()
    sides: tuple[tuple[Any, Any, Any, Any], ...] = (
        (spec.encoder, model.encoder, model.source_embedding, spec.encoder.embeddings[0]),
        (spec.decoder, model.decoder, model.target_embedding, spec.decoder.embeddings),
    )
    for side, stack, embedding, table in sides:
        side.position_encodings.encodings = positions
        table.weight = _values(embedding.pieces.weight)
        if config.norm == "pre":
            _set_norm(side.layer_norm, stack.norm)
        for target, layer in zip(side.layer, stack.layers, strict=True):
            _set_attention(target.self_attention, layer.sa, own=True)
            if hasattr(target, "attention"):
                _set_attention(target.attention, layer.ea, own=False)
            _set_norm(target.ffn.layer_norm, layer.ff.norm)
            _set_linear(target.ffn.linear_0, layer.ff.function.inner.weight, layer.ff.function.inner.bias)
            _set_linear(target.ffn.linear_1, layer.ff.function.outer.weight, layer.ff.function.outer.bias)
    spec.decoder.projection.weight = _values(model.output.weight)
    spec.register_source_vocabulary([_token(piece) for piece in range(config.source_vocab_size)])
    spec.register_target_vocabulary([_token(piece) for piece in range(config.target_vocab_size)])
    spec.validate()
    spec.optimize(quantization="float32")
    return spec


def _set_attention(target: Any, sublayer: Any, own: bool) -> None:
    function: DotProductAttention = sublayer.function
    weight, bias = function.in_projection.weight, function.in_projection.bias
    d_model = weight.size(1)
    _set_norm(target.layer_norm, sublayer.norm)
    if own:
        _set_linear(target.linear[0], weight, bias)
    else:
        _set_linear(target.linear[0], weight[:d_model], bias[:d_model])
        _set_linear(target.linear[1], weight[d_model:], bias[d_model:])
    _set_linear(target.linear[-1], function.out_projection.weight, function.out_projection.bias)


def _set_norm(target: Any, norm: Any) -> None:
    target.gamma, target.beta = _values(norm.weight), _values(norm.bias)


def _set_linear(target: Any, weight: Tensor, bias: Tensor) -> None:
    target.weight, target.bias = _values(weight), _values(bias)


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().float().cpu().contiguous().numpy().copy()


def _token(piece: int) -> str:
    return SPECIAL[piece] if piece < len(SPECIAL) else str(piece)
