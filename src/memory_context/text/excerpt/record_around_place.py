"""The record around a place in a text: an object of JSON, a row, a block, an item of a list, with what says whose it is.

Only the neighbourhood of the place is read, however long the text is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from memory_context.model.selection import Cost
from memory_context.text.excerpt.excerpt import Excerpt, ShownLines, gap_between
from memory_context.text.excerpt.headed_sections import section_at
from memory_context.text.excerpt.records_by_line_forms import (
    LONGEST_RECORD,
    depth_of,
    heads_above,
    opens_block,
    repeated_block,
)
from memory_context.text.excerpt.segments import HEADER_LINES, end_of_header
from memory_context.text.lines import line_end, line_spans
from memory_context.text.ranges import Span
from memory_context.wording_for_models import GAP

# A stored conversation has one message a line, as JSON.
SAID = '{"role": "'
# How the line of a person begins: of compacted messages, and of a chat's.
ASKED = ('{"role": "user", "source": "', '{"role": "human", "text": "')
# What this library has put there itself.
NOTED = '{"role": "user", "source": "memory_context"'
LONGEST_TURN = 2400
LONG_HEAD = 160
LEAST_CELLS = 3
GAP_COST = 6
LONG_LINE = 600
# How far before a place the objects that hold it are looked for.
REACHES = (8_000, 64_000)
# Strings of JSON or of a Python repr, and brackets. A string of JSON has no line break in it.
_TOKEN = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[{}\[\]]""")
# Where an object begins: an unescaped quote right behind a brace cannot stand inside a string.
_OBJECT_START = re.compile(r"""\{\s*["']""")
# What stands behind a list that is a member of another container, or all that there is; not behind `[section]` or `[12:40]`.
_ENDS_MEMBER = re.compile(r"\s*(?:[,\]}]|\Z)")
# A bar, a tab, or the gap that aligns columns; not an indentation.
_BETWEEN_CELLS = re.compile(r"(?:(?<! ) *+)?[|\t] *|(?<=\S)  ++(?=\S)")
_FIRST_WORD = re.compile(r"\s*\W?\w+\b(?![:=])")
_SAYS = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Record:
    """A part of a text that makes sense by itself.

    Attributes:
        start: Where it begins.
        stop: Where it ends.
        heads: What stands before it and says whose it is: header of a table, ids of the objects around it.
        comes_again: Whether its form comes again before or behind it, as in a list.
    """

    start: int
    stop: int
    heads: list[Span] = field(default_factory=list[Span])
    comes_again: bool = False

    @property
    def spans(self) -> list[Span]:
        """Return heads and record, in order."""
        return [*self.heads, (self.start, self.stop)]


def show_records(text: str, records: Sequence[Record], budget: int, cost: Cost) -> Excerpt:
    """Return the records with their heads, with a gap between them; of those that come last, none that is too much.

    Args:
        text: The whole text.
        records: Its records, best first.
        budget: The most that the excerpt costs.
        cost: What a text costs, in tokens or characters.
    """
    chosen, left = list[Record](), budget
    for record in records:
        price = sum(cost(text[start:stop]) + GAP_COST for start, stop in record.spans)
        if price <= left:
            chosen.append(record)
            left -= price
    chosen.sort(key=lambda record: record.start)
    lines = ShownLines(text)
    shown, behind = "", 0
    for start, stop in (span for record in chosen for span in record.spans):
        start = max(start, behind)  # noqa: PLW2901 - records may overlap, or have a head in common
        if start < stop:
            shown += gap_between(text, behind, start, lines) + text[start:stop]
            lines.show(start, stop)
            behind = stop
    shown = shown.rstrip("\n")
    if shown and _SAYS.search(text, behind):
        shown += f" {GAP}"
    return Excerpt(shown, tuple(lines.ranges))


