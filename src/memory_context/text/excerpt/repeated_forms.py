"""Records of several lines in any notation, known by the forms of lines that come again and again.

Blank lines and indentation mean something else in each notation. What they share is that a record has the same lines
as the one before it: the first form of a text that comes again opens them. Where these are too long, they hold records
of their own, which the next form opens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memory_context.text.lines import line_spans
from memory_context.text.ranges import Span

# What a text begins with tells which forms open its records.
BEGINNING = 8_000
# How far before a record what opens the ones around it is looked for.
FARTHEST_HEAD = 64_000
# Records that are longer than that are left if others, within them, are shorter.
LONG_RECORD = 800
LONGEST_RECORD = 1200
LEAST_ALIKE = 0.67
MOST_HEADS = 4
# Of the lines without a mark or a key one in six begins with a word that is a form.
COMMON = 6
# Indentation and marks, then a key with what stands behind it: `login: `, `<login>`, `| login |`, `## `, `-[ `.
_FORM = re.compile(r"\s*[^\w\s]*\s*(?:[^\W\d][\w.-]*(?=\s*[:=|>]))?")
# The first word of a line, but not of who speaks in it: `Project Manager: `.
_WORD = re.compile(r"[^\W\d]\w*\b(?![\w .'-]{0,40}:)")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    stop: int
    form: str


def repeated_block(text: str, start: int, stop: int) -> tuple[Span, list[Span]] | None:
    """Return the record that the lines ``text[start:stop]`` are in, and what opens the longer ones around it.

    None if lines of the same forms do not come again before or behind it.
    """
    words = _common_words(text)
    forms = Counter(line.form for line in _lines(text, 0, BEGINNING, words))
    openers = [form for form, count in forms.items() if count > 1]
    begin = text.find("\n", max(0, start - 2 * LONGEST_RECORD), start) + 1
    before = list(_lines(text, begin, start, words))
    behind = _lines(text, start, stop + 2 * LONGEST_RECORD, words)
    lines, place = [*before, *behind], len(before)
    for longest in (LONG_RECORD, LONGEST_RECORD):
        for rank in range(len(openers)):
            first, end = _bounds(lines, place, openers[: rank + 1])
            if first == end:
                continue
            span = lines[first].start, lines[end - 1].stop
            if span[1] - span[0] <= longest and _comes_again(lines, first, end):
                return span, _heads_above(text, span[0], openers[:rank], words)
    return None


def _common_words(text: str) -> AbstractSet[str]:
    """Return the words that many lines without a mark or a key begin with: ``From`` of mails, but no names."""
    plain = Counter[str]()
    for line in _lines(text, 0, BEGINNING, frozenset()):
        if not line.form:
            word = _WORD.match(text, line.start, line.stop)
            plain[word.group() if word else ""] += 1
    return {word for word, count in plain.items() if word and COMMON * count >= plain.total()}


def _lines(text: str, start: int, stop: int, words: AbstractSet[str]) -> Iterator[_Line]:
    """Yield the lines that begin in ``text[start:stop]`` and say something."""
    for begin, end in line_spans(text, start, len(text)):
        if begin >= stop:
            return
        if text[begin:end].strip():
            yield _Line(begin, end, _form(text, begin, end, words))


def _form(text: str, start: int, stop: int, words: AbstractSet[str]) -> str:
    match = _FORM.match(text, start, stop)
    form = match.group() if match else ""
    word = None if form else _WORD.match(text, start, stop)
    return f"{word.group()} " if word and word.group() in words else form


def _bounds(lines: Sequence[_Line], place: int, openers: Sequence[str]) -> Span:
    """Return from which line to which the lines reach that the last of *openers* opens; nothing if another one does."""
    first = place
    while first >= 0 and lines[first].form not in openers:
        first -= 1
    if first < 0 or lines[first].form != openers[-1]:
        return 0, 0
    end = place + 1
    while end < len(lines) and lines[end].form not in openers:
        end += 1
    return first, end


def _comes_again(lines: Sequence[_Line], first: int, end: int) -> bool:
    """Return whether the lines before a record of several lines, or those behind it, have mostly the same forms."""
    size = end - first
    if size == 1:
        return False
    opener = lines[first].form
    forms = {line.form for line in lines[first:end]}
    for begin in (max(0, first - size), end):
        near = {line.form for line in lines[begin : begin + size]}
        is_alike = len(forms & near) >= LEAST_ALIKE * len(forms | near)
        if opener in near and is_alike:
            return True
    return False


def _heads_above(
    text: str, start: int, openers: Sequence[str], words: AbstractSet[str]
) -> list[Span]:
    """Return the lines that open what a record is in: the nearest of an outer form, then of one outside that."""
    heads = list[Span]()
    rank, stop = len(openers), start - 1
    while rank and stop > max(0, start - FARTHEST_HEAD) and len(heads) < MOST_HEADS:
        begin = text.rfind("\n", 0, stop) + 1
        form = _form(text, begin, stop, words)
        if form in openers[:rank] and text[begin:stop].strip():
            rank = openers.index(form)
            heads.append((begin, stop))
        stop = begin - 1
    return heads[::-1]
