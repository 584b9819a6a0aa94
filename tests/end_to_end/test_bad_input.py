"""Mistakes of the user: a second or two, one line that says what to do, exit status 2, and nothing left behind."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lit_transformer.data.corpora import CorpusSettings, load_corpus
from lit_transformer.data.tokenizer import TokenizerSettings, obtain_tokenizer
from lit_transformer.errors import UserError
from tests.end_to_end.running import (
    QUIET,
    Finished,
    lines_of,
    of,
    options,
    run,
    run_process,
    succeed,
    tiny_fit,
    write_text,
)

SCORER = ["--trainer.callbacks", "callbacks.ContributionScore"]
SEVENTH = [*SCORER, "--trainer.callbacks.components", "[d:sa:7]"]


def message(finished: Finished, *named: str, news: int = 0) -> str:
    """The one line on standard error, in which all of ``named`` must be.

    Args:
        finished: How the command ended.
        named: What the line has to hold.
        news: Number of lines that come before it, because the mistake can't be known earlier.
    """
    assert (finished.status, finished.output) == (2, b"")
    lines = finished.errors.splitlines()
    assert len(lines) == news + 1, finished.errors
    assert lines[-1].startswith("lit-transformer: error: ")
    for part in named:
        assert part in lines[-1]
    return lines[-1]


def refused(args: list[str], folder: Path, *named: str, stdin: bytes = b"", news: int = 0) -> str:
    """Run a command that has to be refused and must leave no run's folder in ``folder``."""
    before = {path for path in folder.rglob("*") if path.name.startswith("version_")}
    line = message(run(args, folder, stdin), *named, news=news)
    assert {path for path in folder.rglob("*") if path.name.startswith("version_")} == before
    return line


@pytest.fixture
def corpus(text: Path, tmp_path: Path) -> Callable[..., Path]:
    """A function that copies the text and writes some of its files anew, ``train_en=b"..."`` for ``train.en``."""

    def changed(**files: bytes) -> Path:
        folder = tmp_path / "changed"
        shutil.copytree(text, folder, dirs_exist_ok=True)
        for name, content in files.items():
            (folder / name.replace("_", ".")).write_bytes(content)
        return folder

    return changed


