"""All benchmarks in one run, as ratios; writes the tables of docs/performance.md.

    python benchmarks/run.py [--rows 1,10] [--repeat 5] [--print]

What is compared takes turns within the run, each in the same process or each as a process of its own; a figure is the
median of several turns. Needs the extra ``bench``; peers that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import reticent as rt
from reticent.redaction import redact_batch
from reticent.switching import switch_batch
from reticent.switching.mechanism import WORDS_AT_ONCE

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- benchmarks/run.py writes from here -->", "<!-- to here -->"
Work = Callable[[], object]


def medians(works: dict[str, Work], repeat: int) -> dict[str, float]:
    """Median processor time of each, in turn, after one turn that compiles and fills caches."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeat + 1):
        for name, work in works.items():
            begun = time.process_time()
            work()
            if turn:
                spent[name].append(time.process_time() - begun)
    return {name: statistics.median(each) for name, each in spent.items()}


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""


def peers(values: np.ndarray) -> dict[str, tuple[int, Work]]:
    """Laplace mechanisms of other packages, each on as many values as it does in a moment."""
    found: dict[str, tuple[int, Work]] = {}
    few, some = values[:10_000].tolist(), values[:200_000].tolist()
    try:
        laplace = importlib.import_module("diffprivlib.mechanisms").Laplace(epsilon=2.0, sensitivity=1.0)
        found["diffprivlib's Laplace"] = len(few), lambda: [laplace.randomise(value) for value in few]
    except ImportError:
        print("diffprivlib is not installed", file=sys.stderr)
    try:
        opendp = importlib.import_module("opendp.prelude")
        opendp.enable_features("contrib")
        space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
        measurement = opendp.m.make_laplace(*space, scale=0.5)
        found["OpenDP's Laplace"] = len(some), lambda: measurement(some)
    except ImportError:
        print("OpenDP is not installed", file=sys.stderr)
    try:
        pandas = importlib.import_module("pandas")
        edges = np.linspace(0, 5, 9)
        found["pandas.cut"] = values.size, lambda: pandas.cut(values, edges, labels=False, right=False)
    except ImportError:
        print("pandas is not installed", file=sys.stderr)
    return found


