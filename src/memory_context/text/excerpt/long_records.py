"""Find the long records that a text consists of, and the line that names each: a pod, a resource, a service.

``kubectl describe``, a list in YAML, an INI file and ``docker compose config`` print one such record after the other, of
dozens of lines that mean nothing without its name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from memory_context.text.excerpt.records_by_line_forms import (
    LEAST_ALIKE,
    STAMPED,
    FormedLine,
    lines_in,
    openers_of,
)
from memory_context.text.spans import Span

# A longer text is not read as a whole.
LONGEST_TEXT = 300_000
# So many forms are tried, the outermost first: thousands of forms in thousands of lines take time.
MOST_OPENERS = 12
# So many lines of the first record are tried for its name.
MOST_NAMES = 20
# Two neighbouring records have at least so many forms of lines in common.
LEAST_FIELDS = 4
# Shorter ones, on average, are mostly shown together with their names.
LEAST_LENGTH = 600
_NAME = re.compile(r"""(?i)\W*[\w./-]*(?:name|title)["']?\s*[:=|]""")
_FIELD = re.compile(r"\W*[\w./-]+\s*[:=]\s+\S")


class LongRecord(NamedTuple):
    """One of the records that a text consists of.

    Attributes:
        start: The offset at which it begins.
        stop: The offset at which it ends.
        name: The span of the line that names it.
    """

    start: int
    stop: int
    name: Span


def long_record_at(text: str, place: int) -> LongRecord | None:
    """Return the long record that a place is in; None if the text does not consist of such records."""
    records = long_records(text)
    index = bisect_right(records, place, key=attrgetter("start")) - 1
    if index < 0 or place >= records[index].stop:
        return None
    return records[index]


@lru_cache(maxsize=16)
def long_records(text: str) -> Sequence[LongRecord]:
    """Return the records that a text consists of, in order: most of them have mostly the same fields as the next one.

    Their names are the lines that open them, else the first ones with a name or a title, else any first ones, such as
    ids, that tell them apart.
    """
    if len(text) > LONGEST_TEXT:
        return ()
    lines = list(lines_in(text, 0, len(text), frozenset()))
    openers = openers_of(text, lines)
    # The entries of a log are no long records.
    if STAMPED in openers:
        return ()
    for opener in openers[:MOST_OPENERS]:
        records = [_record(lines, index) for index, line in enumerate(lines) if line.form == opener]
        length = sum(record[-1].stop - record[0].start for record in records)
        if length >= LEAST_LENGTH * len(records) and _are_alike(records):
            return _named(text, records)
    return ()


def _record(lines: Sequence[FormedLine], first: int) -> Sequence[FormedLine]:
    """Return the lines of the record that a line opens: up to the next such line, or one that is indented less."""
    opener = lines[first]
    stop = first + 1
    while stop < len(lines):
        line = lines[stop]
        if line.form == opener.form or line.depth < opener.depth:
            break
        stop += 1
    return lines[first:stop]


def _are_alike(records: Sequence[Sequence[FormedLine]]) -> bool:
    """Return whether most records share most of their forms with the next one."""
    forms = [{line.form for line in record if line.form[-1:].isalnum()} for record in records]
    alike = [
        len(one & other) >= max(LEAST_FIELDS, LEAST_ALIKE * len(one | other))
        for one, other in pairwise(forms)
    ]
    return sum(alike) > len(alike) / 2


def _named(text: str, records: Sequence[Sequence[FormedLine]]) -> Sequence[LongRecord]:
    """Return the records with their names; none if no line tells them apart."""
    opener = records[0][0]
    is_heading = not _FIELD.match(text, opener.start, opener.stop)

    def rank(line: FormedLine) -> int:
        """Return 0 for a heading, 1 for a name or a title, and 2 for any other line."""
        if is_heading and line is opener:
            return 0
        return 1 if _NAME.match(text, line.start, line.stop) else 2

    by_form = [{line.form: line for line in reversed(record)} for record in records]
    for line in sorted(records[0], key=rank)[:MOST_NAMES]:
        names = [
            lines.get(line.form, record[0]) for lines, record in zip(by_form, records, strict=True)
        ]
        if len({text[name.start : name.stop] for name in names}) == len(records):
            return [
                LongRecord(record[0].start, record[-1].stop, (name.start, name.stop))
                for record, name in zip(records, names, strict=True)
            ]
    return ()
