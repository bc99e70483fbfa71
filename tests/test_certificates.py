"""Certificates: strict JSON, every field counts, hostile ones get a sentence, and nothing private stands in them."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent as rt
from reticent import reports, tables
from reticent.certificates import Certificate, _digest
from reticent.claims import claims
from reticent.errors import VerificationError

CHAIN = rt.MarkovChain.binary(0.2, 0.3)
VERBS = ("switch", "quantize", "redact")
Path_ = tuple[Any, ...]


def table(n: int = 60) -> pa.Table:
    return pa.table({"id": ["a"] * (n // 2) + ["b"] * (n - n // 2), "t": range(n), "v": [i // 3 % 2 for i in range(n)]})


def release(verb: str, source: Any, output: Path | None = None, **options: Any) -> tables.Release:
    common: dict[str, Any] = {"id": "id", "time": "t", "value": "v", "output": output, "ledger": False, **options}
    if verb == "switch":
        return tables.switch(source, window=4, epsilon=2.0, source=rt.secure_source(), **common)
    if verb == "quantize":
        return tables.quantize(source, low=0, high=1, outputs=2, **common)
    return tables.redact(source, private="10/12", epsilon=1.0, model=CHAIN, **common)


@pytest.fixture(scope="module", params=VERBS)
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A released file and the body of its certificate."""
    out = tmp_path_factory.mktemp(request.param) / "out.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "public_report", lambda certificate: "")
        outputs = release(request.param, table(), out).outputs
    assert outputs is not None
    return out, json.loads(outputs.certificate.read_text(encoding="utf-8"))


def verify(body: Any, out: Path | None = None) -> Any:
    return Certificate.parse(body if isinstance(body, str) else json.dumps(body)).verify(out)


def coherent(body: dict[str, Any], claimed: bool = True) -> dict[str, Any]:
    """With the digest of what it now says, and (unless the claims are what was altered) its claims computed afresh."""
    body = json.loads(json.dumps({key: value for key, value in body.items() if key != "digest"}))
    if claimed:
        body["claims"] = json.loads(json.dumps(claims(body["action"], body["parameters"], body["released"])))
    return {**body, "digest": _digest(body)}


