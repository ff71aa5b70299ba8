"""Take the words out of a page's accessibility tree, which Playwright's tools return instead of HTML.

Each line is an element: its role, its name in quotation marks, and the reference by which a model uses it, as in
``- button "Export" [ref=e30]``. What is within an element is indented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memory_context.text.html_pages import RULE_CELL, PageWords
from memory_context.text.unwrap import unwrap

# So far into a text the first reference is looked for.
FARTHEST = 4000
# A tree has this many references at least; elements are this share of its lines, and it is this share of the text.
LEAST_REFERENCES = 5
LEAST_SHARE = 0.9
LEAST_OF_TEXT = 0.5
# What an element holds is one line if it is no longer.
LONGEST_LINE = 240
# The same of a paragraph, and of the links of a navigation; what holds records is a line for each of them.
_LONGEST = {"paragraph": 10_000, "navigation": 1000} | dict.fromkeys(
    ["feed", "grid", "list", "listbox", "log", "rowgroup", "table", "tree", "treegrid"], 0
)

# Roles of WAI-ARIA 1.2 (https://www.w3.org/TR/wai-aria-1.2/#role_definitions) with which a person does something.
_USED = re.compile(
    "button|checkbox|combobox|iframe|link|listbox|menuitem|menuitemcheckbox|menuitemradio|option|radio|scrollbar|searchbox"
    "|slider|spinbutton|switch|tab|textbox|treeitem"
)
# A field and its name, which may stand beside it a second time, as its label.
_FIELD = re.compile(
    r"\b(?:checkbox|combobox|listbox|radio|searchbox|slider|spinbutton|switch|textbox) \"([^\"]+)\""
)
# Roles of what is only read, so that the words say all.
_READ = re.compile(
    "blockquote|caption|cell|code|columnheader|definition|deletion|emphasis|generic|gridcell|heading|insertion|listitem|mark"
    "|none|paragraph|presentation|rowheader|strong|subscript|superscript|term|text|time"
)
_CELL = re.compile("cell|columnheader|gridcell|rowheader")
# A heading in one of these is no heading of the page: it is the title of a card.
_CARD = re.compile("article|link|listitem")
_BEGINNING = re.compile(r"(?P<indent>[ \t]*+)- (?:<\w+> )?")
# A key of YAML that holds a colon: 'heading "Sort: new" [level=2]': …
_QUOTED_KEY = re.compile(r"'((?:[^']|'')*+)'(.*+)")
# A role, perhaps a name as text or as a pattern, attributes in brackets, and a value behind a colon.
_ELEMENT = re.compile(
    r"(?P<role>[a-z]++)(?:\s(?P<name>\"(?:[^\"\\]|\\.)*+\"|/(?:[^/\\]|\\.)++/))?+"
    r"(?P<attributes>(?:\s\[[^]]*+])*+)(?::(?:\s(?P<value>.*+))?)?+"
)
_PROPERTY = re.compile(r"/(?P<name>\w+):\s(?P<value>.*+)")
# The attributes that say what an element is set to, and with them those by which it is used.
_STATES = "checked|disabled|expanded|pressed|selected"
_STATE = re.compile(rf"\[(?:{_STATES})\b")
_TELLING = re.compile(rf"\[(?:ref|invalid|required|{_STATES})\b[^]]*]")
_LEVEL = re.compile(r"\[level=([1-6])]")
_PICTURE = re.compile(r"img \"(.*)\"")
_ROW = "| "
# A line such as `- /url: /orders` tells a property of the element around it.
PROPERTY = "/"


class _LineOfWords(NamedTuple):
    """A line of words, the mark of a heading before it, and the number of the tree's line in which it begins."""

    words: str
    number: int
    mark: str = ""


@dataclass(slots=True)
class _Element:
    """An element of the tree, or a line that is none.

    Attributes:
        depth: Its indentation.
        number: The number of its line.
        role: Its role, if it is one.
        words: What is read of the element itself.
        mark: The mark of a heading.
        lines: What is read of the elements within it.
        roles: The roles of these.
    """

    depth: int
    number: int
    role: str = ""
    words: str = ""
    mark: str = ""
    lines: list[_LineOfWords] = field(default_factory=list[_LineOfWords])
    roles: set[str] = field(default_factory=set[str])


def words_of_tree(text: str) -> PageWords | None:
    """Return the words of the page whose accessibility tree is most of a text; None if none is.

    Each heading and each row of a table is a line, as in Markdown, and so is whatever else is short. Other lines stay.
    """
    if "[ref=" not in text[:FARTHEST]:
        return None
    page = unwrap(text).text
    lines = [_LineOfWords(line, number) for number, line in enumerate(page.split("\n"), 1)]
    found = list(map(_element_in, lines))
    numbers = [element.number for element in found if element.role]
    if not numbers:
        return None
    tree = slice(numbers[0] - 1, numbers[-1])
    length = sum(len(line.words) for line in lines[tree])
    references = sum(1 for line in lines[tree] if "[ref=" in line.words)
    are_few = references < LEAST_REFERENCES or len(numbers) < LEAST_SHARE * len(lines[tree])
    if are_few or length < LEAST_OF_TEXT * len(page):
        return None
    lines[tree] = _lines_of(found[tree])
    words = "\n".join(line.mark + line.words for line in lines)
    return PageWords(words, [line.number for line in lines] if page is text else [])


