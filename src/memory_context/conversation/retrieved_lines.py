"""Find out from an answer of `retrieve_memory` which lines of a memory it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_context.model.reference import MemoryRef

# The second line of an answer: "lines 120-180, 200-220 of 5000".
_SHOWN_LINES = re.compile(r"lines (\d{1,18}-\d{1,18}(?:, \d{1,18}-\d{1,18})*) of \d+")
_RANGE = re.compile(r"(\d+)-(\d+)")


def lines_shown(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the memory's key with each range of whole lines that an answer of `retrieve_memory` shows."""
    first, _, rest = text.partition("\n")
    refs = MemoryRef.find_all(first)
    shown = _SHOWN_LINES.match(rest)
    if not refs or not shown:
        return
    for lines in _RANGE.finditer(shown[1]):
        begin, end = map(int, lines.groups())
        yield refs[0].key, (begin, end)
