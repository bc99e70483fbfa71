"""How long redaction takes: analysis, designs and releases. Run: ``python benchmarks/bench_redaction.py``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reticent as rt
from reticent.redaction import (
    RedactionPolicy,
    markov_quilt,
    optimal_policy,
    redact_batch,
    regions,
    sequential_redaction,
    three_region,
)


def best(call: Callable[[], Any], repeats: int = 3) -> float:
    """Shortest time of some calls, in seconds, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def row(what: str, seconds: float, limit: float | None = None, note: str = "") -> None:
    """One line of the table."""
    print(f"{what:40s} {seconds * 1e3:10.2f} ms {f'< {limit * 1e3:.0f} ms' if limit else '':>12s}  {note}")


def analysis() -> None:
    """Exact leakage where no record is ever released for certain, so that the walk goes to the end."""
    chain = rt.MarkovChain.binary(0.1, 0.2)
    rng = np.random.default_rng(0)
    before = None
    for n in (10**3, 10**4, 10**5, 10**6):
        r = rng.uniform(0.3, 0.9, (n, 2))
        r[0] = 1
        policy = RedactionPolicy(chain, r, 0)
        taken = best(partial(RedactionPolicy.leakages.func, policy))
        note = "" if before is None else f"{taken / before:.1f} times that of a tenth of the records"
        row(f"exact leakage, {n:,} records", taken, 0.1 if n == 10**6 else None, note)
        before = taken


def designs() -> None:
    """Each design from scratch: a new budget (or length) each time, so that nothing is remembered."""
    slow, fast, even = (rt.MarkovChain.binary(*rates) for rates in ((0.001, 0.002), (0.02, 0.2), (0.001, 0.001)))
    wide = rt.MarkovChain.binary(0.002, 0.038)
    print(f"|R_M| = {regions(wide, 1000, 0, 1.0).count('M')} in what follows")
    budget, length = iter(np.linspace(1, 1.001, 1000)), iter(range(2001, 2999, 2))
    for what, limit, design in (
        ("markov_quilt, n = 40,000", None, lambda: markov_quilt(fast, 40_000, [999, 20_000], next(budget) / 99)),
        ("three_region, calibrated, two sides", None, lambda: three_region(wide, 1001, 500, next(budget))),
        ("optimal_policy, one side", 2, lambda: optimal_policy(wide, 500, 0, next(budget))),
        ("optimal_policy, two sides", 2, lambda: optimal_policy(wide, 1001, 500, next(budget))),
        ("sequential, 1,000 a side, slow chain", 4, lambda: sequential_redaction(slow, 2001, 1000, next(budget))),
        ("sequential, 1,000 a side, fast chain", 4, lambda: sequential_redaction(fast, 2001, 1000, next(budget))),
        ("sequential, 1,000 a side, symmetric chain", 4, lambda: sequential_redaction(even, 2001, 1000, next(budget))),
        ("sequential, greedy: ε = 0", 0.1, lambda: sequential_redaction(slow, next(length), 1000, 0.0)),
    ):
        row(what, best(design), limit)


def releases() -> None:
    """10^7 records of 10^4 series in one call."""
    chain, m, n = rt.MarkovChain.binary(0.02, 0.2), 10**4, 10**3
    codes = np.random.default_rng(0).integers(0, 2, m * n)
    offsets, which = np.arange(m + 1) * n, np.zeros(m, dtype=np.int64)
    for name, mechanism in (
        ("quilt", markov_quilt(chain, n, 500, 1.0)),
        ("optimal", optimal_policy(chain, n, 500, 1.0)),
        ("sequential", sequential_redaction(chain, n, 500, 1.0)),
    ):
        source = rt.secure_source()
        taken = best(
            lambda mechanism=mechanism, source=source: redact_batch(
                [mechanism], which, codes, offsets, source, range(m)
            )
        )
        row(f"release of 10^7 records, {name}", taken, 1)


if __name__ == "__main__":
    analysis()
    designs()
    releases()
