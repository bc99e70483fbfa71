"""Whole files: `reticent` beside DuckDB's own sorted copy of the same file, in one run, alternating.

    python benchmarks/bench_files.py [--rows 1,3,10] [--series 2000] [--repeat 3]

Prints, for each size (millions of rows), the median time and the peak memory of each, and the ratio of times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

COPY = """
import duckdb, sys
con = duckdb.connect()
con.execute(f"COPY (SELECT meter, ts, kwh FROM '{sys.argv[1]}' ORDER BY meter, ts) TO '{sys.argv[2]}' (FORMAT parquet)")
"""


def make(path: Path, millions: float, series: int) -> None:
    """Half-hourly meters in shuffled order."""
    rows = int(millions * 1e6)
    duckdb.sql(
        f"COPY (SELECT (i % {series})::INT AS meter, "
        f"TIMESTAMP '2024-01-01' + INTERVAL (i // {series} * 30) MINUTE AS ts, round(random() * 5, 3)::DOUBLE AS kwh "
        f"FROM range({rows}) t(i) ORDER BY hash(i)) TO '{path}' (FORMAT parquet)"
    )


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of a process."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} failed")
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,3,10", help="millions of rows")
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    tool = [sys.executable, "-c", "from reticent.cli import command; command()"]
    columns = [
        "--id",
        "meter",
        "--time",
        "ts",
        "--value",
        "kwh",
        "--overwrite",
        "--no-ledger",
    ]
    print(f"{'rows':>8} {'':12}{'seconds':>9}{'MB':>7}{'times DuckDB':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for millions in map(float, options.rows.split(",")):
            data, out = Path(folder, "in.parquet"), Path(folder, "out.parquet")
            make(data, millions, options.series)
            verbs = {
                "DuckDB copy": [sys.executable, "-c", COPY, str(data), str(out)],
                "switch": [*tool, "switch", str(data), "-o", str(out), *columns, "--window", "24", "--epsilon", "2"],
                "mallows": [
                    *(*tool, "switch", str(data), "-o", str(out), *columns),
                    *("--window", "24", "--epsilon", "2", "--mechanism", "mallows"),
                ],
                "quantize": [
                    *(*tool, "quantize", str(data), "-o", str(out), *columns),
                    *("--low", "0", "--high", "5", "--bits", "3"),
                ],
            }
            results: dict[str, list[tuple[float, float]]] = {name: [] for name in verbs}
            for _ in range(options.repeat):
                for name, command in verbs.items():
                    results[name].append(measure(command))
            base = statistics.median(seconds for seconds, _ in results["DuckDB copy"])
            for name, runs in results.items():
                seconds = statistics.median(each[0] for each in runs)
                peak = max(each[1] for each in runs)
                print(f"{millions:7g}M {name:12}{seconds:9.2f}{peak:7.0f}{seconds / base:14.2f}")


if __name__ == "__main__":
    main()
