"""The application that the verbs belong to, and its exit codes."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, cast

import typer

from memory_context.exceptions import MemoryContextError, MemoryNotFoundError, NothingMatchedError
from memory_context.runtime.version import __version__

NAME = "memory-context"
NOTHING_FOUND = 1
FAILED = 2
INTERRUPTED = 130
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer does not export it

app = typer.Typer(
    name=NAME,
    help="Keeps the prompts of agents small without losing anything.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Say the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"{NAME} {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command in `sys.argv`. What goes wrong is one line on standard error; code 1: nothing found, else 2."""
    cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    try:
        return app(args=arguments, prog_name=NAME, standalone_mode=False) or 0
    except (MemoryNotFoundError, NothingMatchedError) as error:
        return _failed(error, NOTHING_FOUND)
    except (MemoryContextError, _UsageError) as error:
        return _failed(error, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (
        BrokenPipeError
    ):  # the reader of a pipe has seen enough; Python would complain when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(error: Exception, code: int) -> int:
    from memory_context.display import harmless  # noqa: PLC0415 - loads rich

    text: str = getattr(error, "format_message", error.__str__)()
    place = getattr(getattr(error, "ctx", None), "command_path", None)
    hint = f" (see {place} --help)" if place else ""
    typer.echo(f"{NAME}: {' '.join(harmless(text).split())}{hint}", err=True)
    return code
