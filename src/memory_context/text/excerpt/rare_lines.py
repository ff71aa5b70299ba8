"""Find lines unlike the others: the one pod that restarts among sixty that run, the sum at the end, the headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from memory_context.text.lines import line_spans, line_start
from memory_context.text.spans import Span

LEAST_LINES = 20
# Lines whose form occurs this often are a list; the others are rare.
LISTED = 3
# If more than this share of the lines are rare, they are not exceptions.
MOST_RARE = 0.25
# So many words at the beginning of a line show what kind of line it is.
BEGINNING = 2
# At least this share of the words of a sum are neither numbers nor names nor signs.
LEAST_WORDS = 0.4
_WORD = re.compile(r"""[^\s,;:|"'(){}\[\]]+""")
# Letters, or a sign that says what kind of line it is, as in `~ count = 14 -> 3`, but no bar such as `+++---`.
_KIND = re.compile(r"[^\W\d_]+|\W{1,2}")


class _WordedLine(NamedTuple):
    """A line with a word in it.

    Attributes:
        depth: How far its first word is from its beginning.
        place: The offset of its first word.
        form: Its words, with ``0`` for each word that is neither letters nor a short sign.
        words: Its words.
    """

    depth: int
    place: int
    form: tuple[str, ...]
    words: list[str]

    @property
    def beginning(self) -> tuple[int, tuple[str, ...]]:
        """Return its indentation and the form of its first words."""
        return self.depth, self.form[:BEGINNING]


_WordedLines: TypeAlias = list[_WordedLine]


def telling_lines(text: str, regions: Iterable[Span]) -> list[int]:
    """Return the offsets of the first words of the lines that say most about a text as a whole, the most telling first.

    These are sums, headings, rare lines that begin like no other, and then the other rare lines. Of each kind, the first
    and the last ones come first.

    Args:
        text: The whole text.
        regions: The parts of it to read: all of a text, or the hotspots of a long one.
    """
    lines = _lines(text, regions)
    rare = _rare(lines)
    alone = _begun_alone(lines, rare)
    telling = list[int]()
    titles = _titles(text, lines)
    headings = [line for line in titles if all(map(str.isalpha, line.words))]
    for kind in (_sums([*alone, *titles]), headings, alone, rare):
        telling += from_both_ends([line.place for line in kind])
    return list(dict.fromkeys(telling))


def _lines(text: str, regions: Iterable[Span]) -> _WordedLines:
    """Return the lines of the *regions* that have words, each with its form.

    Empty if there are too few to tell what is usual.
    """
    lines = _WordedLines()
    for region in regions:
        for start, stop in line_spans(text, *region):
            words = _WORD.findall(text, start, stop)
            if not words:
                continue
            place = text.index(words[0], start)
            form = tuple(word if _KIND.fullmatch(word) else "0" for word in words)
            lines.append(_WordedLine(place - start, place, form, words))
    if len(lines) < LEAST_LINES:
        return []
    return lines


def _rare(lines: _WordedLines) -> _WordedLines:
    """Return the lines in a form that no list has, if the text consists mostly of lists."""
    counts = Counter(line.form for line in lines)
    rare = [line for line in lines if counts[line.form] < LISTED]
    return rare if len(rare) <= MOST_RARE * len(lines) else []


def _begun_alone(lines: _WordedLines, rare: _WordedLines) -> _WordedLines:
    """Return those of the *rare* lines whose first words and indentation no other line has."""
    counts = Counter(line.beginning for line in lines)
    return [line for line in rare if counts[line.beginning] == 1]


def _sums(alone: _WordedLines) -> _WordedLines:
    """Return the lines that say how many there are of something: ``Plan: 16 to add``, but not ``188 Transaction 0 0 6``."""
    sums = _WordedLines()
    for line in alone:
        has_number = any(map(str.isdecimal, line.words))
        if has_number and sum(map(str.isalpha, line.words)) >= LEAST_WORDS * len(line.words):
            sums.append(line)
    return sums


def _titles(text: str, lines: _WordedLines) -> _WordedLines:
    """Return the lines at the top or below a blank line that are indented least, if few lines are."""
    least = min((line.depth for line in lines), default=0)
    outermost = [line for line in lines if line.depth == least]
    if len(outermost) > MOST_RARE * len(lines):
        return []
    return [line for line in outermost if _is_below_blank(text, line.place - least)]


def _is_below_blank(text: str, start: int) -> bool:
    """Return whether the line above the one that begins at `start` is blank, or there is no line above it."""
    above = line_start(text, max(0, start - 1))
    return not text[above:start].strip()


def from_both_ends(places: Sequence[int]) -> list[int]:
    """Return the first, the last, the second, the last but one, and so on."""
    pairs = zip(places, reversed(places), strict=True)
    return list(dict.fromkeys(chain.from_iterable(pairs)))
