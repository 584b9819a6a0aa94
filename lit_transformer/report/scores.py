"""The scores of a run as plain objects and as a table, for scripts and notebooks: ``lit_transformer.load_scores``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_transformer.errors import UserError
from lit_transformer.report.runs import read_run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scores:
    """What an analysis found; docs/files.md has every name with its unit.

    Args:
        folder: The folder of the analysis.
        about: What the numbers rest on and what was found of the whole model: the content of ``scores.json`` but for
            the components.
        components: A row for each component, in canonical order.
        group_ablation: A row for each order and step of a group ablation; empty where there was none.
    """

    folder: Path
    about: Mapping[str, Any]
    components: Sequence[Mapping[str, Any]]
    group_ablation: Sequence[Mapping[str, Any]]

    def column(self, name: str) -> dict[str, Any]:
        """Return a column by component id, of the components that have it.

        Args:
            name: Such as ``drop``, ``contribution`` or ``criticality``.

        Raises:
            UserError: No component has it.
        """
        found = {str(row["component"]): row[name] for row in self.components if row.get(name) is not None}
        if not found:
            known = ", ".join(dict.fromkeys(column for row in self.components for column in row))
            raise UserError(f"the scores in {str(self.folder)!r} have no column {name!r}; they have {known}.")
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with a row for each component, indexed by its id."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.components]).set_index("component")


def load_scores(run: str | Path) -> Scores:
    """Read the scores of a run; needs neither torch nor the checkpoint.

    Args:
        run: The folder of a run, or of one of its analyses. Of several analyses in a run, that of all components on
            whole sentences comes first, and of those the latest.

    Raises:
        UserError: The folder is no run's, or has no scores that can be read.
    """
    found = read_run(Path(run))
    if found.analysis is None:
        raise UserError(" ".join(found.problems))
    about = {name: value for name, value in found.scores.items() if name != "components"}
    return Scores(found.analysis, about, found.components, found.group_ablation)
