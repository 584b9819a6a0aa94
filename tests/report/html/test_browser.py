"""The page in a real browser: charts are drawn, nothing leaves the page, text stays text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright import sync_api

from lit_transformer.report.command import make_report
from tests.report.making import component_rows, make_run, make_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<script>window.broken = true</script> <b>B&amp;</b> 🦊 שלום עולם " + "Donaudampfschifffahrt" * 8

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, such as Debian's package chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        # A container's root has no sandbox to give.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("browser")
    run = make_run(folder / "demo" / "version_0", (6, 6), sentence=EVIL)
    return make_report([run, make_study(folder / "mine")]).page.as_uri()


class Visit:
    """A page with what it said and asked for while it was opened."""

    def __init__(
        self, browser: sync_api.Browser, address: str, width: int = 1200, scheme: Literal["light", "dark"] = "light"
    ) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_function("document.documentElement.dataset.charts")


@pytest.fixture(scope="module")
def visit(browser: sync_api.Browser, address: str) -> Visit:
    return Visit(browser, address)


def test_every_chart_is_drawn_without_a_word_and_without_a_request(visit: Visit, address: str) -> None:
    assert visit.said == []
    assert visit.asked == [address]
    charts = visit.page.locator(".chart")
    assert charts.count() >= 9
    for place in range(charts.count()):
        assert charts.nth(place).locator("svg path, svg text").count() > 5


def test_the_legend_of_losses_begins_with_a_gain(visit: Visit) -> None:
    texts = visit.page.locator("#phenomena .chart .role-legend-label text").all_text_contents()
    assert texts[:2] == ["gain", "0.0%"]
    assert len(set(texts)) == len(texts) == 11


def test_no_text_alternative_is_false_in_the_dark(visit: Visit, browser: sync_api.Browser, many: str) -> None:
    other = Visit(browser, many)
    for page in (visit.page, other.page):
        labels = page.eval_on_selector_all("[aria-label]", "all => all.map(each => each.getAttribute('aria-label'))")
        assert len(labels) > 5
        assert [label for label in labels if "dark" in str(label).lower()] == []
    other.page.close()


@pytest.mark.parametrize("null", ["all", "some", "one bound"])
def test_missing_intervals_are_no_news(browser: sync_api.Browser, null: str, tmp_path: Path) -> None:
    rows = component_rows({"e:sa:1": 1.0, "e:ff:1": 0.2, "d:ff:1": 3.0})
    for row in rows if null == "all" else rows[:1]:
        row["drop_lower"] = None
        row["drop_upper"] = row["drop_upper"] if null == "one bound" else None
    run = make_run(tmp_path / "demo/version_0", drops={"e:sa:1": 1.0}, components=rows)
    visit = Visit(browser, make_report([run, make_study(tmp_path / "mine", seeds=1)]).page.as_uri())
    assert visit.said == []
    rules = visit.page.locator("#components .chart .mark-rule[class*=layer_1] line")
    assert rules.count() == {"all": 0, "some": 2, "one bound": 2}[null]
    visit.page.close()


def test_a_heat_map_has_a_value_in_each_cell(visit: Visit) -> None:
    cells = visit.page.locator("#heat-maps .chart").first.locator("svg text").all_text_contents()
    assert len([text for text in cells if text.count(".") == 1]) == 30


def test_text_stays_text(visit: Visit) -> None:
    assert visit.page.evaluate("window.broken") is None
    assert EVIL in visit.page.locator("#translations dd").first.inner_text()


def test_tables_sort(visit: Visit) -> None:
    table = visit.page.locator("#components table")
    head = table.locator("th", has_text="BLEU lost")
    column = head.evaluate("head => head.cellIndex")

    def values() -> list[float]:
        return [float(text) for text in table.locator(f"tbody tr td:nth-child({column + 1})").all_text_contents()]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)
    head.locator("button").click()
    assert values() == sorted(values())
    table.locator("th").first.locator("button").click()
    names = table.locator("tbody td:first-child").all_text_contents()
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") is None


def test_hover_shows_values(visit: Visit) -> None:
    visit.page.locator("#heat-maps .chart svg").first.locator(".mark-text text").first.hover()
    assert "score" in visit.page.locator("#vg-tooltip-element").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1200, "dark")])
def test_phone_width_and_dark(
    browser: sync_api.Browser, address: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    visit = Visit(browser, address, width, scheme)
    assert visit.said == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = visit.page.locator("#heat-maps svg text", has_text="layer").first.evaluate(
        "text => getComputedStyle(text).fill"
    )
    assert (sum_of(background) > 600) is (scheme == "light")
    assert (sum_of(ink) > 400) is (scheme == "dark")
    visit.page.close()


def test_print_is_light_and_has_its_charts(browser: sync_api.Browser, address: str) -> None:
    visit = Visit(browser, address, scheme="dark")
    visit.page.emulate_media(media="print", color_scheme="dark")
    assert sum_of(visit.page.evaluate("getComputedStyle(document.body).backgroundColor")) > 600
    assert not visit.page.locator("nav").is_visible()
    assert visit.page.locator(".chart svg").first.is_visible()
    visit.page.close()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page of so many runs that their agreement takes a row of the page."""
    folder = tmp_path_factory.mktemp("many")
    runs = [make_run(folder / f"an-experiment/version_{n}", (2, 2), seed=n) for n in range(15)]
    return make_report(runs, folder / "out").page.as_uri()


