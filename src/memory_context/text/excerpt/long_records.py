"""Find the long records that a text consists of, and the line that names each: a pod, a resource, a service.

``kubectl describe``, a list in YAML, an INI file and ``docker compose config`` print one such record after the other, of
dozens of lines that mean nothing without its name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from memory_context.text.excerpt.records_by_line_forms import (
    LEAST_ALIKE,
    STAMPED,
    FormedLine,
    is_below_gap,
    lines_in,
    openers_of,
)
from memory_context.text.spans import Span

# A longer text is not read as a whole.
LONGEST_TEXT = 300_000
# So many forms are tried, the outermost first: thousands of forms in thousands of lines take time.
MOST_OPENERS = 12
# So many lines of the first record are tried for its name.
MOST_NAMES = 40
# Two neighbouring records have at least so many forms of lines in common.
LEAST_FIELDS = 4
# Shorter ones, on average, are mostly shown together with their names.
LEAST_LENGTH = 600
# A key that is, or ends with, a word for a name: `full_name`, but not `Filename`.
_NAME = re.compile(r"""(?i)\W*(?:[\w./-]*[\W_])?(?:name|title)["']?\s*[:=|]""")
_WORD = re.compile(r"\w")
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

    Their names are the headings that open them, else lines with a name or a title, else their first fields, such as ids,
    that tell them apart; and if no field of the records themselves does, those of something inside them.
    """
    if len(text) > LONGEST_TEXT:
        return ()
    lines = list(lines_in(text, 0, len(text), frozenset()))
    counts = Counter(line.form for line in lines)
    openers = openers_of(text, lines)
    # The entries of a log are no long records.
    if STAMPED in openers:
        return ()
    for opener in openers[:MOST_OPENERS]:
        firsts = [index for index, line in enumerate(lines) if line.form == opener]
        records = [_record(lines, first) for first in firsts]
        length = sum(record[-1].stop - record[0].start for record in records)
        if length < LEAST_LENGTH * len(records):
            continue
        if _are_alike(records):
            titled = [_has_title(text, lines, counts, first) for first in firsts]
            if sum(titled) > len(records) / 2:
                return ()
            return _named(text, [*records[:-1], _without_what_follows(text, records)])
        # A form within records that differ does not tell where these end.
        if sum(is_below_gap(text, lines[first].start) for first in firsts) > len(firsts) / 2:
            return ()
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


def _has_title(
    text: str, lines: Sequence[FormedLine], counts: Mapping[str, int], first: int
) -> bool:
    """Return whether the line above a record is its title: it has words of its own, or none that is a key."""
    if not first:
        return False
    above = lines[first - 1]
    if above.depth > lines[first].depth or above.closes:
        return False
    is_own = counts[above.form] == 1 or not above.form[-1:].isalnum()
    return is_own and _WORD.search(text, above.start, above.stop) is not None


def _without_what_follows(
    text: str, records: Sequence[Sequence[FormedLine]]
) -> Sequence[FormedLine]:
    """Return the last record without what follows it: from the first line below a gap on that no other record has."""
    known = {line.form for record in records[:-1] for line in record}
    last = records[-1]
    for place, line in enumerate(last):
        if line.form not in known and is_below_gap(text, line.start):
            return last[:place]
    return last


def _named(text: str, records: Sequence[Sequence[FormedLine]]) -> Sequence[LongRecord]:
    """Return the records with their names; none if no line tells them apart."""
    opener, *below = records[0]
    outermost = min(line.depth for line in below if not line.closes)

    def rank(line: FormedLine) -> tuple[int, int]:
        """Return 0 for a heading, 1 for a name, 2 for another field of the record itself, and 3 or 4 for those inside."""
        if line is opener and not _FIELD.match(text, line.start, line.stop):
            return 0, 0
        is_inside = line.depth > outermost
        if _NAME.match(text, line.start, line.stop):
            return (3 if is_inside else 1), line.depth
        return (4 if is_inside else 2), 0

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
