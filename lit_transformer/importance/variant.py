"""A variant of a trained model: what is changed in it for one evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
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
    """

    ablated: tuple[str, ...] = ()
    value: Value = "zero"
    interpolated: str | None = None
    alpha: float = 1.0
    include_norm: bool = False
    draw: int | None = None

    def __post_init__(self) -> None:
        """Refuse a variant that cannot be evaluated.

        Raises:
            ValueError: The ids are not in canonical order, or alpha is outside 0 to 1.
        """
        if list(self.ablated) != sorted(set(self.ablated), key=canonical_key):
            raise ValueError(f"expected different ids in canonical order; got {self.ablated}")
        if not 0.0 <= self.alpha <= 1.0:
            raise ValueError(f"alpha is {self.alpha}; it lies between 0 and 1")

    @property
    def changed(self) -> tuple[str, ...]:
        """The components that differ from the trained model."""
        return self.ablated if self.interpolated is None else (*self.ablated, self.interpolated)

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
    def from_dict(cls, values: Mapping[str, Any]) -> Variant:
        """Return the variant that `as_dict` was made from.

        Journals of versions that decoded from drafts hold further keys, which do not change the result.
        """
        given: dict[str, Any] = {
            field.name: tuple(value) if isinstance(value := values[field.name], list) else value
            for field in fields(cls)
            if field.name in values
        }
        return cls(**given)


def ablation(*components: str, value: Value = "zero") -> Variant:
    """Return the variant without these components, in whatever order they are named."""
    return Variant(ablated=tuple(sorted(components, key=canonical_key)), value=value)
