"""README and docs: links, pictures, commands and Python hold against the program."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from unittest import mock

import pytest

from lit_transformer.cli.app import TransformerCLI
from tests.end_to_end.running import of, run, succeed

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/RESULTS.md"]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PROGRAM = "lit-transformer "
# Of those without the program's name, a run's own config.yaml stands for another file in each place.
INLINE = re.compile(r"`((?:lit-transformer [a-z]+ |fit --|analyze --)(?!help|config config.yaml)[^`\n]+)`")


def blocks(page: Path, language: str = "") -> list[str]:
    """Return the fenced blocks of a page that are marked with a language."""
    return [text for marked, text in FENCED.findall(page.read_text(encoding="utf-8")) if marked == language]


def commands() -> Iterator[str]:
    """Yield every command of README and docs, without the program's name; what is inline may leave the run out."""
    pages = [README, *DOCS]
    lines = [line for page in pages for block in blocks(page) for line in block.replace("\\\n", "").splitlines()]
    inline = [command for page in pages for command in INLINE.findall(page.read_text(encoding="utf-8"))]
    fenced = [line.removeprefix(PROGRAM) for line in lines if line.startswith(PROGRAM)]
    for command in dict.fromkeys([*fenced, *(each.removeprefix(PROGRAM) for each in inline)]):
        yield f"{command} --ckpt_path RUN" if command.startswith("analyze --") and "RUN" not in command else command


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


class ParsedError(Exception):
    """A command line was read without an error; raised in place of the command's work."""


@pytest.fixture(scope="module")
def folder(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the runs and the configuration of the examples exist."""
    root = tmp_path_factory.mktemp("examples")
    named = {name for command in commands() for name in re.findall(r"\bruns/[\w-]+/version_\d", command)}
    for name in ("RUN", "PRUNED_RUN", *named):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(trained_once)
    (recipe,) = blocks(ROOT / "docs/command-line.md", "yaml")
    (root / "mine.yaml").write_text(recipe, encoding="utf-8")
    return root


@pytest.mark.parametrize("command", list(commands()), ids=str)
def test_commands_are_read_without_an_error(command: str, folder: Path) -> None:
    stop = mock.Mock(side_effect=ParsedError)
    with (
        mock.patch.object(TransformerCLI, "_run_subcommand", stop),
        mock.patch("lit_transformer.study.conduct.run_study", stop),
        mock.patch("lit_transformer.report.command.make_report", stop),
    ):
        try:
            finished = run(shlex.split(command, comments=True), folder, env={"WANDB_MODE": "disabled"})
        except ParsedError:
            return
    pytest.fail(finished.errors)


def test_readme_is_short_and_names_the_targets() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert {"make demo", "make test"} <= set(re.findall(r"^make \w+", text, re.MULTILINE))


def test_readme_python(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    succeed(of("analyze", trained), tmp_path)
    shutil.copytree(trained, tmp_path / "runs/demo/version_0")
    (code,) = blocks(README, "python")
    with chdir(tmp_path):
        exec(compile(code, str(README), "exec"), {})
    whole, ablated, numbers, *table = capsys.readouterr().out.splitlines()
    assert whole != ablated
    assert len(numbers.split()) == 2
    assert len(table) == 7


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for picture, text, target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        place = page.parent / path if path else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target
        # The text alternative says what a picture shows.
        assert not picture or len(text.split()) >= 15, target


def test_every_page_can_be_reached_from_readme() -> None:
    linked = {target for _, _, target in LINK.findall(README.read_text(encoding="utf-8"))}
    assert {f"docs/{page.name}" for page in DOCS} <= linked


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"(?:^|`)make ([a-z0-9-]+)", text, re.MULTILINE))
    assert {"demo", "test", "multi30k"} <= named <= targets
