"""Ask for confirmation before a command deletes something."""

from __future__ import annotations

import sys

import typer

from memory_context.exceptions import InvalidArgumentError


def ask_before_deleting(question: str, *, yes: bool) -> None:
    """Ask the question, unless `yes` answers it.

    Raises:
        InvalidArgumentError: There is no terminal to ask in.
        typer.Abort: The answer is no.
    """
    if yes:
        return
    # A script must neither hang on a question nor have its next line taken for the answer.
    if not sys.stdin.isatty():
        raise InvalidArgumentError(f"{question} Without a terminal, give --yes to confirm")
    from memory_context.display.safe_terminal_output import harmless

    if not typer.confirm(harmless(question), err=True):
        raise typer.Abort
