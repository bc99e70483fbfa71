"""verify and audit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import one_line, say, say_json
from reticent.errors import ReticentError, VerificationError

if TYPE_CHECKING:
    from reticent.certificates import Certificate

Rows = list[tuple[str, ...]]


def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="OUT.certificate.json")],
    released: Annotated[Path | None, typer.Argument(metavar="OUT", help="The released file.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Public key of whoever is said to have signed.")] = None,
    as_json: opt.JSON = False,
) -> None:
    """Recompute the claim of a certificate, and check that OUT is the file it speaks of; needs no private data."""
    from reticent.certificates import Certificate

    checked = Certificate.read(certificate)
    result = checked.verify(released, key)
    if as_json:
        body = {"verdict": result.verdict, "checks": [list(each) for each in result.checks]}
        say_json(body)
        return
    for what, how in result.checks:
        say(one_line(f"{what + ':':15}{how}"))
    if released is None:
        say("released file: not checked; name it after the certificate")
    say(one_line(f"{'verdict:':15}{result.verdict}{'' if checked.signature else ' (nobody has signed it)'}"))
    say(one_line(f"{'promise:':15}{checked.claims['guarantee']['promise']}"))


def audit(
    file: Annotated[Path, typer.Argument(metavar="CERTIFICATE|POLICY", help="A certificate, or a policy's JSON.")],
    as_json: opt.JSON = False,
) -> None:
    """Compute what a certificate or a policy leaks: every secret, the privacy curve, the cells; nothing is believed."""
    from reticent.certificates import FORMAT, Certificate

    try:
        body = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise VerificationError(f"input: {file.name} cannot be read ({error.strerror})") from None
    except ValueError:
        raise VerificationError(f"input: {file.name} is no JSON") from None
    if isinstance(body, dict) and body.get("format") == FORMAT:
        certificate = Certificate.read(file)
        certificate.verify()
        header, rows = _AUDITS[certificate.action](certificate)
    else:
        header, rows = _policy(body, file.name)
    if as_json:
        say_json([dict(zip(header, row, strict=True)) for row in rows])
        return
    _print(header, rows)


def _policy(body: Any, name: str) -> tuple[tuple[str, ...], Rows]:
    from reticent.claims import redaction_of

    try:
        mechanism = redaction_of(body)
    except (ReticentError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError):
        raise VerificationError(f"input: {name} is neither a certificate nor a redaction policy") from None
    return _secrets([mechanism])


def _redaction(certificate: Certificate) -> tuple[tuple[str, ...], Rows]:
    from reticent.claims import redaction_from_dict

    parameters = certificate.parameters
    return _secrets([redaction_from_dict(each, parameters["chains"]) for each in parameters["mechanisms"]])


def _secrets(mechanisms: list[Any]) -> tuple[tuple[str, ...], Rows]:
    rows: Rows = [
        (str(number), str(mechanism.n), _span(secret), f"{leakage:.6f}", f"{mechanism.utility():.4f}")
        for number, mechanism in enumerate(mechanisms, start=1)
        for secret, leakage in zip(mechanism.private, mechanism.leakages, strict=True)
    ]
    return ("design", "records", "secret", "leakage (nats)", "released"), rows


def _span(secret: tuple[int, int]) -> str:
    first, last = secret
    return str(first) if first == last else f"{first}-{last}"


def _switching(certificate: Certificate) -> tuple[tuple[str, ...], Rows]:
    from reticent.claims import switch_of

    switch = switch_of(certificate.parameters)
    own = switch.guarantee
    rows: Rows = []
    for window in sorted({2, max(own.window // 2, 2), own.window, 2 * own.window}):
        at = switch.guarantee_at(window=window)
        said = "statistical" if at.statistical else "exact"
        rows.append(
            (str(window), "infinity" if math.isinf(at.epsilon) else f"{at.epsilon:.6f}", f"{at.delta:.6g}", said)
        )
    return ("window (steps)", "epsilon (nats)", "delta", "computed"), rows


def _quantization(certificate: Certificate) -> tuple[tuple[str, ...], Rows]:
    claimed = certificate.claims
    if claimed["guarantee"]["kind"] == "none":
        levels = (
            (name, str(each))
            for name, each in zip(certificate.released["columns"]["value"], claimed["utility"]["levels"], strict=True)
        )
        return ("column", "cells (no guarantee)"), list(levels)
    guarantee, series = claimed["guarantee"], claimed["series"]
    rows: Rows = [
        (
            str(cells["levels"]),
            f"{cells['narrowest']:g}",
            f"{cells['widest']:g}",
            str(guarantee["outputs"]),
            f"{guarantee['bits']:.6g}",
            f"{series['bits']:.6g}",
        )
        for cells in claimed["cells"]
    ]
    return ("cells", "narrowest", "widest", "outputs", "bits a reading", "bits a series"), rows


def _print(header: tuple[str, ...], rows: Rows) -> None:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        say(one_line("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))))


_AUDITS = {"redact": _redaction, "switch": _switching, "quantize": _quantization}