@pytest.mark.parametrize("width", [360, 1200])
def test_no_chart_is_wider_than_its_box_without_a_word(browser: sync_api.Browser, many: str, width: int) -> None:
    visit = Visit(browser, many, width)
    assert visit.said == []
    figures = visit.page.locator("figure")
    assert figures.count() >= 6
    for place in range(figures.count()):
        figure = figures.nth(place)
        chart = figure.locator(".chart")
        wider = chart.evaluate("chart => chart.scrollWidth > chart.clientWidth + 1")
        assert figure.locator(".wider").is_visible() is wider
        assert (chart.get_attribute("tabindex") == "0") is wider
        chart.evaluate("chart => { chart.scrollLeft = 50; }")
        assert (chart.evaluate("chart => chart.scrollLeft") > 0) is wider
        assert not wider or width < 1200
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.close()


@pytest.mark.parametrize("page", ["address", "many"])
def test_nothing_is_wider_than_the_paper(browser: sync_api.Browser, page: str, request: pytest.FixtureRequest) -> None:
    """What was drawn for a screen is printed as it is: A4 leaves 718 px between its margins."""
    visit = Visit(browser, request.getfixturevalue(page))
    visit.page.emulate_media(media="print")
    visit.page.evaluate("document.body.style.width = '718px'")
    beyond = """() => [...document.querySelectorAll("body *")]
        .filter((each) => each.getClientRects().length && each.getBoundingClientRect().right > 719)
        .map((each) => `${each.closest("section").id}: ${each.outerHTML.slice(0, 80)}`)"""
    assert visit.page.evaluate(beyond) == []
    assert visit.page.locator(".chart svg").first.evaluate("svg => svg.getBoundingClientRect().height") > 50
    visit.page.close()


def test_two_runs_side_by_side(browser: sync_api.Browser, tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"runs/{n}", layers) for n, layers in enumerate([(2, 2), (3, 2)])]
    visit = Visit(browser, make_report(runs, tmp_path / "out").page.as_uri())
    assert visit.said == []
    holes = visit.page.locator("#contribution-maps .chart").first.locator("svg text", has_text="–")
    # The first has no third layer, and neither decoder has one: the second has holes there only.
    assert holes.count() == 5
    visit.page.close()


def sum_of(colour: str) -> int:
    """The sum of red, green and blue of ``rgb(r, g, b)``."""
    return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
