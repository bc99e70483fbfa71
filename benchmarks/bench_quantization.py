"""Encoding speed beside NumPy and pandas on the same edges, and the cost of the exact rules.

python benchmarks/bench_quantization.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from reticent.quantization import AggregateQuantization, LinearQuantizer, Quantizer, Roster, levels_for, log_quantizer


def seconds(function: Callable[[], object], repeat: int = 3) -> float:
    """Best of a few runs, after one that compiles and fills caches."""
    function()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def encoding(rows: int) -> None:
    print(f"{'encode ' + format(rows, ','):<22}{'ours':>9}{'digitize':>10}{'pd.cut':>9}   (seconds; times slower)")
    values = np.random.default_rng(0).uniform(1, 1000, rows)
    for name, quantizer in (
        ("8 equal cells", LinearQuantizer(1, 1000, 8)),
        ("100 equal cells", LinearQuantizer(1, 1000, 100)),
        ("4096 equal cells", LinearQuantizer(1, 1000, 4096)),
        ("8 cells in log", log_quantizer(1, 1000, 8)),
        ("100 cells in log", log_quantizer(1, 1000, 100)),
    ):
        report(name, quantizer, values)
    report("100 equal, float32", LinearQuantizer(1, 1000, 100), values.astype(np.float32))


def report(name: str, quantizer: Quantizer, values: np.ndarray) -> None:
    edges = np.array([float(edge) for edge in quantizer.edges])
    ours = seconds(lambda: quantizer.encode(values))
    digitize = seconds(lambda: np.digitize(values, edges))
    cut = seconds(lambda: pd.cut(values, edges, labels=False, right=False))
    print(f"{name:<22}{ours:>9.3f}{digitize:>10.3f}{cut:>9.3f}   {digitize / ours:5.1f} {cut / ours:5.1f}")


def aggregates(groups: int, size: int) -> None:
    values = np.random.default_rng(0).integers(0, 10_001, groups * size) / 1000
    codes, rosters = np.repeat(np.arange(groups), size), [Roster(size)] * groups
    for rule in (None, "15/15"):
        mean = AggregateQuantization("mean", None, 0, 10, bits=3, resolution="0.001", rule=rule)
        spent = seconds(lambda mean=mean: mean.encode(values, rosters, codes))
        print(f"mean of {size}, rule {rule}: {values.size / spent / 1e6:.1f} million readings a second")


def rules() -> None:
    eight = LinearQuantizer(0, 10, 8)
    for name, function in (
        ("cells_met, equal", lambda: eight.cells_met(2)),
        ("cells_met, unequal", lambda: Quantizer.cells_met(eight, 2)),
        ("levels_for", lambda: levels_for("2.5", 0, 10, bits=1)),
    ):
        spent = seconds(lambda function=function: [function() for _ in range(1000)])
        print(f"{name:<22}{spent * 1000:9.1f} µs")


if __name__ == "__main__":
    encoding(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7)
    aggregates(20_000, 20)
    rules()
