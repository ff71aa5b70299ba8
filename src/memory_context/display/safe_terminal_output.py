"""Draw texts, tables and conversations in a terminal or a pipe; stored text cannot control the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import regex
from rich.console import Console, ConsoleRenderable, Group
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from memory_context.text.describe.description import counted

LABEL_WIDTH = 8
TAB = 4
# Control and format characters, unassigned ones, and Unicode's line separators; but not line breaks.
_UNSEEN = regex.compile(r"[^\P{C}\n]|[\p{Zl}\p{Zp}]")


def make_console() -> Console:
    """Return a console on standard output that prints texts as they are, without highlighting, markup or emoji."""
    return Console(highlight=False, markup=False, emoji=False)


def progress_bar() -> Progress:
    """Return a progress bar on standard error. It draws nothing if that is not a terminal but, for example, a log."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def entry(label: str, *parts: ConsoleRenderable | str, style: str = "bold") -> Table:
    """Return an entry of a conversation: a label, and beside it the parts, one below the other. Lines wrap."""
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(width=LABEL_WIDTH, no_wrap=True, style=style)
    grid.add_column(ratio=1, overflow="fold")
    drawn = [Text(part) if isinstance(part, str) else part for part in parts]
    grid.add_row(label, Group(*drawn))
    return grid


def plain(text: str, style: str = "") -> Text:
    """Return `text` for a terminal, with control characters replaced. Long lines wrap."""
    return Text(harmless(text), style=style, overflow="fold")


def unbroken(text: str, style: str = "") -> Text:
    """Return `text` as `plain` does, but with unbroken lines, for a console that does not crop: the terminal wraps them."""
    return Text(harmless(text), style=style, overflow="ignore", no_wrap=True)


def harmless(text: str) -> str:
    """Replace the characters of `text` that could control a terminal or change the writing direction.

    These are control and formatting characters, Unicode's line separators, private and unassigned code points, and lone
    surrogates. Line breaks and the spaces of other scripts stay; tabs become spaces.
    """
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.expandtabs(TAB))


def quoted(text: str, most: int | None = None) -> Group:
    """Return the first *most* lines of a text, and how many more there are; all lines if *most* is None."""
    lines = text.rstrip("\n").split("\n")
    first = lines[:most]
    shown = plain("\n".join(first), "dim")
    left_out = len(lines) - len(first)
    if not left_out:
        return Group(shown)
    more = counted(left_out, "more line")
    return Group(shown, Text(f"… and {more}", style="dim italic"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column(columns[0], overflow="fold")
    for name in columns[1:]:
        grid.add_column(name, justify="right", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names, each with its fact beside it. Lines wrap."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, fact in rows:
        grid.add_row(name, plain(fact))
    return grid


def command(console: Console, line: str) -> None:
    """Print a command on one line, however long, so that it can be copied."""
    indented = Text(f"  {line}", style="green")
    console.print(indented, soft_wrap=True)
