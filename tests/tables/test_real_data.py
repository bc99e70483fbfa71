"""Real public data through the verbs that fit them: released, verified, and every promise about the values kept."""

from __future__ import annotations

import glob
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reticent import cli, tables
from reticent.certificates import Certificate
from reticent.errors import InputError, RefusedError, VerificationError
from reticent.tables import Private, Reading
from shared_data import SHARED, shared

PAGE = Path(__file__).parents[2] / "docs" / "real-data.md"
QUICK = ("An office", "Weather", "Trips of green")  # the others are in the slow suite


def verified(release: tables.Release) -> pa.Table:
    """Verify from the files alone, then see that one byte makes it false."""
    outputs = release.outputs
    assert outputs is not None
    certificate = Certificate.read(outputs.certificate)
    assert certificate.verify(outputs.released).verdict == "consistent"
    content = outputs.released.read_bytes()
    table = pa.parquet.read_table(outputs.released)
    outputs.released.write_bytes(content[:-9] + bytes([content[-9] ^ 64]) + content[-8:])
    with pytest.raises(VerificationError):
        certificate.verify(outputs.released)
    return table


def sorted_by_series(table: pa.Table, ids: str | None, value: str) -> dict[Any, list[Any]]:
    frame = table.to_pandas()
    if ids is None:
        return {None: np.sort(frame[value].to_numpy()).tolist()}
    return {name: np.sort(part.to_numpy()).tolist() for name, part in frame.groupby(ids)[value]}


