"""Tables of a study."""

from __future__ import annotations

from lit_transformer.report.html.table import Column, Table, table_of
from lit_transformer.report.studies import Study

FAMILIES = {"base": "trained models", "trained": "from the trained model", "scratch": "from scratch"}
"""Families of a study's arms, as its ``study.csv`` names them."""


_CHECKPOINT_ONLY = "95 % of resampled sentences; for this checkpoint only"
_STUDY_COLUMNS: tuple[Column, ...] = (
    ("arm", "arm", "", "what each is stands in study.md"),
    ("seed", "seed", "d", "of the base model"),
    ("draw", "draw", "d", "number of a random choice"),
    ("components", "components", "", "that were removed or changed"),
    ("parameters", "parameters", ",d", "of the whole model"),
    ("validation BLEU", "validation_bleu", ".2f", "of the average of the last checkpoints"),
    ("test BLEU", "test_bleu", ".2f", "of the average of the last checkpoints"),
    ("minus control", "difference", "+.2f", "test BLEU minus that of the family's control with the same seed"),
    ("from", "difference_lower_this_checkpoint_only", "+.2f", _CHECKPOINT_ONLY),
    ("to", "difference_upper_this_checkpoint_only", "+.2f", _CHECKPOINT_ONLY),
    ("test loss", "test_loss", ".3f", "nats per piece"),
    ("sentences/s", "sentences_per_second", ".1f", "decoded side by side with the others of the seed"),
    ("minutes", "training_minutes", ".1f", "of fine-tuning or training"),
    ("status", "status", "", "done, or why it is not"),
)
_COMPARISON_COLUMNS: tuple[Column, ...] = (
    ("arm", "arm", "", "what each is stands in study.md"),
    ("control", "control", "", "of its family"),
    ("seeds", "seeds", "d", "that have both"),
    ("mean difference", "mean_difference", "+.2f", "test BLEU minus the control's, over the seeds"),
    ("from", "lower", "+.2f", "t interval over the seeds, with Holm's correction over the arms"),
    ("to", "upper", "+.2f", "t interval over the seeds, with Holm's correction over the arms"),
    ("p, corrected", "corrected_p", ".3f", "of a mean at least as far from 0, if there is no difference"),
    ("verdict", "verdict", "", "better or worse only where the interval excludes 0"),
)


def study_table(study: Study, family: str) -> Table:
    """Return the runs of a family of a study."""
    return table_of([row for row in study.rows if row.get("family") == family], _STUDY_COLUMNS)


def comparisons_table(study: Study, family: str) -> Table:
    """Return what a study claims of the arms of a family, over the seeds."""
    return table_of([row for row in study.comparisons if row.get("family") == family], _COMPARISON_COLUMNS)
