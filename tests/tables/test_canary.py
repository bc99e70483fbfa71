"""A value that occurs only where it must not be seen is found in no byte of what leaves the house."""

from __future__ import annotations

import base64
import logging
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from canary_search import frame_views, sightings, spellings
from tables_kit import hours, store

import reticent as rt
from reticent import reports, tables
from reticent.certificates import Certificate
from reticent.errors import ReticentError
from reticent.reports import public_report

WORD = "KANARIENVOGEL"
WHOLE = 1667175310
NUMBER = 7351.4296875  # no more digits than a float32 holds
CANARIES = (WORD, WHOLE, NUMBER)

N = 48
SECRET = "2024-01-01 20:00/2024-01-01 22:00"
HIDDEN = (20, 21, 22)
CELLS = [0, 1, 2, 10**4]

OUTPUTS = [
    (".csv", None),
    (".csv.gz", None),
    (".csv.zst", None),
    (".tsv", None),
    *((".parquet", each) for each in (None, "snappy", "gzip", "brotli", "lz4", "none")),
    *((".feather", each) for each in (None, "lz4", "none")),
]


def source(values: pa.Array) -> pa.Table:
    """Two series with columns that are not released, and metadata of all kinds."""
    table = pa.table(
        {
            "id": pa.array(["a"] * N + ["b"] * N).dictionary_encode(),
            "ts": pa.concat_arrays([hours(N), hours(N)]),
            "v": values,
            "note": [WORD] * (2 * N),
            "code": [WHOLE] * (2 * N),
            "exact": [NUMBER] * (2 * N),
        }
    )
    fields = [field.with_metadata({"comment": WORD}) for field in table.schema]
    return table.cast(pa.schema(fields, {"pandas": WORD, "source": f"/home/{WORD}"}))


def numbers(canary: bool = True) -> pa.Array:
    """Readings between 0 and 2; in the secret of each series, the canary."""
    values = np.tile(np.arange(N) % 7 / 4, 2)
    if canary:
        values[[*HIDDEN, *(N + i for i in HIDDEN)]] = NUMBER
    return pa.array(values)


def words() -> pa.Array:
    """States of which one occurs in the secrets only."""
    values = np.array(["off", "on"] * N, dtype=object)
    values[[*HIDDEN, *(N + i for i in HIDDEN)]] = WORD
    dictionary = pa.array(["off", WORD, "on"])
    return pa.DictionaryArray.from_arrays(pa.array([["off", WORD, "on"].index(each) for each in values]), dictionary)


CELL_CHAIN = rt.MarkovChain([[0.5, 0.4, 0.1]] * 3, rt.Quantizer(CELLS, "interval").symbols)
WORD_CHAIN = rt.MarkovChain([[0.5, 0.4, 0.1]] * 3, ("off", "on", WORD))
WHOLE_CHAIN = rt.MarkovChain([[0.5, 0.4, 0.1]] * 3, (0, 1, WHOLE))
COMMON: dict[str, Any] = {"id": "id", "time": "ts", "value": "v", "ledger": False}


def release(verb: str, table: Any, **options: Any) -> tables.Release:
    options = COMMON | options
    if verb == "redact cells":
        return tables.redact(table, private=SECRET, epsilon=0.5, model=CELL_CHAIN, edges=CELLS, **options)
    if verb == "redact words":
        return tables.redact(table, private=SECRET, epsilon=0.5, model=WORD_CHAIN, **options)
    if verb == "switch":
        return tables.switch(table, window=4, epsilon=1.0, **options)
    if verb == "range of the data":
        return tables.quantize(table, outputs=4, range_from_data=True, **options)
    return tables.quantize(table, low=0, high=10**4, bits=3, **options)


def data(verb: str) -> pa.Table:
    return source({"redact words": words, "switch": lambda: numbers(False)}.get(verb, numbers)())


VERBS = ("redact cells", "redact words", "switch", "quantize", "range of the data")


