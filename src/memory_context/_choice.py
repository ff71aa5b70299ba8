"""Which pieces of a text are worth their price."""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memory_context._names import BLOB, FAULTS, FIELD, NAME, occurrences, terms, weight
from memory_context._pieces import Piece, Pieces

BEST_TERMS = 6
SMALL = 1e-9
SAMPLE = 2000
PATH_CHARACTERS = 3
GAP = 3
NEIGHBOUR = 0.3
_SHAPES = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz123456789",
    "A" * 26 + "a" * 25 + "0" * 9,
)
NOTHING = frozenset[str]()
_NUMBER = re.compile(r"[\d.,]+|\d{4}-\d\d-\d\d.*")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What makes a piece worth showing. Measured on recorded agent runs: `docs/excerpts.md`.

    Attributes:
        names: The worth of a name that was not shown yet.
        fault: The worth of a line that tells of an error, as a share of a name's; less after others.
        number: The share of it for a name that is only a number, a time or a date.
        key: The share of it for a quoted key of a record.
        field: How much more it is for a name that a line begins with as a key, or that is all of its value.
        repeated: How much more a name is worth that stands at four places or more; half of it at two.
        alike: How fast names of the same form lose worth: by the number of those shown, to this power.
        before: The share of a piece's worth that the one before it gains if it has no names: often a title.
        plain: The worth of a piece without names.
        near: After how many characters the worth has fallen to a third,
        far: and the share that it keeps at any distance.
        end: The share that it has at the very end of the text, where results stand,
        near_end: and before how many characters it has fallen to a third of that.
        relevance: How much more a piece is worth that holds all that is asked for.
        asked: What it is worth for that alone.
        share: Pieces with a smaller share than this of what the best one holds of the question are left out.
        least: What a piece must be worth, by its price.
        gist: This much is shown whatever it is worth.
    """

    names: float = 1.0
    fault: float = 1.0
    number: float = 0.25
    key: float = 0.05
    field: float = 2.0
    repeated: float = 2.0
    alike: float = 0.6
    before: float = 0.15
    plain: float = 0.01
    near: float = 5000
    far: float = 0.15
    end: float = 0.6
    near_end: float = 600
    relevance: float = 3.0
    asked: float = 2.0
    share: float = 0.0
    least: float = 0.03
    gist: int = 40


class Choice:
    """One choice among the pieces of a text; it is made once."""

    def __init__(self, text: str, found: Pieces, question: str, ranking: Ranking, known: AbstractSet[str]) -> None:
        """Weigh every piece by itself.

        Args:
            text: The whole text.
            found: Its pieces.
            question: What its reader wants to know.
            ranking: What makes a piece worth showing.
            known: Names that are worth nothing.
        """
        pieces = found.pieces
        self.pieces, self.groups, self.ranking, self._text = pieces, found.groups, ranking, text
        self._regions = found.regions
        self._starts = [piece.start for piece in pieces]
        self._names: list[list[str]] = [[] for _ in pieces]
        self._weights: dict[str, float] = self._weigh_names(text, known) if ranking.names else {}
        self._hits = self._find(text, terms(question))
        self._relevance = self._relevances(self._hits)
        self._near = [self._nearness(piece, len(text)) for piece in pieces]
        self._chosen = dict[int, None]()
        self._opened = {0}
        self._beside = dict[int, float]()
        self._shown = set[str]()
        self._alike = Counter[str]()
        self._answered = Counter[frozenset[str]]()

    def take(self, budget: float, cost: Callable[[str], int]) -> list[int]:
        """The pieces to show, in the order of their worth, each behind the one that it needs.

        Each time, the piece with the most worth for its price is taken, until nothing fits or is worth it.

        Args:
            budget: The most that they cost together.
            cost: What a text costs. A piece is first thought to cost as much by its length as the text's beginning.
        """
        sample = self._text[:SAMPLE]
        unit = max(cost(sample), 1) / max(len(sample), 1)
        self._costs = [max(1.0, unit * (piece.end - piece.start)) for piece in self.pieces]
        self._gap = GAP * max(1.0, unit)
        asked_for = set[int]()
        heap = [(-self._yield(index), index) for index in range(len(self.pieces))]
        heapq.heapify(heap)
        spent = self._gap
        while heap:
            index = heapq.heappop(heap)[1]
            if index not in asked_for:
                asked_for.add(index)
                self._costs[index] = max(1, cost(self._text[self.pieces[index].start : self.pieces[index].end]))
            gain = 0.0 if index in self._chosen else self._yield(index)
            if gain <= 0:
                continue
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, index))
            elif gain < self.ranking.least and spent > self.ranking.gist:
                break
            elif spent + self._price(index) <= budget:
                spent += self._price(index)
                for changed in self._show(index):
                    heapq.heappush(heap, (-self._yield(changed), changed))
        return list(self._chosen)

    def _nearness(self, piece: Piece, length: int) -> float:
        """How much of its worth a piece keeps where it stands."""
        ranking = self.ranking
        begin, end = math.exp(-piece.start / ranking.near), math.exp((piece.end - length) / ranking.near_end)
        return max(ranking.far, begin, ranking.end * end)

    def _yield(self, index: int) -> float:
        """What a piece is worth, by its price."""
        return self._worth(index) / self._price(index)

    def _worth(self, index: int) -> float:
        ranking, relevance = self.ranking, self._relevance[index]
        new = sum(map(self._novelty, self._names[index]))
        worth = (ranking.names * new + ranking.plain) * self._near[index] * (1 + ranking.relevance * relevance)
        if relevance:
            worth += ranking.asked * relevance**3 / math.sqrt(1 + self._answered[self._hits[index]])
        return worth + self._beside.get(index, 0.0)

    def _novelty(self, name: str) -> float:
        """What a name is worth now: nothing once it was shown, less after others of its form."""
        if name in self._shown:
            return 0.0
        alike = self._alike[_shape(name)] if self._alike else 0
        return self._weights[name] / (1 + alike) ** self.ranking.alike if alike else self._weights[name]

    def _price(self, index: int) -> float:
        """What it costs to show a piece: itself, the one that it needs, and the gaps around it."""
        price = self._costs[index] + self._gap
        price -= self._gap / 2 * ((index - 1 in self._chosen) + (index + 1 in self._chosen))
        parent, group = self.pieces[index].parent, self.pieces[index].group
        if group not in self._opened:
            price += self._gap + len(self.groups[group].path) / PATH_CHARACTERS
        return price if parent is None or parent in self._chosen else price + self._costs[parent]

    def _show(self, index: int) -> Iterator[int]:
        """Choose a piece and those that it needs; those beside it, whose worth or price changes by that."""
        title = self.ranking.before * self._worth(index)
        for shown in (*self._parents(index), index):
            self._chosen[shown] = None
            self._opened.add(self.pieces[shown].group)
            for name in self._names[shown]:
                if name not in self._shown:
                    self._shown.add(name)
                    self._alike[_shape(name)] += 1
        if self._relevance[index]:
            self._answered[self._hits[index]] += 1
        bonus = NEIGHBOUR * self.ranking.asked * self._relevance[index] ** 3
        for beside in self._around(index):
            if beside not in self._chosen:
                gain = max(bonus, title if beside == index - 1 and not self._names[beside] else 0.0)
                self._beside[beside] = max(self._beside.get(beside, 0.0), gain)
                yield beside

    def _parents(self, index: int) -> list[int]:
        """The pieces that are needed to understand one, outermost first, as far as they are not shown."""
        parent = self.pieces[index].parent
        return [] if parent is None or parent in self._chosen else [parent]

    def _around(self, index: int) -> Iterator[int]:
        """The pieces before and behind one; of a record, all its members."""
        group = self.pieces[index].group
        reach = len(self.pieces) if self.groups[group].kind != "text" and self._relevance[index] else 1
        for step in (-1, 1):
            beside = index + step
            while abs(beside - index) <= reach and 0 <= beside < len(self.pieces) and self._in(group, beside):
                yield beside
                beside += step

    def _in(self, group: int, index: int) -> bool:
        return self.pieces[index].group == group

    def _weigh_names(self, text: str, known: AbstractSet[str]) -> dict[str, float]:
        """What each name is worth by itself; the pieces get to know their names."""
        places, keys = defaultdict[str, list[int]](list), set[str]()
        fields = set[str]()
        for start, end in self._regions:
            part = text[start:end]
            fields.update(name for match in FIELD.finditer(part) for name in match.groups())
            for match in NAME.finditer(BLOB.sub(_blank, part)):
                if (name := match[1]) not in known:
                    places[name].append(start + match.start())
                    if match[2]:
                        keys.add(name)
        weights = self._weigh_faults(text)
        for name, starts in places.items():
            for index in {bisect_right(self._starts, start) - 1 for start in starts}:
                self._names[index].append(name)
        for name, starts in places.items():
            gain = 1 + self.ranking.repeated * min(1.0, math.log2(len(starts)) / 2)
            weights[name] = gain * self._by_form(name, keys, fields)
        return weights

    def _weigh_faults(self, text: str) -> dict[str, float]:
        """A piece that tells of an error has a name more, of a form that all such names have."""
        found = set[int]()
        for start, end in self._regions:
            for _, places in occurrences(text[start:end], FAULTS):
                found.update(bisect_right(self._starts, start + place) - 1 for place in places)
        for index in found:
            self._names[index].append(f"fault {index:09}")
        return {f"fault {index:09}": self.ranking.fault for index in found}

    def _by_form(self, name: str, keys: AbstractSet[str], fields: AbstractSet[str]) -> float:
        if name in keys:
            return self.ranking.key
        if _NUMBER.fullmatch(name):
            return self.ranking.number
        return self.ranking.field if name in fields else 1.0

    def _find(self, text: str, words: list[str]) -> list[frozenset[str]]:
        """The words of the question that stand in each piece."""
        held: defaultdict[int, set[str]] = defaultdict(set)
        for start, end in self._regions:
            for word, places in occurrences(text[start:end], words):
                for index in {bisect_right(self._starts, start + place) - 1 for place in places}:
                    held[index].add(word)
        return [frozenset(held[index]) if index in held else NOTHING for index in range(len(self.pieces))]

    def _relevances(self, hits: Sequence[frozenset[str]]) -> list[float]:
        """How much of what is asked for each piece holds: a word counts by its weight and by how rare it is.

        All that is asked for are the six words that count most, or one that stands in a single piece.
        """
        frequency = Counter(word for held in hits for word in held)
        rarity = {word: weight(word) * math.log((1 + len(hits)) / count) for word, count in frequency.items()}
        most = max(sum(sorted(rarity.values(), reverse=True)[:BEST_TERMS]), math.log(1 + len(hits)), SMALL)
        found = [min(1.0, sum(rarity[word] for word in held) / most) for held in hits]
        least = self.ranking.share * max(found, default=0.0)
        return [relevance if relevance >= least else 0.0 for relevance in found]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _shape(name: str) -> str:
    return name.translate(_SHAPES)
