"""Find lines unlike the others: the one pod that restarts among sixty that run, the sum at the end, the headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from memory_context.text.lines import BLANK_LINE, line_end, line_spans
from memory_context.text.ranges import Span

LEAST_LINES = 20
# Lines whose form occurs this often count as a list, and this share of a text's lines must be in lists.
LISTED = 3
LEAST_LISTED = 0.6
# If more than this share of the lines have a form of their own, they are not exceptions.
MOST_RARE = 0.25
_WORD = re.compile(r"""[^\s,;:|"'(){}\[\]]+""")
_ABOVE = ("", BLANK_LINE)
# A number by itself, as in sums: ``Plan: 16 to add``, ``3.5% packet loss``.
_COUNT = re.compile(r"(?<!\S)\d[\d.,]*%?(?!\S)")


def telling_lines(text: str, regions: Sequence[Span]) -> list[int]:
    """Return where the first words are of the lines that say most about a text as a whole, the most telling ones first.

    These are rare lines that begin like no other and hold a count, as sums do; then the headings; then rare lines that
    begin like no other, and all rare lines. Of each kind, the first and the last ones come first.

    Args:
        text: The whole text.
        regions: The parts of it to read: all of a text of up to 100,000 characters, the hotspots of a longer one.
    """
    rare = rare_lines(text, regions)
    beginnings = set(rare_lines(text, regions, 1))
    begun_alone = [place for place in rare if place in beginnings]
    sums = [place for place in begun_alone if _COUNT.search(text, place, line_end(text, place))]
    kinds = (sums, headings(text, regions), begun_alone, rare)
    return list(dict.fromkeys(chain.from_iterable(map(from_both_ends, kinds))))


def headings(text: str, regions: Iterable[Span]) -> list[int]:
    """Return where the first words are of the lines that stand furthest out, below blank lines, if most are indented."""
    depths = dict[int, int]()
    for start, stop in _lines(text, regions):
        if word := _WORD.search(text, start, stop):
            depths[start] = word.start() - start
    least = min(depths.values(), default=0)
    outermost = [start for start, depth in depths.items() if depth == least]
    if len(depths) < LEAST_LINES or len(outermost) > MOST_RARE * len(depths):
        return []
    # Nothing but blank lines is above the first one of a text.
    below_blank = [start for start in outermost if text[max(0, start - 2) : start] in _ABOVE]
    return [start + least for start in below_blank]


def rare_lines(text: str, regions: Iterable[Span], most_words: int | None = None) -> list[int]:
    """Return where the first words are of the lines whose form no other has, if the text consists mostly of lists.

    A line's form is its words, with each word that holds anything but letters replaced by ``0``. The form of a line's
    beginning is its indentation, too.

    Args:
        text: The whole text.
        regions: The parts of it to read: all of a text of up to 100,000 characters, the hotspots of a longer one.
        most_words: How many words at the beginning of a line make its form; None for all of them.
    """
    forms = dict[int, str]()
    for start, stop in _lines(text, regions):
        found = list(islice(_WORD.finditer(text, start, stop), most_words))
        if found:
            words = [match[0] for match in found]
            form = [word if word.isalpha() else "0" for word in words]
            place = found[0].start()
            if most_words is not None:
                form.append(str(place - start))
            forms[place] = " ".join(form)
    if len(forms) < LEAST_LINES:
        return []
    counts = Counter(forms.values())
    listed = sum(count for count in counts.values() if count >= LISTED)
    if listed < LEAST_LISTED * len(forms):
        return []
    rare = [place for place, form in forms.items() if counts[form] == 1]
    if len(rare) > MOST_RARE * len(forms):
        return []
    return rare


def _lines(text: str, regions: Iterable[Span]) -> Iterable[Span]:
    """Return where each line of the *regions* begins and ends."""
    return chain.from_iterable(line_spans(text, start, end) for start, end in regions)


def from_both_ends(places: Sequence[int]) -> list[int]:
    """Return the first, the last, the second, the last but one, and so on."""
    last_first = reversed(places)
    alternating = chain.from_iterable(zip(places, last_first, strict=True))
    return list(dict.fromkeys(alternating))