@pytest.mark.parametrize(("suffix", "compression"), OUTPUTS, ids=lambda each: str(each))
@pytest.mark.parametrize("verb", VERBS)
def test_no_byte_of_a_released_file(tmp_path: Path, verb: str, suffix: str, compression: str | None) -> None:
    output = tmp_path / f"out{suffix}"
    done = release(verb, data(verb), output=output, compression=compression)
    assert done.certificate.released["rows"] == 2 * N
    for canary in CANARIES:
        assert not sightings(output, canary)
    assert done.outputs is not None
    declared = {WORD} if verb == "redact words" else set()  # a state that was declared, and stands in the certificate
    for canary in set(CANARIES) - declared:
        assert not sightings(done.outputs.certificate, canary)


@pytest.mark.parametrize("verb", VERBS)
def test_no_byte_of_a_released_frame(verb: str) -> None:
    frame = release(verb, data(verb)).table
    assert frame.schema.metadata is None
    assert all(field.metadata is None for field in frame.schema)
    for canary in CANARIES:
        needles = spellings(canary).items()
        assert not [(view, name) for view, content in frame_views(frame) for name, each in needles if each in content]


@pytest.mark.parametrize("kind", ["words", "whole numbers"])
@pytest.mark.parametrize("how", ["dictionary", "plain"])
def test_whatever_the_source_file_held(tmp_path: Path, kind: str, how: str) -> None:
    """Dictionary pages, statistics and values below a null of the source do not pass into the release."""
    values, chain = words(), WORD_CHAIN
    if kind == "whole numbers":
        values, chain = pa.array([{"off": 0, "on": 1, WORD: WHOLE}[each] for each in values.to_pylist()]), WHOLE_CHAIN
    values = values if how == "dictionary" or kind != "words" else values.cast(pa.string())
    path = tmp_path / "in.parquet"
    pyarrow.parquet.write_table(source(values), path, use_dictionary=how == "dictionary", write_page_index=True)
    for suffix in (".parquet", ".feather", ".csv"):
        output = tmp_path / f"out{suffix}"
        tables.redact(path, private=SECRET, epsilon=0.5, model=chain, output=output, **COMMON)
        for canary in CANARIES:
            assert not sightings(output, canary)


@pytest.mark.parametrize("verb", ["redact cells", "quantize", "range of the data"])
def test_no_byte_of_certificate_report_or_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any, verb: str
) -> None:
    monkeypatch.setattr(reports, "public_report", public_report)
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / WORD  # nor does the place of the input show
    folder.mkdir()
    done = release(verb, store(folder / f"{WORD}.parquet", data(verb)), output=tmp_path / "out.csv")
    assert done.outputs is not None
    (tmp_path / "log").write_text(caplog.text + "".join(capfd.readouterr()))
    for path in (done.outputs.certificate, done.outputs.report, tmp_path / "log"):
        for canary in CANARIES:
            assert not sightings(path, canary)
    assert {path.name for path in tmp_path.iterdir()} == {
        WORD, "log", "out.csv", "out.csv.certificate.json", "out.csv.report.html",
    }  # fmt: skip


