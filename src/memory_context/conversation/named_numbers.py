"""Numbers that a text names elsewhere than right before them: by a column's header, or with a word between."""

from __future__ import annotations

import re

from memory_context.text.excerpt.record import LONG_LINE, record_at, row_at
from memory_context.text.index.analyzer import COMPOUND, lexemes_of

WORDS_BEFORE = 2
CHARACTERS_BEFORE = 60
BEGINNING = 200
_MARK = re.compile(r"[,\t;|]")
_GAP = re.compile(r"  +")
_ID = frozenset({"id"})


def is_named(text: str, start: int, stop: int, noun: str, *, by_record: bool) -> bool:
    """Return whether the number ``text[start:stop]`` is the one that a message calls by *noun*, as in "order 22".

    So it is behind a number sign, in ``<order id="22">``, in a column called ``order``, and in one called ``id`` of what
    is called ``orders``. That one is looked for *by_record* alone: outside of a table it takes milliseconds.
    """
    if text[start - 1 : start] == "#":
        return True
    line_start = text.rfind("\n", 0, start) + 1
    before = COMPOUND.findall(text, max(line_start, start - CHARACTERS_BEFORE), start)
    names = before[-WORDS_BEFORE:]
    if names and names[-1].isdigit():
        names = []
    line_stop = text.find("\n", stop)
    line_stop = line_stop if line_stop >= 0 else len(text)
    row = row_at(text, line_start, line_stop) if line_stop - line_start <= LONG_LINE else None
    for begin, end in row.heads if row else ():
        names += _header_of_cell(text[begin:end], text[line_start:start], text[stop : stop + 2])
    if _have(names, noun):
        return True
    if not by_record or not any(_ID & set(lexemes_of(name)) for name in names):
        return False
    heads = record_at(text, start, stop).heads
    return _have([text[:BEGINNING], *(text[begin:end] for begin, end in heads)], noun)


def _have(texts: list[str], noun: str) -> bool:
    wanted = set(lexemes_of(noun))
    words = COMPOUND.findall(" ".join(texts))
    return any(wanted.issubset(lexemes_of(word)) for word in words)


def _header_of_cell(header: str, before: str, behind: str) -> list[str]:
    """Return what a header calls the cell that follows *before* in a row, if *behind* ends it there."""
    mark = _MARK.search(header)
    if mark is None and _GAP.search(header.strip()) is None:
        return []
    # As the header's own cells are parted, so are those of the row.
    between = re.compile(re.escape(mark.group())) if mark else _GAP
    cells = between.split(header.lstrip())
    place = len(between.findall(before.lstrip()))
    opens = not before.strip() or between.search(before[-2:])
    ends = not behind.strip() or between.search(behind)
    return [cells[place]] if opens and ends and place < len(cells) else []
