"""One decoding of a set of sentences, with what the model computed on the way, as the draft for its variants."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.encoder_states import EncoderStates
from lit_transformer.decoding.plain import Decoded
from lit_transformer.decoding.prefix_store import KeysValues


@dataclass
class Reference:
    """See `VerifiedDecoder.reference`.

    Args:
        decoded: The hypotheses.
        pieces: Their pieces, ``(sentences, longest)``, on the device.
        draft: The prefixes that the search scored.
        encoder: The encoder's states.
        entering: Per place of the decoder's order, what entered it at each node, ``(nodes, d_model)``; only places for
            which there was memory.
        own: Per decoder layer, its own keys and values at each node, each ``(nodes, heads, head_size)``; there if
            ``entering`` holds anything.
        source: Per decoder layer, keys and values of the encoder's states, each
            ``(heads, source_positions + 1, head_size)``; there if ``entering`` holds anything.
    """

    decoded: Decoded
    pieces: Tensor
    draft: Draft
    encoder: EncoderStates
    entering: dict[int, Tensor] = field(default_factory=dict)
    own: dict[int, KeysValues] = field(default_factory=dict)
    source: dict[int, KeysValues] = field(default_factory=dict)

    def source_of(self, layer: int, rows: Tensor) -> KeysValues:
        """Return a layer's keys and values at rows of the encoder's states ``(sentences, source_length)``.

        Each is ``(sentences, heads, source_length, head_size)``.
        """
        heads, positions, size = self.source[layer][0].shape
        # By rows of one head each, so that nothing has to be brought into another order afterwards.
        chosen = torch.arange(heads, device=rows.device)[None, :, None] * positions + rows.unsqueeze(1)
        keys, values = (
            tensor.view(-1, size).index_select(0, chosen.flatten()).view(*chosen.shape, size)
            for tensor in self.source[layer]
        )
        return keys, values
