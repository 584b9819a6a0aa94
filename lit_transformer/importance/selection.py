"""Which components to prune or to rewind: by name, by score, by the order of an ablation, or at random."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from lit_transformer.components import canonical_key, kind_of, select
from lit_transformer.errors import UserError
from lit_transformer.importance.ranking import random_order

Score = Literal["contribution", "criticality", "group_ablation"]
By = Literal["contribution", "criticality", "group_ablation", "layers", "random"]


@dataclass(frozen=True)
class Selection:
    """How components are chosen.

    Args:
        components: Selectors of those that may be chosen; all that the model has, if not given.
        by: What chooses among them: a score, the least important first; ``group_ablation``, in the order in which it
            removed them; ``layers``, whole decoder layers in the order in which a layer ablation removed them;
            ``random``; or None, which takes them all.
        count: How many; with ``layers``, how many layers.
        threshold: Those whose score is at most this, with ``most`` at least; for ``group_ablation`` and ``layers`` as
            many as cost at most so many BLEU points on validation together.
        most: The most important ones instead, as a control.
        seed: Seed of a random choice.
        match: A random choice takes as many of each kind as this score would, and not the very same components where
            others of these kinds exist: it is to tell what their choice is worth. Without a match it may take any.

    Raises:
        UserError: What is given means nothing together.
    """

    components: tuple[str, ...] | None = None
    by: By | None = None
    count: int | None = None
    threshold: float | None = None
    most: bool = False
    seed: int = 1
    match: Score | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.components is not None and not self.components:
            raise UserError("components is an empty list; name some, such as [d:sa:2-4], or give null for all.")
        if self.by is None:
            if self.components is None:
                raise UserError("nothing is chosen; give components, such as [d:sa:2-4], or by, such as contribution.")
            if self.count is not None or self.threshold is not None or self.most or self.match:
                raise UserError("count, threshold, most and match choose by a score or at random; give by too.")
            return
        if self.by not in get_args(By):
            raise UserError(f"by is {self.by!r}; give one of {', '.join(get_args(By))}, or null.")
        if (self.count is None) == (self.threshold is None):
            raise UserError(f"by is {self.by!r}; give either count or threshold.")
        if self.count is not None and self.count < 1:
            what = "decoder layers" if self.by == "layers" else "components"
            raise UserError(f"count is {self.count}; give a number of {what} from 1 up.")
        if self.by == "random" and (self.threshold is not None or self.most):
            raise UserError("a random choice has no threshold and no most important components; give count alone.")
        if self.by in ("group_ablation", "layers") and self.most:
            what = "components" if self.by == "group_ablation" else "decoder layers"
            raise UserError(f"{self.by} tells which {what} cost least together, not which cost most.")
        if self.match is not None and self.by != "random":
            raise UserError(f"match is for a random choice, but by is {self.by!r}.")

    @property
    def needs_scores(self) -> bool:
        """Whether scores are looked at."""
        return self.by in (*get_args(Score), "layers") or self.match is not None

    def of(self, existing: Sequence[str], scores: Mapping[str, Any] | None = None) -> list[str]:
        """Return the components chosen, the first choice first.

        Args:
            existing: Ids of the components of the model.
            scores: The content of its ``scores.json``, where `needs_scores`.

        Raises:
            UserError: A selector matches nothing, there are not so many, or the scores lack what is asked for.
        """
        allowed = select(self.components or ["*"], existing)
        if self.by is None:
            return allowed
        if self.by == "layers":
            return self._removed(allowed, scores, "layer ablation")
        if self.count is not None and self.count > len(allowed):
            raise UserError(
                f"count is {self.count}, but there are {len(allowed)} components to choose from "
                f"({', '.join(allowed)}); choose fewer."
            )
        if self.by == "random":
            assert self.count is not None
            if self.match is None:
                return random_order(allowed, self.count, self.seed)
            return self._matched(allowed, self._best(allowed, self.match, scores))
        return self._best(allowed, self.by, scores)

    def _matched(self, allowed: Sequence[str], best: Sequence[str]) -> list[str]:
        """Return as many random components of each kind as there are in others; these themselves if all are needed."""
        kinds = [kind_of(name) for name in best]
        only = sum(kind_of(name) in kinds for name in allowed) == len(best)
        # Further seeds, which nobody else asks for.
        draws = (random_order(allowed, len(best), self.seed + (place << 32), kinds) for place in itertools.count())
        return next(drawn for drawn in draws if only or set(drawn) != set(best))

    def _best(self, allowed: Sequence[str], score: Score, scores: Mapping[str, Any] | None) -> list[str]:
        if score == "group_ablation":
            return self._removed(allowed, scores, "group ablation")
        values = _values(allowed, score, scores)
        order = sorted(allowed, key=lambda name: (*values[name], canonical_key(name)))
        order = order[::-1] if self.most else order
        if self.threshold is not None:
            limit = self.threshold
            order = [n for n in order if (values[n][0] >= limit if self.most else values[n][0] <= limit)]
        if not order:
            raise UserError(f"no component has a {score} within the threshold of {self.threshold}; choose another.")
        return order[: self.count]

    def _removed(self, allowed: Sequence[str], scores: Mapping[str, Any] | None, ablation: str) -> list[str]:
        """Return the components that an ablation of groups or of layers removed, in its order."""
        groups = ablation == "group ablation"
        scorer, what = ("GroupAblation", "components") if groups else ("LayerAblation", "decoder layers")
        steps = (_group_steps if groups else _layer_steps)(_given(scores))
        if not steps:
            raise UserError(f"these scores have no {ablation}; run {scorer} first, or choose by another score.")
        if self.threshold is not None:
            within = [place for place, (_, drop) in enumerate(steps, 1) if drop <= self.threshold]
            if not within:
                raise UserError(f"no {what} cost within the threshold of {self.threshold} BLEU points; choose another.")
            steps = steps[: max(within)]
        elif self.count is not None:
            if len(steps) < self.count:
                raise UserError(
                    f"count is {self.count}, but the {ablation} removed {len(steps)} {what}; choose fewer, or run "
                    f"{scorer} further."
                )
            steps = steps[: self.count]
        chosen = [name for names, _ in steps for name in names]
        if outside := [name for name in chosen if name not in allowed]:
            raise UserError(
                f"the {ablation} removed {', '.join(chosen)}, of which {', '.join(outside)} may not be chosen; run it "
                "with the same components."
            )
        return chosen


Step: TypeAlias = tuple[list[str], float]
"""What a step of an ablation removed, and the BLEU points on validation that are lost after it."""


def _group_steps(scores: Mapping[str, Any]) -> list[Step]:
    """Return the steps of a group ablation; of several orders, the greedy one or else that of a score."""
    rows = [row for row in scores.get("group_ablation", {}).get("rows", []) if row["component"]]
    orders = [row["order"] for row in rows]
    order = next((name for name in ("greedy", "contribution", "criticality", *orders) if name in orders), None)
    return [([str(row["component"])], float(row["validation_drop"])) for row in rows if row["order"] == order]


def _layer_steps(scores: Mapping[str, Any]) -> list[Step]:
    rows = scores.get("layer_ablation", {}).get("rows", [])
    return [([*map(str, row["components"])], float(row["validation_drop"])) for row in rows if row["components"]]


def _given(scores: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if scores is None:
        raise ValueError("no scores were given")
    return scores


def _values(allowed: Sequence[str], score: str, scores: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Return each component's score and, to break ties, its drop in BLEU points (method.md 0.9)."""
    rows = {row["component"]: row for row in _given(scores)["components"]}
    missing = [name for name in allowed if score not in rows.get(name, {})]
    if missing:
        raise UserError(
            f"these scores have no {score} of {', '.join(missing)}; score them first, or leave them out of components."
        )
    return {name: (float(rows[name][score]), float(rows[name].get("drop") or 0.0)) for name in allowed}
