"""What a command prints: tables for people, JSON for programs and remarks on standard error."""

from __future__ import annotations

import csv
import json
import os
import pydoc
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from memory_context.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

PIPED_WIDTH = 2000
NAME, TIME, NUMBER, LINE = "name", "time", "number", "line"  # kinds of columns
GAP = 2
LEAST_LINE = 12  # the narrowest column for a line, in characters
_LESS = "-FRX"  # quit if it fits on the screen, show colours, leave the text on the screen


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object on one line, in ASCII; control characters are escaped. Times are ISO 8601 in UTC."""
    sys.stdout.write(json.dumps(value, default=_json_value) + "\n")


def print_records(records: Sequence[Mapping[str, object]], *, as_csv: bool) -> None:
    """Print each record on a line, as JSON or as CSV. CSV begins with the names of the columns; lists in it are JSON."""
    if not as_csv:
        for record in records:
            print_json(record)
        return
    if not records:
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        writer.writerow(map(_cell, record.values()))


def check_one_form(**forms: bool) -> None:
    """Check that at most one output format was chosen; each is named like its option.

    Raises:
        InvalidArgumentError: Several were chosen.
    """
    wanted = [f"--{name}" for name, is_wanted in forms.items() if is_wanted]
    if len(wanted) > 1:
        raise InvalidArgumentError(f"give only one of {' and '.join(wanted)}")


def _cell(value: object) -> object:
    """Return a value as a cell of CSV: None is empty, times are as in JSON, texts have no control characters."""
    from memory_context.display.safe_terminal_output import harmless

    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, default=_json_value)
    return harmless(_json_value(value))


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def screen() -> Console:
    """Return a console on standard output; in a pipe, lines may be very long, unless COLUMNS sets a width."""
    from memory_context.display.safe_terminal_output import make_console

    console = make_console()
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        console.width = PIPED_WIDTH
    return console


def print_paged(*parts: RenderableType) -> None:
    """Print *parts* for people, through a pager if they are taller than the screen; control characters are replaced."""
    from rich.console import Group

    from memory_context.display.safe_terminal_output import unbroken

    console = screen()
    shown = [unbroken(part) if isinstance(part, str) else part for part in parts]
    with console.capture() as capture:
        console.print(Group(*shown), crop=False)  # or a long key would be cut silently
    # A table pads its lines with spaces to the width of the screen.
    lines = [f"{line.rstrip()}\n" for line in capture.get().splitlines()]
    print_long_text("".join(lines))


def print_long_text(text: str) -> None:
    """Write *text* as it is; in a terminal, through $PAGER (or less) if it is taller than the screen."""
    # A pager reads keys from standard input.
    in_terminal = sys.stdout.isatty() and sys.stdin.isatty()
    if not in_terminal or text.count("\n") < screen().height:
        sys.stdout.write(text)
        return
    # The user's own LESS takes precedence, as in git.
    os.environ.setdefault("LESS", _LESS)
    sys.stdout.flush()
    pydoc.pager(text)


def say(text: str) -> None:
    """Write a line to standard error: a remark that is not part of the answer."""
    from memory_context.display.safe_terminal_output import harmless

    typer.echo(harmless(text), err=True)


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> RenderableType:
    """Return a table no wider than the screen, or a paragraph for each row if the table would break a key or a number.

    Args:
        columns: The name and the kind of each. A ``name``, a ``time`` and a ``number`` are never broken; a ``line``
            gets the remaining width of the screen and is cut there.
        rows: Texts. Their control characters are replaced, so that the terminal does not obey them.
    """
    from rich.cells import cell_len

    from memory_context.display.safe_terminal_output import harmless

    def on_one_line(cell: str) -> str:
        return harmless(" ".join(cell.splitlines()))

    shown = [list(map(on_one_line, row)) for row in rows]
    needed = GAP * (len(columns) - 1)
    for index, (name, kind) in enumerate(columns):
        if kind == LINE:
            needed += LEAST_LINE
            continue
        cells = [name, *(row[index] for row in shown)]
        needed += max(map(cell_len, cells))
    if needed > screen().width:
        return _paragraphs(columns, shown)
    return _grid(columns, shown)


def _grid(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    grid.expand = LINE in dict(columns).values()
    for name, kind in columns:
        if kind == LINE:
            grid.add_column(name, overflow="ellipsis", no_wrap=True, ratio=1)
        elif kind == NUMBER:
            grid.add_column(name, justify="right", no_wrap=True)
        else:
            grid.add_column(name, no_wrap=True)
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _paragraphs(
    columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]
) -> RenderableType:
    """Draw each row as a paragraph: its first cell, then each of the others on a line, after its name.

    Only a ``line`` is cut.
    """
    from rich.console import Group, RenderableType
    from rich.padding import Padding
    from rich.text import Text

    from memory_context.display.safe_terminal_output import unbroken

    parts = list[RenderableType]()
    for first, *others in rows:
        parts.append(unbroken(first, "bold"))
        for (name, kind), cell in zip(columns[1:], others, strict=True):
            if kind == LINE:
                line = Text(cell, overflow="ignore")
                parts.append(Padding(line, (0, 0, 0, GAP)))
            elif cell:
                parts.append(unbroken(f"{'':{GAP}}{name} {cell}"))
    return Group(*parts)


def page_facts(limit: int, offset: int, total: int) -> dict[str, object]:
    """Return the fields that describe a page in ``--json``; the next offset is None after the last page."""
    end = offset + limit
    return {"total": total, "offset": offset, "next_offset": end if end < total else None}


def print_page(
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    offset: int,
    total: int,
    things: str,
) -> None:
    """Print rows as a table, and say on standard error which of *total* rows they are, and how to get more.

    Args:
        columns: As for `table`.
        rows: As for `table`.
        offset: The number of rows before these.
        total: The number of all rows.
        things: What the rows are, in the plural.
    """
    if rows:
        print_paged(table(columns, rows))
    end = offset + len(rows)
    if not total:
        say(f"no {things} match")
    elif not rows:
        say(f"--offset {offset} is past the end: {total:,} in all")
    elif len(rows) < total:
        following = ""
        if end < total:
            following = f"; for more: --offset {end}"
        say(f"{offset + 1:,}-{end:,} of {total:,} {things}{following}")


def local(moment: datetime | None) -> str:
    """Return a moment in local time, to the minute; "" for None."""
    if not moment:
        return ""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
