"""Which components to prune or to rewind: by name, by score, by the order of an ablation, or at random."""

# Annotations are not postponed: jsonargparse would look up the types of `SelectionOptions` in its subclasses' modules.
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from lit_transformer.components import canonical_key, kind_of, select
from lit_transformer.errors import UserError
from lit_transformer.importance.ranking import random_order

Score = Literal["contribution", "criticality", "group_ablation"]
By = Literal["contribution", "criticality", "group_ablation", "layers", "random"]


@dataclass
class SelectionOptions:
    """The options that say which components, shared by the callbacks that change some.

    Args:
        components: Exactly these components, whatever by, count and the other options that choose say: ids (d:sa:3),
            ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
        by: What chooses: contribution or criticality (the lowest scores), group_ablation (in its order), layers (whole
            decoder layers, in the order of LayerAblation) or random.
        count: How many; by layers, how many layers.
        threshold: Those whose score is at most this (with most, at least); for group_ablation and layers, as many as
            together cost at most this many BLEU points on validation.
        most: The most important ones instead, as a control.
        seed: Seed of a random choice.
        match: A random choice takes as many of each kind as this score would, and other components than the score
            would where there are others of these kinds.
        among: Which components may be chosen, named as for components (default: all).
    """

    components: list[str] | None = None
    by: By | None = None
    count: int | None = None
    threshold: float | None = None
    most: bool = False
    seed: int = 1
    match: Score | None = None
    among: list[str] | None = None


@dataclass
class Selection(SelectionOptions):
    """A choice of components.

    Options that `components` overrides are set back to their defaults, and listed in `overridden`.

    Raises:
        UserError: The options contradict each other, or one has a value that is not allowed.
    """

    def __post_init__(self) -> None:
        """Check the options."""
        self.overridden: list[str] = []
        for name in ("components", "among"):
            if getattr(self, name) is not None and not getattr(self, name):
                raise UserError(f"{name} is an empty list; name some, such as [d:sa:2-4], or leave it out.")
        if self.components is not None:
            self._override()
        elif self.by is None:
            raise UserError("nothing is chosen; give components, such as [d:sa:2-4], or by, such as contribution.")
        else:
            self._check_choice()

    def _override(self) -> None:
        """Set the options that choose back to their defaults."""
        for option in fields(self):
            if option.name not in ("components", "seed") and getattr(self, option.name) != option.default:
                self.overridden.append(option.name)
                setattr(self, option.name, option.default)

    def _check_choice(self) -> None:
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
        allowed = select(self.components or self.among or ["*"], existing)
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
                f"the {ablation} removed {', '.join(chosen)}, of which {', '.join(outside)} may not be chosen; give "
                f"{scorer} as components what among names here."
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
            f"these scores have no {score} of {', '.join(missing)}; score them first, or leave them out of among."
        )
    return {name: (float(rows[name][score]), float(rows[name].get("drop") or 0.0)) for name in allowed}


def in_current_terms(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options or the record of a selection as they would be given today.

    Before there was `among`, ``components`` together with ``by`` named the components that may be chosen.

    Args:
        options: By name; what was written since then has ``among``, if only as None.

    Example:
        >>> in_current_terms({"components": ["d:*"], "by": "contribution", "count": 2})
        {'components': None, 'by': 'contribution', 'count': 2, 'among': ['d:*']}
    """
    if "among" in options or not options.get("components") or options.get("by") is None:
        return dict(options)
    return {**options, "components": None, "among": options["components"]}


def config_in_current_terms(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the saved configuration of a run with the options of its callbacks as they would be given today.

    Args:
        config: The configuration; see `in_current_terms` for what is changed in it.
    """
    trainer = config.get("trainer") or {}
    given = trainer.get("callbacks") or []
    entries = given if isinstance(given, list) else [given]
    callbacks = [
        {**each, "init_args": in_current_terms(each["init_args"])}
        if isinstance(each, Mapping) and each.get("init_args")
        else each
        for each in entries
    ]
    return {**config, "trainer": {**trainer, "callbacks": callbacks}} if callbacks else dict(config)
