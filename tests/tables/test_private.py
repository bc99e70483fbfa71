"""Where the secrets are may depend on identifiers, times and public columns, never on the values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tables_kit import START, hours

import reticent as rt
from reticent import tables
from reticent.errors import ArgumentError, InputError, ReticentError
from reticent.tables import Private

COIN = rt.MarkovChain.binary(0.5, 0.5)  # independent records: just the secrets are withheld
STATES = [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0]


def withheld(private: Private, values: list[int] = STATES, **options: Any) -> list[int]:
    """Rows that a release withholds; `v` is the value, `k` and `pub` are public."""
    table = pa.table({"id": ["a"] * 12, "ts": hours(12), "v": values, "pub": ["x", "y"] * 6, "k": range(12)})
    options = {"id": "id", "time": "ts", "value": "v", "epsilon": 0.5, "model": COIN} | options
    return [
        i
        for i, flag in enumerate(tables.redact(table, private=private, **options).table["v_redacted"].to_pylist())
        if flag
    ]


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        ("pub = 'x'", [0, 2, 4, 6, 8, 10]),
        ("k = 3", [3]),
        ("K = 3", [3]),
        ("hour(ts) between 3 and 5", [3, 4, 5]),
        ("ts >= '2024-01-01 09:00'", [9, 10, 11]),
        ("extract(hour from ts) in (1, 2)", [1, 2]),
        ("date_trunc('hour', ts) = '2024-01-01 03:00'", [3]),
        ("ts - interval 1 hour = timestamp '2024-01-01 03:00'", [4]),
        ("strftime(ts, '%H') = '03' and id = 'a'", [3]),
        ("not (k < 11) or k is null", [11]),
        ("CASE WHEN k = 2 THEN true ELSE false END", [2]),
        ("pub ilike 'X%' and abs(k - 4) < 1", [4]),
        ("k = 1 -- a remark", [1]),
        ("/* a remark */ k = 1", [1]),
        ("k = 0) OR (k = 1", [0, 1]),
        ("try_cast(pub as int) is null and k = 0", [0]),
    ],
)
def test_predicates_over_public_columns(predicate: str, rows: list[int]) -> None:
    assert withheld(Private(where=predicate, public=("pub", "k"))) == rows


def test_a_predicate_may_read_a_column_that_is_kept() -> None:
    assert withheld(Private(where="k = 3", public=("k",)), keep="k") == [3]


ATTACKS = [
    "v = 1", "V = 1", '"v" = 1', "typed.v = 1", "records.v = 1", "raw.v = 1", "memory.main.typed.v = 1",
    "#3 = 1", "(#3)::int = 1", "#1 = 'a'",
    "COLUMNS('v') = 1", "COLUMNS(*) = 1", "*COLUMNS(*)", "*", "records.*",
    "records::varchar like '%1%'", "typed::varchar like '%1%'", "hash(records) > 0", "records is not null", "rowid = 3",
    "exists (select 1 from typed where v = 1)", "k in (select v from raw)", "(select max(v) from typed) = 1",
    "k = ANY(SELECT v FROM typed)", "(from typed select bool_or(v = 1))",
    "count(*) > 1", "max(k) > 1", "bool_or(k = 1)", "row_number() over () = 1", "sum(k) over (order by ts) > 3",
    "k = 1 QUALIFY row_number() OVER (ORDER BY v) = 1",
    "list_filter([1], v -> v = 1) = []", "len(list_filter([k], lambda v: v = 1)) > 0", "[v for v in [1]] = []",
    "random() < 0.5", "uuid() is null", "nextval('s') = 1", "now() > ts", "current_date > ts", "today() > ts",
    "age(ts) > interval 1 day", "current_timestamp is null",
    "getenv('HOME') = 'x'", "getvariable('x') is null", "current_setting('temp_directory') = ''",
    "read_csv('/etc/passwd')", "(select count(*) from read_text('/etc/passwd')) = 1",
    "read_blob('/etc/passwd') is null", "exists (from '/etc/passwd')", "exists (from glob('/*'))",
    "true; drop table typed", "true) AS flag FROM records; SELECT (true", "true), (true", "true) OR (v > 5",
    "true) FROM typed --", "true) FROM typed; --", "k = 1 /*", "k = 1 UNION SELECT true", "true AS x", "true LIMIT 1",
    "$1 = 1", "?", "unnest([true])", "k", "'x'", "NULL", "", "x'", "k = 'abc'", "pub::int = 3", "error('x') is null",
    "true COLLATE nothing", "flag", '"reticent private"', "struct_pack(v := v).v = 1", "TRY(v) = 1", "md5(v) = ''",
    "write_log('x') is null", "sleep_ms(1) is null", "DEFAULT",
]  # fmt: skip


@pytest.mark.parametrize("predicate", ATTACKS)
def test_a_predicate_that_is_no_plain_condition_is_refused(predicate: str) -> None:
    with pytest.raises(ReticentError, match=r"^private: ") as caught:
        withheld(Private(where=predicate, public=("pub", "k")))
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize(
    "predicate", ["#3 = 1", "#4 = 1", "#2 is null or k = 2", "try_cast(k as bool)", "k % 2 = 1", "1 / k > 0.3"]
)
def test_the_places_of_secrets_never_move_with_the_values(predicate: str) -> None:
    def places(values: list[int]) -> Any:
        try:
            return withheld(Private(where=predicate, public=("pub", "k")), values)
        except ReticentError as error:
            return str(error)

    assert places(STATES) == places([1 - state for state in STATES]) == places([0] * 12)


@pytest.mark.parametrize("name", ["v", "V"])
def test_a_value_column_is_never_public(name: str) -> None:
    with pytest.raises(ArgumentError):
        withheld(Private(where=f"{name} = 1", public=(name,)))


def test_a_value_column_does_not_say_which_of_its_values_are_private() -> None:
    table = pa.table({"ts": hours(4), "v": [True, False, True, False]})
    with pytest.raises(ArgumentError, match="must not depend on values"):
        tables.redact(
            table, time="ts", value="v", private=Private(column="v"), epsilon=1.0,
            model=rt.MarkovChain.binary(0.5, 0.5, (False, True)),
        )  # fmt: skip


def flagged(
    flags: list[Any], times: pa.Array | None = None, values: list[int] | None = None, **options: Any
) -> dict[str, Any]:
    size = len(flags)
    table = pa.table({"ts": hours(size) if times is None else times, "v": values or STATES[:size], "p": flags})
    options = {"private": Private(column="p"), "epsilon": 0.5, "model": COIN, "source": rt.seeded_source(1)} | options
    return tables.redact(table, time="ts", value="v", **options).table.to_pydict()


def test_a_null_in_the_boolean_column_is_private() -> None:
    assert flagged([None, False, True, False])["v_redacted"] == [True, False, True, False]


def test_what_the_boolean_column_must_be() -> None:
    with pytest.raises(InputError, match="not boolean"):
        flagged([1, 0, 0, 0])
    with pytest.raises(InputError, match="no record is private"):
        flagged([False] * 4)


@pytest.mark.parametrize(
    ("intervals", "rows"),
    [
        (("2024-01-01 03:00/2024-01-01 04:00",), [3, 4]),
        (("2024-01-01 02:30/2024-01-01 04:59",), [3, 4]),
        (("2024-01-01/2024-01-01", "2024-01-01 11:00/2025-01-01"), [0, 11]),
    ],
)
def test_intervals(intervals: tuple[str, ...], rows: list[int]) -> None:
    assert withheld(Private(intervals)) == rows


def stamps(*seconds: int) -> pa.Array:
    return pa.array([START + dt.timedelta(seconds=s) for s in seconds], pa.timestamp("us"))


@pytest.mark.parametrize("rule", ["min", "max"])
@pytest.mark.parametrize("second", [60, 70])
@pytest.mark.parametrize("values", [[0, 0, 1, 1], [0, 1, 0, 1]])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_a_step_is_private_if_any_of_its_records_is(
    rule: str, second: int, values: list[int], order: list[int]
) -> None:
    """Whichever record a rule for duplicates keeps: else the values would choose the secrets and the times."""
    times = stamps(0, 60, second, 120)
    flags = [False, False, True, False]
    out = flagged([flags[i] for i in order], times.take(order), [values[i] for i in order], duplicates=rule, every="1m")
    assert out == {
        "ts": stamps(0, 60, 120).to_pylist(),
        "v": [values[0], None, values[3]],
        "v_redacted": [False, True, False],
    }


@pytest.mark.parametrize("rule", ["min", "max"])
def test_an_interval_within_a_step_hides_the_step(rule: str) -> None:
    out = flagged([False] * 4, stamps(0, 60, 70, 120), [0, 0, 1, 1], duplicates=rule, every="1m",
                  private="2024-01-01 00:01:05/2024-01-01 00:01:30")  # fmt: skip
    assert out["v_redacted"] == [False, True, False]


def test_messages_hold_no_value(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"] * 4, "ts": hours(4), "v": ["CANARY", "x", "y", "z"], "pub": ["CANARY"] * 4})
    for private in (Private(where="pub::int = 1", public=("pub",)), Private(("2024-01-01/2024-01-01",))):
        with pytest.raises(ReticentError) as caught:
            tables.redact(table, id="id", time="ts", value="v", private=private, epsilon=1.0, model=COIN)
        assert "CANARY" not in str(caught.value)
