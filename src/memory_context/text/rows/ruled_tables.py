"""Tables as databases print them: a rule of hyphens below the names, or a frame around all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, takewhile
from typing import Final

from memory_context.text.read.json_values import lines_of
from memory_context.text.rows.text_table import Row, TextTable, column_names, evened

LINES_TRIED = 6
# The line below names, as `| --- |:--:|` in Markdown, `----+----` in psql, `--  ----` in sqlite; or above them in mysql.
RULE = re.compile(r"[\s|:+┌├╭]*[-=─━]{2,}(?:[ |+:┬┼]+[-=─━]{2,})*[ |:+┐┤╮]*")
_FOOT: Final = re.compile(r"\s*\(?\d+ rows?\b.*|[└╰+].*")
_BARS: Final = re.compile(r"[|│]")
_DASHES: Final = re.compile(r"[-=─━]{2,}")


def ruled_table(text: str) -> TextTable | None:
    """Return the table whose rule stands in the first lines of a text; None without one."""
    head = list(islice(lines_of(text), LINES_TRIED))
    rows: Callable[[], Iterator[Row]]
    rule = next((index for index, line in enumerate(head) if RULE.fullmatch(line)), None)
    if rule is None:
        return None
    place = rule - 1 if rule and head[rule - 1].strip() else rule + 1
    if place >= len(head):
        return None
    names = head[place]
    if _BARS.search(names):
        columns = _cells(names)
        rows = partial(_barred, text, max(place, rule) + 1, len(columns))
    else:
        spans = [match.span() for match in _DASHES.finditer(head[rule])]
        columns = [names[start:stop].strip() for start, stop in spans]
        rows = partial(_sliced, text, max(place, rule) + 1, spans)
    if len(columns) < 2:
        return None
    return TextTable(column_names(columns), rows, "the table")


def _barred(text: str, below: int, width: int) -> Iterator[Row]:
    """Yield the cells between bars, up to the first line without one."""
    lines = (line for line in islice(lines_of(text), below, None) if not RULE.fullmatch(line))
    return evened(map(_cells, takewhile(_BARS.search, lines)), width)


def _sliced(text: str, below: int, spans: list[tuple[int, int]]) -> Iterator[Row]:
    """Yield cells below the dashes of each column; the last one goes on to the end of its line."""
    for line in islice(lines_of(text), below, None):
        if not line.strip() or _FOOT.fullmatch(line):
            return
        ends = [stop for _, stop in spans[:-1]] + [None]
        yield [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]


def _cells(line: str) -> Row:
    return [cell.strip() for cell in _BARS.split(line.strip().strip("|│"))]
