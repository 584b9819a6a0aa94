"""Corpora: pairs of sentences of two languages, whatever they come from, as one kind of memory-mapped table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lit_transformer.data.cache import fingerprint_of, generated_table, quiet_datasets
from lit_transformer.data.named_datasets import load_named_dataset
from lit_transformer.data.pair_files import load_pair_files
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets

Split = Literal["train", "validation", "test"]

GRAMMAR = "grammar"
"""The value of ``CorpusSettings.dataset`` that stands for the built-in grammar corpus."""

_GRAMMAR_SIZES = {"train": 20_000, "validation": 500, "test": 500}


@dataclass(frozen=True)
class CorpusSettings:
    """Where the pairs of sentences come from.

    Args:
        source_language: Code of the language to translate from, such as ``en``.
        target_language: Code of the language to translate into.
        dataset: ``grammar`` for the built-in corpus, a Hugging Face data set (name or local folder; ``./grammar`` for a
            folder of that name), or None for files.
        dataset_config: Configuration of a Hugging Face data set, such as ``de-en``.
        dir: Folder put before relative file names.
        train: File of the training pairs, or name of the split of a Hugging Face data set. In a file name ``{lang}``
            stands for the language code (two aligned text files, plain or .gz); a single file is .tsv, .jsonl, .json or
            .parquet.
        validation: The same for the validation pairs.
        test: The same for the test pairs.
        train_size: Only the first so many training pairs; for the grammar corpus, the number made (20,000 if None).
        validation_size: The same for validation (grammar: 500).
        test_size: The same for test (grammar: 500).
        seed: Seed of the grammar corpus.
    """

    source_language: str = "en"
    target_language: str = "de"
    dataset: str | None = GRAMMAR
    dataset_config: str | None = None
    dir: str | None = None
    train: str | None = None
    validation: str | None = None
    test: str | None = None
    train_size: int | None = None
    validation_size: int | None = None
    test_size: int | None = None
    seed: int = 1


def load_corpus(settings: CorpusSettings, split: Split) -> datasets.Dataset:
    """Return the pairs of one split, memory-mapped, in the order of their source.

    Every pair is kept, also one with an empty side. The table is made once; another process or a later run with the
    same settings and unchanged files finds it.

    Args:
        settings: Where the pairs come from.
        split: Which of the three splits.

    Returns:
        A table with the text columns ``source`` and ``target``, in which no sentence holds a line separator; for the
        grammar corpus also ``phenomena``, a list of names.

    Raises:
        UserError: The settings contradict each other, or the corpus is missing, unreadable or empty.
    """
    given, size = _checked(settings, split)
    flag = f"--data.{split}"
    source, target = settings.source_language, settings.target_language
    if settings.dataset is None:
        if given is None:
            raise UserError(
                f"there is no file for the split {split!r}: give {flag}, such as {split}.{{lang}}.gz, or name a data "
                f"set with --data.dataset ({GRAMMAR!r} is built in)."
            )
        corpus = load_pair_files(given, settings.dir, flag, source, target, size)
    elif settings.dataset == GRAMMAR:
        corpus = _grammar_corpus(settings, split, _GRAMMAR_SIZES[split] if size is None else size)
    else:
        name, config = settings.dataset, settings.dataset_config
        corpus = load_named_dataset(name, config, given or split, flag, source, target, size)
    if len(corpus) == 0:
        raise UserError(
            f"the split {split!r} of {_described(settings, given)} is empty. Give {flag} at least one pair."
        )
    return corpus


def _checked(settings: CorpusSettings, split: Split) -> tuple[str | None, int | None]:
    """Return the file or split name and the size of one split, after a look at the settings as a whole."""
    if settings.source_language == settings.target_language:
        raise UserError(
            f"--data.source_language and --data.target_language are both {settings.source_language!r}; give two codes."
        )
    sizes = {"train": settings.train_size, "validation": settings.validation_size, "test": settings.test_size}
    names = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise UserError(f"--data.{name}_size is {size}; it must be at least 1, or null for all pairs.")
    files = [f"--data.{name} {value!r}" for name, value in names.items() if value is not None]
    places = {"dir": settings.dir, "dataset_config": settings.dataset_config}
    files += [f"--data.{name} {value!r}" for name, value in places.items() if value is not None]
    if settings.dataset == GRAMMAR and files:
        raise UserError(
            f"{', '.join(files)}: the built-in grammar corpus has no files and no configurations. To read files, leave "
            "--data.dataset out (or give --data.dataset null) and name them with --data.train, --data.validation and "
            "--data.test; to read a Hugging Face data set, name it with --data.dataset."
        )
    return names[split], sizes[split]


def _described(settings: CorpusSettings, given: str | None) -> str:
    if settings.dataset is None:
        return repr(given)
    return f"data set {settings.dataset!r}"


def _grammar_corpus(settings: CorpusSettings, split: Split, size: int) -> datasets.Dataset:
    from lit_transformer import grammar

    source, target = settings.source_language, settings.target_language
    unknown = [language for language in (source, target) if language not in grammar.LANGUAGES]
    if unknown:
        raise UserError(
            f"the grammar corpus has no language {unknown[0]!r}; it has {', '.join(grammar.LANGUAGES)}. Set "
            "--data.source_language and --data.target_language to two of these."
        )

    def rows() -> Iterator[dict[str, Any]]:
        for pair in grammar.generate(source, target, split, size, settings.seed):
            yield {"source": pair.source, "target": pair.target, "phenomena": list(pair.phenomena)}

    library = quiet_datasets()
    text = library.Value("string")
    features = library.Features({"source": text, "target": text, "phenomena": library.List(text)})
    # Rules and words are part of the key, so that a changed grammar never meets an old table.
    files = sorted(path for path in Path(grammar.__file__).parent.rglob("*") if path.suffix in (".py", ".tsv"))
    rules = [path.read_text(encoding="utf-8") for path in files]
    return generated_table(rows, features, fingerprint_of("grammar", rules, source, target, split, size, settings.seed))
