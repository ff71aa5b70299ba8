"""What a verb prints: tables for people, JSON for programs, bars and questions on standard error."""

from __future__ import annotations

import json
import os
import pydoc
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias

import typer
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from memory_context.display import harmless, make_console, plain
from memory_context.exceptions import InvalidArgumentError

PIPED_WIDTH = 2000
THOUSAND = 1000
NAME, NUMBER, LINE = "name", "number", "line"
GAP = 2
LEAST = 20
_LESS = "-FRX"
Step: TypeAlias = Callable[[int, int], None]


def print_json(value: Mapping[str, object]) -> None:
    """One JSON object on one line; times as ISO 8601 in UTC. Nothing in it can drive a terminal: it is ASCII."""
    sys.stdout.write(json.dumps(value, default=_plain_value) + "\n")


def _plain_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def screen() -> Console:
    """A console on standard output; piped, a line may be as long as it is, unless COLUMNS says something else."""
    console = make_console()
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        console.width = PIPED_WIDTH
    return console


def print_paged(*parts: RenderableType) -> None:
    """Print for people; what does not fit on their screen goes to their pager ($PAGER, else less)."""
    console = screen()
    with console.capture() as capture:
        console.print(Group(*parts))
    page("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()), console.height)


def page(text: str, height: int) -> None:
    """Write text that is fit for a terminal; in one, through a pager if it is taller than the screen."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()) or text.count("\n") < height:
        sys.stdout.write(text)
        return
    os.environ.setdefault("LESS", _LESS)
    sys.stdout.flush()
    pydoc.pager(text)


def say(text: str) -> None:
    """A line on standard error: what is no part of the answer."""
    typer.echo(harmless(text), err=True)


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    """A table as wide as it has to be, and no wider than the screen.

    Args:
        columns: The name of each, and its kind: a ``name`` is never cut; a ``number`` is on the right; a ``line`` has
            what the others leave of a terminal, and is cut there.
        rows: Texts; whatever stands in them, a terminal shows it and obeys nothing.
    """
    cells = [[plain(" ".join(cell.splitlines())) for cell in row] for row in rows]
    total = screen().width
    longest = [
        max([cell_len(name), *(row[at].cell_len for row in cells)])
        for at, (name, _) in enumerate(columns)
    ]
    widths = [min(width, total // 2) for width in longest]
    taken = sum(
        width + GAP for width, (_, kind) in zip(widths, columns, strict=True) if kind != LINE
    )
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for (name, kind), width in zip(columns, widths, strict=True):
        grid.add_column(
            name,
            justify="right" if kind == NUMBER else "left",
            overflow="ellipsis" if kind == LINE else "fold",
            no_wrap=kind == LINE,
            width=None if kind == LINE else width,
            max_width=max(total - taken, LEAST) if kind == LINE else None,
        )
    for row in cells:
        grid.add_row(*row)
    return grid


def local(moment: datetime | None) -> str:
    """A moment as people read it, in local time."""
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def counted(number: int, one: str, many: str) -> str:
    """A number of things."""
    return f"{number:,} {one if number == 1 else many}"


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
def progress(label: str) -> Generator[Step]:
    """A bar on standard error while work goes on, if that is a terminal; give it how many are done, and of how many."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(label, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
