"""The excerpt: of a long text, the passages that matter, within a budget.

Previews, recalled text and partial reads are this one function; only the weights differ. `docs/excerpts.md` has what
each of them is worth on recorded agent runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise

from memory_context.model.selection import Cost
from memory_context.runtime.prompts import GAP, GAP_AT_LINE, MORE_MEMBERS
from memory_context.text.excerpt.hotspots import LARGE, regions
from memory_context.text.excerpt.packing import Choice
from memory_context.text.excerpt.scoring import Ranking, weigh
from memory_context.text.excerpt.segments import Group, Piece, Pieces, cut, cut_regions

CHARACTERS_PER_UNIT = 8
READING = Ranking(names=0, plain=0, before=0, share=0.5, least=0)
PREVIEW = Ranking()
ENDS = Ranking(names=0, plain=1, asked=0, near=2000, far=0, end=1, near_end=2000, least=0)
WHATEVER = Ranking(least=0)

_BREAK_IN_RECORD = re.compile(r"\s*\n\s*")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some passages of a text, in order.

    Attributes:
        text: The passages, with ``…`` for what is left out between them: alone where it is a part of a line, with the
            number of the next line where it is lines. Of JSON, records with their paths, each of them JSON by itself.
        ranges: The first and the last line (from 1) of each run of lines that are shown whole.
    """

    text: str
    ranges: tuple[tuple[int, int], ...] = ()


def excerpt(
    text: str,
    question: str,
    budget: int,
    cost: Cost,
    *,
    ranking: Ranking = READING,
    known: AbstractSet[str] = frozenset(),
    first_line: int = 1,
) -> Excerpt:
    """The passages of `text` that speak of `question`; where none does, those that hold the most names.

    It never costs more than `budget`, whatever unit `cost` counts in; time is linear in the text; the same arguments
    give the same excerpt.

    Args:
        text: The whole text.
        question: What its reader wants to know.
        budget: The most that the excerpt costs.
        cost: What a text costs, in tokens or characters.
        ranking: What a passage is worth.
        known: Names that its reader has seen.
        first_line: The number of the text's first line.
    """
    found = cut(text) if len(text) <= LARGE else cut_regions(text, regions(text, question))
    render = partial(_rendered, text, found, first_line)
    order = _chosen(text, found, question, ranking, known, budget, cost)
    if order:
        return _within(order, budget, cost, render)
    if len(text) <= CHARACTERS_PER_UNIT * budget and cost(text) <= budget:
        whole = text.removesuffix("\n")
        return Excerpt(whole, ((first_line, first_line + whole.count("\n")),))
    order = _chosen(text, found, "", WHATEVER, known, budget, cost)
    return _within(order, budget, cost, render) if order else _beginning(text, budget, cost)


def _chosen(
    text: str,
    found: Pieces,
    question: str,
    ranking: Ranking,
    known: AbstractSet[str],
    budget: int,
    cost: Cost,
) -> list[int]:
    weights = weigh(text, found, question, ranking, known)
    return Choice(text, found, weights, ranking, cost).take(budget)