class TestText:
    def test_files_of_different_length(self, corpus: Callable[..., Path], tmp_path: Path) -> None:
        folder = corpus()
        with (folder / "train.en").open("ab") as file:
            file.write(b"One more.\n")
        names = [f"{folder / 'train.en'}' has 201 lines", f"{folder / 'train.de'}' has 200", "same number"]
        refused(tiny_fit(folder), tmp_path, *names)

    def test_bytes_that_are_no_utf8(self, corpus: Callable[..., Path], text: Path, tmp_path: Path) -> None:
        lines = (text / "train.de").read_bytes().splitlines(keepends=True)
        lines[6] = "Die Köchin.\n".encode("latin-1")
        folder = corpus(train_de=b"".join(lines))
        refused(tiny_fit(folder), tmp_path, f"{folder / 'train.de'}, line 7: byte 0xf6 at position 6", "iconv")

    @pytest.mark.parametrize("split", ["train", "validation"])
    def test_an_empty_split(self, corpus: Callable[..., Path], split: str, tmp_path: Path) -> None:
        folder = corpus(**{f"{split}_en": b"", f"{split}_de": b""})
        refused(tiny_fit(folder), tmp_path, f"the split '{split}' of '{split}.{{lang}}' is empty", f"--data.{split}")

    def test_nothing_but_blank_lines(self, corpus: Callable[..., Path], tmp_path: Path) -> None:
        refused(
            tiny_fit(corpus(train_en=b"\n \n", train_de=b"\n\n")), tmp_path, "every line is blank. Check the training"
        )

    def test_no_pair_with_text_on_both_sides(self, corpus: Callable[..., Path], text: Path, tmp_path: Path) -> None:
        folder = corpus(train_en=b"\n" * 200)
        vocabulary = ["--data.tokenizer.vocab_size", "40"]
        refused(tiny_fit(folder, *vocabulary), tmp_path, "no usable pair", "200 have an empty side")

    def test_a_missing_file(self, text: Path, tmp_path: Path) -> None:
        args = tiny_fit(text, "--data.validation", "dev.{lang}")
        refused(args, tmp_path, "--data.validation: there is no file", f"{text / 'dev.en'}", "validation.en")

    def test_a_missing_file_of_the_test(self, trained: Path, text: Path, tmp_path: Path) -> None:
        args = of("test", trained, "--data.test", "flickr.{lang}")
        refused(args, tmp_path, "--data.test: there is no file", f"{text / 'flickr.en'}")

    def test_a_language_that_a_table_lacks(self, corpus: Callable[..., Path], tmp_path: Path) -> None:
        folder = corpus()
        (folder / "train.tsv").write_text("en\tfr\nA cat.\tUn chat.\n")
        args = tiny_fit(folder, "--data.train", "train.tsv")
        refused(args, tmp_path, f"{folder / 'train.tsv'}", "it has 'en', 'fr'", "--data.target_language")

    def test_a_vocabulary_that_is_too_large(self, text: Path, tmp_path: Path) -> None:
        line = refused(
            tiny_fit(text, "--data.tokenizer.vocab_size", "9000"),
            tmp_path,
            "--data.tokenizer.vocab_size 9000 is larger",
        )
        most = line.split("at most ")[1].split()[0]
        succeed(tiny_fit(text, "--data.tokenizer.vocab_size", most, max_steps=1), tmp_path)  # as the line advises

    def test_the_same_language_twice(self, text: Path, tmp_path: Path) -> None:
        refused(tiny_fit(text, "--data.target_language", "en"), tmp_path, "are both 'en'")

    def test_files_for_the_grammar_corpus(self, text: Path, tmp_path: Path) -> None:
        refused(tiny_fit(text, "--data.dataset", "grammar"), tmp_path, "--data.train", "--data.dataset null")

    def test_odd_text_works(self, corpus: Callable[..., Path], text: Path, tmp_path: Path) -> None:
        def odd(name: str) -> bytes:
            lines = (text / name).read_text(encoding="utf-8").splitlines()
            lines[0] = "\ufeff" + lines[0]  # a byte order mark
            lines[1] = lines[1].replace(" ", "\u2028", 1)
            lines[2] = lines[2].replace(" ", "\r", 1)
            lines[3] += "\r"  # a line end of Windows
            lines[4] = "" if name.endswith(".en") else lines[4]
            lines[5] = "" if name.endswith(".de") else lines[5]
            return "".join(f"{line}\n" for line in lines).encode()

        folder = corpus(
            **{name.replace(".", "_"): odd(name) for name in ("train.en", "train.de", "test.en", "test.de")}
        )
        finished = succeed(tiny_fit(folder, max_steps=3), tmp_path)
        assert "Left out 2 of 200 training pairs with an empty side." in finished.errors
        succeed(of("test", tmp_path / "runs" / "run" / "version_0"), tmp_path)
        written = tmp_path / "runs" / "run" / "version_0" / "translations" / "average" / "test"
        for language, name in (("en", "source"), ("de", "reference")):
            expected = (text / f"test.{language}").read_text(encoding="utf-8").splitlines()
            expected[4 if language == "en" else 5] = ""
            assert lines_of(written / f"{name}.txt") == expected
        assert lines_of(written / "hypothesis.txt")[4] == ""


