"""Set up environment variables, log messages and warnings of a command."""

from __future__ import annotations

import logging
import os
import sys
import warnings

from lit_transformer.console.terminal import is_first_process, is_live, is_quiet

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


def set_up_environment() -> None:
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


def set_up_messages() -> None:
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


def set_up_lightning_messages() -> None:
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
