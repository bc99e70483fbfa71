"""Text files as people have them: marks, encodings, line ends, dates, duplicates, names."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tables_kit import hours, load, rows, store, switched, text_file

from reticent import tables
from reticent.errors import ArgumentError, InputError
from reticent.tables import Reading

BASE = "id,ts,kwh\na,2024-01-01 00:00,1\na,2024-01-01 00:30,2\nb,2024-01-01 00:00,3\nb,2024-01-01 00:30,4\n"
TWO_DAYS = "ts,kwh\n2024-01-01,5\n2024-01-02,6\n"


def values_of(path: Path, column: int = -1) -> list[str]:
    return sorted(row[column] for row in rows(path)[1:])


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_are_found_and_kept(tmp_path: Path, mark: str) -> None:
    out = switched(text_file(tmp_path / "in.csv", BASE.replace(",", mark)), tmp_path / "out.csv", id="id")
    found = rows(out, mark)
    assert found[0] == ["id", "ts", "kwh"]
    assert [row[0] for row in found[1:]] == ["a", "a", "b", "b"]


@pytest.mark.parametrize("mark", ["^", "~"])
def test_any_delimiter_may_be_named(tmp_path: Path, mark: str) -> None:
    source = text_file(tmp_path / "in.csv", BASE.replace(",", mark))
    out = switched(source, tmp_path / "out.csv", id="id", reading=Reading(delimiter=mark))
    assert rows(out, mark)[0] == ["id", "ts", "kwh"]


def test_a_delimiter_that_occurs_in_times_is_not_written(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts:kwh\n2024-01-01:5\n2024-01-02:6\n")
    assert rows(switched(source, tmp_path / "out.csv", reading=Reading(delimiter=":")))[0] == ["ts", "kwh"]


def test_byte_order_mark(tmp_path: Path) -> None:
    out = switched(text_file(tmp_path / "in.csv", "\ufeff" + TWO_DAYS), tmp_path / "out.csv")
    assert out.read_bytes().startswith(b'"ts","kwh"\n')


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-16-le", "cp1252", "ISO-8859-15"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    source = text_file(tmp_path / "in.csv", BASE.replace("a,", "é,"), encoding)
    out = switched(source, tmp_path / "out.csv", id="id", reading=Reading(encoding=encoding))
    assert {row[0] for row in rows(out)[1:]} == {"é", "b"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "latin-1"])
def test_an_encoding_that_was_not_declared_is_named_as_the_fault(tmp_path: Path, encoding: str) -> None:
    source = text_file(tmp_path / "in.csv", BASE.replace("a,", "é,"), encoding)
    with pytest.raises(InputError, match="--encoding"):
        switched(source, tmp_path / "out.csv", id="id")


def test_an_encoding_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="klingon"):
        switched(text_file(tmp_path / "i", BASE), tmp_path / "out.csv", id="id", reading=Reading(encoding="klingon"))


def test_a_byte_that_is_no_text_deep_in_a_column_that_is_kept(tmp_path: Path) -> None:
    lines = "".join(f"{i},{i},x\n" for i in range(20_000)).encode()
    source = text_file(tmp_path / "in.csv", b"ts,kwh,note\n" + lines + b"20000,1,\xff\xfe\n")
    with pytest.raises(InputError):
        switched(source, tmp_path / "out.csv", keep="note")


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compression_in_and_out(tmp_path: Path, compression: str) -> None:
    if compression == "gzip":
        packed, suffix = gzip.compress(BASE.encode()), ".csv.gz"
    else:
        packed, suffix = pa.compress(BASE.encode(), "zstd", asbytes=True), ".csv.zst"
    source = text_file(tmp_path / f"in{suffix}", packed)
    out = switched(source, tmp_path / f"out{suffix}", id="id")
    with pa.input_stream(str(out), compression=compression) as stream:
        assert stream.read().startswith(b'"id","ts","kwh"\n"a",2024-01-01 00:00:00,')


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        switched(
            text_file(tmp_path / "in.csv.gz", gzip.compress(BASE.encode() * 999)[:-40]), tmp_path / "o.csv", id="id"
        )


@pytest.mark.parametrize(
    "content",
    [
        "ts,kwh\r\n2024-01-01,5\r\n2024-01-02,6\r\n",
        "ts,kwh\r\n2024-01-01,5\n2024-01-02,6\r\n",
        "ts,kwh\r2024-01-01,5\r2024-01-02,6\r",
        "ts,kwh\n2024-01-01,5\n2024-01-02,6",
        "\n\nts,kwh\n\n2024-01-01,5\n\n2024-01-02,6\n\n",
        "ts, kwh\n2024-01-01,5\n2024-01-02,6\n".replace(", ", ","),
    ],
)
def test_line_ends_and_blank_lines(tmp_path: Path, content: str) -> None:
    out = switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv")
    assert [row[0] for row in rows(out)[1:]] == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
    assert values_of(out) == ["5", "6"]


def test_line_ends_inside_quotes_stay_one_field(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", 'id;ts;kwh;note\na;2024-01-01;1;"x\ny"\na;2024-01-02;2;"z;w"\n')
    assert [row[3] for row in rows(switched(source, tmp_path / "out.csv", id="id", keep="note"), ";")[1:]] == [
        "x\ny",
        "z;w",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n\n", "blank lines only"),
        ("ts,kwh\n", "header and no rows"),
        ("ts,kwh\n2024-01-01,5,7\n", "--row-names"),
        ("ts,kwh\n2024-01-01,5\n2024-01-02,6,7\n", "line 3 of in.csv has 3 fields where the header has 2"),
        ("ts,kwh,z\n2024-01-01,5,1\n2024-01-02,6\n", "line 3 of in.csv has 2 fields where the header has 3"),
        ("ts,kwh,kwh\n2024-01-01,5,1\n", "same name"),
        ("ts,kwh,KWH\n2024-01-01,5,1\n", "same name"),
        ("ts,kwh\n2024-01-01,5\n2024-1-NA,6\n", "data row 2"),
        ("ts,kwh\n2024-01-01,5\n,6\n", "column ts: 1 of 2"),
        ("ts,kwh\n2024-01-01,5\n2024-01-02,SECRET\n", "1 of 2 entries of column kwh are text among numbers"),
        ("ts;kwh\n2024-01-01;1,5\n2024-01-02;2,5\n", "--decimal ,"),
    ],
)
def test_faults_are_named_without_the_content(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv")
    assert "SECRET" not in str(caught.value)
    assert "2024-1-NA" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_row_names_and_unnamed_columns(tmp_path: Path) -> None:
    named = text_file(tmp_path / "named.csv", "ts,kwh\n1,2024-01-01,5\n2,2024-01-02,6\n")
    assert rows(switched(named, tmp_path / "o1.csv", reading=Reading(row_names=True)))[0] == ["ts", "kwh"]
    pandas = text_file(tmp_path / "pandas.csv", ",ts,kwh\n0,2024-01-01,5\n1,2024-01-02,6\n")
    assert rows(switched(pandas, tmp_path / "o2.csv"))[0] == ["ts", "kwh"]


def test_decimal_comma(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "id;ts;kwh\na;2024-01-01;1,5\na;2024-01-02;-2,25\n")
    out = switched(source, tmp_path / "out.csv", id="id", reading=Reading(decimal=","))
    assert sorted(row[2] for row in rows(out, ";")[1:]) == ["-2.25", "1.5"]


JANUARY = ("2024-01-12 00:00:00", "2024-01-13 00:00:00")


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("12.01.2024", "13.01.2024", JANUARY),
        ("12/01/2024", "13/01/2024", JANUARY),
        ("01/12/2024", "01/13/2024", JANUARY),
        ("12-01-2024", "13-01-2024", JANUARY),
        ("01-12-2024", "01-13-2024", JANUARY),
        ("2024-01-12", "2024-01-13", JANUARY),
        ("2024/01/12", "2024/01/13", JANUARY),
        ("2024-1-12 0:00", "2024-1-13 0:00", JANUARY),
        (" 2024-01-12", "2024-01-13 ", JANUARY),
        ("2024-01-12T00:00:00", "2024-01-13T00:00:00", JANUARY),
        ("01/12/2024 12:00 AM", "01/13/2024 12:00 AM", JANUARY),
        (
            "2024-01-12 00:00:00.25",
            "2024-01-12 00:00:00.5",
            ("2024-01-12 00:00:00.250000", "2024-01-12 00:00:00.500000"),
        ),
        ("2024-10-27T02:30+02:00", "2024-10-27T02:30+01:00", ("2024-10-27 00:30:00Z", "2024-10-27 01:30:00Z")),
        ("2024-10-27 02:30:00+0200", "2024-10-27 02:30:00+01", ("2024-10-27 00:30:00Z", "2024-10-27 01:30:00Z")),
        ("2024-01-12T00:00Z", "2024-01-12 01:00 UTC", ("2024-01-12 00:00:00Z", "2024-01-12 01:00:00Z")),
        ("-5", "6", ("-5", "6")),
    ],
)
def test_times(tmp_path: Path, first: str, second: str, read: tuple[str, str]) -> None:
    source = text_file(tmp_path / "in.csv", f'ts,kwh\n"{second}",6\n"{first}",5\n')
    assert tuple(row[0] for row in rows(switched(source, tmp_path / "out.csv"))[1:]) == read


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("infinity", "2024-01-02"),
        ("epoch", "2024-01-02"),
        ("2024-01-01 00:00 Europe/Berlin", "2024-01-01 01:00 Europe/Berlin"),
        ("2024-10-27T02:30+02:00", "2024-10-27T02:30"),
        ("1.5", "2.5"),
    ],
)
def test_what_is_no_time(tmp_path: Path, first: str, second: str) -> None:
    with pytest.raises(InputError, match="time: "):
        switched(text_file(tmp_path / "in.csv", f'ts,kwh\n"{first}",5\n"{second}",6\n'), tmp_path / "out.csv")


def test_a_column_whose_dates_are_all_ambiguous_needs_a_format(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh\n01/02/2024,5\n02/02/2024,6\n")
    with pytest.raises(InputError, match=r"%d/%m/%Y or as %m/%d/%Y; .*--time-format"):
        switched(source, tmp_path / "out.csv")
    out = switched(source, tmp_path / "out.csv", reading=Reading(time_format="%m/%d/%Y"))
    assert [row[0][:10] for row in rows(out)[1:]] == ["2024-01-02", "2024-02-02"]


def test_time_zone_is_for_times_without_one(tmp_path: Path) -> None:
    berlin = Reading(time_zone="Europe/Berlin")
    naive = text_file(tmp_path / "naive.csv", "ts,kwh\n2024-07-01 02:30,5\n2024-07-01 03:30,6\n")
    assert [row[0] for row in rows(switched(naive, tmp_path / "o1.csv", reading=berlin))[1:]] == [
        "2024-07-01 00:30:00Z",
        "2024-07-01 01:30:00Z",
    ]
    offset = text_file(tmp_path / "offset.csv", "ts,kwh\n2024-10-27T02:30+02:00,5\n2024-10-27T02:30+01:00,6\n")
    assert [row[0] for row in rows(switched(offset, tmp_path / "o2.csv", reading=berlin))[1:]] == [
        "2024-10-27 00:30:00Z",
        "2024-10-27 01:30:00Z",
    ]
    twice = text_file(tmp_path / "twice.csv", "ts,kwh\n2024-10-27 02:30,5\n2024-10-27 02:30,6\n")
    with pytest.raises(InputError, match="--duplicates"):
        switched(twice, tmp_path / "o3.csv", reading=berlin)


@pytest.mark.parametrize(
    ("content", "reading", "message"),
    [
        ("ts,kwh\n1,5\n2,6\n", Reading(time_zone="Europe/Berlin"), "time-zone: .*whole numbers"),
        (TWO_DAYS, Reading(time_zone="Mars/Base"), "time-zone: Mars/Base"),
        (TWO_DAYS, Reading(time_format="%Q%"), "time-format"),
    ],
)
def test_reading_options_that_cannot_be(tmp_path: Path, content: str, reading: Reading, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv", reading=reading)


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "9223372036854775807",
        "18446744073709551615",
        "-9223372036854775808",
        "123456789012345678901234567890",
    ],
)
def test_whole_numbers_survive_text(tmp_path: Path, text: str) -> None:
    source = text_file(tmp_path / "in.csv", f"ts,kwh\n2024-01-01,{text}\n2024-01-02,\n2024-01-03,7\n")
    assert values_of(switched(source, tmp_path / "out.csv")) == sorted(["", "7", text])


def test_whole_numbers_from_text_to_parquet_and_back(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh\n2024-01-01,9007199254740993\n2024-01-02,\n")
    table = load(switched(source, tmp_path / "out.parquet"))
    assert table.schema.field("kwh").type == pa.int64()
    assert sorted(table["kwh"].to_pylist(), key=str) == [9007199254740993, None]
    again = switched(store(tmp_path / "in.parquet", table), tmp_path / "out.csv")
    assert values_of(again) == ["", "9007199254740993"]


def test_identifiers_are_what_is_written(tmp_path: Path) -> None:
    names = ["007", "7", "1e1", "10", "12345678901234567890", "12345678901234567891", "0.5", ".5", "-0", "0"]
    source = text_file(tmp_path / "in.csv", "id,ts,kwh\n" + "".join(f"{name},2024-01-01,1\n" for name in names))
    out = switched(source, tmp_path / "out.csv", id="id")
    assert sorted(row[0] for row in rows(out)[1:]) == sorted(names)


@pytest.mark.parametrize("ids", [["10", "9"], ["01", "1"], ["", "a"], ["true", "x"], ["10", "9", "1e1"], ["NA", "b"]])
def test_identifiers_that_look_like_something_else_verify(tmp_path: Path, ids: list[str]) -> None:
    table = pa.table(
        {
            "id": ids * 2,
            "ts": pa.array([0, 1], pa.int32()).take([0] * len(ids) + [1] * len(ids)),
            "kwh": range(2 * len(ids)),
        }
    )
    out = switched(store(tmp_path / "in.parquet", table), tmp_path / "out.csv", id="id")
    assert sorted(row[0] for row in rows(out)[1:]) == sorted(ids * 2)


@pytest.mark.parametrize(
    "states", [["0", "1"], ["01", "1"], ["", "x"], ["true", "false"], ["NA", "b"], [1.0, 2.0], [True, False]]
)
def test_states_that_look_like_something_else_verify(tmp_path: Path, states: list[Any]) -> None:
    import reticent as rt
    from reticent.certificates import Certificate

    table = pa.table({"ts": hours(40), "v": states * 20})
    release = tables.redact(
        store(tmp_path / "in.parquet", table),
        time="ts",
        value="v",
        private="2024-01-01 05:00/2024-01-01 06:00",
        epsilon=0.5,
        model=rt.MarkovChain.binary(0.5, 0.5, states),
        output=tmp_path / "out.csv",
    )
    assert release.outputs is not None
    assert Certificate.read(release.outputs.certificate).verify(tmp_path / "out.csv").checks


@pytest.mark.parametrize("column", ["id", "ts"])
def test_missing_identifiers_and_times_are_counted(tmp_path: Path, column: str) -> None:
    content = {"id": "id,ts,kwh\n,2024-01-01,1\na,2024-01-02,2\n", "ts": "id,ts,kwh\na,,1\na,2024-01-02,2\n"}[column]
    with pytest.raises(InputError, match=f"column {column}: 1 of 2 entries are missing"):
        switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv", id="id")


def test_nan_is_no_identifier(tmp_path: Path) -> None:
    table = pa.table({"id": [1.0, float("nan")], "ts": [0, 1], "kwh": [1, 2]})
    with pytest.raises(InputError, match="column id: 1 of 2"):
        switched(store(tmp_path / "in.parquet", table), tmp_path / "out.csv", id="id")


NAMES = ["</script><b>", 'a"b', "a'b", "a b", "raw", "records", "typed", "n", "read", "d", "v", "flag", "Grüße", "*",
         "a,b", "a;b", "=1+1", " ", "x" * 3000]  # fmt: skip


PARTS = ("id", "time", "value", "keep")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *zip(NAMES, PARTS * 5, strict=False),
        *((name, part) for name in ("</script><b>", 'a"b', "typed") for part in PARTS),
    ],
)
def test_odd_names(tmp_path: Path, name: str, part: str) -> None:
    names = {"id": "i", "time": "t", "value": "k", "keep": "o", part: name}
    table = pa.table(
        {
            names["id"]: ["x", "x", "y"],
            names["time"]: hours(3),
            names["value"]: [1, 2, 3],
            names["keep"]: ["p", "q", "r"],
        }
    )
    binary = switched(store(tmp_path / "in.parquet", table), tmp_path / "out.parquet", **names)
    assert set(load(binary).column_names) == set(names.values())
    assert name.encode() in (tmp_path / "out.parquet.certificate.json").read_bytes().replace(b'\\"', b'"')
    text = switched(binary, tmp_path / "out.csv", **names)
    assert rows(text)[0] == [names["id"], names["time"], names["value"], names["keep"]]
    again = switched(text, tmp_path / "again.csv", **names)
    assert rows(again)[0] == rows(text)[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "nothing"}, "value: column nothing is not in the input"),
        ({"time": "nothing"}, "time: column nothing"),
        ({"id": "nothing"}, "id: column nothing"),
        ({"keep": "nothing"}, "keep: column nothing"),
        ({"value": "ts"}, "named for two parts"),
        ({"value": ()}, "at least one column"),
        ({"duplicates": "first"}, "duplicates: must be one of"),
        ({"memory": "lots"}, "memory"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        switched(text_file(tmp_path / "in.csv", TWO_DAYS), tmp_path / "out.csv", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize(
    "content", [b"PAR1 and then nothing", b"ARROW1\0\0 and then nothing", b"\x1f\x8b junk", b"\x28\xb5\x2f\xfd junk"]
)
def test_files_that_only_begin_well(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError):
        switched(text_file(tmp_path / "in", content), tmp_path / "out.csv")


@pytest.mark.parametrize("rule", ["min", "max", "keep", "error"])
def test_duplicates_do_not_depend_on_the_order_of_rows(tmp_path: Path, rule: str) -> None:
    nan = float("nan")
    table = pa.table({"id": ["a"] * 6, "ts": [0, 1, 1, 1, 1, 2], "kwh": [5.0, 3.0, nan, None, -1.0, 0.0]})
    found = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 3, 4, 1, 0, 5], [3, 2, 1, 4, 5, 0]):
        source = store(tmp_path / "in.parquet", table.take(order))
        if rule == "error":
            with pytest.raises(InputError, match="3 records"):
                switched(source, tmp_path / "out.parquet", id="id")
            continue
        out = switched(source, tmp_path / "out.parquet", id="id", duplicates=rule, overwrite=True)
        found.append(out.read_bytes())
        kept = sorted(map(str, load(out)["kwh"].to_pylist()))
        assert kept == {"min": ["-1.0", "0.0", "5.0"], "max": ["0.0", "3.0", "5.0"]}.get(rule, kept)
        assert len(kept) == {"keep": 6}.get(rule, 3)
    assert len(set(found)) <= 1
