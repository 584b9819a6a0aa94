"""The command line: ``lit-transformer`` or ``python -m lit_transformer``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from lit_transformer.cli.configs import find_config, with_config_paths
from lit_transformer.cli.environment import set_up_environment, set_up_lightning_messages, set_up_messages
from lit_transformer.cli.parser_messages import message_for_user
from lit_transformer.cli.processes import leave_process_group, lost_connection
from lit_transformer.console.flags import EVERYWHERE
from lit_transformer.console.signals import Terminated, ended_by_sigterm
from lit_transformer.console.terminal import QUIET, is_first_process
from lit_transformer.errors import FirstProcessGoneError
from lit_transformer.version import __version__

DEBUG = "LIT_TRANSFORMER_DEBUG"
INTERRUPTED, TERMINATED = 130, 143
GOING_ON = {
    "fit": "fit --ckpt_path RUN goes on from its last checkpoint, if it has one",
    "analyze": "the same command goes on where it was",
    "study": "the same command goes on where it was",
}
COMMANDS = {
    "fit": "train a model",
    "validate": "score a checkpoint on the validation split, and write its translations",
    "test": "score a checkpoint on the test split, and write its translations",
    "predict": "translate a file or standard input, one sentence per line",
    "analyze": "score the components of a trained model",
    "report": "show what runs and studies found, as a page and pictures",
    "study": "compare pruned, rewound and fine-tuned models with their controls",
}


def main(args: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user ends it with one line on standard error and exit status 2.

    Args:
        args: The command line without the program's name.
    """
    args = list(sys.argv[1:] if args is None else args)
    if not args or args[0] in ("--help", "-h"):
        print(overview())
        return
    if args == ["--version"]:
        print(f"lit-transformer {__version__}")
        return
    for flag, variable in (("--debug", DEBUG), ("--quiet", QUIET)):
        if flag in args:
            args.remove(flag)
            # The processes that a command starts read it too.
            os.environ[variable] = "1"
    set_up_environment()
    try:
        with ended_by_sigterm():
            _run(with_config_paths(args))
    except (KeyboardInterrupt, SystemExit) as stop:
        status = status_of_signal(stop)
        if status is None or (status == INTERRUPTED and os.environ.get(DEBUG)):
            raise
        if is_first_process():
            what = "interrupted" if status == INTERRUPTED else "terminated"
            print(f"lit-transformer: {what}. What was written is whole; {_how_to_go_on(args[0])}.", file=sys.stderr)
        raise SystemExit(status) from None
    except Exception as error:
        lost = lost_connection(error)
        message = message_for_user(error) if lost is None else f"{lost}; {_how_to_go_on(args[0])}."
        if message is None or os.environ.get(DEBUG):
            raise
        # Once on each node: what is wrong may be wrong on one of them only. A process that is gone says nothing itself.
        if os.environ.get("LOCAL_RANK", "0") == "0" or lost or isinstance(error, FirstProcessGoneError):
            print(f"lit-transformer: error: {message}", file=sys.stderr)
        leave_process_group()
        raise SystemExit(2) from None
    leave_process_group()


def _run(args: list[str]) -> None:
    set_up_messages()
    if args[0] == "study":
        from lit_transformer.study.command import main as study

        study(args[1:], find_config)
        return
    if args[0] == "report":
        from lit_transformer.report.command import main as report

        report(args[1:])
        return
    from lit_transformer.cli.app import TransformerCLI

    set_up_lightning_messages()
    # LightningCLI and the processes that DDP starts read the command line themselves.
    sys.argv[1:] = args
    TransformerCLI()


def _how_to_go_on(command: str) -> str:
    return GOING_ON.get(command, "the same command starts again")


def status_of_signal(stop: BaseException) -> int | None:
    """Return the exit status of a command that Ctrl-C or a scheduler's SIGTERM ended; None for another end."""
    # Lightning answers the first with an exit of status 1, the second with one that would look like success.
    if isinstance(stop, KeyboardInterrupt) or isinstance(stop.__context__, KeyboardInterrupt):
        return INTERRUPTED
    # The second is Lightning's, which need not be loaded yet.
    return TERMINATED if isinstance(stop, Terminated) or type(stop).__name__ == "SIGTERMException" else None


def overview() -> str:
    """Return the help of the program itself, which must not wait for torch to be loaded."""
    commands = "\n".join(f"  {name:<9} {text}" for name, text in COMMANDS.items())
    return (
        "Train a translation Transformer and find out which of its sub-layers matter.\n\n"
        "usage: lit-transformer COMMAND [--config FILE]... [--OPTION VALUE]...\n\n"
        f"commands:\n{commands}\n\n"
        "lit-transformer COMMAND --help lists the options of a command, --print_config their values.\n"
        "A later --config and an option win over an earlier one.\n"
        f"{EVERYWHERE}"
    )


if __name__ == "__main__":
    main()
