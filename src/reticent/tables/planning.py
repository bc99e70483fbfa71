"""The plan of how the input was understood: for the curator, and of counts, formats and declared things only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reticent.tables.grid import Grid
from reticent.tables.sql import quoted, quoted_list

if TYPE_CHECKING:
    from reticent.tables.pipeline import Job
    from reticent.tables.reading import Records

Plan = tuple[tuple[str, str], ...]

CHEAP = 200_000  # rows that are looked through once more without being asked


def surveyed(records: Records, job: Job, every: str | None = None, grid: Grid | None = None) -> Records:
    """The records with their sampling period and their gaps in the plan, if that is asked for or cheap.

    Parameters
    ----------
    records : Records
    job : Job
    every : str, optional
        The period, where it was stated.
    grid : Grid, optional
        The period, where it is known.
    """
    if not job.dry_run and records.rows > CHEAP:
        known = () if grid is None else ((("sampling period"), f"{grid}, {'found' if every is None else 'stated'}"),)
        return replace(records, plan=(*records.plan, *known))
    if grid is None:
        grid = Grid.find(records) if every is None else Grid.parse(every, records.time_is_whole)
    lines = (("sampling period", f"{grid}, {'found' if every is None else 'stated'}"), ("gaps", _gaps(records, grid)))
    return replace(records, plan=(*records.plan, *lines))


def _gaps(records: Records, grid: Grid) -> str:
    columns = records.columns
    time = quoted(columns.time)
    unit = time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"
    window = f"PARTITION BY {quoted_list(columns.id)} ORDER BY {time}" if columns.id else f"ORDER BY {time}"
    steps = f"(2 * ({unit} - lag({unit}) OVER ({window})) + {grid.step}) // {2 * grid.step}"
    gaps, missing, longest, close = records.con.sql(
        "SELECT count(*) FILTER (steps > 1), sum(steps - 1) FILTER (steps > 1), max(steps), "
        f"count(*) FILTER (steps < 1) FROM (SELECT {steps} AS steps FROM {records.view})"
    ).fetchall()[0]
    words = f"{gaps:,} gaps of {int(missing):,} steps in all, the longest of {int(longest) - 1:,}" if gaps else "none"
    return words + (f"; {close:,} records share a step with another" if close else "")


def with_released(plan: Plan, facts: dict[str, Any], kept: int, grouped: bool) -> Plan:
    """The plan with what came of the rows that were kept."""
    rows, series = facts["rows"], facts["series"]
    words = f"{rows:,} rows in {series:,} series"
    if grouped:
        words = f"{rows:,} aggregates in {series:,} groups"
    elif rows < kept:
        words += f"; {kept - rows:,} rows shared a time with another and were merged, or are not due yet"
    return (*plan, ("released", words))
