"""Take the words out of a page's accessibility tree, which Playwright's tools return instead of HTML.

Each line is an element: its role, its name in quotation marks, and the reference by which a model uses it, as in
``- button "Export" [ref=e30]``. What is within an element is indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_context.text.html_pages import RULE_CELL, PageWords
from memory_context.text.unwrap_mcp_json_and_fences import unwrap

# So far into a text the first reference is looked for.
FARTHEST = 4000
# A tree has this many references at least; elements are this share of its lines, and it is this share of the text.
LEAST_REFERENCES = 5
LEAST_SHARE = 0.9
LEAST_OF_TEXT = 0.5
# An element and what is within it are one line if they are no longer, and hold neither rows nor headings.
LONGEST_LINE = 240
# The same of some roles: what holds records is a line for each of them, and a row is a line however long it is.
_LONGEST = dict.fromkeys(
    ["feed", "grid", "list", "listbox", "log", "rowgroup", "table", "tree", "treegrid"], 0
) | {"row": 1_000_000, "heading": 10_000, "paragraph": 10_000, "navigation": 1000}
_LINE_OF_ITS_OWN = ("row", "heading")
# A heading in one of these is no heading of the page: it is the title of a card.
_CARD = ("article", "link", "listitem")
# Roles of WAI-ARIA 1.2 (https://www.w3.org/TR/wai-aria-1.2/#role_definitions) with which a person does something. Of other
# elements only the words are read.
_USED = re.compile(
    "button|checkbox|combobox|iframe|link|listbox|menuitem|menuitemcheckbox|menuitemradio|option|radio|scrollbar|searchbox"
    "|slider|spinbutton|switch|tab|textbox|treeitem"
)
# A line: its indentation and a role, perhaps a name as text or as a pattern, attributes in brackets, and a value behind a
# colon; YAML puts quotes around what holds one. A line such as `- /url: /orders` tells a property of the element around it.
_ELEMENT = re.compile(
    r"(?P<indent>[ \t]*+)- (?:<\w+> )?'?"
    r"(?:/(?P<property>\w++)|(?P<role>[a-z]++)(?:\s(?P<name>\"(?:[^\"\\]|\\.)*+\"|/(?:[^/\\]|\\.)++/))?+"
    r"(?P<attributes>(?:\s\[[^]]*+])*+)'?)(?::(?:\s(?P<value>.*+))?)?+\s*+"
)
# Attributes of an element that nobody uses, and those that say nothing.
_ONLY_REFERENCE = re.compile(r"(?:\s\[(?:ref|level)=[^]]*+]|\s\[active])*+")
_NOT_SHOWN = re.compile(r"\s\[(?:level=\d|cursor=\w+|active)]")
_LEVEL = re.compile(r"\[level=([1-6])]")


class _Element(NamedTuple):
    """An element of the tree, a property of the element around it, or a line that is neither and has no role.

    Attributes:
        number: The number of its line.
        depth: Its indentation.
        role: Its role.
        words: What is read of the element itself.
        mark: The mark of a heading.
    """

    number: int
    depth: int
    role: str
    words: str
    mark: str = ""


def words_of_tree(text: str) -> PageWords | None:
    """Return the words of the page whose accessibility tree is most of a text; None if none is.

    Each heading and each row of a table is a line, as in Markdown, and so is whatever else is short. Other lines stay.
    """
    if "[ref=" not in text[:FARTHEST]:
        return None
    page = unwrap(text).text
    lines = page.split("\n")
    found = [_element_in(line, number) for number, line in enumerate(lines, 1)]
    numbers = [element.number for element in found if element.role]
    if not numbers:
        return None
    tree = slice(numbers[0] - 1, numbers[-1])
    length = sum(map(len, lines[tree]))
    references = sum("[ref=" in line for line in lines[tree])
    are_few = references < LEAST_REFERENCES or len(numbers) < LEAST_SHARE * len(lines[tree])
    if are_few or length < LEAST_OF_TEXT * len(page):
        return None
    shown = list(enumerate(lines[: tree.start], 1))
    shown += _lines_of(found[tree])
    shown += enumerate(lines[tree.stop :], tree.stop + 1)
    words = "\n".join(line for _, line in shown)
    return PageWords(words, [number for number, _ in shown] if page is text else [])


def _element_in(line: str, number: int) -> _Element:
    """Return the element that a line holds, or what is said in it of the element around it; else the line, without a role."""
    found = _ELEMENT.fullmatch(line)
    if not found:
        return _Element(number, 0, "", line)
    depth = len(found["indent"])
    value = (found["value"] or "").strip('"')
    if found["property"]:
        return _Element(number, depth, "property", f"({value})")
    role, name, attributes = found["role"], found["name"] or "", found["attributes"]
    level = _LEVEL.search(attributes)
    mark = "#" * int(level[1]) + " " if level and role == "heading" else ""
    if role == "row":
        # Its name repeats its cells.
        name = ""
    # The summary of details has a name, as no other element has that is only read.
    is_named = role == "generic" and name
    words = name.strip('"')
    if _USED.fullmatch(role) or is_named or not _ONLY_REFERENCE.fullmatch(attributes):
        words = f"{role} {name}".rstrip() + _NOT_SHOWN.sub("", attributes)
        value = value and f": {value}"
    elif words and value:
        value = f" {value}"
    return _Element(number, depth, role, words + value, mark)


def _lines_of(tree: Sequence[_Element]) -> Iterator[tuple[int, str]]:
    """Yield the lines of the words of a tree's elements, in order, each with its number."""
    place = 0
    is_in_table = False
    while place < len(tree):
        element = tree[place]
        most = _LONGEST.get(element.role, LONGEST_LINE)
        stop = place + 1
        length = len(element.words)
        while stop < len(tree) and tree[stop].depth > element.depth and length <= most:
            inner = tree[stop]
            if inner.role in _LINE_OF_ITS_OWN and element.role not in _CARD:
                break
            # Counted, too, if it has no words, so that no element is read again and again.
            length += 1 + len(inner.words)
            stop += 1
        if length > most or (stop < len(tree) and tree[stop].depth > element.depth):
            stop = place + 1
        words = _joined(tree[place:stop])
        is_row = element.role == "row"
        # A blank line is around the rows of a table, and above a heading.
        if element.mark or (words and is_row != is_in_table):
            yield element.number, ""
        if is_row:
            yield from _row(tree[place:stop])
        elif words:
            yield element.number, element.mark + words
        is_in_table = is_row or (is_in_table and not words)
        place = stop


def _joined(elements: Sequence[_Element]) -> str:
    """Return what is read of an element and of those within it as one line."""
    is_prose = elements[0].mark or any(one.role in ("text", "paragraph") for one in elements)
    between = " " if is_prose else " | "
    words = ""
    for element in elements:
        if element.words:
            words += (" " if element.role == "property" else between) + element.words
    return words.removeprefix(between)


def _row(elements: Sequence[_Element]) -> Iterator[tuple[int, str]]:
    """Yield a row of a table as Markdown writes it; below the names of columns comes a rule."""
    row, *within = elements
    cells = list[list[_Element]]()
    for element in within:
        if element.depth == within[0].depth:
            cells.append([])
        cells[-1].append(element)
    words = [_joined(cell).replace("|", "\\|") for cell in cells]
    if row.words:
        words[:1] = [f"{row.words} {words[0]}" if words else row.words]
    yield row.number, f"| {' | '.join(words)} |"
    if within and all(cell[0].role == "columnheader" for cell in cells):
        yield row.number, f"| {RULE_CELL} " * len(words) + "|"
