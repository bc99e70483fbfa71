"""Original and released beside each other: for the private report alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.reports import vega
from reticent.reports.account import Table
from reticent.reports.drawing import BLUE, ORANGE, Figure, axis, figure
from reticent.reports.words import label, number, share

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.certificates import Certificate
    from reticent.tables.pipeline import Pair

SERIES = 3
ROWS = 1000
COLUMNS = 4  # value columns that are compared
DRAWN = 2  # and drawn
WORDS = 12  # different words that are drawn, the most frequent ones
WIDTH_OF_TWO = 500  # pixels from which two panels stand beside each other


@dataclass(frozen=True)
class Comparison:
    """One series before and after."""

    title: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    note: str


@dataclass(frozen=True)
class Column:
    """A value column, for drawing and for statistics.

    Attributes
    ----------
    values : float64 with NaN where missing, or object with None, shape (n,)
    numeric : bool
    """

    values: NDArray[Any]
    numeric: bool

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        return np.isnan(self.values) if self.numeric else np.array([value is None for value in self.values], dtype=bool)


def compare(certificate: Certificate, pairs: Sequence[Pair]) -> tuple[Comparison, ...]:
    """Pictures and statistics of the first few series."""
    columns = certificate.released["columns"]
    return tuple(_compare(pair, columns, certificate.action) for pair in pairs[:SERIES])


def _compare(pair: Pair, columns: Any, action: str) -> Comparison:
    original, released = pair.original.slice(0, ROWS), pair.released.slice(0, ROWS)
    who = ", ".join(f"{name} {original[name][0].as_py()}" for name in columns["id"]) if original.num_rows else ""
    times, kind = _times(original[columns["time"]])
    figures, tables = [], []
    for i, name in enumerate(columns["value"][:COLUMNS]):
        before, after = _column(original[name]), _column(released[name])
        if original.num_rows and i < DRAWN:
            figures += _draw(name, times, kind, before, after)
        tables.append(_statistics(f"{name}, {who}" if who else name, before, after, action))
    few = len(columns["value"]) - COLUMNS
    return Comparison(
        who or "The series",
        tuple(figures),
        tuple(tables),
        f"The first {original.num_rows:,} rows." + (f" {few:,} further columns are not shown." if few > 0 else ""),
    )


def _times(column: pa.ChunkedArray) -> tuple[list[Any], str]:
    """Places on the axis, and what the axis is: milliseconds for times, else the number of the row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        places = pc.cast(pc.cast(column, pa.timestamp("ms", zone), safe=False), pa.int64())
        return places.to_pylist(), "time (UTC)" if zone else "time"
    return list(range(len(column))), "row"


def _column(column: pa.ChunkedArray) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = pc.cast(column, pa.float64(), safe=False).to_numpy()
        return Column(np.asarray(values, dtype=np.float64), True)
    words = [None if value is None else str(value) for value in column.to_pylist()]
    return Column(np.array(words, dtype=object), False)


# --- pictures --------------------------------------------------------------------------------------------------------


def _draw(name: str, times: list[Any], kind: str, before: Column, after: Column) -> list[Figure]:
    sides = (("original", before, ORANGE), ("released", after, BLUE))
    panels = [(title, _rows(column, times), column.numeric, colour) for title, column, colour in sides]
    figures = []
    if before.numeric == after.numeric:

        def overlaid(width: int) -> Any:
            return _overlay(label(name), kind, panels, width)

        figures.append(
            figure(
                f"{name}: overlaid",
                "Original in orange, released in blue.",
                f"{name}, original and released, on one axis of time.",
                overlaid,
            )
        )

    def beside(width: int) -> Any:
        two = width >= WIDTH_OF_TWO
        each = width // 2 - 40 if two else width
        charts = [
            _panel(rows, numeric, colour, label(name), kind, each, 4).properties(title=title)
            for title, rows, numeric, colour in panels
        ]
        together = (vega.hconcat if two else vega.vconcat)(*charts)
        return together.properties(resolve={"scale": {"y": "shared"}}) if before.numeric == after.numeric else together

    figures.append(
        figure(f"{name}: side by side", "", f"{name}, the original in one panel, the released in another.", beside)
    )
    return figures


def _rows(column: Column, times: list[Any]) -> list[dict[str, Any]]:
    """Points of a line, broken where values are missing; of words, the stretches over which each lasts."""
    if column.numeric:
        finite = np.isfinite(column.values)
        return [
            {"x": x, "y": y if good else None}
            for x, y, good in zip(times, column.values.tolist(), finite.tolist(), strict=True)
        ]
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    names, counts = np.unique([word for word in column.values if word is not None], return_counts=True)
    frequent = set(names[np.argsort(-counts, kind="stable")[:WORDS]].tolist())
    rows: list[dict[str, Any]] = []
    for i, (x, word) in enumerate(zip(times, column.values.tolist(), strict=True)):
        end = min(x + step, times[i + 1]) if i + 1 < len(times) else x + step
        shown = "missing" if word is None else label(word) if word in frequent else "others"
        if rows and rows[-1]["y"] == shown and rows[-1]["x2"] >= x:
            rows[-1]["x2"] = end
        else:
            rows.append({"x": x, "x2": end, "y": shown})
    return rows


