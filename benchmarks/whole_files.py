"""Whole Parquet files, beside DuckDB's sorted copy of the same file: as processes, and in one that runs already."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from compileall import compile_dir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from measuring import Scale, Spent, note, process, table, timed, turns

DUCKDB = "DuckDB's sorted copy"
COPY = "COPY (SELECT meter, ts, {value} FROM '{data}' ORDER BY meter, ts) TO '{out}' (FORMAT parquet)"
SQL = [sys.executable, "-c", "import duckdb, sys; duckdb.sql(sys.argv[1])"]
TOOL = [sys.executable, "-c", "from reticent.cli import command; command()"]
SWITCH = {"window": 24, "epsilon": 2, "mechanism": "footrule"}
QUANTIZE = {"low": 0, "high": 5, "bits": 3}
REDACT = {"private": "2000-01-01 00:00/2000-01-01 00:30", "epsilon": 1, "mechanism": "optimal"}
HEAD = ["what", "seconds", "times DuckDB", "processor time, times DuckDB", "µs a row", "peak MB"]


def make(data: Path, rows: int, series: int) -> None:
    """Half-hourly meters in shuffled order, with a value and a state, and the model of the states."""
    note(f"making {rows:,} rows in {series:,} series")
    sql = (
        f"COPY (SELECT (i % {series})::INT AS meter, TIMESTAMP '2000-01-01' + INTERVAL (i // {series} * 30) MINUTE AS "
        f"ts, round(random() * 5, 3)::DOUBLE AS kwh, (random() < 0.3)::INT AS state FROM range({rows}) t(i) "
        f"ORDER BY hash(i)) TO '{data}' (FORMAT parquet)"
    )  # in a process of its own: the memory of this one would count as that of those it starts
    subprocess.run([*SQL, sql], check=True)


def model(folder: Path) -> Path:
    """The model of the states, as a file."""
    import reticent as rt
    from reticent.tables.models import Model

    path = folder / "model.json"
    path.write_text(Model(rt.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=(0, 1)), "30m").to_json())
    return path


def commands(data: Path, out: Path, model: Path) -> dict[str, list[str]]:
    """Each verb as a user would type it."""
    columns = [str(data), "--id", "meter", "--time", "ts", "-o", str(out), "--overwrite", "--no-ledger"]

    def verb(name: str, value: str, *more: str, **asked: Any) -> list[str]:
        options = [word for key, each in asked.items() for word in (f"--{key}", str(each))]
        return [*TOOL, name, *columns, "--value", value, *options, *more]

    return {
        DUCKDB: [*SQL, COPY.format(data=data, out=out, value="kwh")],
        "switch": verb("switch", "kwh", **SWITCH),
        "quantize": verb("quantize", "kwh", **QUANTIZE),
        "redact": verb("redact", "state", "--no-diagnosis", model=model, **REDACT),
    }


def calls(data: Path, out: Path, model: Path) -> dict[str, Callable[[], object]]:
    """Each verb as a call."""
    import duckdb

    from reticent import tables

    files: Any = {"id": "meter", "time": "ts", "output": out, "overwrite": True, "ledger": False}
    return {
        DUCKDB: lambda: duckdb.sql(COPY.format(data=data, out=out, value="kwh")),
        "switch": lambda: tables.switch(data, value="kwh", **SWITCH, **files),
        "quantize": lambda: tables.quantize(data, value="kwh", **QUANTIZE, **files),
        "redact": lambda: tables.redact(data, value="state", model=model, **REDACT, **files),
    }


def rows_of(what: str, spent: dict[str, Spent], rows: int) -> Iterator[list[str]]:
    """Lines of a table."""
    base = spent[DUCKDB]
    for name, each in spent.items():
        ratios = [f"{each.wall / base.wall:.2f}", f"{each.processor / base.processor:.2f}"]
        peak = f"{each.peak:,.0f}" if each.peak else ""
        yield [f"{what}: {name}", f"{each.wall:.2f}", *ratios, f"{1e6 * each.wall / rows:.3f}", peak]


def as_processes(folder: Path, rows: int, series: int, scale: Scale) -> dict[str, Spent]:
    """Each in turn as a process of its own."""
    data, out = folder / "in.parquet", folder / "out.parquet"
    make(data, rows, series)
    work = {
        name: partial(process, command, scale.limit) for name, command in commands(data, out, model(folder)).items()
    }
    note("each command as a process, in turn")
    return turns(work, scale)


def shapes(folder: Path, scale: Scale) -> list[str]:
    """2,000 series, series of two rows, and one series: times the time a row of the first."""
    lines, first = [], {}
    main = replace(scale, patience=2.5 * scale.patience)  # what all others are compared with: more turns
    for rows, series, how in (
        (scale.rows, 2000, main),
        (scale.rows // 10, scale.rows // 20, scale),
        (scale.rows * 3 // 2, 1, scale),
    ):
        spent = as_processes(folder, rows, series, how)
        each = {name: one.wall / rows for name, one in spent.items()}
        first = first or each
        for name, line in zip(spent, rows_of(f"{rows:,} rows, {series:,} series", spent, rows), strict=True):
            lines.append([*line[:-1], f"{each[name] / first[name]:.2f}", line[-1]])
    return list(table([*HEAD[:-1], "times the first shape, a row", HEAD[-1]], lines))


def growth(folder: Path, scale: Scale) -> list[str]:
    """In 20,000 series, so that only the rows grow."""
    lines = []
    for rows in (scale.rows // 20, scale.rows // 2, *([100_000_000] if scale.large else [])):
        lines += rows_of(f"{rows:,} rows", as_processes(folder, rows, 20_000, scale), rows)
    return ["20,000 series, each command a process.", "", *table(HEAD, lines)]


def running(folder: Path, scale: Scale) -> list[str]:
    """2,000 series, in a process that has released a small file before."""
    small, data, out = folder / "small.parquet", folder / "in.parquet", folder / "out.parquet"
    make(small, 20_000, 20)
    for work in calls(small, out, model(folder)).values():
        work()
    make(data, scale.rows, 2000)
    note("each verb as a call, in turn")
    work = {name: partial(timed, call) for name, call in calls(data, out, model(folder)).items()}
    spent = turns(work, replace(scale, patience=2 * scale.patience))
    lines = list(rows_of(f"{scale.rows:,} rows, 2,000 series", spent, scale.rows))
    return list(table(HEAD[:-1], [line[:-1] for line in lines]))


def starting(folder: Path, scale: Scale) -> list[str]:
    """Import, a release of a small file, and the first one after the installation, which compiles."""
    import reticent

    compile_dir(Path(reticent.__file__).parent, quiet=1)  # as an installation does
    small, out = folder / "small.parquet", folder / "out.parquet"
    make(small, 20_000, 20)
    each = commands(small, out, model(folder))
    each["redact, quilt"] = [*each["redact"], "--mechanism", "quilt"]
    note("imports, first and later releases of a small file")
    works = {
        "python": [sys.executable, "-c", "pass"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import reticent": [sys.executable, "-c", "import reticent"],
        **{f"{name}, 20,000 rows": command for name, command in each.items()},
    }
    first = {
        name: process(command, scale.limit, NUMBA_CACHE_DIR=str(folder / f"cache {i}"))
        for i, (name, command) in enumerate(works.items())
    }
    cached = {
        name: partial(process, command, scale.limit, NUMBA_CACHE_DIR=str(folder / f"cache {i}"))
        for i, (name, command) in enumerate(works.items())
    }
    spent = turns(cached, scale)
    lines = []
    for name, later in spent.items():
        compiled = first[name]
        more = "" if compiled is None or "rows" not in name else f"{compiled.processor - later.processor:.2f}"
        lines.append([name, f"{later.wall:.2f}", f"{later.processor:.2f}", "" if name == DUCKDB else more])
    head = ["a process", "seconds", "processor seconds", "to compile, in the first one: processor seconds"]
    return list(table(head, lines))
