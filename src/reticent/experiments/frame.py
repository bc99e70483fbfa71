"""What an experiment is, and how its outcome is written."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from reticent.experiments.sources import located
from reticent.reports.vega import Chart

Rows = Sequence[Mapping[str, Any]]
Progress: TypeAlias = Callable[[int, int], None]  # what is done, and what is to be done in all


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out.

    Attributes
    ----------
    rows : sequence of mappings
        Tidy: one observation a row, the same keys in each.
    chart : Chart
    findings : str
        What came out, in sentences.
    table : str
        A Markdown table for people, or nothing.
    """

    rows: Rows
    chart: Chart
    findings: str
    table: str = ""


@dataclass(frozen=True)
class Experiment:
    """A named experiment.

    Parameters
    ----------
    name, title : str
    function : str
        ``module:function`` within this package, from the files found (by name of the data set) to an `Outcome`. One
        that uses data takes a while: it is also given `progress`.
    sources : tuple of str
        The data sets that it can use.
    """

    name: str
    title: str
    function: str
    sources: tuple[str, ...] = ()

    def run(self, data: Path | None = None, progress: Progress | None = None) -> Outcome:
        """Run on what is there of the data sets.

        Parameters
        ----------
        data : Path, optional
            The folder that holds a folder for each data set.
        progress : callable, optional
            Told what is done and what is to be done in all.

        Raises
        ------
        ArgumentError
            If the experiment needs data and none are there: it says where they can be had.
        """
        module, name = self.function.split(":")
        function: Callable[..., Outcome] = getattr(import_module(f"reticent.experiments.{module}"), name)
        return function(located(data, self.sources), progress=progress) if self.sources else function({})


def part(progress: Progress | None, place: int, parts: int) -> Progress | None:
    """The progress of one of several parts of equal length."""
    return None if progress is None else lambda done, total: progress(place * total + done, parts * total)


def write(experiment: Experiment, outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write NAME.csv, NAME.svg, NAME.png and NAME.md; their paths."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    rows, svg, png, words = (folder / f"{experiment.name}.{kind}" for kind in ("csv", "svg", "png", "md"))
    with rows.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(outcome.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(outcome.rows)
    spec = styled(outcome.chart)
    svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    png.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    parts = (f"# {experiment.title}", outcome.findings, outcome.table)
    words.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return rows, svg, png, words


def styled(chart: Chart) -> dict[str, Any]:
    """One look for all figures."""
    return chart.finished(
        background="white",
        font="sans-serif",
        padding=12,
        axis={"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "labelLimit": 240},
        header={"labelFontSize": 13, "titleFontSize": 13, "labelLimit": 320},
        legend={"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320, "symbolStrokeWidth": 3},
        title={"fontSize": 14, "subtitleFontSize": 12, "anchor": "start", "fontWeight": "normal"},
        text={"fontSize": 12},
    )


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *lines))


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights for labels at the ends of lines: in the same order, at least `gap` apart."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    placed = list(heights)
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + gap)
    excess = (max(placed) - max(heights)) / 2  # shared above and below
    return [height - excess for height in placed]
