"""Speed of the switches on one core, beside the limit and beside what a person would otherwise pick.

    python benchmarks/bench_switching.py [records]

The limit is to draw one 64-bit word a record from the same source, as the samplers do, and to copy the array. Each
figure is the processor time of the best of several runs; targets are multiples of the limit, which is measured in turn
with each mechanism.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable

import numpy as np

from reticent.randomness import secure_source
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch, switch_batch
from reticent.switching.mechanism import WORDS_AT_ONCE

RUNS = 11
TARGETS = {
    "RanSwitch(24, 2)": (RanSwitch(24, 2.0), 3.0),
    "StaSwitch(24, 2)": (StaSwitch(24, 2.0), 3.0),
    "MallowsSwitch(24, 2, delta=1e-6)": (MallowsSwitch(24, 2.0, 1e-6), 6.0),
    "FootruleSwitch(24, 2)": (FootruleSwitch(24, 2.0), 6.0),
}


def seconds(*works: Callable[[], object]) -> list[float]:
    """Processor time of the fastest of several runs of each, in turn, after one that compiles and warms up."""
    for work in works:
        work()
    best = [float("inf")] * len(works)
    for _ in range(RUNS):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return best


def limit(values: np.ndarray) -> None:
    """One word a record, in the chunks that the samplers use, and a copy."""
    source = secure_source()
    for start in range(0, values.size, WORDS_AT_ONCE):
        source.words(min(WORDS_AT_ONCE, values.size - start))
    values.copy()


def others(values: np.ndarray) -> dict[str, Callable[[], object]]:
    """Laplace mechanisms of other packages, on the same number of values; only those that are installed."""
    found: dict[str, Callable[[], object]] = {}
    try:
        mechanisms = importlib.import_module("diffprivlib.mechanisms")
        laplace = mechanisms.Laplace(epsilon=2.0, sensitivity=1.0)
        few = values[:10_000].tolist()  # one value a call, in Python: scaled up
        found["diffprivlib Laplace"] = lambda: [laplace.randomise(value) for value in few]
    except ImportError:
        print("diffprivlib is not installed")
    try:
        opendp = importlib.import_module("opendp.prelude")
        opendp.enable_features("contrib")
        space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
        measurement = opendp.m.make_laplace(*space, scale=0.5)
        some = values[:200_000].tolist()
        found["OpenDP Laplace"] = lambda: measurement(some)
    except ImportError:
        print("OpenDP is not installed")
    return found


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    values = np.random.default_rng(0).normal(size=n)
    print(f"{n:,} records, one core")
    for name, (switch, target) in TARGETS.items():
        spent, base = seconds(
            lambda switch=switch: switch.release(values, accept_statistical=True), lambda: limit(values)
        )
        verdict = "met" if spent <= target * base else "missed"
        print(
            f"  {name:34s} {spent / n * 1e9:7.1f} ns  {spent / base:5.2f} × the limit of {base / n * 1e9:.1f} ns "
            f"(target {target:g}: {verdict})"
        )
    for name, (switch, _) in TARGETS.items():
        offsets = np.linspace(0, n, 401, dtype=np.int64)
        source = secure_source()
        (spent,) = seconds(
            lambda switch=switch, offsets=offsets, source=source: switch_batch(switch, offsets, source, range(400))
        )
        print(f"  {name:34s} {spent / n * 1e9:7.1f} ns  in 400 series at once (the order only)")
    stream_of = MallowsSwitch(24, 2.0, 1e-6)

    def stream() -> None:
        running = stream_of.stream()
        for part in np.array_split(values, max(1, n // 10_000)):
            running.push(part)
        running.flush()

    print(f"  {'MallowsSwitch as a stream':34s} {seconds(stream)[0] / n * 1e9:7.1f} ns  in chunks of 10,000")
    sizes = {"diffprivlib Laplace": 10_000, "OpenDP Laplace": 200_000}
    for name, work in others(values).items():
        count = min(n, sizes[name])
        print(f"  {name:34s} {seconds(work)[0] / count * 1e9:7.1f} ns  (on {count:,} values)")


if __name__ == "__main__":
    main()
