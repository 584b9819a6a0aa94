"""Read the record of a run that changed components, such as ``pruning.json``."""

from __future__ import annotations

from pathlib import Path

from lit_transformer.errors import UserError
from lit_transformer.runs.json_files import check_object, check_texts, read_json

CHANGES = ("pruning", "rewinding", "theseus", "layer_theseus")
"""The changes, by the names of their records."""


def changed_components(run: Path) -> tuple[str, ...]:
    """Return the components that a run removed, rewound or replaced; none where it changed none.

    Args:
        run: The folder of the run.

    Raises:
        UserError: The record of the change can't be read.
    """
    path = next((path for name in CHANGES if (path := run / f"{name}.json").is_file()), None)
    if path is None:
        return ()
    try:
        content = read_json(path)
        check_object(content, "the file")
        check_texts(content.get("components"), "components")
    except (OSError, ValueError) as error:
        raise UserError(
            f"{str(path)!r} can't be read ({error}), which tells which components the run changed; put it back, or "
            f"remove {str(run)!r} to train the run again."
        ) from error
    return tuple(content["components"])
