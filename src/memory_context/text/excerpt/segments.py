"""A text cut into pieces that make sense by themselves: lines, records of JSON, fields, sentences.

Nothing is lost: each piece is a slice of the text. A piece may need another to be understood: a row its header, a
statement the ``def`` it stands in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from json.decoder import scanstring  # type: ignore[attr-defined] # where a JSON string ends, at the speed of C
from typing import cast

PIECE = 80
LONG_LINE = 120
LONGEST = 160
SHORT = 50
LONG_STRING = 160
LONG_VALUE = 120
DEEPEST = 12
DEEPEST_INDENTATION = 200  # a run of spaces is looked at once for each piece of it
HEADER_LINES = 20
HEADER_CHARACTERS = 4000
LEAST_LINES = 3

_BREAK = re.compile(
    r"(?P<line>(?<!\\)\\+n\s*)|[}\]],?\s*|,\s+|[.;!?\u3002\uff1b\uff01\uff1f]\s*(?=\s|[^\x00-\x7f])|(?<!\s)\s+\|\s+"
    r"|,(?=\\*\")"
)
_DEFINITION = re.compile(
    r"\s*(?:\d+\s*[|:\t→]?\s*)?(?:(?:export|default|public|private|protected|static|final|abstract|async|pub|unsafe|"
    r"inline|virtual|override)\s+)*(?:def|class|function|func|fn|impl|trait|interface|struct|enum|module|namespace)\s+\w"
)
_MARKDOWN_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*")
_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Piece:
    """A slice of a text.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        group: The record that it is a part of; 0 for the text itself.
        parent: The piece, before it, that says what it belongs to: a table's header, a definition's first line.
        members: Of a record, how many members it holds.
    """

    start: int
    end: int
    group: int = 0
    parent: int | None = None
    members: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """What some pieces are parts of.

    Attributes:
        kind: ``text``; ``object`` or ``array`` of JSON, whose pieces are its members.
        path: Its JSONPath, or nothing.
        size: How many members it has, as JSON.
    """

    kind: str = "text"
    path: str = ""
    size: int = 0


@dataclass(slots=True)
class Pieces:
    """The pieces of a text, in order, the groups that they are parts of, and the regions that they cover."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    groups: list[Group] = field(default_factory=lambda: [Group()])
    regions: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def cut(text: str, *, structured: bool = True) -> Pieces:
    """`text` in pieces, in time linear in its length; those of JSON are members of its records, if `structured`."""
    found = Pieces(regions=[(0, len(text))])
    if structured and _is_json(text):
        _cut_value(text, _SPACE.match(text, 0).end(), "$", found, 0)  # type: ignore[union-attr] # matches anything
    elif structured and _is_json_lines(text):
        records = [start for start, end in _lines(text, 0, len(text)) if end > start]
        for index, start in enumerate(records):
            _cut_value(text, start, f"$[{index}]", found, 0)
    else:
        _cut_text(text, 0, len(text), found.pieces, 0)
    return found


def cut_regions(text: str, regions: list[tuple[int, int]]) -> Pieces:
    """Some regions of a text, of which the first is its beginning, in pieces, without looking at the rest."""
    found = Pieces(regions=regions)
    header = bool(_header(text, *regions[0]))
    for start, end in regions:
        if start == regions[0][0] or not header:
            _cut_text(text, start, end, found.pieces, 0)
        else:
            found.pieces += (
                Piece(begin, stop, parent=0) for begin, stop in _packed(text, start, end)
            )
    return found


def _is_json(text: str) -> bool:
    first = text[_SPACE.match(text, 0).end() :][:1]  # type: ignore[union-attr] # matches anything
    if first not in ("{", "["):
        return False
    try:
        _decoder.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_json_lines(text: str) -> bool:
    lines = [text[start:end] for start, end in _lines(text, 0, len(text)) if end > start]
    return len(lines) > 1 and all(
        line[0] == "{" and line[-1] == "}" and _is_json(line) for line in lines
    )


def _cut_value(text: str, start: int, path: str, found: Pieces, depth: int) -> None:
    """The members of the container that begins at `start`: small ones as pieces, large ones cut again."""
    number = len(found.groups)
    is_object = text[start] == "{"
    found.groups.append(Group())
    size = 0
    for size, (begin, place, end, name) in enumerate(_members(text, start), 1):  # noqa: B007 - the last is the count
        inner = path + (_step_into(name) if is_object else f"[{name}]")
        opens, length = text[place], end - place
        if opens == '"' and length > LONG_STRING:
            found.groups.append(Group("text", inner))
            _cut_text(text, place + 1, end - 1, found.pieces, len(found.groups) - 1)
        elif opens in "{[" and length > LONG_VALUE and depth < DEEPEST:
            _cut_value(text, place, inner, found, depth + 1)
        else:
            _add_member(found.pieces, begin, end, number)
    found.groups[number] = Group("object" if is_object else "array", path, size)