class TestSettings:
    @pytest.mark.parametrize(
        ("typed", "named"),
        [
            (["--model.hedas", "2"], ["--model.hedas", "--help"]),
            (["--modell.heads=2"], ["--modell.heads=2"]),
            (["--trainer.max_epoch", "2"], ["--trainer.max_epoch"]),  # no abbreviations
            (["--frobnicate"], ["--frobnicate"]),
            (["--model.heads", "many"], ["--model.heads", "int", "many"]),
            (["--model.norm", "middle"], ["--model.norm", "'post', 'pre'", "middle"]),
            (["--model.heads", "3"], ["--model.heads 3 does not divide --model.d_model 32"]),
            (["--model.dropout", "1.5"], ["--model.dropout is 1.5", "from 0 to below 1"]),
            (["--model.learning_rate", "0"], ["--model.learning_rate is 0.0"]),
            (["--model.bleu_tokenize", "14a"], ["--model.bleu_tokenize '14a'", "13a"]),
            (["--model.decoding.beam", "0"], ["--model.decoding.beam is 0", "from 1 (greedy search) up"]),
            (["--model.decoding.beam", "x"], ["--model.decoding.beam", "int", "x"]),
            (["--model.tie_embeddings", "some"], ["--model.tie_embeddings", "'all', 'target', 'none'"]),
            (["--data.max_tokens", "0"], ["--data.max_tokens 0", "1 or more"]),
            (["--trainer.precision", "16-mixed"], ["--trainer.precision 16-mixed needs a GPU", "bf16-mixed"]),
            (["--trainer.precision", "17"], ["--trainer.precision", "bf16-mixed", "17"]),
            (["--trainer.accelerator", "gpu"], ["gpu"]),
            (["--trainer.callbacks", "callbacks.Contribution"], ["callbacks.Contribution"]),
            (["--seed_everything", "-5"], ["--seed_everything is -5", "from 0"]),
            (["--early_stopping.patience=2", "--early_stopping.monitor=val/blue"], ["'val/blue'", "val/bleu"]),
            (["--early_stopping.mode", "low"], ["--early_stopping.mode", "'min', 'max'"]),
            (["--wandb.mode", "online"], ["wandb login", "--wandb.mode offline"]),
            (["--wandb.mode", "sometimes"], ["--wandb.mode", "'online', 'offline', 'disabled'"]),
            (["--name", "a/b"], ["--name 'a/b'"]),
            (["--config", "demoo.yaml"], ["--config 'demoo.yaml'", "demo.yaml", "multi30k.yaml"]),
            (["--config"], ["--config", "expected one argument"]),
        ],
        ids=lambda value: "_".join(value).replace("/", "|") if isinstance(value, list) else None,
    )
    def test_typed(
        self, typed: list[str], named: list[str], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))  # where no key of Weights & Biases is
        refused(tiny_fit(text, *typed), tmp_path, *named)

    @pytest.mark.parametrize(
        ("content", "named"),
        [
            (b"model:\n  hedas: 2\n", ["'model.hedas'", "--help"]),
            (b"modell:\n  heads: 2\n", ["'modell"]),
            (b"model:\n  dropout: lots\n", ["--model.dropout", "float", "lots"]),
            (b"model:\n  decoding:\n    beam: 0\n", ["--model.decoding.beam is 0"]),
            (b"name: demo\nmodel:\n  heads: [2\n: x", ["my.yaml', line 4 is no YAML"]),
            (b"model:\n\theads: 2\n", ["my.yaml', line 2 is no YAML"]),
            (b"- a\n- b\n", ["my.yaml' holds list, not settings"]),
            (b"\xff\xfe\x00", ["my.yaml' cannot be read", "UTF-8"]),
        ],
        ids=["key", "section", "type", "value", "bracket", "tab", "list", "bytes"],
    )
    def test_in_a_file(self, content: bytes, named: list[str], text: Path, tmp_path: Path) -> None:
        (tmp_path / "my.yaml").write_bytes(content)
        refused(tiny_fit(text, "--config", "my.yaml"), tmp_path, *named)

    def test_a_folder_that_cannot_be_written(self, text: Path, tmp_path: Path) -> None:
        (tmp_path / "taken").touch()
        refused(tiny_fit(text, "--runs_dir", "taken"), tmp_path, "'taken/run'", "Not a directory", "--runs_dir")

    def test_validations_further_apart_than_an_epoch_is_long(self, text: Path, tmp_path: Path) -> None:
        args = tiny_fit(text, val_check_interval=500, check_val_every_n_epoch=1)
        line = message(run(args, tmp_path), "--trainer.val_check_interval is 500 batches, but an epoch has ", news=2)
        most = line.split("give ")[1].split()[0]
        # As the line advises.
        succeed(tiny_fit(text, val_check_interval=most, check_val_every_n_epoch=1, max_steps=1), tmp_path)

    def test_two_vocabularies_that_are_to_share_one_table(self, text: Path, tmp_path: Path) -> None:
        args = tiny_fit(text, "--data.tokenizer.separate", "true")
        refused(args, tmp_path, "--model.tie_embeddings all needs one vocabulary", "tie_embeddings target")

    @pytest.mark.parametrize("args", [["train"], ["--frobnicate"]])
    def test_a_command_that_does_not_exist(self, args: list[str], tmp_path: Path) -> None:
        refused(args, tmp_path, "fit" if args == ["train"] else "--frobnicate")


