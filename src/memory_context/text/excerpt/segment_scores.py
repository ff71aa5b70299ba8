"""Score the segments of a text, each by itself: by the names in it, the words of the question, and where it stands.

A *name* is an identifier, path, id, time or number (`words_and_names.NAME`). The *relevance* of a segment is the share
of the question that it holds, 0 to 1.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

from memory_context.text.excerpt.error_words import FAULTS, places_of_faults
from memory_context.text.excerpt.rare_lines import rare_lines
from memory_context.text.excerpt.segments import Segmentation
from memory_context.text.words_and_names import BLOB, NAME, occurrences, terms, weight

# The whole question is taken to be this many of its most telling words.
BEST_TERMS = 6
SMALL = 1e-9
# The worth, in names, of the first and the last segment of a text of which only some regions are read.
OUTERMOST = 4.0
# Only a segment of at least this many characters can be a blob, such as base64.
LEAST_BLOB = 60
# How far before a key to look for the beginning of its line.
INDENTATION = 40
KEY_ENDS = frozenset((": ", ":\n", "= ", " =", ":"))
VALUE_BEGINS = frozenset((": ", "= "))
VALUE_ENDS = frozenset(("", "\n", "\\"))
_NUMBER = re.compile(r"[\d.,]+|\d{4}-\d\d-\d\d.*")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What makes a segment worth showing. Measured on recorded agent runs: `docs/excerpts.md`.

    Attributes:
        names: The worth of a name that has not been shown yet.
        fault: The worth of the first and the last line that report an error, in names; the next lines from both ends
            are worth a half, a third, and so on. Wherever they stand, they keep at least the share `end`.
        rare: The same for lines unlike all others of a list, such as its header, its sum, and exceptions; here the first
            two from both ends are worth the full amount.
        number: The factor for a name that is only a number, a time or a date.
        key: The factor for a quoted key of a record.
        field: The factor for a name that is the key at the beginning of a line, or the whole value after one.
        repeated: How much a name gains, in times its worth, if it stands in four segments or more; half of it in two.
        alike: How fast names of the same form lose worth: it is divided by the number shown plus one, to this power.
        plain: The worth of a segment without names.
        near: The distance from the beginning, in characters, at which a segment's worth has fallen to a third (1/e).
        far: The share of its worth that a segment keeps at any distance.
        end: The share of its worth that a segment has at the very end of the text, where results stand.
        near_end: The distance from the end, in characters, at which that share has fallen to a third.
        relevance: How much a segment gains, in times its worth, if it holds all of the question.
        asked: What such a segment is worth in addition, even without names.
        share: Segments whose relevance is below this share of the best one's count as irrelevant.
        least: The least worth for its price that a segment needs to be shown.
        fills: Whether the rest of the budget goes to the regions that hold most of the question.
    """

    names: float = 1.0
    fault: float = 4.0
    rare: float = 3.0
    number: float = 0.25
    key: float = 0.05
    field: float = 2.0
    repeated: float = 2.0
    alike: float = 0.4
    plain: float = 0.01
    near: float = 5000
    far: float = 0.15
    end: float = 0.6
    near_end: float = 600
    relevance: float = 3.0
    asked: float = 2.0
    share: float = 0.0
    least: float = 0.03
    fills: bool = False


@dataclass(frozen=True, slots=True)
class SegmentScores:
    """The worth of segments, before any of them is shown.

    Attributes:
        names: The names in each segment.
        worth: The worth of each name.
        hits: The words of the question in each segment.
        relevance: How much of the question each segment holds, 0 to 1.
        near: The share of its worth that each segment keeps because of its position.
    """

    names: list[list[str]]
    worth: dict[str, float]
    hits: list[frozenset[str]]
    relevance: list[float]
    near: list[float]


