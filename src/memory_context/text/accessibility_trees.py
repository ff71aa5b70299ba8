"""Take the words out of a page's accessibility tree, which tools for browsers return instead of HTML.

Each line is an element: its role, its name in quotation marks, and a reference by which a model uses it. Playwright writes
``- button "Export" [ref=e30]``; tools for Chrome write ``uid=1_29 button "Export"`` or ``[29] button "Export"``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from memory_context.text.html_pages import RULE_CELL, PageWords

# So far into a text the first element is looked for.
FARTHEST = 4000
# A tree has this many elements with names at least; they are this share of its lines, and it is this share of the text.
LEAST_NAMED = 3
LEAST_SHARE = 0.9
LEAST_OF_TEXT = 0.5
# What an element holds is one line if it is no longer.
LONGEST_LINE = 240
# The same of a paragraph, and of the links of a navigation; what holds records is a line for each of them.
_LONGEST = {"paragraph": 10_000, "navigation": 1000} | dict.fromkeys(
    ["feed", "grid", "list", "listbox", "log", "rowgroup", "table", "tree", "treegrid"], 0
)
BETWEEN = " | "

# Roles of WAI-ARIA 1.2 (https://www.w3.org/TR/wai-aria-1.2/#role_definitions) and of browsers. A person does something with
# those that are used; of those that are read, the words say all.
_USED = (
    "button|checkbox|combobox|iframe|link|listbox|menuitem|menuitemcheckbox|menuitemradio|option|radio|scrollbar|searchbox"
    "|slider|spinbutton|switch|tab|textbox|treeitem"
)
_READ = (
    "blockquote|caption|cell|code|columnheader|definition|deletion|emphasis|generic|gridcell|heading|insertion|listitem|mark"
    "|none|paragraph|presentation|rowheader|strong|subscript|superscript|term|text|time|InlineTextBox|LabelText|StaticText"
)
_OTHERS = (
    "alert|alertdialog|application|article|banner|complementary|contentinfo|dialog|directory|document|feed|figure|form|grid"
    "|group|image|img|list|log|main|marquee|math|menu|menubar|meter|navigation|note|progressbar|radiogroup|region|row"
    "|rowgroup|search|separator|status|table|tablist|tabpanel|timer|toolbar|tooltip|tree|treegrid|RootWebArea"
)
_ROLES = f"{_USED}|{_READ}|{_OTHERS}"
# A line such as `- /url: /orders` is a property of the element around it.
PROPERTY = "/"
_IS_USED, _IS_READ = re.compile(_USED), re.compile(_READ)
_IS_CELL = re.compile("cell|columnheader|gridcell|rowheader")
_BEGINNING = re.compile(r"(?P<indent>[ \t]*+)(?:(?P<dash>- )|(?P<number>\[\d+\]|uid=\S++) )")
_FIRST = re.compile(rf"^[ \t]*+(?:- '?(?:{_ROLES})[ :]|(?:\[\d+\]|uid=\S++) )", re.MULTILINE)
# A key of YAML that holds a colon: 'heading "Sort: new" [level=2]': …
_QUOTED_KEY = re.compile(r"'((?:[^']|'')*+)'(.*+)")
_ELEMENT = re.compile(
    rf"(?:(?P<role>{_ROLES})(?![\w-])\s*+)?+"
    r'(?P<name>"(?:[^"\\]|\\.)*+"|/(?:[^/\\]|\\.)++/(?=[ :]|$))?+(?P<rest>.*+)'
)
# What follows in YAML: attributes in brackets, and a value behind a colon.
_VALUED = re.compile(r"((?:\s*+\[[^]]*+])*+):?\s*+(.*+)")
_PROPERTY = re.compile(r"/\w+:\s*+(.*+)")
_ADDRESS = re.compile(r"\[url: ([^]\s]+)]|\burl=\"([^\"]*)\"")
# The attributes by which an element is used, and those that say what it is set to.
_TELLING = re.compile(
    r"\[ref=\w+]|\bvalue=\"[^\"]*\""
    r"|\[?\b(?:checked|disabled|expanded|invalid|pressed|required|selected)\b(?:=\w+)?]?"
)
_LEVEL = re.compile(r"\blevel=\"?([1-6])")
# The roles of texts between other elements.
_TEXT = ("", "text", "StaticText")
_PICTURE = re.compile(r"(?:img|image) \"(.*)\"")


class _Line(NamedTuple):
    """A line of words.

    Attributes:
        words: The words.
        number: The number of the tree's line in which they begin.
        mark: The mark of a heading, which is before them.
        is_text: Whether they are a text of its own.
    """

    words: str
    number: int
    mark: str = ""
    is_text: bool = False


@dataclass(slots=True)
class _Element:
    """An element of the tree.

    Attributes:
        depth: Its indentation.
        number: The number of its line.
        role: Its role, if it has one.
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
    lines: list[_Line] = field(default_factory=list[_Line])
    roles: set[str] = field(default_factory=set[str])


def words_of_tree(text: str) -> PageWords | None:
    """Return the words of the page whose accessibility tree is most of a text; None if none is.

    Each heading and each row of a table is a line, as in Markdown, and so is whatever else is short. Other lines stay.
    """
    if not _FIRST.search(text, 0, FARTHEST):
        return None
    lines = [_Line(line, number) for number, line in enumerate(text.split("\n"), 1)]
    elements = [element for line in lines if (element := _element_in(line))]
    if not elements:
        return None
    first, last = elements[0].number, elements[-1].number
    tree = lines[first - 1 : last]
    named = sum(1 for line in tree if '"' in line.words)
    length = sum(len(line.words) for line in tree)
    are_few = named < LEAST_NAMED or len(elements) < LEAST_SHARE * len(tree)
    if are_few or length < LEAST_OF_TEXT * len(text):
        return None
    lines[first - 1 : last] = _lines_of(elements)
    words = "\n".join(line.mark + line.words for line in lines)
    return PageWords(words, [line.number for line in lines])


