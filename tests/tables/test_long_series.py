"""A series that flows in parts is released as it is whole: rows, certificate, ledger, refusals, wherever it is cut."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_kit import hours, load, store, text_file

import reticent as rt
from reticent import tables
from reticent.errors import InputError
from reticent.switching import MallowsSwitch, RanSwitch, StaSwitch, Switch
from reticent.tables import Reading, pipeline
from reticent.tables import chunks as chunking
from reticent.tables.chunks import Chunk
from reticent.tables.long_series import PartSwitch
from reticent.tables.reading import Columns

STREAMING: dict[str, dict[str, Any]] = {
    "mallows": {"mechanism": "mallows", "window": 3, "epsilon": 2.0, "delta": 1e-3},
    "one step": {"mechanism": "mallows", "window": 1, "epsilon": 2.0, "delta": 1e-3},
    "ran": {"mechanism": "ran", "window": 5, "epsilon": 1.0, "delta": 0.99},
    "sta": {"mechanism": "sta", "window": 4, "epsilon": 1.0, "delta": 0.99, "accept_statistical": True},
}
WHOLE = (1 << 20, 1 << 18)
rng = np.random.default_rng(5)


def any_of(values: list[Any], kind: Any, rows: int = 90) -> pa.Array:
    return pa.array([values[i] for i in rng.integers(0, len(values), rows)], kind)


VALUES = {
    "double": any_of([-0.0, 0.0, float("nan"), None, 1.5, 2.5], pa.float64()),
    "float": any_of([1.1, 2, None, float("nan")], pa.float32()),
    "int64": any_of([9007199254740993, -(2**63), None, 2**63 - 1, 0], pa.int64()),
    "uint64": any_of([2**64 - 1, 1, None], pa.uint64()),
    "int8": any_of([-128, 127, None, 0], pa.int8()),
    "bool": any_of([True, False, None], pa.bool_()),
    "decimal": any_of([None, 1, 2, 33], pa.decimal128(20, 2)),
    "text": any_of(["", "a", None, "=1", "käse"], pa.string()),
    "large text": any_of(["", "a", None, "=1"], pa.large_string()),
    "words": any_of(["off", "on", None], pa.string()).dictionary_encode(),
    "date": any_of([dt.date(2024, 1, 1), dt.date(1900, 2, 3), None], pa.date32()),
    "time": any_of([dt.time(1, 2, 3, 4), None, dt.time(0)], pa.time64("us")),
    "stamp ns": any_of([1, 2, None], pa.timestamp("ns")),
    "zoned ms": any_of([1, 2, None], pa.timestamp("ms", "Europe/Berlin")),
}
PANEL = pa.table(
    {
        "id": ["a"] * 3 + ["b"] * 57 + ["c"] * 2 + ["d"] * 27 + ["e"],
        "ts": [*hours(3), *hours(57), *hours(2), *hours(27), *hours(1)],
        "note": [f"n{i}" for i in range(90)],
        **VALUES,
    }
)


@contextmanager
def cut(part: int, batch: int) -> Iterator[list[tuple[bool, bool]]]:
    """Parts of `part` rows from batches of `batch` rows; how each part begins and ends."""
    seen: list[tuple[bool, bool]] = []

    def small(*given: Any, **options: Any) -> Iterator[Chunk]:
        for chunk in chunking.chunks(*given, **options | {"rows": batch}):
            if not (chunk.begins and chunk.ends):
                seen.append((chunk.begins, chunk.ends))
            yield chunk

    with (
        mock.patch.object(chunking, "PART_ROWS", part),
        mock.patch("reticent.tables.pipeline.chunks", small),
        mock.patch("reticent.tables.previewing.chunks", small),
    ):
        yield seen


def switched(source: Any, output: Path | None, mechanism: str = "mallows", **options: Any) -> tables.Release:
    common = {"time": "ts", "value": "v", "source": rt.seeded_source(5), "ledger": False, "overwrite": True}
    return tables.switch(source, output=output, **STREAMING[mechanism] | common | options)


def quantized(source: Any, output: Path, **options: Any) -> tables.Release:
    common: dict[str, Any] = {"time": "ts", "value": "v", "low": -1, "high": 9, "bits": 2, "outside": "clip"}
    return tables.quantize(source, output=output, **common | {"ledger": False, "overwrite": True} | options)


def shown(release: tables.Release) -> tuple[Any, ...]:
    """Rows with their types, or bytes where they are a text; certificate and plan."""
    assert release.outputs is not None
    path, body = release.outputs.released, dict(release.certificate.body)
    if path.suffix == ".csv":
        return path.read_bytes(), body, release.plan
    body |= {"digest": "", "released": body["released"] | {"sha256": ""}}
    table = load(path)
    return repr(table.schema), table.to_pylist().__repr__(), body, release.plan  # a NaN is not equal to itself


@pytest.mark.parametrize(
    ("mechanism", "suffix"),
    [("mallows", ".feather"), *((each, kind) for each in STREAMING for kind in (".parquet", ".csv"))],
)
def test_the_release_is_that_of_the_whole_series(tmp_path: Path, mechanism: str, suffix: str) -> None:
    values = [name for name in VALUES if suffix != ".csv" or name not in ("text", "large text")]
    options: dict[str, Any] = {"id": "id", "value": values, "keep": "note"}
    out = tmp_path / f"out{suffix}"
    whole = shown(switched(PANEL, out, mechanism, **options))
    for part, batch in ((1, 1), (26, 2)):
        with cut(part, batch) as seen:
            assert shown(switched(PANEL, out, mechanism, **options)) == whole
        assert seen


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_wherever_parts_are_cut(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 100), min_size=1, max_size=4))
    options: dict[str, Any] = {"duplicates": data.draw(st.sampled_from(["error", "min", "max", "mean", "keep"]))}
    repeats = 1 if options["duplicates"] == "error" else data.draw(st.integers(1, 4))
    table = pa.table(
        {
            "id": np.repeat(np.arange(len(lengths)), lengths),
            "ts": np.concatenate([np.arange(n) // repeats for n in lengths]),
            "v": pa.array([None if i % 11 == 0 else i * 7 % 10 for i in range(sum(lengths))], pa.int64()),
        }
    ).take(data.draw(st.permutations(range(sum(lengths)))))
    verb = data.draw(st.sampled_from([switched, quantized]))
    if verb is switched:
        options["mechanism"] = data.draw(st.sampled_from(list(STREAMING)))
    suffix = data.draw(st.sampled_from([".parquet", ".csv"]))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"in{suffix}")
        if suffix == ".csv":
            lines = (
                "{id},{ts},{v}\n".format(**{k: "" if x is None else x for k, x in row.items()})
                for row in table.to_pylist()
            )
            text_file(source, "id,ts,v\n" + "".join(lines))
        else:
            store(source, table)
        whole = shown(verb(source, Path(folder, f"out{suffix}"), id="id", **options))
        with cut(data.draw(st.integers(1, 30)), data.draw(st.integers(1, 20))) as seen:
            assert shown(verb(source, Path(folder, f"out{suffix}"), id="id", **options)) == whole
        assert not (seen and options["duplicates"] == "keep")


def part(table: pa.Table, begins: bool, ends: bool) -> Chunk:
    return Chunk(table, np.array([0, table.num_rows]), Columns("ts", ("v",), ("id",)), begins, ends)


@given(
    switch=st.sampled_from(
        [MallowsSwitch(3, 2.0, delta=1e-3), RanSwitch(1, 1.0), RanSwitch(6, 0.0), StaSwitch(3, 1.0), StaSwitch(7, 0.0)]
    ),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_the_same_words_are_used_up(switch: Switch, lengths: list[int]) -> None:
    n, job = sum(lengths), rt.seeded_source(3)
    table = pa.table({"id": ["x"] * n, "ts": np.arange(n), "v": np.arange(n)})
    parts, ends = PartSwitch(switch, ("v",)), np.cumsum([0, *lengths])
    for _ in range(2):  # one series after another
        out = [
            parts.release(part(table.slice(a, size), a == 0 and i == 0, b == n), job)
            for i, (a, b, size) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), lengths, strict=True))
        ]
        own = job.spawn("x")
        assert pa.concat_tables(out)["v"].to_pylist() == switch.order(n, own).tolist()
        assert pa.concat_tables(out)["ts"].to_pylist() == list(range(n))
        assert parts._source.position == own.position
        assert parts._waiting.num_rows == 0
    assert switch.look_ahead is not None
    assert max(np.cumsum(lengths) - np.cumsum([each.num_rows for each in out])) < switch.look_ahead


@pytest.mark.parametrize("verb", [switched, quantized])
@pytest.mark.parametrize("at", [1, 5, 6, 7, 16, 17, 18, 22, 24])
def test_a_time_that_occurs_twice_is_refused_wherever_it_lies(tmp_path: Path, verb: Any, at: int) -> None:
    times = list(range(25))
    times[at] = at - 1
    source = store(tmp_path / "in.parquet", pa.table({"ts": times, "v": range(25)}))
    with cut(6, 5) as seen, pytest.raises(InputError, match=r"1 records \(or more\) repeat the time"):
        verb(source, tmp_path / "out.parquet")
    assert at < 18 or seen
    assert list(tmp_path.iterdir()) == [source]
    assert load(source).num_rows == 25


def test_a_time_of_more_records_than_a_part(tmp_path: Path) -> None:
    table = pa.table({"ts": [0] * 5 + [1] * 40 + [2] * 6 + list(range(3, 30)), "v": range(78)})
    for rule in ("min", "max", "mean", "keep"):
        whole = shown(switched(table, tmp_path / "out.csv", duplicates=rule))
        with cut(4, 3) as seen:
            assert shown(switched(table, tmp_path / "out.csv", duplicates=rule)) == whole
        assert bool(seen) == (rule != "keep")


@pytest.mark.parametrize("long", [13, 300])
def test_after_a_time_of_more_records_than_a_part_others_follow(tmp_path: Path, long: int) -> None:
    """Such a time is held, and looked at again only when what waits has doubled; what comes after it is not."""
    table = pa.table({"ts": [0] * long + list(range(1, 200)), "v": range(long + 199)})
    whole = shown(switched(table, tmp_path / "out.csv", "ran", duplicates="min"))
    with cut(10, 5) as seen, mock.patch.object(chunking, "series_offsets", wraps=chunking.series_offsets) as looks:
        assert shown(switched(table, tmp_path / "out.csv", "ran", duplicates="min")) == whole
    assert len(seen) >= 18
    assert looks.call_count < 40 + 2 * np.log2(long)


def test_a_part_of_which_nothing_is_released_yet(tmp_path: Path) -> None:
    """The first has one time, and waits; a folder of files has nothing to write then."""
    table = pa.table({"id": ["a"] * 60, "ts": [0] * 13 + list(range(1, 48)), "v": range(60)})
    found = []
    for size, batch in (WHOLE, (10, 5)):
        with cut(size, batch) as seen:
            switched(table, tmp_path / "out.parquet", "ran", id="id", duplicates="min", partition_by="id")
        (file,) = (tmp_path / "out.parquet").rglob("*.parquet")
        found.append(load(file).to_pylist())
    assert seen
    assert found[0] == found[1]


def test_refused_for_what_is_kept(tmp_path: Path) -> None:
    table = pa.table({"ts": [*range(30), 29], "v": range(31), "note": range(31)})
    with cut(6, 5), pytest.raises(InputError, match="differ in a column"):
        switched(table, tmp_path / "out.csv", keep="note", duplicates="min")
    assert not list(tmp_path.iterdir())


def test_values_that_are_refused_late_leave_nothing(tmp_path: Path) -> None:
    table = pa.table({"ts": range(40), "v": [1.0] * 39 + [100.0]})
    with cut(6, 5) as seen, pytest.raises(InputError):
        quantized(table, tmp_path / "out.csv", outside="error")
    assert seen
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", [switched, quantized])
def test_the_ledger_is_told_the_same(tmp_path: Path, verb: Any) -> None:
    table = pa.table({"id": [1] * 50 + [2] * 3, "ts": [*hours(50), *hours(3)], "v": [float(i % 9) for i in range(53)]})
    told = []
    for i, (size, batch) in enumerate((WHOLE, (8, 5))):
        work = pipeline._work
        with cut(size, batch) as seen, mock.patch.object(pipeline, "_work", side_effect=work) as spied:
            verb(table, tmp_path / f"{i}.csv", id="id", ledger=tmp_path / f"ledger{i}")
        coverage = spied.call_args.args[2]
        told.append((coverage.digest, coverage.geometries))
    assert seen
    assert told[0] == told[1]
    assert len(told[0][1]) == 2


def test_pieces_parts_of_an_output_and_records_without_a_name(tmp_path: Path) -> None:
    table = pa.table(
        {"id": [None] * 90 + ["b"] * 30, "ts": [*hours(90), *hours(30)], "v": [float(i) for i in range(120)]}
    )
    grouped: dict[str, Any] = {"id": "id", "reading": Reading(null_id="group")}
    for options in (
        {**grouped, "cuts": "day"},
        {**grouped, "partition_by": "id"},
        {**grouped, "duplicates": "max"},
    ):
        found = []
        for i, (size, batch) in enumerate((WHOLE, (10, 4))):
            out = tmp_path / f"{len(list(tmp_path.iterdir()))} {i}.{'parquet' if 'partition_by' in options else 'csv'}"
            with cut(size, batch) as seen:
                release = switched(table, out, "ran", **options)
            files = [out] if out.is_file() else sorted(each for each in out.rglob("*") if each.is_file())
            rows = [each.read_bytes() if out.is_file() else load(each).to_pylist() for each in files]
            found.append((rows, release.certificate.body["parameters"], release.plan))
        assert seen
        assert found[0] == found[1]


@pytest.mark.parametrize("verb", ["switch", "quantize"])
def test_a_dry_run_says_the_same(tmp_path: Path, verb: str) -> None:
    found = []
    for size, batch in (WHOLE, (8, 5)):
        with cut(size, batch) as seen:
            common: dict[str, Any] = {"time": "ts", "value": "double", "id": "id", "ledger": False, "dry_run": True}
            release = (
                tables.switch(PANEL, **STREAMING["ran"], **common)
                if verb == "switch"
                else tables.quantize(PANEL, low=-1, high=9, bits=2, **common)
            )
        found.append((release.certificate.body, release.plan))
    assert seen
    assert found[0] == found[1]


@pytest.mark.parametrize("verb", [switched, quantized])
def test_the_private_report_shows_the_same_rows(tmp_path: Path, monkeypatch: Any, verb: Any) -> None:
    monkeypatch.setattr(pipeline, "SAMPLE_ROWS", 12)
    table = pa.table({"id": [1] * 50 + [2] * 13 + [3] * 4, "ts": [*range(50), *range(13), *range(4)], "v": range(67)})
    seen: list[Any] = []

    def note(certificate: Any, pairs: list[pipeline.Pair], plan: Any) -> str:
        seen.append([(pair.original.to_pylist(), pair.released.to_pylist()) for pair in pairs])
        return ""

    monkeypatch.setattr("reticent.reports.private_report", note)
    for size, batch in (WHOLE, (20, 5)):
        with cut(size, batch):
            verb(table, tmp_path / "out.csv", id="id", private_report=True)
    assert seen[0] == seen[1]
    assert [len(original) for original, _ in seen[0]] == [12, 12, 4]


def test_what_needs_the_whole_series_gets_it(tmp_path: Path) -> None:
    table = pa.table({"ts": range(60), "v": [0, 1] * 30})
    chain = rt.MarkovChain.binary(0.3, 0.4, (0, 1))
    common: dict[str, Any] = {"time": "ts", "value": "v", "ledger": False, "overwrite": True}
    out = tmp_path / "out.csv"
    with cut(5, 4) as seen:
        tables.switch(table, window=3, epsilon=1.0, output=out, **common)
        tables.switch(table, window=3, epsilon=1.0, mechanism="mallows", output=out, **common)
        private = tables.Private(where="ts = 1")
        tables.redact(table, private=private, epsilon=1.0, model=chain, every="1", output=out, **common)
        switched(table, None)  # a frame, which is held in any case
    assert not seen


@pytest.mark.slow
@pytest.mark.parametrize("verb", [switched, quantized])
def test_a_parquet_file_is_the_same_to_the_byte(tmp_path: Path, verb: Any) -> None:
    n = 2_500_000
    random = np.random.default_rng(1)
    table = pa.table({"ts": random.permutation(n), "v": random.integers(0, 9, n)})
    found = []
    for size in (1 << 20, 1 << 30):
        with mock.patch.object(chunking, "PART_ROWS", size):
            verb(table, tmp_path / "out.parquet")
        found.append((tmp_path / "out.parquet").read_bytes())
    assert found[0] == found[1]


PEAK = """
import sys
from pathlib import Path
import reticent as rt
from reticent import tables
from reticent.tables import chunks

