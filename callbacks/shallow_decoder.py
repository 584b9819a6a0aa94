"""A shallow decoder of the size of a pruned model, which pruning is held against (method.md 1.7)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from callbacks.component_choice import ComponentChoice
from lit_transformer.errors import UserError
from lit_transformer.importance.matching import Match, most_components, nearest_count, nearest_depth
from lit_transformer.importance.sizes import component_sizes
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint
from lit_transformer.runs.scores import read_scores
from lit_transformer.structure import Structure
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class ShallowDecoder(ComponentChoice):
    """Trains a model with so many decoder layers fewer as weigh about what pruning takes away.

    The depth is told, and by how many percent the two are apart. What pruning takes away is read from a pruned run, or
    chosen by the options of `ComponentChoice`. Writes ``shallow.json`` into the run's folder.

    Args:
        like: A pruned run, or one of its checkpoints; with it, none of the others is given.
        scores: Folder of the analysis of the trained model.
    """

    name = "shallow"

    like: str | None = None

    @override
    def __post_init__(self) -> None:
        """Check the options."""
        options = (self.components, self.by, self.count, self.threshold, self.most, self.match, self.among, self.scores)
        if (self.like is None) == all(option in (None, False) for option in options):
            raise UserError(
                "ShallowDecoder: give --trainer.callbacks.like with a pruned run, or what would be pruned: by with a "
                "count, or components."
            )
        if self.like is not None:
            self.components = ["*"]
        super().__post_init__()
        self._match: Match | None = None

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"like": self.like}

    @property
    @override
    def trained_only(self) -> None:
        return None

    @override
    def choose(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        base = pl_module.structure
        changed = [name for name in (*base.pruned, *base.feed_forward_sizes) if name.startswith("d:")]
        if base.decoder_layers < 2 or changed:
            what = f"{', '.join(changed)} of it are pruned or narrowed" if changed else "it has one layer"
            raise UserError(f"the decoder cannot lose whole layers, because {what}; start from a whole, deeper one.")
        removed = None
        if self.like is None:
            super().choose(trainer, pl_module)
        else:
            self.chosen, removed = _lacking(base, find_checkpoint(self.like))
        self._match = match = nearest_depth(base, self.chosen, removed)
        if trainer.started_from is not None:
            raise UserError(
                f"it trains from scratch; {match.line}{match.told}. Leave --start_from out, or cut as many off "
                "the trained model with --config prune.yaml --trainer.callbacks.by layers --trainer.callbacks.count "
                f"{match.layers}, after an analysis with callbacks.LayerAblation."
            )
        depth = base.decoder_layers
        log.info("%d of %d decoder layers stay: %s%s.", depth - match.layers, depth, match.line, match.told)
        if match.told and (nearer := self._nearer(trainer, base, match)) is not None:
            log.info("Nearer to it would be count %d: %s%s.", len(nearer.components), nearer.line, nearer.told)

    @override
    def _scores(self, trainer: Trainer) -> dict[str, Any] | None:
        if not self.selection.needs_scores or trainer.started_from is not None:
            return super()._scores(trainer)
        if self.scores is None:
            raise UserError("a choice by score reads those of a trained model; give scores FOLDER, or like RUN.")
        return read_scores(Path(self.scores))

    def _nearer(self, trainer: Trainer, base: Structure, match: Match) -> Match | None:
        """Return how many components of the same order would be nearer to the layers, if others would."""
        if self.like is not None or self.selection.by in (None, "random", "layers"):
            return None
        count = min(most_components(base, match.layers), len(base.components))
        longer = replace(self.selection, count=count, threshold=None)
        try:
            order = longer.of(base.components, self._scores(trainer))
        except UserError:
            # Fewer were scored, or may be chosen.
            order = self.chosen
        nearer = nearest_count(base, order, match.layers)
        return nearer if abs(nearer.mismatch) < abs(match.mismatch) else None

    @override
    def change(self, trainer: Trainer, pl_module: LitTransformer) -> dict[str, Any]:
        assert self._match is not None
        before = pl_module.structure
        after = replace(before, decoder_layers=before.decoder_layers - self._match.layers)
        pl_module.set_structure(after)
        if hasattr(pl_module, "network"):
            pl_module.build(after.source_vocab_size, after.target_vocab_size)
        return {
            "decoder_layers": after.decoder_layers,
            "parameters_of_components": self._match.removed,
            "parameters_of_layers": self._match.of_layers,
            "mismatch_percent": self._match.mismatch,
        }

    @override
    def verify(self, pl_module: LitTransformer) -> None:
        depth = pl_module.network.config.decoder_layers
        if depth != self._record["decoder_layers"]:
            raise UserError(
                f"ShallowDecoder: the resumed run should have {self._record['decoder_layers']} decoder layers, but its "
                f"checkpoint has {depth}; resume a checkpoint that this run wrote."
            )
        log.info("Resuming with decoder layers: %d.", depth)


def _lacking(base: Structure, pruned: Path) -> tuple[list[str], int]:
    """Return what a pruned model lacks of another one: the components, also those that are narrower, and parameters.

    Raises:
        UserError: It is a model of another structure, or lacks nothing.
    """
    other = Structure.of(read_checkpoint(pruned)["hyper_parameters"])
    for name in base.whole.differences(other.whole):
        raise UserError(
            f"like {str(pruned)!r} has {name} {getattr(other, name)!r}, but this model {getattr(base, name)!r}; "
            "give a run that was pruned from a model of these settings, or those settings."
        )
    own, left = component_sizes(base), component_sizes(other)
    lacking = [name for name, size in own.items() if left.get(name, 0) < size]
    if not lacking:
        raise UserError(f"like {str(pruned)!r} lacks nothing of this model; give a pruned run.")
    return lacking, sum(own.values()) - sum(left.values())
