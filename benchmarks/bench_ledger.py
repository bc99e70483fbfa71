"""10^4 charges on one ledger, beside bare SQLite commits with the same settings in the same run; history; a panel.

python benchmarks/bench_ledger.py [CHARGES]
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from reticent.accounting import Budget, Event, Ledger
from reticent.accounting.coverage import CoverageBuilder
from reticent.switching import FootruleSwitch

TURNS = 20


def main(charges: int) -> None:
    """Both take turns, so that they meet the same disk."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.environ["RETICENT_HOME"] = str(Path(folder) / "curator")
        bare = sqlite3.connect(Path(folder) / "bare.sqlite", isolation_level=None)
        bare.execute("PRAGMA journal_mode = DELETE")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, mac BLOB NOT NULL)")
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        ledger.limit("meters", epsilon=10**6, window=24)
        event = Event.of(Budget.temporal("0.1", 24), dataset="meters", series=["a"])
        commits = spent = 0.0
        for turn in range(TURNS):
            start = time.perf_counter()
            for i in range(charges // TURNS):
                bare.execute("BEGIN IMMEDIATE")
                row = (turn * charges + i, b"x" * 500, b"y" * 32)
                bare.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
                bare.execute("COMMIT")
            commits += time.perf_counter() - start
            start = time.perf_counter()
            for i in range(charges // TURNS):
                ledger.charge(event, request=f"{turn} {i}")
            spent += time.perf_counter() - start
        print(
            f"bare commits {charges / commits:8.0f}/s   charges {charges / spent:8.0f}/s   ratio {commits / spent:.2f}"
        )
        best = min(_timed(lambda: ledger.history("meters")) for _ in range(5))
        print(f"history of {charges} charges, last 100: {1e3 * best:.1f} ms")
        print(f"opening: {1e3 * _timed(lambda: Ledger(ledger.path)):.0f} ms", end="; ")
        print(f"opening and history: {1e3 * _timed(lambda: Ledger(ledger.path).history()):.0f} ms", end="; ")
        print(f"opening and amounts: {1e3 * _timed(lambda: Ledger(ledger.path).spent()):.0f} ms")
        panel = Ledger(Path(folder) / "panel.sqlite")
        size = 100_000
        builder = CoverageBuilder()
        gathered = _timed(lambda: builder.add(range(size), np.tile(np.arange(48), size), np.arange(size + 1) * 48))
        event = Event.of(FootruleSwitch(24, 2.0), coverage=builder.finish())
        times = [_timed(lambda: panel.charge(event)) for _ in range(3)]
        charges = ", ".join(f"{1e3 * t:.0f}" for t in times)
        size_mb = panel.path.stat().st_size / 1e6
        print(f"panel of {size} series: fingerprints {gathered:.2f} s, charges {charges} ms, ledger {size_mb:.2f} MB")


def _timed(function: object) -> float:
    start = time.perf_counter()
    function()  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
