"""Decode several variants of a model in one batch, where a step of many rows takes hardly longer than one of few."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from lit_transformer.components import ENCODER_KINDS, kind_of
from lit_transformer.data.special_ids import SpecialIds
from lit_transformer.decoding.decode import for_decoding
from lit_transformer.importance.variant import Variant
from lit_transformer.model import AnalysableModel, Component, EncoderState, PrefixCache
from lit_transformer.model.parts import ModuleOfParts, PartRows
from lit_transformer.model.surgery import interrupts_held

Applied = Callable[[Variant], AbstractContextManager[None]]


class SideBySide:
    """Variants of a model, each of which decodes a part of the batch: a `lit_transformer.model.protocol.Decodable`.

    A batch holds the same sentences once for each variant, all of the first variant, then all of the second one, and
    so on. What a variant leaves as it is is computed for all rows at once; where weights differ, its rows are computed
    again with its own. A component that some variants are without is computed for all, and left out of their rows.

    Use it within `installed`, while the model is as it was.

    Args:
        model: The trained model.
        variants: What differs for each part; all of them put the same in the place of what they ablate.
        applied: Changes the model to a variant while a context lasts.
    """

    def __init__(self, model: AnalysableModel, variants: Sequence[Variant], applied: Applied) -> None:
        self._model, self._applied = model, applied
        self._variants = list(variants)
        self._rows = PartRows()
        sublayers = {name: sublayer for name, sublayer in model.components().items() if not _in_encoder(name)}
        self._without = {
            sublayers[name]: torch.tensor([name not in variant.ablated for variant in variants])
            for name in sorted({name for variant in variants for name in variant.ablated} & sublayers.keys())
        }
        self._instead: dict[tuple[Component, str], Any] = {}
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

    @property
    def special_ids(self) -> SpecialIds:
        """The special tokens of the model's vocabularies."""
        return self._model.special_ids

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
        return EncoderState.join([encoded[_of_encoder(variant)] for variant in self._variants])

    def start(self, encoded: EncoderState) -> PartsCache:
        """Return a cache with one empty prefix for each sentence of each part."""
        count = encoded.padding.size(0) // len(self._variants)
        parts = torch.arange(len(self._variants), device=encoded.padding.device).repeat_interleave(count)
        self._rows.set([count] * len(self._variants))
        kept = [kept.to(parts.device) for kept in self._without.values()]
        return PartsCache(
            self._model.start(encoded), parts, torch.stack(kept) if kept else None, count=len(self._variants)
        )

    def step(self, ids: Tensor, cache: PartsCache) -> Tensor:
        """Read further target tokens; see `lit_transformer.model.protocol.Decodable.step`."""
        self._rows.set(cache.sentences)
        for sublayer, kept in zip(self._without, cache.kept_rows(ids.size(0)), strict=True):
            sublayer.kept_rows = kept
        return self._model.step(ids, cache.inner)

    def logits(self, states: Tensor) -> Tensor:
        """Score every token as the next one."""
        return self._model.logits(states)

    def modules(self) -> Iterator[nn.Module]:
        """Return the model's modules."""
        return self._model.modules()

    def eval(self) -> Any:
        """Switch the model to evaluation mode."""
        return self._model.eval()

    def _leave_out(self, sublayers: dict[str, Component]) -> None:
        """Prepare what takes the place of ablated components; one that no variant has is not computed at all."""
        for variant in self._variants:
            with self._applied(replace(variant, interpolated=None, alpha=1.0, draw=None)):
                for sublayer in (sublayers[name] for name in variant.ablated if name in sublayers):
                    self._instead[sublayer, "constant"] = sublayer.constant
        for sublayer in [sublayer for sublayer, kept in self._without.items() if not kept.any()]:
            self._instead[sublayer, "ablated"] = True
            del self._without[sublayer]

    def _replace(self, sublayer: Component, altered: Sequence[int]) -> None:
        """Prepare the modules that compute the rows of some variants with weights of their own."""
        functions, norms = {}, {}
        for number in altered:
            with self._applied(replace(self._variants[number], ablated=())):
                # In evaluation mode, since they do not hear what the model is told.
                functions[number] = copy.deepcopy(sublayer.function).eval()
                norms[number] = copy.deepcopy(sublayer.norm).eval()
        self._instead[sublayer, "function"] = sublayer.function.of_parts(functions, self._rows)
        if any(self._variants[number].include_norm for number in altered):
            self._instead[sublayer, "norm"] = ModuleOfParts(sublayer.norm, norms, self._rows)


class PartsCache:
    """The model's cache for the sentences of all parts.

    Args:
        inner: The model's own cache.
        parts: Each sentence's part, ``(batch,)``.
        kept: Whether a component is kept in a part, ``(components, parts)``; None where all are in all.
        count: Number of parts.
    """

    def __init__(self, inner: PrefixCache, parts: Tensor, kept: Tensor | None, count: int) -> None:
        self.inner = inner
        self._parts, self._kept, self._count = parts, kept, count
        self._rows: tuple[Tensor, ...] = ()
        self.sentences = torch.bincount(parts, minlength=count).tolist()
        """The number of sentences that each part still has."""

    def select_prefixes(self, rows: Tensor) -> None:
        """Keep these prefixes, ``(new_rows,)``, in this order."""
        self.inner.select_prefixes(rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences of the source, in their order, ``(new_batch,)``."""
        self.inner.select_sentences(sentences)
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


def _in_encoder(component: str) -> bool:
    return kind_of(component) in ENCODER_KINDS


def _of_encoder(variant: Variant) -> Variant:
    """Return what a variant changes in the encoder."""
    ablated = tuple(name for name in variant.ablated if _in_encoder(name))
    if variant.interpolated is not None and _in_encoder(variant.interpolated):
        return replace(variant, ablated=ablated)
    return Variant(ablated=ablated, value=variant.value if ablated else "zero")
