"""The command ``spanseal``: finds its commands, and turns every end of a command into words and an exit code.

0 good, 1 bad, 2 cannot judge, wrong usage or a fault of ours; 130 interrupted. May import everything below it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final, TextIO, cast

import typer

from spanseal import settings
from spanseal.cli.failed import failure_document, wants_json
from spanseal.errors import BadStoreError, SpansealError

COMMANDS: Final = ("demo", "keygen", "seal", "serve", "verify", "runs", "show", "doctor")
_INTERRUPTED, _PIPE_CLOSED = 130, 141


def application() -> typer.Typer:
    """All commands that this installation has, each from ``spanseal.cli.<name>``, function of the same name."""
    app = typer.Typer(
        name="spanseal",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in COMMANDS:
        if importlib.util.find_spec(f"spanseal.cli.{name}") is not None:
            module = importlib.import_module(f"spanseal.cli.{name}")
            app.command(name)(cast("Callable[..., Any]", getattr(module, name)))
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code and has said on stderr what went wrong."""
    command = typer.main.get_command(application())
    stdout = sys.stdout
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = command.main(args=given, prog_name="spanseal", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        return _unheard(stdout)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer would leave with 1, which means *bad* here
            return _unheard(stdout)
        return end.code if isinstance(end.code, int) else 2
    except typer.TyperException as error:
        return _misused(error, given)
    except SpansealError as error:
        _failed(error, str(error), given)
        return 1 if isinstance(error, BadStoreError) else 2
    except OSError as error:
        return _failed(error, f"{error.filename or 'a file'}: {error.strerror or error}", given)
    except Exception as error:  # noqa: BLE001 - the last place where a fault can be put into words
        return _bug(error, given)


def main() -> None:
    """The entry point of the installed script."""
    sys.exit(run())


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spanseal {version('spanseal')}")
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Makes LLM agents verifiable: watch, check, stop, prove."""


def _failed(error: Exception, text: str, given: Sequence[str]) -> int:
    """One line on stderr, and where JSON was asked for a document on stdout."""
    _say(f"error: {text}")
    return _document(error, text, given)


def _document(error: Exception, text: str, given: Sequence[str]) -> int:
    if wants_json(given):
        typer.echo(failure_document(given, type(error).__name__, text))
    return 2


def _misused(error: typer.TyperException, given: Sequence[str]) -> int:
    show = getattr(error, "show", None)
    if callable(show):
        show()
    else:
        _say(f"error: {error}")
    return _document(error, error.format_message(), given)


def _unheard(stdout: TextIO) -> int:
    """Nobody reads any more: what is still buffered goes nowhere, quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stdout.fileno())
    os.close(nowhere)
    return _PIPE_CLOSED


def _bug(error: Exception, given: Sequence[str]) -> int:
    text = f"unexpected {type(error).__name__}: {error}; this is a fault of spanseal, please report it"
    if settings.debug():
        traceback.print_exception(error)
        return _document(error, text, given)
    return _failed(error, f"{text} (SPANSEAL_DEBUG=1 shows where)", given)


def _say(text: str) -> None:
    line = " ".join(text.splitlines())
    shown = (char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in line)
    typer.echo("".join(shown), err=True)
