"""The command ``lit-transformer report``: a page and pictures from the files of runs, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jsonargparse import ArgumentParser

from lit_transformer.console.flags import EVERYWHERE
from lit_transformer.console.terminal import say
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.report.agreement import agreements, shared_components
from lit_transformer.report.comparability import differences, told_once
from lit_transformer.report.html.again import again_section, report_command
from lit_transformer.report.html.page import page
from lit_transformer.report.html.run_sections import run_sections
from lit_transformer.report.html.runs_sections import comparison_sections
from lit_transformer.report.html.study_section import study_section
from lit_transformer.report.html.summary import run_summary, runs_summary
from lit_transformer.report.pictures import run_pictures, runs_pictures
from lit_transformer.report.runs import Run, read_runs
from lit_transformer.report.studies import Study, is_study, read_study
from lit_transformer.report.wandb_target import check_target


@dataclass(frozen=True)
class Report:
    """What a report was made of.

    Args:
        folder: Where it is.
        runs: Its runs.
        studies: Its studies.
        pictures: The pictures that were drawn.
    """

    folder: Path
    runs: Sequence[Run]
    studies: Sequence[Study]
    pictures: Sequence[Path]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / "index.html"


def parser() -> ArgumentParser:
    """Return the parser of the command's options."""
    made = ArgumentParser(
        prog="lit-transformer report",
        description=(
            "Show what runs and studies found, as a page that opens from disk and as pictures (PNG, SVG): one run by "
            "itself, several side by side."
        ),
        epilog=EVERYWHERE,
        exit_on_error=False,
        allow_abbrev=False,
    )
    made.add_argument("folders", nargs="+", metavar="RUN", help="Folders of runs, of analyses in them, or of studies.")
    made.add_argument(
        "--output",
        type=str | None,
        default=None,
        help="Folder to write to; <run>/report for one run, <study>/report for a study alone, else ./report.",
    )
    made.add_argument(
        "--wandb", type=str | None, default=None, help="ENTITY/PROJECT to publish a W&B report of the runs to."
    )
    return made


def main(args: Sequence[str]) -> None:
    """Make a report and print where it is.

    Args:
        args: The command line, after ``report``.

    Raises:
        UserError: A folder is neither a run's nor a study's, or a file can't be written.
    """
    given = parser().parse_args(list(args))
    if given.wandb is not None:
        check_target(given.wandb)
    made = make_report([Path(folder) for folder in given.folders], None if given.output is None else Path(given.output))
    for problem in told_once(made.runs):
        say(problem)
    for path in (*made.pictures, made.page):
        say(path)
    if given.wandb is not None:
        # Its package takes seconds to load.
        from lit_transformer.report.wandb_report import publish

        shown = [*(run.folder for run in made.runs), *(study.folder for study in made.studies)]
        say(publish(shown, given.wandb))


def make_report(folders: Sequence[Path], output: Path | None = None) -> Report:
    """Write the page and the pictures of runs and studies.

    Args:
        folders: Folders of runs, of analyses in them, or of studies.
        output: Folder to write to; the report of one run goes to its own folder where not given.

    Raises:
        UserError: A folder is neither a run's nor a study's, or a file can't be written.
    """
    studies = [read_study(folder) for folder in folders if is_study(folder)]
    runs = read_runs([folder for folder in folders if not is_study(folder)])
    if len({(run.analysis or run.folder).resolve() for run in runs}) < len(runs):
        raise UserError("a run is given twice; name each once, or different analyses of it.")
    if len({study.folder.resolve() for study in studies}) < len(studies):
        raise UserError("a study is given twice; name each once.")
    folder = output or _default_folder(runs, studies)
    pictures = run_pictures(runs[0], folder) if len(runs) == 1 else runs_pictures(runs, folder)
    report = Report(folder, runs, studies, pictures)
    write_text(report.page, _page(runs, studies, report_command(folders, output)))
    return report


def _default_folder(runs: Sequence[Run], studies: Sequence[Study]) -> Path:
    if len(runs) == 1:
        return runs[0].folder / "report"
    return studies[0].folder / "report" if not runs and len(studies) == 1 else Path("report")


def _page(runs: Sequence[Run], studies: Sequence[Study], command: Sequence[str]) -> str:
    if len(runs) == 1:
        sections = list(run_sections(runs[0], studies, command))
        return page(f"Which components of {runs[0].label} matter", run_summary(runs[0]), runs[0].problems, sections)
    shown = [study_section(study, place) for place, study in enumerate(studies, 1)]
    shown.append(again_section(studies, command))
    if not runs:
        return page(f"Study: {', '.join(study.label for study in studies)}", [], [], shown)
    problems = [*differences(runs), *told_once(runs)]
    pairs = {column: agreements(runs, column) for column in ("drop", "criticality")}
    summary = runs_summary(runs, pairs["drop"], shared_components(runs))
    return page(
        f"Which components matter in {len(runs)} runs", summary, problems, [*comparison_sections(runs, pairs), *shown]
    )
