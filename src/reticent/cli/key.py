"""key: what certificates are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Keys to sign certificates with.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Keys to sign certificates with."""


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="KEY", help="Where the private key goes; KEY.pub is for verifiers.")],
) -> None:
    """Make a key: sign with --sign KEY, hand out KEY.pub, keep KEY to yourself."""
    from reticent.signatures import new_key, public_path

    name = new_key(file)
    typer.echo(f"key:         {name}")
    typer.echo(f"private:     {file} (readable by you alone; whoever has it can sign as you)")
    typer.echo(f"public:      {public_path(file)}")