HEADER = "id,ts,v\n"
ROWS = [f"a,2024-01-01 {hour:02}:00,{hour % 2}" for hour in range(24)]
FAULTS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "text among numbers": ([*ROWS, f"a,2024-01-02 00:00,{WORD}"], {}),
    "no time": ([*ROWS, f"a,{WORD},1"], {}),
    "too many fields": ([*ROWS, f"a,2024-01-02 00:00,1,{WORD},{NUMBER}"], {}),
    "too few fields": ([*ROWS, WORD], {}),
    "an open quote": ([*ROWS, f'"{WORD},{NUMBER}'], {}),
    "outside": ([*ROWS, f"a,2024-01-02 00:00,{NUMBER}"], {}),
    "a repeated time": ([*ROWS, f"{WORD},2024-01-01 00:00,1", f"{WORD},2024-01-01 00:00,{NUMBER}"], {}),
    "no header": ([f"{WORD},{NUMBER},{WHOLE}", f"{WORD},{NUMBER},{WHOLE}"], {}),
    "another state": ([*ROWS, f"a,2024-01-02 00:00,{WHOLE}"], {"verb": "redact"}),
    "nothing private": ([*ROWS, f"{WORD},2024-01-02 00:00,1"], {"verb": "redact", "private": "2030-01-01/2030-01-02"}),
    "a decimal comma": ([f"{WORD};2024-01-01;7351,4296875", f"{WORD};2024-01-02;1,5"], {}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_says_what_stands_in_the_data(tmp_path: Path, fault: str) -> None:
    lines, options = FAULTS[fault]
    path, output = tmp_path / "in.csv", tmp_path / "out.csv"
    mark = ";" if ";" in lines[0] else ","
    header = "" if fault == "no header" else HEADER.replace(",", mark)
    path.write_text(header + "\n".join(lines) + "\n")
    asked: dict[str, Any] = {"low": 0, "high": 2, "bits": 1}
    if redact := options.get("verb") == "redact":
        where = options.get("private", "2024-01-01 05:00/2024-01-01 06:00")
        asked = {"private": where, "epsilon": 1.0, "model": rt.MarkovChain.binary(0.2, 0.3)}
    with pytest.raises(ReticentError) as error:
        (tables.redact if redact else tables.quantize)(path, output=output, **asked, **COMMON)
    (tmp_path / "error").write_text(f"{error.value!r}\n{error.value}")
    for canary in (*CANARIES, "7351", "1667175"):
        assert not sightings(tmp_path / "error", canary)
    assert not output.exists()


# --- names, times, metadata ------------------------------------------------------------------------------------------


def test_what_a_parquet_file_says_beside_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    release("redact words", store(tmp_path / "in.parquet", data("redact words")), output=output)
    file = pyarrow.parquet.ParquetFile(output)
    assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
    assert file.schema_arrow.metadata is None
    assert all(not set(field.metadata or {}) - {b"PARQUET:field_id"} for field in file.schema_arrow)
    assert file.metadata.created_by.startswith("parquet-cpp-arrow")
    shown = file.read()["v"].drop_null().to_pylist()
    at = file.schema_arrow.get_field_index("v")
    for group in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(group).column(at).statistics
        assert (statistics.min, statistics.max) == (min(shown), max(shown))
        assert statistics.null_count == 2 * N - len(shown)


def test_what_a_zipped_file_says_beside_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "out.csv.gz"
    release("switch", data("switch"), output=output)
    magic, method, flags, when = output.read_bytes()[:2], *output.read_bytes()[2:4], output.read_bytes()[4:8]
    assert (magic, method) == (b"\x1f\x8b", 8)
    assert flags == 0  # no name, no comment
    assert when == bytes(4)


def test_files_carry_the_time_of_the_release_and_no_other(tmp_path: Path) -> None:
    path = store(tmp_path / "in.parquet", data("switch"))
    os.utime(path, (10**9, 10**9))
    before = time.time() - 1
    done = release("switch", path, output=tmp_path / "out.csv", private_report=True)
    assert done.outputs is not None
    for each in (done.outputs.released, *done.outputs.companions):
        assert before <= each.stat().st_mtime <= time.time() + 1
        assert before <= each.stat().st_atime


def test_a_named_index_stays_at_home(tmp_path: Path) -> None:
    """Case 11: a data frame with a named, shuffled index."""
    frame = data("switch").replace_schema_metadata(None).to_pandas().sample(frac=1, random_state=1)
    frame.index.name = WORD
    for output in (tmp_path / "out.parquet", tmp_path / "out.feather", tmp_path / "out.csv"):
        release("quantize", frame, output=output)
        assert not sightings(output, WORD)
    released = release("quantize", frame).table
    assert list(released.columns) == ["id", "ts", "v"]
    assert released.index.name is None
    assert list(released.index) == list(range(2 * N))
    assert released[["id", "ts"]].equals(released.sort_values(["id", "ts"])[["id", "ts"]])


# --- the search itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("canary", CANARIES, ids=str)
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_search_finds_what_a_page_holds(
    tmp_path: Path, compression: str, version: str, canary: Any, dictionary: bool
) -> None:
    values = pa.array([canary, *[type(canary)(i) for i in range(300)]])
    path = tmp_path / "leak.parquet"
    pyarrow.parquet.write_table(
        pa.table({"v": values}), path, compression=compression, use_dictionary=dictionary,
        data_page_version=version, write_statistics=False,
    )  # fmt: skip
    assert any("page of v" in each for each in sightings(path, canary))


def test_the_search_finds_a_word_that_only_a_dictionary_names(tmp_path: Path) -> None:
    leak = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["off", WORD]))
    pyarrow.parquet.write_table(pa.table({"v": leak}), tmp_path / "leak.parquet", compression="zstd")
    pyarrow.feather.write_feather(pa.table({"v": leak}), tmp_path / "leak.feather", compression="zstd")
    for name in ("leak.parquet", "leak.feather"):
        assert sightings(tmp_path / name, WORD)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_the_search_finds_what_lies_below_a_null(tmp_path: Path, compression: str) -> None:
    values = pa.array(np.where(np.arange(64) == 9, NUMBER, 0.0))
    shown = pa.array(np.arange(64) != 9).buffers()[1]
    leak = pa.Array.from_buffers(pa.float64(), 64, [shown, values.buffers()[1]])
    pyarrow.feather.write_feather(pa.table({"v": leak}), tmp_path / "leak.feather", compression=compression)
    assert sightings(tmp_path / "leak.feather", NUMBER)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.zst"])
