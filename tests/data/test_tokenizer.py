from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import logging
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
import sentencepiece

from lit_transformer.data import tokenizer as tokenizer_module
from lit_transformer.data.sentencepiece_training import train_model
from lit_transformer.data.text_files import LINE_SEPARATORS
from lit_transformer.data.tokenizer import Tokenizer, TokenizerSettings, obtain_tokenizer
from lit_transformer.errors import UserError

SPECIAL = {0, 1, 2, 3}
SOURCE = ["the cat sat on the mat", "a dog ran fast", "no idea at all"] * 20
TARGET = ["die Katze saß auf der Matte", "ein Hund lief schnell", "überhaupt keine Ahnung"] * 20
SETTINGS = TokenizerSettings(vocab_size=330)


def corpus_of(source: list[str], target: list[str]) -> datasets.Dataset:
    return datasets.Dataset.from_dict({"source": source, "target": target})


CORPUS = corpus_of(SOURCE, TARGET)


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return obtain_tokenizer(SETTINGS, CORPUS, tmp_path_factory.mktemp("cache"))


def plain_model(model_type: str, **ids: int) -> bytes:
    """Train a model with SentencePiece alone, as someone else would."""
    model = io.BytesIO()
    options: dict[str, Any] = {"vocab_size": 40, "minloglevel": 5, "model_type": model_type, **ids}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SOURCE + TARGET), model_writer=model, **options)
    return model.getvalue()


class TestIds:
    def test_special_pieces(self, joint: Tokenizer) -> None:
        processor = sentencepiece.SentencePieceProcessor(model_proto=joint.to_bytes().partition(b"\n")[2])
        assert [processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()] == [0, 1, 2, 3]
        assert joint.source_vocab_size == joint.target_vocab_size == processor.get_piece_size() == 330
        assert joint.shared

    def test_text_of_the_corpus_comes_back(self, joint: Tokenizer) -> None:
        for encode, texts in ((joint.encode_source, SOURCE), (joint.encode_target, TARGET)):
            assert [joint.decode(ids) for ids in encode(texts)] == texts

    def test_no_special_piece_from_text(self, joint: Tokenizer) -> None:
        texts = ["<s> the </s>", "<pad><unk>", " ⁇ ", "snow ☃ and 漢字", "\x00\x01", "<0x0A>", "▁"]
        for ids in joint.encode_source(texts) + joint.encode_target(texts):
            assert not SPECIAL & set(ids)
        assert joint.decode(joint.encode_source(["snow ☃ and 漢字"])[0]) == "snow ☃ and 漢字"
        assert joint.decode(joint.encode_source(["<s> the </s>"])[0]) == "<s> the </s>"

    @pytest.mark.parametrize("blank", ["", "  ", "\t", "\u00a0", "\u2028"])
    def test_a_blank_line_has_no_pieces(self, joint: Tokenizer, blank: str) -> None:
        assert joint.encode_source([blank]) == [[]]

    def test_without_byte_fallback_strange_characters_are_unknown_and_not_written(self, tmp_path: Path) -> None:
        settings = dataclasses.replace(SETTINGS, vocab_size=60, byte_fallback=False)
        tokenizer = obtain_tokenizer(settings, CORPUS, tmp_path)
        ids = tokenizer.encode_source(["the ☃ cat"])[0]
        assert 1 in ids
        assert tokenizer.decode(ids).split() == ["the", "cat"]


class TestDecode:
    def test_special_pieces_are_left_out(self, joint: Tokenizer) -> None:
        ids = joint.encode_target(["ein Hund"])[0]
        assert joint.decode([2, *ids, 3, 0, 0]) == "ein Hund"
        assert joint.decode([ids[0], 1, *ids[1:]]) == "ein Hund"
        assert joint.decode([]) == joint.decode([0, 1, 2, 3]) == ""

    @pytest.mark.parametrize("character", [*LINE_SEPARATORS, "\x00"])
    def test_bytes_that_spell_a_separator_become_a_space(self, joint: Tokenizer, character: str) -> None:
        # With byte fallback the 256 byte pieces follow the special ones.
        spelled = [4 + byte for byte in character.encode()]
        word = joint.encode_target(["Hund"])[0]
        assert joint.decode([*word, *spelled, *word]).split() == ["Hund", "Hund"]
        assert joint.decode([*spelled, *word, *spelled]) == "Hund"

    def test_any_ids_give_one_line(self, joint: Tokenizer) -> None:
        draw = random.Random(3)
        for _ in range(300):
            text = joint.decode([draw.randrange(330) for _ in range(40)])
            assert len(text.splitlines()) <= 1
            assert text == text.strip()
            assert text.encode().decode() == text
            assert "</s>" not in text


