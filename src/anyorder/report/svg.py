"""Drawings for use inside a page: text stays text, and colours are the page's own, light or dark.

While drawing, marks stand for the page's variables --ink, --rule and --c0, --c1, ... of its series.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure

INK_MARK, RULE_MARK, SERIES_MARK = "#010101", "#020202", "#0300"
COLOURS = 8


def series(index: int) -> str:
    """The mark for the colour of a series."""
    return f"{SERIES_MARK}{index % COLOURS:02x}"


def for_a_page(name: str, size: int = 11) -> AbstractContextManager[None]:
    """Settings under which to draw and to call `drawing`."""
    return rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": size})


def drawing(figure: Figure, name: str) -> str:
    """The figure as SVG without its file's header, in the page's colours, its ids apart from others'."""
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r' height="[^"]*pt"', "", svg, count=1)
    )
    svg = re.sub(rf"{SERIES_MARK}(\w\w)\b", lambda mark: f"var(--c{int(mark[1], 16)})", svg)
    return svg.replace(INK_MARK, "var(--ink)").replace(RULE_MARK, "var(--rule)")
