"""Signatures, the schema, and what `verify` finds."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

import reticent as rt
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, VerificationError
from reticent.signatures import new_key, public_path

TABLE = pa.table({"t": list(range(40)), "v": [i % 2 for i in range(40)]})
CHAIN = rt.MarkovChain.binary(0.1, 0.2)


def _issue(action: str, **options: Any) -> Certificate:
    common: dict[str, Any] = {"time": "t", "value": "v", **options}
    match action:
        case "switch":
            return rt.tables.switch(TABLE, window=4, epsilon=2.0, **common).certificate
        case "quantize":
            return rt.tables.quantize(TABLE, low=0, high=1, outputs=2, **common).certificate
    return rt.tables.redact(TABLE, private="10/12", epsilon=1.0, model=CHAIN, **common).certificate


ACTIONS = ("switch", "quantize", "redact")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_key(tmp_path / "key")
    return tmp_path / "key"


def schema() -> dict[str, Any]:
    text = resources.files("reticent").joinpath("schemas/certificate.schema.json").read_text()
    found = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@pytest.mark.parametrize("action", ACTIONS)
def test_certificates_have_the_form_that_the_schema_states(action: str, key: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    certificate = _issue(action)
    for each in (certificate, certificate.signed(key)):
        validator.validate(json.loads(each.to_json()))
    for spoiled in (
        {"schema": 2},
        {"digest": "00"},
        {"action": "publish"},
        {"randomness": "none"},
        {"path": "/home/me/input.csv"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**certificate.body, **spoiled})
    for missing in certificate.body:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({name: value for name, value in certificate.body.items() if name != missing})


@pytest.mark.parametrize("action", ACTIONS)
def test_unsigned_is_consistent_and_signed_names_the_key(action: str, key: Path) -> None:
    certificate = _issue(action)
    assert certificate.verify().verdict == "consistent"
    signed = Certificate.parse(certificate.signed(key).to_json())
    assert signed.signature is not None
    name = signed.signature["key"]
    assert signed.verify(key=public_path(key)).verdict == f"signed by {name}"
    assert signed.verify(key=key).verdict == f"signed by {name}"
    without = signed.verify()
    assert without.verdict == "consistent"
    assert ("signature", f"by the key {name}, not checked: give it with --key") in without.checks
    with pytest.raises(VerificationError, match="nobody has signed"):
        certificate.verify(key=key)


def test_checks_say_what_is_exact_and_what_is_assumed() -> None:
    checks = dict(_issue("quantize").verify().checks)
    assert "recomputed exactly from the parameters: cells, guarantee, series, utility" in checks["claims"]
    assert "When a reading exists is public." in [text for _, text in _issue("quantize").verify().checks]


def test_another_key_is_found(key: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    new_key(other)
    signed = _issue("switch").signed(other)
    with pytest.raises(VerificationError, match=r"it is by the key .*, not by"):
        signed.verify(key=key)
    assert signed.signature is not None
    mine = _issue("switch").signed(key).signature
    assert mine is not None
    forged = Certificate({**signed.body, "signature": {**signed.signature, "key": mine["key"]}})
    with pytest.raises(VerificationError, match="not of this certificate, or was altered"):
        forged.verify(key=key)


@pytest.mark.parametrize("action", ACTIONS)
def test_every_change_is_found(action: str, key: Path) -> None:
    """Each number and text, one after the other; the digest too is made anew, as a forger would."""
    from reticent.certificates import _digest

    signed = _issue(action).signed(key)

    def places(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if isinstance(value, dict):
            return [place for name, each in value.items() for place in places(each, (*where, name))]
        if isinstance(value, list):
            return [place for i, each in enumerate(value) for place in places(each, (*where, i))]
        return [where]

    for place in places(signed.body):
        if place[0] in ("signature", "schema", "format"):
            continue
        body = copy.deepcopy(dict(signed.body))
        inner: Any = body
        for name in place[:-1]:
            inner = inner[name]
        old = inner[place[-1]]
        inner[place[-1]] = (
            (not old) if isinstance(old, bool) else old + 1 if isinstance(old, int | float) else f"{old}x"
        )
        with pytest.raises(VerificationError):
            Certificate(body).verify(key=key)
        if place != ("digest",):
            body["digest"] = _digest({k: v for k, v in body.items() if k not in ("digest", "signature")})
            with pytest.raises(VerificationError):
                Certificate(body).verify(key=key)


def test_a_newer_schema_is_not_read(tmp_path: Path) -> None:
    body = dict(_issue("switch").body)
    for other in (2, True, 1.0, "1", None):
        with pytest.raises(VerificationError, match="another schema"):
            Certificate.parse(json.dumps({**body, "schema": other}))
    with pytest.raises(VerificationError, match="signature"):
        Certificate({**body, "signature": {"algorithm": "none"}}).verify()


def test_keys_are_never_overwritten_and_readable_by_their_owner_alone(key: Path, tmp_path: Path) -> None:
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(ArgumentError, match="exists"):
        new_key(key)
    with pytest.raises(ArgumentError, match="cannot be written"):
        new_key(tmp_path / "nowhere" / "key")
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("no key")
    certificate = _issue("switch")
    for path in (nonsense, tmp_path / "absent", public_path(key)):
        with pytest.raises(ArgumentError, match="sign"):
            certificate.signed(path)
    for path in (nonsense, tmp_path / "absent"):
        with pytest.raises(VerificationError, match="key"):
            certificate.signed(key).verify(key=path)