class TestSelectors:
    NAMED = (
        "component selector 'd:sa:7' matches nothing",
        "it has e:sa:1, e:ff:1, d:sa:1, d:sa:2, d:ea:1",
        "(d:sa:1-3)",
    )

    def test_analyze(self, trained: Path, tmp_path: Path) -> None:
        refused(of("analyze", trained, *SEVENTH), tmp_path, *self.NAMED)

    def test_fit_before_it_reads_the_text(self, tmp_path: Path) -> None:
        refused(tiny_fit(tmp_path / "nowhere", *SEVENTH), tmp_path, *self.NAMED)

    def test_fit_with_a_configuration(self, text: Path, tmp_path: Path) -> None:
        callback = "class_path: callbacks.ContributionScore\n      init_args: {components: ['d:sa:7']}"
        (tmp_path / "score.yaml").write_text(f"trainer:\n  callbacks:\n    - {callback}\n")
        refused(tiny_fit(text, "--config", "score.yaml"), tmp_path, *self.NAMED)


@pytest.fixture(scope="session")
def other_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with as many pieces as the trained model's, which are other pieces."""
    folder = write_text(tmp_path_factory.mktemp("other"))
    for path in folder.iterdir():
        changed = path.read_text(encoding="utf-8").replace("cat", "crow").replace("Katze", "Krähe")
        path.write_text(changed, encoding="utf-8")
    corpus = load_corpus(CorpusSettings(dataset=None, dir=str(folder), train="train.{lang}"), "train")
    settings = TokenizerSettings(vocab_size=100, byte_fallback=False)
    obtain_tokenizer(settings, corpus, folder).save(folder / "other.model")
    obtain_tokenizer(dataclasses.replace(settings, vocab_size=90), corpus, folder).save(folder / "smaller.model")
    return folder


class TestCheckpoints:
    @pytest.mark.parametrize("command", ["validate", "test", "predict", "analyze"])
    def test_none_given(self, command: str, tmp_path: Path) -> None:
        refused([command, *options("trainer", QUIET)], tmp_path, f"{command} needs a trained model; give --ckpt_path")

    @pytest.mark.parametrize("command", ["validate", "test", "predict", "analyze", "fit"])
    def test_a_file_of_another_program(self, command: str, tmp_path: Path) -> None:
        torch.save({"state_dict": {"weight": torch.zeros(2)}}, tmp_path / "other.ckpt")
        refused(of(command, "other.ckpt"), tmp_path, "'other.ckpt' is a file of another program")

    def test_what_is_no_checkpoint_at_all(self, tmp_path: Path) -> None:
        (tmp_path / "garbage.ckpt").write_bytes(b"hello")
        refused(of("analyze", "garbage.ckpt"), tmp_path, "'garbage.ckpt' is no checkpoint of lit-transformer")
        refused(of("analyze", "none.ckpt"), tmp_path, "checkpoint 'none.ckpt' does not exist; give a .ckpt file")
        refused(of("analyze", "."), tmp_path, "no checkpoint in '.'; looked for checkpoints/average.ckpt")
        refused(of("fit", "."), tmp_path, "no checkpoint in '.'; looked for checkpoints/last.ckpt")

    def test_a_start_from_garbage(self, text: Path, tmp_path: Path) -> None:
        (tmp_path / "garbage.ckpt").write_bytes(b"hello")
        refused(tiny_fit(text, "--start_from", "garbage.ckpt"), tmp_path, "'garbage.ckpt' is no checkpoint")

    @pytest.mark.parametrize(
        ("command", "option", "value", "trained_with"),
        [
            ("analyze", "d_model", "64", "32"),
            ("fit", "encoder_layers", "3", "1"),
            ("test", "norm", "post", "'pre'"),
            ("predict", "target_vocab_size", "90", "100"),
        ],
    )
    def test_another_structure(
        self, trained: Path, command: str, option: str, value: str, trained_with: str, tmp_path: Path
    ) -> None:
        args = of(command, trained, f"--model.{option}", value)
        refused(
            args, tmp_path, f"--model.{option} is ", value, f"was trained with {trained_with};", "leave the option out"
        )

    def test_a_start_from_another_structure(self, trained: Path, text: Path, tmp_path: Path) -> None:
        args = ["fit", "--start_from", str(trained), "--model.heads", "4", *options("trainer", QUIET)]
        refused(args, tmp_path, "--model.heads is 4", "was trained with 2;")

    @pytest.mark.parametrize("command", ["validate", "test", "predict", "analyze", "fit"])
    def test_a_vocabulary_of_another_size(
        self, trained: Path, other_tokenizer: Path, command: str, text: Path, tmp_path: Path
    ) -> None:
        args = of(command, trained, "--data.tokenizer.model", str(other_tokenizer / "smaller.model"))
        args += ["--input", str(text / "test.en")] if command == "predict" else []
        named = ["the model has 100 source and 100 target pieces, but the tokenizer has 90", "--data.tokenizer.model"]
        refused(args, tmp_path, *named, news=int(command == "fit"))

    @pytest.mark.parametrize("command", ["validate", "test", "predict", "analyze", "fit"])
    def test_a_vocabulary_of_the_same_size_and_other_pieces(
        self, trained: Path, other_tokenizer: Path, command: str, text: Path, tmp_path: Path
    ) -> None:
        args = of(command, trained, "--data.tokenizer.model", str(other_tokenizer / "other.model"))
        args += ["--input", str(text / "test.en")] if command == "predict" else []
        named = ["was trained with the tokenizer", "--data.tokenizer"]
        refused(args, tmp_path, *named, news=int(command == "fit"))

    @pytest.mark.parametrize("name", ["average", "step=60"])
    def test_weights_alone_cannot_be_resumed(self, trained: Path, name: str, tmp_path: Path) -> None:
        path = trained / "checkpoints" / f"{name}.ckpt"
        refused(of("fit", path), tmp_path, f"{name}.ckpt' holds weights only", "last.ckpt", "--start_from")

    def test_resumed_and_started_anew_at_once(self, trained: Path, tmp_path: Path) -> None:
        refused(of("fit", trained, "--start_from", str(trained)), tmp_path, "--ckpt_path", "--start_from", "either")


