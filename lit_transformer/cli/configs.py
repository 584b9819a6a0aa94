"""Find the configurations that `--config` names."""

from __future__ import annotations

from pathlib import Path

from lit_transformer.errors import UserError


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
        UserError: There is none.
    """
    package = Path(__file__).parents[1]
    folders = [Path(), package.parent / "configs", package / "configs"]
    for folder in folders:
        if (folder / name).is_file():
            check_config(folder / name)
            return folder / name
    shipped = sorted({path.name for folder in folders[1:] for path in folder.glob("*.yaml")})
    raise UserError(f"--config {name!r} is no file; give a path or one of {', '.join(shipped)}.")


def check_config(path: Path) -> None:
    """Refuse a file that holds no settings; the parser's own message would not name it.

    Raises:
        UserError: The file can't be read, or is no YAML or another kind of YAML.
    """
    import yaml

    name = f"--config {str(path)!r}"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name} cannot be read: {error}. Give a YAML file in UTF-8.") from error
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = "" if place is None else f", line {place.line + 1}"
        raise UserError(f"{name}{line} is no YAML: {getattr(error, 'problem', error)}. Correct the file.") from error
    if content is not None and not isinstance(content, dict):
        raise UserError(f"{name} holds {type(content).__name__}, not settings; write lines such as 'name: demo'.")
