"""Texts as numbered lines, bounded: logs with their levels, diffs, and passages with the words that were looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from memory_context.display.html import Html, escaped, joined, soft, tag
from memory_context.text.describe.logs import level_of

HEAD = 24
TAIL = 6
NOTABLE = 10
LONGEST_LINE = 400
BEFORE_MARK = 120
LOOKED_AT: Final = 2_000_000


class Line(NamedTuple):
    """A line with its number, from 1."""

    number: int
    text: str


def head_and_tail(lines: Sequence[str]) -> list[Line]:
    """The first lines and the last ones."""
    numbered = [Line(number, text) for number, text in enumerate(lines, 1)]
    return numbered if len(lines) <= HEAD + TAIL else [*numbered[:HEAD], *numbered[-TAIL:]]


def notable(lines: Sequence[str]) -> list[Line]:
    """The first lines and the last ones, and between them the first errors, then warnings, with the lines around."""
    if len(lines) <= HEAD + TAIL:
        return head_and_tail(lines)
    levels = [level_of(line) for line in lines]
    marked = islice(
        (
            at
            for wanted in ("error", "warning")
            for at, level in enumerate(levels)
            if level == wanted
        ),
        NOTABLE,
    )
    around = {at + step for at in marked for step in (-1, 0, 1)}
    ends = {*range(HEAD // 3), *range(len(lines) - TAIL, len(lines))}
    chosen = sorted(at for at in around | ends if 0 <= at < len(lines))
    return [Line(at + 1, lines[at]) for at in chosen]


def numbered(
    lines: Iterable[Line], draw: Callable[[str], Html], total: int, first: int = 1
) -> Html:
    """Lines with their numbers, and what is left out from the line `first` to the line `total`."""
    return tag("pre", *_rows(lines, draw, total, first - 1))


def _rows(
    lines: Iterable[Line], draw: Callable[[str], Html], total: int, before: int
) -> Iterator[Html]:
    width = len(f"{total}")
    for line in lines:
        if line.number > before + 1:
            yield _gap(line.number - before - 1, width)
        yield joined((tag("span", f"{line.number:>{width}} ", cls="n"), draw(line.text), "\n"))
        before = line.number
    if total > before:
        yield _gap(total - before, width)


def _gap(count: int, width: int) -> Html:
    return tag(
        "span", f"{'⋯':>{width}} {count:,} more {'line' if count == 1 else 'lines'}\n", cls="soft"
    )


def shortened(text: str, start: int = 0) -> str:
    """A line, or as much of it as there is room for from `start` on."""
    part = text[start : start + LONGEST_LINE]
    rest = len(text) - start - len(part)
    return f"{'…' if start else ''}{part}{f'… ({rest:,} more characters)' if rest else ''}"


def plain_line(text: str) -> Html:
    """A line as it is."""
    return escaped(shortened(text))


def log_line(text: str) -> Html:
    """A line of a log, by its level."""
    level = level_of(text)
    return tag("span", shortened(text), cls=level) if level else plain_line(text)


_DIFF_MARKS: Final = (
    ("+++", "name"),
    ("---", "name"),
    ("diff ", "name"),
    ("@@", "hunk"),
    ("+", "plus"),
    ("-", "minus"),
)


def diff_line(text: str) -> Html:
    """A line of a diff, by its first characters."""
    kind = next((cls for mark, cls in _DIFF_MARKS if text.startswith(mark)), "")
    return tag("span", shortened(text), cls=kind) if kind else plain_line(text)


def marked_line(words: Sequence[str]) -> Callable[[str], Html]:
    """Draws a line with `words` highlighted in it, from a little before the first of them where it is long."""
    if not words:
        return plain_line
    ordered = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE)

    def draw(text: str) -> Html:
        first = pattern.search(text)
        start = first.start() - BEFORE_MARK if first and first.end() > LONGEST_LINE else 0
        return joined(_marked(shortened(text, start), pattern))

    return draw


def _marked(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    end = 0
    for match in pattern.finditer(text):
        yield text[end : match.start()]
        yield tag("mark", match[0])
        end = match.end()
    yield text[end:]


def ending(text: str, total: int) -> Html:
    """That a text goes on behind what was looked at."""
    return soft(
        f"Of {len(text):,} characters in {total:,} lines the first {LOOKED_AT:,} were looked at."
    )
