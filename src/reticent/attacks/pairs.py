"""A release beside what it was made from, series by series."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.quantization import Quantizer
from reticent.tables.checking import released_chunks
from reticent.tables.chunks import Chunk, chunks
from reticent.tables.delimited import Reading
from reticent.tables.frames import to_arrow
from reticent.tables.grid import Grid
from reticent.tables.models import states_of
from reticent.tables.reading import Columns, connect, open_records, sentence

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.certificates import Certificate

MOST_ROWS = 1 << 18


@dataclass(frozen=True)
class SeriesPair:
    """One series, before and after: the same records in the same order."""

    before: pa.Table
    after: pa.Table


def read_pairs(
    original: Any,
    released: Any,
    certificate: Certificate,
    reading: Reading | None = None,
    duplicates: str | None = None,
    extra: tuple[str, ...] = (),
) -> Iterator[SeriesPair]:
    """The series of a redaction, a switch or a quantisation, until about a quarter of a million rows have passed.

    Parameters
    ----------
    original, released : path or frame
    certificate : Certificate
    reading : Reading, optional
        How the original is to be read.
    duplicates : str, optional
        Of records of one series and time: that of the certificate by default.
    extra : tuple of str
        Columns of the original that are read like those of values.

    Raises
    ------
    ArgumentError
        A column of the certificate that the original lacks.
    InputError
        Series or records that are not those of the release.
    """
    with (
        closing(_original(original, certificate, reading or Reading(), duplicates, extra)) as before,
        closing(_released(released, certificate)) as parts,
    ):
        rows = 0
        after = _series(parts)
        for own in _series(before):
            theirs = next(after, None)
            if theirs is None or not _same_records(own, theirs, certificate):
                raise InputError(
                    "original: its series and times are not those of the released file; give the file that the release "
                    "was made from, and read it in the same way"
                )
            yield SeriesPair(own, theirs)
            rows += own.num_rows
            if rows >= MOST_ROWS:
                return
        if next(after, None) is not None:
            raise InputError("original: the released file has more series than it; give the file that it was made from")


def columns_of(certificate: Certificate) -> Columns:
    """Columns of the release that were in the original."""
    parts = certificate.released["columns"]
    return Columns(parts["time"], tuple(parts["value"]), tuple(parts["id"]), tuple(parts["kept"]))


def _series(parts: Iterator[Chunk]) -> Iterator[pa.Table]:
    for chunk in parts:
        for start, length in zip(chunk.offsets[:-1].tolist(), chunk.lengths.tolist(), strict=True):
            yield chunk.table.slice(start, length)


def _original(
    table: Any, certificate: Certificate, reading: Reading, duplicates: str | None, extra: tuple[str, ...]
) -> Generator[Chunk, None, None]:
    import duckdb

    parameters = certificate.parameters
    rule = duplicates or parameters.get("duplicates", "error")
    reading = as_released(reading, parameters)
    source = Path(table) if isinstance(table, str | Path) else to_arrow(table)
    with tempfile.TemporaryDirectory(prefix=".reticent-") as scratch, connect(None, Path(scratch)) as con:
        try:
            own = columns_of(certificate)
            values = (*own.value, *(name for name in extra if name not in own.value))
            kept = tuple(name for name in own.keep if name not in extra)
            records = open_records(con, source, Columns(own.time, values, own.id, kept), reading)
            for chunk in chunks(records, duplicates=rule):
                yield chunk if certificate.action != "redact" else _on_states(chunk, parameters, rule)
        except duckdb.Error as error:  # whose words may hold a line of the data
            raise sentence(error, source) from None


def as_released(reading: Reading, parameters: Mapping[str, Any]) -> Reading:
    """With what the certificate says of the reading: what stands for a state, and rows without an identifier.

    Raises
    ------
    ArgumentError
        A quarantine: an attack sets no rows aside.
    """
    if reading.quarantine is not None:
        raise ArgumentError("quarantine: an attack sets no rows aside; give the original without them")
    states = {state: tuple(values) for state, values in parameters.get("states", ())}
    null_id = parameters.get("null_id", reading.null_id)
    return replace(reading, states=reading.states or states, null_id=null_id)


def _on_states(chunk: Chunk, parameters: Any, duplicates: str) -> Chunk:
    cells = parameters["quantizer"]
    grid = grid_of(parameters)
    return states_of(chunk, grid, duplicates, None if cells is None else Quantizer.from_dict(cells))


def grid_of(parameters: Any) -> Grid:
    """The sampling period of a redaction."""
    return Grid(parameters["every"]["step"], parameters["every"]["unit"] == "1")


def _released(table: Any, certificate: Certificate) -> Generator[Chunk, None, None]:
    parts = columns_of(certificate)
    added = tuple(certificate.released["columns"]["added"])
    columns = Columns(parts.time, (*parts.value, *added), parts.id, parts.keep)
    if isinstance(table, str | Path):
        yield from released_chunks(Path(table), columns, certificate.released)
        return
    with tempfile.TemporaryDirectory(prefix=".reticent-") as scratch, connect(None, Path(scratch)) as con:
        yield from chunks(open_records(con, to_arrow(table), columns, Reading()), duplicates="keep")


def _same_records(before: pa.Table, after: pa.Table, certificate: Certificate) -> bool:
    if before.num_rows != after.num_rows:
        return False
    columns = columns_of(certificate)
    named = all(str(before[name][0].as_py()) == str(after[name][0].as_py()) for name in columns.id)
    return named and np.array_equal(_ticks(before[columns.time]), _ticks(after[columns.time]))


def _ticks(times: pa.ChunkedArray) -> NDArray[np.int64]:
    import pyarrow as pa

    return Grid(1, pa.types.is_integer(times.type)).ticks(times)


def numbers_of(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Values as floats, NaN where missing; None where they are no numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), dtype=np.float64)
