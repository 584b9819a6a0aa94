"""Read configurations: the ``config.yaml`` of a run, an analysis or a study, and any other YAML file of settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lit_transformer.errors import UserError

CONFIG_FILE = "config.yaml"
_UNREADABLE = (OSError, ValueError, RecursionError, yaml.YAMLError)


def read_config(run: Path) -> dict[str, Any]:
    """Return the configuration that a run was trained with.

    Args:
        run: The folder of the run.

    Raises:
        UserError: It is missing, can't be read, or configures no training.
    """
    path = run / CONFIG_FILE
    try:
        content = _settings_in(path)
        for name in ("trainer", "model"):
            if not isinstance(content.get(name), dict):
                raise ValueError(f"it has no section {name}")
    except _UNREADABLE as error:
        raise UserError(
            f"{str(path)!r} can't be read ({error}), which tells how the run was trained; give the folder of a run "
            "that fit wrote."
        ) from error
    return content


def config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration in the folder of a run or of an analysis; empty where it is missing or can't be read."""
    try:
        return _settings_in(folder / CONFIG_FILE)
    except _UNREADABLE:
        return {}


def section_of(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section of a configuration, such as ``model``; empty where there is none."""
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def read_settings(path: Path, name: str) -> dict[str, Any]:
    """Return the settings in a YAML file that the user named.

    Args:
        path: The file.
        name: What error messages call it, such as ``--config 'my.yaml'``.

    Raises:
        UserError: The file can't be read, is no YAML, or holds no settings.
    """
    try:
        return _settings_in(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name} cannot be read: {error}. Give a YAML file in UTF-8.") from error
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = "" if place is None else f", line {place.line + 1}"
        raise UserError(f"{name}{line} is no YAML: {getattr(error, 'problem', error)}. Correct the file.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} {error}; write lines such as 'name: demo'.") from error


def _settings_in(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"holds {type(content).__name__}, not settings")
    return content
