"""Texts that a spreadsheet would run: counted in text files, and on request written behind an apostrophe.

Such a text is one that begins with =, +, -, @, a tab or a line end and is no number: −3 stays a number. Apostrophes
before it do not count, so that what is quoted can be told from what had an apostrophe of its own, and taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.tables.reading import Records

FORMULAS = ("keep", "quote")

_FORMULA = r"^'*[=+\-@\t\r\n]"
_NUMBER = r"^'*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def check_formulas(formulas: str) -> None:
    """Refuse another word.

    Raises
    ------
    ArgumentError
    """
    if formulas not in FORMULAS:
        raise ArgumentError(f"formulas: must be one of {', '.join(FORMULAS)}")


def formula_names(names: list[str]) -> list[str]:
    """Names of columns that a spreadsheet would run."""
    import pyarrow as pa

    return pa.array(names, pa.string()).filter(_formulas(pa.array(names, pa.string()))).to_pylist()


def guarded(table: pa.Table, formulas: str) -> tuple[pa.Table, int]:
    """The table as it is written to a text file, and how many of its texts start a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = 0
    for at, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        column = table.column(at)
        distinct = pc.unique(column)
        if not pc.any(_formulas(distinct)).as_py():
            continue
        which = pc.fill_null(_formulas(column), False)
        found += pc.sum(which).as_py()
        if formulas == "quote":
            quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), column, pa.scalar("", field.type))
            table = table.set_column(at, field, pc.if_else(which, quoted, column))
    return table, found


def unguarded(records: Records) -> Records:
    """The records of a released file without the apostrophes that it was written with."""
    from reticent.tables.sql import quoted, text

    names = [name for name in records.columns.all if records.types[name] == "VARCHAR"]
    if names:
        columns = {name: quoted(name) for name in names}
        plain = ", ".join(
            f"CASE WHEN regexp_matches({column}, {text(_FORMULA)}) AND NOT regexp_matches({column}, {text(_NUMBER)}) "
            f"THEN substr({column}, 2) ELSE {column} END AS {column}"
            for column in columns.values()
        )
        records.con.execute(f"CREATE OR REPLACE VIEW {records.view} AS SELECT * REPLACE ({plain}) FROM typed")
    return records


def _formulas(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER))
