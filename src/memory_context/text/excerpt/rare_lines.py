"""Find lines unlike the others: the one pod that restarts among sixty that run, the sum at the end, the headings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from memory_context.text.lines import BLANK_LINE, line_end, line_spans
from memory_context.text.ranges import Span

LEAST_LINES = 20
# Lines whose form occurs this often count as a list, and this share of a text's lines must be in lists.
LISTED = 3
LEAST_LISTED = 0.6
# If more than this share of the lines have a form of their own, they are not exceptions.
MOST_RARE = 0.25
# A number this many times as large as the next smaller one of its column is an outlier.
FAR = 10
_ABOVE_HEADING = ("", BLANK_LINE)
_WORD = re.compile(r"""[^\s,;:|"'(){}\[\]]+""")
# A number by itself, as in sums: ``Plan: 16 to add``, ``3.5% packet loss``.
_COUNT = re.compile(r"(?<!\S)\d[\d.,]*%?(?!\S)")
# The number that a word is or ends with: `57`, `time=912`.
_NUMBER = re.compile(r"(?:.*=)?(\d+(?:\.\d+)?)")


class _Line(NamedTuple):
    """A line with a word in it.

    Attributes:
        start: Where the line begins.
        place: Where its first word is.
        words: Its words.
    """

    start: int
    place: int
    words: list[str]

    def form(self, most_words: int | None = None) -> tuple[str, ...]:
        """Return its words, with ``0`` for each that holds anything but letters; of a beginning, the indentation, too."""
        form = [word if word.isalpha() else "0" for word in self.words[:most_words]]
        if most_words is not None:
            form.append(str(self.place - self.start))
        return tuple(form)


def telling_lines(text: str, regions: Iterable[Span]) -> list[int]:
    """Return where the first words are of the lines that say most about a text as a whole, the most telling ones first.

    These are rare lines that begin like no other and hold a count, as sums do; outliers; headings; then rare lines that
    begin like no other, and all rare lines. Of each kind, the first and the last ones come first.

    Args:
        text: The whole text.
        regions: The parts of it to read: all of a text of up to 100,000 characters, the hotspots of a longer one.
    """
    lines = list(_lines(text, regions))
    rare = _rare(lines)
    beginnings = set(_rare(lines, 1))
    begun_alone = [place for place in rare if place in beginnings]
    sums = [place for place in begun_alone if _COUNT.search(text, place, line_end(text, place))]
    kinds = (sums, _outliers(lines), _headings(text, lines), begun_alone, rare)
    return list(dict.fromkeys(chain.from_iterable(map(from_both_ends, kinds))))


def rare_lines(text: str, regions: Iterable[Span], most_words: int | None = None) -> list[int]:
    """Return where the first words are of the lines whose form no other has, if the text consists mostly of lists.

    Args:
        text: The whole text.
        regions: The parts of it to read.
        most_words: How many words at the beginning of a line make its form; None for all of them.
    """
    return _rare(list(_lines(text, regions)), most_words)


def _lines(text: str, regions: Iterable[Span]) -> Iterator[_Line]:
    """Yield the lines of the *regions* that have words."""
    for start, stop in chain.from_iterable(line_spans(text, *region) for region in regions):
        found = list(_WORD.finditer(text, start, stop))
        if found:
            yield _Line(start, found[0].start(), [match[0] for match in found])


def _rare(lines: Sequence[_Line], most_words: int | None = None) -> list[int]:
    if len(lines) < LEAST_LINES:
        return []
    forms = [line.form(most_words) for line in lines]
    counts = Counter(forms)
    listed = sum(count for count in counts.values() if count >= LISTED)
    if listed < LEAST_LISTED * len(lines):
        return []
    rare = [line.place for line, form in zip(lines, forms, strict=True) if counts[form] == 1]
    if len(rare) > MOST_RARE * len(lines):
        return []
    return rare


def _headings(text: str, lines: Sequence[_Line]) -> list[int]:
    """Return the lines that stand furthest out, below blank ones or at the beginning, if most lines are indented."""
    least = min((line.place - line.start for line in lines), default=0)
    outermost = [line for line in lines if line.place - line.start == least]
    if len(lines) < LEAST_LINES or len(outermost) > MOST_RARE * len(lines):
        return []
    return [line.place for line in outermost if text[max(0, line.start - 2) : line.start] in _ABOVE_HEADING]


def _outliers(lines: Sequence[_Line]) -> list[int]:
    """Return the lines that hold a number far above those in the same place of the lines of the same form."""
    alike = defaultdict[tuple[str, ...], list[_Line]](list)
    for line in lines:
        alike[line.form()].append(line)
    outliers = list[int]()
    for rows in alike.values():
        if len(rows) < LEAST_LINES:
            continue
        places = [row.place for row in rows]
        for cells in zip(*(row.words for row in rows), strict=True):
            *_, (next_smaller, _), (largest, place) = sorted(zip(map(_number, cells), places, strict=True))
            if largest > FAR * next_smaller:
                outliers.append(place)
    return sorted(outliers)


def _number(word: str) -> float:
    """Return the number that a word is or ends with; 0 for other words."""
    match = _NUMBER.fullmatch(word)
    return float(match[1]) if match else 0.0


def from_both_ends(places: Sequence[int]) -> list[int]:
    """Return the first, the last, the second, the last but one, and so on."""
    last_first = reversed(places)
    alternating = chain.from_iterable(zip(places, last_first, strict=True))
    return list(dict.fromkeys(alternating))
