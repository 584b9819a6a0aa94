"""Read what `test` and `validate` write below ``translations``: the scores and the texts of a split."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lit_transformer.runs.json_files import check_fields
from lit_transformer.runs.scores import SCORES_FILE

_ABOUT = {"scores": dict, "scoring_set": dict, "signature": str, "data": dict, "decoding": dict}
_SCORING_SET = {"split": str, "name": str, "sentences": int}


def read_split_scores(run: Path, checkpoint: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the splits that a checkpoint was scored on: the folder of each, and the content of its ``scores.json``.

    A file that can't be read, or holds something else, is left out, as if the split had not been scored.

    Args:
        run: The folder of the run.
        checkpoint: Stem of the checkpoint's file name.
    """
    for path in sorted((run / "translations" / checkpoint).glob(f"*/{SCORES_FILE}")):
        try:
            # A perplexity may be infinite.
            content = json.loads(path.read_text(encoding="utf-8"))
            check_fields(content, "the file", _ABOUT)
            check_fields(content["scoring_set"], "scoring_set", _SCORING_SET)
            check_fields(content["scores"], "scores", dict.fromkeys(content["scores"], float))
        except (OSError, ValueError, RecursionError):
            continue
        yield path.parent, content


def read_texts(split: Path) -> tuple[list[str], list[str]]:
    """Return the hypotheses and the references of a split, one text for each sentence.

    Args:
        split: The folder of the split.
    """
    hypotheses, references = (
        (split / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for name in ("hypothesis", "reference")
    )
    return hypotheses, references
