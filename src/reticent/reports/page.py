"""Put the parts of a report on one page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reticent.reports import aggregation, own_range, quantization, redaction, switching
from reticent.reports.account import released

if TYPE_CHECKING:
    import jinja2

    from reticent.certificates import Certificate
    from reticent.reports.comparison import Comparison


SO_FAR = "<!-- composition so far -->"  # in a private page until the charge; no name can be it, as they are escaped
FAMILIES = {"redact": redaction, "switch": switching, "quantize": quantization}


def render(
    certificate: Certificate, comparisons: tuple[Comparison, ...] | None = None, plan: tuple[tuple[str, str], ...] = ()
) -> str:
    """The page; private where comparisons are given, even none.

    Every text is escaped but the SVG, which vl-convert has escaped.
    """
    family: Any = FAMILIES[certificate.action]
    if "aggregate" in certificate.parameters:
        family = aggregation
    elif "range" in certificate.parameters:
        family = own_range
    return fill(
        "report.html.j2",
        certificate=certificate,
        account=family.account(certificate),
        released=released(certificate),
        figures=list(family.figures(certificate)),
        private=comparisons is not None,
        comparisons=comparisons or (),
        plan=plan,
        so_far=SO_FAR,
    )


def with_composition(page: str, so_far: Sequence[str]) -> str:
    """A private page with what the ledger said when the release was charged, which is after the page was written."""
    import html

    told = so_far or ("No ledger was asked: what else was released of these data is not known here.",)
    entries = "".join(f"<li>{html.escape(each)}</li>\n" for each in told)
    return page.replace(SO_FAR, f"<ul>\n{entries}</ul>", 1)


def fill(name: str, **parts: Any) -> str:
    """A page from its template."""
    return (
        template(name).render(**parts).encode("utf-8", "replace").decode()
    )  # a lone surrogate must not stop a release


@cache
def template(name: str) -> jinja2.Template:
    """The template of a page, compiled."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reticent.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
