"""The command line: ``lit-transformer`` or ``python -m lit_transformer``."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from lit_transformer.errors import UserError

DEBUG = "LIT_TRANSFORMER_DEBUG"


def main(args: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user ends it with one line on standard error and exit status 2.

    Args:
        args: The command line without the program's name.
    """
    args = list(sys.argv[1:] if args is None else args)
    if "--debug" in args:
        args.remove("--debug")
        os.environ[DEBUG] = "1"
    # Read by OpenMP when torch is loaded. Threads that spin while they wait cost 8 ms an operation, in place of
    # 0.04 ms, as soon as another program has one of two cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        args = with_config_paths(args)
        _set_up_messages()
        from lit_transformer.cli import TransformerCLI

        # LightningCLI and the processes that DDP starts read the command line themselves.
        sys.argv[1:] = args
        TransformerCLI()
    except Exception as error:
        message = message_for_user(error)
        if message is None or os.environ.get(DEBUG):
            raise
        if os.environ.get("LOCAL_RANK", "0") == "0":
            print(f"lit-transformer: error: {message}", file=sys.stderr)
        raise SystemExit(2) from None


def message_for_user(error: BaseException) -> str | None:
    """Return the line to show for a mistake of the user, or None for a fault of the program."""
    from jsonargparse import ArgumentError
    from pytorch_lightning.utilities.exceptions import MisconfigurationException

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, (ArgumentError, MisconfigurationException)):
        cause = error.__cause__ or error.__context__
        while cause is not None:
            if isinstance(cause, UserError):
                return str(cause)
            cause = cause.__cause__ or cause.__context__
        return " ".join(str(error).split())
    return None


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
    package = Path(__file__).parent
    folders = [Path(), package.parent / "configs", package / "configs"]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    shipped = sorted({path.name for folder in folders[1:] for path in folder.glob("*.yaml")})
    raise UserError(f"--config {name!r} is no file; give a path or one of {', '.join(shipped)}.")


def _set_up_messages() -> None:
    """Show our messages on standard error, and spare the user those that ask for nothing."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    first = os.environ.get("LOCAL_RANK", "0") == "0" and os.environ.get("RANK", "0") == "0"
    for name in ("lit_transformer", "callbacks"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO if first else logging.ERROR)
        logger.propagate = False
        logger.handlers = [handler]
    for message in (
        ".*does not have many workers.*",
        ".*`isinstance.treespec, LeafSpec.` is deprecated.*",
        ".*Be aware that when using `ckpt_path`.*",
        ".*is smaller than the logging interval.*",
        ".*Checkpoint directory .* exists and is not empty.*",
    ):
        warnings.filterwarnings("ignore", message=message)


if __name__ == "__main__":
    main()
