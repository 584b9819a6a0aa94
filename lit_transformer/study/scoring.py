"""Scores several checkpoints in one process: ``python -m lit_transformer.study.scoring``.

The libraries are loaded once. What is written is what `validate` and `test` write, by the same methods of the Trainer.
"""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser

from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.errors import UserError
from lit_transformer.runs.checkpoints import read_checkpoint, run_folder_of
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

PROGRAM = "lit_transformer.study.scoring"
SPLITS = ("validation", "test")


def score(path: Path, splits: Sequence[str], accelerator: str = "auto") -> None:
    """Translate and score splits with a checkpoint, and write translations and scores into its run's folder.

    Args:
        path: The checkpoint.
        splits: ``validation``, ``test`` or both.
        accelerator: Lightning's name of the device.

    Raises:
        UserError: The checkpoint or a split can't be read.
    """
    checkpoint = read_checkpoint(path)
    model = LitTransformer(**checkpoint["hyper_parameters"])
    settings = dict(checkpoint["datamodule_hyper_parameters"])
    # The tokenizer comes from the checkpoint itself; the file it once came from may be gone.
    settings["tokenizer"] = {**settings["tokenizer"], "model": None}
    data = TranslationDataModule(**settings)
    for split in splits:
        trainer = Trainer(
            accelerator=accelerator,
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=str(run_folder_of(path)),
        )
        command = trainer.validate if split == "validation" else trainer.test
        command(model, ckpt_path=str(path), datamodule=data, verbose=False)


def main(args: Sequence[str] | None = None) -> None:
    """Score checkpoints; what goes wrong with one ends in a line, and in exit status 2 when the others are scored.

    Args:
        args: The command line.
    """
    parser = ArgumentParser(prog=f"python -m {PROGRAM}", description=__doc__)
    parser.add_argument("checkpoints", nargs="+", type=str, help="Checkpoints to score.")
    parser.add_argument("--accelerator", type=str, default="auto", help="Lightning's name of the device.")
    parser.add_argument("--splits", type=list[str], default=list(SPLITS), help="Splits to score.")
    options = parser.parse_args(args)
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    messages = []
    for name in options.checkpoints:
        try:
            score(Path(name), options.splits, options.accelerator)
            print(f"{name}: scored", file=sys.stderr, flush=True)
        except UserError as error:
            messages.append(f"{name}: {error}")
        except Exception as error:
            # The others are scored all the same.
            traceback.print_exc()
            messages.append(f"{name}: {type(error).__name__}: {error}")
    if messages:
        for message in messages:
            print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main()