def record_at(text: str, start: int, stop: int) -> Record:
    """Return the record that ``text[start:stop]`` lies in: whole, unless it is longer than 1,200 characters."""
    line_start = text.rfind("\n", 0, start) + 1
    line_stop = line_end(text, stop)
    if text.startswith(SAID, line_start):
        turn = turn_at(text, line_start, line_stop)
        if turn.stop - turn.start <= LONGEST_TURN:
            return turn
    section = section_at(text, line_start)
    if section is not None and section.is_of_diff:
        span = section.span
        if line_stop - line_start > LONG_LINE:
            span = _beside((start, stop), (line_start, line_stop))
        return Record(*span, section.heads, comes_again=True)
    record = _object_or_row(text, (start, stop), (line_start, line_stop))
    if record is not None:
        return record
    if section is not None and section.is_record:
        return Record(*section.span, section.heads, comes_again=True)
    repeated = repeated_block(text, line_start, line_stop)
    if repeated is not None:
        (begin, end), heads = repeated
        record = Record(begin, end, heads, comes_again=True)
    else:
        record = _block_at(text, line_start, line_stop)
    if section is not None and not record.heads:
        record = replace(record, heads=section.heads[-1:])
    return record


def _object_or_row(text: str, place: Span, line: Span) -> Record | None:
    """Return the object or the row of a table around a place, or what stands beside it in a long line; else None."""
    is_long = line[1] - line[0] > LONG_LINE
    if is_long or text[line[0] : line[0] + 40].lstrip()[:1] in ("{", "[", '"', "}", "]"):
        found = _object_at(text, place[0])
        if found is not None:
            return found
    if is_long:
        return Record(*_beside(place, line))
    return row_at(text, *line)


