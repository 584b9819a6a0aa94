"""SentencePiece models as one tokenizer: a joint one for both languages, or one each for source and target."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_transformer import files
from lit_transformer.data.sentencepiece_training import (
    LOG_NOTHING,
    TokenizerSettings,
    check_settings,
    is_too_long,
    report_long_lines,
    sampled_lines,
    train_model,
)
from lit_transformer.data.special_ids import SPECIAL_IDS
from lit_transformer.data.text_files import one_line
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets
    from sentencepiece import SentencePieceProcessor

_SPECIAL = SPECIAL_IDS._asdict()
_FORMAT = "lit-transformer tokenizer"
_VERSION = 1
_HOW_TO_TRAIN = (
    "Train one with spm_train --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3, or leave --data.tokenizer.model out and one "
    "is trained from the training split"
)


class Tokenizer:
    """Text to piece ids and back, by one SentencePiece model for both languages or by one for each.

    The file format: the first line is a JSON object, ``{"format": "lit-transformer tokenizer", "version": 1, "models":
    [{"side": "joint", "bytes": 371821}]}``, and the SentencePiece models (``.model`` files as SentencePiece writes
    them) follow one after the other. The sides are either ``joint`` alone, or ``source`` and ``target``.

    Args:
        models: One serialised SentencePiece model (joint), or two (source, target).

    Raises:
        UserError: A model is no SentencePiece model or has other ids for the special pieces.
    """

    def __init__(self, models: Sequence[bytes]) -> None:
        if len(models) not in (1, 2):
            raise ValueError(f"a tokenizer has one or two models, not {len(models)}")
        self._models = tuple(models)
        processors = [_processor(model) for model in self._models]
        self._source, self._target = processors[0], processors[-1]

    @property
    def shared(self) -> bool:
        """Whether one model serves both languages."""
        return len(self._models) == 1

    @property
    def source_vocab_size(self) -> int:
        """Number of pieces on the source side, special ones included."""
        return int(self._source.get_piece_size())

    @property
    def target_vocab_size(self) -> int:
        """Number of pieces on the target side, special ones included."""
        return int(self._target.get_piece_size())

    @property
    def digest(self) -> str:
        """SHA-256 of the models, in hexadecimal: another digest means other pieces."""
        return hashlib.sha256(b"".join(self._models)).hexdigest()

    def encode_source(self, texts: list[str]) -> list[list[int]]:
        """Return the piece ids of source sentences, without special pieces; never one for text such as ``</s>``."""
        return _encode(self._source, texts)

    def encode_target(self, texts: list[str]) -> list[list[int]]:
        """Return the piece ids of target sentences, without special pieces; never one for text such as ``</s>``."""
        return _encode(self._target, texts)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of target ids as one line.

        Args:
            ids: Piece ids of the target side; special ones are left out.

        Returns:
            Text without line separators (byte pieces can spell any character; a space takes the place of these) and
            without white space at either end.
        """
        pieces = [piece for piece in map(int, ids) if piece not in _SPECIAL.values()]
        return one_line(self._target.decode(pieces)).strip()

    def to_bytes(self) -> bytes:
        """Return the tokenizer in the file format described above."""
        sides = ["joint"] if self.shared else ["source", "target"]
        models = [{"side": side, "bytes": len(model)} for side, model in zip(sides, self._models, strict=True)]
        header = json.dumps({"format": _FORMAT, "version": _VERSION, "models": models})
        return header.encode() + b"\n" + b"".join(self._models)

    @classmethod
    def from_bytes(cls, content: bytes) -> Tokenizer:
        """Return the tokenizer that `to_bytes` wrote.

        Raises:
            UserError: The content is something else, or incomplete.
        """
        first, _, rest = content.partition(b"\n")
        try:
            header = json.loads(first)
            known = header["format"] == _FORMAT and header["version"] == _VERSION
            sides = [model["side"] for model in header["models"]]
            sizes = [int(model["bytes"]) for model in header["models"]]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"this is no tokenizer of this program. {_HOW_TO_TRAIN}.") from error
        if not known or sides not in (["joint"], ["source", "target"]):
            raise UserError(
                f"this is a tokenizer of another version ({header.get('version')!r}, models {sides}); this program "
                f"reads version {_VERSION} with one joint model or a source and a target model. {_HOW_TO_TRAIN}."
            )
        if len(rest) != sum(sizes):
            raise UserError(
                f"the tokenizer is damaged: {len(rest)} bytes of models instead of {sum(sizes)}. Copy it again."
            )
        return cls([rest[:size] if place == 0 else rest[-size:] for place, size in enumerate(sizes)])

    def save(self, path: Path | str) -> None:
        """Write the tokenizer, whole or not at all.

        Raises:
            UserError: The file can't be written.
        """
        files.write_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """Return the tokenizer of a file: one that `save` wrote, or a plain SentencePiece model, which is then joint.

        Raises:
            UserError: The file is missing, or neither of the two.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the tokenizer {str(path)!r}: {error.strerror}. Correct the path.") from error
        try:
            return cls.from_bytes(content) if content.startswith(b"{") else cls([content])
        except UserError as error:
            raise UserError(f"{str(path)!r}: {error}") from error

    def __reduce__(self) -> tuple[Callable[[bytes], Tokenizer], tuple[bytes]]:
        """Pickle as bytes, since SentencePiece's own objects differ from one process to the next."""
        return Tokenizer.from_bytes, (self.to_bytes(),)


