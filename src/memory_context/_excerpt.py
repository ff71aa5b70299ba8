"""The excerpt: of a long text, the lines that matter for a question, within a budget.

Previews, recalled text and partial reads are this one function.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from memory_context._prompts import GAP, GAP_IN_LINE

Cost: TypeAlias = Callable[[str], int]

MAX_TERMS = 32
CHARACTERS_TRIED = 8
NAME_WEIGHT = 3
LEAST_DIGITS = 4
_WORD = re.compile(r"[^\W_][\w./:@#-]*[^\W_]|[^\W_]")
_ENGLISH_STOP_WORDS = """
a about above after again all also an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further get give had has have having he her here hers him his
how i if in into is it its just let me more most my no nor not now of off on once only or other our out over own
please same she should show so some such tell than that the their them then there these they this those through to
too under until up use very was we were what when where which while who whom why will with would you your
"""
_STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())


_NAME = re.compile(r"[\d_./:@#-]")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text, in order.

    Attributes:
        lines: Line numbers (from 1) with the text shown for each.
        line_count: The lines of the whole text.
        shortened: The numbers of the lines that are shown without their middle.
    """

    lines: tuple[tuple[int, str], ...]
    line_count: int
    shortened: frozenset[int] = frozenset()

    def within(self, first: int, line_count: int) -> Excerpt:
        """The same lines, of a text of which this one begins at line `first` and which has `line_count`."""
        lines = tuple((number + first - 1, text) for number, text in self.lines)
        return Excerpt(lines, line_count, frozenset(number + first - 1 for number in self.shortened))

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and the last line of each run of lines that are shown whole."""
        whole = (number for number, _ in self.lines if number not in self.shortened)
        runs = groupby(enumerate(whole), key=lambda pair: pair[1] - pair[0])
        numbers = [[number for _, number in run] for _, run in runs]
        return tuple((run[0], run[-1]) for run in numbers)

    def render(self) -> str:
        """The lines, with a line in place of each gap that says which lines are not shown; nothing without lines."""
        if not self.lines:
            return ""
        shown, parts = 0, list[str]()
        for number, text in (*self.lines, (self.line_count + 1, "")):
            if number > shown + 1:
                parts.append(GAP.format(first=shown + 1, last=number - 1, count=self.line_count))
            parts.append(text)
            shown = number
        return "\n".join(parts[:-1])


def terms(text: str) -> list[str]:
    """The words of `text` that say something, lower-case, most frequent first, at most 32."""
    words = (match.group().lower() for match in _WORD.finditer(text[:100_000]))
    counts = Counter(word for word in words if word not in _STOP_WORDS and (len(word) > 1 or not word.isascii()))
    return [word for word, _ in counts.most_common(MAX_TERMS)]


def is_name(word: str) -> bool:
    """Whether `word` looks like a name: of a file, a host, a function, a ticket; a number needs four digits."""
    return _NAME.search(word) is not None and not (word.isdigit() and len(word) < LEAST_DIGITS)


def weight(word: str) -> int:
    """How much `word` says: a name as much as three other words."""
    return NAME_WEIGHT if is_name(word) else 1


def excerpt(text: str, question: str, budget: int, cost: Cost) -> Excerpt:
    """The lines of `text` that speak of `question`, with their neighbours; its beginning and end where none does.

    The rendered excerpt never costs more than `budget`, whatever unit `cost` counts in; time is linear in the text.
    A line that alone would take more than half of the budget is shortened in its middle.
    """
    lines = text.split("\n")
    if text.endswith("\n"):
        lines.pop()
    chosen = _fill(lines, _relevant(lines, terms(question)) or _from_both_ends(len(lines)), budget, cost)
    while chosen and cost(_excerpt(chosen, lines).render()) > budget:
        chosen.popitem()
    return _excerpt(chosen, lines)


def _excerpt(chosen: dict[int, str], lines: list[str]) -> Excerpt:
    shortened = frozenset(index + 1 for index, line in chosen.items() if line != lines[index])
    return Excerpt(tuple((index + 1, chosen[index]) for index in sorted(chosen)), len(lines), shortened)


def _fill(lines: list[str], order: Iterable[int], budget: int, cost: Cost) -> dict[int, str]:
    """Lines in the order of their worth, until one does not fit; the last are the first to go."""
    gap = cost(GAP.format(first=len(lines), last=len(lines), count=len(lines))) + 1
    chosen: dict[int, str] = {}
    spent = gap if len(lines) > 1 else 0
    for index in order:
        if index in chosen:
            continue
        line = shorten(lines[index], (budget - spent) if len(lines) == 1 else budget // 2, cost)
        apart = gap if index and index - 1 not in chosen and index + 1 not in chosen else 0
        price = cost(line) + 1 + apart
        if spent + price > budget or (lines[index] and not line):
            break
        chosen[index], spent = line, spent + price
    return chosen


def _from_both_ends(count: int) -> Iterator[int]:
    for index in range((count + 1) // 2):
        yield index
        yield count - 1 - index


def _relevant(lines: list[str], words: list[str]) -> list[int]:
    """Lines that hold at least half of what the best line holds of the question, each with its neighbours, best first.

    A word counts by its weight and by how rare it is in the text.
    """
    found = {index: hits for index, line in enumerate(lines) if (hits := _hits(line.lower(), words))} if words else {}
    frequency = Counter(word for hits in found.values() for word in hits)
    rarity = {word: weight(word) * math.log(1 + len(lines) / count) for word, count in frequency.items()}
    scores = {index: sum(rarity[word] for word in hits) for index, hits in found.items()}
    least = max(scores.values(), default=0) / 2
    best = sorted((index for index in scores if scores[index] >= least), key=lambda index: (-scores[index], index))
    return [i for index in best for i in (index, index + 1, index - 1) if 0 <= i < len(lines)]


def _hits(line: str, words: list[str]) -> list[str]:
    return [word for word in words if word in line]


def shorten(line: str, budget: int, cost: Cost) -> str:
    """`line`, or as much of its beginning and end as `budget` allows, with a note of what is missing; maybe nothing."""
    most = CHARACTERS_TRIED * max(budget, 0)
    if len(line) <= most and cost(line) <= budget:
        return line
    kept = min(len(line) - 1, most)
    while kept > 0:
        head, tail = kept - kept // 3, kept // 3
        short = line[:head] + GAP_IN_LINE.format(count=len(line) - kept) + line[len(line) - tail :]
        if cost(short) <= budget:
            return short
        kept = kept * 3 // 4
    return ""
