"""Mechanisms in memory on one core, beside the limit and beside what a person would otherwise pick."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from measuring import Scale, Work, note, table, timed, turns

LAPLACE = "diffprivlib's Laplace"
WORDS, COPY = "one random word a value", "a NumPy copy of the values"
SERIES = 400


def peers(values: np.ndarray) -> dict[str, tuple[int, Work]]:
    """Other packages, each on as many values as it does in a moment."""
    found: dict[str, tuple[int, Work]] = {}
    few, some = values[:10_000].tolist(), values[:50_000].tolist()
    try:
        laplace = importlib.import_module("diffprivlib.mechanisms").Laplace(epsilon=2.0, sensitivity=1.0)
        found[LAPLACE] = len(few), lambda: [laplace.randomise(value) for value in few]
    except ImportError:
        note("diffprivlib is not installed")
    try:
        opendp = importlib.import_module("opendp.prelude")
        opendp.enable_features("contrib")
        space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
        measurement = opendp.m.make_laplace(*space, scale=0.5)
        found["OpenDP's Laplace"] = len(some), lambda: measurement(some)
    except ImportError:
        note("OpenDP is not installed")
    try:
        pandas = importlib.import_module("pandas")
        edges = np.linspace(0, 5, 9)
        found["pandas.cut, 8 cells"] = values.size, lambda: pandas.cut(values, edges, labels=False, right=False)
    except ImportError:
        note("pandas is not installed")
    return found


def mechanisms(values: np.ndarray) -> dict[str, tuple[int, Work]]:
    """Ours: (values, work); growth in n, window, states and number of series."""
    import reticent as rt
    from reticent.redaction import redact_batch
    from reticent.switching import switch_batch
    from reticent.switching.mechanism import WORDS_AT_ONCE

    n, source = values.size, rt.secure_source()
    works: dict[str, tuple[int, Work]] = {}

    def words() -> None:
        for start in range(0, n, WORDS_AT_ONCE):
            source.words(min(WORDS_AT_ONCE, n - start))

    works[WORDS], works[COPY] = (n, words), (n, values.copy)
    switches: dict[str, Any] = {
        "RanSwitch, window 24": rt.RanSwitch(24, 2.0),
        "StaSwitch, window 24": rt.StaSwitch(24, 2.0),
        "MallowsSwitch, window 24": rt.MallowsSwitch(24, 2.0, 1e-6),
        **{f"FootruleSwitch, window {k}": rt.FootruleSwitch(k, 2.0) for k in (8, 24, 96)},
    }
    for name, switch in switches.items():
        works[name] = n, lambda switch=switch: switch.release(values, accept_statistical=True)
    footrule = switches["FootruleSwitch, window 24"]
    for size in (n // 10, n * 10):
        some = np.resize(values, size)
        works[f"FootruleSwitch, window 24, {size:,} values"] = size, lambda some=some: footrule.release(some)
    for m in (SERIES, n // 100, n // 2):
        offsets = np.linspace(0, n, m + 1).astype(np.int64)
        works[f"FootruleSwitch, window 24, {m:,} series at once"] = (
            n,
            lambda offsets=offsets, m=m: switch_batch(footrule, offsets, source, range(m)),
        )
    length = n // SERIES
    offsets, which = np.arange(SERIES + 1) * length, np.zeros(SERIES, dtype=np.int64)
    designs: dict[str, Any] = {}
    for size in (2, 4, 8):
        chain = rt.MarkovChain(np.full((size, size), 0.1 / (size - 1)) + np.eye(size) * (0.9 - 0.1 / (size - 1)))
        designs[f"markov_quilt, {size} states, {SERIES} series"] = size, rt.markov_quilt(chain, length, length // 2, 2)
    binary = rt.MarkovChain.binary(0.02, 0.2)
    for design in (rt.optimal_policy, rt.sequential_redaction):
        designs[f"{design.__name__}, 2 states, {SERIES} series"] = 2, design(binary, length, length // 2, 2.0)
    for name, (size, design) in designs.items():
        codes = np.random.default_rng(1).integers(0, size, SERIES * length)
        works[name] = (
            codes.size,
            lambda design=design, codes=codes: redact_batch([design], which, codes, offsets, source, range(SERIES)),
        )
    for cells in (8, 100):
        quantizer = rt.LinearQuantizer(0, 5, cells)
        works[f"LinearQuantizer, {cells} cells"] = n, lambda quantizer=quantizer: quantizer.encode(values)
    return works


def times(laplace: float | None, one: float) -> str:
    """How many times longer diffprivlib takes."""
    if laplace is None:
        return ""
    return f"{laplace / one:,.0f} ×" if laplace > 10 * one else f"{laplace / one:.2g} ×"


def part(scale: Scale) -> list[str]:
    """Processor time a value, in turn, after a turn that compiles and fills caches."""
    return list(_part(scale))


def _part(scale: Scale) -> Iterator[str]:
    values = np.random.default_rng(0).uniform(0, 5, scale.values)
    works = {**mechanisms(values), **peers(values)}
    for _, work in works.values():
        work()
    spent = turns({name: lambda work=work: timed(work) for name, (_, work) in works.items()}, scale)
    each = {name: spent[name].processor / count for name, (count, _) in works.items()}
    limit, laplace = each[WORDS] + each[COPY], each.get(LAPLACE)
    yield f"{scale.values:,} values where nothing else is said; processor time. The limit is one random word a value"
    yield "and a copy of the values."
    yield ""
    yield from table(
        ["what", "ns a value", "times the limit", "diffprivlib's Laplace takes"],
        [[name, f"{1e9 * one:,.1f}", f"{one / limit:.2f}", times(laplace, one)] for name, one in each.items()],
    )
