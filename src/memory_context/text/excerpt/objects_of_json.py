"""Find where an object of JSON, or of a Python repr, begins and ends, without reading the text around it."""

from __future__ import annotations

import re

from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD
from memory_context.text.spans import Span

# Brackets, and strings of JSON or of a Python repr: neither holds a line break. A string may be cut off by the end.
STRING_OR_BRACKET = re.compile(
    r"""
    "(?:[^"\\\n]|\\.)*+(?:"|\\?\Z)
    | '(?:[^'\\\n]|\\.)*+(?:'|\\?\Z)
    | [{}\[\]]
    """,
    re.VERBOSE,
)
# Where an object begins. An unescaped quote right after a brace cannot be inside a string.
OBJECT_START = re.compile(r"""\{\s*["']""")
BEGINS_WITH_OBJECT = re.compile(rf"\s*(?:\[\s*)?{OBJECT_START.pattern}")


def short_objects(text: str, start: int, end: int) -> list[Span]:
    """Return the objects of at most 1,200 characters in ``text[start:end]`` that are not in another such object."""
    # `start` may be inside a string; an object's beginning is not.
    first = OBJECT_START.search(text, start, end)
    if first is None:
        return []
    found = list[Span]()
    closed, _ = containers_in(text, first.start(), end)
    for begin, stop in closed:
        if text[stop - 1] == "}" and stop - begin <= LONGEST_RECORD:
            # The objects in this one were found before it.
            while found and found[-1][0] > begin:
                found.pop()
            found.append((begin, stop))
    return found


def containers_in(text: str, begin: int, end: int) -> tuple[list[Span], list[int]]:
    """Return the objects and lists in ``text[begin:end]``, inner ones first, and the starts of those left open."""
    closed = list[Span]()
    opened = list[int]()
    for token in STRING_OR_BRACKET.finditer(text, begin, end):
        mark = token.group()
        if mark in ("{", "["):
            opened.append(token.start())
        elif mark in ("}", "]") and opened:
            closed.append((opened.pop(), token.end()))
    return closed, opened
