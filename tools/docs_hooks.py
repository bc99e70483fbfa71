"""What MkDocs calls while it builds the documentation: the numbers of the page of errata are computed then."""

from __future__ import annotations

from typing import Any

from errata import filled

COMPUTED = ("errata.md",)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the numbers; one that differs from what the page shows stops the build."""
    return filled(markdown) if page.file.src_uri in COMPUTED else markdown


def on_post_page(output: str, **_: Any) -> str:
    """Give the theme's search a name, without which a screen reader announces a dialogue of nothing."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
