"""However the records are parted into files, the release is the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pytest
from tables_kit import hours, store

import reticent as rt
from reticent import tables
from reticent.accounting import Ledger
from reticent.accounting.answers import path_hash
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError, VerificationError

CLAIMS = ("action", "parameters", "released", "claims")


def panel() -> pa.Table:
    rng = np.random.default_rng(0)
    order = rng.permutation(400)
    table = pa.table({"meter": np.repeat(np.arange(8), 50), "ts": pa.concat_arrays([hours(50)] * 8)})
    states = pa.array(["off", "on"]).take(pa.array(rng.integers(0, 2, 400)))
    return table.append_column("kwh", pa.array(rng.integers(0, 8, 400) / 2)).append_column("state", states).take(order)


def release(source: Any, output: Path, verb: str = "switch") -> tuple[bytes, dict[str, Any], tables.Release]:
    common: dict[str, Any] = {"id": "meter", "time": "ts", "output": output, "ledger": Ledger(output.parent / "ledger")}
    seeded = rt.seeded_source(5)
    if verb == "switch":
        made = tables.switch(source, value="kwh", window=4, epsilon=2.0, source=seeded, **common)
    elif verb == "quantize":
        made = tables.quantize(source, value="kwh", low=0, high=4, bits=2, **common)
    else:
        chain = rt.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=("off", "on"))
        private = "2024-01-01 20:00/2024-01-01 22:00"
        made = tables.redact(
            source,
            value="state",
            private=private,
            epsilon=1.0,
            model=chain,
            source=seeded,
            mechanism="optimal",
            **common,
        )
    Certificate.read(output.with_name(f"{output.name}.certificate.json")).verify(output)
    body = made.certificate.body
    return output.read_bytes(), {key: body[key] for key in CLAIMS if key in body}, made


def parted(folder: Path, table: pa.Table, how: str) -> Any:
    folder.mkdir()
    if how in ("hive", "hive feather"):
        kind, keys = "parquet" if how == "hive" else "feather", pa.schema([("meter", pa.int64())])
        parting = pyarrow.dataset.partitioning(keys, flavor="hive")
        pyarrow.dataset.write_dataset(table, folder, format=kind, partitioning=parting)
        (folder / "_SUCCESS").touch()
        return folder
    suffix = ".csv" if "csv" in how else ".feather" if "feather" in how else ".parquet"
    paths = [folder / f"{name}{suffix}" for name in "cab"]
    for path, start in zip(paths, (0, 130, 260), strict=True):
        part = table.slice(start, 140 if start == 260 else 130)
        pyarrow.csv.write_csv(part, path) if suffix == ".csv" else store(path, part)
    return folder if "folder" in how else [str(path) for path in paths]


@pytest.mark.parametrize("verb", ["switch", "quantize", "redact"])
@pytest.mark.parametrize("how", ["folder", "files", "hive"])
def test_parquet_files_are_released_as_one(tmp_path: Path, how: str, verb: str) -> None:
    one = release(store(tmp_path / "in.parquet", panel()), tmp_path / "one.parquet", verb)
    several = release(parted(tmp_path / "parts", panel(), how), tmp_path / "other.parquet", verb)
    assert several[:2] == one[:2]
    assert several[2].charge is not None
    assert several[2].charge.again == 8  # the ledger knows the series again


@pytest.mark.parametrize("how", ["csv folder", "csv files", "feather folder", "hive feather"])
def test_text_and_feather_too(tmp_path: Path, how: str) -> None:
    table, single = panel(), tmp_path / ("in.csv" if "csv" in how else "in.feather")
    pyarrow.csv.write_csv(table, single) if "csv" in how else store(single, table)
    one = release(single, tmp_path / f"one{single.suffix}")
    several = release(parted(tmp_path / "parts", table, how), tmp_path / f"other{single.suffix}")
    assert several[:2] == one[:2]


def test_names_in_folders_stay_words_unless_all_are_whole_numbers(tmp_path: Path) -> None:
    for name in ("007", "7", "NA"):
        folder = tmp_path / "parts" / f"meter={name}"
        folder.mkdir(parents=True)
        store(folder / "0.parquet", pa.table({"ts": hours(3), "kwh": [1.0, 2.0, 3.0]}))
    out = tables.switch(tmp_path / "parts", id="meter", time="ts", value="kwh", window=2, epsilon=1.0).table
    assert out["meter"].unique().to_pylist() == ["007", "7", "NA"]


def test_what_is_hidden_or_not_committed_is_no_data(tmp_path: Path) -> None:
    folder = parted(tmp_path / "parts", panel(), "folder")
    for name in ("_temporary/0", ".parts.staged/files", ".ipynb_checkpoints"):
        (folder / name).mkdir(parents=True)
        store(folder / name / "x.parquet", panel())
    options: dict[str, Any] = {"id": "meter", "time": "ts", "value": "kwh", "low": 0, "high": 4, "bits": 2}
    assert tables.quantize(folder, **options, ledger=False).table.num_rows == 400
    twice = [folder, folder / "a.parquet", os.path.relpath(folder / "a.parquet")]  # each file counts once
    assert tables.quantize(twice, **options, ledger=False).table.num_rows == 400
    (folder / "more").symlink_to(tmp_path)
    with pytest.raises(InputError, match="more is a link to a folder"):
        tables.quantize(folder, **options, ledger=False)


def test_folders_above_the_input_name_no_column_of_it(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    folder = parted(tmp_path / "year=2024" / "parts", panel(), "hive")
    options: dict[str, Any] = {"id": "meter", "time": "ts", "value": "kwh", "low": 0, "high": 4, "bits": 2}
    assert tables.quantize(folder, **options, ledger=False).table.column_names == ["meter", "ts", "kwh"]
    (tmp_path / "KWH=1").mkdir()
    folder = parted(tmp_path / "KWH=1" / "parts", panel(), "hive")  # which DuckDB would read in place of the values
    with pytest.raises(InputError, match="both in the files and in the names"):
        tables.quantize(folder, **options, ledger=False)


def test_text_files_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    for n in range(1, 4):
        rows = ["meter,ts,kwh", *(f"{n},2024-01-01 0{h}:00,{h}" for h in range(4 if n < 3 else 0))]
        (tmp_path / f"{n}.csv").write_bytes("\r\n".join(rows).encode() + b"\r\n" * (n == 1))
    options: dict[str, Any] = {
        "id": "meter",
        "time": "ts",
        "value": "kwh",
        "window": 2,
        "epsilon": 1.0,
        "ledger": False,
    }
    assert tables.switch(tmp_path, **options).table.num_rows == 8
    (tmp_path / "4.csv").write_bytes(b"meter,ts,kwh\n")
    with pytest.raises(InputError, match=r"4\.csv has other line ends than 1\.csv"):
        tables.switch(tmp_path, **options)


ONE, OTHER = "id,ts,kwh\na,1,1\na,2,2\n", "id,ts,kwh\nb,1,3\n"


@pytest.mark.parametrize(
    ("contents", "reading"),
    [
        ((ONE.encode(), b"\xef\xbb\xbf" + OTHER.encode()), {}),
        ((ONE.encode("utf-16"), OTHER.encode()), {}),
        ((ONE.encode("latin-1"), OTHER.encode("latin-1")), {"encoding": "latin-1"}),
        ((b"\n\n" + ONE.encode(), OTHER.encode()[:-1]), {}),
        ((b"of meter a\n" + ONE.encode(), b"of another\n" + OTHER.encode()), {"skip_rows": 1}),
        ((b"a,1,1\n", b"a,2,2\nb,1,3"), {"header": False, "names": ("id", "ts", "kwh")}),
        ((b"a,1,1\n", b"a,1,1\na,2,2\nb,1,3"), {"header": False, "names": ("id", "ts", "kwh")}),
    ],
)
@pytest.mark.parametrize("quarantined", [False, True])
def test_each_text_file_has_its_own_header_and_encoding(
    tmp_path: Path, contents: tuple[bytes, ...], reading: dict[str, Any], quarantined: bool
) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    how = tables.Reading(**reading, quarantine=tmp_path / "aside" if quarantined else None)
    made = tables.quantize(
        paths, id="id", time="ts", value="kwh", low=0, high=4, bits=2, reading=how, output=tmp_path / "out.parquet",
        duplicates="keep", ledger=False,
    )  # fmt: skip
    found = pa.parquet.read_table(tmp_path / "out.parquet")
    repeated = contents[-1].startswith(b"a,1,1")
    expected = [("a", 1), *[("a", 1)] * repeated, ("a", 2), ("b", 1)]
    assert list(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True)) == expected
    assert f"{len(expected)} read" in dict(made.plan)["rows"]


@pytest.mark.parametrize("wrong", ["none", "kinds", "columns", "header", "keys", "csv keys"])
def test_files_that_do_not_go_together(tmp_path: Path, wrong: str) -> None:
    folder = tmp_path / "parts"
    (folder / "a=1").mkdir(parents=True)
    here = folder / "a=1" if "keys" in wrong else folder
    if wrong != "none":
        suffix = ".csv" if wrong in ("header", "csv keys") else ".parquet"
        for i, table in enumerate((panel(), panel().rename_columns(["m", "ts", "kwh", "s"]))):
            table = table if wrong in ("columns", "header") else panel()
            path = (folder if wrong == "keys" and i else here) / f"{i}{suffix}"
            pyarrow.csv.write_csv(table, path) if suffix == ".csv" else store(path, table)
        if wrong == "kinds":
            pyarrow.csv.write_csv(panel(), folder / "2.csv")
    with pytest.raises(InputError, match=r"^input: "):
        tables.switch(folder, id="meter", time="ts", value="kwh", window=2, epsilon=1.0)


def test_the_output_is_not_put_among_the_input(tmp_path: Path) -> None:
    folder = parted(tmp_path / "parts", panel(), "folder")
    for output in (folder / "out.parquet", folder / "a.parquet"):
        with pytest.raises(ArgumentError, match="output: it is the input"):
            tables.switch(
                folder, id="meter", time="ts", value="kwh", window=2, epsilon=1.0, output=output, overwrite=True
            )


@pytest.mark.parametrize("column", ["meter", "street", "day"])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_release_in_a_folder_is_the_release(tmp_path: Path, suffix: str, column: str) -> None:
    table = panel()
    streets = pa.array([f"Rue {m % 3} / É" if m % 4 else None for m in table["meter"].to_pylist()])
    table = table.append_column("street", streets)
    table = table.append_column("day", table["ts"].cast(pa.date32()))
    given = store(tmp_path / f"in{suffix}", table)
    common: dict[str, Any] = {"id": "meter", "time": "ts", "value": "kwh", "keep": ("street", "day"), "ledger": False}
    one, folder = tmp_path / f"one{suffix}", tmp_path / f"parts{suffix}"
    for output, partition_by in ((one, None), (folder, column), (folder, column)):
        made = tables.switch(
            given, window=4, epsilon=2.0, source=rt.seeded_source(5), output=output, overwrite=output.exists(),
            partition_by=partition_by, **common,
        )  # fmt: skip
    (tmp_path / "junk").mkdir()
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []
    certificate = Certificate.read(tmp_path / f"parts{suffix}.certificate.json")
    assert certificate.verify(folder)
    assert made.certificate.released["partition_by"] == column
    assert sorted(made.certificate.released["files"]) == sorted(
        each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()
    )
    again = tables.quantize(folder, low=0, high=4, bits=3, **common).table
    single = tables.quantize(one, low=0, high=4, bits=3, **common).table
    assert again.drop_columns(column).equals(single.drop_columns(column))
    assert list(map(str, again[column].to_pylist())) == list(map(str, single[column].to_pylist()))
    victim = next(each for each in folder.rglob("*") if each.is_file())
    victim.rename(victim.with_name(f"9{suffix}"))
    with pytest.raises(VerificationError, match="SHA-256"):
        certificate.verify(folder)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_names_of_columns_and_values_that_folders_escape(tmp_path: Path, suffix: str) -> None:
    names = ["a/b", "a=b", "ü", "..", "a%2Fb", " ", None]
    table = panel().append_column("Zähler / x=y", pa.array([names[m % 7] for m in panel()["meter"].to_pylist()]))
    given, out = store(tmp_path / f"in{suffix}", table), tmp_path / f"out{suffix}"
    options: dict[str, Any] = {"id": "meter", "time": "ts", "value": "kwh", "keep": "Zähler / x=y", "ledger": False}
    options |= {"low": 0, "high": 4, "bits": 2}
    tables.quantize(given, **options, output=out, partition_by="Zähler / x=y")
    certificate = Certificate.read(tmp_path / f"out{suffix}.certificate.json")
    assert certificate.verify(out).verdict == "consistent"
    assert tables.quantize(out, **options).table.equals(tables.quantize(given, **options).table)
    (out / "added").touch()
    with pytest.raises(VerificationError, match="SHA-256"):
        certificate.verify(out)


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__", "x" * 250])
def test_values_that_name_no_folder(tmp_path: Path, value: str) -> None:
    given = store(tmp_path / "in.parquet", panel().append_column("street", pa.array([value] * 400)))
    with pytest.raises(ArgumentError, match="names no folder"):
        tables.switch(
            given, id="meter", time="ts", value="kwh", keep="street", window=2, epsilon=1.0, partition_by="street",
            output=tmp_path / "out.parquet", ledger=False,
        )  # fmt: skip
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]


def test_what_no_folder_is_named_by(tmp_path: Path) -> None:
    given = store(tmp_path / "in.parquet", panel())
    for column, keep, name in (("kwh", (), "out.parquet"), ("ts", (), "out.parquet"), ("meter", (), "out.csv")):
        with pytest.raises(ArgumentError, match="partition-by"):
            tables.switch(
                given, id="meter", time="ts", value="kwh", keep=keep, window=2, epsilon=1.0, partition_by=column,
                output=tmp_path / name, ledger=False,
            )  # fmt: skip
    with pytest.raises(ArgumentError, match="partition-by"):
        tables.switch(given, id="meter", time="ts", value="kwh", window=2, epsilon=1.0, partition_by="meter")
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]


def test_a_request_is_answered_with_the_same_folder(tmp_path: Path) -> None:
    given, ledger = store(tmp_path / "in.parquet", panel()), Ledger(tmp_path / "ledger")
    for name in ("one.parquet", "two.parquet"):
        made = tables.switch(
            given, id="meter", time="ts", value="kwh", window=4, epsilon=2.0, output=tmp_path / name, ledger=ledger,
            partition_by="meter", request="ours",
        )  # fmt: skip
    assert made.charge is not None
    assert made.charge.answered
    assert path_hash(tmp_path / "one.parquet") == path_hash(tmp_path / "two.parquet") == made.charge.released