def _element_in(line: _Line) -> _Element | None:
    """Return the element or the property of one that a line holds; None if it holds neither."""
    beginning = _BEGINNING.match(line.words)
    if not beginning:
        return None
    rest = line.words[beginning.end() :].rstrip()
    key = _QUOTED_KEY.fullmatch(rest) if beginning["dash"] else None
    if key:
        rest = key[1].replace("''", "'") + key[2]
    depth = len(beginning["indent"])
    value = _PROPERTY.fullmatch(rest)
    if value:
        return _Element(depth, line.number, PROPERTY, f"({value[1]})")
    found = _ELEMENT.fullmatch(rest)
    if not found or not (found["role"] or found["name"]):
        return None
    role = found["role"] or ""
    level = _LEVEL.search(found["rest"]) if role == "heading" else None
    mark = "#" * int(level[1]) + " " if level else ""
    return _Element(depth, line.number, role, _own_words(found, beginning), mark)


def _own_words(found: re.Match[str], beginning: re.Match[str]) -> str:
    """Return what is read of an element itself: all that is needed to use it, or else its words."""
    role, name, rest = found["role"] or "", found["name"] or "", found["rest"]
    attributes, value = rest, ""
    if beginning["dash"] and (valued := _VALUED.fullmatch(rest)):
        attributes, value = valued[1], _unquoted(valued[2])
    if _IS_USED.fullmatch(role) or "cursor=pointer" in attributes:
        address = _ADDRESS.search(attributes)
        parts = [beginning["number"], role, name, *_TELLING.findall(attributes)]
        if value:
            parts[-1] += f": {value}"
        if address:
            parts.append(f"({address[1] or address[2]})")
    elif not role or _IS_READ.fullmatch(role):
        parts = [_unquoted(name), value]
    elif name or value:
        parts = [role, name, value]
    else:
        parts = []
    return " ".join(filter(None, parts))


def _unquoted(words: str) -> str:
    """Return words without the quotation marks around them, if there are any."""
    if not words.startswith('"'):
        return words
    try:
        return str(json.loads(words))
    except ValueError:
        return words.strip('"')


def _lines_of(elements: Iterable[_Element]) -> list[_Line]:
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
    lines = list[_Line]()
    for line in page.lines:
        if line.words or (lines and lines[-1].words):
            lines.append(line)
    return lines


def _close(open_elements: list[_Element]) -> None:
    """Add what is read of the innermost open element to the element around it."""
    element = open_elements.pop()
    around = open_elements[-1]
    around.roles.add(element.role)
    around.lines += _lines_within(element)


def _lines_within(element: _Element) -> list[_Line]:
    """Return what is read of an element and of those within it: one line if that is short, else a block."""
    if element.role == "row" and element.lines:
        return _row(element)
    number = element.number
    lines = element.lines
    if element.words:
        lines = [_Line(element.words, number, is_text=element.role in _TEXT), *lines]
    if _IS_CELL.fullmatch(element.role):
        # A blank cell is a cell, too.
        return [_Line(_joined(lines, " "), number)]
    blank = _Line("", number)
    if element.mark:
        return [blank, _Line(_joined(lines, " "), number, element.mark), blank]
    if len(lines) <= 1:
        return lines
    length = sum(len(line.words) for line in lines)
    most = _LONGEST.get(element.role, LONGEST_LINE)
    if length <= most and not any(line.words.startswith("| ") for line in lines):
        between = " " if element.roles.intersection(_TEXT) else BETWEEN
        return [_Line(_joined(lines, between), number)]
    lines = _with_texts(lines)
    return lines if element.role == "rowgroup" else [blank, *lines, blank]


def _with_texts(lines: Sequence[_Line]) -> list[_Line]:
    """Return lines with each text at the end of the short line before it, and without the labels that are said again.

    Chrome's trees leave out rows and cells, so that the cells of a row stand below the link that it begins with.
    """
    found = list[_Line]()
    for line, below in zip_longest(lines, lines[1:], fillvalue=_Line("", 0)):
        if line.is_text and found and not found[-1].mark:
            if f'"{line.words.strip()}"' in below.words:
                continue
            words = f"{found[-1].words}{BETWEEN}{line.words}"
            if found[-1].words and len(words) <= LONGEST_LINE:
                found[-1] = found[-1]._replace(words=words)
                continue
        found.append(line)
    return found


def _row(element: _Element) -> list[_Line]:
    """Return a row of a table as Markdown writes it; below the names of columns comes a rule."""
    cells = [line.words.replace("|", "\\|") for line in element.lines]
    row = _Line(f"| {' | '.join(cells)} |", element.number)
    if element.roles != {"columnheader"}:
        return [row]
    return [row, _Line(f"| {RULE_CELL} " * len(cells) + "|", element.number)]


def _joined(lines: Iterable[_Line], between: str) -> str:
    """Return lines as one, if short without what another one says as well: a field's label, and the text of a picture."""
    parts = [line.words for line in lines if line.words]
    whole = between.join(parts)
    if len(whole) > LONGEST_LINE:
        return whole
    return between.join(part for part in parts if not _is_said_again(part, whole))


def _is_said_again(part: str, whole: str) -> bool:
    """Return whether a part of a line is a name in another part, or a picture whose text another part begins with."""
    picture = _PICTURE.fullmatch(part)
    return f" {picture[1]}" in whole if picture else f'"{part}"' in whole
