"""The command line: ``lit-transformer`` or ``python -m lit_transformer``."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from lit_transformer.errors import FirstProcessGoneError, UserError
from lit_transformer.flags import EVERYWHERE
from lit_transformer.other_processes import leave_process_group, lost_connection
from lit_transformer.parser_messages import parser_line
from lit_transformer.signals import Terminated, ended_by_sigterm
from lit_transformer.terminal import QUIET, is_first_process, is_live, is_quiet
from lit_transformer.version import __version__

DEBUG = "LIT_TRANSFORMER_DEBUG"
# What Lightning says in every run, whatever happens in it.
NO_NEWS = (
    "Seed set to",
    "\nDetected KeyboardInterrupt",
    "GPU available: False",
    "TPU available: False",
    "💡 Tip",
    "Using bfloat16 Automatic",
    "Restoring states from",
    "Restored all states from",
    "Loaded model weights from",
    "Loading `train_dataloader` to estimate",
)
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
    _set_up_environment()
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
    _set_up_messages()
    if args[0] == "study":
        from lit_transformer.study.command import main as study

        study(args[1:], find_config)
        return
    if args[0] == "report":
        from lit_transformer.report.command import main as report

        report(args[1:])
        return
    from lit_transformer.cli import TransformerCLI

    _set_up_lightning_messages()
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


def message_for_user(error: BaseException) -> str | None:
    """Return the line to show for a mistake of the user, or None for a fault of the program."""
    from jsonargparse import ArgumentError
    from pytorch_lightning.utilities.exceptions import MisconfigurationException

    if isinstance(error, UserError):
        return str(error)
    # What a class of the configuration refuses comes as a ValueError of the parser, when it is made.
    if isinstance(error, (ArgumentError, MisconfigurationException, ValueError)):
        cause = error.__cause__ or error.__context__
        while cause is not None:
            if isinstance(cause, UserError):
                return str(cause)
            cause = cause.__cause__ or cause.__context__
    if isinstance(error, ArgumentError):
        return parser_line(str(error))
    return " ".join(str(error).split()) if isinstance(error, MisconfigurationException) else None


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


def _set_up_environment() -> None:
    """Set what libraries read when torch is loaded, unless the user has.

    Waiting threads spin for some microseconds and then sleep. By default they spin for milliseconds, which is harmless
    alone, but as soon as another program has one of two cores every operation waits for a time slice; never spinning
    makes a step of a small model half as slow again.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if is_quiet() or not is_live():
        # Their bars are drawn again and again, in a file too.
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    # A process that has lost the first one would show a page of addresses in C++ before our line.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def _set_up_messages() -> None:
    """Show our messages on standard error, and spare the user those that ask for nothing."""
    least = logging.WARNING if is_quiet() else logging.INFO
    for name in ("lit_transformer", "callbacks"):
        logger = logging.getLogger(name)
        logger.setLevel(least if is_first_process() else logging.ERROR)
        logger.propagate = False
        logger.handlers = [_MessageHandler()]
    for name in ("pytorch_lightning.utilities.rank_zero", "lightning_fabric.utilities.seed"):
        logging.getLogger(name).addFilter(_is_news)
    for message in (
        # Our own sums are over all processes already.
        ".*It is recommended to use `self.log.*sync_dist=True.*",
        ".*AMP with fp16 is not supported on CPU.*",
        ".*does not have many workers.*",
        ".*`isinstance.treespec, LeafSpec.` is deprecated.*",
        ".*Be aware that when using `ckpt_path`.*",
        ".*is smaller than the logging interval.*",
        ".*Checkpoint directory .* exists and is not empty.*",
        # In 16-mixed the first steps may be left out, because their gradients overflow; the schedule counts them.
        ".*Detected call of `lr_scheduler.step.*before `optimizer.step.*",
    ):
        warnings.filterwarnings("ignore", message=message)


def _set_up_lightning_messages() -> None:
    """Show Lightning's messages as ours; it sets up its own way when it is imported."""
    for name in ("pytorch_lightning", "lightning_fabric"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO if is_first_process() and not is_quiet() else logging.WARNING)
        logger.handlers = [_MessageHandler()]


class _MessageHandler(logging.Handler):
    """Writes to what is standard error now: a progress display lets messages come out above it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            # Nobody reads it any more, such as `2>&1 | head`: no reason to stop training.
            self.handleError(record)


def _is_news(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(NO_NEWS)


if __name__ == "__main__":
    main()