def _step_into(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"[{json.dumps(name)}]"


def _add_member(pieces: list[Piece], begin: int, end: int, group: int) -> None:
    """A piece more, or a longer one: short members stand together."""
    if pieces and pieces[-1].group == group and pieces[-1].end - pieces[-1].start < SHORT:
        last = pieces.pop()
        pieces.append(Piece(last.start, end, group, members=last.members + 1))
    else:
        pieces.append(Piece(begin, end, group))


def _members(text: str, start: int) -> Iterator[tuple[int, int, int, str]]:
    """Of each member of a JSON container: where it begins, where its value begins and ends, its key or index."""
    is_object, place, index = text[start] == "{", start + 1, 0
    while text[place := _SPACE.match(text, place).end()] not in "}]":  # type: ignore[union-attr] # matches anything
        begin, name = place, str(index)
        if is_object:
            name, place = cast("tuple[str, int]", scanstring(text, place + 1))
            place = _SPACE.match(text, text.index(":", place) + 1).end()  # type: ignore[union-attr] # as above
        _, end = _decoder.raw_decode(text, place)
        yield begin, place, end, name
        place = _SPACE.match(text, end).end()  # type: ignore[union-attr] # as above
        place, index = place + (text[place] == ","), index + 1


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start <= end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _cut_text(text: str, start: int, end: int, pieces: list[Piece], group: int) -> None:
    """Lines; short ones together with the next, long ones apart where a reader would break them."""
    header = _header(text, start, end)
    if header:
        parent = len(pieces)
        pieces.append(Piece(start, header, group))
        pieces += (
            Piece(begin, stop, group, parent) for begin, stop in _packed(text, header + 1, end)
        )
        return
    scopes = list[tuple[int, int]]()
    for begin, stop in _packed(text, start, end):
        pieces.append(Piece(begin, stop, group, _scope(text, begin, scopes, len(pieces))))


def _scope(text: str, begin: int, scopes: list[tuple[int, int]], index: int) -> int | None:
    """The definition that the piece which begins here stands in; `scopes` are the open ones, by indentation."""
    if text[begin : begin + 1] in ("", "\n"):
        return scopes[-1][1] if scopes else None
    depth = _indentation(text, begin)
    closes = text[begin + depth : begin + depth + 1] in (")", "]", "}")
    while scopes and scopes[-1][0] >= depth + closes:
        scopes.pop()
    parent = scopes[-1][1] if scopes else None
    if _DEFINITION.match(text, begin + depth, begin + depth + LONG_LINE):
        scopes.append((depth, index))
    return parent


def _indentation(text: str, begin: int) -> int:
    return _SPACE.match(text, begin, begin + DEEPEST_INDENTATION).end() - begin  # type: ignore[union-attr] # matches anything


def _header(text: str, start: int, end: int) -> int:
    """Where the header of the table that begins here ends; 0 where none begins."""
    places = list(islice(_lines(text, start, min(end, start + HEADER_CHARACTERS)), HEADER_LINES))[
        :-1
    ]
    lines = [text[begin:stop] for begin, stop in places]
    if len(lines) < LEAST_LINES:
        return 0
    if _MARKDOWN_RULE.fullmatch(lines[1]):
        return places[1][1]
    even = any(
        lines[0].count(mark) > 1 and len({line.count(mark) for line in lines}) == 1
        for mark in ",\t;|"
    )
    return places[0][1] if even else 0


def _packed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The pieces of ``text[start:end]``: short lines with the next, unless that one is indented less."""
    begun: tuple[int, int] | None = None
    for begin, stop in _broken(text, start, end):
        if begun is None:
            begun = begin, stop
        elif _goes_with(text, begun, begin, stop):
            begun = begun[0], stop
        else:
            yield begun
            begun = begin, stop
    if begun is not None:
        yield begun


def _goes_with(text: str, begun: tuple[int, int], begin: int, stop: int) -> bool:
    if stop == begin:
        return begun[1] > begun[0]
    if (
        begun[1] - begun[0] >= SHORT
        or stop - begun[0] > LONG_LINE
        or text[begun[1] - 1 : begun[1]] == "\n"
    ):
        return False
    return text[begin - 1] != "\n" or _indentation(text, begin) >= _indentation(text, begun[0])


def _broken(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for begin, stop in _lines(text, start, end):
        if stop - begin <= LONG_LINE:
            yield begin, stop
        else:
            yield from pairwise([begin, *_breaks(text, begin, stop), stop])


def _breaks(text: str, begin: int, stop: int) -> Iterator[int]:
    """Where a long line is broken: behind a field, a sentence or an escaped line break, after about 80 characters."""
    last = begin
    for match in _BREAK.finditer(text, begin, stop):
        place = match.end()
        if place >= stop:
            break
        if place - begin > PIECE and last - begin > PIECE // 3:
            begin = last
            yield begin
        while place - begin > LONGEST:
            begin = _at_space(text, begin)
            yield begin
        if match["line"] and place - begin >= SHORT:
            begin = place
            yield begin
        last = place
    while stop - begin > LONGEST:
        begin = _at_space(text, begin)
        yield begin


def _at_space(text: str, begin: int) -> int:
    space = text.rfind(" ", begin + PIECE // 2, begin + LONG_LINE)
    return space + 1 if space > 0 else begin + PIECE
