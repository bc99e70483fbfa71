"""The command line: the verbs of the library under the same names."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Annotated, cast

import typer

from reticent._version import __version__
from reticent.cli import advise, attack, demo, experiment, explore, follow, inspect, key, ledger, model, release
from reticent.cli.terminal import one_line

app = typer.Typer(
    name="reticent",
    cls=follow.Commands,
    help="Release time series truthfully, with a privacy guarantee that is checked exactly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_INTERRUPTED = 130
_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])  # typer names its kinds only


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"reticent {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Release time series truthfully, with a privacy guarantee that is checked exactly."""


app.command("demo")(demo.demo)
app.command("redact")(release.redact)
app.command("switch", epilog=follow.ALSO.format("switch"))(release.switch)
app.command("quantize", epilog=follow.ALSO.format("quantize"))(release.quantize)
app.command("switch --follow", hidden=True)(follow.switch)
app.command("quantize --follow", hidden=True)(follow.quantize)
app.command("advise")(advise.advise)
app.command("explore")(explore.explore)
app.command("fit")(model.fit)
app.command("attack")(attack.attack)
app.command("verify")(inspect.verify)
app.command("experiment")(experiment.experiment)
app.command("audit")(inspect.audit)
app.add_typer(key.app, name="key")
app.add_typer(ledger.app, name="ledger")


def _complain(message: str) -> None:
    """One line, whatever stands in the names of columns and files: no line end, and nothing that steers a terminal."""
    typer.echo(f"reticent: {one_line(message)}", err=True)


class _NoFrames(MetaPathFinder):
    """Hides pandas, which PyArrow imports wherever it is installed, for half a second: no command needs it."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("commands do without", name=fullname)


def command() -> None:
    """The process of a command."""
    sys.meta_path.insert(0, _NoFrames())
    main()


def main() -> None:
    """Run a command; errors are one sentence, and a traceback only with ``--debug``."""
    from reticent.errors import ArgumentError, ReticentError

    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    try:
        code = app(args=[each for each in arguments if each != "--debug"], standalone_mode=not arguments)
    except _UsageError as error:  # which the parser would tell in a box of many lines
        context = getattr(error, "ctx", None)
        if type(error).__name__ != "NoArgsIsHelpError":  # which has printed the help
            message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
            _complain(f"{message} (see {context.command_path if context else 'reticent'} -h)")
        raise SystemExit(2) from None
    except (ReticentError, OSError, MemoryError) as error:
        if debug:
            raise
        _complain(str(error))
        raise SystemExit(2 if isinstance(error, ArgumentError) else 1) from None
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted; nothing was released")
        raise SystemExit(_INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        _complain(f"an unexpected {type(error).__name__}; nothing was released (--debug shows where)")
        raise SystemExit(1) from None
    if code == _INTERRUPTED:  # which the parser may have caught
        _complain("interrupted; nothing was released")
    raise SystemExit(code if isinstance(code, int) else 0)