@pytest.fixture(scope="module")
def sgsc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five of the fifty households, with the clock changes that repeat stamps, as Parquet."""
    rdata = pytest.importorskip("rdata")
    source = shared("data", "sgsc-50-households", "smart_meter_50_tbl.rds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class of times that it reads as numbers
        frame = rdata.read_rds(source, default_encoding="utf-8")
    frame = frame.loc[frame["customer_id"].isin(sorted(frame["customer_id"].unique())[:5])]
    seconds = pa.array(frame["reading_datetime"].astype("float64").astype("int64"))
    columns = {
        "meter": pa.array(frame["customer_id"].astype("int64")),
        "ts": seconds.cast(pa.timestamp("s")).cast(pa.timestamp("ms")),
        "kwh": pa.array(frame["general_supply_kwh"].astype("float64")),
        "other": pa.array(frame["other_kwh"]),
    }
    table = pa.table(columns)
    path = tmp_path_factory.mktemp("sgsc") / "sgsc.parquet"
    pa.parquet.write_table(table, path)
    return path


METERS = {"id": "meter", "time": "ts", "value": "kwh", "ledger": False}


def test_households_have_repeated_stamps_which_need_a_rule(sgsc: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--duplicates"):
        tables.switch(sgsc, window=24, epsilon=2.0, output=tmp_path / "o.parquet", **METERS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mechanism", ["footrule", "mallows"])
def test_households_switched(sgsc: Path, tmp_path: Path, mechanism: str) -> None:
    options = METERS | {"duplicates": "keep"}
    release = tables.switch(sgsc, window=24, epsilon=2.0, mechanism=mechanism, output=tmp_path / "o.parquet", **options)
    out, source = verified(release), pa.parquet.read_table(sgsc)
    assert out.schema == source.schema.remove(source.schema.get_field_index("other"))
    assert sorted_by_series(out, "meter", "kwh") == sorted_by_series(source, "meter", "kwh")
    assert out["kwh"] != source["kwh"]


def test_households_quantised(sgsc: Path, tmp_path: Path) -> None:
    options = METERS | {"duplicates": "max"}
    release = tables.quantize(sgsc, low=0, high=10, bits=3, outside="clip", output=tmp_path / "o.parquet", **options)
    assert set(verified(release)["kwh"].drop_null().to_pylist()) <= {0.625 + 1.25 * i for i in range(8)}


def test_households_redacted_after_coarsening(sgsc: Path, tmp_path: Path) -> None:
    coarse = tmp_path / "coarse.parquet"
    options = METERS | {"duplicates": "max"}
    tables.quantize(sgsc, low=0, high="0.5", outputs=2, outside="clip", symbols="left", output=coarse, **options)
    model = tables.fit(coarse, until="2013-01-01", smoothing=1.0, **{k: v for k, v in METERS.items() if k != "ledger"})
    private = Private(where="ts between '2013-02-01 18:00' and '2013-02-01 20:00'")
    release = tables.redact(coarse, private=private, model=model, epsilon=1.0, output=tmp_path / "o.parquet", **METERS)
    out, source = verified(release), pa.parquet.read_table(coarse)
    hidden = np.array(out["kwh_redacted"])
    before, after = source["kwh"].to_numpy(zero_copy_only=False), out["kwh"].to_numpy(zero_copy_only=False)
    assert np.isnan(after[hidden]).all()
    assert (after[~hidden] == before[~hidden]).all()
    inside = (np.array(out["ts"]) >= np.datetime64("2013-02-01 18:00")) & (
        np.array(out["ts"]) <= np.datetime64("2013-02-01 20:00")
    )
    assert inside.sum() > 0
    assert hidden[inside].all()
    inner = METERS | {"private": Private(where="ts between '2012-12-01 18:00' and '2012-12-01 20:00'")}
    with pytest.raises(RefusedError, match="fitted on records"):
        tables.redact(coarse, model=model, epsilon=1.0, output=tmp_path / "p.parquet", **inner)
    assert not (tmp_path / "p.parquet").exists()


OFFICE = {"time": "date", "value": "Occupancy", "reading": Reading(row_names=True)}


def test_an_office_is_empty_or_not(tmp_path: Path) -> None:
    other = shared("data", "office-occupancy", "datatest2.txt")
    source = shared("data", "office-occupancy", "datatraining.txt")
    with pytest.raises(InputError, match="--row-names"):
        tables.fit(other, time="date", value="Occupancy")
    model = tables.fit(other, **OFFICE)
    assert model.every == "1m"
    assert model.chain.states == (0, 1)
    release = tables.redact(
        source, private="2015-02-05 08:00/2015-02-05 12:00", epsilon=1.0, model=model,
        output=tmp_path / "o.parquet", ledger=False, **OFFICE,
    )  # fmt: skip
    out = verified(release)
    (epsilon,) = release.certificate.claims["leakage"]
    assert 0 < epsilon <= 1.0
    hidden = np.array(out["Occupancy_redacted"])
    before = pa.csv.read_csv(
        source,
        read_options=pa.csv.ReadOptions(
            column_names=["row", "date", "a", "b", "c", "d", "e", "Occupancy"], skip_rows=1
        ),
    )
    after = out["Occupancy"].to_pylist()
    assert [value for value, flag in zip(before["Occupancy"].to_pylist(), hidden, strict=True) if not flag] == [
        value for value in after if value is not None
    ]
    assert 241 <= hidden.sum() < 1000


def test_glucose_switched_and_coarsened(tmp_path: Path) -> None:
    source = shared("data", "cgm-glucose", "CGM.csv.gz")
    common = {"time": "datetime", "value": "glucose", "ledger": False}
    with pytest.raises(InputError, match="--duplicates"):
        tables.switch(source, window=12, epsilon=2.0, output=tmp_path / "none.parquet", **common)
    common["duplicates"] = "keep"
    release = tables.switch(source, window=12, epsilon=2.0, output=tmp_path / "s.parquet", **common)
    switched = verified(release)
    before = pa.csv.read_csv(source)["glucose"].drop_null().to_pylist()
    assert sorted(switched["glucose"].drop_null().to_pylist()) == sorted(before)
    coarse = verified(
        tables.quantize(source, low=40, high=400, bits=3, outside="clip", output=tmp_path / "q.parquet", **common)
    )
    assert set(coarse["glucose"].drop_null().to_pylist()) <= {40 + 22.5 + 45 * i for i in range(8)}


def sections() -> list[Any]:
    """The sections of the page on real data: heading, and its blocks of commands and of Python."""
    found = []
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading = part.splitlines()[0]
        blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", part, flags=re.M | re.S)
        marks = [] if heading.startswith(QUICK) else [pytest.mark.slow]
        found.append(pytest.param(blocks, id=heading, marks=marks))
    return found


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a line of a shell in this process; its words, with the names of files filled in."""
    words = [
        name
        for word in shlex.split(line)
        for name in (sorted(glob.glob(word)) if "*" in word or "[" in word else [word])
    ]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code, line
    return words


@pytest.mark.parametrize("blocks", sections())
def test_the_page_on_real_data(
    blocks: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command goes through, the plan accounts for every row, and what is released verifies."""
    shared("data")
    (tmp_path / "shared").symlink_to(SHARED)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path / "home"))
    for kind, body in blocks:
        if kind == "python":
            exec(compile(body, str(PAGE), "exec"), {})
            continue
        for line in body.splitlines():
            words = run_command(
                line.replace(" -o ", " --no-diagnosis -o ") if " redact " in line else line, monkeypatch
            )
            said = capsys.readouterr().err
            (rows,) = re.findall(r"^rows: +([\d,]+) read(.*)$", said, flags=re.M)
            parts = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) (?:kept|dropped|set aside)", rows[1])]
            assert not parts or sum(parts) == int(rows[0].replace(",", ""))
            output = Path(words[words.index("-o") + 1])
            if words[1] != "fit":
                certificate = Certificate.read(output.with_name(f"{output.name}.certificate.json"))
                assert certificate.verify(output).verdict == "consistent"