def _processor(model: bytes) -> SentencePieceProcessor:
    from sentencepiece import SentencePieceProcessor, set_min_log_level

    set_min_log_level(LOG_NOTHING)
    try:
        if not model:
            raise RuntimeError("no content")  # SentencePiece takes no bytes for a model without pieces
        processor: Any = SentencePieceProcessor(model_proto=model)
        ids = {name: getattr(processor, f"{name}_id")() for name in _SPECIAL}
    except (RuntimeError, TypeError, OSError) as error:
        raise UserError(
            f"this is neither a tokenizer of this program nor a SentencePiece model. {_HOW_TO_TRAIN}."
        ) from error
    if ids != _SPECIAL:
        raise UserError(
            f"the SentencePiece model has the special pieces {ids}; they must be {_SPECIAL}. {_HOW_TO_TRAIN}."
        )
    return processor


def _encode(processor: SentencePieceProcessor, texts: list[str]) -> list[list[int]]:
    encoded: list[list[int]] = processor.encode(list(texts), out_type=int, num_threads=1)
    return encoded


def obtain_tokenizer(settings: TokenizerSettings, corpus: datasets.Dataset, cache_dir: Path) -> Tokenizer:
    """Return the tokenizer of a file, of the cache, or one that is trained now and kept in the cache.

    Args:
        settings: How it is made.
        corpus: The training pairs, with the text columns ``source`` and ``target``.
        cache_dir: Trained tokenizers are kept in its folder ``tokenizers``, by the digest of text and settings.

    Raises:
        UserError: The file is missing or no tokenizer, or a vocabulary of this size can't be made of the text.
    """
    if settings.model is not None:
        return Tokenizer.load(settings.model)
    check_settings(settings)
    sides = [("source",), ("target",)] if settings.separate else [("source", "target")]
    path = Path(cache_dir) / "tokenizers" / f"{_digest(settings, corpus, sides)}.model"
    if path.is_file():
        return Tokenizer.load(path)
    tokenizer = Tokenizer(
        [train_model(_lines(settings, corpus, columns), " and ".join(columns), settings) for columns in sides]
    )
    tokenizer.save(path)
    return tokenizer


def _lines(settings: TokenizerSettings, corpus: datasets.Dataset, columns: tuple[str, ...]) -> Iterator[str]:
    return itertools.chain.from_iterable(sampled_lines(corpus, column, settings) for column in columns)


def _digest(settings: TokenizerSettings, corpus: datasets.Dataset, sides: Sequence[tuple[str, ...]]) -> str:
    """Return the digest of settings and sampled text, and report lines that are too long on the way."""
    import sentencepiece

    shaping = dataclasses.replace(settings, model=None, max_sentences=0)
    digest = hashlib.sha256(repr((sentencepiece.__version__, dataclasses.astuple(shaping))).encode())
    for columns in sides:
        too_long = usable = 0
        for line in _lines(settings, corpus, columns):
            digest.update(line.encode() + b"\n")
            if is_too_long(line, settings):
                too_long += 1
            else:
                usable += not line.isspace() and bool(line)
        digest.update(b"\n\n")
        report_long_lines(too_long, usable, " and ".join(columns), settings)
    return digest.hexdigest()