def _within(
    order: list[int], budget: int, cost: Cost, render: Callable[[list[int]], Excerpt]
) -> Excerpt:
    """As many of the pieces, best first, as the budget really allows."""
    while order:
        shown = render(sorted(order))
        spent = cost(shown.text)
        if spent <= budget:
            return shown
        del order[min(len(order) - 1, len(order) * budget // spent) :]
    return Excerpt("")


def _beginning(text: str, budget: int, cost: Cost) -> Excerpt:
    """The first characters of a text of which not even one piece fits."""
    shown = text.lstrip()[: max(0, budget)]
    while shown and cost(f"{shown} {GAP}") > budget:
        shown = shown[: len(shown) * 3 // 4]
    return Excerpt(f"{shown} {GAP}" if shown else "")


def _rendered(text: str, found: Pieces, first_line: int, indexes: list[int]) -> Excerpt:
    """The pieces as one text; each record of JSON on a line of its own."""
    lines, parts, behind = _Lines(text, first_line), list[str](), 0
    for run in _runs(found, indexes):
        group = found.groups[run[0].group]
        if group.path:
            parts.append(("\n" if parts else "") + _record(text, group, run))
        else:
            parts.append(_gap(text, behind, run[0].start, lines) + text[run[0].start : run[-1].end])
            run = [Piece(run[0].start, run[-1].end)]  # noqa: PLW2901 - one slice
        for piece in run:
            lines.show(piece.start, piece.end)
        behind = run[-1].end
    is_record = bool(found.groups[found.pieces[indexes[-1]].group].path)
    last = "" if is_record else _last_gap(text[behind:].rstrip())
    return Excerpt("".join(parts).rstrip("\n") + last, tuple(lines.ranges))


def _last_gap(rest: str) -> str:
    """What stands for the rest of a text."""
    if not rest:
        return ""
    return f"\n{GAP}" if "\n" in rest else f" {GAP}"


def _runs(found: Pieces, indexes: list[int]) -> Iterator[list[Piece]]:
    """Pieces of one record; in a text, those that follow one another."""

    def run_of(pair: tuple[int, int]) -> tuple[int, int]:
        group = found.pieces[pair[1]].group
        return (group, 0) if found.groups[group].path else (group, pair[1] - pair[0])

    for _, run in groupby(enumerate(indexes), key=run_of):
        yield [found.pieces[index] for _, index in run]


def _gap(text: str, behind: int, start: int, lines: _Lines) -> str:
    """What stands between two passages."""
    between = text[behind:start]
    if not between.strip():
        return between if behind else lines.opening()
    if "\n" not in between:
        return f" {GAP} " if behind else f"{GAP} "
    begins = text[start - 1] == "\n"
    return (
        ("\n" if behind else "")
        + GAP_AT_LINE.format(line=lines.at(start))
        + ("\n" if begins else f"\n{GAP} ")
    )


def _record(text: str, group: Group, run: Sequence[Piece]) -> str:
    """A path, with the members that are shown as JSON, or the passages of one long string."""
    if group.kind == "text":
        return f"{group.path}: {_passages(text, run)}"
    members = [_BREAK_IN_RECORD.sub(" ", text[piece.start : piece.end]) for piece in run]
    missing = group.size - sum(piece.members for piece in run)
    if missing:
        members.append(MORE_MEMBERS[group.kind].format(count=missing))
    opening, closing = "{}" if group.kind == "object" else "[]"
    return f"{group.path} {opening}{', '.join(members)}{closing}"


def _passages(text: str, run: Sequence[Piece]) -> str:
    parts = [text[run[0].start : run[0].end]]
    for before, piece in pairwise(run):
        parts += ["" if before.end == piece.start else f" {GAP} ", text[piece.start : piece.end]]
    return "".join(parts)


class _Lines:
    """Counts lines on one way through a text, and notes which were shown whole."""

    def __init__(self, text: str, first: int) -> None:
        self.ranges = list[tuple[int, int]]()
        self._text, self._place, self._line = text, 0, first

    def opening(self) -> str:
        """What stands before the text's first line: the number that it has in a longer text."""
        return "" if self._line == 1 else GAP_AT_LINE.format(line=self._line) + "\n"

    def at(self, place: int) -> int:
        """The number of the line that `place` stands in; places come in order."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line

    def show(self, start: int, end: int) -> None:
        """Note the lines that ``text[start:end]`` holds whole."""
        text = self._text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        stop = text.find("\n", end)
        behind = text[end : len(text) if stop < 0 else stop]
        cut_behind = behind.strip(" \t\r,") and text[end - 1 : end] != "\n"
        first = self.at(start) + bool(before.strip())
        last = self.at(end) - bool(cut_behind or text[end - 1 : end] == "\n")
        if self.ranges and first <= self.ranges[-1][1] + 1:
            self.ranges[-1] = (self.ranges[-1][0], max(last, self.ranges[-1][1]))
        elif last >= first:
            self.ranges.append((first, last))
