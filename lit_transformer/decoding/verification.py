"""The search of a variant of a model along the draft, as far as the draft has all that is alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.greedy import LIVE_SHARE
from lit_transformer.decoding.prefix_store import PrefixStore, Rows
from lit_transformer.decoding.scorer import Scorer
from lit_transformer.decoding.search import Finished, Search
from lit_transformer.decoding.trace import Trace

# Most sentences leave the draft of a beam search after a few steps.
_DEPTHS_AHEAD = 6


@dataclass
class Astray:
    """Sentences of a chunk with a live prefix that the draft does not have.

    Args:
        search: The search, after the step that made these prefixes.
        store: Keys and values of the prefixes that these continue, and of nodes that are scored already.
        stored: The place of each sentence in the store, ``(sentences,)``.
        used: Number of columns of the store that matter; at first a node's column is its slot.
        nodes: Number of each sentence's first node, ``(sentences,)``.
        slots: Slot of each live prefix that is a node of the draft, ``(sentences, beam)``.
        known: Whether it is one, ``(sentences, beam)``.
        attended: True at the columns of what each live prefix continues, ``(sentences, beam, used)``.
        scored: Number of depths whose nodes are scored, ``(sentences,)``.
        depths: Number of depths of the draft, ``(sentences,)``.
    """

    search: Search
    store: PrefixStore
    stored: Tensor
    used: int
    nodes: Tensor
    slots: Tensor
    known: Tensor
    attended: Tensor
    scored: Tensor
    depths: Tensor

    def select(self, kept: Tensor) -> Astray:
        """Return these sentences, ``(kept,)``, with the same store."""
        names = ("stored", "nodes", "slots", "known", "attended", "scored", "depths")
        parts = {name: getattr(self, name)[kept] for name in names}
        return Astray(search=self.search.select(kept), store=self.store, used=self.used, **parts)


class Verification:
    """One search along a draft.

    Args:
        scorer: Scores with the variant.
        finished: Where hypotheses go.
        limits: The most pieces of each hypothesis, of all sentences, ``(sentences,)``.
        beam: Number of live prefixes.
        length_penalty: Exponent of the length normalisation.
        window: Of how many depths nodes are scored at once, as long as a sentence's draft holds.
        trace: Takes down the live prefixes of every step, of a search with a beam.

    Attributes:
        values: Log-probabilities of the best pieces after each node that is scored, ``(nodes, best)``.
        pieces: These pieces, ``(nodes, best)``.
        held: True at sentences whose search met nothing that the draft does not have, ``(sentences,)``.
        finished: What was given.
        limits: What was given.
    """

    def __init__(
        self,
        scorer: Scorer,
        finished: Finished,
        limits: Tensor,
        beam: int,
        length_penalty: float,
        window: int,
        trace: Trace | None = None,
    ) -> None:
        self.scorer, self.draft, self.beam, self.window = scorer, scorer.reference.draft, beam, window
        self._trace = trace
        self.finished, self.limits, self._length_penalty = finished, limits, length_penalty
        self.values = torch.zeros(0, 0, device=limits.device, dtype=torch.float64)
        self.pieces = torch.zeros(0, 0, device=limits.device, dtype=torch.int64)
        self.held = torch.zeros_like(limits, dtype=torch.bool)

    def search(self, sentences: Tensor) -> Search:
        """Start to search for these sentences."""
        search = Search(self.finished, self.limits[sentences], self.beam, self._length_penalty)
        search.sentences = sentences
        return search

    def extend(self, search: Search, values: Tensor, pieces: Tensor) -> None:
        """Make one step of a search; see `Search.extend`."""
        search.extend(values, pieces)
        if self._trace is not None:
            self._trace.record(search)

    def note(self, nodes: Tensor, found: tuple[Tensor, Tensor]) -> None:
        """Note the best continuations of nodes of the draft."""
        values, pieces = found
        if not self.values.numel():
            # A small vocabulary has fewer best pieces than were asked for.
            self.values = self.values.new_zeros(self.draft.pieces.numel(), values.size(1))
            self.pieces = self.pieces.new_zeros(self.values.shape)
        self.values[nodes], self.pieces[nodes] = values.double(), pieces

    def note_done(self, search: Search) -> None:
        """Note which sentences of a search that met nothing else than the draft are done."""
        self.held[search.sentences[~search.open]] = True

    def follow(self, number: int, rows: Tensor) -> list[Astray]:
        """Search along the draft of some rows of a chunk, and return the sentences that leave it.

        Args:
            number: The chunk.
            rows: The rows, ``(rows,)``.
        """
        path = _Path(self, number, rows)
        left: list[Astray] = []
        while path.rows.numel():
            path.score()
            if self.beam == 1:
                left += path.skip()
            else:
                while path.rows.numel() and path.depth < path.scored:
                    left += path.step()
        return left


class _Path:
    """Sentences of a chunk that are at the same depth of the draft, with all that is alive in it.

    Attributes:
        rows: Their rows in the chunk, ``(sentences,)``.
        depth: The depth of their live prefixes.
        scored: The number of depths whose nodes are scored.
    """

    def __init__(self, verification: Verification, number: int, rows: Tensor) -> None:
        self._verification, self._draft, self._beam = verification, verification.draft, verification.beam
        self._chunk = self._draft.chunks[number]
        self.rows, self.depth, self.scored = rows, 0, 0
        self._search = verification.search(self._chunk.sentences[rows])
        self._store = PrefixStore(rows.numel(), self._room(), *verification.scorer.source(self._chunk.sentences[rows]))
        self._stored, self._store_rows = torch.arange(rows.numel(), device=rows.device), rows
        self._slots = torch.zeros(rows.numel(), 1, dtype=torch.int64, device=rows.device)

    def _room(self) -> int:
        """Return the slots of as many depths as are likely to be asked for; a store makes room for more by itself."""
        ahead = max(self._verification.window, _DEPTHS_AHEAD)
        return min(self._chunk.slots, _slots(self.scored + ahead, self._beam))

    def score(self) -> None:
        """Score the nodes of the next depths."""
        chunk, beam = self._chunk, self._beam
        if self.rows.numel() < LIVE_SHARE * self._store.sentences:
            slots = torch.arange(_slots(self.scored, beam), device=self.rows.device)
            columns = slots.expand(self.rows.numel(), -1)
            self._store = self._store.select(self._stored, columns, self._room())
            self._stored, self._store_rows = torch.arange(self.rows.numel(), device=self.rows.device), self.rows
        self.scored = min(self.depth + self._verification.window, chunk.depths)
        first, last = _slots(self.depth, beam), _slots(self.scored, beam)
        nodes = chunk.nodes[self.rows].unsqueeze(1) + torch.arange(first, last, device=self.rows.device)
        sentences, places = self._draft.exists[nodes].nonzero(as_tuple=True)
        blocked = chunk.blocked[:, first:last, :last]
        if blocked.size(0) > 1:
            blocked = blocked[self._store_rows]
        self._store.focus(Rows(self._stored[sentences], places, first, blocked, self._store.sentences))
        chosen = nodes[sentences, places]
        depths = torch.div(first + places + beam - 1, beam, rounding_mode="floor")
        self._verification.note(chosen, self._verification.scorer.score_nodes(chosen, depths, self._store))

    def skip(self) -> list[Astray]:
        """Follow the draft of a greedy search as far as it is scored, and return the sentences that leave it."""
        draft, ahead = self._draft, torch.arange(self.depth, self.scored, device=self.rows.device)
        nodes = self._chunk.nodes[self.rows].unsqueeze(1) + ahead
        following = (nodes + 1).clamp(max=draft.pieces.numel() - 1)
        agrees = (self._verification.pieces[nodes, 0] == draft.pieces[following]) & draft.exists[following]
        agrees &= ahead + 1 < self._chunk.depths
        counts = agrees.long().cumprod(dim=1).sum(dim=1)
        self._search.skip(draft.pieces[following], counts)
        self.depth = self.scored
        leaving = counts < ahead.numel()
        chosen = leaving.nonzero().squeeze(1)
        if chosen.numel() == 0:
            return []
        search = self._search.select(chosen)
        last = nodes[chosen, counts[chosen]]
        search.extend(self._verification.values[last], self._verification.pieces[last])
        self._verification.note_done(search)
        away = search.open.nonzero().squeeze(1)
        result = []
        if away.numel():
            search, lost = search.select(away), chosen[away]
            known = torch.zeros_like(search.pieces, dtype=torch.bool)
            used = int(search.lengths.max())
            attended = torch.arange(used, device=known.device) < search.lengths[:, None, None]
            result.append(self._astray(search, lost, known.long(), known, attended, used))
        self._keep(~leaving)
        return result

    def step(self) -> list[Astray]:
        """Make one step of a beam search, and return the sentences that leave the draft."""
        chunk, search, rows = self._chunk, self._search, self.rows
        nodes = chunk.nodes[rows].unsqueeze(1) + self._slots
        values, pieces = self._verification.values[nodes], self._verification.pieces[nodes]
        self._verification.extend(search, values.flatten(0, 1), pieces.flatten(0, 1))
        self._verification.note_done(search)
        self.depth += 1
        before = self._slots.gather(1, search.parents)
        self._slots, known = children(
            self._draft, chunk.nodes[rows], before, search.pieces, search.lengths, chunk.depths
        )
        here = (known | (search.scores == -torch.inf)).all(dim=1)
        away = (search.open & ~here).nonzero().squeeze(1)
        result = []
        if away.numel():
            used = _slots(self.scored, self._beam)
            attended = ~chunk.blocked[rows[away].unsqueeze(1), before[away], :used]
            result.append(self._astray(search.select(away), away, self._slots[away], known[away], attended, used))
        self._keep(search.open & here)
        return result

    def _astray(
        self, search: Search, places: Tensor, slots: Tensor, known: Tensor, attended: Tensor, used: int
    ) -> Astray:
        nodes = self._chunk.nodes[self.rows[places]]
        scored, depths = torch.full_like(places, self.scored), torch.full_like(places, self._chunk.depths)
        return Astray(search, self._store, self._stored[places], used, nodes, slots, known, attended, scored, depths)

    def _keep(self, kept: Tensor) -> None:
        if bool(kept.all()):
            return
        places = kept.nonzero().squeeze(1)
        self.rows, self._stored, self._slots = self.rows[places], self._stored[places], self._slots[places]
        self._search = self._search.select(places)


def _slots(depths: int, beam: int) -> int:
    """Return the number of slots of so many depths."""
    return 0 if depths == 0 else 1 + (depths - 1) * beam


def children(
    draft: Draft, first: Tensor, parents: Tensor, pieces: Tensor, depths: Tensor, draft_depths: Tensor | int
) -> tuple[Tensor, Tensor]:
    """Find the nodes that continue nodes by one piece.

    Args:
        draft: The draft.
        first: Number of each sentence's first node, ``(sentences,)``.
        parents: Slots of nodes, ``(sentences, beam)``.
        pieces: The piece that follows each, ``(sentences, beam)``.
        depths: The depth of what is looked for, ``(sentences,)``.
        draft_depths: Number of depths that the draft has.

    Returns:
        Their slots, and whether there are such nodes, each ``(sentences, beam)``.
    """
    start = 1 + (depths - 1) * draft.beam
    beyond = depths >= draft_depths
    slots = start.unsqueeze(1) + torch.arange(draft.beam, device=first.device)
    nodes = (first.unsqueeze(1) + slots).masked_fill(beyond.unsqueeze(1), 0)
    same = (draft.parents[nodes].unsqueeze(1) == parents.unsqueeze(2)) & (
        draft.pieces[nodes].unsqueeze(1) == pieces.unsqueeze(2)
    )
    same &= (draft.exists[nodes] & ~beyond.unsqueeze(1)).unsqueeze(1)
    known = same.any(dim=2)
    return slots.gather(1, same.to(torch.uint8).argmax(dim=2)), known


def joined(parts: Sequence[Astray], scorer: Scorer) -> Astray:
    """Put sentences of several chunks together, with all keys and values that their prefixes need."""
    columns = [_needed(part) for part in parts]
    used = max(chosen.size(1) for chosen in columns)
    store = PrefixStore.of([(part.store, part.stored) for part in parts], used + used // 2 + 4 * scorer.draft.beam)
    first = 0
    attended = []
    for part, chosen in zip(parts, columns, strict=True):
        store.take(first, part.store, part.stored, chosen)
        wanted = part.nodes.unsqueeze(1) + chosen
        for layer, (keys, values) in scorer.kept_keys_values(wanted, part.store.layers).items():
            store.fill(first, layer, keys.transpose(1, 2), values.transpose(1, 2))
        first += part.nodes.numel()
        seen = part.attended.gather(2, chosen.unsqueeze(1).expand(-1, part.attended.size(1), -1))
        attended.append(F.pad(seen, (0, used - chosen.size(1))))
    tensors = {
        name: torch.cat([getattr(part, name) for part in parts])
        for name in ("nodes", "slots", "known", "scored", "depths")
    }
    stored = torch.arange(first, device=store.source_padding.device)
    search = Search.join([part.search for part in parts])
    return Astray(search=search, store=store, stored=stored, used=used, attended=torch.cat(attended), **tensors)


def _needed(part: Astray) -> Tensor:
    """Return which columns of a store must be kept, ``(sentences, columns)``; any, where a sentence needs fewer."""
    if bool((part.known & (part.search.lengths < part.scored).unsqueeze(1)).any()):
        # Nodes that are scored ahead are found by their slots, which so must stay where they are.
        return torch.arange(part.used, device=part.nodes.device).expand(part.nodes.numel(), -1)
    return needed_columns(part.attended)


def needed_columns(attended: Tensor) -> Tensor:
    """Return the columns that any prefix attends to, in order, then others, ``(sentences, most_needed)``.

    Args:
        attended: ``(sentences, beam, columns)``.
    """
    needed = attended.any(dim=1)
    return (~needed).to(torch.uint8).sort(dim=1, stable=True).indices[:, : int(needed.sum(dim=1).max())]
