"""The encoder-decoder Transformer of Vaswani et al. 2017, every sub-layer of which is a component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from lit_transformer.components import canonical_key, select
from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.model.attention import Attention, PastCache, SourceCache, attention_class
from lit_transformer.model.decoder_cache import DecoderCache
from lit_transformer.model.embedding import Embedding
from lit_transformer.model.feed_forward import FeedForward
from lit_transformer.model.function import ComponentFunction
from lit_transformer.model.protocol import EncoderState
from lit_transformer.model.sublayer import SubLayer
from lit_transformer.structure import TransformerConfig


class EncoderLayer(nn.Module):
    """Self-attention (``sa``) and feed-forward network (``ff``)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.sa = _attention(config, "e:sa")
        self.ff = _feed_forward(config, "e:ff")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map ``(batch, source_length, d_model)`` to the same shape; the mask is True where there is padding."""
        return self.ff(self.sa(x, mask))


class DecoderLayer(nn.Module):
    """Self-attention (``sa``), source-target attention (``ea``) and feed-forward network (``ff``)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.sa = _attention(config, "d:sa")
        self.ea = _attention(config, "d:ea")
        self.ff = _feed_forward(config, "d:ff")

    def new_past(self) -> PastCache | None:
        """Return the empty cache of the self-attention; None where nothing is computed."""
        function = self.sa.current
        return function.new_past() if isinstance(function, Attention) else None

    def source_cache(self, states: Tensor) -> SourceCache | None:
        """Prepare the encoder's states ``(batch, source_length, d_model)``, unless nothing will look at them."""
        function = self.ea.current
        return function.source_cache(states) if isinstance(function, Attention) else None

    def forward(
        self,
        x: Tensor,
        causal: Tensor | None,
        past: PastCache | None,
        source: SourceCache | None,
        source_mask: Tensor,
    ) -> Tensor:
        """Map ``(rows, new, d_model)`` to the same shape; see `Decoder.forward`."""
        return self.ff(self.ea.attend_to(self.sa(x, causal, past), source, source_mask))


