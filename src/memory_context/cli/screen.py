"""What a command prints: tables for people, JSON for programs, questions and remarks on standard error."""

from __future__ import annotations

import json
import os
import pydoc
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime

import typer
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_context.display import harmless, make_console
from memory_context.exceptions import InvalidArgumentError

PIPED_WIDTH = 2000
KILO = 1000
NAME, TIME, NUMBER, LINE = "name", "time", "number", "line"  # kinds of columns
GAP = 2
NARROWEST_LINE = 10
_LESS = "-FRX"  # leave at once if it fits, show colours, keep the text on the screen


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object on one line, times as ISO 8601 in UTC; it is ASCII, so nothing in it drives a terminal."""
    sys.stdout.write(json.dumps(value, default=_json_value) + "\n")


def _json_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def screen() -> Console:
    """Return a console on standard output; piped, a line may have any length, unless COLUMNS says something else."""
    console = make_console()
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        console.width = PIPED_WIDTH
    return console


def print_paged(*parts: RenderableType) -> None:
    """Print for people, through a pager what is taller than their screen."""
    console = screen()
    with console.capture() as capture:
        console.print(Group(*parts))
    print_long_text("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def print_long_text(text: str) -> None:
    """Write text without control characters; in a terminal, through $PAGER (or less) if it is taller than the screen."""
    # A pager reads keys from standard input.
    in_terminal = sys.stdout.isatty() and sys.stdin.isatty()
    if not in_terminal or text.count("\n") < screen().height:
        sys.stdout.write(text)
        return
    # A user's own LESS wins, as git has it.
    os.environ.setdefault("LESS", _LESS)
    sys.stdout.flush()
    pydoc.pager(text)


def say(text: str) -> None:
    """Write a line to standard error: a remark that is not part of the answer."""
    typer.echo(harmless(text), err=True)


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table as wide as its cells need, and no wider than the screen.

    Args:
        columns: The name and the kind of each. A ``time`` and a ``number`` stay whole; a ``name`` is folded on a narrow
            screen and never cut; a ``line`` has what the others leave of the screen and is cut there.
        rows: Texts, which may be hostile: the terminal shows them and obeys nothing.
    """
    cells = [[Text(harmless(" ".join(cell.splitlines()))) for cell in row] for row in rows]
    screen_width = screen().width
    widths = list[int]()
    left_for_line = screen_width
    for index, (name, kind) in enumerate(columns):
        longest = max([cell_len(name), *(row[index].cell_len for row in cells)])
        widths.append(min(longest, screen_width // 2))
        if kind != LINE:
            left_for_line -= widths[-1] + GAP
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for (name, kind), width in zip(columns, widths, strict=True):
        if kind == LINE:
            widest = max(left_for_line, NARROWEST_LINE)
            grid.add_column(name, overflow="ellipsis", no_wrap=True, max_width=widest)
        elif kind == NUMBER:
            grid.add_column(name, justify="right", min_width=width)
        elif kind == TIME:
            grid.add_column(name, min_width=width)
        else:
            grid.add_column(name, overflow="fold", max_width=width)
    for row in cells:
        grid.add_row(*row)
    return grid


def page_facts(limit: int, offset: int, total: int) -> dict[str, object]:
    """Return what ``--json`` says of a page; the next offset is None after the last one."""
    end = offset + limit
    return {"total": total, "offset": offset, "next_offset": end if end < total else None}


def say_page(shown: int, offset: int, total: int, things: str) -> None:
    """Say on standard error which part was shown, and how to get the next; nothing if that was all."""
    end = offset + shown
    if not total:
        say(f"no {things} match")
    elif not shown:
        say(f"there are only {total:,} {things}")
    elif shown < total:
        following = f"; the next: --offset {end}" if end < total else ""
        say(f"{offset + 1:,}-{end:,} of {total:,} {things}{following}")


def local(moment: datetime | None) -> str:
    """Return a moment as people read it, in local time."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


def size(number: int) -> str:
    """Return a number of bytes as people read it: ``12.3 MB``."""
    if number < KILO:
        return f"{number} bytes"
    amount = number / KILO
    for unit in ("KB", "MB", "GB"):
        if amount < KILO:
            return f"{amount:.1f} {unit}"
        amount /= KILO
    return f"{amount:.1f} TB"


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is deleted, unless `yes`.

    Raises:
        InvalidArgumentError: There is no terminal to ask in.
        typer.Abort: The answer is no.
    """
    if yes:
        return
    # A script must not hang on a question, nor take its next line for the answer.
    if not sys.stdin.isatty():
        message = f"{question} There is no terminal to ask in: give --yes"
        raise InvalidArgumentError(message)
    if not typer.confirm(harmless(question), err=True):
        raise typer.Abort
