"""Types: DuckDB knows fewer than Arrow, so what it widened or moved to UTC is cast back to the type of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def restored(table: pa.Table, source: pa.Schema | None) -> pa.Table:
    """`table` with the types that its columns have in `source`.

    Dictionaries stay plain: they name values that occur nowhere else.
    """
    if source is None:
        return table
    import pyarrow as pa

    fields = [_field(field, source) for field in table.schema]
    return table if fields == list(table.schema) else table.cast(pa.schema(fields))


def _field(field: pa.Field, source: pa.Schema) -> pa.Field:
    at = source.get_field_index(field.name)
    if at < 0 or source.field(at).type == field.type or not _same_kind(field.type, source.field(at).type):
        return field
    return field.with_type(source.field(at).type)


def _same_kind(one: Any, other: Any) -> bool:
    """Whether two types hold the same values in other clothes."""
    from pyarrow import types

    if types.is_timestamp(one) and types.is_timestamp(other):
        return (one.tz is None) == (other.tz is None)
    kinds = (
        types.is_date,
        types.is_time,
        types.is_decimal,
        lambda kind: types.is_string(kind) or types.is_large_string(kind),
        lambda kind: types.is_binary(kind) or types.is_large_binary(kind),
        lambda kind: types.is_float16(kind) or types.is_float32(kind),
    )
    return any(kind(one) and kind(other) for kind in kinds)


def kind_of(type: Any) -> str:
    """What a text file must be told about a column to give back the same values in the same order."""
    from pyarrow import types

    if types.is_integer(type):
        return "whole numbers"
    if types.is_floating(type) or types.is_decimal(type):
        return "numbers"
    return "booleans" if types.is_boolean(type) else "words"
