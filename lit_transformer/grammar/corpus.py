"""Sentence pairs of the built-in grammar corpus, split by split."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lit_transformer.errors import UserError
from lit_transformer.grammar import english, french, german
from lit_transformer.grammar.abstract_syntax import Sentence
from lit_transformer.grammar.phenomena import describe

LANGUAGES: tuple[str, ...] = ("en", "de", "fr")
"""The languages of the grammar."""

SPLITS: tuple[str, ...] = ("train", "validation", "test")
"""The splits."""

LARGEST: dict[str, int] = {"train": 3_000_000, "validation": 20_000, "test": 20_000}
"""The largest size of each split."""

SHORTEST, LONGEST = 4, 18
"""The least and the greatest number of words, separated by white space, of a sentence on either side."""

_REALISE: dict[str, Callable[[Sentence], str]] = {"en": english.realise, "de": german.realise, "fr": french.realise}


class GrammarPair(NamedTuple):
    """A sentence, its translation, and the phenomena in it (names from ``PHENOMENA``, in alphabetical order)."""

    source: str
    target: str
    phenomena: tuple[str, ...]


def split_of(key: str) -> str:
    """Return the split that a sentence belongs to; one in twenty is validation, one in twenty test.

    Args:
        key: The key of the sentence, see ``describe``.
    """
    place = hashlib.blake2b(key.encode("utf-8"), digest_size=1).digest()[0]
    return "validation" if place < 13 else "test" if place < 26 else "train"


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()


def _fits(text: str) -> bool:
    return SHORTEST <= text.count(" ") + 1 <= LONGEST


def _check(source_language: str, target_language: str, split: str, size: int) -> None:
    for flag, language in (("source_language", source_language), ("target_language", target_language)):
        if language not in LANGUAGES:
            raise UserError(
                f"--data.{flag} is {language!r}, but the languages of the grammar corpus are {', '.join(LANGUAGES)}. "
                "Choose one of these, or another dataset."
            )
    if source_language == target_language:
        raise UserError(
            f"--data.source_language and --data.target_language are both {source_language!r}. "
            f"Choose two different ones of {', '.join(LANGUAGES)}."
        )
    if split not in SPLITS:
        raise UserError(f"the grammar corpus has no split {split!r}. Choose one of {', '.join(SPLITS)}.")
    if not 1 <= size <= LARGEST[split]:
        raise UserError(
            f"--data.{split}_size is {size!r}, but the {split} split of the grammar corpus has from 1 to "
            f"{LARGEST[split]} pairs. Choose a size in this range."
        )


def generate(source_language: str, target_language: str, split: str, size: int, seed: int) -> Iterator[GrammarPair]:
    """Generate the pairs of one split.

    The seed decides which sentences are drawn for training, and nothing else: validation and test are the same for
    every seed and training size, so that scores of different runs can be compared. A smaller split is the beginning
    of a larger one. Which split a sentence may be in depends on its words alone, so no sentence of validation or
    test, on either side, is ever in training. No text occurs twice in a split, on either side. The same arguments
    give the same pairs on every machine.

    Args:
        source_language: ``en``, ``de`` or ``fr``.
        target_language: Another one of these.
        split: ``train``, ``validation`` or ``test``.
        size: The number of pairs.
        seed: Any integer.

    Returns:
        An iterator over ``size`` pairs.

    Raises:
        UserError: An unknown or repeated language, an unknown split, or a size that the split does not have.
    """
    _check(source_language, target_language, split, size)
    return _pairs(source_language, target_language, split, size, seed)


def _pairs(source_language: str, target_language: str, split: str, size: int, seed: int) -> Iterator[GrammarPair]:
    # Not before the first pair is asked for: the word lists are read when it is imported.
    from lit_transformer.grammar.random_sentences import RandomSentences

    name = f"{split} {seed}" if split == "train" else split
    sentences = RandomSentences(random.Random(name))
    to_source, to_target = _REALISE[source_language], _REALISE[target_language]
    seen_sources: set[bytes] = set()
    seen_targets: set[bytes] = set()
    made = 0
    while made < size:
        sentence = sentences.sentence()
        phenomena, key = describe(sentence)
        if split_of(key) != split:
            continue
        source = to_source(sentence)
        source_digest = _digest(source)
        if not _fits(source) or source_digest in seen_sources:
            continue
        target = to_target(sentence)
        target_digest = _digest(target)
        if not _fits(target) or target_digest in seen_targets:
            continue
        seen_sources.add(source_digest)
        seen_targets.add(target_digest)
        made += 1
        yield GrammarPair(source, target, phenomena)
