"""Long work: a progress bar while it goes on, and what Ctrl-C leaves.

The work is done in transactions, each of them whole: what was done stays done, and the rest is as it was. The command
says so, with how far it got, and ends with code 130 (`app.run`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memory_context.cli.screen import say

ReportProgress: TypeAlias = Callable[[int, int], None]


@contextmanager
def interruptible(label: str, left_behind: str) -> Generator[ReportProgress]:
    """Draw a bar on standard error, if that is a terminal, and give the function that moves it: done, of how many.

    Args:
        label: What is going on.
        left_behind: The sentence that tells, after Ctrl-C, what state things are in.
    """
    done, total = 0, 0
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # Without a terminal nothing is drawn: logs would fill with bars.
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(label, total=None)

    def report(now_done: int, now_total: int) -> None:
        nonlocal done, total
        done, total = now_done, now_total
        bar.update(task, completed=done, total=total)

    try:
        with bar:
            yield report
    except KeyboardInterrupt:
        say(f"Interrupted after {done:,} of {total:,}. {left_behind}")
        raise
