"""Which notes say the same, and the one note that says it all: decided by words, without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from memory_context.text.terms import names

SHINGLE = 3
SAME_LINE = 0.8
NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nor", "without", "don", "doesn", "isn", "aren", "won", "cannot")
)
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")


def words_of(text: str) -> frozenset[str]:
    """The words of `text`, in small letters."""
    return frozenset(_WORD.findall(text.lower()))


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every three words in a row; a shorter text's words as one (Broder, "On the resemblance of documents", 1997)."""
    return runs(text, SHINGLE) or frozenset((tuple(_WORD.findall(text.lower())),))


def runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    """Every `length` words in a row, in small letters."""
    words = _WORD.findall(text.lower())
    return frozenset(zip(*(words[start:] for start in range(length)), strict=False))


def resemblance(one: AbstractSet[object], other: AbstractSet[object]) -> float:
    """What two sets have in common, by what they have together (Jaccard): 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def groups(sets: Sequence[AbstractSet[object]], least: float) -> list[list[int]]:
    """The places of sets that resemble the first of their group by `least` or more; each set in one group.

    Only sets that have an element in common are compared.
    """
    found, leaders = list[list[int]](), dict[object, list[int]]()
    for place, one in enumerate(sets):
        shared = Counter(group for element in one for group in leaders.get(element, ()))
        near = [
            group for group in sorted(shared) if resemblance(one, sets[found[group][0]]) >= least
        ]
        if near:
            found[near[0]].append(place)
            continue
        for element in one:
            leaders.setdefault(element, []).append(len(found))
        found.append([place])
    return found


def merged(texts: Sequence[str]) -> str:
    """The first of `texts`, which come oldest first, with what the others say beside it; of two wordings, the newer.

    A line of a later text takes the place of one that says less or the same, is left out where one says as much, and
    else comes behind. One line says as much as another one if it has its words, names and numbers and negates as it
    does; the same, if it has hardly any other word, but no other name, number or negation.
    """
    lines = [_Line(line) for line in texts[0].split("\n")] if texts else []
    for text in texts[1:]:
        there = list(lines)
        for line in map(_Line, text.split("\n")):
            if line.words and not any(other.covers(line) for other in there):
                place = next(
                    (place for place, other in enumerate(there) if line.replaces(other)), None
                )
                if place is None:
                    lines.append(line)
                else:
                    lines[place] = there[place] = line
    return "\n".join(line.text for line in lines)


class _Line:
    """A line, and what it says."""

    __slots__ = ("facts", "negations", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words_of(text)
        self.facts = {*names(text), *_NUMBER.findall(text)}
        self.negations = self.words & NEGATIONS

    def covers(self, other: _Line) -> bool:
        return (
            other.words <= self.words
            and other.facts <= self.facts
            and self.negations == other.negations
        )

    def replaces(self, other: _Line) -> bool:
        alike = self.facts == other.facts and self.negations == other.negations
        return bool(other.words) and (
            self.covers(other) or (alike and resemblance(self.words, other.words) >= SAME_LINE)
        )