class TestSeparate:
    def test_each_side_has_its_own_model(self, tmp_path: Path) -> None:
        settings = dataclasses.replace(SETTINGS, separate=True, vocab_size=300)
        tokenizer = obtain_tokenizer(settings, CORPUS, tmp_path)
        assert not tokenizer.shared
        assert tokenizer.encode_source(SOURCE[:1]) != tokenizer.encode_target(SOURCE[:1])
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_target(TARGET)] == TARGET

    def test_sizes_may_differ_and_survive_a_file(self, tmp_path: Path) -> None:
        models = [train_model(iter(SOURCE), "source", dataclasses.replace(SETTINGS, vocab_size=300))]
        models.append(train_model(iter(TARGET), "target", dataclasses.replace(SETTINGS, vocab_size=320)))
        tokenizer = Tokenizer(models)
        tokenizer.save(tmp_path / "t.model")
        again = Tokenizer.load(tmp_path / "t.model")
        assert (again.source_vocab_size, again.target_vocab_size, again.shared) == (300, 320, False)
        assert again.digest == tokenizer.digest
        assert again.encode_source(SOURCE) == tokenizer.encode_source(SOURCE)
        assert again.encode_target(TARGET) == tokenizer.encode_target(TARGET)


class TestFiles:
    def test_bytes_file_and_pickle_keep_everything(self, joint: Tokenizer, tmp_path: Path) -> None:
        joint.save(tmp_path / "t.model")
        for copy in (
            Tokenizer.from_bytes(joint.to_bytes()),
            Tokenizer.load(tmp_path / "t.model"),
            pickle.loads(pickle.dumps(joint)),
        ):
            assert copy.to_bytes() == joint.to_bytes()
            assert copy.digest == joint.digest
            assert copy.encode_source(SOURCE) == joint.encode_source(SOURCE)

    def test_the_digest_is_that_of_the_model(self, joint: Tokenizer) -> None:
        assert joint.digest == hashlib.sha256(joint.to_bytes().partition(b"\n")[2]).hexdigest()

    def test_a_model_made_elsewhere(self, tmp_path: Path) -> None:
        (tmp_path / "m.model").write_bytes(plain_model("unigram", pad_id=0, unk_id=1, bos_id=2, eos_id=3))
        tokenizer = obtain_tokenizer(TokenizerSettings(model=str(tmp_path / "m.model")), CORPUS, tmp_path)
        assert tokenizer.shared
        assert tokenizer.source_vocab_size == 40
        assert tokenizer.decode(tokenizer.encode_target(TARGET[:1])[0]) == TARGET[0]

    def test_a_model_with_other_special_ids(self, tmp_path: Path) -> None:
        (tmp_path / "m.model").write_bytes(plain_model("bpe"))
        with pytest.raises(UserError, match=r"m\.model.*'pad': -1, 'unk': 0.*must be .*'pad': 0.*spm_train --pad_id=0"):
            Tokenizer.load(tmp_path / "m.model")

    @pytest.mark.parametrize("content", [b"", b"hello\n", b"\n\x05abcde", b'{"a": 1}\n', b"{\n", b"[1]", b"\x1f\x8b"])
    def test_what_is_no_tokenizer(self, tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "no.model").write_bytes(content)
        with pytest.raises(UserError, match=r"no\.model.*(no|neither a) tokenizer of this program"):
            Tokenizer.load(tmp_path / "no.model")
        assert capfd.readouterr().err == ""

    def test_a_cut_or_newer_file(self, joint: Tokenizer, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="damaged"):
            Tokenizer.from_bytes(joint.to_bytes()[:-1])
        with pytest.raises(UserError, match="another version"):
            Tokenizer.from_bytes(joint.to_bytes().replace(b'"version": 1', b'"version": 2', 1))
        with pytest.raises(UserError, match=r"cannot read the tokenizer .*none\.model"):
            Tokenizer.load(tmp_path / "none.model")


