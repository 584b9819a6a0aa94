"""Models that forget to stop: the share of translations that meet the length limit before their end."""

from __future__ import annotations

from collections.abc import Mapping

MUCH = 0.05
"""Share of the sentences, from 0 to 1, by which more than before are too many."""


def is_much_more(share: float, before: float) -> bool:
    """Whether a share of translations that did not end, from 0 to 1, is much above another."""
    return share > before + MUCH


def endless_line(shares: Mapping[str, float], before: float) -> str | None:
    """Return a line about the variants of a model that forget to stop; None if there are none.

    Args:
        shares: Share of the translations that did not end, from 0 to 1, by name of the variant.
        before: That of the whole model.
    """
    found = {name: share for name, share in shares.items() if is_much_more(share, before)}
    if not found:
        return None
    worst = max(found, key=lambda name: found[name])
    return (
        f"The model forgets to stop in {len(found)} of {len(shares)} variants, most in {worst}: "
        f"{100 * found[worst]:.1f} % of the translations met the length limit before their end, "
        f"{100 * before:.1f} % of the whole model's."
    )
