"""Find the record around a place in a text: a JSON object, a row, a block, a list item, a turn of a conversation.

A *place* is a range of characters, such as a word that was found. A record's *heads* are the lines before it that say
what it belongs to. Only the neighbourhood of the place is read, however long the text is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise

from memory_context.text.excerpt.headed_sections import section_at
from memory_context.text.excerpt.long_records import LongRecord, long_record_at
from memory_context.text.excerpt.objects_of_json import (
    OBJECT_START,
    STRING_OR_BRACKET,
    containers_in,
    members_of,
)
from memory_context.text.excerpt.records_by_line_forms import (
    GOES_ON,
    LONG_HEAD,
    LONG_RECORD,
    LONGEST_RECORD,
    depth_of,
    heads_above,
    opens_block,
    repeated_block,
)
from memory_context.text.excerpt.turns_of_conversations import is_conversation, turn_at
from memory_context.text.lines import (
    line_end,
    line_spans,
    line_start,
    without_indenting_numbers,
)
from memory_context.text.rows.names_above_rows import HEADER_LINES, names_above
from memory_context.text.spans import Span

LEAST_CELLS = 3
# If a record is too long to be shown whole, a field longer than this is cut, or left out with the fields beyond it.
LONG_FIELD = 300
# Members that a message asks for are taken from this many objects around a record.
INNERMOST_OBJECTS = 4
# The line between two documents of YAML.
DOCUMENT_ENDS = "\n---\n"
LONG_LINE = 600
# How far before a place to look for the objects around it: first nearby, then further away.
REACHES = (8_000, 64_000)
# What follows a list that is a member of another container or ends the text, unlike `[section]` and `[12:40]` in prose.
_ENDS_MEMBER = re.compile(r"\s*(?:[,\]}]|\Z)")
# Between two cells: a bar, a tab, or the spaces that align columns; not an indentation.
_BETWEEN_CELLS = re.compile(
    r"(?:(?<! ) *+)?[|\u2502\t] *|(?<=\S)  ++(?=\S)"
)  # U+2502 is the bar of drawn tables
_FIRST_WORD = re.compile(r"\s*\W?\w+\b(?![:=])")
# A last word with a question mark, perhaps in quotes. The mark in `name.?` or in an address asks nothing.
_ASKS = re.compile(r"(?:\A|\s)[^\s/]*\w[)\"'\u2019\u201d\u00bb]?[?\uff1f\u061f]\Z")
# What may follow the mark, such as Markdown's signs of emphasis.
_AFTER_QUESTION = " \t\r*_\"')"
# The line below, perhaps after one blank line, unless it is a heading.
_LINE_BELOW = re.compile(r"[ \t\r]*+\n(?:[ \t\r]*+\n)?(?!#)[^\n]++")
_NON_SPACE = re.compile(r"\S")
# The key of a value, up to the value.
_KEY_OF_VALUE = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*')\s*:\s*\Z""")
# The key of an object or list, up to its bracket.
_KEY_OF_CONTAINER = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*')\s*:\s*(?=[\[{])""")
_KEY_OF_LINK = re.compile(r"""["'][^"'\n]*["']\s*:\s*["']https?://""")
# A key of YAML, perhaps below comments.
_KEY = re.compile(r"(?:#[^\n]*\n)*\s*[\w./\"'-]+:(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Record:
    """A part of a text that makes sense by itself.

    Attributes:
        start: The offset at which it begins.
        stop: The offset at which it ends.
        heads: The spans before it that say what it belongs to: a table's header, the beginnings of the objects
            around it.
        comes_again: Whether a record of the same form precedes or follows it, as in a list.
        rest: The spans beside it that belong to it, if it or an object around it is too long to be shown whole.
    """

    start: int
    stop: int
    heads: list[Span] = field(default_factory=list[Span])
    comes_again: bool = False
    rest: list[Span] = field(default_factory=list[Span])

    @property
    def spans(self) -> list[Span]:
        """Return the spans of its heads, of the record itself and of its rest, in order; they may overlap."""
        return sorted([*self.heads, *self.body])

    @property
    def body(self) -> list[Span]:
        """Return the spans of the record itself and of its rest."""
        return [(self.start, self.stop), *self.rest]


def spans_of(records: Iterable[Record]) -> list[Span]:
    """Return the spans of records and of their heads."""
    return list(chain.from_iterable(record.spans for record in records))


def record_at(text: str, start: int, stop: int, asked: Sequence[int] = ()) -> Record:
    """Return the record around ``text[start:stop]``.

    It is whole unless it is longer than 1,200 characters. In a stored conversation it is a turn, or a line of a long one.
    Of the objects around it that are longer, the members come that are *asked* for.
    """
    if is_conversation(text):
        return Record(*turn_at(text, line_start(text, start), line_end(text, stop)))
    record = _record_at(text, start, stop, asked)
    if long := long_record_at(text, start):
        record = _in_long_record(text, record, long, asked)
    return record


def _record_at(text: str, start: int, stop: int, asked: Sequence[int]) -> Record:
    """Return the record around a place, or a part of it that makes sense by itself if it is long."""
    begin = line_start(text, start)
    end = line_end(text, stop)
    part: Span | None = None
    if end - begin > LONG_LINE:
        around = LONG_LINE // 2
        part = max(begin, start - around), min(end, stop + around)
    section = section_at(text, begin)
    if section is not None and section.is_of_diff:
        shown = part or section.span
        return Record(*shown, section.heads, comes_again=True)
    record = _document_at(text, begin, end) or _object_or_row_at(
        text, begin, end, start, part, asked
    )
    if record is not None:
        return record
    if section is not None and section.is_record:
        return Record(*section.span, section.heads, comes_again=True)
    # Only whole lines count here, and they begin and end at the same offsets.
    lines = without_indenting_numbers(text)
    repeated = repeated_block(lines, begin, end)
    if repeated is None:
        record = _block_at(lines, begin, end)
    else:
        span, heads = repeated
        record = Record(*span, heads, comes_again=True)
    if section is not None and not record.heads:
        record = replace(record, heads=section.heads[-1:])
    return _with_answer(text, record)


def _in_long_record(text: str, record: Record, around: LongRecord, asked: Sequence[int]) -> Record:
    """Return a part of a long record with its name, and with the lines beside it that are *asked* for.

    If only the name is, what follows the name comes.
    """
    if record.start <= around.start and around.stop <= record.stop:
        return record
    shown = list[Span]()
    left = LONG_RECORD
    lines = Counter[Span]()
    for place in asked[bisect_left(asked, around.start) : bisect_left(asked, around.stop)]:
        if not record.start <= place < record.stop:
            lines[line_start(text, place), line_end(text, place)] += 1
    for (start, stop), _ in lines.most_common():
        above = heads_above(text, start, depth_of(text, start), farthest=around.start)
        new = {*above, (start, stop)} - {*shown}
        left -= sum(end - begin for begin, end in new)
        if left < 0:
            break
        shown += new
    if not shown and record.start <= around.name[0] < record.stop:
        stop = min(around.stop, record.stop + left)
        shown.append((record.stop, max(record.stop, text.rfind("\n", record.stop, stop + 1))))
    heads = [around.name, *record.heads]
    return replace(record, heads=heads, comes_again=True, rest=[*record.rest, *shown])


def _with_answer(text: str, record: Record) -> Record:
    """Return the record with the line below it, if it ends with a question and that line does not; otherwise unchanged."""
    asked = text[record.start : record.stop].rstrip(_AFTER_QUESTION)
    answer = _LINE_BELOW.match(text, record.stop)
    if answer is None or not _ASKS.search(asked):
        return record
    if _ASKS.search(answer[0].rstrip(_AFTER_QUESTION)):
        return record
    stop = min(answer.end(), record.start + LONGEST_RECORD)
    return replace(record, stop=max(stop, record.stop))


def _object_or_row_at(
    text: str, begin: int, end: int, place: int, part: Span | None, asked: Sequence[int]
) -> Record | None:
    """Return the object around a place, or else its line as a table row; None if it is neither.

    For a long line, *part* is the part of it near the place, which is returned if there is no object.
    """
    beginning = text[begin : begin + 40].lstrip()
    may_be_in_object = beginning.startswith(("{", "[", '"', "}", "]"))
    if (part or may_be_in_object) and (record := _object_at(text, place, asked)):
        return record
    if part is not None:
        return Record(*part)
    return row_at(text, begin, end)


def _document_at(text: str, begin: int, end: int) -> Record | None:
    """Return the YAML document around a line, between lines of three hyphens; None if there is none or it is too long.

    Both its first line and the given one must begin with a key.
    """
    farthest = max(0, begin - LONGEST_RECORD)
    above = text.rfind(DOCUMENT_ENDS, farthest, begin)
    stop = text.find(DOCUMENT_ENDS, end, end + LONGEST_RECORD)
    if above < 0 and stop < 0:
        return None
    start = 0
    if above >= 0:
        start = above + len(DOCUMENT_ENDS)
    if stop < 0:
        stop = len(text.rstrip())
    is_yaml = _KEY.match(text, start) and _KEY.match(text, begin)
    if is_yaml and stop - start <= LONGEST_RECORD:
        return Record(start, stop, comes_again=True)
    return None


def row_at(text: str, start: int, stop: int) -> Record | None:
    """Return the line ``text[start:stop]`` as a table row with its header; None if it is not a row."""
    names = names_above(text, start)
    if names is None:
        return _row_of_columns(text, start, stop)
    heads = list[Span]()
    if start > names[1]:
        heads.append(names)
    return Record(start, stop, heads)


def _row_of_columns(text: str, start: int, stop: int) -> Record | None:
    """Return the line as a row of columns; None unless it has three cells or more, and a line next to it has as many."""
    cells = _count_cells(text, start, stop)
    # One of the two is enough: the last row may have a footer below it, and the first one a rule above it.
    adjacent = (_count_cells(text, *line) for line in _adjacent_lines(text, start, stop))
    if cells < LEAST_CELLS or cells not in adjacent:
        return None
    # It is not certain which line has the names. The first one with as many cells may, unless it has digits.
    first_lines = islice(line_spans(text, 0, start - 1), HEADER_LINES)
    first = next((line for line in first_lines if _count_cells(text, *line) == cells), None)
    heads = list[Span]()
    if first and not any(map(str.isdigit, text[slice(*first)])):
        heads.append(first)
    return Record(start, stop, heads, comes_again=True)


def _adjacent_lines(text: str, start: int, stop: int) -> list[Span]:
    """Return the lines above and below the line ``text[start:stop]``."""
    above = line_start(text, max(0, start - 1))
    below = stop + 1
    return [(above, start - 1), (below, line_end(text, below))]


def _count_cells(text: str, start: int, stop: int) -> int:
    first_cell = start + depth_of(text, start)
    return 1 + len(_BETWEEN_CELLS.findall(text, first_cell, stop))


def _object_at(text: str, start: int, asked: Sequence[int]) -> Record | None:
    """Return the largest object around a place that is not too long, with the beginnings of the objects around it.

    A list is returned only if no object within it holds the place. If all of them are too long, it is the member that the
    place is in, with others of the innermost. None if the place is in no object or list.
    """
    opened = list[int]()
    for reach in REACHES:
        farthest = max(0, start - reach)
        opened = _opened_before(text, farthest, start)
        objects = [place for place in opened if text[place] == "{"]
        if len(objects) > 1 or farthest == 0:
            break
    record: Span | None = None
    while opened:
        begin = opened[-1]
        closed, _ = containers_in(text, begin, begin + LONGEST_RECORD)
        end = dict(closed).get(begin)
        if end is None:
            break
        opened.pop()
        is_list = text[begin] == "["
        if not is_list or (record is None and _ENDS_MEMBER.match(text, end)):
            record = (begin, end)
    own: int | None = None
    if record is None:
        record = _member_at(text, opened, start)
        if record is None:
            return None
        own = opened[-1]
    rest = _members_beside(text, opened, record, asked, own)
    if own is not None and not rest:
        return None
    return Record(*record, _heads_of_objects(text, opened, record[0]), rest=rest)


def _member_at(text: str, opened: Sequence[int], place: int) -> Span | None:
    """Return the part to show of the member that a place is in, of the innermost of the *opened* objects; None for a list."""
    if not opened or text[opened[-1]] != "{":
        return None
    for member in _members(text, opened[-1], place):
        if member[0] <= place < member[1]:
            return _part_of_member(member, place)
    return None


def _members(text: str, begin: int, place: int) -> list[Span]:
    """Return the spans of the members of the container that begins at `begin`, with their commas, up to far after a place."""
    limit = place + REACHES[0]
    members = [(start, stop) for _, start, _, stop in members_of(text, begin, limit)]
    if members and members[-1][1] == limit and _is_short(members[-1]):
        members.pop()  # it continues beyond the limit, and a number that is cut off looks like another one
    return [(start, stop + text.startswith(",", stop)) for start, stop in members]


def _members_beside(
    text: str, opened: Sequence[int], record: Span, asked: Sequence[int], own: int | None
) -> list[Span]:
    """Return the members to show beside a record, of the long objects around it, as many as a record has room for.

    These are the members that hold terms of the message: an order's coupon beside the name of its customer. Of a list or an
    object only the key counts, since what is in it may be about somebody else. Of the object that the record is itself a
    member of, they are also those nearest to it: a file's name, owner and size beside its content; but few of the many
    members of a mapping, none of which is long. Links, which are long and many, come last.

    Args:
        text: The text.
        opened: The brackets that are open around the record, outermost first.
        record: The record.
        asked: Where terms of the message are.
        own: Where the object begins that the record is a member of; None for a record that is an object.
    """
    shown = list[Span]()
    left = LONGEST_RECORD
    place, end = record
    objects = [begin for begin in opened if text[begin] == "{"]
    for begin in reversed(objects[-INNERMOST_OBJECTS:]):
        if begin != own and place - begin > REACHES[0]:
            continue
        ranked = list[tuple[bool, bool, int, Span]]()
        members = _members(text, begin, end)
        is_wanted = begin == own and not all(map(_is_short, members))
        for start, stop in members:
            key = _KEY_OF_CONTAINER.match(text, start, stop)
            last = key.end() if key else stop
            terms = asked[bisect_left(asked, start) : bisect_left(asked, last)]
            if (terms or is_wanted) and not start <= place < stop:
                is_link = _KEY_OF_LINK.match(text, start, stop) is not None
                part = _part_of_member((start, stop), min(terms, default=place))
                ranked.append((is_link, not terms, abs(start - place), part))
        for *_, (start, stop) in sorted(ranked):
            if stop - start <= left:
                left -= stop - start
                shown.append((start, stop))
    return shown


def _is_short(member: Span) -> bool:
    return member[1] - member[0] <= LONG_FIELD


def _part_of_member(member: Span, place: int) -> Span:
    """Return the part of a member to show: all of a short one; of a long one what is near the place, or its beginning."""
    start, stop = member
    is_own = start <= place < stop
    if _is_short(member) or (is_own and stop - start <= LONGEST_RECORD):
        return member
    if is_own:
        return max(start, place - LONG_FIELD), min(stop, place + LONG_FIELD)
    return start, start + LONG_HEAD


def _heads_of_objects(text: str, opened: Sequence[int], record: int) -> list[Span]:
    """Return the beginnings of the open objects around a record, and the keys under which they are nested."""
    heads = list[Span]()
    for place, inner in pairwise([*opened, record]):
        if text[place] == "{":
            heads.append((place, _end_of_head(text, place, inner)))
        near = max(place + 1, inner - LONG_HEAD)
        if key := _KEY_OF_VALUE.search(text, near, inner):
            heads.append((key.start(), inner))
    return heads


def _opened_before(text: str, begin: int, place: int) -> list[int]:
    """Return the offsets of the brackets that are open at a place, outermost first, reading from about `begin` on."""
    if begin:
        # `begin` may be inside a string, so reading starts at the first point that certainly is not.
        match = OBJECT_START.search(text, begin, place)
        stop = match.start() if match else place
        newline = text.find("\n", begin, stop)
        begin = stop
        if newline >= 0:
            begin = newline
    _, opened = containers_in(text, begin, place)
    return opened


def _end_of_head(text: str, begin: int, inner: int) -> int:
    """Return where the beginning of an object ends: before the first container in it, after 160 characters at most."""
    stop = min(inner, begin + LONG_HEAD)
    for token in STRING_OR_BRACKET.finditer(text, begin + 1, stop):
        if token.group() in ("{", "["):
            # The key of that container is left out, too: it would seem to be the record's.
            return max(begin + 1, text.rfind(",", begin, token.start()))
    return stop


def _block_at(text: str, first: int, last: int) -> Record:
    """Return the block around the line ``text[first:last]``: the paragraph between blank lines, or else an item."""
    farthest = max(0, first - LONGEST_RECORD)
    blank_line = text.rfind("\n\n", farthest, first)
    start = 0
    if blank_line >= 0:
        start = blank_line + 2
    stop = text.find("\n\n", last, start + LONGEST_RECORD)
    if stop < 0 and len(text) - start <= LONGEST_RECORD:
        stop = len(text)
    is_below_blank = start > 0 or farthest == 0
    is_whole_text = (start, stop) == (0, len(text))
    is_paragraph = is_below_blank and stop >= 0 and not is_whole_text
    if is_paragraph and not opens_block(text, first, last):
        depth = depth_of(text, start)
        end = _end_of_headed(text, start, stop)
        # A paragraph with which a function begins is not all of it.
        if depth_of(text, line_start(text, stop)) > depth:
            end = _end_below(text, start, end, depth)
        heads = heads_above(text, start, depth)
        return Record(start, end, heads)
    return _item_at(text, first, last)


def _end_of_headed(text: str, start: int, stop: int) -> int:
    """Return where a paragraph ends; for a heading (a single short line), where the longer paragraph below it ends."""
    if stop - start > LONG_HEAD or "\n" in text[start:stop]:
        return stop
    below = _NON_SPACE.search(text, stop)
    begin = below.start() if below else stop
    farthest = start + LONGEST_RECORD
    end = text.find("\n\n", begin, farthest)
    if end < 0:
        end = min(len(text), farthest)
    if end - begin > stop - start:
        return end
    return stop


def _item_at(text: str, start: int, stop: int) -> Record:
    """Return a line with what is indented below it.

    A line with nothing indented below it, and unlike the lines next to it, is returned with its parent and all that is
    below the parent.
    """
    depth = depth_of(text, start)
    begin = start
    if not opens_block(text, start, stop) and not _begins_alike(text, start, stop):
        parents = heads_above(text, start, depth)
        if parents:
            nearest, _ = parents[-1]
            if start - nearest <= LONGEST_RECORD:
                begin = nearest
                depth = depth_of(text, begin)
    end = _end_below(text, begin, stop, depth)
    return Record(begin, end, heads_above(text, begin, depth))


def _end_below(text: str, begin: int, stop: int, depth: int) -> int:
    """Return where what is indented below *depth* ends, after *stop*; as far as a record that starts at *begin* may go."""
    for next_start, next_stop in line_spans(text, stop + 1, len(text)):
        if next_stop - begin > LONGEST_RECORD:
            break
        if not _NON_SPACE.search(text, next_start, next_stop):
            continue
        if depth_of(text, next_start) <= depth and not GOES_ON.match(text, next_start, next_stop):
            break
        stop = next_stop
    return stop


def _begins_alike(text: str, start: int, stop: int) -> bool:
    """Return whether a line next to this one begins with the same word at the same column, and so is of the same kind."""
    word = _FIRST_WORD.match(text, start, stop)
    if word is None:
        return False
    others = [_FIRST_WORD.match(text, *line) for line in _adjacent_lines(text, start, stop)]
    return word[0] in [other[0] for other in others if other]
