"""The verbs on a real Spark give what they give on a file, whatever fails and is tried again."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
import reticent.spark
from reticent import tables
from reticent.accounting import Ledger
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, EmptyInputError, InputError, RefusedError, ReticentError, VerificationError
from reticent.spark.sessions import check_encrypted
from reticent.tables.formats import Format, Writer

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

START = dt.datetime(2024, 1, 1)
NAMES: dict[str, Any] = {"time": "t", "value": "v", "id": "i"}
CHAIN = rt.MarkovChain(np.array([[0.9, 0.1], [0.2, 0.8]]), states=("off", "on"))
EVENING: dict[str, Any] = {
    "private": ["2024-01-01 20:00/2024-01-01 22:00"],
    "epsilon": 1.0,
    "model": CHAIN,
    "every": "30m",
    "mechanism": "optimal",
}


def panel(series: int = 40, steps: int = 60, seed: int = 1) -> pa.Table:
    """Half-hours of many meters, in no order, some with gaps."""
    draw = np.random.default_rng(seed)
    rows = [
        (f"m{k:02}", START + dt.timedelta(minutes=30 * j), k % 3)
        for k in range(series)
        for j in range(steps)
        if not (k % 5 == 0 and j in (7, 8))
    ]
    i, t, g = map(list, zip(*[rows[n] for n in draw.permutation(len(rows))], strict=True))
    v = np.round(draw.random(len(rows)) * 10, 3)
    s = np.where(draw.random(len(rows)) < 0.3, "on", "off")
    table = pa.table({"i": i, "t": pa.array(t, pa.timestamp("us")), "v": v, "w": (v * 7).astype(np.int32), "s": s})
    return table.append_column("g", pa.array(g, pa.int64()))


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("panel") / "panel.parquet"
    pq.write_table(panel(), path)
    return path


def file_of(frame: Any, path: Path, *keys: str) -> bytes:
    """The rows of a Spark frame, sorted, as the file path writes them."""
    table = frame.toArrow().sort_by([(name, "ascending") for name in keys])
    writer = Writer(path, Format("parquet"), table.schema)
    writer.write(table.combine_chunks())
    writer.close()
    return path.read_bytes()


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "footrule": ("switch", {**NAMES, "window": 5, "epsilon": 2.0, "source": 3}),
    "mallows, two columns, two ids": (
        "switch",
        {
            "time": "t",
            "value": ["v", "s"],
            "id": ["g", "i"],
            "keep": "w",
            "window": 4,
            "epsilon": 2.0,
            "mechanism": "mallows",
            "delta": 1e-3,
            "source": 3,
        },
    ),
    "days apart": ("switch", {**NAMES, "window": 5, "epsilon": 2.0, "cuts": "day", "source": 3}),
    "cells": ("quantize", {**NAMES, "value": ["v", "w"], "low": [0, 0], "high": [10, 70], "bits": 6}),
    "intervals": ("quantize", {**NAMES, "low": 0, "high": 10, "outputs": 5, "symbols": "interval"}),
    "evening": ("redact", {**NAMES, "value": "s", **EVENING, "source": 3}),
    "predicate": (
        "redact",
        {
            **NAMES,
            **EVENING,
            "value": "s",
            "private": tables.Private(where="g = 1 AND hour(t) = 9", public=("g",)),
            "source": 3,
        },
    ),
}


LONGER = {"days apart", "intervals", "evening"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONGER else ()) for name in CASES]
)
def test_the_same_release_as_of_a_file(spark: Any, stored: Path, tmp_path: Path, name: str) -> None:
    """Byte for byte after sorting; and the certificate says the same, but for the file."""
    verb, given = CASES[name]
    options = dict(given)
    seed = {"source": rt.seeded_source(options.pop("source"))} if "source" in options else {}
    frame = spark.read.parquet(str(stored))
    release = getattr(reticent.spark, verb)(frame, **options, **seed, ledger=False)
    out = tmp_path / "out.parquet"
    whole = getattr(tables, verb)(stored, **options, **seed, output=out, ledger=False)
    keys = [options["id"]] if isinstance(options["id"], str) else options["id"]
    assert file_of(release.table, tmp_path / "sorted.parquet", *keys, "t") == out.read_bytes()
    mine, theirs = release.certificate, whole.certificate
    assert mine.parameters == theirs.parameters
    assert mine.claims == theirs.claims
    content = mine.released["content"]
    both = {name: value for name, value in theirs.released.items() if name not in ("sha256", "format")}
    assert mine.released == {**both, "content": content}
    release.table.write.parquet(str(tmp_path / "folder"))
    for copy in (tmp_path / "folder", out):  # it is of the records, in whatever files
        assert ("released file", "the SHA-256 of its records is the certificate's") in mine.verify(copy).checks


def test_the_zone_of_a_session_is_not_in_the_data(spark: Any, tmp_path: Path) -> None:
    """Spark's own kind of time, an instant: days are those of the file path whatever the session shows."""
    table = panel(3, 60).select(["i", "t", "v"])
    table = table.set_column(1, "t", table["t"].cast(pa.timestamp("us", "UTC")))
    pq.write_table(table, tmp_path / "in.parquet")
    options: dict[str, Any] = {**NAMES, "window": 5, "epsilon": 2.0, "cuts": "day", "ledger": False}
    out = tmp_path / "out.parquet"
    tables.switch(tmp_path / "in.parquet", **options, source=rt.seeded_source(3), output=out)
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        frame = spark.read.parquet(str(tmp_path / "in.parquet"))
        release = reticent.spark.switch(frame, **options, source=rt.seeded_source(3))
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        came = release.table.toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    expected = pq.read_table(out)
    assert came.cast(expected.schema).sort_by([("i", "ascending"), ("t", "ascending")]).equals(expected)
    assert file_of(release.table, tmp_path / "sorted.parquet", "i", "t") == out.read_bytes()


