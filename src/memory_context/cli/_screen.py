"""What a verb prints: tables for people, JSON for programs, bars and questions on standard error."""

from __future__ import annotations

import json
import os
import pydoc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias

import typer
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from memory_context.display import harmless, make_console, plain
from memory_context.exceptions import InvalidArgumentError

PIPED_WIDTH = 400
THOUSAND = 1000
_LESS = "-FRX"
Step: TypeAlias = Callable[[int, int], None]


def print_json(value: Mapping[str, object]) -> None:
    """One JSON object on one line; times as ISO 8601 in UTC. Nothing in it can drive a terminal: it is ASCII."""
    sys.stdout.write(json.dumps(value, default=_plain_value) + "\n")


def _plain_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def print_paged(*parts: RenderableType) -> None:
    """Print for people; what does not fit on their screen goes to their pager ($PAGER, else less)."""
    console = make_console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH if "COLUMNS" not in os.environ else console.width
    with console.capture() as capture:
        console.print(Group(*parts))
    text = "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    page(text, console)


def page(text: str, console: Console) -> None:
    """Write text to a terminal, through a pager if it is taller than the screen."""
    if not console.is_terminal or not sys.stdin.isatty() or text.count("\n") < console.height:
        sys.stdout.write(text)
        return
    os.environ.setdefault("LESS", _LESS)
    sys.stdout.flush()
    pydoc.pager(text)


def say(text: str) -> None:
    """A line on standard error: what is no part of the answer."""
    typer.echo(harmless(text), err=True)


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    """A table.

    Args:
        columns: The name of each, and its kind: ``name`` (folded, never cut), ``number``, ``line`` (cut in a terminal).
        rows: Texts; whatever stands in them, a terminal shows it and obeys nothing.
    """
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, kind in columns:
        cut = kind == "line"
        grid.add_column(
            name, justify="right" if kind == "number" else "left", overflow="ellipsis" if cut else "fold", no_wrap=cut
        )
    for row in rows:
        grid.add_row(*(plain(" ".join(cell.split("\n"))) for cell in row))
    return grid


def ago(moment: datetime | None) -> str:
    """A moment as people read it, in local time."""
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def size(number: int) -> str:
    """A number of bytes as people read it."""
    amount, unit = float(number), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < THOUSAND:
            break
        amount, unit = amount / THOUSAND, larger
    return f"{number:,} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is deleted.

    Raises:
        InvalidArgumentError: There is nobody to ask, and not `yes`.
        typer.Abort: They said no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        message = f"{question} There is no terminal to ask on: give --yes"
        raise InvalidArgumentError(message)
    if not typer.confirm(harmless(question), err=True):
        raise typer.Abort


@contextmanager
def progress(label: str) -> Iterator[Step]:
    """A bar on standard error while work goes on, if that is a terminal; give it how many are done, and of how many."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(label, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
