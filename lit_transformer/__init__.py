"""Train a translation Transformer and find out which of its sub-layers matter.

Example:
    >>> import lit_transformer
    >>> [name for name in dir(lit_transformer) if not name.startswith("_")]
    ['Scores', 'Translator', 'load', 'load_scores']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lit_transformer.version import __version__

if TYPE_CHECKING:
    from lit_transformer.report.scores import Scores, load_scores
    from lit_transformer.training.translator import Translator, load

__all__ = ["Scores", "Translator", "__version__", "load", "load_scores"]

# Imported on first use: `import lit_transformer` and `lit-transformer --help` must not wait for torch.
_MODULES = {
    "Scores": "lit_transformer.report.scores",
    "load_scores": "lit_transformer.report.scores",
    "Translator": "lit_transformer.training.translator",
    "load": "lit_transformer.training.translator",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
