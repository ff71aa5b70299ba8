"""Find records of several lines in any notation, by the forms of lines that recur.

Blank lines and indentation mean something different in each notation. But everywhere a record has lines of the same
*forms* as the record before it: a form is a line's indentation, its marks, and its key. The first form that recurs in a
text *opens* its records: such a line begins a new one. Where these records are too long, they consist of smaller ones,
which the next form opens. A line that holds only a name, above lines that are indented further, opens the block of these
lines, whatever the name is: ``grafana:`` and ``redis:`` have the same form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from memory_context.text.lines import line_spans, line_start
from memory_context.text.spans import Span

# So many characters at the beginning of a text show which forms open its records.
BEGINNING = 8_000
# How far before a record to look for the lines that open the longer ones around it.
FARTHEST_HEAD = 64_000
# A record longer than this is passed over if one within it is shorter.
LONG_RECORD = 800
LONGEST_RECORD = 1200
LONG_HEAD = 160
# Two records are alike if they share two thirds of their forms.
LEAST_ALIKE = 0.67
# A block under a name needs three forms: that of the name, and two more below it.
LEAST_KINDS = 3
MOST_HEADS = 6
# A first word counts as a form if at least one in six of the lines without marks or key begins with it.
COMMON = 6
# In the form of a line that names the indented block below it, this stands for the name. No line holds a line break.
OPENS = "\n"
# The form of every line that begins with a time. Such a line begins an entry of a log. Lines below it without a time, such
# as a stack trace, belong to the entry, and an exception that recurs in such lines does not open a record.
STAMPED = "00:00"
_STAMP = re.compile(
    r"\W?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]+)?\d?\d:\d\d(?::\d\d)?\b"
    r"|(?:[\w.]{1,12} +){1,3}?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]+)?\d?\d:\d\d:\d\d\b"
)
# Indentation, then marks or a number, then a key if a mark follows it: `login: `, `<login>`, `| login |`, `## `, `1. `.
# After a key of several words, such as `Invoice date: `, there must be a number: after `Project Manager: ` people speak.
_FORM = re.compile(
    r"""
    (?P<depth> \s* )
    (?P<marks> [^\w\s]* \s* (?: \d+ (?=[.)]\s) )? )
    (?P<key> (?: [^\W\d][\w.-]* (?: (?:[ ][\w.-]+){1,2} (?=:[ ]\S*\d\S*$) | (?=["']?\s*(?:[:|>]|=(?!=))) ) )? )
    """,
    re.VERBOSE | re.MULTILINE,
)
# The rest of a line that holds only a key or name: nothing, or what opens a block.
_ALONE = re.compile(r"""["']?\s*+[:=]?\s*+[\[{(]?\s*+$""")
_NEXT_LINE = re.compile(r"(?:[^\S\n]*\n)+(?P<depth>[^\S\n]*)(?=\S)")
_INDENTATION = re.compile(r"[^\S\n]*")
_DIGITS = re.compile(r"\d+")
_CLOSING = (")", "]", "}")
# Lines that begin and end no block: blank ones, and those of C's preprocessor.
BESIDE_BLOCKS = re.compile(r"[^\S\n]*+$|#(?:if|ifdef|ifndef|else|elif|endif)\b", re.MULTILINE)
# Lines with which the opening of a block goes on: the end of a list of arguments, a brace or a word on its own line.
GOES_ON = re.compile(r"\s*(?:[)\]]|(?:\{|where|then|do)\s*$)", re.MULTILINE)
# The first word of a line, unless it is part of a speaker's name: `Project Manager: `.
_WORD = re.compile(r"[^\W\d]\w*\b(?![\w .'-]{0,40}:)")
_WORD_CHARACTER = re.compile(r"\w")
# A line of marks alone, which separates what is above from what is below.
_RULE = re.compile(r"\s*([-=_*~#+])\1{2,}\s*")


class FormedLine(NamedTuple):
    """A line, its form, how far it is indented, and whether it closes a bracket."""

    start: int
    stop: int
    form: str
    depth: int
    closes: bool


def repeated_block(text: str, start: int, stop: int) -> tuple[Span, list[Span]] | None:
    """Return the record that the lines ``text[start:stop]`` are in, and the lines that open the longer ones around it.

    None if no record of the same forms comes before or after it.
    """
    words, beginning = _beginning(text[:BEGINNING])
    farthest = start - 2 * LONGEST_RECORD
    begin = 0
    if farthest > 0:
        begin = text.find("\n", farthest, start) + 1
    lines = list(lines_in(text, begin, start, words))
    place = len(lines)
    lines += lines_in(text, start, stop + 2 * LONGEST_RECORD, words)
    if place == len(lines):
        return None
    openers = openers_of(text, [*beginning, *lines])
    form = lines[place].form
    # The ranks vary fastest: outer records first, then longer ones, then those whose neighbours are not alike.
    lengths = (LONG_RECORD, LONGEST_RECORD)
    ranks = range(len(openers))
    for kinds, longest, rank in product((LEAST_KINDS, 0), lengths, ranks):
        around = openers[: rank + 1]
        bounds = _bounds(lines, place, around)
        if bounds is None or not _comes_again(lines, bounds, around, kinds):
            continue
        forms = [line.form for line in lines[slice(*bounds)]]
        if form.endswith(OPENS) and forms.count(form) > 1:
            continue  # the line is one of several names in this record: its own block is wanted, not all of them
        first, end = _without_rule(text, lines, bounds)
        opener = lines[first]
        block_start = opener.start
        block_stop = lines[end - 1].stop
        if place >= end or block_stop - block_start > longest:
            continue
        outer = openers[:rank]
        if opener.form.endswith(OPENS):
            outer = []
        heads = heads_above(text, block_start, opener.depth, outer, words)
        return (block_start, block_stop), heads
    return None


def openers_of(text: str, lines: Sequence[FormedLine]) -> list[str]:
    """Return the forms that recur, in the order in which they occur, but those of lines below gaps and of times first.

    The empty form, of lines without marks or key, comes last, unless most of these lines are below gaps, as titles are.
    """
    forms = {line.start: line.form for line in lines if not line.closes}
    counts = Counter(forms.values())
    below_gap = Counter(form for start, form in forms.items() if is_below_gap(text, start))
    openers = [form for form, count in counts.items() if count > 1]

    def order(form: str) -> tuple[bool, bool]:
        is_mostly_below_gap = below_gap[form] >= LEAST_ALIKE * counts[form]
        is_first = is_mostly_below_gap or form == STAMPED
        return not is_first, form == "" and not is_mostly_below_gap

    return sorted(openers, key=order)


def is_below_gap(text: str, start: int) -> bool:
    """Return whether a line is the first one of the text, or the line above it has no words: it is blank or a rule."""
    if start == 0:
        return True
    above = line_start(text, start - 1)
    return _WORD_CHARACTER.search(text, above, start) is None


@lru_cache(maxsize=16)
def _beginning(text: str) -> tuple[AbstractSet[str], Sequence[FormedLine]]:
    """Return the words that are forms, such as ``From`` in mails, and the lines of a text's beginning.

    The words are those that many lines without marks or key begin with. Cached, because the same is needed for each
    place in a text.
    """
    lines = lines_in(text, 0, len(text), frozenset())
    plain = [line for line in lines if not line.form]
    counts = Counter[str]()
    for line in plain:
        word = _WORD.match(text, line.start, line.stop)
        if word:
            counts[word[0]] += 1
    words = {word for word, count in counts.items() if COMMON * count >= len(plain)}
    return words, tuple(lines_in(text, 0, len(text), words))


def lines_in(text: str, start: int, stop: int, words: AbstractSet[str]) -> Iterator[FormedLine]:
    """Yield the lines that begin in ``text[start:stop]``, but not those beside all blocks."""
    for begin, end in line_spans(text, start, len(text)):
        if begin >= stop:
            return
        if not BESIDE_BLOCKS.match(text, begin):
            yield _line(text, begin, end, words)


def _line(text: str, start: int, stop: int, words: AbstractSet[str]) -> FormedLine:
    match = _FORM.match(text, start, stop)
    assert match is not None  # noqa: S101 - for the type checkers: each of its parts may be empty
    indentation, marks, key = match.groups()
    depth = len(indentation)
    closes = marks.startswith(_CLOSING)
    marks = _DIGITS.sub("1", marks)
    is_name = not key or _ALONE.match(text, match.end(), stop)
    form = f"{indentation}{marks}{key}"
    if _STAMP.match(text, start, stop):
        form = STAMPED
    elif is_name and _next_depth(text, stop) > depth:
        form = f"{indentation}{marks}{OPENS}"
    elif not form:
        word = _WORD.match(text, start, stop)
        if word and word[0] in words:
            form = f"{word[0]} "
    return FormedLine(start, stop, form, depth, closes)


def _next_depth(text: str, stop: int) -> int:
    """Return how far the next line that is not blank is indented."""
    below = _NEXT_LINE.match(text, stop)
    return len(below["depth"]) if below else 0


def _bounds(lines: Sequence[FormedLine], place: int, openers: Sequence[str]) -> Span | None:
    """Return the bounds of the record around a line, as indexes of lines; None unless the last of *openers* opens it.

    A line that is indented less than the opening line ends the record, and below a name also one that is indented as
    much. A closing bracket at the indentation of the opening line does not.
    """
    first = place
    while first >= 0 and lines[first].form not in openers:
        first -= 1
    if first < 0:
        return None
    opener = lines[first]
    if opener.form != openers[-1]:
        return None
    least = opener.depth + opener.form.endswith(OPENS)
    end = first + 1
    while end < len(lines) and lines[end].form not in openers:
        line = lines[end]
        closes_it = line.closes and line.depth == opener.depth
        if line.depth < least and not closes_it:
            break
        end += 1
    if place < end:
        return (first, end)
    return None


def _comes_again(
    lines: Sequence[FormedLine], bounds: Span, openers: Sequence[str], kinds: int
) -> bool:
    """Return whether the record before or after this one has mostly the same forms; never for a single line.

    A block under a name must have lines of *kinds* forms, the name included. With 0, its neighbour may differ. So may the
    neighbour of a log's entry with a stack trace.
    """
    first, end = bounds
    if end - first == 1:
        return False
    opener, *below = lines[first:end]
    forms = _forms(lines, bounds)
    is_named = opener.form.endswith(OPENS)
    if is_named and len(forms) < kinds:
        return False
    may_differ = is_named and kinds == 0
    if opener.form == STAMPED:
        may_differ = any(line.depth > opener.depth for line in below)
    upwards = range(first - 1, -1, -1)
    downwards = range(end, len(lines))
    for beside in (upwards, downwards):
        near = _nearest(lines, beside, opener, openers)
        if near is None:
            continue
        if may_differ:
            return True
        others = _forms(lines, near)
        if len(forms & others) >= LEAST_ALIKE * len(forms | others):
            return True
    return False


def _forms(lines: Sequence[FormedLine], bounds: Span) -> set[str]:
    first, end = bounds
    return {line.form for line in lines[first:end]}


def _nearest(
    lines: Sequence[FormedLine], beside: range, opener: FormedLine, openers: Sequence[str]
) -> Span | None:
    """Return the bounds of the nearest record with the same opening form within the same outer record.

    Args:
        lines: The lines of the text.
        beside: The indexes of the lines to search, nearest first.
        opener: The line that opens the record itself.
        openers: The forms that open records, outermost first.
    """
    for place in beside:
        if lines[place].depth < opener.depth:
            return None
        if lines[place].form == opener.form:
            return _bounds(lines, place, openers)
    return None


def _without_rule(text: str, lines: Sequence[FormedLine], bounds: Span) -> Span:
    """Return the bounds of a record without the rule that separates it from the next one."""
    first, end = bounds
    while end > first + 1:
        last = lines[end - 1]
        if not _RULE.fullmatch(text, last.start, last.stop):
            break
        end -= 1
    return first, end


def heads_above(
    text: str,
    start: int,
    depth: int,
    openers: Sequence[str] = (),
    words: AbstractSet[str] = frozenset(),
    farthest: int = 0,
) -> list[Span]:
    """Return the lines above a place that open the blocks and records around it, outermost first.

    Going up, these are the lines indented less than any below them so far, and the lines that open a longer record than
    any opened so far.

    Args:
        text: The text.
        start: Where the line whose heads are wanted begins.
        depth: How far it is indented.
        openers: The forms of lines that open longer records, outermost first.
        words: The first words that count as forms.
        farthest: The offset above which no line counts.
    """
    heads = list[Span]()
    rank = len(openers)
    stop = start - 1
    farthest = max(farthest, start - FARTHEST_HEAD)
    while (rank or depth) and stop > farthest and len(heads) < MOST_HEADS:
        begin = line_start(text, stop)
        end = stop
        stop = begin - 1
        if BESIDE_BLOCKS.match(text, begin):
            continue
        line = _line(text, begin, end, words)
        # What is indented as much is beside it, unless nothing is indented.
        if line.depth >= max(depth, 1):
            continue
        if depth and GOES_ON.match(text, begin, end):
            depth = line.depth + 1
            continue
        if line.form in openers[:rank]:
            rank = openers.index(line.form)
        elif not depth:
            continue
        depth = line.depth
        heads.append((begin, min(end, begin + LONG_HEAD)))
    return heads[::-1]


def opens_block(text: str, start: int, stop: int) -> bool:
    """Return whether the next line that is not blank is indented further than the line ``text[start:stop]``."""
    return _next_depth(text, stop) > depth_of(text, start)


def depth_of(text: str, start: int) -> int:
    """Return how far the line that begins at `start` is indented."""
    return _INDENTATION.match(text, start).end() - start  # type: ignore[union-attr] # matches anything
