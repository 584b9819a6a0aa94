"""Read the ``scores.json`` of an analysis, and compare what two of them rest on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lit_transformer.errors import UserError
from lit_transformer.runs.json_files import read_json
from lit_transformer.runs.score_checks import check_content, check_shown

SCORES_FILE = "scores.json"
SCORES_FORMAT = 2
SAME = ("format", "weights", "tokenizer", "scoring_set", "signature", "decoding")
"""What two tables must have in common to be one."""

_REMEDY = "remove it and analyze again, which reuses the evaluations in the journal."


def read_scores(analysis: Path, missing_ok: bool = False) -> dict[str, Any]:
    """Return the content of the ``scores.json`` of an analysis.

    Args:
        analysis: The folder of the analysis, or a file in it.
        missing_ok: Return nothing where there is no such file.

    Raises:
        UserError: It is missing, is no file of scores, is a newer version's, or was edited into something that means
            nothing.
    """
    folder = analysis.parent if analysis.is_file() else analysis
    path = folder / SCORES_FILE
    try:
        content = read_json(path)
        version = content.get("format") if isinstance(content, dict) else None
        if isinstance(version, int) and version > SCORES_FORMAT:
            raise UserError(
                f"{str(path)!r} has format {version}, this version reads up to {SCORES_FORMAT}; install a newer "
                "lit-transformer."
            )
        check_content(content)
    except FileNotFoundError as error:
        if missing_ok:
            return {}
        raise UserError(f"no scores in {str(folder)!r}; run `lit-transformer analyze` first.") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{str(path)!r} holds no scores that can be read ({error}); {_REMEDY}") from error
    found: dict[str, Any] = content
    return found


def shown_scores(analysis: Path) -> dict[str, Any]:
    """Return the content of the ``scores.json`` of an analysis that a report can be made of.

    Args:
        analysis: The folder of the analysis.

    Raises:
        UserError: It can't be read, or lacks something that a report needs.
    """
    scores = read_scores(analysis)
    try:
        check_shown(scores)
    except ValueError as error:
        raise UserError(f"{str(analysis / SCORES_FILE)!r} can't be shown: {error}; {_REMEDY}") from error
    return scores


def differing(scores: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """Return in what of `SAME` scores rest on something else than an analysis does.

    Args:
        scores: The content of ``scores.json``.
        about: What the numbers of the analysis rest on.
    """
    expected = {"format": SCORES_FORMAT, **about}
    return [name for name in SAME if scores.get(name) != expected.get(name)]
