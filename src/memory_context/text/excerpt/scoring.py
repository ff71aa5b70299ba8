"""What each piece of a text is worth by itself: the names in it, what is asked for, and where it stands."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

from memory_context.text.excerpt.segments import Pieces
from memory_context.text.terms import BLOB, FAULTS, NAME, occurrences, terms, weight

BEST_TERMS = 6
SMALL = 1e-9
LEAST_BLOB = 60
INDENTATION = 40
KEY_ENDS = frozenset((": ", ":\n", "= ", " =", ":"))
VALUE_BEGINS = frozenset((": ", "= "))
NOTHING = frozenset[str]()
_NUMBER = re.compile(r"[\d.,]+|\d{4}-\d\d-\d\d.*")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What makes a piece worth showing. Measured on recorded agent runs: `docs/excerpts.md`.

    Attributes:
        names: The worth of a name that was not shown yet.
        fault: The worth of the first and the last line that tell of an error, as a share of a name's; of those between
            a half, a third, and so on. Wherever they stand, they are worth as much as at the end of the text.
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
    fault: float = 4.0
    number: float = 0.25
    key: float = 0.05
    field: float = 2.0
    repeated: float = 2.0
    alike: float = 0.4
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


@dataclass(frozen=True, slots=True)
class Weights:
    """The worth of pieces, before any of them is shown.

    Attributes:
        names: The names in each piece.
        worth: What each name is worth.
        hits: The words of the question in each piece.
        relevance: How much of what is asked for each piece holds, 0 to 1.
        near: The share of its worth that each piece keeps where it stands.
    """

    names: list[list[str]]
    worth: dict[str, float]
    hits: list[frozenset[str]]
    relevance: list[float]
    near: list[float]


def weigh(
    text: str, found: Pieces, question: str, ranking: Ranking, known: AbstractSet[str]
) -> Weights:
    """Weigh every piece of `text` by itself.

    Args:
        text: The whole text.
        found: Its pieces.
        question: What its reader wants to know.
        ranking: What makes a piece worth showing.
        known: Names that are worth nothing.
    """
    starts = [piece.start for piece in found.pieces]
    names: list[list[str]] = [[] for _ in starts]
    near = list(_nearness(found, len(text), ranking))
    worth, words = dict[str, float](), terms(question)
    places = _places(text, found, starts, {*words, *(FAULTS if ranking.names else ())})
    if ranking.names:
        worth = _weigh_names(text, found, names, ranking, known)
        faulty = sorted({index for fault in FAULTS for index in places.get(fault, ())})
        for rank, index in enumerate(_from_both_ends(faulty)):
            names[index].append(fault := f"fault {index:09}")
            worth[fault] = ranking.fault / (1 + rank // 2)
            near[index] = max(near[index], ranking.end)
    hits = _hits(places, words, len(starts))
    return Weights(names, worth, hits, _relevances(hits, ranking), near)


def _weigh_names(
    text: str, found: Pieces, names: list[list[str]], ranking: Ranking, known: AbstractSet[str]
) -> dict[str, float]:
    """What each name is worth by itself; the pieces get to know their names."""
    keys, fields = set[str](), set[str]()
    ends, index = [piece.end for piece in found.pieces], 0
    for start, end in found.regions:
        part = text[start:end]
        for match in NAME.finditer(part):
            if (name := match[1]) in known:
                continue
            place, behind = match.span(1)
            while index < len(ends) - 1 and ends[index] <= start + place:
                index += 1
            names[index].append(name)
            if match[2]:
                keys.add(name)
            elif _is_field(part, place, behind):
                fields.add(name)
    for index, piece in enumerate(found.pieces):
        if len(names[index]) > 1:
            names[index] = list(dict.fromkeys(names[index]))
        if (
            names[index]
            and piece.end - piece.start >= LEAST_BLOB
            and BLOB.fullmatch(text, piece.start, piece.end)
        ):
            names[index] = []
    counts = Counter(chain.from_iterable(names))
    gains = [1 + ranking.repeated * min(1.0, math.log2(count) / 2) for count in range(1, 5)]
    return {
        name: gains[min(count, 4) - 1] * _by_form(name, keys, fields, ranking)
        for name, count in counts.items()
    }


def _by_form(
    name: str, keys: AbstractSet[str], fields: AbstractSet[str], ranking: Ranking
) -> float:
    if name in keys:
        return ranking.key
    if _NUMBER.fullmatch(name):
        return ranking.number
    return ranking.field if name in fields else 1.0


def _is_field(text: str, start: int, end: int) -> bool:
    """Whether a name is the key that a line begins with, or all of its value."""
    if text[end : end + 2] in KEY_ENDS:
        return not text[max(0, start - INDENTATION) : start].rpartition("\n")[2].strip(" -\t")
    return text[start - 2 : start] in VALUE_BEGINS and text[end : end + 1] in ("", "\n", "\\")


def _from_both_ends(indexes: list[int]) -> Iterator[int]:
    """The first, the last, the second, the last but one, and so on."""
    for place in range((len(indexes) + 1) // 2):
        yield from dict.fromkeys((indexes[place], indexes[-1 - place]))


def _places(
    text: str, found: Pieces, starts: Sequence[int], words: Iterable[str]
) -> Mapping[str, set[int]]:
    """For each of `words` that stands somewhere, the pieces that it stands in."""
    pieces: defaultdict[str, set[int]] = defaultdict(set)
    for start, end in found.regions:
        for word, places in occurrences(text[start:end], words):
            pieces[word].update(bisect_right(starts, start + place) - 1 for place in places)
    return pieces


def _hits(places: Mapping[str, set[int]], words: list[str], pieces: int) -> list[frozenset[str]]:
    held: defaultdict[int, set[str]] = defaultdict(set)
    for word in words:
        for index in places.get(word, ()):
            held[index].add(word)
    return [frozenset(held[index]) if index in held else NOTHING for index in range(pieces)]


def _relevances(hits: Sequence[frozenset[str]], ranking: Ranking) -> list[float]:
    """How much of what is asked for each piece holds: a word counts by its weight and by how rare it is.

    All that is asked for are the six words that count most, or one that stands in a single piece.
    """
    frequency = Counter(word for held in hits for word in held)
    rarity = {
        word: weight(word) * math.log((1 + len(hits)) / count) for word, count in frequency.items()
    }
    most = max(
        sum(sorted(rarity.values(), reverse=True)[:BEST_TERMS]), math.log(1 + len(hits)), SMALL
    )
    found = [min(1.0, sum(rarity[word] for word in held) / most) if held else 0.0 for held in hits]
    least = ranking.share * max(found, default=0.0)
    return [relevance if relevance >= least else 0.0 for relevance in found]


def _nearness(found: Pieces, length: int, ranking: Ranking) -> Iterator[float]:
    """How much of its worth a piece keeps where it stands."""
    for piece in found.pieces:
        begin, end = (
            math.exp(-piece.start / ranking.near),
            math.exp((piece.end - length) / ranking.near_end),
        )
        yield max(ranking.far, begin, ranking.end * end)
