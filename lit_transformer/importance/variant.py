"""A variant of a trained model: what is changed in it for one evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from lit_transformer.components import canonical_key

Value = Literal["zero", "mean"]


@dataclass(frozen=True)
class Variant:
    """One change of the trained model; the default is the trained model itself, the baseline.

    Args:
        ablated: Ids of the components that are taken out, in canonical order.
        value: What takes the place of their output: ``zero`` (Wang & Tu 2020) or ``mean``, their mean output over
            training tokens (method.md 0.2).
        interpolated: Id of the component whose weights lie between the initial and the trained ones.
        alpha: Where: 0 is the initial weights, 1 the trained ones (method.md 1.4).
        include_norm: Interpolate the component's LayerNorm too (method.md 0.4).
        draw: Number of a fresh draw from the initial distribution, in place of the saved initial weights.
        draft: Ids of the components that are ablated in the variant whose hypotheses serve as the draft; all of them
            are in ``ablated``.
        path: Alphas at which the interpolated component was evaluated before, one after another; the hypotheses at the
            last of them are the draft.
        plain: Decoded by itself, without a draft.
    """

    ablated: tuple[str, ...] = ()
    value: Value = "zero"
    interpolated: str | None = None
    alpha: float = 1.0
    include_norm: bool = False
    draw: int | None = None
    draft: tuple[str, ...] = ()
    path: tuple[float, ...] = ()
    plain: bool = False

    def __post_init__(self) -> None:
        """Refuse what no evaluator could make.

        Raises:
            ValueError: The ids are not in canonical order, the draft is not a part of them, an alpha is outside 0 to 1,
                or there is a path without a component.
        """
        for ids in (self.ablated, self.draft):
            if list(ids) != sorted(set(ids), key=canonical_key):
                raise ValueError(f"expected different ids in canonical order; got {ids}")
        if not set(self.draft) <= set(self.ablated):
            raise ValueError(f"the draft {self.draft} is no part of {self.ablated}")
        for alpha in (self.alpha, *self.path):
            if not 0.0 <= alpha <= 1.0:
                raise ValueError(f"alpha is {alpha}; it lies between 0 and 1")
        if self.path and self.interpolated is None:
            raise ValueError(f"the path {self.path} is one of alpha, but no component is interpolated")

    @property
    def changed(self) -> tuple[str, ...]:
        """The components in which it differs from its draft, in canonical order."""
        changed = {*self.ablated} - {*self.draft} | ({self.interpolated} if self.interpolated else set())
        return tuple(sorted(changed, key=canonical_key))

    @property
    def before(self) -> list[Variant]:
        """The variants of its path, each of which is the draft of the next one."""
        return [replace(self, alpha=alpha, path=self.path[:place]) for place, alpha in enumerate(self.path)]

    @property
    def by_itself(self) -> Variant:
        """What it is when nothing serves as its draft."""
        return replace(self, draft=(), path=(), plain=False)

    @property
    def needs_initial(self) -> bool:
        """Whether it is made from the saved initial weights, or from fresh ones, which are none of them."""
        return self.interpolated is not None

    @property
    def name(self) -> str:
        """What a person reads, such as ``d:sa:3``, ``d:sa:3 at 0.4`` or ``d:sa:3+d:ff:1``."""
        parts = ["+".join(self.ablated)] if self.ablated else []
        if self.interpolated is not None:
            drawn = "" if self.draw is None else f" draw {self.draw}"
            parts.append(f"{self.interpolated} at {self.alpha:g}{drawn}")
        return (", ".join(parts) or "baseline") + (" (mean)" if self.value == "mean" and self.ablated else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the variant as plain types, without what is as in the baseline."""
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != defaults[name]
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Variant:
        """Return the variant that `as_dict` was made from."""
        given: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in values.items()}
        return cls(**given)


def ablation(*components: str, draft: Iterable[str] = (), value: Value = "zero", plain: bool = False) -> Variant:
    """Return the variant without these components, in whatever order they are named."""
    ablated, drafted = (tuple(sorted(ids, key=canonical_key)) for ids in (components, draft))
    return Variant(ablated=ablated, value=value, draft=drafted, plain=plain)
