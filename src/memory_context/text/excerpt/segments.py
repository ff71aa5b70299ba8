"""Split a text into segments, slices that make sense by themselves: lines, members of JSON, fields, sentences.

No content is lost between them. A segment may have heads, without which it is not understood: a row has its header, the
rest of a long row also its beginning, a statement the ``def`` that it is in. Members of JSON belong to a container, the
object or list whose path is shown before them. A long string in them is split as a text of its own: into lines, or into
members again.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from memory_context.sentences_models_read import GAP
from memory_context.text.excerpt.escapes_in_place import start_of_escape, unescaped_in_place
from memory_context.text.excerpt.long_records import long_records
from memory_context.text.excerpt.objects_of_json import (
    BEGINS_WITH_OBJECT,
    LONGEST_OBJECT,
    first_key,
    members_of,
    short_objects,
    skip_space,
    steps_to_names,
)
from memory_context.text.excerpt.records_by_line_forms import BESIDE_BLOCKS
from memory_context.text.lines import line_spans, without_indenting_numbers
from memory_context.text.python_literals import (
    begins_value,
    find_value,
    parse_literal,
    start_of_value,
)
from memory_context.text.rows.names_above_rows import blocks_with_names, end_of_names
from memory_context.text.spans import Span, joined

USUAL_LENGTH = 80
LONG_LINE = 120
LONGEST = 160
SHORT = 50
LONG_STRING = 160
LONG_VALUE = 120
# The names of an object and the short members behind them are no longer, because each other member comes with them.
LONGEST_WITH_NAME = 90
# Members that are nested deeper are not split: a path of a dozen steps costs more tokens than it is worth.
DEEPEST = 12
# Bounded, because a long run of spaces is split into many segments, and each of them is measured from its beginning.
DEEPEST_INDENTATION = 200
# In English prose "the" is 80 to 180 characters from the next on average; in what commands, compilers and logs print, mostly
# more than 400. Source code with long comments is between them.
MOST_APART = 180

# Where a reader would break a long line: after an escaped line break, a line break of old Macs, the end of an object or
# list, a comma, the end of a sentence (in Chinese no space follows it), a bar or a tab between fields, or a comma before a
# quoted field.
_BREAK = re.compile(
    r"""
    (?<!\\)\\+n\s*
    | \r
    | [}\]],?\s*
    | ,\s+
    | [.;!?\u3002\uff1b\uff01\uff1f]\s*(?=\s|[^\x00-\x7f])
    | (?<!\s)\s+\|\s+
    | \t+
    | ,(?=\\*")
    """,
    re.VERBOSE,
)
# The first line of a definition in a common language, perhaps after a line number that a tool has put before it.
_DEFINITION = re.compile(
    r"""
    \s*(?:\d+\s*[|:\t→]?\s*)?
    (?:(?:export|default|public|private|protected|static|final|abstract|async|pub|unsafe|inline|virtual|override)\s+)*
    (?:def|class|function|func|fn|impl|trait|interface|struct|enum|module|namespace)\s+\w
    """,
    re.VERBOSE,
)
# How a line ends that opens a block, in YAML, in configurations and in most languages.
_OPENINGS = ("{", ":")
# How the part of a diff about one file begins.
_OF_A_FILE = "diff --git "
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"\w")
_OPENS_OBJECT = re.compile(r"^\{", re.MULTILINE)
# Members that nearly every result of an MCP tool has beside its texts, and which are not shown; the paths of the objects
# with such members, and of the texts, in which paths begin anew (`json_documents`).
_FRAME = re.compile(
    r"""["']?(?:_?meta|annotations|type|isError)["']?\s*[:=]\s*(?:null|None|["']text["']|[fF]alse)"""
)
_FRAMED = re.compile(r"[$…](?:(?:\.content)?\[\d+\])?")
_FRAMED_TEXT = re.compile(r"\$(?:\.content)?\[\d+\]\.text")
_TEXTS = {".content", ".text"}
# A member without a value, which says little: it is shown only for itself, never with another one.
_EMPTY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|\w+)\s*[:=]\s*(null|None|\[\]|\{\}|""|'')""")


class Segment(NamedTuple):
    """A slice of a text.

    Attributes:
        start: The offset at which it begins, in characters.
        end: The offset at which it ends.
        container: The index of the container that it is a part of; 0 for the text itself.
        heads: The indexes of the segments that say what this one belongs to: a table's header, the beginning of a row,
            the first line of a block, or the names of an object.
        members: How many members of its container it holds.
    """

    start: int
    end: int
    container: int = 0
    heads: tuple[int, ...] = ()
    members: int = 1


class Container(NamedTuple):
    """A whole that some segments are parts of: the text itself, or a value of JSON or of a Python repr in it.

    Attributes:
        kind: ``object`` or ``array``, whose segments are its members; ``text`` for the text and for a long string.
        path: Its JSONPath, which begins with ``…`` instead of ``$`` if what is around it is not known; empty for the
            text itself.
        size: How many members an object or array has.
    """

    kind: str = "text"
    path: str = ""
    size: int = 0


@dataclass(slots=True)
class Segmentation:
    """A text, the regions of it that were split, their segments in order, and the containers of these segments.

    Attributes:
        strings: Where each long string of JSON or of a repr begins, and its text without escapes (`unescaped_in_place`).
    """

    text: str
    regions: list[Span]
    segments: list[Segment] = field(default_factory=list[Segment])
    containers: list[Container] = field(default_factory=lambda: [Container()])
    strings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def is_prose(self) -> bool:
        """Return whether the text is English prose."""
        is_plain = len(self.containers) == 1
        return is_plain and self.text.count(" the ") * MOST_APART > len(self.text)

    def shown(self, index: int) -> str:
        """Return the text of a segment."""
        segment = self.segments[index]
        return self.text[segment.start : segment.end]

    def unescaped(self) -> str:
        """Return the text without the escapes in its long strings; every other character keeps its offset."""
        parts = list[str]()
        end = 0
        for start, plain in self.strings:
            parts += self.text[end:start], plain
            end = start + len(plain)
        return "".join([*parts, self.text[end:]])


def split(text: str, root: str = "$", depth: int = 0) -> Segmentation:
    """Split `text`, in time linear in its length; JSON and a Python repr are split along their members.

    Their paths begin with *root*, or with ``…`` if the text is only a part of the value: such a path cannot be followed.
    A text that is a string in JSON is split as text if it is too deep (*depth*).
    """
    found = Segmentation(text, [(0, len(text))])
    if depth >= DEEPEST:
        _split_text(found, 0, len(text))
        return found
    if value := find_value(text):
        start, is_complete = value
        _split_container(found, start, root if is_complete else GAP, depth=depth)
        return found
    if below := start_of_value(text):
        _split_text(found, 0, below - 1)
        _split_container(found, skip_space(text, below), root, depth=depth)
        return found
    records = _starts_of_objects(text)
    names = steps_to_names(text, pairwise([*records, len(text)]))
    for index, start in enumerate(records):
        _split_container(found, start, f"{root}[{index}]", depth=depth, names=names)
    if not records:
        _split_text(found, 0, len(text))
    _name_records(found)
    return found


def _name_records(found: Segmentation) -> None:
    """Make the segment with the name of each long record a head of the record's other segments."""
    segments = found.segments
    starts = [segment.start for segment in segments]
    for record in long_records(found.text):
        begin, _ = record.name
        # A segment of JSON begins behind the indentation of its line.
        name = bisect_right(starts, begin + _indentation(found.text, begin)) - 1
        for index in range(bisect_left(starts, record.start), bisect_left(starts, record.stop)):
            heads = segments[index].heads
            if index != name and name not in heads:
                segments[index] = segments[index]._replace(heads=(name, *heads))