def score(
    found: Segmentation, question: str, ranking: Ranking, known: AbstractSet[str]
) -> SegmentScores:
    """Score every segment of a text by itself.

    Args:
        found: The segments.
        question: The words that the reader is looking for.
        ranking: What makes a segment worth showing.
        known: Names that the reader has already seen, which are worth nothing.
    """
    words = terms(question)
    wanted = {*words, *FAULTS} if ranking.names else set(words)
    starts = [segment.start for segment in found.segments]
    held_by: defaultdict[str, set[int]] = defaultdict(set)
    for start, end in found.regions:
        for word, places in occurrences(found.text[start:end], wanted):
            held_by[word].update(bisect_right(starts, start + place) - 1 for place in places)
    near = list[float]()
    for segment in found.segments:
        begin = math.exp(-segment.start / ranking.near)
        end_share = ranking.end * math.exp((segment.end - len(found.text)) / ranking.near_end)
        near.append(max(ranking.far, begin, end_share))
    names: list[list[str]] = [[] for _ in starts]
    worth = dict[str, float]()
    if ranking.names:
        worth = _collect_names(found, names, ranking, known)
        places = rare_lines(found.text, found.regions)
        # Not what stands between segments: an object's opening line, or the name of a member that is split.
        held = {(bisect_right(starts, place) - 1, place) for place in places}
        rare = sorted({i for i, place in held if i >= 0 and place < found.segments[i].end})
        outermost = [0, len(starts) - 1] if len(found.regions) > 1 else []
        telling = (
            ("fault", ranking.fault, 2, places_of_faults(held_by)),
            ("rare", ranking.rare, 4, rare),
            ("end", OUTERMOST, 2, outermost),
        )
        for kind, most, full, indexes in telling:
            for rank, index in enumerate(from_both_ends(indexes)):
                # The line is given an invented name, which no text holds (names have no spaces), so that it is worth
                # something even if it holds no other name.
                name = f"{kind} {index:09}"
                names[index].append(name)
                worth[name] = most / (1 + rank // full)
                near[index] = max(near[index], ranking.end)
    words_in: defaultdict[int, set[str]] = defaultdict(set)
    for word in words:
        for index in held_by.get(word, ()):
            words_in[index].add(word)
    hits = [frozenset(words_in.get(index, ())) for index in range(len(starts))]
    return SegmentScores(names, worth, hits, _relevances(hits, ranking), near)


def _collect_names(
    found: Segmentation,
    names: list[list[str]],
    ranking: Ranking,
    known: AbstractSet[str],
) -> dict[str, float]:
    """Fill *names* with the names in each segment, and return the worth of each name."""
    keys, fields = set[str](), set[str]()
    index, last = 0, len(names) - 1
    for start, end in found.regions:
        region = found.text[start:end]
        for match in NAME.finditer(region):
            name = match[1]
            if name in known:
                continue
            place, name_end = match.span(1)
            while index < last and found.segments[index].end <= start + place:
                index += 1
            names[index].append(name)
            if match[2]:
                keys.add(name)
            elif _is_field(region, place, name_end):
                fields.add(name)
    for index, segment in enumerate(found.segments):
        if len(names[index]) > 1:
            names[index] = list(dict.fromkeys(names[index]))
        is_long = segment.end - segment.start >= LEAST_BLOB
        # A line of base64 is full of strings that look like rare names.
        if is_long and names[index] and BLOB.fullmatch(found.text, segment.start, segment.end):
            names[index] = []
    return _worth_of_names(Counter(chain.from_iterable(names)), keys, fields, ranking)


def _worth_of_names(
    counts: Mapping[str, int],
    keys: AbstractSet[str],
    fields: AbstractSet[str],
    ranking: Ranking,
) -> dict[str, float]:
    """Return the worth of each name, by its kind and by the number of segments that hold it."""
    worth = dict[str, float]()
    for name, count in counts.items():
        if name in keys:
            share = ranking.key
        elif _NUMBER.fullmatch(name):
            share = ranking.number
        elif name in fields:
            share = ranking.field
        else:
            share = 1.0
        # Capped at four segments: more repetitions mean nothing more.
        worth[name] = (1 + ranking.repeated * (math.log2(min(count, 4)) / 2)) * share
    return worth


def _is_field(text: str, start: int, end: int) -> bool:
    """Return whether a name is the key at the beginning of a line, or the whole value after one."""
    # Before a key there may only be indentation and the dash of a list, as in YAML; otherwise it is a word in a sentence.
    if text[end : end + 2] in KEY_ENDS:
        return not text[max(0, start - INDENTATION) : start].rpartition("\n")[2].strip(" -\t")
    return text[start - 2 : start] in VALUE_BEGINS and text[end : end + 1] in VALUE_ENDS


def from_both_ends(indexes: Sequence[int]) -> list[int]:
    """Return the first, the last, the second, the last but one, and so on."""
    last_first = reversed(indexes)
    alternating = chain.from_iterable(zip(indexes, last_first, strict=True))
    return list(dict.fromkeys(alternating))


def _relevances(hits: Sequence[frozenset[str]], ranking: Ranking) -> list[float]:
    """Return how much of the question each segment holds; a word counts by its weight and its rarity.

    The whole question is the six words that count most, or at least as much as one word that is in a single segment.
    """
    held_by = Counter(chain.from_iterable(hits))
    rarity = {
        word: weight(word) * math.log((1 + len(hits)) / count) for word, count in held_by.items()
    }
    best = sorted(rarity.values(), reverse=True)[:BEST_TERMS]
    # Without this lower bound, a segment that matches only common words would count as holding the whole question.
    most = max(sum(best), math.log(1 + len(hits)), SMALL)
    # Exact sums, because sets have a different order in each process.
    shares = [min(1.0, math.fsum(map(rarity.__getitem__, held)) / most) for held in hits]
    least = ranking.share * max(shares, default=0.0)
    return [share if share >= least else 0.0 for share in shares]
