"""Find the configurations that `--config` names."""

from __future__ import annotations

from pathlib import Path

from lit_transformer.errors import UserError
from lit_transformer.runs.config import read_settings


def with_config_paths(args: list[str]) -> list[str]:
    """Replace the names of configurations by their files: as given, then in the checkout, then in the package.

    Raises:
        UserError: There is no such file; the message lists those that come with the program.
    """
    found = []
    is_config = False
    for arg in args:
        flag, equals, value = arg.partition("=")
        if is_config:
            found.append(str(find_config(arg)))
        elif flag in ("--config", "-c") and equals:
            found.append(f"{flag}={find_config(value)}")
        else:
            found.append(arg)
        is_config = not is_config and arg in ("--config", "-c")
    return found


def find_config(name: str) -> Path:
    """Return the file of a configuration.

    Raises:
        UserError: There is none, it can't be read, or it holds no settings.
    """
    package = Path(__file__).parents[1]
    folders = [Path(), package.parent / "configs", package / "configs"]
    for folder in folders:
        if (folder / name).is_file():
            # The parser's own message would not name the file.
            read_settings(folder / name, f"--config {str(folder / name)!r}")
            return folder / name
    shipped = sorted({path.name for folder in folders[1:] for path in folder.glob("*.yaml")})
    raise UserError(f"--config {name!r} is no file; give a path or one of {', '.join(shipped)}.")