def split_regions(text: str, regions: list[Span]) -> Segmentation:
    """Split some regions of `text` without reading the rest; the first region must be its beginning.

    If the text begins as JSON or a repr, each object that is not too long becomes a container. Its path is not known.
    """
    if BEGINS_WITH_OBJECT.match(text):
        # Wider, so that the objects at the ends of each region are whole.
        wider = [
            (max(0, start - LONGEST_OBJECT), min(len(text), end + LONGEST_OBJECT))
            for start, end in regions
        ]
        found = Segmentation(text, joined(wider))
        objects = [short_objects(text, start, end) for start, end in found.regions]
        names = _names_of_kinds(text, chain.from_iterable(objects))
        for (start, end), inside in zip(found.regions, objects, strict=True):
            _split_objects(found, start, end, inside, names)
        return found
    found = Segmentation(text, regions)
    header = 0 if end_of_names(text, *regions[0]) else None
    for start, end in regions:
        _split_text(found, start, end, header if start else None)
    return found


def _split_objects(
    found: Segmentation,
    start: int,
    end: int,
    objects: Iterable[Span],
    names: Mapping[str, Collection[str]],
) -> None:
    """Split a region into its objects, each along its members, and the text between them."""
    for begin, stop in objects:
        if _WORD.search(found.text, start, begin):
            _split_text(found, start, begin)
        names_of_kind = names[first_key(found.text, begin)]
        _split_container(found, begin, GAP, stop, names=names_of_kind)
        start = stop
    if _WORD.search(found.text, start, end):
        _split_text(found, start, end)


