"""A file shows nothing of the pieces it was written in."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.tables.formats import Format, Writer

ROWS, GROUP = 150, 64
TABLE = pa.table(
    {
        "id": pa.array((["a", "b", "a", None, "c"] * ROWS)[:ROWS]).dictionary_encode(),
        "time": pa.array(range(ROWS), pa.timestamp("us", "UTC")),
        "value": pa.array([None if 70 < i < 100 else i / 2 for i in range(ROWS)]),
        "text": ["x" * (i % 7) for i in range(ROWS)],
        "flag": [i % 3 == 0 for i in range(ROWS)],
    }
)


def written(kind: Any, cuts: list[int]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "out")
        writer = Writer(path, Format(kind), TABLE.schema, GROUP)
        for first, end in zip([0, *cuts], [*cuts, ROWS], strict=True):
            writer.write(TABLE.slice(first, end - first))
        writer.close()
        read = pyarrow.parquet.read_table if kind == "parquet" else pyarrow.feather.read_table
        assert read(path).equals(TABLE)
        return path.read_bytes()


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@given(cuts=st.lists(st.integers(0, ROWS), max_size=8).map(sorted))
def test_the_pieces_do_not_show(kind, cuts):
    assert written(kind, cuts) == written(kind, [])


def test_all_groups_but_the_last_have_as_many_rows():
    file = pyarrow.parquet.ParquetFile(pa.BufferReader(written("parquet", [3, 5, 140])))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [64, 64, 22]