def places(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Every key and every element, at every depth."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*at, key)
        yield from places(part, (*at, key))


def altered(value: Any) -> list[Any]:
    """Other values of about the same kind."""
    match value:
        case bool():
            return [not value, None, int(value)]
        case int() | float():
            return [value + 1, -value - 1, value * (1 + 1e-6) + 1e-6, str(value), None, True]
        case str():
            return [value + "x", value[:-1], "", None, 0]
        case None:
            return [0, False, "null"]
        case dict():
            return [{}, {**value, "more": 1}, [], None]
    return [[], [*value, 0], {}, None]


def changed(body: dict[str, Any], at: Path_, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    inner: Any = body
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return body


def at_place(body: Any, at: Path_) -> Any:
    for key in at:
        body = body[key]
    return body


def test_the_certificate_as_it_is_verifies(released: tuple[Path, dict[str, Any]]) -> None:
    out, body = released
    assert verify(body).verdict == "consistent"
    assert verify(body, out).verdict == "consistent"


def test_any_change_of_any_field_is_found(released: tuple[Path, dict[str, Any]]) -> None:
    _, body = released
    tried = 0
    for at in places(body):
        value = at_place(body, at)
        holder = at_place(body, at[:-1])
        variants = [changed(body, at, other) for other in altered(value) if json.dumps(other) != json.dumps(value)]
        without = copy.deepcopy(body)
        del at_place(without, at[:-1])[at[-1]]
        variants.append(without)
        if isinstance(holder, dict):
            renamed = copy.deepcopy(body)
            inner = at_place(renamed, at[:-1])
            inner[f"{at[-1]}x"] = inner.pop(at[-1])
            variants.append(renamed)
        for variant in variants:
            tried += 1
            with pytest.raises(VerificationError):
                verify(variant)
    assert tried > 300


def test_a_change_with_a_new_digest_is_at_most_consistent(released: tuple[Path, dict[str, Any]]) -> None:
    """Nothing but a sentence or *consistent* may come of it, whatever was put in; against the file too."""
    out, body = released
    for at in places(body):
        if at[0] == "digest":
            continue
        for number, other in enumerate(altered(at_place(body, at))):
            variant = coherent(changed(body, at, other), claimed=False)
            for file in (None, out)[: 2 if number == 0 else 1]:
                with contextlib.suppress(VerificationError):
                    assert verify(variant, file).verdict == "consistent"


def test_claims_that_do_not_follow_from_the_parameters_are_found(released: tuple[Path, dict[str, Any]]) -> None:
    _, body = released
    for at in places(body["claims"]):
        value = at_place(body["claims"], at)
        for other in altered(value):
            if json.dumps(other) == json.dumps(value) or (isinstance(value, int | float) and other == value):
                continue
            with pytest.raises(VerificationError):
                verify(coherent(changed(body, ("claims", *at), other), claimed=False))


def test_a_forger_who_computes_the_claims_afresh_gets_no_more_than_consistent(
    released: tuple[Path, dict[str, Any]],
) -> None:
    _, body = released
    forged = 0
    for at in places(body["parameters"]):
        for other in altered(at_place(body["parameters"], at)):
            try:
                variant = coherent(changed(body, ("parameters", *at), other))
            except Exception:  # parameters that no mechanism has
                continue
            forged += 1
            with contextlib.suppress(VerificationError):
                assert verify(variant).verdict == "consistent"
    assert forged > 3


def test_asking_for_less_than_is_kept_is_found(released: tuple[Path, dict[str, Any]]) -> None:
    _, body = released
    name = "outputs" if body["action"] == "quantize" else "epsilon"
    with pytest.raises(VerificationError, match="worse than what was asked for"):
        verify(coherent(changed(body, ("parameters", "asked", name), 0.01)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("verb", VERBS)
def test_one_byte_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, suffix: str) -> None:
    monkeypatch.setattr(reports, "public_report", lambda certificate: "")
    out = tmp_path / f"out{suffix}"
    certificate = release(verb, table(), out).certificate
    content = out.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 40)):
        out.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(VerificationError, match="SHA-256"):
            certificate.verify(out)
    for other in (content + b"\n", content[:-1], b""):
        out.write_bytes(other)
        with pytest.raises(VerificationError, match="SHA-256"):
            certificate.verify(out)
    out.write_bytes(content)
    assert certificate.verify(out).checks
    with pytest.raises(VerificationError, match="cannot be read"):
        certificate.verify(tmp_path / "none")
    with pytest.raises(VerificationError, match="SHA-256"):  # a release may be a folder, but not this one
        certificate.verify(tmp_path)


def test_strict_json(released: tuple[Path, dict[str, Any]]) -> None:
    _, body = released
    text = json.dumps(body)
    for odd in ("NaN", "Infinity", "-Infinity", "1e400", "-1e999"):
        with pytest.raises(VerificationError):
            verify(text.replace('"schema": 1', f'"schema": {odd}'))
        with pytest.raises(VerificationError, match="strict JSON"):
            verify(text[:-1] + f', "more": {odd}' + "}")
    with pytest.raises(VerificationError, match="occurs twice"):
        verify(text[:-1] + ', "schema": 1}')
    with pytest.raises(VerificationError, match="occurs twice"):
        verify(text.replace('"asked": {', '"asked": {"epsilon": 1, "epsilon": 1, ', 1))


NO_CERTIFICATES = ["", " ", "null", "[]", "1", '"x"', "{}", "{", "[" * 100_000, '{"a":' * 100_000, "1" * 5000, "\x00",
                   '{"format": "reticent certificate"}', '{"format": "reticent certificate", "schema": 1}',
                   '{"format": ["reticent certificate"]}', "\ufeff{}", '"\\ud800"']  # fmt: skip


@pytest.mark.parametrize("text", NO_CERTIFICATES)
def test_what_is_no_certificate(text: str) -> None:
    with pytest.raises(VerificationError):
        verify(text)


@pytest.mark.parametrize("schema", [2, 0, "1", None, 1.5, 10**30])
def test_another_schema_gets_a_clear_sentence(released: tuple[Path, dict[str, Any]], schema: Any) -> None:
    with pytest.raises(VerificationError, match="another schema than this version reads"):
        verify({**released[1], "schema": schema})


HOSTILE = [10**400, -(10**400), 1e308, 5e-324, "x" * 10**5, "\ud800", [[[[]]]], {"a": {"b": {}}}, "infinity",
           "nan", [None] * 50, {"mechanism": "switch"}, True, -1, 2**63, "../../etc/passwd"]  # fmt: skip


@pytest.mark.parametrize(
    "turn", [*range(3), *(pytest.param(turn, marks=pytest.mark.slow) for turn in range(3, len(HOSTILE)))]
)
def test_hostile_values_anywhere_never_end_in_a_traceback(released: tuple[Path, dict[str, Any]], turn: int) -> None:
    """Every place gets one of the values in each turn, and all of them in all turns."""
    out, body = released
    for number, at in enumerate(places(body)):
        variant = changed(body, at, HOSTILE[(number + turn) % len(HOSTILE)])
        with contextlib.suppress(VerificationError):
            assert (
                verify(variant if at[0] == "digest" else coherent(variant, claimed=False), out).verdict == "consistent"
            )


def test_deep_nesting_inside(released: tuple[Path, dict[str, Any]]) -> None:
    body = copy.deepcopy(released[1])
    deep: Any = 0
    for _ in range(900):
        deep = [deep]
    for at in (("parameters", "asked"), ("claims",), ("released", "columns")):
        with pytest.raises(VerificationError):
            verify(changed(body, at, deep))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{\x80}"])
def test_files_that_are_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(VerificationError, match="not UTF-8"):
        Certificate.read(tmp_path / "c.json")
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(VerificationError, match="cannot be read"):
            Certificate.read(place)


@pytest.mark.parametrize("verb", VERBS)
def test_a_certificate_of_a_frame_names_no_file(tmp_path: Path, verb: str) -> None:
    certificate = release(verb, table()).certificate
    assert certificate.verify().verdict == "consistent"
    (tmp_path / "x.csv").write_text("id,t,v\n")
    with pytest.raises(VerificationError, match="frame"):
        certificate.verify(tmp_path / "x.csv")


def test_a_seed_is_said() -> None:
    done = tables.switch(table(), id="id", time="t", value="v", window=4, epsilon=2.0, source=rt.seeded_source(1))
    assert not done.certificate.private
    assert any("NOT PRIVATE" in how for _, how in done.certificate.verify().checks)
    assert release("switch", table()).certificate.private


def test_nothing_private_stands_in_certificate_or_report(tmp_path: Path) -> None:
    """Values, the input's name, dropped columns, and which word stood where."""
    folder = tmp_path / "CANARYFOLDER"
    folder.mkdir()
    states = ["off", "on"] * 30
    states[11] = "CANARYSTATE"
    source = folder / "CANARYNAME.parquet"
    frame = table().set_column(2, "v", pa.array(states)).append_column("CANARYCOLUMN", pa.array(["CANARYTEXT"] * 60))
    pa.parquet.write_table(frame, source)
    chain = rt.MarkovChain([[0.4, 0.4, 0.2]] * 3, ("off", "on", "CANARYSTATE"))
    out = tmp_path / "out.csv"
    tables.redact(
        source, id="id", time="t", value="v", private="10/12", epsilon=0.5, model=chain, output=out, ledger=False
    )  # fmt: skip
    for path in (out, tmp_path / "out.csv.certificate.json", tmp_path / "out.csv.report.html"):
        text = path.read_text(encoding="utf-8")
        if path == out:
            assert "CANARY" not in text
        for canary in ("CANARYFOLDER", "CANARYNAME", "CANARYCOLUMN", "CANARYTEXT", str(tmp_path)):
            assert canary not in text


def test_the_draw_and_the_secrets_do_not_show_in_a_certificate() -> None:
    """Two series that differ in the secrets alone, and two draws: one certificate."""
    one = table()
    flipped = [1 - v if 10 <= t <= 12 else v for t, v in enumerate(one["v"].to_pylist())]
    other = one.set_column(2, "v", pa.array(flipped))
    for verb in ("switch", "redact"):
        assert len({release(verb, frame).certificate.to_json() for frame in (one, other, one)}) == 1


def test_the_text_reads_back_the_same(released: tuple[Path, dict[str, Any]]) -> None:
    certificate = Certificate(released[1])
    assert Certificate.parse(certificate.to_json()).to_json() == certificate.to_json()
    assert not {"NaN", "Infinity"} & set(certificate.to_json().replace('"', " ").split())


@pytest.mark.parametrize("n", [39_999_999_999, 10**18, 10**30])
def test_a_mechanism_that_nobody_made_takes_no_memory(n: int) -> None:
    body = copy.deepcopy(dict(release("redact", table()).certificate.body))
    for mechanism in body["parameters"]["mechanisms"]:
        mechanism["n"] = n
    with pytest.raises(VerificationError, match="do not describe a mechanism \\(ArgumentError\\)"):
        verify(coherent(body, claimed=False))
