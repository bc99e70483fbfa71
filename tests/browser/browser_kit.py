"""Open a page from disk, with everything watched that it must not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PHONE, LAPTOP = 390, 1366  # pixels


@contextmanager
def opened(
    browser: Any, page: Path, *, width: int = LAPTOP, scheme: str = "light", bypass_csp: bool = False
) -> Iterator[Any]:
    """The page, open; afterwards it must have asked for nothing but itself, and said nothing in the console."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, bypass_csp=bypass_csp
    )
    asked: list[str] = []
    said: list[str] = []

    def gate(route: Any) -> None:
        asked.append(route.request.url)
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            route.abort()

    context.route("**/*", gate)
    tab = context.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    try:
        yield tab
        assert set(asked) == {page.as_uri()}
        assert said == []
    finally:
        context.close()


def violations(tab: Any, axe: str) -> list[str]:
    """What axe-core finds that is serious or critical."""
    tab.evaluate(axe)
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def overflow(tab: Any) -> int:
    """Pixels by which the page is wider than its window."""
    return tab.evaluate("document.documentElement.scrollWidth - innerWidth")


def charts(tab: Any) -> list[dict[str, float]]:
    """Of each chart that shows: its size, and how much of it is drawn."""
    return tab.evaluate(
        """() => [...document.querySelectorAll('[role=img] svg, svg[role=img]')]
          .filter(svg => svg.getClientRects().length)
          .map(svg => {
            const box = svg.getBoundingClientRect();
            const marks = [...svg.querySelectorAll('path, rect, line, text')];
            const filled = marks.map(mark => mark.getBoundingClientRect()).filter(each => each.width + each.height > 0);
            const inked = filled.filter(each => each.right > box.left - 2 && each.left < box.right + 2);
            return {width: box.width, height: box.height, marks: filled.length, inside: inked.length};
          })"""
    )
