"""The `regard` program: which commands there are, and what becomes of an error."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from regard.cli import stop
from regard.cli.audit import audit
from regard.cli.audit_hf import audit_hf
from regard.cli.demo import demo
from regard.cli.explain import explain
from regard.cli.export import export
from regard.cli.info import info
from regard.cli.mechanisms import mechanisms
from regard.cli.predict import predict
from regard.cli.report import report
from regard.cli.reproduce import reproduce
from regard.cli.serve import serve
from regard.cli.systems import run, systems
from regard.cli.train import train
from regard.cli.words import words
from regard.errors import RegardError

_INTERRUPTED = 130  # what Typer makes of an interrupt between the program's start and its command

app = typer.Typer(
    name="regard",
    help="Train a text classifier whose attention is exact, and see which words speak, how loudly, and for whom.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(version("regard"))
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Options of the program itself."""


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """One sentence on standard error and exit code 1, never a traceback, for what the user can mend."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except RegardError as error:
            _fail(str(error))
        except KeyboardInterrupt:
            stop()
        except BrokenPipeError:
            # Whoever read our output, such as `head`, has had enough. Python must not try to flush what is left.
            _discard_output()
        except OSError as error:
            _discard_output()
            what = error.filename or "Standard output"
            _fail(f"{what} must be readable or writable, but: {error.strerror or error}; name another place.")
        except MemoryError:
            _fail("There was not enough memory; use fewer texts, a larger --min-count, or --ngrams 1.")

    return run


def _fail(sentence: str) -> None:
    print(f"regard: {sentence}", file=sys.stderr)
    raise typer.Exit(1)


def _discard_output() -> None:
    """Let Python flush what is left to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_COMMANDS = (
    demo,
    train,
    predict,
    explain,
    words,
    audit,
    audit_hf,
    report,
    export,
    serve,
    info,
    mechanisms,
    reproduce,
)
for _command in _COMMANDS:
    app.command(_command.__name__.replace("_", "-"))(_guarded(_command))

_systems = typer.Typer(rich_markup_mode="rich")
_systems.callback(invoke_without_command=True)(_guarded(systems))
_systems.command()(_guarded(run))
app.add_typer(_systems, name="systems")


def main() -> None:
    """Run the program."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows an escape instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            stop()
        raise
