"""Records of several lines in any notation, known by the forms of lines that come again and again.

Blank lines and indentation mean something else in each notation. What they share is that a record has the same lines
as the one before it: the first form of a text that comes again opens them. Where these are too long, they hold records
of their own, which the next form opens. A line with nothing but a name, above lines that are further indented, opens
what these say, whatever the name is: ``grafana:`` as ``redis:``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from memory_context.text.lines import line_spans
from memory_context.text.ranges import Span

# What a text begins with tells which forms open its records.
BEGINNING = 8_000
# How far before a record what opens the ones around it is looked for.
FARTHEST_HEAD = 64_000
# Records that are longer than that are left if others, within them, are shorter.
LONG_RECORD = 800
LONGEST_RECORD = 1200
LONG_HEAD = 160
LEAST_ALIKE = 0.67
# A name, and two kinds of lines below it.
LEAST_KINDS = 3
MOST_HEADS = 6
# Of the lines without a mark or a key one in six begins with a word that is a form.
COMMON = 6
# Stands in a form for the name of what is further indented below; no line has one.
OPENS = "\n"
# Indentation and marks or a number, then a key with what stands behind it: `login: `, `<login>`, `| login |`, `## `, `1. `.
_FORM = re.compile(
    r"""
    (?P<depth> \s* )
    (?P<marks> [^\w\s]* \s* (?: \d+ (?=[.)]\s) )? )
    (?P<key> (?: [^\W\d][\w.-]* (?=\s*[:=|>]) )? )
    """,
    re.VERBOSE,
)
# A key or a name alone in its line, and what opens a block behind it.
_ALONE = re.compile(r"\s*[:=]?\s*[\[{(]?\s*$")
_NEXT_LINE = re.compile(r"(?:[^\S\n]*\n)+(?P<depth>[^\S\n]*)(?=\S)")
_INDENTATION = re.compile(r"[^\S\n]*")
_DIGITS = re.compile(r"\d+")
_CLOSING = (")", "]", "}")
# The first word of a line, but not of who speaks in it: `Project Manager: `.
_WORD = re.compile(r"[^\W\d]\w*\b(?![\w .'-]{0,40}:)")
_SAYS = re.compile(r"\w")
# A line of marks alone parts what stands around it.
_RULE = re.compile(r"\s*([-=_*~#+])\1{2,}\s*")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    stop: int
    form: str
    depth: int
    closes: bool


def repeated_block(text: str, start: int, stop: int) -> tuple[Span, list[Span]] | None:
    """Return the record that the lines ``text[start:stop]`` are in, and what opens the longer ones around it.

    None if lines of the same forms do not come again before or behind it.
    """
    words, beginning = _beginning(text[:BEGINNING])
    nearest = start - 2 * LONGEST_RECORD
    begin = text.find("\n", nearest, start) + 1 if nearest > 0 else 0
    before = list(_lines(text, begin, start, words))
    behind = _lines(text, start, stop + 2 * LONGEST_RECORD, words)
    lines, place = [*before, *behind], len(before)
    if place == len(lines):
        return None
    openers = _openers(text, [*beginning, *lines])
    own = lines[place].form
    tried = product((LEAST_KINDS, 0), (LONG_RECORD, LONGEST_RECORD), range(len(openers)))
    for kinds, longest, rank in tried:
        around = openers[: rank + 1]
        bounds = _bounds(lines, place, around)
        if bounds is None or not _comes_again(lines, bounds, around, kinds):
            continue
        if own.endswith(OPENS) and [line.form for line in lines[slice(*bounds)]].count(own) > 1:
            continue  # one of several names is asked for
        first, end = _without_rule(text, lines, bounds)
        span = lines[first].start, lines[end - 1].stop
        if place < end and span[1] - span[0] <= longest:
            outer = [] if openers[rank].endswith(OPENS) else openers[:rank]
            return span, heads_above(text, span[0], lines[first].depth, outer, words)
    return None


def _openers(text: str, lines: Sequence[_Line]) -> list[str]:
    """Return the forms that come again, in the order in which a text has them: those first that stand below gaps.

    That of lines without a mark or a key is the last one, unless these stand there: titles.
    """
    forms = {line.start: line.form for line in lines if not line.closes}
    counts = Counter(forms.values())
    below_gap = Counter(form for start, form in forms.items() if _is_below_gap(text, start))
    openers = [form for form, count in counts.items() if count > 1]

    def order(form: str) -> tuple[bool, bool]:
        is_first = below_gap[form] >= LEAST_ALIKE * counts[form]
        return not is_first, form == ""

    return sorted(openers, key=order)


def _is_below_gap(text: str, start: int) -> bool:
    """Return whether a line has a line without words above, blank or a rule, or none at all."""
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    return start == 0 or not _SAYS.search(text, above, start)


@lru_cache(maxsize=16)
def _beginning(text: str) -> tuple[AbstractSet[str], Sequence[_Line]]:
    """Return the words that many lines without a mark or a key begin with, ``From`` of mails, but no names; and the lines.

    Each place of a text asks for that.
    """
    plain = Counter[str]()
    for line in _lines(text, 0, len(text), frozenset()):
        if not line.form:
            word = _WORD.match(text, line.start, line.stop)
            plain[word.group() if word else ""] += 1
    words = {word for word, count in plain.items() if word and COMMON * count >= plain.total()}
    return words, tuple(_lines(text, 0, len(text), words))


def _lines(text: str, start: int, stop: int, words: AbstractSet[str]) -> Iterator[_Line]:
    """Yield the lines that begin in ``text[start:stop]`` and say something."""
    for begin, end in line_spans(text, start, len(text)):
        if begin >= stop:
            return
        if text[begin:end].strip():
            yield _line(text, begin, end, words)


def _line(text: str, start: int, stop: int, words: AbstractSet[str]) -> _Line:
    match = _FORM.match(text, start, stop)
    indentation, marks, key = match.groups() if match else ("", "", "")
    depth, closes = len(indentation), marks.startswith(_CLOSING)
    behind = start + len(indentation + marks + key)
    marks = _DIGITS.sub("1", marks)
    if _next_depth(text, stop) > depth and (not key or _ALONE.match(text, behind, stop)):
        return _Line(start, stop, f"{indentation}{marks}{OPENS}", depth, closes)
    form = f"{indentation}{marks}{key}"
    word = None if form else _WORD.match(text, start, stop)
    if word and word.group() in words:
        form = f"{word.group()} "
    return _Line(start, stop, form, depth, closes)


def _next_depth(text: str, stop: int) -> int:
    """Return how far the next line that says something is indented."""
    below = _NEXT_LINE.match(text, stop)
    return len(below["depth"]) if below else 0


def _bounds(lines: Sequence[_Line], place: int, openers: Sequence[str]) -> Span | None:
    """Return from which line to which the lines around one reach that the last of *openers* opens; None if another does.

    What stands further to the left ends them; those that a name opens end at the next line beside it.
    """
    first = place
    while first >= 0 and lines[first].form not in openers:
        first -= 1
    if first < 0 or lines[first].form != openers[-1]:
        return None
    opener = lines[first]
    least = opener.depth + opener.form.endswith(OPENS)
    end = first + 1
    while end < len(lines) and lines[end].form not in openers:
        line = lines[end]
        if line.depth < least and not (line.closes and line.depth == opener.depth):
            break
        end += 1
    return (first, end) if place < end else None


def _comes_again(lines: Sequence[_Line], bounds: Span, openers: Sequence[str], kinds: int) -> bool:
    """Return whether the record before one of several lines, or the one behind it, has mostly the same forms.

    What a name opens must have lines of so many *kinds* for that, its own included; with none it need not be alike.
    """
    first, end = bounds
    if end - first == 1:
        return False
    opener, forms = lines[first], {line.form for line in lines[first:end]}
    is_named = opener.form.endswith(OPENS)
    if is_named and len(forms) < kinds:
        return False
    for beside in (range(first - 1, -1, -1), range(end, len(lines))):
        near = _nearest(lines, beside, opener, openers)
        if near is None:
            continue
        others = {line.form for line in lines[near[0] : near[1]]}
        if len(forms & others) >= LEAST_ALIKE * len(forms | others) or (is_named and not kinds):
            return True
    return False


def _nearest(
    lines: Sequence[_Line], beside: range, opener: _Line, openers: Sequence[str]
) -> Span | None:
    """Return the bounds of the nearest record beside one that is opened alike and within the same lines."""
    for place in beside:
        if lines[place].depth < opener.depth:
            return None
        if lines[place].form == opener.form:
            return _bounds(lines, place, openers)
    return None


def _without_rule(text: str, lines: Sequence[_Line], bounds: Span) -> Span:
    """Return the bounds of a record without the rule that parts it from the next one."""
    first, end = bounds
    while end - 1 > first and _RULE.fullmatch(text, lines[end - 1].start, lines[end - 1].stop):
        end -= 1
    return first, end


def heads_above(
    text: str,
    start: int,
    depth: int,
    openers: Sequence[str] = (),
    words: AbstractSet[str] = frozenset(),
) -> list[Span]:
    """Return the lines that open what is around a place, outermost first.

    These are the nearest ones above that are less indented than what stands below them, and of *openers* the nearest,
    then one that comes before that.

    Args:
        text: The text.
        start: Where a line begins.
        depth: How far it is indented.
        openers: The forms of lines that open longer records, outermost first.
        words: The words that are forms.
    """
    heads = list[Span]()
    rank, stop = len(openers), start - 1
    while (rank or depth) and stop > max(0, start - FARTHEST_HEAD) and len(heads) < MOST_HEADS:
        begin = text.rfind("\n", 0, stop) + 1
        if text[begin:stop].strip():
            line = _line(text, begin, stop, words)
            opens = line.form in openers[:rank]
            if opens:
                rank = openers.index(line.form)
            if opens or line.depth < depth:
                depth = min(depth, line.depth)
                heads.append((begin, min(stop, begin + LONG_HEAD)))
        stop = begin - 1
    return heads[::-1]


def opens_block(text: str, start: int, stop: int) -> bool:
    """Return whether the next line that says something is further indented than the line ``text[start:stop]``."""
    return _next_depth(text, stop) > depth_of(text, start)


def depth_of(text: str, start: int) -> int:
    """Return how far the line that begins here is indented."""
    match = _INDENTATION.match(text, start)
    return len(match.group()) if match else 0