def _names_of_kinds(text: str, objects: Iterable[Span]) -> dict[str, list[str]]:
    """Return the steps to the names of *objects*, by the first key: objects of one kind begin with the same one."""
    kinds = defaultdict[str, list[Span]](list)
    for start, stop in objects:
        kinds[first_key(text, start)].append((start, stop))
    return {key: steps_to_names(text, alike) for key, alike in kinds.items()}


def _starts_of_objects(text: str) -> list[int]:
    """Return where the objects begin if the text is several of them, each on new lines; otherwise ``[]``."""
    starts = [line.start() for line in _OPENS_OBJECT.finditer(text)]
    if len(starts) < 2 or text[: starts[0]].strip():
        return []
    # A single one that is no object makes it plain text: a log may begin with an object or two.
    for start, end in pairwise([*starts, len(text)]):
        if parse_literal(text[start:end].rstrip()) is None:
            return []
    return starts


def _split_container(
    found: Segmentation,
    start: int,
    path: str,
    stop: int = sys.maxsize,
    depth: int = 0,
    names: Collection[str] = (),
) -> None:
    """Split the container that begins at `start`: small members become segments, large ones are split in turn.

    If it is one of several in a list, *names* are the steps to the members that tell it from the others, whose segment
    is the head of its other segments (`steps_to_names`).
    """
    text = found.text
    segments = found.segments
    number = len(found.containers)
    found.containers.append(Container())  # replaced below, when its kind is known
    first = len(segments)
    heads: tuple[int, ...] = ()
    is_object = text[start] == "{"
    members = list(members_of(text, start, stop))
    steps = [step for step, *_ in members]
    is_framed = _FRAMED.fullmatch(path) and not _TEXTS.isdisjoint(steps)
    names_of_items: Collection[str] = ()
    if not is_object:
        objects = [(one.value, one.stop) for one in members if text[one.value] not in "[("]
        names_of_items = steps_to_names(text, objects)
    for index, (step, begin, value, end) in enumerate(members):
        # A value of a repr is an object if a member has a name: `Point(x=1)`, but not `Point(1)`.
        is_object = is_object or not step.endswith(f"[{index}]")
        length = end - value
        # The quotes are left out, so that the segments are slices of the string's text.
        # A text that is cut off after a key has no value there.
        if length > LONG_STRING and text[value] in "\"'":
            is_closed = text[end - 1] == text[value]
            _split_string(found, value + 1, end - is_closed, path + step, depth + 1)
        elif (
            length > LONG_VALUE
            and depth < DEEPEST
            and begins_value(text[value : value + LONG_VALUE])
        ):
            _split_container(found, value, path + step, end, depth + 1, names_of_items)
        elif not (is_framed and _FRAME.fullmatch(text, begin, end)):
            heads = _add_member(found, Segment(begin, end, number, heads), is_name=step in names)
    kind = "object" if is_object else "array"
    found.containers[number] = Container(kind, path, len(members))
    for index in range(first, len(segments)):
        if segments[index].container == number and index not in heads:
            segments[index] = segments[index]._replace(heads=heads)


