"""Draw texts as numbered lines, bounded in number and length: logs, diffs, and passages with highlighted words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memory_context.display.escaped_html import Html, escaped, joined, tag
from memory_context.text.describe.description import counted
from memory_context.text.log_levels import level_of

HEAD = 24
TAIL = 6
NOTABLE = 10
LONGEST_LINE = 400
BEFORE_MARK = 120
LOOKED_AT = 2_000_000


class NumberedLine(NamedTuple):
    """A line with its number, from 1."""

    number: int
    text: str


def head_and_tail(lines: Sequence[str]) -> list[NumberedLine]:
    """Return the first lines and the last ones."""
    numbered = [NumberedLine(number, text) for number, text in enumerate(lines, 1)]
    if len(lines) <= HEAD + TAIL:
        return numbered
    return [*numbered[:HEAD], *numbered[-TAIL:]]


def notable(lines: Sequence[str]) -> list[NumberedLine]:
    """Return the first and last lines of a log, and its first errors, then warnings, each with a line on either side."""
    total = len(lines)
    if total <= HEAD + TAIL:
        return head_and_tail(lines)
    by_level = defaultdict[str | None, list[int]](list)
    for index, line in enumerate(lines):
        by_level[level_of(line)].append(index)
    found = by_level["error"] + by_level["warning"]
    chosen = {*range(HEAD // 3), *range(total - TAIL, total)}
    for index in found[:NOTABLE]:
        chosen |= {index - 1, index, index + 1}
    existing = sorted(chosen.intersection(range(total)))
    return [NumberedLine(index + 1, lines[index]) for index in existing]


def numbered(
    lines: Iterable[NumberedLine], draw: Callable[[str], Html], total: int, first: int = 1
) -> Html:
    """Draw lines with their numbers, and say how many are left out between the lines `first` and `total`."""
    parts = list[Html]()
    width = len(str(total))
    following = first
    for line in lines:
        number = tag("span", f"{line.number:>{width}} ", cls="n")
        parts += [_gap(line.number - following, width), number, draw(line.text), Html("\n")]
        following = line.number + 1
    return tag("pre", *parts, _gap(total + 1 - following, width))


def _gap(count: int, width: int) -> Html:
    """Draw how many lines are left out; nothing if there are none."""
    if count <= 0:
        return Html("")
    return tag("span", f"{'⋯':>{width}} {counted(count, 'more line')}\n", cls="soft")


def shortened(text: str, start: int = 0, most: int = LONGEST_LINE) -> str:
    """Return a line, cut to the `most` characters from `start` on; ellipses mark the cuts."""
    part = text[start : start + most]
    rest = len(text) - start - len(part)
    if start:
        part = f"…{part}"
    if rest:
        part = f"{part}… ({rest:,} more characters)"
    return part


def plain_line(text: str) -> Html:
    """Draw a line as it is."""
    return escaped(shortened(text))


def log_line(text: str) -> Html:
    """Draw a line of a log in the colour of its level."""
    level = level_of(text)
    if level:
        return tag("span", shortened(text), cls=level)
    return plain_line(text)


_DIFF_MARKS = (
    ("+++", "name"),
    ("---", "name"),
    ("diff ", "name"),
    ("@@", "hunk"),
    ("+", "plus"),
    ("-", "minus"),
)


def diff_line(text: str) -> Html:
    """Draw a line of a diff in the colour of its first characters."""
    for mark, cls in _DIFF_MARKS:
        if text.startswith(mark):
            return tag("span", shortened(text), cls=cls)
    return plain_line(text)


def marked_line(words: Sequence[str]) -> Callable[[str], Html]:
    """Return a function that draws a line with `words` highlighted; a long line begins shortly before the first one."""
    if not words:
        return plain_line
    # An alternation takes the first branch that matches, so "crashed" must be tried before "crash".
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def draw(text: str) -> Html:
        """Draw a line with what matched marked, beginning near the first match."""
        first = pattern.search(text)
        start = 0
        if first and first.end() > LONGEST_LINE:
            start = first.start() - BEFORE_MARK
        shown = shortened(text, start)
        parts = list[str]()
        end = 0
        for match in pattern.finditer(shown):
            parts.append(shown[end : match.start()])
            parts.append(tag("mark", match[0]))
            end = match.end()
        return joined(*parts, shown[end:])

    return draw
