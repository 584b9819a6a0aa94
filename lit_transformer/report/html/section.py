"""What a page is made of: sections of figures, tables, translations and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lit_transformer.report.html.reading import Reading
from lit_transformer.report.html.table import Table


@dataclass(frozen=True)
class Figure:
    """A chart with its text alternative.

    Args:
        title: What is shown.
        spec: The chart, as Vega-Lite.
        description: What it looks like, for those who don't see it.
        table: Its numbers; None where they stand open below.
        note: What to keep in mind.
        full: Whether it needs a row of its own.
    """

    title: str
    spec: Mapping[str, Any]
    description: str
    table: Table | None
    note: str = ""
    full: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether it takes the width that there is, not one of its own."""
        return self.spec.get("width") == "container"


@dataclass(frozen=True)
class Examples:
    """Translations with and without a component.

    Args:
        title: Which component, and what it costs.
        sentences: The sentences.
    """

    title: str
    sentences: Sequence[Reading]


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Args:
        key: Its anchor.
        title: Its heading.
        lines: Paragraphs before anything else.
        figures: Charts; those of a section stand side by side where there is room.
        tables: Tables that stand open, with their titles.
        examples: Translations.
        facts: Names and what they are.
        commands: Command lines.
    """

    key: str
    title: str
    lines: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[tuple[str, Table]] = ()
    examples: Sequence[Examples] = ()
    facts: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()