def _split_string(found: Segmentation, start: int, end: int, path: str, depth: int) -> None:
    """Split the text of a long string by itself, without its escapes; the segments include the escapes."""
    raw = found.text[start:end]
    plain = unescaped_in_place(raw)
    inner = split(plain, "$" if _FRAMED_TEXT.fullmatch(path) else GAP, depth)
    first_container = len(found.containers)
    first_segment = len(found.segments)
    for one in inner.segments:
        shown = plain[one.start : one.end]
        begin = start_of_escape(raw, one.end - len(shown.lstrip(" ")))
        # Of a blank line there is only the space that stands for a backslash, which is nothing by itself.
        stop = max(begin, start_of_escape(raw, one.start + len(shown.rstrip(" "))))
        container = first_container + one.container
        heads = tuple(first_segment + head for head in one.heads)
        found.segments.append(Segment(start + begin, start + stop, container, heads, one.members))
    found.containers += [inner.containers[0]._replace(path=path), *inner.containers[1:]]
    found.strings.append((start, inner.unescaped()))


def _add_member(found: Segmentation, member: Segment, *, is_name: bool) -> tuple[int, ...]:
    """Add a member as a segment, or to the last segment if that holds the member before this one and is short.

    Return the heads of the object's next members: the segment with its names, which are joined however long they are.
    """
    segments = found.segments
    if segments and _joins(found, segments[-1], member, is_name=is_name):
        last = segments[-1]
        segments[-1] = last._replace(end=member.end, members=last.members + 1)
        return member.heads
    if is_name:
        segments.append(member._replace(heads=()))
        return (len(segments) - 1,)
    segments.append(member)
    return member.heads


def _joins(found: Segmentation, last: Segment, member: Segment, *, is_name: bool) -> bool:
    """Return whether a member is joined with the last segment."""
    if last.container != member.container or _WORD.search(found.text, last.end, member.start):
        return False
    is_empty = any(_EMPTY.fullmatch(found.text, one.start, one.end) for one in (last, member))
    is_short = last.end - last.start < SHORT and not is_empty
    if member.heads == (len(found.segments) - 1,):
        return is_name or (is_short and member.end - last.start <= LONGEST_WITH_NAME)
    # What is before the names is not joined with them: they come with each member of the object.
    return is_short and not is_name and last.heads == member.heads


def _split_text(found: Segmentation, start: int, end: int, header: int | None = None) -> None:
    """Split a region into lines: short ones are joined with the next, long ones are broken where a reader would pause.

    If it belongs to a table that begins before it, *header* is the segment of the table's header.
    """
    text = found.text
    unnumbered = without_indenting_numbers(text)
    segments = found.segments
    scopes = list[Span]()

    def add_lines(start: int, end: int, header: int | None) -> None:
        """Add the lines of a part: below *header*, or else below the lines that they are indented under."""
        row = 0
        for begin, stop in _packed(text, unnumbered, start, end):
            index = len(segments)
            if header is None:
                heads = _enter_scope(unnumbered, begin, stop, scopes, index)
            elif text[begin - 1] == "\n":
                heads = (header,)
            else:
                heads = (header, row)
            # Another row may begin behind the end of one.
            if text.find("\n", begin - 1, stop - 1) >= 0:
                row = index
            segments.append(Segment(begin, stop, heads=heads))

    for begin, names_end, stop in blocks_with_names(text, start, end):
        if begin > start:
            add_lines(start, begin - 1, header)
        names = len(segments)
        if begin == start and header is None:
            header = names
        segments.append(Segment(begin, names_end))
        add_lines(names_end + 1, stop, names)
        start = stop + 1
    if start < end:
        add_lines(start, end, header)