class TestInputAndOutput:
    def test_predict_without_text(self, trained: Path, tmp_path: Path) -> None:
        refused(of("predict", trained), tmp_path, "predict has nothing to translate; give --input FILE")

    def test_predict_of_a_missing_file(self, trained: Path, tmp_path: Path) -> None:
        refused(of("predict", trained, "--input", "none.txt"), tmp_path, "--input: there is no file 'none.txt'")

    def test_standard_input_that_is_no_utf8(self, trained: Path, tmp_path: Path) -> None:
        args = of("predict", trained, "--input", "-")
        refused(args, tmp_path, "standard input, line 2: byte 0xff", stdin=b"a\n\xff\n")

    @pytest.mark.parametrize("output", [".", "taken/out.txt"])
    def test_predict_into_what_is_no_file(self, trained: Path, text: Path, output: str, tmp_path: Path) -> None:
        (tmp_path / "taken").touch()
        args = of("predict", trained, "--input", str(text / "test.en"), "--output", output)
        refused(args, tmp_path, f"'{output.removesuffix('/out.txt')}'")

    def test_analyze_into_what_is_no_folder(self, trained: Path, tmp_path: Path) -> None:
        (tmp_path / "taken").touch()
        # Before the first evaluation: there is no line of progress.
        refused(
            of("analyze", trained, "--output", "taken"), tmp_path, "cannot make the folder 'taken/analysis/average'"
        )


def test_a_process_of_its_own_shows_no_other_line(text: Path, tmp_path: Path) -> None:
    finished = run_process(tiny_fit(text, "--trainer.precision", "16-mixed"), tmp_path)
    message(finished, "--trainer.precision 16-mixed")


@pytest.mark.parametrize("how", ["typed", "variable"])
def test_debug_shows_where_it_comes_from(how: str, text: Path, tmp_path: Path) -> None:
    args = tiny_fit(text, "--model.heads", "3", *(["--debug"] if how == "typed" else []))
    with pytest.raises(UserError, match="does not divide"):
        run(args, tmp_path, env={"LIT_TRANSFORMER_DEBUG": "1"} if how == "variable" else {})
    assert "LIT_TRANSFORMER_DEBUG" not in os.environ
