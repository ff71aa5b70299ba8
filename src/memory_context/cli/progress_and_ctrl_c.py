"""A progress bar for long work, and the message after Ctrl-C.

The work is done in transactions: what was committed stays, and the rest is unchanged. After Ctrl-C the command says so,
says how far it got, and ends with code 130 (`app_and_exit_codes.run`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from memory_context.cli.command_output import say

ReportProgress: TypeAlias = Callable[[int, int], None]


@contextmanager
def interruptible(label: str, left_behind: str) -> Generator[ReportProgress]:
    """Draw a progress bar on standard error, if that is a terminal, and yield the function that moves it.

    The function takes the number of things done and the number of all.

    Args:
        label: The word for the work, before the bar.
        left_behind: The sentence after Ctrl-C that says what was done and what was not.
    """
    from memory_context.display.safe_terminal_output import progress_bar

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
