"""What a file holds: the kind of its values, its series, its sampling period, and where a model may be fitted."""

from __future__ import annotations

from dataclasses import dataclass

from reticent.errors import InputError
from reticent.tables.grid import Grid
from reticent.tables.private import Private, make_finder
from reticent.tables.reading import Records
from reticent.tables.sql import quoted, quoted_list

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")
_WITHOUT_A_DAY = 30  # steps


@dataclass(frozen=True)
class Facts:
    """What was found.

    Parameters
    ----------
    rows, series : int
    numbers : bool
    states : int
        Different values, as far as they were counted.
    grid : Grid
    """

    rows: int
    series: int
    numbers: bool
    states: int
    grid: Grid

    @classmethod
    def of(cls, records: Records) -> Facts:
        """Count."""
        columns, con = records.columns, records.con
        value = quoted(columns.value[0])
        ids = f"(SELECT count(*) FROM (SELECT DISTINCT {quoted_list(columns.id)} FROM {records.view}))"
        found = con.sql(
            f"SELECT {ids if columns.id else 1}, (SELECT count(*) FROM (SELECT DISTINCT {value} FROM {records.view} "
            f"WHERE {value} IS NOT NULL LIMIT 100))"
        ).fetchall()[0]
        kind = records.types[columns.value[0]]
        return cls(
            records.rows, int(found[0]), kind.startswith((*_NUMBERS, *_FRACTIONS)), int(found[1]), Grid.find(records)
        )

    def describe(self) -> str:
        """In words."""
        kind = f"{self.states} different values" if self.states <= 16 else "numbers" if self.numbers else "words"
        return f"{self.rows:,} records in {self.series:,} series, one every {self.grid}; {kind}"

    def duration(self, steps: int) -> str:
        """So many steps as a time."""
        return str(Grid(steps * self.grid.step, self.grid.whole))


def model_until(records: Records, grid: Grid, private: tuple[str, ...]) -> str:
    """Where the data end that a model may be fitted on: a day before the first secret (30 steps, where there is no
    day), or halfway to it from the first record, whichever is later; the more lies between, the more can be released.

    Raises
    ------
    InputError
        No record lies before the secrets.
    """
    finder = make_finder(records, Private(private), grid, "error")
    time = quoted(records.columns.time)
    ticks = time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"
    begin = int(records.con.sql(f"SELECT min({ticks}) FROM {records.view}").fetchall()[0][0])
    secret = min(first for first, _ in finder.bounds)
    if begin >= secret:
        raise InputError("model: no record lies before the private ones to fit a chain on; give a model file (--model)")
    until = max(secret - (grid.a_day() or _WITHOUT_A_DAY) * grid.step, (begin + secret) // 2)
    if records.time_is_whole:
        return str(until)
    return written(records, f"make_timestamp({until})")


def written(records: Records, moment: str) -> str:
    """An SQL timestamp, as a time like those of the time column."""
    form = "%Y-%m-%d" if records.types[records.columns.time] == "DATE" else "%Y-%m-%d %H:%M:%S"
    return str(records.con.sql(f"SELECT strftime({moment}, '{form}')").fetchall()[0][0])
