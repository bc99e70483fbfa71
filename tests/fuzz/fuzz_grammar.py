"""Tables that are valid by construction: what they say, in plain Python, and one of many ways to write them down."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from hypothesis import strategies as st

Row = tuple[Any, ...]  # ids, tick, value, kept

EPOCH = dt.datetime(1970, 1, 1)
SECOND = 10**6
STEPS = (60 * SECOND, 900 * SECOND, 1800 * SECOND, 3600 * SECOND, 86400 * SECOND)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "iso8859-15")
NULLS = ("", "NA", "NaN", "null", "None")
COMPRESSIONS = ("none", "snappy", "zstd", "gzip")
SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".parquet", ".feather")
LETTERS = "abcxyzÄßé№ \"',;|<>&=+-@\t\n{}%\\"
WORDS = ("off", "on", "heat", "=1+1", "-x", "NAN?", "</script><b>", 'q"uote', "semi;colon", "comma,")


@dataclass(frozen=True)
class Table:
    """Rows in the order of the source; times in microseconds since 1970 (UTC where zoned), or plain whole numbers."""

    rows: tuple[Row, ...]
    ids: tuple[str, ...]
    time: str
    value: str
    keep: tuple[str, ...]
    clock: str
    step: int
    kind: str
    source: Any = None
    suffix: str = ""
    reading: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of a row."""
        return (*self.ids, self.time, self.value, *self.keep)


@st.composite
def tables(draw: st.DrawFn, kind: str = "number") -> Table:
    """A table whose values are numbers ("number"), words ("word") or states ("state": words or whole numbers)."""
    clock = draw(st.sampled_from(("whole", "naive", "naive", "offset", "zone", "date")))
    step = draw(st.integers(1, 7)) if clock == "whole" else draw(st.sampled_from(STEPS))
    if clock == "date":
        step = STEPS[-1]
    begin = draw(st.integers(-50, 50)) if clock == "whole" else draw(_midnight(clock == "zone"))
    levels = draw(st.integers(0, 2))
    whole_ids = [draw(st.booleans()) for _ in range(levels)]
    alphabet = list(WORDS[: draw(st.integers(2, 3))]) if draw(st.booleans()) else [0, 1, 2][: draw(st.integers(2, 3))]
    kept = draw(st.booleans())
    rows: list[Row] = []
    names = draw(
        st.lists(st.tuples(*map(_identifier, whole_ids)), min_size=1, max_size=4 if levels else 1, unique=True)
    )
    for name in names:
        length = draw(st.integers(1, 9))
        ticks = [begin + step * i for i in range(length) if i == 0 or draw(st.integers(0, 5))]  # with gaps
        for tick in ticks:
            value = None if draw(st.integers(0, 7)) == 0 else draw(_value(kind, alphabet))
            rows.append((*name, tick, value, *((draw(st.sampled_from(("k", "=k", "ä"))),) if kept else ())))
    rows = draw(st.permutations(rows))
    odd = draw(st.booleans())
    table = Table(
        tuple(rows),
        tuple(("</script><b>", "a,b")[i] if odd else f"id{i}" for i in range(levels)),
        "t s" if odd else "ts",
        "Größe" if odd else "kwh",
        ("=kept",) if kept else (),
        clock,
        step,
        kind if kind != "state" else ("word" if isinstance(alphabet[0], str) else "whole"),
    )
    writer = draw(st.sampled_from((_text, _text, _arrow_file, _frame)))
    return writer(draw, table)


def _midnight(winter: bool) -> st.SearchStrategy[int]:
    """A day; where a zone will be named, one of a January, so that no hour occurs twice or never."""
    days = st.builds(dt.date, st.integers(1970, 2060), st.integers(1, 1 if winter else 12), st.integers(1, 15))
    return days.map(lambda day: (day - EPOCH.date()).days * STEPS[-1])


def _identifier(whole: bool) -> st.SearchStrategy[Any]:
    words = st.text(LETTERS, min_size=0, max_size=4).map(lambda rest: f"m{rest}m")
    return st.integers(0, 12) if whole else words


def _value(kind: str, alphabet: list[Any]) -> st.SearchStrategy[Any]:
    if kind == "state":
        return st.sampled_from(alphabet)
    if kind == "word":
        return st.sampled_from(WORDS)
    return st.builds(lambda n, places: Decimal(n).scaleb(-places), st.integers(-9999, 9999), st.integers(0, 3))


# --- text ------------------------------------------------------------------------------------------------------------


