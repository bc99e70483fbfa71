"""Messy files of the kinds that people meet, each with its siblings: the numbers are those of the list of cases."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from tables_kit import hours, load, plan_of, rows, stamps, store, switched, text_file, tried

import reticent as rt
from reticent import tables
from reticent.errors import ArgumentError, InputError, ReticentError
from reticent.tables import Reading

# --- 1: marks and encodings -------------------------------------------------------------------------------------------

TWO = "ts,kwh\n2024-01-01,5\n2024-01-02,6\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TWO.encode(),
        b"\xef\xbb\xbf" + TWO.replace("ts,kwh", '"ts","kwh"').encode(),
        b"\xef\xbb\xbf\r\n" + TWO.replace("\n", "\r\n").encode(),
        TWO.encode("utf-16"),
        b"\xfe\xff" + TWO.encode("utf-16-be"),
        gzip.compress(b"\xef\xbb\xbf" + TWO.encode()),
    ],
)
def test_case_01_byte_order_marks(tmp_path: Path, content: bytes) -> None:
    source = text_file(tmp_path / "in.csv", content)
    assert "by its byte-order mark" in plan_of(tried(source))["encoding"]
    out = switched(source, tmp_path / "out.csv")
    assert rows(out)[0] == ["ts", "kwh"]
    assert stamps(out) == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
    written = (path.read_bytes() for path in tmp_path.glob("out.csv*"))
    assert not any("\ufeff".encode() in content for content in written)


def test_case_01_nul_bytes_ask_for_an_encoding(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NUL bytes.*--encoding utf-16-le"):
        tried(text_file(tmp_path / "in.csv", TWO, "utf-16-le"))
    assert plan_of(tried(tmp_path / "in.csv", reading=Reading(encoding="utf-16-le")))["rows"] == "2 read"


# --- 2: dates ---------------------------------------------------------------------------------------------------------


def test_case_02_one_format_a_column(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh\n12.01.2024,5\n13.01.2024,6\n")
    assert stamps(switched(source, tmp_path / "out.csv")) == ["2024-01-12 00:00:00", "2024-01-13 00:00:00"]
    assert "%d.%m.%Y" in plan_of(tried(source))["time"]
    unsure = text_file(tmp_path / "unsure.csv", "ts,kwh\n11.01.2024,5\n12.01.2024,6\n")
    with pytest.raises(InputError, match="--time-format"):
        tried(unsure)


@pytest.mark.parametrize("kind", ["text", "int32", "int64"])
def test_case_02_digits_that_are_dates(tmp_path: Path, kind: str) -> None:
    days = [20240131, 20240201, 20240202]
    if kind == "text":
        source: Any = text_file(tmp_path / "in.csv", "ts,kwh\n" + "".join(f"{day},1\n" for day in days))
    else:
        source = pa.table({"ts": pa.array(days, kind), "kwh": [1, 1, 1]})
    assert "dates" in plan_of(tried(source))["time"]
    assert plan_of(tried(source))["sampling period"] == "1d, found"
    assert plan_of(tried(source))["gaps"] == "none"
    steps = tried(source, reading=Reading(time_format="whole numbers"))
    assert plan_of(steps)["gaps"] == "1 gaps of 69 steps in all, the longest of 69"


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_case_02_epochs(tmp_path: Path, unit: str, factor: int) -> None:
    begin = 1_700_000_000
    content = "ts,kwh\n" + "".join(f"{(begin + 1800 * i) * factor},{i}\n" for i in range(3))
    reading = Reading(time_format=f"epoch {unit}")
    out = switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv", reading=reading)
    assert stamps(out)[0] == "2023-11-14 22:13:20Z"
    table = pa.table({"ts": [(begin + 1800 * i) * factor for i in range(3)], "kwh": [1, 2, 3]})
    assert plan_of(tried(table, reading=reading))["sampling period"] == "30m, found"


# --- 3: clocks --------------------------------------------------------------------------------------------------------

BERLIN = Reading(time_zone="Europe/Berlin")


def test_case_03_clocks_that_go_back(tmp_path: Path) -> None:
    both = text_file(tmp_path / "o.csv", "ts,kwh\n2024-10-27T02:30+02:00,5\n2024-10-27T02:30+01:00,6\n")
    assert stamps(switched(both, tmp_path / "out.csv", reading=BERLIN)) == [
        "2024-10-27 00:30:00Z",
        "2024-10-27 01:30:00Z",
    ]
    naive = text_file(tmp_path / "n.csv", "ts,kwh\n2024-10-27 01:30,4\n2024-10-27 02:30,5\n2024-10-27 02:30,6\n")
    with pytest.raises(InputError, match="--duplicates"):
        tried(naive, reading=BERLIN)
    known = tried(naive, reading=BERLIN, duplicates="mean")
    assert "2 in an hour that occurs twice" in plan_of(known)["time"]
    assert "1 rows shared a time with another" in plan_of(known)["released"]


@pytest.mark.parametrize(
    ("zone", "clock", "first", "second"),
    [
        ("Europe/Berlin", "2024-10-27 02:30", "2024-10-27 00:30:00Z", "2024-10-27 01:30:00Z"),
        ("Australia/Lord_Howe", "2024-04-07 01:45", "2024-04-06 14:45:00Z", "2024-04-06 15:15:00Z"),
        ("Antarctica/Troll", "2024-10-27 02:30", "2024-10-27 00:30:00Z", "2024-10-27 02:30:00Z"),
    ],
)
def test_case_03_which_of_two_a_clock_time_is(tmp_path: Path, zone: str, clock: str, first: str, second: str) -> None:
    source = text_file(tmp_path / "in.csv", f"ts,kwh\n{clock},5\n2024-12-01 00:00,6\n")
    for rule, instant in (("first", first), ("second", second)):
        reading = Reading(time_zone=zone, ambiguous=rule)
        assert (
            f"1 in an hour that occurs twice, read as its {rule} time"
            in plan_of(tried(source, reading=reading))["time"]
        )
        assert stamps(switched(source, tmp_path / f"{rule}.csv", reading=reading))[0] == instant
    refused = Reading(time_zone=zone, ambiguous="error")
    with pytest.raises(InputError, match=r"1 entries .* twice.*--ambiguous") as caught:
        tried(source, reading=refused)
    assert clock not in str(caught.value)
    aside = Reading(time_zone=zone, ambiguous="error", quarantine=tmp_path / "q.csv")
    switched(source, tmp_path / "rest.csv", reading=aside)
    assert [row[0] for row in rows(tmp_path / "q.csv")[1:]] == ["2"]
    with pytest.raises(ArgumentError, match="ambiguous"):
        Reading(ambiguous="both")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_case_03_clocks_that_skip_an_hour(tmp_path: Path, suffix: str) -> None:
    clock = [dt.datetime(2024, 3, 31, hour, 30) for hour in (1, 2, 3)]
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        text_file(source, "ts,kwh\n" + "".join(f"{each},1\n" for each in clock))
    else:
        store(source, pa.table({"ts": clock, "kwh": [1, 1, 1]}))
    with pytest.raises(InputError, match=r"1 entries of column ts never were in Europe/Berlin.*--quarantine"):
        tried(source, reading=BERLIN)
    aside = tmp_path / "aside.csv"
    reading = Reading(time_zone="Europe/Berlin", quarantine=aside)
    out = switched(source, tmp_path / "out.csv", reading=reading)
    assert stamps(out) == ["2024-03-31 00:30:00Z", "2024-03-31 01:30:00Z"]
    assert rows(aside)[1][:2] == [
        {".csv": "3", ".parquet": "2"}[suffix],
        "a time in column ts that Europe/Berlin skips",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_case_03_days_are_those_of_the_zone(tmp_path: Path, suffix: str) -> None:
    """Each local day is one piece: what is in a UTC day but in two local ones never mixes."""
    moments = [dt.datetime(2024, 7, 1) + dt.timedelta(hours=hour) for hour in range(48)]
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        text_file(source, "ts,kwh\n" + "".join(f"{each},{i}\n" for i, each in enumerate(moments)))
        reading = Reading(time_zone="America/New_York")
    else:
        zoned = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        zoned = pa.compute.add(zoned, 4 * 3600 * 10**6).cast(pa.timestamp("us", "America/New_York"))
        store(source, pa.table({"ts": zoned, "kwh": range(48)}))
        reading = Reading()
    release = tables.switch(
        source, time="ts", value="kwh", window=4, epsilon=0.1, cuts="day", reading=reading, source=rt.seeded_source(1),
    )  # fmt: skip
    values = release.table["kwh"].to_pylist()
    assert sorted(values[:24]) == list(range(24))
    assert values != list(range(48))
    assert release.certificate.parameters["zone"] == "America/New_York"
    assert plan_of(release)["cuts"] == "one piece a day, of America/New_York"


# --- 4: gaps ----------------------------------------------------------------------------------------------------------


def gappy(extra: str = "") -> str:
    return "ts,state\n2024-01-01 00:00,on\n2024-01-01 00:15,on\n2024-01-01 06:00,off\n" + extra


def test_case_04_a_gap_is_no_transition(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", gappy())
    model = tables.fit(source, time="ts", value="state", states=["on", "off"], smoothing=0.5, every="15m")
    assert model.chain.transition[0].tolist() == pytest.approx([0.75, 0.25])  # 1 of on to on; none of on to off
    plan = tried(source, value="state")
    assert plan_of(plan)["gaps"] == "1 gaps of 22 steps in all, the longest of 22"
    assert plan_of(plan)["sampling period"] == "15m, found"


def test_case_04_the_chain_takes_a_step_for_each_missing_record(tmp_path: Path) -> None:
    chain = rt.MarkovChain.binary(0.2, 0.3, ("on", "off"))
    source = text_file(tmp_path / "in.csv", gappy())
    private = "2024-01-01 00:15/2024-01-01 00:15"
    release = tables.redact(
        source, time="ts", value="state", private=private, epsilon=1.0, model=chain, every="15m",
        output=tmp_path / "out.csv", ledger=False,
    )  # fmt: skip
    (mechanism,) = release.certificate.parameters["mechanisms"]
    assert mechanism["n"] == 25
    assert mechanism["missing"] == [[2, 23]]
    assert plan_of(release)["sampling period"] == "15m, stated"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([0, 1, 2, 3], "none"),
        ([0, 1, 3, 4, 9], "2 gaps of 5 steps in all, the longest of 4"),
        ([0, 1, 2, 2.2, 3], "none; 1 records share a step with another"),
    ],
)
def test_case_04_gaps_are_counted(steps: list[float], line: str) -> None:
    moments = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=15 * step) for step in steps]
    assert plan_of(tried(pa.table({"ts": moments, "kwh": range(len(steps))})))["gaps"] == line


# --- 5: rows that cannot be read --------------------------------------------------------------------------------------

BAD_ROWS = {
    "short": ("2024-01-03", "2 columns"),
    "long": ("2024-01-03,7,8", "3 fields"),
    "date": ("2024-1-NA,7", "a time in column ts"),
    "no time": (",7", "no time in column ts"),
    "text": ("2024-01-03,CANARY", "text among the numbers of column kwh"),
    "quote": ('2024-01-03,"7', "a quote that does not close"),
    "odd quote": ('"2024-01-03"x,7', "quotes that cannot be read"),
    "bytes": (b"2024-01-03,\xff7", "not text in this encoding"),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_case_05_a_row_that_cannot_be_plan_of(tmp_path: Path, bad: str) -> None:
    row, reason = BAD_ROWS[bad]
    raw = row if isinstance(row, bytes) else row.encode()
    content = b"ts,kwh\n2024-01-01,5\n2024-01-02,6\n" + raw + b"\n2024-01-04,8\n2024-01-05,9\n"
    source = text_file(tmp_path / "in.csv", content)
    with pytest.raises(InputError) as caught:
        tried(source)
    assert "CANARY" not in str(caught.value)
    assert "2024-1-NA" not in str(caught.value)
    if bad in ("short", "long", "date", "text"):
        assert "line 4" in str(caught.value)
    aside = tmp_path / "aside.csv"
    out = switched(source, tmp_path / "out.csv", reading=Reading(quarantine=aside))
    assert sorted(row[1] for row in rows(out)[1:]) == ["5", "6", "8", "9"]
    (found,) = rows(aside)[1:]
    assert found[0] == "4"
    assert reason in found[1]
    assert aside.stat().st_mode & 0o777 == 0o600
    certificate = (tmp_path / "out.csv.certificate.json").read_text()
    assert "CANARY" not in certificate
    assert "set aside first" in certificate
    plan = plan_of(tried(source, reading=Reading(quarantine=tmp_path / "never.csv")))
    assert plan["rows"] == "5 read = 4 kept + 1 set aside"
    assert not (tmp_path / "never.csv").exists()


def test_case_05_a_header_of_three_fields_over_rows_of_two(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh,note\n2024-01-01,5\n2024-01-02,6\n")
    with pytest.raises(InputError, match=r"the header has 3 fields and the first row \(line 2\) has 2"):
        tried(source)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "pandas", "polars", "arrow"])
def test_case_05_rows_in_are_rows_out_and_dropped_and_set_aside(tmp_path: Path, kind: str) -> None:
    ids: list[Any] = ["a", "a", None, "b", "b", "b", "a", "a"]
    times = ["2024-01-01", "2024-01-02", "2024-01-01", "2024-01-01", "x", None, "2024-01-03", "2024-01-03"]
    table = pa.table({"id": ids, "ts": times, "kwh": [1, 2, 3, 4, 5, 6, 7, 9]})
    source: Any = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}.get(
        kind, lambda: tmp_path / f"in.{kind}"
    )()
    if kind == "csv":
        lines = zip(ids, times, table["kwh"].to_pylist(), strict=True)
        text_file(source, "id,ts,kwh\n" + "".join(f"{a or ''},{b or ''},{c}\n" for a, b, c in lines))
    elif isinstance(source, Path):
        store(source, table)
    aside = tmp_path / "aside.csv"
    release = tables.switch(
        source, id="id", time="ts", value="kwh", window=2, epsilon=1.0, duplicates="max", source=rt.seeded_source(3),
        reading=Reading(null_id="drop", quarantine=aside),
    )  # fmt: skip
    assert plan_of(release)["rows"] == "8 read = 5 kept + 1 dropped + 2 set aside"
    assert "1 rows shared a time" in plan_of(release)["released"]
    assert len(release.table) == 4
    assert len(rows(aside)) == 3
    assert release.certificate.parameters["null_id"] == "drop"


def test_case_05_a_quarantine_is_not_the_input_nor_written_over(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", TWO)
    out = tmp_path / "out.csv"
    for path, wrong in (
        (source, "it is an input"),
        (tmp_path / "out.csv.certificate.json", "it is a file of the release"),
        (tmp_path / "none" / "q.csv", "lies in none"),
    ):
        with pytest.raises(ArgumentError, match=f"quarantine: .*{wrong}"):
            switched(source, out, reading=Reading(quarantine=path), overwrite=True)
    with pytest.raises(ArgumentError, match="quarantine: it is an input"):
        switched([source, text_file(tmp_path / "more.csv", TWO)], out, reading=Reading(quarantine=source))
    (tmp_path / "more.csv").unlink()
    kept = text_file(tmp_path / "kept.csv", "precious")
    with pytest.raises(ArgumentError, match=r"quarantine: kept.csv exists"):
        switched(source, tmp_path / "out.csv", reading=Reading(quarantine=kept))
    assert kept.read_text() == "precious"
    with pytest.raises(ReticentError):  # what fails leaves nothing
        switched(source, tmp_path / "out.csv", value="ts2", reading=Reading(quarantine=tmp_path / "q.csv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "kept.csv"]


@pytest.mark.parametrize(
    ("content", "kept", "aside"),
    [
        ('5" pipe,@0,1\na,@1,2\n6" pipe,@2,3\n', ['5" pipe', '6" pipe', "a"], []),
        ('"b,@0,1\na,@1,2\n"b,@2,3\na,@3,4\n', ["a", "a"], ["2", "4"]),
        ('a,@0,1\n"b,@1,2\n', ["a"], ["3"]),
        ('"a\r\nb",@0,1\r\n"a\rb",@1,2\r\nc,x,3\r\n', ["a\r\nb", "a\rb"], ["6"]),
        ('"a ""b"", c",@0,1\n"d"e,@1,2\n', ['a "b", c'], ["3"]),
    ],
)
def test_case_05_only_a_quoted_field_spans_lines(
    tmp_path: Path, content: str, kept: list[str], aside: list[str]
) -> None:
    source = text_file(tmp_path / "in.csv", "id,ts,kwh\n" + re.sub(r"@(\d)", r"2024-01-01 0\1:00", content))
    quarantine = tmp_path / "q.csv"
    out = switched(source, tmp_path / "out.parquet", id="id", reading=Reading(quarantine=quarantine))
    assert sorted(load(out)["id"].to_pylist()) == sorted(kept)
    assert [row[0] for row in rows(quarantine)[1:]] == aside


def test_case_05_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a pipe"):
        tried(tmp_path / "pipe.csv")
    source = text_file(tmp_path / "in.csv", TWO)
    with pytest.raises(ArgumentError, match="is a pipe"):
        switched(source, tmp_path / "pipe.csv", overwrite=True)
    assert (tmp_path / "pipe.csv").is_fifo()
    with pytest.raises(InputError, match="Feather file of version 1"):
        tried(text_file(tmp_path / "old.feather", b"FEA1" + bytes(60)))


@pytest.mark.parametrize("names", [("ts", "kwh", "kwh"), ("ts", "KWH", "kwh")])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_case_05_two_columns_of_one_name(tmp_path: Path, suffix: str, names: tuple[str, ...]) -> None:
    table = pa.Table.from_arrays([hours(2), pa.array([1, 2]), pa.array([3, 4])], names=names)
    with pytest.raises(InputError):
        tried(store(tmp_path / f"in{suffix}", table))
