"""What the commands show: bars in a terminal, plain lines elsewhere, and nothing when quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.running import files_of, of, read_csv, run, succeed, tiny_fit
from tests.pseudo_terminal import COLOURED, pseudo_terminal

SOURCE = b"The old cat sees the young duck.\n"
PROGRESS = {"enable_progress_bar": True}


def command(name: str, text: Path, trained: Path) -> list[str]:
    if name == "fit":
        return tiny_fit(text, "--trainer.callbacks+=callbacks.ContributionScore", max_steps=4, **PROGRESS)
    more = {
        "predict": ["--input=-"],
        "analyze": ["--config", "analysis.yaml", "--trainer.callbacks.k=1", "--components=d:ff"],
    }
    return of(name, trained, *more.get(name, []), **PROGRESS)


def results(folder: Path) -> set[str]:
    """The files below a folder, without the number that digests the time."""
    return {name for name in files_of(folder) if "/wandb/" not in name}


@pytest.mark.parametrize("name", ["fit", "validate", "test", "predict", "analyze"])
def test_quiet_commands_say_nothing_and_write_everything(name: str, text: Path, trained: Path, tmp_path: Path) -> None:
    args = command(name, text, trained)
    before = results(tmp_path)
    quiet = succeed([args[0], "--quiet", *args[1:]], tmp_path, stdin=SOURCE)
    # There is something to warn of, and nothing else.
    warnings = {"fit": "A baseline this low ", "analyze": "The model forgets to stop "}
    assert all(line.startswith(warnings.get(name, "nothing")) for line in quiet.errors.splitlines())
    assert bool(quiet.errors) is (name in warnings)
    made = results(tmp_path) - before
    if name != "predict":
        assert made
        assert quiet.output == b""
    if name == "fit":
        return
    for file in made:
        (tmp_path / file).unlink()
    loud = succeed(args, tmp_path, stdin=SOURCE)
    assert results(tmp_path) - before == made
    if name == "predict":
        # In a terminal it shows a bar; elsewhere it is translations and nothing else.
        assert loud.output == quiet.output != b""
    else:
        assert loud.errors
        assert loud.output


def test_quiet_commands_still_tell_what_is_wrong(text: Path, trained: Path, tmp_path: Path) -> None:
    mistake = run(["analyze", "--quiet", "--ckpt_path", "elsewhere"], tmp_path)
    assert mistake.status == 2
    assert mistake.errors.startswith("lit-transformer: error: ")
    assert mistake.errors.count("\n") == 1
    args = of("validate", trained, "--quiet", "--data.eval_max_tokens=200", limit_val_batches=1, **PROGRESS)
    warned = succeed(args, tmp_path)
    assert warned.output == b""
    assert "sentences were scored, so nothing is written" in warned.errors
    assert warned.errors.count("\n") == 1


def test_a_file_gets_plain_lines(text: Path, tmp_path: Path) -> None:
    args = command("fit", text, tmp_path)
    finished = succeed(args, tmp_path, env={"FORCE_COLOR": "", "COLUMNS": "80"})
    both = finished.errors + finished.output.decode()
    assert "\r" not in both
    assert "\x1b" not in both
    lines = [line for line in finished.errors.splitlines() if line.startswith("epoch")]
    assert [line.split("  ")[:2] for line in lines] == [["epoch 1", "step 3/4"]]
    assert lines[0].endswith(" left")
    assert "BLEU" in lines[0]
    assert max(map(len, finished.output.decode().replace(str(tmp_path), "").splitlines())) <= 80


@pytest.mark.parametrize(("term", "no_color"), [("xterm-256color", ""), ("xterm-256color", "1"), ("dumb", "")])
def test_a_terminal_gets_a_bar_of_the_colours_that_it_may(
    term: str, no_color: str, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pseudo_terminal(monkeypatch, term) as terminal:
        finished = run(command("fit", text, tmp_path), tmp_path, env={"NO_COLOR": no_color}, stderr=terminal.file)
    assert finished.status == 0, terminal.text
    bars = [line for line in terminal.lines if "━" in line]
    assert bool(bars) is (term != "dumb")
    assert ("\x1b" in terminal.text) is (term != "dumb")
    assert bool(COLOURED.search(terminal.text)) is (term != "dumb" and not no_color)
    # Training, the analysis after it, and above the bars a line of each validation.
    if bars:
        assert any(line.startswith("epoch 1") for line in bars)
        assert any("BLEU ━" in line and " 9/9 " in line for line in bars)
        assert max(map(len, bars)) <= 80
    assert sum(line.startswith("epoch 1  step 3/4") for line in terminal.lines) == 1
    assert "\x1b" not in finished.output.decode()
    assert "Contribution of each component" in finished.output.decode()
    assert read_csv(tmp_path / "runs/run/version_0/analysis/average/scores.csv")
