"""Several files, or a folder of them, read as one: what is released does not depend on how the records were parted."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from reticent.errors import InputError
from reticent.tables.delimited import Reading, encoding_of
from reticent.tables.formats import format_of_file, open_bytes
from reticent.tables.frames import to_arrow
from reticent.tables.sql import quoted, text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_OURS = (".certificate.json", ".report.html")


@dataclass(frozen=True)
class Several:
    """Files of one kind with the same columns.

    Parameters
    ----------
    paths : tuple of Path
        In order of their names.
    keys : dict
        Columns that stand in the names of folders (``meter=7/…``), as Hive and Spark write them; whether all their
        values are whole numbers.
    """

    paths: tuple[Path, ...]
    keys: dict[str, bool]

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.paths[0].name} (and {len(self.paths) - 1} others)"


def files_of(table: Any) -> tuple[Path, ...] | None:
    """The files that a path, a folder or a list of these stands for, sorted, each once; None for a data frame."""
    if isinstance(table, str | Path):
        path = Path(table)
        return tuple(sorted(_data_in(path))) if path.is_dir() else (path,)
    if isinstance(table, list | tuple) and table and all(isinstance(each, str | Path) for each in table):
        paths = sorted(path for each in table for path in files_of(each) or ())
        return tuple({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]
    return None


def _data_in(folder: Path) -> Iterator[Path]:
    """Files of data in a folder; what is hidden, or not committed (``_temporary``), is none.

    Raises
    ------
    InputError
        A link to a folder.
    """
    for path in folder.rglob("*"):
        if any(part[0] in "._" for part in path.relative_to(folder).parts) or path.name.endswith(_OURS):
            continue
        if path.is_symlink() and path.is_dir():  # neither left out in silence nor walked in circles
            raise InputError(
                f"input: {path.name} is a link to a folder; put the folder there, or name it beside this one"
            )
        if path.is_file():
            yield path


def source_of(table: Any, words: bool = False) -> Path | Several | pa.Table:
    """A path, several, or an Arrow table; `words`: what stands in the names of folders is text.

    Raises
    ------
    InputError
        A folder without files; files of several kinds, or in folders that name other columns.
    """
    paths = files_of(table)
    if paths is None:
        return to_arrow(table)
    if not paths:
        raise InputError("input: the folder holds no files")
    keys = [_keys(path, table) for path in paths]
    if len(paths) == 1 and not keys[0]:
        return paths[0]
    if len({format_of_file(path).kind for path in paths}) > 1:
        raise InputError("input: the files are of several kinds; convert them to one")
    if len({tuple(each) for each in keys}) > 1:
        raise InputError("input: the files lie in folders that name other columns")
    return Several(paths, {name: not words and all(_whole(each[name]) for each in keys) for name in keys[0]})


def _keys(path: Path, table: Any) -> dict[str, str]:
    """Columns in the names of the folders between `table`, where it is a folder, and the file."""
    if not (isinstance(table, str | Path) and Path(table).is_dir()):
        return {}
    parts = (part.partition("=") for part in path.relative_to(table).parts[:-1])
    return {unquote(name): unquote(value) for name, mark, value in parts if mark}


def _whole(value: str) -> bool:
    return value == NO_VALUE or re.fullmatch(r"0|-?[1-9]\d{0,17}", value) is not None


def open_several(con: duckdb.DuckDBPyConnection, several: Several) -> pa.Schema:
    """Make the view ``raw`` of Parquet or Feather files.

    Raises
    ------
    InputError
        Files that cannot be read, or whose columns differ.
    """
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    kind = format_of_file(several.paths[0]).kind
    keys = pa.schema([(name, pa.int64() if whole else pa.string()) for name, whole in several.keys.items()])
    try:
        if kind == "parquet":
            schemas = [pyarrow.parquet.read_schema(path) for path in several.paths]
        else:
            schemas = [pyarrow.dataset.dataset(path, format="feather").schema for path in several.paths]
    except (pa.ArrowException, OSError):
        raise InputError(f"input: {several.name} cannot be read as {kind}; are the files whole?") from None
    if any(each.remove_metadata() != schemas[0].remove_metadata() for each in schemas):
        raise InputError("input: the files do not have the same columns and types; make them alike")
    written = _names_above(several.paths[0]) if several.keys else {}
    if {name.lower() for name in written} & {name.lower() for name in schemas[0].names}:
        raise InputError("input: a column stands both in the files and in the names of folders above them")
    schema = pa.schema([*schemas[0], *keys])
    if kind == "parquet":
        types = ", ".join(
            f"{text(written[name])}: {'BIGINT' if whole else 'VARCHAR'}" for name, whole in several.keys.items()
        )
        hive = f"true, hive_types_autocast = false, hive_types = {{{types}}}" if types else "false"
        listed = ", ".join(text(str(path)) for path in several.paths)
        named = (f"{quoted(written[name])} AS {quoted(name)}" for name in keys.names)
        columns = ", ".join([*map(quoted, schemas[0].names), *named])
        con.execute(f"CREATE VIEW raw AS SELECT {columns} FROM read_parquet([{listed}], hive_partitioning = {hive})")
    else:
        parting = pyarrow.dataset.partitioning(keys, flavor="hive") if several.keys else None
        data = pyarrow.dataset.dataset(list(map(str, several.paths)), schema, format="feather", partitioning=parting)
        con.register("files", data)
        con.execute("CREATE VIEW raw AS FROM files")
    return schema


def _names_above(path: Path) -> dict[str, str]:
    """Columns in the names of all folders above a file, as they are written there (DuckDB takes each for one)."""
    names = (part.partition("=")[0] for part in path.parts[:-1] if "=" in part)
    return {unquote(name): name for name in names}


def joined(several: Several, folder: Path, reading: Reading) -> tuple[Path, Reading]:
    """Text files of one header as a single file of UTF-8 text in `folder`, and how that is to be read.

    Each file has its own lines to pass over and its own header, where there are any.

    Raises
    ------
    InputError
        Headers or line ends that differ; folders that name columns; bytes that are no text in the encoding.
    """
    if several.keys:
        raise InputError("input: text files in folders that name a column are not read; convert them to Parquet")
    out, header, ends = folder / "joined.csv", None, ""
    with out.open("w", encoding="utf-8", errors="surrogateescape", newline="") as sink:
        for path in several.paths:
            try:
                header, own = _append(sink, path, reading, header)
            except UnicodeError:
                raise InputError(f"input: {path.name} is not text in its encoding; name it with --encoding") from None
            except _HeadersDifferError:
                raise InputError(
                    f"input: {path.name} has another header than {several.paths[0].name}; if the files have none, pass "
                    "--no-header"
                ) from None
            ends = ends or own
            if own not in ("", ends):
                raise InputError(
                    f"input: {path.name} has other line ends than {several.paths[0].name}; make them alike"
                )
    return out, replace(reading, encoding=None, skip_rows=0)


class _HeadersDifferError(Exception):
    """The header of a file is not that of those before."""


def _append(sink: IO[str], path: Path, reading: Reading, header: str | None) -> tuple[str | None, str]:
    """Write the rows of one text file, the header only where there was none before; the header, and the line ends."""
    format = format_of_file(path)
    encoding = encoding_of(path, format, reading.encoding)
    errors = "surrogateescape" if encoding in ("utf-8", "ascii") else "strict"
    with (
        open_bytes(path, format.compression) as stream,
        io.TextIOWrapper(stream, encoding, errors, newline="") as lines,
    ):
        for _ in range(reading.skip_rows):
            lines.readline()
        line = lines.readline().removeprefix("\ufeff")
        while line and not line.strip():
            line = lines.readline().removeprefix("\ufeff")
        first = line.rstrip("\r\n")
        ends = line[len(first) :]
        if reading.header:
            if header is not None and first != header:
                raise _HeadersDifferError
            line, header = "" if header is not None else first + (ends or "\n"), first
        sink.write(line)
        last = line
        while block := lines.read(1 << 20):
            sink.write(block)
            last = block
        if last and last[-1] not in "\r\n":
            sink.write(ends or "\n")
    return header, ends


def paths_meet(table: Any, output: Path) -> bool:
    """Whether `output` is the input, lies in an input folder or holds an input file."""
    given: Sequence[Any] = table if isinstance(table, list | tuple) else [table]
    own = output.absolute()
    others = [Path(each).absolute() for each in given if isinstance(each, str | Path)]
    same = any(output.exists() and other.exists() and output.samefile(other) for other in others)
    return same or any(
        (other.is_dir() and other in own.parents) or (output.is_dir() and own in other.parents) for other in others
    )