class Encoder(nn.Module):
    """A stack of encoder layers, with a final norm in pre-norm models."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        """Encode embedded sources.

        Args:
            x: ``(batch, source_length, d_model)``.
            padding: True at padding, ``(batch, source_length)``.

        Returns:
            ``(batch, source_length, d_model)``.
        """
        mask = padding[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers, with a final norm in pre-norm models."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, cache: DecoderCache) -> Tensor:
        """Decode embedded target pieces that follow those in the cache, and add them to it.

        Args:
            x: ``(rows, new, d_model)``.
            cache: What `Transformer.start` gave, and later steps filled.

        Returns:
            ``(rows, new, d_model)``.
        """
        past, new = cache.length, x.size(1)
        causal = None
        if new > 1:
            causal = torch.ones(new, past + new, dtype=torch.bool, device=x.device).triu(past + 1)
        source_mask = cache.source_mask
        for layer, past_of_layer, source in zip(self.layers, cache.past, cache.source, strict=True):
            x = layer(x, causal, past_of_layer, source, source_mask)
        cache.length += new
        return self.norm(x)


class Transformer(nn.Module):
    """Encoder, decoder, embeddings and output projection.

    Args:
        config: The structure.
    """

    special_ids = SPECIAL_IDS

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        target = _pieces(config.target_vocab_size, config.d_model)
        source = target if config.tie_embeddings == "all" else _pieces(config.source_vocab_size, config.d_model)
        self.source_embedding = Embedding(source, config.dropout)
        self.target_embedding = Embedding(target, config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        if config.tie_embeddings == "none":
            nn.init.xavier_uniform_(self.output.weight)
        else:
            self.output.weight = target.weight
        # After all weights are drawn, so that a seed gives what is left of the whole model's.
        for component, size in config.feed_forward_sizes.items():
            function = FeedForward(config.d_model, size, config.activation_dropout)
            self._sublayers()[component].function = function
        self._prune(config.pruned)

    def prune(self, components: Iterable[str]) -> None:
        """Remove components for good; the others keep their ids.

        Args:
            components: Ids or selectors.

        Raises:
            UserError: One of them matches nothing, or no source-target attention would be left.
        """
        chosen = select(components, list(self.components()))
        self.config = replace(self.config, pruned=(*self.config.pruned, *chosen))
        self._prune(chosen)

    def narrow(self, component: str, function: FeedForward) -> None:
        """Put another feed-forward network in the place of a component's.

        Args:
            component: Id of a feed-forward component.
            function: What takes its place.
        """
        self.components()[component].function = function
        sizes = {**self.config.feed_forward_sizes, component: function.inner.out_features}
        self.config = replace(self.config, feed_forward_sizes=sizes)

    def _prune(self, components: Iterable[str]) -> None:
        sublayers = self._sublayers()
        for component in components:
            sublayers[component].prune()

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return self.config.d_model

    @property
    def decoder_layers(self) -> int:
        """Layers of the decoder."""
        return self.config.decoder_layers

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens, special ones included."""
        return self.config.target_vocab_size

    def components(self) -> dict[str, SubLayer]:
        """Return the components that the model has, by id, in canonical order."""
        return {component: sublayer for component, sublayer in self._sublayers().items() if not sublayer.pruned}

    def sublayer(self, component: str) -> SubLayer:
        """Return the place of a component, which may be pruned."""
        return self._sublayers()[component]

    def _sublayers(self) -> dict[str, SubLayer]:
        found = {
            f"{side}:{name}:{number}": sublayer
            for side, stack in (("e", self.encoder), ("d", self.decoder))
            for number, layer in enumerate(stack.layers, start=1)
            for name, sublayer in layer.named_children()
            if isinstance(sublayer, SubLayer)
        }
        return {component: found[component] for component in sorted(found, key=canonical_key)}

    def encode(self, source: Tensor) -> EncoderState:
        """Encode source sentences.

        Args:
            source: Ids, ``(batch, source_length)``, each row ending in the end-of-sentence piece, then padding.

        Returns:
            The states the decoder looks at, and where there is padding.
        """
        padding = source.eq(self.special_ids.pad)
        return EncoderState(self.encoder(self.source_embedding(source), padding), padding)

    def start(self, encoded: EncoderState) -> DecoderCache:
        """Prepare the encoder's states for every source-target attention that is in use, and start an empty prefix."""
        layers = self.decoder.layers
        sources = [layer.source_cache(encoded.states) for layer in layers]  # type: ignore[operator]
        return DecoderCache([layer.new_past() for layer in layers], sources, encoded.padding)  # type: ignore[operator]

    def step(self, ids: Tensor, cache: DecoderCache) -> Tensor:
        """Read the pieces that follow those in the cache.

        Args:
            ids: ``(rows, new)``; rows are the cache's, those of one sentence's beam side by side.
            cache: Filled by the steps before; these pieces are added to it.

        Returns:
            The decoder's states at these pieces, ``(rows, new, d_model)``; see `logits`.
        """
        return self.decoder(self.target_embedding(ids, cache.length), cache)

    def logits(self, states: Tensor) -> Tensor:
        """Score every piece as the next one: ``(..., d_model)`` to ``(..., target_vocab_size)``."""
        return self.output(states)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Score target sentences, teacher-forced.

        Args:
            source: ``(batch, source_length)``.
            target: ``(batch, target_length)``, each row starting with the begin-of-sentence piece.

        Returns:
            Logits of the next piece at each position, ``(batch, target_length, target_vocab_size)``.
        """
        return self.logits(self.step(target, self.start(self.encode(source))))


def _attention(config: TransformerConfig, kind: str) -> SubLayer:
    return _sublayer(attention_class(config, kind).of(config, kind), config, kind)


def _feed_forward(config: TransformerConfig, kind: str) -> SubLayer:
    return _sublayer(FeedForward(config.d_model, config.feed_forward, config.activation_dropout), config, kind)


def _sublayer(function: ComponentFunction, config: TransformerConfig, kind: str) -> SubLayer:
    return SubLayer(function, config.d_model, config.dropout, config.norm == "pre", config.layer_drop.get(kind, 0.0))


def _pieces(size: int, d_model: int) -> nn.Embedding:
    embedding = nn.Embedding(size, d_model, padding_idx=SPECIAL_IDS.pad)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    with torch.no_grad():
        embedding.weight[SPECIAL_IDS.pad].zero_()
    return embedding
