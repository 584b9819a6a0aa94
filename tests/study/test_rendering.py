from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from lit_transformer.importance.matching import Match
from lit_transformer.study.analyses import Draws
from lit_transformer.study.arms import Chosen
from lit_transformer.study.facts import Facts, SplitScores
from lit_transformer.study.rendering import comparisons_text, csv_text, markdown, terminal
from lit_transformer.study.results import Row, comparisons
from lit_transformer.study.runner import Made, Outcome
from lit_transformer.study.stages import Stage
from lit_transformer.study.statistics import SentenceInterval
from tests.study.making import settings_of

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def scores(split: str, bleu: float) -> SplitScores:
    return SplitScores(bleu, 1.9876, SIGNATURE, f"{split}, 500 sentences", Path(split))


def row(arm: str, seed: int, bleu: float | None, family: str = "trained", message: str = "") -> Row:
    stage = Stage(f"{family}-{arm}-seed{seed}", "failed" if message else "done", message, 90.0)
    made = Made(family, arm, seed, 1 if arm == "random" else None, stage, Path(f"{arm}{seed}"))
    if bleu is None:
        return Row(made, None, None, None)
    test = scores("test", bleu)
    facts = Facts(("d:sa:1", "d:ff:2"), 2_307_840, 9_437_184, 820, 1_234_567, scores("validation", bleu + 1), test)
    versus = None if arm in ("continued", "full") else SentenceInterval(0.5, -0.25, 1.25)
    return Row(made, facts, 123.4, versus)


ROWS = [
    row("trained", 1, 39.0, "base"),
    row("continued", 1, 40.0),
    row("pruned", 1, 41.0),
    row("random", 1, None, message="it ran out of luck, and there is much to be said about how that came to pass"),
    row("continued", 2, 38.0),
    row("pruned", 2, 39.01),
    row("random", 2, 37.0),
    row("full", 1, 40.0, "scratch"),
    row("pruned_random_weights", 1, 39.5, "scratch"),
]
MATCH = Match(("d:sa:1", "d:ff:2"), 1, 120, 100)
OUTCOME = Outcome(
    [each.made for each in ROWS],
    Chosen(2, 1, 5e-4),
    {1: MATCH},
    {1: Draws(35.0, (30.0, 36.0, 33.0))},
    {},
    [ROWS[3].made.stage],
)
SETTINGS = settings_of(
    arms=["continued", "pruned", "random", "shallow_cut"], scratch_arms=["full", "pruned_random_weights"]
)


def test_the_unit_of_a_claim_is_the_seed() -> None:
    compared = comparisons(ROWS)
    pruned, random = compared["trained"]
    assert pruned.differences == pytest.approx((1.0, 1.01))
    assert pruned.verdict == "better"
    assert random.differences == (-1.0,)
    assert random.verdict == "not decidable"
    assert [each.arm for each in compared["scratch"]] == ["pruned_random_weights"]


def test_the_claims_as_csv() -> None:
    [pruned, random] = [
        line for line in csv.DictReader(io.StringIO(comparisons_text(comparisons(ROWS)))) if line["family"] == "trained"
    ]
    # 41 - 40 and 39.01 - 38: the interval of t with one degree of freedom is narrow only because both agree so well.
    assert (pruned["arm"], pruned["control"], pruned["seeds"]) == ("pruned", "continued", "2")
    assert float(pruned["mean_difference"]) == pytest.approx(1.005)
    assert pruned["verdict"] == "better"
    assert float(pruned["lower"]) > 0
    # One seed has no interval.
    assert (random["seeds"], random["lower"], random["verdict"]) == ("1", "", "not decidable")


def test_the_csv_has_a_line_for_each_run() -> None:
    found = list(csv.DictReader(io.StringIO(csv_text(ROWS))))
    assert len(found) == len(ROWS)
    assert found[2] == {
        "family": "trained",
        "arm": "pruned",
        "seed": "1",
        "draw": "",
        "status": "done",
        "components": "d:sa:1 d:ff:2",
        "parameters": "2307840",
        "file_size": "9437184",
        "updates": "820",
        "target_tokens": "1234567",
        "validation_bleu": "42.0",
        "test_bleu": "41.0",
        "test_loss": "1.9876",
        "sentences_per_second": "123.4",
        "training_minutes": "1.5",
        "difference": "0.5",
        "difference_lower_this_checkpoint_only": "-0.25",
        "difference_upper_this_checkpoint_only": "1.25",
        "signature": SIGNATURE,
        "validation_set": "validation, 500 sentences",
        "test_set": "test, 500 sentences",
    }
    assert found[3]["status"].startswith("failed: it ran out of luck")
    assert found[3]["test_bleu"] == ""


def test_the_markdown_tells_everything_that_a_number_rests_on() -> None:
    text = markdown(SETTINGS, OUTCOME, ROWS, comparisons(ROWS))
    assert SIGNATURE in text
    pruned = (
        "| `pruned` | 1 | d:sa:1 d:ff:2 | 2,307,840 | 9.00 | 820 | 1,234,567 | 42.00 | 41.00 | "
        "+0.50 (-0.25 to +1.25) | 1.988 | 123.4 | 1.5 |"
    )
    assert pruned in text
    assert "this checkpoint only" in text
    assert "| `random` | 1 | -1.00 |  |  | not decidable |" in text
    assert "| `pruned` | 2 | +1.00 | +0.94 to +1.07 | 0.003 | better |" in text
    assert "2 components (120 parameters) stand against 1 decoder layer (100): +20.00 % (more than 1 % apart)" in text
    assert "| 1 | 35.00 | 33.00 | 30.00 | 36.00 | 1 of 3 |" in text
    assert "`trained-random-seed1`: failed: it ran out of luck" in text
    columns = {line.count("|") for line in text.splitlines() if line.startswith("| `pruned` | 1 | d:")}
    assert columns == {line.count("|") for line in text.splitlines() if "| failed: it ran" in line}


def test_the_terminal_has_80_columns() -> None:
    text = terminal(ROWS, comparisons(ROWS), OUTCOME)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "pruned 1 2,307,840 42.00 41.00 +0.50 123 1.5" in words
    assert "pruned minus continued: +1.00, +0.94 to +1.07: better" in words
    assert "random minus continued: -1.00, one seed: not decidable" in words
    assert "failed: it ran out of luck, and there is much" in words
    assert "+20.00 % (more than 1 % apart)" in words
    assert SIGNATURE in words.replace(" ", "")


def test_the_widest_values_have_80_columns() -> None:
    wide = row("pruned_random_weights", 4_294_967_295, 100.0, "scratch")
    assert wide.facts is not None
    wide = Row(wide.made, Facts(**{**vars(wide.facts), "parameters": 999_999_999}), 99999.0, wide.versus)
    lines = terminal([row("full", 4_294_967_295, 100.0, "scratch"), wide], {}, OUTCOME).splitlines()
    assert max(map(len, lines)) <= 80
    [found] = [line.split() for line in lines if line.startswith("pruned_random")]
    assert found == ["pruned_random_w…", "4294967295", "999,999,999", "101.00", "100.00", "+0.50", "99999", "1.5"]


def test_a_run_without_a_score_says_so() -> None:
    unscored = row("pruned", 1, 41.0)
    assert unscored.facts is not None
    facts = Facts(**{**vars(unscored.facts), "test": None})
    unscored = Row(unscored.made, facts, None, None)
    assert unscored.status == "done, but not scored"
    assert "done, but not scored" in markdown(SETTINGS, OUTCOME, [unscored], {})
    assert terminal([unscored], {}, OUTCOME)
