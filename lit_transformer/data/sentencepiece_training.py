"""Training of a SentencePiece BPE model in memory, from the sentences of a corpus."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets


LOG_NOTHING = 5
"""A log level above all that SentencePiece's C++ side uses; what goes wrong arrives as an exception."""

_LOGGER = logging.getLogger(__name__)
_ROWS_A_BATCH = 1000
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")

Normalization = Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]


@dataclass(frozen=True)
class TokenizerSettings:
    """How the tokenizer is made.

    Args:
        vocab_size: Number of pieces, special ones included; with ``separate``, of each side.
        model: Path of an existing tokenizer (one of this program, or a SentencePiece ``.model`` file); the other
            settings are then not used.
        separate: One model for each language instead of a joint one.
        byte_fallback: Spell a character that has no piece by 256 byte pieces, so that no text is unknown.
        normalization: SentencePiece's rule: ``nmt_nfkc``, ``nfkc``, ``nmt_nfkc_cf``, ``nfkc_cf`` (cf: case folded) or
            ``identity``.
        character_coverage: Share of the characters of the text that get a piece of their own, above 0 and at most 1.
        max_line_bytes: Longer lines are left out of the training of the tokenizer (of nothing else), with a warning.
        max_sentences: Train on at most so many pairs, evenly spaced over the corpus.
    """

    vocab_size: int = 4000
    model: str | None = None
    separate: bool = False
    byte_fallback: bool = True
    normalization: Normalization = "nmt_nfkc"
    character_coverage: float = 1.0
    max_line_bytes: int = 4192
    max_sentences: int = 2_000_000


def sampled_lines(corpus: datasets.Dataset, column: str, settings: TokenizerSettings) -> Iterator[str]:
    """Yield the sentences of one side of the sampled pairs, those that are too long included.

    Args:
        corpus: Pairs with the text columns ``source`` and ``target``.
        column: ``source`` or ``target``.
        settings: Says how many pairs to sample.
    """
    pairs = len(corpus)
    if pairs > settings.max_sentences:
        corpus = corpus.select(np.arange(settings.max_sentences) * pairs // settings.max_sentences)
    for batch in corpus.select_columns([column]).with_format("arrow").iter(batch_size=_ROWS_A_BATCH):
        yield from batch[column].to_pylist()


def is_too_long(line: str, settings: TokenizerSettings) -> bool:
    """Tell whether SentencePiece would leave the line out without a word."""
    # No character has more than four bytes, so that hardly a line has to be encoded.
    return 4 * len(line) > settings.max_line_bytes and len(line.encode()) > settings.max_line_bytes


def report_long_lines(too_long: int, usable: int, side: str, settings: TokenizerSettings) -> None:
    """Warn of the lines that are too long to train the tokenizer on.

    Args:
        too_long: Number of lines above the limit.
        usable: Number of lines that are left and not blank.
        side: ``source``, ``target`` or ``source and target``.
        settings: Holds the limit.

    Raises:
        UserError: No line is left.
    """
    limit, flag = settings.max_line_bytes, "--data.tokenizer.max_line_bytes"
    if usable == 0:
        reason = f"all {too_long} lines are longer than {limit} bytes. Raise {flag}, or check"
        if not too_long:
            reason = "every line is blank. Check"
        raise UserError(f"there is no {side} text to train the tokenizer on: {reason} the training split.")
    if too_long:
        noun = "1 line" if too_long == 1 else f"{too_long} lines"
        _LOGGER.warning(
            "The tokenizer is trained without %s of the %s text longer than %d bytes; raise %s to use them.",
            *(noun, side, limit, flag),
        )


def train_model(lines: Iterator[str], side: str, settings: TokenizerSettings) -> bytes:
    """Return a serialised SentencePiece BPE model; the same lines and settings give the same bytes.

    Args:
        lines: Training text, without line separators.
        side: What the text is, for error messages: ``source``, ``target`` or ``source and target``.
        settings: How to train.

    Raises:
        UserError: The vocabulary is larger than the text allows or too small for its characters.
    """
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model, flag = io.BytesIO(), "--data.tokenizer.vocab_size"
    try:
        SentencePieceTrainer.train(
            sentence_iterator=(line for line in lines if not is_too_long(line, settings)),
            model_writer=model,
            model_type="bpe",
            vocab_size=settings.vocab_size,
            # With a soft limit a text that is too small ends in a smaller model, whose size is the largest possible.
            hard_vocab_limit=False,
            byte_fallback=settings.byte_fallback,
            normalization_rule_name=settings.normalization,
            character_coverage=settings.character_coverage,
            max_sentence_length=settings.max_line_bytes,
            minloglevel=LOG_NOTHING,
            pad_id=SPECIAL_IDS.pad,
            unk_id=SPECIAL_IDS.unk,
            bos_id=SPECIAL_IDS.bos,
            eos_id=SPECIAL_IDS.eos,
        )
    except RuntimeError as error:
        if required := _TOO_SMALL.search(str(error)):
            extra = " and the 256 byte pieces" if settings.byte_fallback else ""
            raise UserError(
                f"{flag} {settings.vocab_size} is too small: the characters of the {side} text{extra} need at least "
                f"{required[1]} pieces. Raise it, or lower --data.tokenizer.character_coverage."
            ) from error
        raise UserError(f"SentencePiece cannot train on the {side} text: {error}. Check --data.tokenizer.") from error
    size = SentencePieceProcessor(model_proto=model.getvalue()).get_piece_size()
    if size < settings.vocab_size:
        raise UserError(
            f"{flag} {settings.vocab_size} is larger than the {side} text allows; at most {size} pieces can be made of "
            f"it. Set {flag} {size} or less, or train on more text."
        )
    return model.getvalue()


def check_settings(settings: TokenizerSettings) -> None:
    """Raise a `UserError` for a value that no training could use."""
    flag = "--data.tokenizer"
    smallest = len(SPECIAL_IDS) + 1
    if settings.vocab_size < smallest:
        raise UserError(f"{flag}.vocab_size is {settings.vocab_size}; it must be at least {smallest}.")
    if not 0 < settings.character_coverage <= 1:
        raise UserError(
            f"{flag}.character_coverage is {settings.character_coverage}; it must be above 0 and at most 1."
        )
    for name in ("max_line_bytes", "max_sentences"):
        if getattr(settings, name) < 1:
            raise UserError(f"{flag}.{name} is {getattr(settings, name)}; it must be at least 1.")
