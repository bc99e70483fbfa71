"""Several records of one series and time as one, by a declared rule that does not depend on the order of the rows.

The mean is exact, rounded once: of floating point numbers to the nearest of their type, of whole numbers to the nearest
double, of decimals to the last place that the column has (halves to the even one). Missing values do not count in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.tables.sql import quoted, quoted_list

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.tables.reading import Records

Bools = NDArray[np.bool_]


def with_room_for_means(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Whole numbers as doubles, whether or not any of them has to be averaged: the type must not tell.

    Raises
    ------
    InputError
        Columns that hold no numbers, or whole numbers that a double does not hold.
    """
    import pyarrow as pa

    for name in names:
        at = table.schema.get_field_index(name)
        kind = table.schema.field(at).type
        if pa.types.is_integer(kind):
            try:
                column = table[name].cast(pa.float64())
            except pa.ArrowInvalid:
                raise InputError(
                    f"duplicates: column {name} holds whole numbers beyond 2^53, which the mean would not keep; choose "
                    "min, max or keep"
                ) from None
            table = table.set_column(at, pa.field(name, pa.float64()), column)
        elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise InputError(
                f"duplicates: column {name} holds {kind} values, which have no mean; choose min, max or keep"
            )
    return table


def averaged(table: pa.Table, first: Bools, names: Sequence[str]) -> pa.Table:
    """The first row of each group of rows, with the means of the group in the columns `names`.

    Parameters
    ----------
    first : bool, shape (rows,)
        Whether a row begins a group.

    Raises
    ------
    InputError
        An infinite value in a group of several.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, first.size))
    several = np.flatnonzero(lengths > 1)
    thinned = table.filter(pa.array(first))
    rows = np.flatnonzero(np.repeat(lengths > 1, lengths))
    for name in names if several.size else ():
        at = table.schema.get_field_index(name)
        kind = table.schema.field(at).type
        values = iter(table[name].take(pa.array(rows)).to_pylist())
        means = [mean([next(values) for _ in range(length)], kind, name) for length in lengths[several].tolist()]
        mask = pa.array(lengths > 1)
        column = pc.replace_with_mask(thinned[name].combine_chunks(), mask, pa.array(means, kind))
        thinned = thinned.set_column(at, table.schema.field(at), column)
    return thinned


def mean(values: Sequence[Any], kind: Any, name: str) -> Any:
    """The mean of the values that are there, rounded once to the type of the column; None where there is none."""
    import pyarrow as pa

    there = [value for value in values if value is not None and value == value]
    if not there:
        return None
    try:
        exact = sum(map(Fraction, there), Fraction(0)) / len(there)
    except (OverflowError, ValueError):
        raise InputError(
            f"duplicates: column {name} holds an infinite value among records of one time, which has no mean; choose "
            "min, max or keep"
        ) from None
    if pa.types.is_decimal(kind):
        return Decimal(round(exact * 10**kind.scale)).scaleb(-kind.scale)
    return float(exact)


def one_record_each(records: Records, rule: str) -> Records:
    """The records with one for each identifier and time.

    Raises
    ------
    ArgumentError
        A rule that keeps several.
    InputError
        Several, where the rule is to refuse them.
    """
    columns, con = records.columns, records.con
    (value,) = columns.value
    keys = quoted_list((*columns.id, columns.time))
    several = f"count(*) OVER (PARTITION BY {keys})"
    repeated = con.sql(f"SELECT count(*) FROM (SELECT 1 FROM {records.view} QUALIFY {several} > 1)").fetchall()[0][0]
    if not repeated and rule != "mean":
        return records
    if rule == "error":
        raise InputError(
            f"time: {repeated} readings repeat the time of another of the same individual (each is counted); choose a "
            "rule with --duplicates min, max or mean"
        )
    if rule == "keep":
        raise ArgumentError(
            "duplicates: an aggregate takes one reading of an individual at a time; choose min, max or mean"
        )
    number = records.types[value] in ("FLOAT", "DOUBLE")
    absent = f"{quoted(value)} IS NULL" + (f" OR isnan({quoted(value)})" if number else "")
    order = f"{keys}, ({absent}), {quoted(value)} {'DESC' if rule == 'max' else 'ASC'}"
    table = con.sql(
        f"SELECT {quoted_list(columns.all)} FROM {records.view} QUALIFY {several} > 1 ORDER BY {order}"
    ).to_arrow_table()
    table = table.combine_chunks()
    first = np.ones(table.num_rows, dtype=bool)
    if table.num_rows:
        first[1:] = np.any([_changes(table[name]) for name in (*columns.id, columns.time)], axis=0)
    kind = records.types[value]
    if rule == "mean":
        whole = con.sql(f"SELECT {quoted(value)} FROM {records.view} LIMIT 0").to_arrow_table()
        kind = "DOUBLE" if with_room_for_means(whole, [value]).schema != whole.schema else kind
        table = averaged(with_room_for_means(table, [value]), first, [value])
    else:
        table = table.filter(first)
    con.register("one each", table)
    con.execute(
        f"CREATE VIEW thinned AS SELECT * REPLACE (CAST({quoted(value)} AS {kind}) AS {quoted(value)}) "
        f"FROM (SELECT {quoted_list(columns.all)} FROM {records.view} QUALIFY {several} = 1) "
        'UNION ALL BY NAME FROM "one each"'
    )
    types = {**records.types, value: kind}
    return replace(records, view="thinned", types=types, rows=records.rows - repeated + table.num_rows)


def _changes(column: pa.ChunkedArray) -> Bools:
    codes = np.asarray(column.combine_chunks().dictionary_encode().indices.fill_null(-1))
    return np.diff(codes) != 0
