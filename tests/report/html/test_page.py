from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from lit_transformer.report.agreement import Agreement
from lit_transformer.report.html.page import page
from lit_transformer.report.html.run_sections import run_sections
from lit_transformer.report.html.runs_sections import _agreement_section
from lit_transformer.report.html.section import Section
from lit_transformer.report.runs import read_run
from tests.report.making import make_run

EVIL = "</script><script>alert(1)</script> & <b>bold</b> \"quoted\" 'single' {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = read_run(make_run(tmp_path_factory.mktemp("page") / "run", (6, 6), sentence=EVIL))
    return page(EVIL, [EVIL], [f"`{EVIL}`"], list(run_sections(run)))


def test_no_text_becomes_markup(made: str) -> None:
    assert "alert(1)" in html.unescape(made)
    assert not re.search(r"<script>alert", made)
    assert "<b>bold" not in made
    assert "{{ 7 * 7 }}" in html.unescape(made)


def test_code_between_backticks(made: str) -> None:
    assert "<li><code>&lt;/script&gt;" in made


def test_nothing_is_loaded_from_elsewhere(made: str) -> None:
    markup = re.sub(r"<script>.*?</script>", "", made, flags=re.DOTALL)
    addresses = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']([^\"']*)", markup)
    assert addresses == ["data:,"]
    assert "default-src 'none'" in made
    assert "unsafe-eval" not in made
    assert len(made.encode()) < 5_000_000


def test_every_chart_can_be_parsed_and_has_a_text_alternative(made: str) -> None:
    charts = re.findall(r'<div class="chart" role="img" aria-label="([^"]+)".*?json">(.*?)</script>', made, re.DOTALL)
    assert len(charts) >= 8
    for label, spec in charts:
        assert len(label) > 40
        assert json.loads(spec)["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_a_page_without_charts_needs_no_library() -> None:
    assert len(page("title", [], [], [Section("a", "A")])) < 20_000


def test_sections_of_a_whole_run(made: str) -> None:
    sections = re.findall(r'<section id="([^"]+)">', made)
    assert sections == [
        "heat-maps", "components", "group-ablation", "layer-ablation", "agreement", "phenomena", "paper", "training",
        "translations", "settings",
    ]  # fmt: skip


def test_sections_of_a_run_without_analysis(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "analysis" / "average" / "scores.json").unlink()
    assert [section.key for section in run_sections(read_run(folder))] == ["training", "settings"]


@pytest.mark.parametrize(("pairs", "numbers"), [(1, 1), (2, 3)])
def test_how_far_runs_agree_is_told_in_as_many_numbers_as_there_are(pairs: int, numbers: int) -> None:
    ranks = {"e:sa:1": 1.0, "e:ff:1": 2.0, "d:sa:1": 3.0}
    found = [Agreement("first", f"other{place}", ranks, ranks) for place in range(pairs)]
    (line,) = _agreement_section("drop", "BLEU lost", found).lines
    assert len(re.findall(r"1\.00", line)) == numbers
