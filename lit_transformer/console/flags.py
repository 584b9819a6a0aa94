"""Boolean options as plain flags: ``--dry_run`` means ``--dry_run true``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

EVERYWHERE = "--quiet shows nothing but translations, warnings and errors; --debug shows where an error comes from."
"""The flags that every command has, as its help shows them."""


def accept_flags(parser: ArgumentParser, classes: Collection[str] = ()) -> None:
    """Let a parser's boolean options stand without a value, which then is true; a value is still accepted.

    Args:
        parser: The parser; changed.
        classes: Options whose values are classes with options of their own, such as ``trainer.callbacks``. Their types
            are known only when the command line is parsed; true is then refused where it is no value.

    Example:
        >>> from jsonargparse import ArgumentParser
        >>> parser = ArgumentParser()
        >>> action = parser.add_argument("--dry_run", type=bool, default=False)
        >>> accept_flags(parser)
        >>> [parser.parse_args(typed).dry_run for typed in ([], ["--dry_run"], ["--dry_run", "false"])]
        [False, True, False]
    """
    for action in parser._actions:
        typehint = getattr(action, "_typehint", None)
        is_boolean = typehint is bool or bool in get_args(typehint)
        if action.option_strings and (is_boolean or action.dest in classes) and not action.dest.endswith(".help"):
            action.nargs, action.const = "?", "true"
