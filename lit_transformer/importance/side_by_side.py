"""Variants of a model that are decoded in one batch, where a step of many rows takes hardly longer than of few."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lit_transformer.components import ENCODER_KINDS, kind_of
from lit_transformer.decoding.decode import for_decoding
from lit_transformer.importance.variant import Variant
from lit_transformer.model import Attention, DecoderCache, EncoderState, SubLayer, Transformer
from lit_transformer.model.surgery import interrupts_held

Applied = Callable[[Variant], AbstractContextManager[None]]


class SideBySide:
    """Variants of a model, each of which decodes a part of the batch: a `lit_transformer.decoding.protocol.Decodable`.

    A batch holds the same sentences once for each variant, all of the first variant, then all of the second one, and
    so on. What a variant leaves as it is is computed for all rows at once; where weights differ, its rows are computed
    again with its own. A component that some variants are without is computed for all, and left out of their rows.

    Use it within `installed`, while the model is as it was.

    Args:
        model: The trained model.
        variants: What differs for each part; all of them put the same in the place of what they ablate.
        applied: Changes the model to a variant while a context lasts.
    """

    def __init__(self, model: Transformer, variants: Sequence[Variant], applied: Applied) -> None:
        self._model, self._applied = model, applied
        self._variants = list(variants)
        self._place = _Place()
        sublayers = {name: sublayer for name, sublayer in model.components().items() if not _in_encoder(name)}
        self._without = {
            sublayers[name]: torch.tensor([name not in variant.ablated for variant in variants])
            for name in sorted({name for variant in variants for name in variant.ablated} & sublayers.keys())
        }
        self._instead: dict[tuple[SubLayer, str], Any] = {}
        self._leave_out(sublayers)
        for name, sublayer in sublayers.items():
            altered = [n for n, variant in enumerate(variants) if variant.interpolated == name]
            if altered:
                self._replace(sublayer, altered)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Put what computes rows in different ways into the model while the context lasts."""
        before = {(sublayer, name): getattr(sublayer, name) for sublayer, name in self._instead}
        # What is put in hides modules of the model, which would not hear any more that they are to decode.
        with for_decoding(self._model, next(self._model.parameters()).device):
            try:
                for (sublayer, name), changed in self._instead.items():
                    setattr(sublayer, name, changed)
                yield
            finally:
                with interrupts_held():
                    for sublayer in self._without:
                        sublayer.kept_rows = None
                    for (sublayer, name), was in before.items():
                        setattr(sublayer, name, was)

    def encode(self, source: Tensor) -> EncoderState:
        """Encode the sentences of all parts, each with its variant; those with the same encoder once.

        Args:
            source: Ids, ``(parts * sentences, source_length)``, in which every part is the same.
        """
        sentences = source[: source.size(0) // len(self._variants)]
        encoded: dict[Variant, EncoderState] = {}
        for variant in self._variants:
            within = _of_encoder(variant)
            if within not in encoded:
                with self._applied(within):
                    encoded[within] = self._model.encode(sentences)
        parts = [encoded[_of_encoder(variant)] for variant in self._variants]
        return EncoderState(torch.cat([part.states for part in parts]), torch.cat([part.padding for part in parts]))

    def start(self, encoded: EncoderState) -> PartsCache:
        """Project the encoder's states for every source-target attention, and start an empty prefix."""
        count = encoded.padding.size(0) // len(self._variants)
        parts = torch.arange(len(self._variants), device=encoded.padding.device).repeat_interleave(count)
        self._place.set([count] * len(self._variants))
        sources = [self._model.source_keys_values(encoded.states, n) for n in range(len(self._model.decoder.layers))]
        kept = [kept.to(parts.device) for kept in self._without.values()]
        return PartsCache(sources, encoded.padding, parts, torch.stack(kept) if kept else None, len(self._variants))

    def step(self, ids: Tensor, cache: PartsCache) -> Tensor:
        """Read the pieces that follow those in the cache; see `Transformer.step`."""
        self._place.set(cache.sentences)
        for sublayer, kept in zip(self._without, cache.kept_rows(ids.size(0)), strict=True):
            sublayer.kept_rows = kept
        return self._model.step(ids, cache)

    def logits(self, states: Tensor) -> Tensor:
        """Score every piece as the next one; see `Transformer.logits`."""
        return self._model.logits(states)

    def modules(self) -> Iterator[nn.Module]:
        """Return the model's modules."""
        return self._model.modules()

    def eval(self) -> Any:
        """Switch the model to evaluation mode."""
        return self._model.eval()

    def _leave_out(self, sublayers: dict[str, SubLayer]) -> None:
        """Prepare what takes the place of ablated components; one that no variant has is not computed at all."""
        for variant in self._variants:
            with self._applied(replace(variant, interpolated=None, alpha=1.0, draw=None)):
                for sublayer in (sublayers[name] for name in variant.ablated if name in sublayers):
                    self._instead[sublayer, "constant"] = sublayer.constant
        for sublayer in [sublayer for sublayer, kept in self._without.items() if not kept.any()]:
            self._instead[sublayer, "ablated"] = True
            del self._without[sublayer]

    def _replace(self, sublayer: SubLayer, altered: Sequence[int]) -> None:
        """Prepare the modules that compute the rows of some variants with weights of their own."""
        own: dict[int, tuple[nn.Module, nn.Module]] = {}
        for number in altered:
            with self._applied(replace(self._variants[number], ablated=())):
                # In evaluation mode, since they do not hear what the model is told.
                own[number] = copy.deepcopy(sublayer.function).eval(), copy.deepcopy(sublayer.norm).eval()
        functions = {number: function for number, (function, _) in own.items()}
        if isinstance(sublayer.function, Attention):
            self._instead[sublayer, "function"] = _AttentionOfParts(sublayer.function, functions, self._place)
        else:
            self._instead[sublayer, "function"] = _OfParts(sublayer.function, functions, self._place)
        if any(self._variants[number].include_norm for number in altered):
            norms = {number: norm for number, (_, norm) in own.items()}
            self._instead[sublayer, "norm"] = _OfParts(sublayer.norm, norms, self._place)


class PartsCache(DecoderCache):
    """What the decoder keeps of the sentences of all parts.

    Args:
        source: See `DecoderCache`.
        padding: See `DecoderCache`.
        parts: Each sentence's part, ``(batch,)``.
        kept: Whether a component is kept in a part, ``(components, parts)``; None where all are in all.
        count: Number of parts.
    """

    def __init__(self, source: list[Any], padding: Tensor, parts: Tensor, kept: Tensor | None, count: int) -> None:
        super().__init__(source, padding)
        self._parts, self._kept, self._count = parts, kept, count
        self._rows: tuple[Tensor, ...] = ()
        self.sentences = torch.bincount(parts, minlength=count).tolist()
        """The number of sentences that each part still has."""

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences of the source, in their order, ``(new_batch,)``."""
        super().select_sentences(sentences)
        self._parts, self._rows = self._parts[sentences], ()
        self.sentences = torch.bincount(self._parts, minlength=self._count).tolist()

    def kept_rows(self, rows: int) -> tuple[Tensor, ...]:
        """Return per component whether each row keeps it, each ``(rows, 1, 1)``, with so many rows in all."""
        if self._kept is None:
            return ()
        if not self._rows or self._rows[0].size(0) != rows:
            kept = self._kept[:, self._parts].repeat_interleave(rows // self._parts.numel(), dim=1)
            self._rows = kept[:, :, None, None].unbind()
        return self._rows


class _Place:
    """Tells where the rows of each part lie in the batch of the moment."""

    def set(self, sentences: Sequence[int]) -> None:
        ends = torch.tensor([0, *sentences]).cumsum(0).tolist()
        self._bounds, self._all = list(itertools.pairwise(ends)), ends[-1]

    def rows(self, part: int, rows: int) -> slice:
        """Return the rows of a part, of so many in all: as many for each sentence."""
        each = rows // self._all
        first, last = self._bounds[part]
        return slice(first * each, last * each)


class _OfParts(nn.Module):
    """A module that maps rows to rows, of which those of some parts are mapped by others."""

    _module: nn.Module
    _others: dict[int, nn.Module]

    def __init__(self, module: nn.Module, others: dict[int, nn.Module], place: _Place) -> None:
        super().__init__()
        # Past torch's registration: these are no modules of the model.
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_others", others)
        self._place = place

    def forward(self, x: Tensor) -> Tensor:
        return self.mapped(x, lambda module, rows: module(rows))

    def mapped(self, x: Tensor, mapping: Callable[[Any, Tensor], Tensor]) -> Tensor:
        result = mapping(self._module, x)
        for part, other in self._others.items():
            rows = self._place.rows(part, x.size(0))
            if rows.start < rows.stop:
                result[rows] = mapping(other, x[rows])
        return result


class _AttentionOfParts(Attention):
    """Attention in which the rows of some parts are projected by others."""

    def __init__(self, attention: Attention, others: dict[int, nn.Module], place: _Place) -> None:
        nn.Module.__init__(self)
        self.heads, self.dropout = attention.heads, attention.dropout
        for name in ("in_projection", "out_projection"):
            own = {part: getattr(other, name) for part, other in others.items()}
            setattr(self, name, _OfParts(getattr(attention, name), own, place))

    def projected(self, x: Tensor, columns: slice) -> Tensor:
        def projected(linear: nn.Linear, rows: Tensor) -> Tensor:
            return F.linear(rows, linear.weight[columns], linear.bias[columns])

        return self.in_projection.mapped(x, projected)  # type: ignore[operator]


def _in_encoder(component: str) -> bool:
    return kind_of(component) in ENCODER_KINDS


def _of_encoder(variant: Variant) -> Variant:
    """Return what a variant changes in the encoder."""
    ablated = tuple(name for name in variant.ablated if _in_encoder(name))
    if variant.interpolated is not None and _in_encoder(variant.interpolated):
        return replace(variant, ablated=ablated)
    return Variant(ablated=ablated, value=variant.value if ablated else "zero")
