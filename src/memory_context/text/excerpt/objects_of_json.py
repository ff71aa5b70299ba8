"""Find where an object of JSON, or of a Python repr, begins and ends, without reading the text around it."""

from __future__ import annotations

import re

from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD

# Brackets, and strings of JSON or of a Python repr: neither holds a line break.
STRING_OR_BRACKET = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[{}\[\]]""")
# Where an object begins. An unescaped quote right after a brace cannot be inside a string.
OBJECT_START = re.compile(r"""\{\s*["']""")
BEGINS_WITH_OBJECT = re.compile(rf"\s*\[?\s*{OBJECT_START.pattern}")


def closed_after(text: str, begin: int) -> int | None:
    """Return where the container that begins at `begin` ends; None if it is longer than 1,200 characters."""
    depth = 0
    for token in STRING_OR_BRACKET.finditer(text, begin, begin + LONGEST_RECORD):
        mark = token.group()
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None