def _overlay(name: str, kind: str, panels: list[Any], width: int) -> Any:
    """The released one on top, and narrower: where they agree both are seen, and where a record is withheld one."""
    (_, first, numeric, orange), (_, second, _, blue) = panels
    original = _panel(first, numeric, orange, name, kind, width, 12)
    released = _panel(second, numeric, blue, name, kind, width, 4)
    return original + released


def _panel(
    rows: list[dict[str, Any]], numeric: bool, colour: str, name: str, kind: str, width: int, thickness: int
) -> Any:
    scale, encoding = ({}, "x:Q") if kind == "row" else ({"type": "utc"}, "x:T")
    along = vega.field(encoding, axis=axis(kind, tickCount=max(2, width // 90), labelOverlap=True), scale=scale)
    chart = vega.chart(rows).properties(width=width)
    if numeric:
        line = chart.mark("line", interpolate="step-after", color=colour, strokeWidth=4.5 if thickness > 4 else 1.3)
        up = vega.field("y:Q", axis=axis(name, tickCount=5), scale={"zero": False})
        return line.encode(x=along, y=up).properties(height=180)
    bar = chart.mark("bar", color=colour, height=thickness)
    up_words = vega.field("y:N", axis=axis(None), sort="ascending")
    return bar.encode(x=along, x2="x2", y=up_words).properties(height={"step": 26})


# --- statistics ------------------------------------------------------------------------------------------------------


def _statistics(title: str, before: Column, after: Column, action: str) -> Table:
    rows = [("Rows", number(before.values.size), number(after.values.size))]
    rows.append(("Missing or withheld", number(int(before.missing.sum())), number(int(after.missing.sum()))))
    if before.numeric and after.numeric:
        one, other = _summary(before.values), _summary(after.values)
        rows += [(key, one[key], other[key]) for key in one]
    else:
        one, other = _counts(before), _counts(after)
        rows += [(key, one.get(key, "0"), other.get(key, "0")) for key in dict.fromkeys([*one, *other])][: WORDS + 1]
    return Table(title, ("", "Original", "Released"), tuple(rows), _changes(before, after, action))


def _summary(values: NDArray[np.float64]) -> dict[str, str]:
    infinite = int(np.isinf(values).sum())
    values = values[np.isfinite(values)]
    found = dict.fromkeys(
        ("Mean", "Standard deviation", "Least", "First quartile", "Median", "Third quartile", "Largest")
    )
    if values.size:
        with np.errstate(over="ignore", invalid="ignore"):
            quarters = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
            numbers = [float(values.mean()), float(values.std()), *quarters]
        found = dict(zip(found, numbers, strict=True))
    texts = {key: "–" if value is None else number(value) for key, value in found.items()}
    return {**texts, "Infinite": number(infinite)} if infinite else texts


def _counts(column: Column) -> dict[str, str]:
    present = column.values[~column.missing]
    names, counts = np.unique(present.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = {
        f"Share of {names[i]}": f"{number(int(counts[i]))} ({share(float(counts[i] / present.size))})" for i in order
    }
    return {"Different values": number(len(names)), **shares}


def _changes(before: Column, after: Column, action: str) -> str:
    """What happened to the rows, as shares."""
    total = before.values.size
    if not total:
        return ""
    here = ~before.missing & ~after.missing
    withheld = int((~before.missing & after.missing).sum())
    if before.numeric == after.numeric:
        changed = int((before.values[here] != after.values[here]).sum())
    else:
        changed = int(here.sum())
    say = {
        "redact": f"Withheld: {_of(withheld, total)}. Altered among the others: {number(changed)}.",
        "switch": f"Rows that now show another value: {_of(changed + _moved_gaps(before, after), total)}.",
        "quantize": f"Values replaced by another number or text: {_of(changed, total)}.",
    }[action]
    if action == "quantize" and before.numeric and after.numeric and here.any():
        error = np.abs(before.values[here] - after.values[here])
        error = error[np.isfinite(error)]
        if error.size:
            say += f" Error: {number(float(error.mean()))} on average, {number(float(error.max()))} at most."
    return say


def _moved_gaps(before: Column, after: Column) -> int:
    return int((before.missing != after.missing).sum())


def _of(count: int, total: int) -> str:
    return f"{number(count)} of {number(total)} ({share(count / total)})"
