"""The same number gets the same cell on every path: library, command line from CSV and Parquet, frame, aggregate."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import reticent as rt
from reticent.cli import app
from reticent.quantization import AggregateQuantization, Roster

Case = tuple[Decimal, Decimal, int, list[Decimal]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A range, a number of levels, and decimals within it: many on an edge, or one unit of the last place beside it."""
    places = draw(st.integers(0, 3))
    unit = Decimal(1).scaleb(-places)
    low = draw(st.integers(-2000, 2000)) * unit
    width = draw(st.integers(1, 2000)) * unit
    levels = draw(st.integers(1, 12))
    numbers = [low, low + width]
    for _ in range(draw(st.integers(1, 12))):
        cell = draw(st.integers(0, levels))
        edge = Fraction(low) + Fraction(width) * cell / levels
        near = (Decimal(edge.numerator) / Decimal(edge.denominator)).quantize(unit) + draw(st.integers(-1, 1)) * unit
        numbers.append(min(max(near, low), low + width))
    return low, low + width, levels, numbers


def twin(low: Decimal, high: Decimal, levels: int, number: Decimal) -> int:
    """The cell by fractions: half open, the last one closed."""
    width = Fraction(high) - Fraction(low)
    return min(int((Fraction(number) - Fraction(low)) * levels / width), levels - 1)


def by_command(folder: Path, table: pa.Table, low: Decimal, high: Decimal, levels: int, suffix: str) -> list[str]:
    given_file, out = folder / f"in.{suffix}", folder / f"out.{suffix}"
    if suffix == "csv":
        rows = zip(table["t"].to_pylist(), table["v"].to_pylist(), strict=True)
        given_file.write_text("t,v\n" + "".join(f"{t},{v}\n" for t, v in rows))
    else:
        pyarrow.parquet.write_table(table, given_file)
    options = ["--low", str(low), "--high", str(high), "--outputs", str(levels), "--symbols", "interval", "--overwrite"]
    done = CliRunner().invoke(
        app, ["quantize", str(given_file), "-o", str(out), "--time", "t", "--value", "v", *options]
    )
    assert done.exit_code == 0, done.exception
    released = pyarrow.csv.read_csv(out) if suffix == "csv" else pyarrow.parquet.read_table(out)
    return released["v"].to_pylist()


@settings(max_examples=25)
@given(cases())
def test_the_same_number_gets_the_same_cell_on_every_path(case: Case) -> None:
    low, high, levels, numbers = case
    quantizer = rt.LinearQuantizer(low, high, levels, "interval")
    cells = [twin(low, high, levels, number) for number in numbers]
    labels = [quantizer.symbols[cell] for cell in cells]

    doubles = np.array([float(number) for number in numbers])
    assert quantizer.encode(doubles).tolist() == cells
    assert quantizer.encode(np.array(numbers, dtype=object)).tolist() == cells
    single = doubles.astype(np.float32)
    if all(Decimal(str(value)) == number for value, number in zip(single, numbers, strict=True)):
        assert quantizer.encode(single).tolist() == cells
    if all(number == int(number) for number in numbers):
        assert quantizer.encode(np.array([int(number) for number in numbers])).tolist() == cells

    times = pa.array(range(len(numbers)))
    table = pa.table({"t": times, "v": pa.array(doubles)})
    frame = rt.tables.quantize(table, time="t", value="v", low=low, high=high, outputs=levels, symbols="interval")
    assert frame.table["v"].to_pylist() == labels
    with tempfile.TemporaryDirectory() as folder:
        text = pa.table({"t": times, "v": pa.array([str(number) for number in numbers])})
        assert by_command(Path(folder), text, low, high, levels, "csv") == labels
        assert by_command(Path(folder), table, low, high, levels, "parquet") == labels

    aggregate = AggregateQuantization(
        "max", low=low, high=high, outputs=levels, resolution=Decimal(1).scaleb(-3), symbols="interval"
    )
    plan = aggregate.plan(Roster(1))
    if plan.quantizer.levels == levels:  # else every unit has a cell of its own
        found = aggregate.release(doubles, [Roster(1)] * len(numbers), np.arange(len(numbers)))
        assert list(found) == labels