def _enter_scope(
    text: str, begin: int, stop: int, scopes: list[Span], index: int
) -> tuple[int, ...]:
    """Return the segments that open the blocks around ``text[begin:stop]``, outermost first; update the open blocks.

    Args:
        text: The text.
        begin: Where the segment begins.
        stop: Where it ends.
        scopes: The indentation and the segment of each open block, outermost first. They are changed: blocks that end
            here are removed, and one that begins here is added.
        index: The index that the segment will have.
    """
    if BESIDE_BLOCKS.match(text, begin):
        return tuple(block for _, block in scopes)
    depth = _indentation(text, begin)
    # A closing bracket still belongs to a block of the same indentation; any other such line ends it.
    begin += depth
    closes = text.startswith((")", "]", "}"), begin)
    if text.startswith(_OF_A_FILE, begin):
        scopes[:] = [(-1, index)]
        return ()
    while scopes and scopes[-1][0] >= depth + closes:
        scopes.pop()
    heads = tuple(block for _, block in scopes)
    is_definition = _DEFINITION.match(text, begin, begin + LONG_LINE)
    if is_definition or text[begin:stop].rstrip().endswith(_OPENINGS):
        # The block that `} else {` ends is not around the one that it begins; `}: Props) {` ends only a list of arguments.
        if text.startswith("}", begin) and not text.startswith("}:", begin):
            while scopes and scopes[-1][0] >= depth:
                scopes.pop()
        scopes.append((depth, index))
    return heads


def _indentation(text: str, begin: int) -> int:
    return _SPACE.match(text, begin, begin + DEEPEST_INDENTATION).end() - begin  # type: ignore[union-attr] # matches anything


def _packed(text: str, unnumbered: str, start: int, end: int) -> Iterator[Span]:
    """Yield the start and end of each segment of ``text[start:end]``; short lines are joined with the next."""
    begun: Span | None = None
    for line_start, line_end in line_spans(text, start, end):
        bounds = [line_start, line_end]
        # Minified JSON, base64 and paragraphs are one line each; unbroken, they would be one segment.
        if line_end - line_start > LONG_LINE:
            bounds[1:1] = _breaks(text, line_start, line_end)
        for begin, stop in pairwise(bounds):
            if begun is None:
                begun = begin, stop
            elif _goes_with(unnumbered, begun, begin, stop):
                begun = begun[0], stop
            else:
                yield begun
                begun = begin, stop
    if begun is not None:
        yield begun


def _goes_with(text: str, begun: Span, begin: int, stop: int) -> bool:
    """Return whether ``text[begin:stop]`` is added to the segment *begun*; it is not if it is indented less."""
    first, last = begun
    if stop == begin or text.startswith("\n", begin):
        # Blank lines go with the text above them; thousands of them are a segment of their own, so that text can be shown.
        return last - first < LONG_LINE or text.startswith("\n\n", first)
    if last - first >= SHORT or stop - first > LONG_LINE or text.startswith(_OF_A_FILE, begin):
        return False
    if text.endswith("\n", first, last):
        return False
    return text[begin - 1] != "\n" or _indentation(text, begin) >= _indentation(text, first)


def _breaks(text: str, begin: int, stop: int) -> Iterator[int]:
    """Yield where to break a long line: after a field, sentence or escaped line break, once it has 80 characters."""
    last = begin
    for match in _BREAK.finditer(text, begin, stop):
        place = match.end()
        if place >= stop:
            break
        if place - begin > USUAL_LENGTH and last - begin > USUAL_LENGTH // 3:
            begin = last
            yield begin
        while place - begin > LONGEST:
            begin = _at_space(text, begin)
            yield begin
        last = place
    while stop - begin > LONGEST:
        begin = _at_space(text, begin)
        yield begin


def _at_space(text: str, begin: int) -> int:
    space = text.rfind(" ", begin + USUAL_LENGTH // 2, begin + LONG_LINE)
    return space + 1 if space > 0 else begin + USUAL_LENGTH