def _beside(place: Span, line: Span) -> Span:
    """Return what stands beside a place in a long line."""
    return max(line[0], place[0] - LONG_LINE // 2), min(line[1], place[1] + LONG_LINE // 2)


def row_at(text: str, start: int, stop: int) -> Record | None:
    """Return the row of a table that a line is, with its header; None if it is none."""
    header = end_of_column_names(text)
    if header:
        return Record(start, stop, [(0, header)] if start > header else [])
    return _row_of_columns(text, start, stop)


def end_of_column_names(text: str) -> int:
    """Return where the header of a table ends that a text begins with; 0 if it begins with none."""
    header = end_of_header(text, 0, len(text))
    return 0 if _is_data(text[:header]) else header


def _row_of_columns(text: str, start: int, stop: int) -> Record | None:
    """Return the row of columns that a line is; None if no line beside it has as many cells."""
    cells = _cells(text, start, stop)
    # The last row has a foot below, the first one may have a rule above.
    beside = (
        (stop + 1, line_end(text, stop + 1)),
        (text.rfind("\n", 0, max(0, start - 1)) + 1, start - 1),
    )
    if cells < LEAST_CELLS or cells not in (_cells(text, *line) for line in beside):
        return None
    for begin, end in islice(line_spans(text, 0, start - 1), HEADER_LINES):
        if _cells(text, begin, end) == cells:
            has_header = not any(map(str.isdigit, text[begin:end]))
            return Record(start, stop, [(begin, end)] if has_header else [], comes_again=True)
    return Record(start, stop, comes_again=True)


def _cells(text: str, start: int, stop: int) -> int:
    return 1 + sum(1 for _ in _BETWEEN_CELLS.finditer(text, start, stop))


def turn_at(text: str, start: int, stop: int) -> Record:
    """Return the turn that a line of a stored conversation belongs to, however long: a question with what was answered."""
    while start and not text.startswith(ASKED, start):
        start = text.rfind("\n", 0, start - 1) + 1
    while stop < len(text) and not text.startswith(ASKED, stop + 1):
        stop = line_end(text, stop + 1)
    return Record(start, stop)


def _is_data(header: str) -> bool:
    """Return whether a first line is a row like the others: most of its cells hold digits."""
    cells = re.split(r"[,\t;|]", header)
    with_digits = sum(any(map(str.isdigit, cell)) for cell in cells)
    return 2 * with_digits > len(cells)


def _object_at(text: str, start: int) -> Record | None:
    """Return the largest object around a place that is not too long, with the beginnings of those around it."""
    opened = list[int]()
    for reach in REACHES:
        opened = _opened_before(text, max(0, start - reach), start)
        objects = [place for place in opened if text[place] == "{"]
        if len(objects) > 1 or start <= reach:
            break
    record: Span | None = None
    remaining = list(opened)
    while remaining:
        begin = remaining[-1]
        end = _closed_behind(text, begin)
        if end is None:
            break
        remaining.pop()
        if text[begin] == "{" or (record is None and _ENDS_MEMBER.match(text, end)):
            record = (begin, end)
    if record is None:
        return None
    heads = [_head_of(text, place) for place in remaining if text[place] == "{"]
    return Record(*record, [head for head in heads if head[1] <= record[0]])


def _opened_before(text: str, begin: int, place: int) -> list[int]:
    """Return where the brackets begin that are open at a place, outermost first, reading from `begin` on."""
    if begin:
        match = _OBJECT_START.search(text, begin, place)
        newline = text.find("\n", begin, place)
        begin = match.start() if match else place
        if 0 <= newline < begin:
            begin = newline
    opened = list[int]()
    for token in _TOKEN.finditer(text, begin, place):
        mark = token.group()
        if mark in ("{", "["):
            opened.append(token.start())
        elif mark in ("}", "]") and opened:
            opened.pop()
    return opened


def _closed_behind(text: str, begin: int) -> int | None:
    """Return where the container that begins here ends; None if it is too long."""
    depth = 0
    for token in _TOKEN.finditer(text, begin, begin + LONGEST_RECORD):
        mark = token.group()
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _head_of(text: str, begin: int) -> Span:
    """Return the beginning of an object, up to the first container in it."""
    stop = begin + LONG_HEAD
    for token in _TOKEN.finditer(text, begin + 1, stop):
        if token.group() in ("{", "["):
            return begin, token.end()
    return begin, stop


def _block_at(text: str, line_start: int, line_stop: int) -> Record:
    """Return the lines around one that belong together: between blank lines, or by their indentation."""
    nearest = max(0, line_start - LONGEST_RECORD)
    start = text.rfind("\n\n", nearest, line_start) + 2
    if start == 1:
        start = 0
    stop = text.find("\n\n", line_stop, start + LONGEST_RECORD)
    if stop < 0 and len(text) - start <= LONGEST_RECORD:
        stop = len(text)
    is_below_blank = start > 0 or nearest == 0
    is_whole_text = (start, stop) == (0, len(text))
    is_paragraph = is_below_blank and stop >= 0 and not is_whole_text
    if is_paragraph and not opens_block(text, line_start, line_stop):
        heads = heads_above(text, start, depth_of(text, start))
        return Record(start, _end_of_headed(text, start, stop), heads)
    return _item_at(text, line_start, line_stop)


def _end_of_headed(text: str, start: int, stop: int) -> int:
    """Return where the block ends that a short line alone is the heading of; of any other block its own end."""
    if stop - start > LONG_HEAD or "\n" in text[start:stop]:
        return stop
    begin = stop + 2
    end = text.find("\n\n", begin, start + LONGEST_RECORD)
    if end < 0:
        end = min(len(text), start + LONGEST_RECORD)
    return end if end - begin > stop - start else stop


def _item_at(text: str, start: int, stop: int) -> Record:
    """Return a line with what is further indented below it, and if it has none and is no other's like, with its parent's."""
    depth = depth_of(text, start)
    below = stop + 1, line_end(text, stop + 1)
    above = text.rfind("\n", 0, max(0, start - 1)) + 1, start - 1
    begin = start
    if not opens_block(text, start, stop) and not _begins_alike(
        text, (start, stop), [above, below]
    ):
        parents = heads_above(text, start, depth)
        if parents and start - parents[-1][0] <= LONGEST_RECORD:
            begin = parents[-1][0]
            depth = depth_of(text, begin)
    for next_start, next_stop in line_spans(text, stop + 1, len(text)):
        if next_stop - begin > LONGEST_RECORD:
            break
        if _SAYS.search(text, next_start, next_stop):
            if depth_of(text, next_start) <= depth:
                break
            stop = next_stop
    return Record(begin, stop, heads_above(text, begin, depth))


def _begins_alike(text: str, line: Span, beside: Sequence[Span]) -> bool:
    """Return whether a line beside one begins at the same column with the same word, and so is another of its kind."""
    begun = [_FIRST_WORD.match(text, start, stop) for start, stop in [line, *beside]]
    first, *others = [match.group() if match else "" for match in begun]
    return first != "" and first in others
