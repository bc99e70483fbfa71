"""verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options as opt


def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="OUT.certificate.json")],
    released: Annotated[Path | None, typer.Argument(metavar="OUT", help="The released file.")] = None,
    as_json: opt.JSON = False,
) -> None:
    """Recompute the claim of a certificate, and check that OUT is the file it speaks of; needs no private data."""
    from reticent.certificates import Certificate

    checked = Certificate.read(certificate)
    result = checked.verify(released)
    if as_json:
        body = {"verdict": result.verdict, "checks": [list(each) for each in result.checks]}
        typer.echo(json.dumps(body, ensure_ascii=False, indent=2))
        return
    for what, how in result.checks:
        typer.echo(f"{what + ':':15}{how}")
    if released is None:
        typer.echo("released file: not checked; name it after the certificate")
    typer.echo(f"{'verdict:':15}{result.verdict} (nobody has signed it)")
    typer.echo(f"{'promise:':15}{checked.claims['guarantee']['promise']}")
