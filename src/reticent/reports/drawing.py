"""Charts as SVG inside the page: no script, legible in light and dark, wide and narrow.

Marks have mid-tone colours, with a contrast of at least 3 to white and to the dark page; text, axes and grid take the
page's own colours by its style sheet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reticent.reports.vega import Chart, chart

WIDE, NARROW = 656, 290  # pixels between the axes; the page shows one or the other

PALETTE = ("#3b7dd8", "#c2701a", "#2e9567", "#9468cc", "#d4504c", "#1b8fa3", "#87842b", "#7f868f")
BLUE, ORANGE, RED = PALETTE[0], PALETTE[1], PALETTE[4]
SECRET = PALETTE[3]


@dataclass(frozen=True)
class Figure:
    """A chart with what is said about it.

    Attributes
    ----------
    title, caption : str
    alt : str
        What the picture shows, for those who do not see it.
    wide, narrow : str
        SVG; which is shown depends on the width of the page.
    """

    title: str
    caption: str
    alt: str
    wide: str
    narrow: str


def figure(title: str, caption: str, alt: str, draw: Callable[[int], Chart]) -> Figure:
    """Draw a chart at both widths.

    Parameters
    ----------
    title, caption, alt : str
    draw : callable
        ``draw(width)`` gives a chart of that many pixels between its axes.
    """
    return Figure(title, caption, alt, _svg(draw(WIDE)), _svg(draw(NARROW)))


def warm_up() -> None:
    """Draw a first chart, for which the engine that draws them is started: half a second."""
    _svg(chart([{"x": 0, "y": 0}]).mark("line").encode(x="x:Q", y="y:Q"))


def axis(title: str | None, **settings: Any) -> dict[str, Any]:
    """An axis with a plain title."""
    return {"title": title, **settings}


def _svg(drawn: Chart) -> str:
    import vl_convert

    spec = drawn.finished(
        aria=False,
        background="transparent",
        font="system-ui, sans-serif",
        padding=4,
        view={"stroke": None},
        axis={
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "labelLimit": 160,
        },
        legend={
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "top",
            "labelLimit": 260,
            "columns": 2,
            "columnPadding": 24,
        },
        title={"fontSize": 13, "anchor": "start", "fontWeight": "normal"},
        text={"fontSize": 12},
    )
    return tidy(vl_convert.vegalite_to_svg(spec))


def tidy(svg: str) -> str:
    """An SVG to stand in an HTML page, hidden from screen readers: the figure has its own words.

    Name spaces go (HTML has its own), and so do digits beyond a hundredth of a pixel. Identifiers would collide between
    charts, so the marks are drawn without clipping, and none may remain.
    """
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"| aria-[a-z]+="[^"]*"| role="graphics-[a-z]+"', "", svg)
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    assert " id=" not in svg
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
