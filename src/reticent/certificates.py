"""Certificates: what was done, what it promises, and everything that is needed to recompute the claim.

Strict JSON (infinity is the string "infinity"). A certificate is a function of public parameters and of the released
file alone. `verify` recomputes every claim from the parameters, with no private data; without a signature it says at
most *consistent*, since several fields can be altered together. The form is that of `schemas/certificate.schema.json`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent._version import __version__
from reticent.claims import claims
from reticent.errors import RefusedError, VerificationError

FORMAT = "reticent certificate"
SCHEMA = 1
TOLERANCE = 1e-9

SECURE = "secure"
SEEDED = "seeded: not private"

_FIELDS = frozenset(
    {"format", "schema", "library", "action", "randomness", "parameters", "claims", "released", "digest"}
)


@dataclass(frozen=True)
class Verification:
    """What was checked, line by line.

    Attributes
    ----------
    checks : tuple of (str, str)
        What was checked and how it came out: what was recomputed exactly, what is statistical, what is assumed.
    verdict : str
        *consistent*: all that can be recomputed agrees, and nobody vouches for the parameters. *signed by …*: the
        holder of that key does.
    """

    checks: tuple[tuple[str, str], ...]
    verdict: str = "consistent"


@dataclass(frozen=True, eq=False)
class Certificate:
    """The public account of one release.

    Parameters
    ----------
    body : mapping
        Plain JSON values.
    """

    body: Mapping[str, Any]

    @classmethod
    def issue(cls, action: str, parameters: dict[str, Any], released: dict[str, Any], seeded: bool) -> Certificate:
        """Compute the claims of a release and write them down.

        Raises
        ------
        RefusedError
            The exact guarantee is worse than what was asked for.
        """
        stated = claims(action, parameters, released)
        if not stated["kept"]:
            raise RefusedError(
                "the exact guarantee of this release is worse than what was asked for, so nothing is released"
            )
        body = {
            "format": FORMAT,
            "schema": SCHEMA,
            "library": __version__,
            "action": action,
            "randomness": SEEDED if seeded else SECURE,
            "parameters": parameters,
            "claims": stated,
            "released": released,
        }
        body = json.loads(_dumps(body))
        return cls({**body, "digest": _digest(body)})

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a certificate.

        Raises
        ------
        VerificationError
            A file that is no certificate, is no strict JSON, or is of a schema that this version does not know.
        """
        path = Path(path)
        try:
            return cls.parse(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise VerificationError(f"certificate: {path.name} cannot be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise VerificationError(f"certificate: {path.name} is not UTF-8 text") from None

    @classmethod
    def parse(cls, text: str) -> Certificate:
        """A certificate from its text; see `read`."""
        try:
            body = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_no_constants, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise VerificationError(f"certificate: not strict JSON ({error})") from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise VerificationError("certificate: this file is not a certificate of a release")
        if type(body.get("schema")) is not int or body["schema"] != SCHEMA:
            raise VerificationError(
                "certificate: it has another schema than this version reads; verify it with the version that wrote it"
            )
        if set(body) - {"signature"} != _FIELDS:
            odd = ", ".join(sorted((set(body) - {"signature"}) ^ _FIELDS))
            raise VerificationError(f"certificate: fields are missing or unknown ({odd})")
        return cls(body)

    @property
    def action(self) -> str:
        """redact, switch or quantize."""
        return str(self.body["action"])

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The public parameters."""
        return self.body["parameters"]

    @property
    def claims(self) -> Mapping[str, Any]:
        """What is claimed, all of it recomputable."""
        return self.body["claims"]

    @property
    def released(self) -> Mapping[str, Any]:
        """What the released file shows of itself: hash, rows, columns."""
        return self.body["released"]

    @property
    def private(self) -> bool:
        """False where a seed was used."""
        return self.body["randomness"] == SECURE

    @property
    def signature(self) -> Mapping[str, str] | None:
        """Algorithm, name of the key, value; None where nobody has signed."""
        return self.body.get("signature")

    def to_json(self) -> str:
        """Strict JSON text."""
        return _dumps(self.body, indent=2) + "\n"

    def signed(self, key: str | Path) -> Certificate:
        """The same certificate, signed with the private key in a file."""
        from reticent.signatures import sign

        return Certificate({**self.body, "signature": sign(str(self.body["digest"]), key)})

    def verify(self, released: str | Path | None = None, key: str | Path | None = None) -> Verification:
        """Recompute the claim; with `released`, check that it is the file and a possible outcome of the mechanism.

        Parameters
        ----------
        released : path, optional
        key : path, optional
            The public key of whoever is said to have signed.

        Raises
        ------
        VerificationError
            The first thing that does not hold, in one sentence.
        """
        try:  # whoever wrote a certificate may have put anything into it
            stated = {name: value for name, value in self.body.items() if name not in ("digest", "signature")}
            unchanged = self.body["digest"] == _digest(stated)
            recomputed = json.loads(_dumps(claims(self.action, self.parameters, self.released))) if unchanged else {}
            difference = _difference(recomputed, self.claims)
        except Exception as error:
            raise VerificationError(
                f"certificate: its parameters do not describe a mechanism ({type(error).__name__})"
            ) from None
        if not unchanged:
            raise VerificationError("certificate: it was changed after it was written (its digest differs)")
        if self.body["randomness"] not in (SECURE, SEEDED):
            raise VerificationError("certificate: randomness must be 'secure' or 'seeded: not private'")
        if difference:
            raise VerificationError(f"certificate: {difference} is not what the parameters give")
        if not recomputed["kept"]:
            raise VerificationError("certificate: the guarantee is worse than what was asked for")
        checks = [("certificate", "unchanged since it was written"), *_basis(self.claims)]
        if released is not None:
            from reticent.tables.checking import check_released

            checks += check_released(Path(released), self)
        if not self.private:
            checks.append(("randomness", "a seed was used: NOT PRIVATE"))
        verdict = self._verdict(key, checks)
        return Verification(tuple(checks), verdict)

    def _verdict(self, key: str | Path | None, checks: list[tuple[str, str]]) -> str:
        from reticent.signatures import check_form, signer

        if self.signature is None:
            if key is not None:
                raise VerificationError("signature: nobody has signed this certificate")
            return "consistent"
        if key is None:
            check_form(self.signature)
            checks.append(("signature", f"by the key {self.signature['key']}, not checked: give it with --key"))
            return "consistent"
        return f"signed by {signer(self.signature, str(self.body['digest']), key)}"


def _basis(claimed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which claims were recomputed exactly, which are statistical, which are assumptions."""
    statistical = bool(claimed["guarantee"].get("statistical"))
    names = [name for name in claimed if name not in ("kept", "assumptions", *(("guarantee",) if statistical else ()))]
    lines = [("claims", f"recomputed exactly from the parameters: {', '.join(sorted(names))}")]
    if statistical:
        lines.append(("statistical", "guarantee: δ is an upper confidence bound from simulation, not an exact number"))
    return lines + [("assumed", each) for each in claimed["assumptions"]]


def _dumps(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=indent)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_dumps(dict(body)).encode("utf-8", "surrogatepass")).hexdigest()


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise ValueError("a field occurs twice")
    return body


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _no_constants(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _difference(one: Any, other: Any, where: str = "claims") -> str | None:
    """The first place where two JSON values differ (numbers: by more than 1e-9 of their size)."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return None if one is other else where
    if isinstance(one, int | float) and isinstance(other, int | float):
        return None if math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12) else where
    if isinstance(one, dict) and isinstance(other, dict):
        if set(one) != set(other):
            return where
        places = (_difference(one[key], other[key], f"{where}.{key}") for key in sorted(one))
        return next(filter(None, places), None)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        places = (_difference(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(one, other, strict=True)))
        return next(filter(None, places), None)
    return None if type(one) is type(other) and one == other else where