def in_memory(repeat: int, n: int = 1_000_000, series: int = 400) -> Iterator[str]:
    """Mechanisms on one core beside the limit and beside peers; growth in window, states and series."""
    values = np.random.default_rng(0).uniform(0, 5, n)
    source, works, counts = rt.secure_source(), {}, {}

    def add(name: str, count: int, work: Work) -> None:
        works[name], counts[name] = work, count

    def words() -> None:
        for start in range(0, n, WORDS_AT_ONCE):
            source.words(min(WORDS_AT_ONCE, n - start))

    add("one random word a value", n, words)
    add("a copy of the values", n, values.copy)
    switches: dict[str, Any] = {
        "RanSwitch": rt.RanSwitch(24, 2.0),
        "StaSwitch": rt.StaSwitch(24, 2.0),
        "MallowsSwitch": rt.MallowsSwitch(24, 2.0, 1e-6),
        **{f"FootruleSwitch, window {k}": rt.FootruleSwitch(k, 2.0) for k in (8, 24, 96)},
    }
    for name, switch in switches.items():
        add(name, n, lambda switch=switch: switch.release(values, accept_statistical=True))
    for m in (1, series, n // 2):
        offsets = np.linspace(0, n, m + 1).astype(np.int64)
        add(
            f"FootruleSwitch, window 24, {m:,} series at once",
            n,
            lambda offsets=offsets, m=m: switch_batch(switches["FootruleSwitch, window 24"], offsets, source, range(m)),
        )
    for size in (2, 4, 8):
        chain = rt.MarkovChain(np.full((size, size), 0.1 / (size - 1)) + np.eye(size) * (0.9 - 0.1 / (size - 1)))
        policy = rt.markov_quilt(chain, n // series, n // series // 2, 2.0)
        codes = np.random.default_rng(1).integers(0, size, n)
        offsets, which = np.arange(series + 1) * (n // series), np.zeros(series, dtype=np.int64)
        add(
            f"redaction, {size} states, {series} series at once",
            n,
            lambda policy=policy, codes=codes, offsets=offsets, which=which: redact_batch(
                [policy], which, codes, offsets, source, range(series)
            ),
        )
    add("LinearQuantizer, 8 cells", n, lambda: rt.LinearQuantizer(0, 5, 8).encode(values))
    for name, (count, work) in peers(values).items():
        add(name, count, work)
    spent = {name: seconds / counts[name] for name, seconds in medians(works, repeat).items()}
    limit = spent["one random word a value"] + spent["a copy of the values"]
    laplace = spent.get("diffprivlib's Laplace")
    yield f"### In memory, one core, {n:,} values"
    yield ""
    yield from table(
        ["what", "ns a value", "times the limit", "diffprivlib's Laplace takes"],
        [
            [name, f"{1e9 * each:,.1f}", f"{each / limit:.2f}", "" if laplace is None else f"{laplace / each:,.0f} ×"]
            for name, each in spent.items()
        ],
    )
    yield "The limit is one random word a value and a copy."
    yield ""


COPY = """
import duckdb, sys
data, out, value = sys.argv[1:]
duckdb.sql(f"COPY (SELECT meter, ts, {value} FROM '{data}' ORDER BY meter, ts) TO '{out}' (FORMAT parquet)")
"""
QUANTIZE = ["--value", "kwh", "--low", "0", "--high", "5", "--bits", "3"]
TOOL = [sys.executable, "-c", "from reticent.cli import main; main()"]


def make(path: Path, rows: int, series: int) -> None:
    """Half-hourly meters in shuffled order, with a value and a state."""
    sql = (
        f"COPY (SELECT (i % {series})::INT AS meter, TIMESTAMP '2000-01-01' + INTERVAL (i // {series} * 30) MINUTE AS "
        f"ts, round(random() * 5, 3)::DOUBLE AS kwh, (random() < 0.3)::INT AS state FROM range({rows}) t(i) "
        f"ORDER BY hash(i)) TO '{path}' (FORMAT parquet)"
    )  # in a process of its own: the memory of this one would count as that of those it starts
    subprocess.run([sys.executable, "-c", "import duckdb, sys; duckdb.sql(sys.argv[1])", sql], check=True)


def measure(command: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak megabytes of a process."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def files(folder: Path, shapes: list[tuple[int, int]], repeat: int) -> Iterator[str]:
    """Whole files as processes, beside DuckDB's sorted copy; growth in rows and in series, and peak memory."""
    data, out, model = folder / "in.parquet", folder / "out.parquet", folder / "model.json"
    chain = rt.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=(0, 1))
    from reticent.tables.models import Model

    model.write_text(Model(chain, "30m").to_json())
    columns = ["--id", "meter", "--time", "ts", "-o", str(out), "--overwrite", "--no-ledger"]
    rows = []
    for size, series in shapes:
        make(data, size, series)
        copy = [sys.executable, "-c", COPY, str(data), str(out)]
        redact = ["--value", "state", "--private", "2000-01-01 00:00/2000-01-01 00:30", "--epsilon", "1"]
        commands = {
            "DuckDB's sorted copy": [*copy, "kwh"],
            "switch": [*TOOL, "switch", str(data), *columns, "--value", "kwh", "--window", "24", "--epsilon", "2"],
            "quantize": [
                *TOOL,
                "quantize",
                str(data),
                *columns,
                *["--value", "kwh", "--low", "0", "--high", "5", "--bits", "3"],
            ],
            "redact": [*TOOL, "redact", str(data), *columns, *redact, "--mechanism", "optimal", "--model", str(model)],
        }
        commands["switch"] += ["--mechanism", "footrule"]
        commands["redact"] += ["--no-diagnosis"]
        runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(repeat):
            for name, command in commands.items():
                runs[name].append(measure(command))
        base = [statistics.median(each[i] for each in runs["DuckDB's sorted copy"]) for i in (0, 1)]
        for name, each in runs.items():
            wall, spent, peak = (statistics.median(column) for column in zip(*each, strict=True))
            ratios = [f"{wall / base[0]:.2f}", f"{spent / base[1]:.2f}"]
            rows.append([f"{size:,} rows, {series:,} series: {name}", f"{wall:.2f}", *ratios, f"{peak:,.0f}"])
    yield "### Whole Parquet files, each command a process"
    yield ""
    yield from table(["what", "seconds", "times DuckDB", "processor time, times DuckDB", "peak MB"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,10,20", help="millions of rows in 2,000 series")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="print the tables and leave the page as it is")
    options = parser.parse_args()
    shapes = [(int(1e6 * float(each)), 2000) for each in options.rows.split(",")]
    shapes += [(2_000_000, 1_000_000), (3_000_000, 1)]
    machine = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), load {os.getloadavg()[0]:.1f}"
    lines = [f"Measured on {machine}.", ""]
    lines += in_memory(options.repeat)
    with tempfile.TemporaryDirectory() as folder:
        lines += files(Path(folder), shapes, min(options.repeat, 3))
    text = "\n".join(lines)
    if options.print:
        print(text)
        return
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
