"""Any permutation of the input's rows gives the same seeded release, certificate and plan."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_kit import text_file

import reticent as rt
from reticent import tables

CHAIN = rt.MarkovChain.binary(0.3, 0.4, (0, 1))


@st.composite
def panels(draw: st.DrawFn) -> tuple[list[tuple[str, int, int | None]], list[int]]:
    """Rows of a few series, with gaps, duplicates and missing values; and another order of them."""
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.integers(0, 7), st.sampled_from([0, 1, 1, None])),
            min_size=2,
            max_size=16,
        )
    )
    rows = [*rows, ("a", 0, 0), ("a", 1, 1), ("a", 2, 0)]
    return rows, draw(st.permutations(range(len(rows))))


def released(source: Any, verb: str, rule: str) -> tables.Release:
    common: dict[str, Any] = {"id": "id", "time": "ts", "value": "v", "duplicates": rule, "ledger": False}
    if verb == "switch":
        return tables.switch(source, window=3, epsilon=1.0, source=rt.seeded_source(5), **common)
    if verb == "quantize":
        return tables.quantize(source, low=0, high=1, outputs=2, **common)
    return tables.redact(
        source,
        private=tables.Private(where="ts = 1"),
        epsilon=1.0,
        model=CHAIN,
        every="1",
        source=rt.seeded_source(5),
        **common,
    )


def outcome(rows: list[tuple[str, int, int | None]], verb: str, rule: str, kind: str) -> tuple[Any, ...]:
    if kind == "frame":
        ids, times, values = zip(*rows, strict=True)
        release = released(pa.table({"id": ids, "ts": times, "v": pa.array(values, pa.int64())}), verb, rule)
    else:
        with tempfile.TemporaryDirectory() as folder:
            lines = "".join(f"{name},{when},{'' if value is None else value}\n" for name, when, value in rows)
            release = released(text_file(Path(folder) / "in.csv", "id,ts,v\n" + lines), verb, rule)
    return release.table.to_pylist(), release.table.schema, release.certificate.to_json(), release.plan


@settings(max_examples=25, deadline=None)
@given(
    panels(),
    st.sampled_from(["switch", "quantize", "redact"]),
    st.sampled_from(["min", "max", "mean", "keep"]),
    st.sampled_from(["frame", "csv"]),
)
def test_the_order_of_the_rows_changes_nothing(
    panel: tuple[list[tuple[str, int, int | None]], list[int]], verb: str, rule: str, kind: str
) -> None:
    rows, order = panel
    if verb == "redact" and rule in ("keep", "mean"):
        rule = "min"  # a mean is no state, and a step holds one record
    assert outcome(rows, verb, rule, kind) == outcome([rows[at] for at in order], verb, rule, kind)