def _element_in(line: _LineOfWords) -> _Element:
    """Return the element that a line holds, or what is said in it of the element around it; else the line, without a role."""
    beginning = _BEGINNING.match(line.words)
    if not beginning:
        return _Element(0, line.number, words=line.words)
    rest = line.words[beginning.end() :].rstrip()
    key = _QUOTED_KEY.fullmatch(rest)
    if key:
        rest = key[1].replace("''", "'") + key[2]
    depth = len(beginning["indent"])
    told = _PROPERTY.fullmatch(rest)
    if told:
        value = _unquoted(told["value"])
        words = f"({value})" if told["name"] == "url" else f"({told['name']}: {value})"
        return _Element(depth, line.number, PROPERTY, words)
    found = _ELEMENT.fullmatch(rest)
    if not found:
        return _Element(depth, line.number, words=rest)
    level = _LEVEL.search(found["attributes"])
    mark = "#" * int(level[1]) + " " if level and found["role"] == "heading" else ""
    return _Element(depth, line.number, found["role"], _own_words(found), mark)


def _own_words(found: re.Match[str]) -> str:
    """Return what is read of an element itself: all that is needed to use it, or else its words."""
    role, name, attributes = found["role"], found["name"] or "", found["attributes"]
    value = _unquoted(found["value"] or "")
    # The summary of details has a name, as no other element has that is only read.
    is_named = role == "generic" and name
    is_used = _USED.fullmatch(role) or is_named or "[cursor=pointer]" in attributes
    if role == "row":
        # Its name repeats its cells.
        name = ""
    if is_used or _STATE.search(attributes):
        telling = _TELLING.findall(attributes)
        words = " ".join(filter(None, [role, name, *telling]))
        return f"{words}: {value}" if value else words
    if _READ.fullmatch(role):
        return " ".join(filter(None, [_unquoted(name), value]))
    return " ".join(filter(None, [role, name, value])) if name or value else ""


def _unquoted(words: str) -> str:
    """Return words without the quotation marks around them, if there are any."""
    if not words.startswith('"'):
        return words
    try:
        return str(json.loads(words))
    except ValueError:
        return words.strip('"')


def _lines_of(elements: Iterable[_Element]) -> list[_LineOfWords]:
    """Return the lines of the words of a tree's elements, in order, with single blank lines between blocks."""
    page = _Element(-1, 0)
    open_elements = [page]
    for element in elements:
        while open_elements[-1].depth >= element.depth:
            _close(open_elements)
        if element.role == PROPERTY:
            open_elements[-1].words += f" {element.words}"
        else:
            open_elements.append(element)
    while len(open_elements) > 1:
        _close(open_elements)
    lines = list[_LineOfWords]()
    for line in page.lines:
        if line.words or (lines and lines[-1].words):
            lines.append(line)
    return lines


def _close(open_elements: list[_Element]) -> None:
    """Add what is read of the innermost open element to the element around it."""
    element = open_elements.pop()
    around = open_elements[-1]
    _add(around.lines, _lines_within(element))
    around.roles.add(element.role)


def _add(lines: list[_LineOfWords], more: Sequence[_LineOfWords]) -> None:
    """Add lines to others, with a blank one where a table's rows begin or end."""
    if lines and more and lines[-1].words.startswith(_ROW) != more[0].words.startswith(_ROW):
        lines.append(_LineOfWords("", more[0].number))
    lines += more


def _lines_within(element: _Element) -> list[_LineOfWords]:
    """Return what is read of an element and of those within it: one line if that is short, else a block."""
    if element.role == "row" and element.lines:
        return _row(element)
    number = element.number
    lines = list[_LineOfWords]()
    if element.words:
        lines.append(_LineOfWords(element.words, number))
    _add(lines, element.lines)
    if element.mark:
        heading = _LineOfWords(_joined(lines, " "), number, element.mark)
        return [_LineOfWords("", number), heading, _LineOfWords("", number)]
    if _CELL.fullmatch(element.role):
        # A blank cell is a cell, too.
        return [_LineOfWords(_joined(lines, " "), number)]
    if len(lines) <= 1 or element.role == "rowgroup":
        return lines
    if _is_one_line(element, lines):
        return [_LineOfWords(_joined(lines, " " if "text" in element.roles else " | "), number)]
    return [_LineOfWords("", number), *lines, _LineOfWords("", lines[-1].number)]


def _is_one_line(element: _Element, lines: Sequence[_LineOfWords]) -> bool:
    """Return whether what is read of an element is one line: it is short, has no rows, and no headings of a page."""
    length = sum(len(line.words) for line in lines)
    if length > _LONGEST.get(element.role, LONGEST_LINE):
        return False
    has_headings = any(line.mark for line in lines) and not _CARD.fullmatch(element.role)
    return not has_headings and not any(line.words.startswith(_ROW) for line in lines)


def _row(element: _Element) -> list[_LineOfWords]:
    """Return a row of a table as Markdown writes it; below the names of columns comes a rule."""
    cells = [line.words.replace("|", "\\|") for line in element.lines]
    if element.words:
        cells[0] = f"{element.words} {cells[0]}".rstrip()
    row = _LineOfWords(f"| {' | '.join(cells)} |", element.number)
    if element.roles != {"columnheader"}:
        return [row]
    return [row, _LineOfWords(f"| {RULE_CELL} " * len(cells) + "|", element.number)]


def _joined(lines: Iterable[_LineOfWords], between: str) -> str:
    """Return lines as one, if short without what another one says as well: a field's label, and the text of a picture."""
    parts = [line.words for line in lines if line.words]
    whole = between.join(parts)
    if len(parts) < 2 or len(whole) > LONGEST_LINE:
        return whole
    labels = set(_FIELD.findall(whole))
    return between.join(part for part in parts if part not in labels and not _is_alike(part, parts))


def _is_alike(picture: str, parts: Sequence[str]) -> bool:
    """Return whether a part is a picture whose text another part begins with."""
    found = _PICTURE.fullmatch(picture)
    return found is not None and any(f"{part} ".startswith(f"{found[1]} ") for part in parts)
