"""Draft-verified decoding in two parts: the drafts of all sentences at once, and the rest of those that are wanted."""

from __future__ import annotations

import torch
from torch import Tensor

from lit_transformer.decoding.continuation import search_on
from lit_transformer.decoding.decode import for_decoding
from lit_transformer.decoding.plain import Decoded, collected
from lit_transformer.decoding.protocol import Verifiable
from lit_transformer.decoding.reference import Reference
from lit_transformer.decoding.search import Finished
from lit_transformer.decoding.verification import Astray, Verification


class StartedDecoding:
    """A decoding whose drafts are verified; `VerifiedDecoder.start` makes it.

    Args:
        model: The variant.
        reference: What it is a variant of.
        verification: The search along the drafts; None if nothing differs.
        left: The sentences that left theirs.


    Attributes:
        held: True where the draft holds to its end, bool ``(sentences,)`` on the CPU.
    """

    def __init__(
        self, model: Verifiable, reference: Reference, verification: Verification | None, left: list[Astray]
    ) -> None:
        self._model, self._reference, self._verification, self._left = model, reference, verification, left
        self.held = self._decoded(None).held

    def finish(self, sentences: Tensor) -> Decoded:
        """Search on for some sentences that left their drafts, with the model as it was at the start.

        Args:
            sentences: Numbers of the sentences wanted, each once, ``(wanted,)``.

        Raises:
            UserError: The model gives NaN.
        """
        if self._verification is not None and self._left:
            device = self._left[0].nodes.device
            wanted = torch.zeros(len(self._reference.decoded), dtype=torch.bool, device=device)
            wanted[sentences.to(device)] = True
            pool, left = list[Astray](), list[Astray]()
            for part in self._left:
                chosen = wanted[part.search.sentences]
                for parts, rows in ((pool, chosen), (left, ~chosen)):
                    if bool(rows.any()):
                        parts.append(part.select(rows.nonzero().squeeze(1)))
            self._left = left
            if pool:
                with for_decoding(self._model, device):
                    search_on(self._verification, pool, 0)
        return self._decoded(sentences)

    def _decoded(self, sentences: Tensor | None) -> Decoded:
        if self._verification is None:
            return unchanged(self._reference.decoded, sentences)
        return outcome(self._verification, self._reference, sentences)


def outcome(verification: Verification, reference: Reference, sentences: Tensor | None) -> Decoded:
    """Return the hypotheses that a search has found, of these sentences; all by default."""
    finished, count = verification.finished, len(reference.decoded)
    # A blank sentence is done from the start.
    held = (verification.held & _same(finished, reference)) | (verification.limits == 0)
    return collected([finished.hypotheses()], [torch.arange(count)], count, sentences, held)


def _same(finished: Finished, reference: Reference) -> Tensor:
    """Return where hypotheses are those of the reference, ``(sentences,)``."""
    device, decoded = finished.lengths.device, reference.decoded
    beyond = torch.arange(finished.pieces.size(1), device=device) >= finished.lengths.unsqueeze(1)
    same = ((finished.pieces == reference.pieces) | beyond).all(dim=1)
    same &= finished.lengths == decoded.lengths.to(device)
    return same & (finished.terminated != decoded.non_terminated.to(device))


def unchanged(decoded: Decoded, sentences: Tensor | None) -> Decoded:
    """Return the hypotheses of these sentences, all by default, as those of drafts that held."""
    found = decoded if sentences is None else decoded.select(sentences.cpu())
    return Decoded(found.pieces, found.lengths, found.non_terminated, torch.ones(len(found), dtype=torch.bool))
