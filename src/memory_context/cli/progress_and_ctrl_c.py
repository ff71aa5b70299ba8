"""Long work: a progress bar while it goes on, and what Ctrl-C leaves.

The work is done in transactions, each of them whole: what was done stays done, and the rest is as it was. The command
says so, with how far it got, and ends with code 130 (`app.run`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from memory_context.cli.screen import say

ReportProgress: TypeAlias = Callable[[int, int], None]


@contextmanager
def interruptible(label: str, left_behind: str) -> Generator[ReportProgress]:
    """Draw a bar on standard error, if that is a terminal, and give the function that moves it: done, of how many.

    Args:
        label: What is going on.
        left_behind: The sentence that tells, after Ctrl-C, what state things are in.
    """
    from memory_context.display.terminal import progress_bar

    bar = progress_bar()
    task = bar.add_task(label, total=None)

    def report(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)

    try:
        with bar:
            yield report
    except KeyboardInterrupt:
        work = bar.tasks[0]
        say(f"Interrupted after {work.completed:,.0f} of {work.total or 0:,.0f}. {left_behind}")
        raise