def test_the_certificate_is_of_these_records(spark: Any, stored: Path, tmp_path: Path) -> None:
    release = reticent.spark.quantize(spark.read.parquet(str(stored)), **NAMES, low=0, high=10, bits=3, ledger=False)
    table = release.table.toArrow()
    path = tmp_path / "c.json"
    path.write_text(release.certificate.to_json())
    certificate = Certificate.read(path)
    pq.write_table(table, tmp_path / "same.parquet")
    certificate.verify(tmp_path / "same.parquet")
    swapped = table["v"].to_pylist()
    here = next(n for n in range(len(swapped)) if swapped[n] != swapped[0])
    swapped[0], swapped[here] = swapped[here], swapped[0]
    changed = table.set_column(table.schema.get_field_index("v"), "v", pa.array(swapped))
    pq.write_table(changed, tmp_path / "changed.parquet")
    with pytest.raises(VerificationError, match="does not hold the records"):
        certificate.verify(tmp_path / "changed.parquet")
    pq.write_table(table.slice(1), tmp_path / "fewer.parquet")
    with pytest.raises(VerificationError, match="number of rows"):
        certificate.verify(tmp_path / "fewer.parquet")
    with pytest.raises(VerificationError, match="not there"):
        certificate.verify(tmp_path / "nothing")


def make_failing_once() -> Any:
    """What makes every first attempt at a task fail, after it has done its work."""

    def failing_once(batches: Any) -> Any:  # not known to workers by name, so it travels whole
        from pyspark import TaskContext

        seen = list(batches)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("this attempt was made to fail")
        yield from seen

    return failing_once


def test_a_task_that_fails_and_is_tried_again_changes_nothing(spark: Any, stored: Path, tmp_path: Path) -> None:
    """Before the release (in both passes) and after it; the ledger is charged once for all of it."""
    frame = spark.read.parquet(str(stored)).select("i", "t", "v")
    options: dict[str, Any] = {**NAMES, "window": 5, "epsilon": 2.0}
    calm = reticent.spark.switch(frame, **options, source=rt.seeded_source(5), ledger=False)
    ledger = Ledger(tmp_path / "l")
    torn = frame.mapInArrow(make_failing_once(), frame.schema)
    release = reticent.spark.switch(torn, **options, source=rt.seeded_source(5), ledger=ledger)
    again = release.table.mapInArrow(make_failing_once(), release.table.schema)
    expected = file_of(calm.table, tmp_path / "a", "i", "t")
    assert file_of(again, tmp_path / "b", "i", "t") == expected
    assert file_of(release.table.repartition(5), tmp_path / "c", "i", "t") == expected
    assert len(ledger.history()) == 1
    assert release.charge is not None
    (spent,) = ledger.spent("")
    assert (spent.series, spent.releases) == (40, 1)


