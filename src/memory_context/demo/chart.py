"""Tokens per call, with and without memory-context, as bars on one axis of calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from memory_context.demo.meter import Call

BLOCKS = " ▁▂▃▄▅▆▇█"
LABEL = 7
WIDEST = 100
AT_LEAST = 6
WITHOUT, WITH = "red", "green"
ROWS, SAME_ROWS, MAGNIFIED_ROWS = 9, 1, 4


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars below a title.

    Attributes:
        title: What they are.
        values: One for each column.
        top: The value of a bar that fills the rows.
        rows: How many lines of text the highest bar takes.
        style: The colour of the bars.
    """

    title: str
    values: Sequence[int]
    top: int
    rows: int
    style: str

    def lines(self) -> Iterator[Text]:
        """The title, and the rows from the top."""
        yield Text(self.title, style="bold")
        levels = [max(value > 0, round(value / self.top * self.rows * 8)) for value in self.values]
        for row in reversed(range(self.rows)):
            label = short(self.top) if row == self.rows - 1 else "0" if row == 0 else ""
            bars = "".join(BLOCKS[min(8, max(0, level - 8 * row))] for level in levels)
            yield Text.assemble(
                (f"{label:>{LABEL}} {'┤' if label else '│'}", "dim"), (bars, self.style)
            )


def chart(calls: Sequence[Call], width: int) -> Iterator[Text]:
    """The largest prompts of each few calls: all of them without memory-context, and with it on two scales."""
    columns = min(width - LABEL - 3, WIDEST)
    without = _columns([call.without or 0 for call in calls], columns)
    sent = _columns([call.sent for call in calls], columns)
    top, own = max(without), max(sent)
    yield from Panel("tokens per call, without memory-context", without, top, ROWS, WITHOUT).lines()
    yield from Panel("with memory-context, on the same scale", sent, top, SAME_ROWS, WITH).lines()
    title = f"with memory-context, {top / own:,.0f} times larger"
    yield from Panel(title, sent, own, MAGNIFIED_ROWS, WITH).lines()
    yield _axis(len(calls), columns)


def _columns(values: Sequence[int], columns: int) -> list[int]:
    """The largest of every few neighbours, in as many columns: agents take turns, and their prompts differ."""
    parts = max(1, min(columns, len(values) // AT_LEAST))
    ends = [len(values) * part // parts for part in range(parts + 1)]
    largest = [max(values[start:end]) for start, end in pairwise(ends)]
    return [largest[column * parts // columns] for column in range(columns)]


def _axis(calls: int, columns: int) -> Text:
    middle, last = f"{calls // 2:,}", f"call {calls:,}"
    left = columns // 2 - len("call 1") - len(middle) // 2
    line = f"{'call 1'}{'':{max(1, left)}}{middle}"
    return Text(f"{'':{LABEL + 2}}{line}{last:>{max(0, columns - len(line))}}", style="dim")


def short(tokens: int) -> str:
    """A number of tokens in few characters."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1000:,.0f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.1f}M"
