"""A release as a folder of files, one or more for each value of a column, named as Hive names them."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from reticent.errors import ArgumentError
from reticent.tables.formats import Format, Writer
from reticent.tables.reading import Columns
from reticent.tables.sources import NO_VALUE

if TYPE_CHECKING:
    import pyarrow as pa

_OPEN = 128  # files
_GROUP_ROWS = 1 << 14  # fewer than in a single file, since those of all open files wait
_LONGEST = 255  # bytes of the name of a folder


class PartitionedWriter:
    """Writes tables into ``COLUMN=value/N.parquet``, without the column, the rows of each file in their order.

    A file is closed where many others are written to before it again; the next rows of its value begin another.

    Parameters
    ----------
    folder : Path
        Made by the first table.
    format : Format
    schema : pa.Schema
    column : str
    """

    def __init__(self, folder: Path, format: Format, schema: pa.Schema, column: str) -> None:
        self.schema = schema
        self._folder, self._format, self._column = folder, format, column
        self._open: OrderedDict[str, Writer] = OrderedDict()
        self._begun: dict[str, int] = {}
        folder.mkdir()

    def write(self, table: pa.Table) -> None:
        """Append a table."""
        column = table[self._column].combine_chunks().dictionary_encode()
        codes = np.asarray(column.indices.fill_null(len(column.dictionary)))
        names = [self._name(each) for each in [*column.dictionary.to_pylist(), None]]
        order = np.argsort(codes, kind="stable")
        rest = table.drop_columns(self._column)
        cuts = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(codes[order])) + 1, [codes.size]]))  # 0 if no rows
        for first, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            own = order[first:end]  # taken, since a slice that waits would keep all
            self._writer(names[int(codes[own[0]])], rest.schema).write(rest.take(own))

    def _name(self, value: Any) -> str:
        text = value.isoformat() if hasattr(value, "isoformat") else str(value)
        name = f"{quote(self._column, '')}={NO_VALUE if value is None else quote(text, '')}"
        if text in ("", NO_VALUE) or len(name) > _LONGEST:
            raise ArgumentError(
                "partition-by: a value is empty, too long or the word for none, and names no folder; choose another "
                "column"
            )
        return name

    def _writer(self, name: str, schema: pa.Schema) -> Writer:
        if name not in self._open:
            if len(self._open) == _OPEN:
                self._open.popitem(last=False)[1].close()
            number = self._begun[name] = self._begun.get(name, -1) + 1
            (self._folder / name).mkdir(exist_ok=True)
            path = self._folder / name / f"{number}.{self._format.kind}"
            self._open[name] = Writer(path, self._format, schema, _GROUP_ROWS)
        self._open.move_to_end(name)
        return self._open[name]

    def close(self) -> None:
        """Finish all files."""
        for writer in self._open.values():
            writer.close()


def check_partition(column: str | None, columns: Columns, types: dict[str, str], format: Format) -> None:
    """Refuse to part a release by what is no name of a folder.

    Raises
    ------
    ArgumentError
        A column that is neither an identifier nor kept; numbers with fractions; a format of text.
    """
    if column is None:
        return
    if column not in (*columns.id, *columns.keep):
        raise ArgumentError("partition-by: must be a column of --id or --keep")
    if types[column].startswith(("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UBIGINT", "TIMESTAMP")):
        raise ArgumentError(f"partition-by: column {column} holds {types[column]}; choose one of words, days or counts")
    if format.kind == "csv":
        raise ArgumentError("partition-by: folders are of Parquet or Feather files; name an output like OUT.parquet")