source, verb, size = sys.argv[1:]
chunks.PART_ROWS = int(size)
asked = {"window": 24, "epsilon": 2.0, "delta": 1e-6, "mechanism": "mallows"}
if verb == "quantize":
    asked = {"low": [0] * 4, "high": [100] * 4, "bits": 8}
files = {"memory": "100MB", "output": source + ".out.parquet", "overwrite": True, "ledger": False}
getattr(tables, verb)(source, time="ts", value=tuple("vwxy"), **asked, **files)
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024)  # what getrusage says counts the process that started this one
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["switch", "quantize"])
def test_memory_does_not_grow_with_the_series(tmp_path: Path, verb: str) -> None:
    """Megabytes at the peak: few more for 10⁷ rows than for 2·10⁶, and hundreds fewer than whole."""

    def peak(rows: int, part: int) -> float:
        random = np.random.default_rng(1)
        source = tmp_path / f"{rows}.parquet"
        if not source.exists():
            values = {name: random.integers(0, 99, rows) for name in "vwxy"}
            store(source, pa.table({"ts": random.permutation(rows), **values}))
        command = [sys.executable, "-c", PEAK, str(source), verb, str(part)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(done.stdout)

    small, large, whole = peak(2_000_000, 1 << 18), peak(10_000_000, 1 << 18), peak(10_000_000, 1 << 30)
    print(f"{verb}: {small:.0f} MB for 2e6 rows in parts, {large:.0f} MB for 1e7, {whole:.0f} MB whole")
    assert large < small + 150
    assert large < whole - 400
