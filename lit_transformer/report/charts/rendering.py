"""Charts as PNG and SVG that stand on their own: in the page's light colours, with a title, without a browser."""

from __future__ import annotations

import functools
import json
import re
import textwrap
from importlib import resources
from pathlib import Path
from typing import Any

from lit_transformer.files import write_bytes
from lit_transformer.report.charts import engine
from lit_transformer.report.charts.vega import Spec, library_version

FORMATS = (".png", ".svg")
WIDTH = 520
"""Width of what a chart draws into, in pixels of an SVG, where the page would give it the width that there is."""
_SCALE = 2
# The first one comes with vl-convert, so that a picture looks the same on every machine; Arial has its widths.
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


def write_picture(chart: Spec, path: Path, *, title: str, subtitle: str = "") -> None:
    """Write a chart as a picture; the same chart gives the same bytes.

    Args:
        chart: The chart, as Vega-Lite in the colours of the page.
        path: The file to write, PNG or SVG by its suffix.
        title: What is shown.
        subtitle: Where the numbers come from and how to read them, a paragraph per line.

    Raises:
        ValueError: The suffix is of neither format.
        UserError: The file can't be written.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"cannot draw {path.name!r}; the name has to end in {' or '.join(FORMATS)}")
    form: dict[str, Any] = {"scale": _SCALE} if path.suffix == ".png" else {}
    spec = standalone(chart, title, subtitle)
    made = engine.call(
        f"vegalite_to_{path.suffix[1:]}", spec, vl_version=library_version(), allowed_base_urls=[], **form
    )
    write_bytes(path, made)


def standalone(chart: Spec, title: str, subtitle: str = "") -> Spec:
    """Return a chart that needs no page: colours instead of CSS variables, a width of its own, a title.

    Args:
        chart: The chart, as Vega-Lite in the colours of the page.
        title: What is shown.
        subtitle: Where the numbers come from and how to read them, a paragraph per line.
    """
    colours = light_colours()
    text = re.sub(r"var\((--[\w-]+)\)", lambda found: colours.get(found[1], found[0]), json.dumps(chart))
    spec: Spec = json.loads(text)
    if spec.get("width") == "container":
        spec["width"] = WIDTH
    spec["title"] = {
        "text": textwrap.wrap(title, 60),
        "subtitle": [
            line for each in subtitle.splitlines() for line in textwrap.wrap(each, 90, break_on_hyphens=False)
        ],
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "subtitleFontSize": 12,
        "color": colours["--ink"],
        "subtitleColor": colours["--ink"],
        "subtitlePadding": 6,
        "offset": 12,
    }
    spec["config"] |= {"background": colours["--page"], "font": _FONT}
    spec["padding"] = 10
    return spec


@functools.cache
def light_colours() -> dict[str, str]:
    """Return the colours of the page in the light, by the name of their CSS variable."""
    css = resources.files("lit_transformer.report.html").joinpath("report.css").read_text(encoding="utf-8")
    first = css[css.index("{") : css.index("}")]
    return dict(re.findall(r"(--[\w-]+): ([^;]+);", first))
