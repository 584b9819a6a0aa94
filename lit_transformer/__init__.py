"""Train a translation Transformer and find out which of its sub-layers matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lit_transformer.version import __version__

if TYPE_CHECKING:
    from lit_transformer.report.scores import Scores, load_scores

__all__ = ["Scores", "__version__", "load_scores"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: `--help` and the other modules need nothing of it.
    if name in ("Scores", "load_scores"):
        from lit_transformer.report import scores

        return getattr(scores, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