class TestVocabularySize:
    @pytest.mark.parametrize("byte_fallback", [True, False])
    def test_too_large_names_the_largest_that_works(self, tmp_path: Path, byte_fallback: bool) -> None:
        settings = TokenizerSettings(vocab_size=4000, byte_fallback=byte_fallback)
        with pytest.raises(UserError, match=r"--data\.tokenizer\.vocab_size 4000 .* at most (\d+) pieces") as raised:
            obtain_tokenizer(settings, CORPUS, tmp_path)
        largest = int(str(raised.value).split("at most ")[1].split()[0])
        tokenizer = obtain_tokenizer(dataclasses.replace(settings, vocab_size=largest), CORPUS, tmp_path)
        assert tokenizer.source_vocab_size == largest
        with pytest.raises(UserError, match=f"at most {largest} pieces"):
            obtain_tokenizer(dataclasses.replace(settings, vocab_size=largest + 1), CORPUS, tmp_path)

    @pytest.mark.parametrize("byte_fallback", [True, False])
    def test_too_small_names_the_smallest_that_works(self, tmp_path: Path, byte_fallback: bool) -> None:
        settings = TokenizerSettings(vocab_size=10, byte_fallback=byte_fallback)
        with pytest.raises(UserError, match=r"vocab_size 10 is too small: .* need at least (\d+) pieces") as raised:
            obtain_tokenizer(settings, CORPUS, tmp_path)
        smallest = int(str(raised.value).split("at least ")[1].split()[0])
        tokenizer = obtain_tokenizer(dataclasses.replace(settings, vocab_size=smallest), CORPUS, tmp_path)
        assert tokenizer.source_vocab_size == smallest
        with pytest.raises(UserError, match=f"at least {smallest} pieces"):
            obtain_tokenizer(dataclasses.replace(settings, vocab_size=smallest - 1), CORPUS, tmp_path)

    def test_nothing_of_the_c_side_is_shown(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        for size in (4000, 10, 330):
            with contextlib.suppress(UserError):
                obtain_tokenizer(TokenizerSettings(vocab_size=size), CORPUS, tmp_path)
        assert capfd.readouterr() == ("", "")


class TestLongLines:
    def test_they_are_left_out_with_a_warning(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        corpus = corpus_of([*SOURCE, "xylem " * 1000], [*TARGET, "Holz"])
        settings = dataclasses.replace(SETTINGS, vocab_size=80, byte_fallback=False)
        for _ in range(2):  # the second time the tokenizer comes from the cache
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                tokenizer = obtain_tokenizer(settings, corpus, tmp_path)
            assert len(caplog.messages) == 1
            assert "without 1 line of the source and target text longer than 4192 bytes" in caplog.messages[0]
            assert "--data.tokenizer.max_line_bytes" in caplog.messages[0]
        assert 1 in tokenizer.encode_source(["x"])[0]
        caplog.clear()
        raised = obtain_tokenizer(dataclasses.replace(settings, max_line_bytes=6000), corpus, tmp_path)
        assert 1 not in raised.encode_source(["x"])[0]
        assert caplog.messages == []

    def test_bytes_count_and_not_characters(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        corpus = corpus_of([*SOURCE, "ß" * 50], [*TARGET, "ss"])
        obtain_tokenizer(dataclasses.replace(SETTINGS, max_line_bytes=100), corpus, tmp_path)
        assert caplog.messages == []
        obtain_tokenizer(dataclasses.replace(SETTINGS, max_line_bytes=99), corpus, tmp_path)
        assert len(caplog.messages) == 1

    def test_all_left_out(self, tmp_path: Path) -> None:
        with pytest.raises(
            UserError, match=r"all 2 lines are longer than 4192 bytes.*--data\.tokenizer\.max_line_bytes"
        ):
            obtain_tokenizer(SETTINGS, corpus_of(["x" * 5000], ["y " * 5000]), tmp_path)

    def test_one_side_left_out_or_blank(self, tmp_path: Path) -> None:
        separate = dataclasses.replace(SETTINGS, separate=True)
        with pytest.raises(UserError, match=r"no target text .* all 1 lines"):
            obtain_tokenizer(separate, corpus_of(["x"], ["y" * 5000]), tmp_path)
        with pytest.raises(UserError, match=r"no source text .* every line is blank"):
            obtain_tokenizer(separate, corpus_of(["", " "], ["y", "y"]), tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TokenizerSettings(vocab_size=4), r"vocab_size is 4; it must be at least 5"),
        (TokenizerSettings(character_coverage=1.5), r"character_coverage is 1\.5"),
        (TokenizerSettings(max_line_bytes=0), "max_line_bytes is 0"),
        (TokenizerSettings(max_sentences=0), "max_sentences is 0"),
    ],
)
def test_settings_out_of_range(settings: TokenizerSettings, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        obtain_tokenizer(settings, CORPUS, tmp_path)


class TestCache:
    @pytest.fixture
    def trainings(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """The lines of every training there is from now on."""
        seen: list[list[str]] = []

        def train(lines: Iterator[str], side: str, settings: TokenizerSettings) -> bytes:
            seen.append(list(lines))
            return train_model(iter(seen[-1]), side, settings)

        monkeypatch.setattr(tokenizer_module, "train_model", train)
        return seen

    def test_the_same_text_and_settings_are_found_again(self, tmp_path: Path, trainings: list[list[str]]) -> None:
        first = obtain_tokenizer(SETTINGS, CORPUS, tmp_path)
        again = obtain_tokenizer(SETTINGS, corpus_of(SOURCE, TARGET), tmp_path)
        assert trainings == [SOURCE + TARGET]
        assert again.digest == first.digest
        assert [path.parent.name for path in tmp_path.rglob("*.model")] == ["tokenizers"]
        obtain_tokenizer(dataclasses.replace(SETTINGS, vocab_size=331), CORPUS, tmp_path)
        obtain_tokenizer(SETTINGS, corpus_of(SOURCE, [*TARGET[:-1], "Ahnung"]), tmp_path)
        obtain_tokenizer(SETTINGS, corpus_of(TARGET, SOURCE), tmp_path)
        assert len(trainings) == 4

    def test_the_sample_is_spread_evenly(self, tmp_path: Path, trainings: list[list[str]]) -> None:
        corpus = corpus_of([f"s{i} the cat" for i in range(100)], [f"t{i}" for i in range(100)])
        settings = dataclasses.replace(SETTINGS, vocab_size=275, max_sentences=4)
        obtain_tokenizer(settings, corpus, tmp_path)
        rows = (0, 25, 50, 75)
        assert trainings == [[f"s{i} the cat" for i in rows] + [f"t{i}" for i in rows]]
        # A limit that leaves nothing out changes nothing.
        obtain_tokenizer(SETTINGS, CORPUS, tmp_path)
        obtain_tokenizer(dataclasses.replace(SETTINGS, max_sentences=60), CORPUS, tmp_path)
        assert len(trainings) == 2

    def test_another_process_makes_the_same_bytes(self, joint: Tokenizer, tmp_path: Path) -> None:
        code = (
            "import datasets\nfrom pathlib import Path\nfrom lit_transformer.data.tokenizer import *\n"
            f"corpus = datasets.Dataset.from_dict(dict(source={SOURCE!r}, target={TARGET!r}))\n"
            f"print(obtain_tokenizer(TokenizerSettings(vocab_size=330), corpus, Path({str(tmp_path)!r})).digest)"
        )
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert shown.stdout == f"{joint.digest}\n"
        assert shown.stderr == ""