def test_a_frame_comes_out_alike_each_time_and_in_any_parts(spark: Any, stored: Path, tmp_path: Path) -> None:
    frame = spark.read.parquet(str(stored))
    release = reticent.spark.switch(frame, **NAMES, window=5, epsilon=2.0)  # a key of the operating system's
    first = file_of(release.table, tmp_path / "a", "i", "t")
    assert file_of(release.table, tmp_path / "b", "i", "t") == first
    seeds = [
        reticent.spark.switch(
            frame.repartition(n), **NAMES, window=5, epsilon=2.0, parts=n, source=rt.seeded_source(7), ledger=False
        )
        for n in (1, 7)
    ]
    one, seven = (file_of(each.table, tmp_path / f"{n}", "i", "t") for n, each in enumerate(seeds))
    assert one == seven
    assert seeds[0].certificate.released == seeds[1].certificate.released
    assert one != first


def test_the_ledger_knows_the_data_as_those_of_the_file(spark: Any, stored: Path, tmp_path: Path) -> None:
    """By default it is charged, once, with the very same series and times."""
    frame = spark.read.parquet(str(stored))
    options: dict[str, Any] = {**NAMES, "window": 5, "epsilon": 2.0}
    release = reticent.spark.switch(frame, **options)
    whole = tables.switch(stored, **options, output=tmp_path / "o.parquet")
    assert release.charge is not None
    assert whole.charge is not None
    assert (release.charge.again, whole.charge.again) == (0, 40)
    ledger = Ledger()
    bodies = [body for body in ledger.export() if body["entry"] == "charge"]
    assert len({body["coverage"]["digest"] for body in bodies}) == 1
    assert len(bodies) == 2
    kwargs = {**NAMES, "value": "s", **EVENING}
    with Ledger(tmp_path / "two") as two:
        reticent.spark.redact(frame, **kwargs, ledger=two)
        tables.redact(stored, **kwargs, output=tmp_path / "r.parquet", ledger=two)
        digests = {body["digest"] for body in two.export() if body["entry"] == "charge"}
        assert len(digests) == 1
    with pytest.raises(RefusedError):  # the order is out
        reticent.spark.quantize(frame, **NAMES, low=0, high=10, bits=3)


# --- what is refused --------------------------------------------------------------------------------------------------

CANARY = 987654.5


def test_data_that_are_refused_are_refused_before_anything_is_charged(spark: Any, tmp_path: Path) -> None:
    """One sentence, without a value, and no traceback of a worker."""
    good = panel(6, 20)

    def given(**columns: list[Any]) -> Any:
        table = good
        for name, values in columns.items():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        pq.write_table(table, path)
        return spark.read.parquet(str(path))

    v, i, t, s = (good[name].to_pylist() for name in "vits")
    ledger = Ledger(tmp_path / "l")
    cells: dict[str, Any] = {**NAMES, "low": 0, "high": 10, "bits": 3}
    redaction = {**NAMES, "value": "s", **EVENING}
    quantize, redact, switch = reticent.spark.quantize, reticent.spark.redact, reticent.spark.switch
    cases: list[tuple[Any, Any, dict[str, Any], type[ReticentError], str]] = [
        (quantize, given(v=[CANARY, *v[1:]]), cells, InputError, r"1 of \d+ lie outside"),
        (quantize, given(i=[None, *i[1:]]), cells, InputError, "entries are missing"),
        (quantize, given(t=[None, *t[1:]]), cells, InputError, "entries are missing"),
        (quantize, given(i=["same"] * len(i)), cells, InputError, "repeat the time of another"),
        (quantize, given().limit(0), cells, EmptyInputError, "no rows"),
        (quantize, given(), {**cells, "value": "s"}, InputError, "only numbers are quantised"),
        (quantize, given(), {**cells, "value": "x"}, ArgumentError, "x is in the frame 0 times"),
        (redact, given(s=[str(CANARY), *s[1:]]), redaction, InputError, "not among the 2 states"),
        (redact, given(), {**redaction, "private": ["2023-01-01/2023-01-02"]}, InputError, "no record lies in 2023"),
        (
            redact,
            given(),
            {**redaction, "private": tables.Private(where="i = 'x'")},
            InputError,
            "no record is private",
        ),
        (redact, given(), {**redaction, "every": None}, ArgumentError, "state the sampling period"),
        (redact, given(), {**redaction, "model": "released", "margin": 3}, ArgumentError, "not fitted on the release"),
        (switch, given(), {**NAMES, "window": 3, "epsilon": 1.0, "output": "x.csv"}, ArgumentError, "output: not on"),
        (switch, given(), {**NAMES, "window": 3, "epsilon": 1.0, "continue_from": "s"}, ArgumentError, "continue_from"),
        (switch, given(), {**NAMES, "window": 3, "epsilon": 1.0, "parts": 0}, ArgumentError, "parts"),
        (switch, good, {**NAMES, "window": 3, "epsilon": 1.0}, ArgumentError, "is no Spark DataFrame"),
    ]
    for verb, frame, options, kind, said in cases:
        with pytest.raises(kind, match=said) as caught:
            verb(frame, **options, ledger=ledger)
        assert str(CANARY) not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert ledger.history() == ()