def test_the_search_finds_text_in_zipped_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"leak{suffix}"
    with pa.output_stream(str(path), compression={".csv.gz": "gzip", ".csv.zst": "zstd"}.get(suffix)) as out:
        pyarrow.csv.write_csv(pa.table({"v": [NUMBER], "w": [WORD], "n": [WHOLE]}), out)
    for canary in CANARIES:
        assert sightings(path, canary)


@pytest.mark.parametrize("canary", CANARIES, ids=str)
def test_the_search_finds_other_spellings(tmp_path: Path, canary: Any) -> None:
    text = (canary if isinstance(canary, str) else repr(canary)).encode()
    leaks = [text, text.hex().encode(), text.hex().upper().encode(), text.decode().encode("utf-16-le")]
    leaks += [base64.b64encode(b"x" * shift + text + b"tail") for shift in range(3)]
    leaks += [f"about {canary:,.1f}".encode()] if not isinstance(canary, str) else []
    for leak in leaks:
        (tmp_path / "leak").write_bytes(b"<p>" + leak + b"</p>")
        assert sightings(tmp_path / "leak", canary)
    (tmp_path / "leak").write_bytes(b"nothing of that kind")
    assert not sightings(tmp_path / "leak", canary)


def test_the_search_finds_metadata_and_statistics(tmp_path: Path) -> None:
    table = pa.table({"v": [WORD, "a"]})
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet", use_dictionary=False)
    assert any("statistics" in each for each in sightings(tmp_path / "one.parquet", WORD))
    table = pa.table({"v": [1]}).replace_schema_metadata({"by": WORD})
    pyarrow.parquet.write_table(table, tmp_path / "two.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "two.feather")
    for name in ("two.parquet", "two.feather"):
        assert sightings(tmp_path / name, WORD)


def test_a_leak_on_purpose_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redaction that masks values, and leaves them below the mask or in the dictionary."""

    def masked(values: pa.Array, hidden: Any) -> pa.Array:
        shown = pa.array(~hidden).buffers()[1]
        return pa.Array.from_buffers(values.type, len(values), [shown, values.buffers()[1]])

    values = pa.array([WHOLE if i in HIDDEN else i % 2 for i in range(N)] * 2)

    def leak(output: Path) -> bool:
        tables.redact(source(values), private=SECRET, epsilon=0.5, model=WHOLE_CHAIN, output=output, **COMMON)
        return bool(sightings(output, WHOLE))

    monkeypatch.setattr("reticent.tables.redacting.withhold", masked)
    assert not leak(tmp_path / "one.feather")  # what is below a mask is not written either
    monkeypatch.setattr("reticent.tables.formats.Writer._write_group", lambda self, table: self._writer.write(table))
    assert leak(tmp_path / "two.feather")


def test_the_certificate_is_of_the_file(tmp_path: Path) -> None:
    done = release("redact cells", data("redact cells"), output=tmp_path / "out.parquet", compression="snappy")
    assert done.outputs is not None
    assert Certificate.read(done.outputs.certificate).verify(done.outputs.released).verdict == "consistent"
