"""Numbers that a text names elsewhere than right before them: by a column's header, or with a word between."""

from __future__ import annotations

import re
from itertools import chain

from memory_context.text.excerpt.record_around_place import LONG_LINE, record_at, row_at
from memory_context.text.index.analyzer import COMPOUND, lexemes_of

WORDS_BEFORE = 2
CHARACTERS_BEFORE = 60
BEGINNING = 200
_MARK = re.compile(r"[,\t;|]")
_GAP = re.compile(r"  +")
_ID = frozenset({"id"})
_SIGN = re.compile(r"[/:@#\\_-]")
_NUMBER = re.compile(r"\d+")
# What stands before and behind a value: marks that part values, blanks that align columns, the ends of a line.
_OPENS = re.compile(r"""(?:\A|[\n,\t;|>"']|[:=] ?|  )\Z""")
_CLOSES = re.compile(r"""\Z|[\n,\t;|<"'}\]]|  | [|]""")


def is_named(
    text: str, start: int, stop: int, noun: str, *, by_record: bool, is_described: bool = False
) -> bool:
    """Return whether the number in ``text[start:stop]`` is the one that a message calls by *noun*, as in "order 22".

    So it is behind a number sign, in ``<order id="22">``, ``ORDER-22`` and ``/orders/22``, in a column called ``order``,
    and in one called ``id`` of what is called ``orders``; if the text *is_described* as orders, also where it is the
    first number of its record, alone in its field. These are looked for *by_record* alone: outside of a table it takes
    milliseconds.
    """
    if text[start - 1 : start] == "#":
        return True
    line_start = text.rfind("\n", 0, start) + 1
    nearest = max(line_start, start - CHARACTERS_BEFORE)
    names = COMPOUND.findall(text, nearest, start)[-WORDS_BEFORE:]
    if names and names[-1].isdigit():
        # What stands before belongs to that number.
        names = []
    names += _headers_of(text, line_start, start, stop)
    # Of "ORDER-22" the number is a part.
    names += _SIGN.split(text[start:stop])[:-1]
    if _have(names, noun):
        return True
    is_id = any(_ID & set(lexemes_of(name)) for name in names)
    if not (by_record and (is_id or is_described)):
        return False
    record = record_at(text, start, stop)
    if is_described and (is_id or _is_first_number(text, record.start, start, stop)):
        return True
    heads = [text[begin:end] for begin, end in record.heads]
    return is_id and _have([text[:BEGINNING], *heads], noun)


def _is_first_number(text: str, record_start: int, start: int, stop: int) -> bool:
    """Return whether a number is all of a value, and no other stands before it in its record that is as short."""
    before, behind = text[record_start:start], text[stop : stop + 2]
    if not (_OPENS.search(before) and _CLOSES.match(behind)):
        return False
    return all(len(number) > stop - start for number in _NUMBER.findall(before))


def _have(texts: list[str], noun: str) -> bool:
    wanted = set(lexemes_of(noun))
    words = COMPOUND.findall(" ".join(texts))
    return bool(wanted) and any(wanted.issubset(lexemes_of(word)) for word in words)


def _headers_of(text: str, line_start: int, start: int, stop: int) -> list[str]:
    """Return what the headers of a table call the number in a row of it; nothing outside of a table."""
    found = text.find("\n", stop)
    line_stop = found if found >= 0 else len(text)
    if line_stop - line_start > LONG_LINE:
        return []
    row = row_at(text, line_start, line_stop)
    if row is None:
        return []
    before, behind = text[line_start:start], text[stop : stop + 2]
    headers = [_header_of_cell(text[begin:end], before, behind) for begin, end in row.heads]
    return list(chain.from_iterable(headers))


def _header_of_cell(header: str, before: str, behind: str) -> list[str]:
    """Return what a header calls the cell that follows *before* in a row, if *behind* ends it there."""
    mark = _MARK.search(header)
    is_aligned = _GAP.search(header.strip()) is not None
    if mark is None and not is_aligned:
        return []
    # As the header's own cells are parted, so are those of the row.
    between = _GAP
    if mark is not None:
        between = re.compile(re.escape(mark.group()))
    cells = between.split(header.lstrip())
    place = len(between.findall(before.lstrip()))
    opens = not before.strip() or between.search(before[-2:])
    ends = not behind.strip() or between.search(behind)
    if not (opens and ends):
        return []
    return cells[place : place + 1]
