"""No private value stands in what is public, in any encoding that a file may have it in."""

from __future__ import annotations

import base64
import gzip
import html
import json
import struct
import urllib.parse
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from reticent.cli import app

NUMBER = 57.314159  # the value of one record
NAME = "Zügvögel <7>"  # a series
DROPPED = "Schwärmer & Söhne"  # a column that is not released
FILE = "kanari"


def encodings(value: str | float) -> dict[str, bytes]:
    """A value in every way that a text, a page, a script or a table may hold it."""
    text = str(value)
    found = {
        "utf-8": text.encode(),
        "utf-16": text.encode("utf-16-le"),
        "latin-1": text.encode("latin-1"),
        "json": json.dumps(text)[1:-1].encode(),
        "json in a page": json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c").encode(),
        "html": html.escape(text).encode(),
        "html, named": "".join(f"&#{ord(mark)};" if ord(mark) > 126 else mark for mark in text).encode(),
        "url": urllib.parse.quote(text).encode(),
        "hex": text.encode().hex().encode(),
    }
    for shift in range(3):  # wherever it begins within three bytes, less the marks that its neighbours change
        found[f"base64, {shift}"] = base64.b64encode(b"\0" * shift + text.encode())[4 if shift else 0 : -4]
    if isinstance(value, float):
        found |= {
            "float64": struct.pack("<d", value),
            "float64, reversed": struct.pack(">d", value),
            "float32": struct.pack("<f", value),
            "six digits": f"{value:.6g}".encode(),
            "comma": text.replace(".", ",").encode(),
            "exponent": f"{value:.6e}".encode(),
        }
    return found


def contents(path: Path) -> bytes:
    """The bytes of a file, and what they are once unpacked."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        return raw + gzip.decompress(raw)
    if path.suffix in (".parquet", ".feather"):
        table = pq.read_table(path) if path.suffix == ".parquet" else pyarrow.feather.read_table(path)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        lines = "\n".join(str(value) for column in table.columns for value in column.to_pylist())
        return raw + sink.getvalue().to_pybytes() + lines.encode()
    return raw


def found(path: Path, value: str | float) -> list[str]:
    held = contents(path)
    return [name for name, code in encodings(value).items() if len(code) > 3 and code in held]


def reticent(*words: str) -> None:
    app(args=list(words), standalone_mode=False)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("csv.gz", "feather")]


@pytest.fixture(params=["csv", "parquet", *SLOW])
def released(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[Path, str, Any]:
    """A folder of releases of one kind of file, each by its verb, with the explorer's page of the same input."""
    kind = request.param
    n = 120
    who = [NAME] * n + ["other"] * n
    time = list(range(n)) * 2
    rows: dict[str, list[Any]] = {
        "who": who,
        "t": time,
        "v": [NUMBER if i == 77 else float(i % 9) for i in range(2 * n)],
        "s": [int(i % 7 > 4) for i in range(2 * n)],
        "note": [DROPPED] * (2 * n),
    }
    source = tmp_path / f"{FILE}.csv"
    lines = (",".join(str(column[i]) for column in rows.values()) for i in range(2 * n))
    source.write_text("\n".join([",".join(rows), *lines]) + "\n", encoding="utf-8")
    columns = ["--id", "who", "--time", "t"]
    more = ["--private-report", "--overwrite"]
    out = {verb: str(tmp_path / f"{verb}.{kind}") for verb in ("quantize", "switch", "redact")}
    cells = ["--low", "0", "--high", "64", "--bits", "3"]
    reticent("quantize", str(source), *columns, "--value", "v", *cells, *more, "-o", out["quantize"])
    switch = ["--window", "4", "--epsilon", "1", "--dataset", "b"]
    reticent("switch", str(source), *columns, "--value", "v", *switch, *more, "-o", out["switch"])
    model = tmp_path / "chain.json"
    reticent("fit", str(source), *columns, "--value", "s", "--until", "20", "-o", str(model))
    secret = ["--private", "60/63", "--epsilon", "2", "--model", str(model), "--mechanism", "quilt", "--no-diagnosis"]
    reticent("redact", str(source), *columns, "--value", "s", *secret, "--dataset", "c", *more, "-o", out["redact"])
    page = str(tmp_path / "explorer.html")
    reticent("explore", str(source), *columns, "--value", "v", "--no-open", "-o", page)
    return tmp_path, kind, capsys.readouterr()


def test_the_canary_sings_in_private_only(released: tuple[Path, str, Any]) -> None:
    folder, kind, said = released
    for verb in ("quantize", "switch", "redact"):
        data, report, certificate = (
            folder / f"{verb}.{kind}{suffix}" for suffix in ("", ".report.html", ".certificate.json")
        )
        assert found(data, DROPPED) == []
        for public in (report, certificate):
            for canary in (NUMBER, NAME, DROPPED):
                assert found(public, canary) == [], (public.name, canary)
            assert FILE not in public.read_text(encoding="utf-8")
    assert found(folder / f"quantize.{kind}", NUMBER) == []
    assert found(folder / f"switch.{kind}", NUMBER)  # a switch releases its values: the test can fail
    assert found(folder / f"switch.{kind}.PRIVATE.report.html", NUMBER)
    assert found(folder / f"quantize.{kind}", NAME)
    page = folder / "explorer.html"
    assert folder.name not in page.read_text(encoding="utf-8")  # the path is nobody's business
    assert FILE in page.read_text(encoding="utf-8")  # in the command
    for canary in (NUMBER, NAME, DROPPED):
        assert found(page, canary) == []
        assert str(canary) not in said.out + said.err
