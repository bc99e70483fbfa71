"""Data frames in and the same kind out, through narwhals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, InputError

if TYPE_CHECKING:
    import pyarrow as pa


def to_arrow(frame: Any) -> pa.Table:
    """An Arrow table without index or metadata.

    Raises
    ------
    ArgumentError
        Something that is no pandas, Polars or PyArrow table.
    InputError
        A column of mixed types, or two of one name.
    """
    import narwhals as nw

    try:
        native = nw.from_native(frame)
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        unnamed = sum(not isinstance(name, str) for name in native.columns)
        if unnamed:
            raise InputError(
                f"table: {unnamed} of its columns have names that are no text; rename them, such as with "
                "frame.columns = frame.columns.map(str)"
            )
        table = native.to_arrow()
    except InputError:
        raise
    except TypeError:
        raise ArgumentError(
            f"table: {type(frame).__name__} is not supported; pass a path, or a pandas, Polars or PyArrow table"
        ) from None
    except Exception as error:  # whose words may hold a value
        raise InputError(
            f"table: its columns cannot be read ({type(error).__name__}); give each a name of its own and one type"
        ) from None
    return table.replace_schema_metadata(None)


def from_arrow(table: pa.Table, like: Any) -> Any:
    """A frame of the same kind as `like` (a table of PyArrow's where that was a file, or several)."""
    import narwhals as nw

    if (
        isinstance(like, str | list | tuple)
        or not hasattr(like, "__class__")
        or type(like).__module__.startswith(("pathlib", "pyarrow"))
    ):
        return table
    frame = nw.from_native(like)
    if frame.implementation.is_pandas():
        return _to_pandas(table)
    if frame.implementation.is_polars():
        import polars as pl

        return pl.from_arrow(table)
    return nw.from_native(table).to_native()


def _to_pandas(table: pa.Table) -> Any:
    """Whole numbers and booleans with nulls keep their type (pandas' nullable one)."""
    import pandas as pd
    import pyarrow as pa

    nullable = {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.to_pandas(ignore_metadata=True)
    for field in table.schema:
        if field.type in nullable and table[field.name].null_count:
            frame[field.name] = table[field.name].to_pandas(types_mapper=nullable.get)
    return frame
