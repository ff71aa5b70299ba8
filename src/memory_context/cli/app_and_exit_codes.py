"""The typer application that every command registers with, its exit codes, and what errors and Ctrl-C do."""

import io
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from memory_context.exceptions import MemoryContextError, MemoryNotFoundError, NothingMatchedError
from memory_context.runtime.version import __version__

NAME = "memory-context"
NOTHING_FOUND = 1
FAILED = 2
FIND, KEEP, MOVE, RUN = (
    "Find and read",
    "Maintain",
    "Move and back up",
    "Serve and try out",
)  # headings in the help
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer does not export it


class GroupedVerbs(TyperGroup):
    """A group whose help lists the commands under headings. In plain text, typer itself would print one list.

    If the reader closes the pipe, as `head` does, the exit code is 0. Typer's own would be 1.
    """

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # noqa: ANN401 - as click declares it
        """Run the command; return its exit code, or 0 if the reader of its output has gone."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            return 0
        return code

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override] # noqa: ANN401 - typer exports neither type
        """Write a section for each heading, with the commands in the order of their registration."""
        verbs = {name: self.commands[name] for name in self.list_commands(ctx)}
        panels = dict[str, list[tuple[str, str]]]()
        room = formatter.width - 6 - max(map(len, verbs))
        for name, verb in verbs.items():
            row = name, verb.get_short_help_str(room)
            panels.setdefault(str(getattr(verb, "rich_help_panel", "")), []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    name=NAME,
    cls=GroupedVerbs,
    help="Keep the prompts of agents small without losing anything.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"{NAME} {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    # If the caller has closed a stream, the next file to be opened would get its descriptor.
    for name, mode in ("stdin", "r"), ("stdout", "w"), ("stderr", "w"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - it stays open
    # Stored text may hold what the terminal's encoding cannot write.
    cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="replace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()  # `run` has reported the error
    sys.exit(code)


def _discard_output() -> None:
    """Send the rest of standard output nowhere; otherwise Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code; an error is one line on standard error."""
    try:
        # Not standalone: typer would print errors in its own way, and exit by itself.
        return app(args=arguments, prog_name=NAME, standalone_mode=False) or 0
    except (MemoryNotFoundError, NothingMatchedError) as error:
        _print_error(error)
        return NOTHING_FOUND
    # Standard output on a full disk, for example, raises an OSError.
    except (MemoryContextError, _UsageError, OSError) as error:
        _print_error(error)
        return FAILED
    except (KeyboardInterrupt, typer.Abort):  # progress_and_ctrl_c.py has printed how far it got
        return INTERRUPTED


def _print_error(error: Exception) -> None:
    from memory_context.display.safe_terminal_output import harmless

    text: str = getattr(error, "format_message", error.__str__)()
    # Some versions of typer pass pydantic's prefix on: Invalid value for '--mode': Value error, 'x' is not one of …
    text = re.sub(r"^(Invalid value for [^:]*: )Value error, ", r"\1", text)
    # Pydantic does not quote what was given: Invalid value for '--limit': Input should be a valid integer, unable to …
    errors_of_pydantic = getattr(error.__cause__, "errors", None)
    if isinstance(error, _UsageError) and errors_of_pydantic:
        given = f"{errors_of_pydantic()[0]['input']!r:.80}"
        text = text.partition(", unable")[0].replace("Input should", f"{given} should")
    line = f"{NAME}: {' '.join(harmless(text).split())}"
    # Only usage errors have a context.
    command = getattr(getattr(error, "ctx", None), "command_path", None)
    if command:
        line += f" (see {command} --help)"
    typer.echo(line, err=True)
