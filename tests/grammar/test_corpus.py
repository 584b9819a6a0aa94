"""The grammar corpus as a corpus: splits, sizes, seeds, and that translation is a function."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import islice, pairwise, permutations

import pytest

from lit_transformer.errors import UserError
from lit_transformer.grammar import LANGUAGES, LARGEST, PHENOMENA, GrammarPair, english, french, generate, german
from lit_transformer.grammar.phenomena import describe
from lit_transformer.grammar.random_sentences import RandomSentences


def made(source: str, target: str, split: str, size: int, seed: int = 1) -> list[GrammarPair]:
    return list(generate(source, target, split, size, seed))


@pytest.fixture(scope="module")
def training() -> list[GrammarPair]:
    return made("en", "de", "train", 20_000)


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en", "fr"), ("de", "fr")])
def test_word_counts(source: str, target: str) -> None:
    lengths = [len(text.split()) for pair in made(source, target, "train", 3000) for text in pair[:2]]
    assert min(lengths) >= 4
    assert max(lengths) <= 18
    assert {4, 18} <= set(lengths)


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_is_tidy(language: str) -> None:
    other = "en" if language != "en" else "de"
    for pair in made(language, other, "train", 3000):
        text = pair.source
        assert text == " ".join(text.split())
        assert text[0].isupper()
        assert text.endswith((".", " ?" if language == "fr" else "?"))
        assert not any(pattern in text for pattern in (",,", " ,", ",.", " .", "--", "- "))


def test_french_is_elided_and_contracted() -> None:
    small = {"je", "ne", "me", "te", "le", "la", "de", "que"}
    for pair in made("en", "fr", "train", 5000):
        words = pair.target.lower().split()
        for first, second in pairwise(words):
            assert not (first in small and second[0] in "aeiouyhéèêâàœ"), pair.target
            assert not (first == "si" and second in ("il", "ils")), pair.target
            assert (first, second) != ("de", "les"), pair.target


def test_same_arguments_give_the_same_pairs() -> None:
    assert made("en", "de", "train", 500, 7) == made("en", "de", "train", 500, 7)


def test_pairs_do_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = (
        "import hashlib;from lit_transformer.grammar import generate;"
        "print(hashlib.sha256(repr(list(generate('en','de','test',300,1))).encode()).hexdigest())"
    )
    here = hashlib.sha256(repr(made("en", "de", "test", 300)).encode()).hexdigest()
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert there.stdout.strip() == here


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_smaller_split_begins_a_larger_one(split: str) -> None:
    assert made("en", "fr", split, 300)[:100] == made("en", "fr", split, 100)


def test_seed_changes_training_alone() -> None:
    assert made("en", "de", "train", 200, 1) != made("en", "de", "train", 200, 2)
    for split in ("validation", "test"):
        assert made("en", "de", split, 200, 1) == made("en", "de", split, 200, 2)


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("fr", "en"), ("de", "fr")])
def test_no_text_of_one_split_is_in_another(source: str, target: str) -> None:
    held_out = {split: made(source, target, split, 1500) for split in ("validation", "test")}
    train = [*made(source, target, "train", 8000, 1), *made(source, target, "train", 8000, -5)]
    for side in (0, 1):
        texts = {split: {pair[side] for pair in pairs} for split, pairs in held_out.items()}
        assert not texts["validation"] & texts["test"]
        assert not {pair[side] for pair in train} & (texts["validation"] | texts["test"])


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_no_text_twice_in_a_split(split: str) -> None:
    pairs = made("en", "de", split, 3000)
    assert len({pair.source for pair in pairs}) == len({pair.target for pair in pairs}) == 3000


def test_translation_is_a_function_in_all_directions() -> None:
    sampler = RandomSentences(random.Random("function"))
    languages = (english, german, french)
    seen: dict[tuple[int, int, str], str] = {}
    keys: dict[tuple[int, str], str] = {}
    for _ in range(20_000):
        sentence = sampler.sentence()
        texts = tuple(language.realise(sentence) for language in languages)
        key = describe(sentence)[1]
        for first, second in permutations(range(3), 2):
            assert seen.setdefault((first, second, texts[first]), texts[second]) == texts[second], texts[first]
        for index, text in enumerate(texts):
            assert keys.setdefault((index, text), key) == key, text


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en", "fr"), ("de", "fr")])
def test_other_direction_gives_the_same_pairs_swapped(source: str, target: str) -> None:
    there, back = made(source, target, "train", 500), made(target, source, "train", 500)
    assert [(pair.target, pair.source, pair.phenomena) for pair in back] == there


def test_every_phenomenon_occurs_often(training: list[GrammarPair]) -> None:
    counts = Counter(name for pair in training for name in pair.phenomena)
    assert set(counts) == set(PHENOMENA)
    assert min(counts.values()) >= 400, counts.most_common()[-3:]


def test_held_out_splits_have_every_phenomenon() -> None:
    for split in ("validation", "test"):
        counts = Counter(name for pair in made("en", "de", split, 500) for name in pair.phenomena)
        assert set(counts) == set(PHENOMENA)
        assert min(counts.values()) >= 5, counts.most_common()[-3:]


def test_phenomena_are_sorted_and_known(training: list[GrammarPair]) -> None:
    for pair in training[:2000]:
        assert list(pair.phenomena) == sorted(set(pair.phenomena))
        assert set(pair.phenomena) <= set(PHENOMENA)


def test_a_few_hundred_words(training: list[GrammarPair]) -> None:
    words = {word.strip(".,?").lower() for pair in training for word in pair.source.split()}
    assert 400 <= len(words) <= 900


def test_held_out_words_occur_in_training(training: list[GrammarPair]) -> None:
    test = made("en", "de", "test", 500)
    for before, after in (
        ([pair.source for pair in training], [pair.source for pair in test]),
        ([pair.target for pair in training], [pair.target for pair in test]),
    ):
        known = {word.strip(".,?") for text in before for word in text.split()}
        held_out = [word.strip(".,?") for text in after for word in text.split()]
        assert sum(word not in known for word in held_out) <= len(held_out) / 500


@pytest.mark.parametrize(
    ("source", "target", "bad"), [("en", "es", "'es'"), ("xx", "de", "'xx'"), ("de", "de", "'de'")]
)
def test_languages_that_do_not_fit(source: str, target: str, bad: str) -> None:
    with pytest.raises(UserError, match=f"{bad}.*en, de, fr"):
        generate(source, target, "train", 10, 1)


def test_unknown_split() -> None:
    with pytest.raises(UserError, match=r"'dev'.*train, validation, test"):
        generate("en", "de", "dev", 10, 1)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("too", ["many", "few"])
def test_sizes_that_do_not_exist(split: str, too: str) -> None:
    size = LARGEST[split] + 1 if too == "many" else 0
    with pytest.raises(UserError, match=rf"{split}_size is {size}.*{LARGEST[split]}"):
        generate("en", "de", split, size, 1)


def test_largest_size_is_accepted() -> None:
    assert len(list(islice(generate("en", "de", "train", LARGEST["train"], 1), 5))) == 5
