"""Tell whether a number in a text is the one that a message calls "order 22", if "order" is not right before it.

The noun may be its column's header, a key, a part of an id or a path, or what the whole text lists.
"""

from __future__ import annotations

import re

from memory_context.text.excerpt.record_around_place import LONG_LINE, record_at, row_at
from memory_context.text.index.analyzer import COMPOUND, lexemes_of
from memory_context.text.lines import line_end, line_start

# A number's name may be among this many words before it, within this many characters.
WORDS_BEFORE = 2
CHARACTERS_BEFORE = 60
_SEPARATOR = re.compile(r"[,\t;|]")
_GAP = re.compile(r"  +")

_SIGN = re.compile(r"[/:@#\\_-]")
_NUMBER = re.compile(r"\d+")
# What is before and after a value: separators, the spaces that align columns, and the ends of a line.
_OPENS = re.compile(r"""(?:\A|[\n,\t;|>"']|[:=] ?|  )\Z""")
_CLOSES = re.compile(r"""\Z|[\n,\t;|<"'}\]]|  | [|]""")


def is_named(
    text: str, start: int, stop: int, noun: str, *, by_record: bool, is_described: bool
) -> bool:
    """Return whether the number in ``text[start:stop]`` is the one that a message calls by *noun*, as in "order 22".

    It is if it follows a number sign, in ``<order id="22">``, ``ORDER-22`` and ``/orders/22``, and in a column called
    ``order``. With *by_record*, it also is if it is the ``id`` of a record whose heads name ``orders``; and in a text that
    *is_described* as orders, if it is any ``id``, or if it fills a value and is the first number in its record.

    Args:
        text: The whole text.
        start: Where the number begins.
        stop: Where it ends.
        noun: What the message calls it.
        by_record: Whether to find the record around the number, which takes milliseconds outside of a table.
        is_described: Whether the text's description or its first characters name *noun*.
    """
    if text[start - 1 : start] == "#":
        return True
    begin = line_start(text, start)
    farthest = max(begin, start - CHARACTERS_BEFORE)
    names = COMPOUND.findall(text, farthest, start)[-WORDS_BEFORE:]
    if names and names[-1].isdigit():
        # Words before another number name that one.
        names = []
    names += _header_of(text, begin, start, stop)
    # The number may be given as a part of a word: "ORDER-22".
    names += _SIGN.split(text[start:stop])[:-1]
    if _any_names(names, noun):
        return True
    is_id = _any_names(names, "id")
    if not (by_record and (is_id or is_described)):
        return False
    record = record_at(text, start, stop)
    if is_described and (is_id or _is_first_number(text, record.start, start, stop)):
        return True
    heads = [text[begin:end] for begin, end in record.heads]
    return is_id and _any_names(heads, noun)


def _is_first_number(text: str, record_start: int, start: int, stop: int) -> bool:
    """Return whether a number fills a value, and all numbers before it in its record have more digits."""
    before, behind = text[record_start:start], text[stop : stop + 2]
    if not (_OPENS.search(before) and _CLOSES.match(behind)):
        return False
    return all(len(number) > stop - start for number in _NUMBER.findall(before))


def _any_names(texts: list[str], noun: str) -> bool:
    """Return whether one of *texts* has a word with all the lexemes of *noun*."""
    wanted = set(lexemes_of(noun))
    words = COMPOUND.findall(" ".join(texts))
    return bool(wanted) and any(wanted.issubset(lexemes_of(word)) for word in words)


def _header_of(text: str, begin: int, start: int, stop: int) -> list[str]:
    """Return the header of the column whose cell the number fills, in the line that begins at *begin*; ``[]`` if none."""
    end = line_end(text, stop)
    if end - begin > LONG_LINE:
        return []
    row = row_at(text, begin, end)
    if row is None or not row.heads:
        return []
    header = text[slice(*row.heads[0])]
    # The cells of a row have the same separator as those of the header.
    if mark := _SEPARATOR.search(header):
        separator = re.compile(re.escape(mark.group()))
    elif _GAP.search(header.strip()):
        separator = _GAP
    else:
        return []
    before, behind = text[begin:start], text[stop : stop + 2]
    cells = separator.split(header.lstrip())
    column = len(separator.findall(before.lstrip()))
    opens = not before.strip() or separator.search(before[-2:])
    ends = not behind.strip() or separator.search(behind)
    if not (opens and ends):
        return []
    return cells[column : column + 1]