def test_input_that_changes_after_the_charge_is_not_released(spark: Any, tmp_path: Path) -> None:
    """Drawing alike for two versions of the data would betray both."""
    table, first = panel(6, 20).select(["i", "t", "v"]), tmp_path / "first"
    pq.write_table(table, tmp_path / "in.parquet")
    first.write_text("0.5")

    def changing(batches: Any) -> Any:  # one value comes from elsewhere
        for batch in batches:
            values = [float(first.read_text()), *batch["v"].to_pylist()[1:]]
            yield batch.set_column(2, "v", pa.array(values))

    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    release = reticent.spark.switch(frame.mapInArrow(changing, frame.schema), **NAMES, window=3, epsilon=1.0)
    first.write_text(str(CANARY))
    with pytest.raises(Exception, match="not those that were looked over") as caught:
        release.table.collect()
    assert str(CANARY) not in str(caught.value)
    first.write_text("0.5")
    assert release.table.count() == table.num_rows


class Conf(dict[str, str]):
    """Settings as Spark holds them."""

    def getConf(self) -> Conf:
        return self


class Session:
    """As much of a session as is asked."""

    def __init__(self, **settings: str) -> None:
        self.sparkContext = Conf({name.replace("_", "."): value for name, value in settings.items()})


class Unreadable:
    """A session whose settings cannot be read."""

    @property
    def sparkContext(self) -> Any:
        raise RuntimeError("no")


def test_a_session_must_encrypt() -> None:
    on = {"spark_io_encryption_enabled": "true"}
    check_encrypted(Session(spark_master="local[2]", **on), False)
    check_encrypted(Session(spark_master="local[2,4]", **on), False)
    check_encrypted(Session(spark_master="yarn", **on, spark_network_crypto_enabled="true"), False)
    check_encrypted(Session(spark_master="yarn", **on), True)
    check_encrypted(Unreadable(), True)
    for session, said in (
        (Session(spark_master="local[2]"), "is not on"),
        (Session(spark_master="local[2]", spark_io_encryption_enabled="false"), "is not on"),
        (Session(spark_master="yarn", **on), "would cross the network"),
        (Session(spark_master="local-cluster[2,1,1024]", **on), "would cross the network"),
        (Unreadable(), "cannot be read"),
    ):
        with pytest.raises(RefusedError, match=said):
            check_encrypted(session, False)
    with pytest.raises(RefusedError, match="is not on"):  # a word does not stand against the setting
        check_encrypted(Session(spark_master="local[2]"), True)


# --- elsewhere --------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import reticent as rt
import reticent.spark
from pyspark.sql import SparkSession

stored, out, where = sys.argv[1:]
builder = SparkSession.builder.remote("local[2]") if where == "connect" else SparkSession.builder.master(where)
for name in ("spark.io.encryption.enabled", "spark.network.crypto.enabled", "spark.authenticate"):
    if where != "connect" or "io" in name:
        builder = builder.config(name, "true")
if "cluster" in where:
    builder = builder.config("spark.authenticate.secret", "of the test")
for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3",
                    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
release = reticent.spark.switch(
    session.read.parquet(stored), time="t", value="v", id="i", window=5, epsilon=2.0, source=rt.seeded_source(3)
)
release.table.write.parquet(out)
assert release.charge is not None
release.certificate.verify(out)
print(type(release.table).__module__, release.table.count())
session.stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["connect", "local-cluster[2,1,1024]"])
def test_spark_connect_and_separate_workers(stored: Path, tmp_path: Path, where: str) -> None:
    """The same release by way of Spark Connect, and on two workers that are processes of their own."""
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(stored), str(out), where], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert ("connect" in done.stdout) == (where == "connect")
    whole = tables.switch(stored, **NAMES, window=5, epsilon=2.0, source=rt.seeded_source(3))
    assert pq.read_table(out).sort_by([("i", "ascending"), ("t", "ascending")]).equals(whole.table)
