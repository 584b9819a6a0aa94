"""A report as one HTML file that opens from disk: no request leaves it, and no text of a corpus becomes markup."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import Any

from lit_transformer.report.charts import engine
from lit_transformer.report.charts.vega import library_version
from lit_transformer.report.html.section import Section
from lit_transformer.version import __version__

_PACKAGE = "lit_transformer.report.html"


def page(title: str, summary: Sequence[str], problems: Sequence[str], sections: Sequence[Section]) -> str:
    """Return the page.

    Args:
        title: Its title.
        summary: The first sentences.
        problems: What is missing, a sentence each.
        sections: What it shows.
    """
    template = _environment().get_template("report.html.j2")
    made: str = template.render(
        title=title,
        summary=summary,
        problems=problems,
        sections=sections,
        version=__version__,
        style=_text("report.css"),
        script=_text("report.js"),
        # A page without charts needs no library.
        library=_library() if any(section.figures for section in sections) else "",
    )
    # JSON may spell half a character, which no file in UTF-8 can hold.
    return made.encode("utf-8", "replace").decode("utf-8")


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_PACKAGE, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    return environment


def _with_code(text: str) -> Any:
    """Return a text with what stands between backticks as code, everything escaped."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))


def _text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, of the version that Altair's specifications are made for."""
    script = "window.vegaEmbed = vegaEmbed;"
    bundle = engine.call("javascript_bundle", script, vl_version=library_version()).decode()
    # Inside a page the script would end here.
    return bundle.replace("</script", "<\\/script")
