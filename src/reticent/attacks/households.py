"""The membership game with the individuals of one's own file, and the cells of one's own aggregates."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.frame import AttackResult
from reticent.attacks.pairs import as_released, columns_of, numbers_of
from reticent.errors import ArgumentError
from reticent.quantization import AggregateQuantization, Roster
from reticent.randomness import Source
from reticent.tables.chunks import chunks
from reticent.tables.delimited import Reading
from reticent.tables.frames import to_arrow
from reticent.tables.grid import Grid
from reticent.tables.reading import Columns, connect, open_records

if TYPE_CHECKING:
    from reticent.attacks.running import Reader

Floats = NDArray[np.float64]

_STEPS = 96  # windows of a period that the adversary compares, at most
_CELLS = 1 << 27  # numbers in one table of individuals and windows


def game(reader: Reader, rounds: int, source: Source, notes: list[str]) -> Iterator[AttackResult]:
    """Membership for groups as large as the certificate's, if the original has individuals enough."""
    from reticent.attacks.membership import Profiles, Publication, play

    mechanism = AggregateQuantization.from_dict(reader.parameters["aggregate"])
    if mechanism.query not in ("mean", "sum"):
        notes.append(f"The membership game is about sums and means; a {mechanism.query} is not attacked.")
        return
    readings = _profiles(reader)
    households = len(readings)
    size = min((people for people, _ in reader.parameters["groups"]), default=0)
    if size + 1 > households:
        size = households // 2
        notes.append(
            f"The groups are as large as the file: the game needs others to choose from, and is played with groups of "
            f"{size} of {households} individuals."
        )
    if size < 1:
        raise ArgumentError("original: the membership game needs two individuals with all their readings, or more")
    alone = mechanism.geometry(Roster(1))
    low, high = alone.first * alone.worth, alone.last * alone.worth
    profiles = Profiles.of("windows of the release", readings, low, high, alone.worth)
    levels = mechanism.plan(Roster(size)).quantizer.levels
    own = Publication("that of the release", size, math.log2(mechanism.outputs), levels, alone.last - alone.first)
    yield from play(profiles, {size: [own]}, rounds, source)


def _profiles(reader: Reader) -> Floats:
    """Mean reading of each individual in each window, shape (individuals, periods, windows of one); NaN if incomplete.

    A period is a day where it holds several windows, and else as many windows as are compared.
    """
    released = columns_of(reader.certificate)
    window = Grid(reader.parameters["window"]["step"], reader.parameters["window"]["unit"] == "1")
    readings = reader.parameters["readings"]
    columns = Columns(released.time, released.value, reader.id)
    table = reader.original
    source = Path(table) if isinstance(table, str | Path) else to_arrow(table)
    found: list[tuple[NDArray[np.int64], Floats]] = []
    how = as_released(reader.reading or Reading(), reader.parameters)
    with tempfile.TemporaryDirectory(prefix=".reticent-") as scratch, connect(None, Path(scratch)) as con:
        for chunk in chunks(open_records(con, source, columns, how), duplicates="error"):
            places = window.ticks(chunk.table[columns.time]) // window.step
            values = numbers_of(chunk.table[columns.value[0]])
            if values is None:
                raise ArgumentError(f"original: column {columns.value[0]} holds no numbers; name another file")
            for a, b in zip(chunk.offsets[:-1].tolist(), chunk.offsets[1:].tolist(), strict=True):
                own, at = np.unique(places[a:b], return_inverse=True)
                whole = np.bincount(at, ~np.isnan(values[a:b])) == readings
                found.append((own[whole], np.bincount(at, np.nan_to_num(values[a:b]))[whole] / readings))
    first = min((int(own[0]) for own, _ in found if own.size), default=0)
    last = max((int(own[-1]) for own, _ in found if own.size), default=-1)
    steps = window.a_day() or min(_STEPS, last - first + 1)
    if last < first or (periods := (last - first + 1) // steps) < 1:
        raise ArgumentError("original: no individual has all readings of a window; is it the file of the release?")
    if len(found) * periods * steps > _CELLS:
        periods = max(1, _CELLS // (len(found) * steps))
    table_of = np.full((len(found), periods * steps), np.nan)
    for line, (own, means) in zip(table_of, found, strict=True):
        inside = own - first < line.size
        line[own[inside] - first] = means[inside]
    return table_of.reshape(len(found), periods, steps)