def _text(draw: st.DrawFn, table: Table) -> Table:
    encoding = draw(st.sampled_from(ENCODINGS))
    decimal = draw(st.sampled_from((".", ".", ","))) if table.kind == "number" else "."
    mark = draw(st.sampled_from([each for each in ",;\t|" if each != decimal]))
    style = draw(st.sampled_from(("iso", "iso seconds", "iso T", "european", "american")))
    null = draw(st.sampled_from(NULLS))
    quoting = draw(st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    end = draw(st.sampled_from(("\n", "\r\n")))
    rows, time_format = _stamped(table, style)
    sink = io.StringIO()
    out = csv.writer(sink, delimiter=mark, quoting=quoting, lineterminator=end)
    out.writerow(table.names)
    for row in rows:
        out.writerow([null if each is None else _number(each, decimal) for each in row])
    text = sink.getvalue()
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        encoding = "utf-8"
        content = text.encode(encoding)
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    reading: dict[str, Any] = {"encoding": declared, "decimal": decimal if decimal != "." else None}
    if any(each in text for each in ";|\t" if each != mark) or mark != "," or draw(st.booleans()):
        reading["delimiter"] = mark
    if time_format is not None:
        reading["time_format"] = time_format
    if table.clock == "zone":
        reading["time_zone"] = "Europe/Berlin"
    suffix = draw(st.sampled_from((".csv", ".csv", ".csv.gz", ".csv.zst", ".txt")))
    if suffix.endswith(".gz"):
        content = gzip.compress(content, 1)
    elif suffix.endswith(".zst"):
        content = pa.compress(content, codec="zstd", asbytes=True)
    return replace(table, source=content, suffix=suffix, reading=reading)


def _number(value: Any, decimal: str) -> str:
    return f"{value:f}".replace(".", decimal) if isinstance(value, Decimal) else str(value)


def _stamped(table: Table, style: str) -> tuple[list[Row], str | None]:
    """The rows with their times as text, and the format that has to be named."""
    at = len(table.ids)
    if table.clock == "whole":
        return [tuple(row) for row in table.rows], None
    formats = {
        "iso": ("%Y-%m-%d %H:%M", None),
        "iso seconds": ("%Y-%m-%d %H:%M:%S", None),
        "iso T": ("%Y-%m-%dT%H:%M:%S", None),
        "european": ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M"),
        "american": ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M"),
    }
    form, named = formats[style]
    if table.clock == "date":
        form = form.split("T")[0].split(" ")[0]
        named = named and named.split(" ")[0]
    if table.clock == "offset":
        form, named = "%Y-%m-%dT%H:%M:%S", None
    rows = []
    for i, row in enumerate(table.rows):
        instant = EPOCH + dt.timedelta(microseconds=row[at])
        if table.clock == "offset":
            hours = (0, 2, -3)[i % 3]
            stamp = (instant + dt.timedelta(hours=hours)).strftime(form) + ("Z", "+02:00", "-03:00")[i % 3]
        else:
            stamp = instant.strftime(form)
        rows.append((*row[:at], stamp, *row[at + 1 :]))
    return rows, named


def instants(table: Table) -> dict[int, int]:
    """What each written time means: a naive time in a zone is another instant."""
    at = len(table.ids)
    ticks = {row[at] for row in table.rows}
    if table.clock != "zone" or not isinstance(table.source, bytes) or not table.suffix.startswith((".csv", ".txt")):
        return {tick: tick for tick in ticks}
    zone = ZoneInfo("Europe/Berlin")
    moved = {}
    for tick in ticks:
        local = (EPOCH + dt.timedelta(microseconds=tick)).replace(tzinfo=zone)
        moved[tick] = tick - int(local.utcoffset().total_seconds()) * SECOND  # type: ignore[union-attr]
    return moved


# --- Arrow -----------------------------------------------------------------------------------------------------------


def _columns(draw: st.DrawFn, table: Table) -> pa.Table:
    columns = dict(zip(table.names, map(list, zip(*table.rows, strict=True)), strict=True))
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        if name == table.time:
            arrays[name] = _times(draw, table, values)
        elif name == table.value and table.kind == "number":
            kinds = (pa.float64(), pa.float64(), pa.float32(), pa.decimal128(20, 3))
            type = draw(st.sampled_from(kinds))
            exact = pa.types.is_decimal(type)
            arrays[name] = pa.array([v if v is None or exact else float(v) for v in values], type)
        elif name == table.value and table.kind == "whole":
            arrays[name] = pa.array(values, draw(st.sampled_from((pa.int8(), pa.int64(), pa.uint16()))))
        elif isinstance(values[0], int):
            arrays[name] = pa.array(values, draw(st.sampled_from((pa.int16(), pa.int64(), pa.uint32()))))
        else:
            array = pa.array(values, pa.string())
            arrays[name] = array.dictionary_encode() if draw(st.booleans()) else array
    made = pa.table(arrays)
    return made.replace_schema_metadata({"source": "/home/secret", "note": "x"}) if draw(st.booleans()) else made


def _times(draw: st.DrawFn, table: Table, ticks: list[int]) -> pa.Array:
    if table.clock == "whole":
        return pa.array(ticks, draw(st.sampled_from((pa.int32(), pa.int64()))))
    stamps = pa.array(ticks, pa.timestamp("us"))
    if table.clock == "date":
        return stamps.cast(pa.date32())
    zone = {"naive": None, "offset": "UTC", "zone": "Europe/Berlin"}[table.clock]
    return stamps.cast(pa.timestamp(draw(st.sampled_from(("ms", "us", "ns"))), zone))


def _arrow_file(draw: st.DrawFn, table: Table) -> Table:
    made, sink = _columns(draw, table), io.BytesIO()
    if draw(st.booleans()):
        pyarrow.parquet.write_table(
            made,
            sink,
            compression=draw(st.sampled_from(COMPRESSIONS)),
            use_dictionary=draw(st.booleans()),
            row_group_size=draw(st.sampled_from((3, 100))),
            data_page_version=draw(st.sampled_from(("1.0", "2.0"))),
        )
        return replace(table, source=sink.getvalue(), suffix=".parquet")
    pyarrow.feather.write_feather(made, sink, compression=draw(st.sampled_from(("zstd", "lz4", "uncompressed"))))
    return replace(table, source=sink.getvalue(), suffix=draw(st.sampled_from((".feather", ".arrow"))))


def _frame(draw: st.DrawFn, table: Table) -> Table:
    made = _columns(draw, table)
    library = draw(st.sampled_from(("arrow", "pandas", "polars")))
    if library == "pandas":
        frame = made.to_pandas(ignore_metadata=True)
        frame.index.name = "row"
        return replace(table, source=frame.iloc[::-1], rows=table.rows[::-1])
    if library == "polars":
        import polars

        return replace(table, source=polars.from_arrow(made))
    return replace(table, source=made)
