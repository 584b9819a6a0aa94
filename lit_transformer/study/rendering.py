"""The results of a study for people: ``study.csv``, ``study.md`` and the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lit_transformer.importance.intervals import LEVEL
from lit_transformer.importance.score_table import table_text
from lit_transformer.study.arms import CONTROL, FAMILIES, SCRATCH, TRAINED, arms_of
from lit_transformer.study.results import Row
from lit_transformer.study.runner import Outcome
from lit_transformer.study.statistics import Comparison
from lit_transformer.study.study_settings import StudySettings

WIDTH = 80
HEAD = 27
"""Columns of arm and seed in the terminal."""

TITLES = {"base": "Trained models", TRAINED: "From the trained model", SCRATCH: "From scratch"}
_CHECKPOINT_ONLY = "this checkpoint only"


def csv_text(rows: Sequence[Row]) -> str:
    """Return a line for each run, as CSV.

    The bounds of ``difference`` are those of the paired bootstrap over sentences: they hold for this checkpoint only.
    """
    table = [_record(row) for row in rows]
    return table_text(list(dict.fromkeys(name for record in table for name in record)), table)


def comparisons_text(compared: Mapping[str, Sequence[Comparison]]) -> str:
    """Return a line for each arm against its control over the seeds, as CSV; differences in BLEU points."""
    table = [
        {
            "family": family,
            "arm": each.arm,
            "control": CONTROL[family],
            "seeds": len(each.differences),
            "mean_difference": _rounded(each.mean),
            "lower": _rounded(each.lower),
            "upper": _rounded(each.upper),
            "p": each.p,
            "corrected_p": each.corrected_p,
            "verdict": each.verdict,
        }
        for family, arms in compared.items()
        for each in arms
    ]
    columns = ["family", "arm", "control", "seeds", "mean_difference", "lower", "upper", "p", "corrected_p", "verdict"]
    return table_text(columns, table)


def _record(row: Row) -> dict[str, Any]:
    made, facts, versus = row.made, row.facts, row.versus
    validation, test = (None, None) if facts is None else (facts.validation, facts.test)
    return {
        "family": made.family,
        "arm": made.arm,
        "seed": made.seed,
        "draw": made.draw,
        "status": row.status,
        "components": None if facts is None else " ".join(facts.components),
        "parameters": None if facts is None else facts.parameters,
        "file_size": None if facts is None else facts.file_size,
        "updates": None if facts is None else facts.updates,
        "target_tokens": None if facts is None else facts.target_tokens,
        "validation_bleu": _rounded(None if validation is None else validation.bleu),
        "test_bleu": _rounded(None if test is None else test.bleu),
        "test_loss": _rounded(None if test is None else test.loss),
        "sentences_per_second": _rounded(row.speed, 1),
        "training_minutes": _minutes(row),
        "difference": _rounded(None if versus is None else versus.difference),
        "difference_lower_this_checkpoint_only": _rounded(None if versus is None else versus.lower),
        "difference_upper_this_checkpoint_only": _rounded(None if versus is None else versus.upper),
        "signature": None if test is None else test.signature,
        "validation_set": None if validation is None else validation.scoring_set,
        "test_set": None if test is None else test.scoring_set,
    }


def markdown(
    settings: StudySettings, outcome: Outcome, rows: Sequence[Row], compared: Mapping[str, Sequence[Comparison]]
) -> str:
    """Return the whole study as Markdown.

    Args:
        settings: What was asked for.
        outcome: What was done.
        rows: The runs.
        compared: The arms of each family against its control, over the seeds.
    """
    parts = [f"# Study {settings.name}", _conditions(settings, outcome, rows)]
    for family, title in TITLES.items():
        mine = [row for row in rows if row.made.family == family]
        if not mine:
            continue
        parts += [f"## {title}", _runs_table(mine)]
        if family in FAMILIES:
            parts.append(_list([f"`{name}`: {arms_of(family)[name].about}." for name in settings.arms_in(family)]))
        if compared.get(family):
            parts += [f"### Against `{CONTROL[family]}`, over the seeds", _seeds_table(compared[family])]
    if outcome.draws:
        parts += ["## Before any fine-tuning", _draws_table(settings, outcome)]
    if outcome.failed:
        said = [f"`{stage.key}`: {stage.status}: {stage.message}" for stage in outcome.failed]
        parts += ["## Not done", _list(said)]
    return "\n\n".join(parts) + "\n"


def _conditions(settings: StudySettings, outcome: Outcome, rows: Sequence[Row]) -> str:
    chosen = outcome.chosen
    lines = []
    if chosen.count is not None:
        among = "all components" if settings.components is None else ", ".join(settings.components)
        lines.append(f"Chosen by {settings.by}: {chosen.count} of {among}.")
    if any(arm in ("shallow", "shallow_cut") for arm in (*settings.arms, *settings.scratch_arms)):
        for seed, match in outcome.matches.items():
            lines.append(f"Seed {seed}: {match.line}{match.told}.")
    if settings.arms and chosen.learning_rate is not None:
        candidates = len(settings.learning_rates)
        how = "" if candidates == 1 else f", chosen among {candidates} on validation for `{CONTROL[TRAINED]}`"
        lines.append(
            f"From the trained model: {_epochs(settings.finetune_epochs)} each, a fresh optimizer, peak learning rate "
            f"{chosen.learning_rate:g}{how}, {settings.warmup_steps} steps of warm-up; `lr_rewound` has the first "
            "run's own schedule. Updates and target tokens count those of the trained model too."
        )
    if settings.scratch_arms:
        lines.append(
            "From scratch: the epochs of the trained model and those of the fine-tuning, with its own recipe. What it "
            "took to learn which components are unimportant, a trained model and its scores, is not counted."
        )
    lines.append(
        f"Every number is of the average of the checkpoints of the last {settings.average} validations. Options of "
        f"every fit: {' '.join(settings.options) or 'none'}."
    )
    found = next((row.facts for row in rows if row.facts is not None and row.facts.test is not None), None)
    if found is not None and found.test is not None:
        sets = [scores.scoring_set for scores in (found.validation, found.test) if scores is not None]
        lines.append(f"BLEU: {found.test.signature}; {' and '.join(sets)}. Loss: nats per piece, on test.")
    return _list(lines)


def _runs_table(rows: Sequence[Row]) -> str:
    names = [
        "arm",
        "seed",
        "components",
        "parameters",
        "file (MiB)",
        "updates",
        "target tokens",
        "validation BLEU",
        "test BLEU",
        f"minus control ({_CHECKPOINT_ONLY})",
        "test loss",
        "sentences/s",
        "minutes",
    ]
    return _table(names, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    facts, versus = row.facts, row.versus
    head = [_label(row), str(row.made.seed)]
    if facts is None:
        return [*head, row.status, *[""] * 10]
    between = "" if versus is None else f"{versus.difference:+.2f} ({versus.lower:+.2f} to {versus.upper:+.2f})"
    return [
        *head,
        " ".join(facts.components),
        f"{facts.parameters:,}",
        _number(None if facts.file_size is None else facts.file_size / 2**20),
        f"{facts.updates:,}",
        "" if facts.target_tokens is None else f"{facts.target_tokens:,}",
        _number(None if facts.validation is None else facts.validation.bleu),
        _number(row.test_bleu) if row.status == "done" else row.status,
        between,
        _number(None if facts.test is None else facts.test.loss, 3),
        _number(row.speed, 1),
        _number(_minutes(row), 1),
    ]


def _seeds_table(compared: Sequence[Comparison]) -> str:
    names = ["arm", "seeds", "mean difference", "interval", "p, corrected", "verdict"]
    rows = [
        [
            f"`{each.arm}`",
            str(len(each.differences)),
            f"{each.mean:+.2f}",
            _interval(each),
            "" if each.corrected_p is None else f"{each.corrected_p:.3f}",
            each.verdict,
        ]
        for each in compared
    ]
    return (
        f"{_table(names, rows)}\n\nTest BLEU minus the control's: Student's t intervals over the seeds, {LEVEL:.0%} "
        "for all arms together by Holm's correction. Better or worse only where the interval excludes 0; with one seed "
        "nothing is decidable."
    )


def _draws_table(settings: StudySettings, outcome: Outcome) -> str:
    names = ["seed", f"by {settings.by}", "at random: mean", "lowest", "highest", "random ones that are better"]
    rows = []
    for seed, draws in outcome.draws.items():
        better = sum(bleu > draws.chosen for bleu in draws.random)
        cells = (draws.chosen, sum(draws.random) / len(draws.random), min(draws.random), max(draws.random))
        rows.append([str(seed), *(f"{cell:.2f}" for cell in cells), f"{better} of {len(draws.random)}"])
    return f"BLEU on validation without {outcome.chosen.count} components:\n\n{_table(names, rows)}"


def terminal(rows: Sequence[Row], compared: Mapping[str, Sequence[Comparison]], outcome: Outcome) -> str:
    """Return the results as plain text of 80 columns.

    Args:
        rows: The runs.
        compared: The arms of each family against its control, over the seeds.
        outcome: What was done.
    """
    lines: list[str] = []
    for family, title in TITLES.items():
        mine = [row for row in rows if row.made.family == family]
        if mine:
            lines += ["", title, _line("arm", "seed", "parameters", "valid.", "test", "diff.", "sent/s", "min")]
            lines += [line for row in mine for line in _terminal_row(row)]
        for each in compared.get(family, ()):
            tail = f"{_interval(each) or 'one seed'}: {each.verdict}"
            lines.append(f"{each.arm:<21} minus {CONTROL[family]}: {each.mean:+.2f}, {tail}")
    for seed, match in outcome.matches.items():
        if match.told:
            lines += ["", *textwrap.wrap(f"Seed {seed}: {match.line}{match.told}.", WIDTH)]
    signatures = sorted({row.facts.test.signature for row in rows if row.facts is not None and row.facts.test})
    note = (
        "valid., test: BLEU of averaged checkpoints; diff.: test BLEU minus the control's, of this checkpoint only; "
        f"sent/s: decoded side by side. Better or worse only where a t interval over seeds excludes 0. {signatures}"
    )
    lines += ["", *textwrap.wrap(note.replace("['", "").replace("']", "").replace("[]", ""), WIDTH)]
    said = [f"{stage.key}: {stage.status}: {stage.message}" for stage in outcome.failed]
    lines += [line for text in said for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
    return "\n".join(lines).strip("\n") + "\n"


def _terminal_row(row: Row) -> Iterator[str]:
    facts = row.facts
    label = _label(row).replace("`", "")
    if facts is None:
        yield from textwrap.wrap(f"{label:<22}{row.made.seed:>5}  {row.status}", WIDTH, subsequent_indent=" " * 29)
        return
    yield _line(
        label,
        str(row.made.seed),
        f"{facts.parameters:,}",
        _number(None if facts.validation is None else facts.validation.bleu),
        _number(row.test_bleu),
        "" if row.versus is None else f"{row.versus.difference:+.2f}",
        _number(row.speed, 0),
        _number(_minutes(row), 1),
    )


def _line(arm: str, seed: str, parameters: str, *numbers: str) -> str:
    room = HEAD - 1 - max(len(seed), 4)
    # The name of the arm gives way to a seed of many digits.
    shown = arm if len(arm) <= room else f"{arm[: room - 1]}…"
    return f"{shown}{seed:>{HEAD - len(shown)}}{parameters:>13}" + "".join(f"{number:>8}" for number in numbers)


def _label(row: Row) -> str:
    return f"`{row.made.arm}`" + ("" if row.made.draw is None else f" {row.made.draw}")


def _interval(each: Comparison) -> str:
    return "" if each.lower is None or each.upper is None else f"{each.lower:+.2f} to {each.upper:+.2f}"


def _minutes(row: Row) -> float | None:
    """Return how long the training took; unknown where the study did not do it."""
    return _rounded(row.made.stage.seconds / 60.0, 2) if row.made.stage.seconds else None


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _epochs(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
