"""The journal of module criticality: what was found of each component, so that nothing is computed twice."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lit_transformer.files import write_text
from lit_transformer.importance.module_criticality import ModuleCriticality

log = logging.getLogger(__name__)

VERSION = 1
"""Of the scorer: raised when the same settings may give another result, so that old ones are not reused."""


class ModuleCriticalityJournal:
    """The results in a folder, each in a file ``<key>.json`` of its own, whichever process has found it.

    Args:
        folder: Where to keep them.
        rests_on: All that they depend on beside the component, as plain types: digests, settings, versions.
    """

    def __init__(self, folder: Path, rests_on: Mapping[str, Any]) -> None:
        self._folder, self._rests_on = folder, {"version": VERSION, **rests_on}

    def find(self, component: str) -> ModuleCriticality | None:
        """Return what was found of a component, or None where there is nothing that can be read."""
        path = self._file(component)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["found"]
            return ModuleCriticality(**{name: None if value is None else float(value) for name, value in found.items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("The module criticality of %s is found again: %s cannot be used (%r).", component, path, error)
            return None

    def add(self, component: str, found: ModuleCriticality) -> None:
        """Keep what was found of a component.

        Raises:
            UserError: It can't be written, for example because the disk is full.
        """
        content = {**self._about(component), "found": found._asdict()}
        write_text(self._file(component), json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def _about(self, component: str) -> dict[str, Any]:
        return {"component": component, **self._rests_on}

    def _file(self, component: str) -> Path:
        about = json.dumps(self._about(component), sort_keys=True)
        return self._folder / f"{hashlib.sha256(about.encode()).hexdigest()[:32]}.json"
