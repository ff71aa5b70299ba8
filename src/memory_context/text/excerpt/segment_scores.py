"""Score the segments of a text, each by itself: by the names in it, the words of the question, and its position.

A *name* is an identifier, path, id, time or number (`words_and_names.NAME`), or in JSON a short value of several words,
such as a title. The *relevance* of a segment is the share of the question that it holds, 0 to 1.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from memory_context.text.describe.source_code import names_defined
from memory_context.text.excerpt.error_words import FAULTS, reports_fault
from memory_context.text.excerpt.rare_lines import from_both_ends, telling_lines
from memory_context.text.excerpt.segments import Segmentation
from memory_context.text.spans import Span
from memory_context.text.words_and_names import BLOB, NAME, labels, occurrences, terms, weight

# The whole question is taken to be this many of its most telling words.
BEST_TERMS = 6
SMALL = 1e-9
# Worth is counted in names: one that has not been shown yet is worth 1. This is what the first and the last line that
# report an error are worth; the next lines from both ends are worth a half, a third, and so on. Wherever they are, they
# keep at least the share `Ranking.end`.
WORTH_OF_FAULT = 4.0
# An error that is reported so often in the same words is the cause of many failures. A text has no more causes.
LEAST_CAUSED = 5
MOST_CAUSES = 8
# The worth of the line that begins a definition in source code, such as a function, that holds this much of the question;
# and the share of their worth that segments in it keep. Definitions that hold less have less of both.
WORTH_OF_DEFINITION = 4.0
ENOUGH_OF_QUESTION = 2 / 3
NEAR_IN_DEFINITION = 0.6
# The worth of the first and the last segment.
OUTERMOST = 4.0
# The factors for a name that is only a number, a time or a date; for a quoted key of a record; and for a name that is the
# key at the beginning of a line, or the whole value after one.
NUMBER = 0.25
KEY = 0.05
FIELD = 2.0
# How many times its worth a name gains if it is in four segments or more; half as many if it is in two.
REPEATED = 2.0
# Only a segment of at least this many characters can be a blob, such as base64.
LEAST_BLOB = 60
# How far before a key to look for the beginning of its line.
INDENTATION = 40
KEY_ENDS = frozenset((": ", ":\n", "= ", " =", ":"))
VALUE_BEGINS = frozenset((": ", "= "))
VALUE_ENDS = frozenset(("", "\n", "\\", " \n"))
# The target of a Markdown link that leads to a page of the same site.
_TARGET = re.compile(r"\]\((?![A-Za-z][\w+.-]*:)(?=[^()\s]*[/#])[^()\s]*+")
# An item in a JSONPath.
_ITEM = re.compile(r"\[\d")
_NUMBER = re.compile(r"[\d.,]+(?:e[+-]?\d*)?|\d{4}-\d\d-\d\d.*")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What makes a segment worth showing. Measured on recorded agent runs: `docs/excerpts.md`.

    Attributes:
        counts_names: Whether names, errors and rare lines make a segment worth showing.
        rare: The worth, in names, of the two lines that say most about the text as a whole (`telling_lines`), such as a
            sum, a heading, and exceptions in a list; the next ones are worth less, as with errors. They keep all of it,
            wherever they are.
        plain: The worth of a segment without names.
        near: The distance from the beginning, in characters, at which a segment's worth has fallen to a third (1/e).
        far: The share of its worth that a segment keeps at any distance.
        end: The share of its worth that a segment keeps at the very end of the text, where results are.
        near_end: The distance from the end, in characters, at which that share has fallen to a third.
        asked: What a segment that holds all of the question gains in worth, even without names.
        share: Segments whose relevance is below this share of the best one's count as irrelevant.
        least: The least worth for its price that a segment needs to be shown.
        opening: If less than this part of the budget is shown, the text's beginning is shown up to there.
        fills: Whether the rest of the budget goes to the regions that hold most of the question.
        finds_records: Whether the records that the question means come first, each as a whole.
    """

    counts_names: bool = True
    rare: float = 8.0
    plain: float = 0.01
    near: float = 5000
    far: float = 0.15
    end: float = 0.6
    near_end: float = 600
    asked: float = 2.0
    share: float = 0.0
    least: float = 0.02
    opening: float = 0.3
    fills: bool = False
    finds_records: bool = False


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


def _without_targets(text: str) -> str:
    """Return *text* with spaces in place of the targets of Markdown's links to pages of the same site."""
    return _TARGET.sub(lambda link: "](".ljust(len(link[0])), text)


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
    wanted = set(words)
    if ranking.counts_names:
        wanted.update(FAULTS)
    starts = [segment.start for segment in found.segments]
    found = replace(found, text=found.unescaped())
    held_by = _segments_with(found, starts, wanted)
    hits = _hits(words, held_by, len(starts))
    near = _kept_by_position(found, ranking)
    names: list[list[str]] = [[] for _ in starts]
    worth = dict[str, float]()

    def tell(kind: str, index: int, worth_of_kind: float, least_kept: float) -> None:
        """Give a segment an invented name, so that it is worth something even if it holds no other name."""
        name = f"{kind} {index:09}"  # names have no spaces, so no text holds it
        names[index].append(name)
        worth[name] = worth_of_kind
        near[index] = max(near[index], least_kept)

    if ranking.counts_names:
        # A page of documentation has the menu of its site around it.
        text = _without_targets(found.text)
        defined = list(names_defined(found.text, found.regions))
        # What begins a line of source code is mostly a keyword or a variable.
        field = 1.0 if defined else FIELD
        worth = _collect_names(replace(found, text=text), names, near, known, field)
        rare = _segments_at(found, starts, telling_lines(found.text, found.regions))
        faults, causes = _faults(found, held_by)
        ends = _telling_ends(found)
        telling = (
            ("fault", WORTH_OF_FAULT, ranking.end, from_both_ends(faults)),
            ("cause", WORTH_OF_FAULT, ranking.end, causes),
            ("rare", ranking.rare, 1.0, rare),
            ("end", OUTERMOST, ranking.end, ends),
        )
        for kind, most, least_kept, indexes in telling:
            for rank, index in enumerate(indexes):
                tell(kind, index, most / (1 + rank // 2), least_kept)
        for block, share in _definitions(found, starts, hits, defined):
            tell("definition", block[0], WORTH_OF_DEFINITION * share, share)
            for index in block:
                near[index] = max(near[index], NEAR_IN_DEFINITION * share)
    return SegmentScores(names, worth, hits, _relevances(hits), near)


def _segments_with(
    found: Segmentation, starts: Sequence[int], wanted: AbstractSet[str]
) -> defaultdict[str, set[int]]:
    """Return, for each word, the segments that it occurs in."""
    held_by = defaultdict[str, set[int]](set)
    for start, end in found.regions:
        for word, places in occurrences(found.text[start:end], wanted):
            held_by[word].update(bisect_right(starts, start + place) - 1 for place in places)
            held_by[word].discard(-1)  # what is before the first segment is in none
    return held_by


def _hits(
    words: Iterable[str], held_by: Mapping[str, AbstractSet[int]], count: int
) -> list[frozenset[str]]:
    """Return the *words* in each of *count* segments."""
    words_in: list[set[str]] = [set() for _ in range(count)]
    for word in words:
        for index in held_by[word]:
            words_in[index].add(word)
    return list(map(frozenset, words_in))


def _faults(
    found: Segmentation, held_by: Mapping[str, AbstractSet[int]]
) -> tuple[list[int], list[int]]:
    """Return the first of the segments whose lines report an error in the same words, and of them the most frequent.

    Such a cause is reported five times or more, as one wrong line makes hundreds of tests fail.
    """
    first = dict[str, int]()
    counts = Counter[str]()
    suspected = set[int]().union(*(held_by[fault] for fault in FAULTS))
    for index in sorted(suspected):
        for fault in filter(reports_fault, found.shown(index).splitlines()):
            first.setdefault(fault.strip(), index)
            counts[fault.strip()] += 1
    causes = [
        first[fault] for fault, count in counts.most_common(MOST_CAUSES) if count >= LEAST_CAUSED
    ]
    return list(dict.fromkeys(first.values())), causes


def _telling_ends(found: Segmentation) -> list[int]:
    """Return the first and the last segment of a text that is read in parts.

    Of JSON that is read as a whole, they are those around its lists, such as the cursor of the next page.
    """
    ends: Sequence[int] = range(len(found.segments))
    if len(found.regions) == 1:
        containers = [found.containers[segment.container] for segment in found.segments]
        ends = [
            index
            for index, container in enumerate(containers)
            if container.kind == "object" and not _ITEM.search(container.path)
        ]
    return from_both_ends(ends)[:2]


def _kept_by_position(found: Segmentation, ranking: Ranking) -> list[float]:
    """Return the share of its worth that each segment keeps because of its position."""
    kept = list[float]()
    for segment in found.segments:
        to_end = len(found.text) - segment.end
        from_start = math.exp(-segment.start / ranking.near)
        from_end = ranking.end * math.exp(-to_end / ranking.near_end)
        # A blank line says nothing wherever it is.
        is_blank = segment.start == segment.end
        kept.append(0.0 if is_blank else max(ranking.far, from_start, from_end))
    return kept


def _segments_at(found: Segmentation, starts: Sequence[int], places: Iterable[int]) -> list[int]:
    """Return the segments in which the *places* are, each once."""
    indexes = dict[int, None]()
    for place in places:
        index = bisect_right(starts, place) - 1
        # A place between segments counts for none: an object's opening line, or the name of a member that is split.
        if index >= 0 and place < found.segments[index].end:
            indexes[index] = None
    return list(indexes)


def _definitions(
    found: Segmentation,
    starts: Sequence[int],
    hits: Sequence[frozenset[str]],
    defined: Iterable[Span],
) -> Iterator[tuple[range, float]]:
    """Yield the segments of each definition in source code, and how far it is what is meant, 0 to 1."""
    firsts = _segments_at(found, starts, (start for start, _ in defined))
    blocks = [range(first, end) for first, end in pairwise([*firsts, len(starts)])]
    held = [frozenset[str]().union(*hits[block.start : block.stop]) for block in blocks]
    for block, relevance in zip(blocks, _relevances(held), strict=True):
        yield block, min(1.0, relevance / ENOUGH_OF_QUESTION)


def _collect_names(
    found: Segmentation,
    names: list[list[str]],
    near: list[float],
    known: AbstractSet[str],
    field: float,
) -> dict[str, float]:
    """Fill *names* with the names in each segment, and return the worth of each name.

    A segment of JSON with a label keeps all of its worth (*near*), wherever it is: a list is chosen from by titles.
    *field* is the factor for the names of fields, and for their values.
    """
    shares = dict[str, float]()
    for index, segment in enumerate(found.segments):
        start = segment.start
        end = segment.end
        # A line of base64 is full of strings that look like rare names.
        if end - start >= LEAST_BLOB and BLOB.fullmatch(found.text, start, end):
            continue
        here = dict[str, None]()
        for match in NAME.finditer(found.text, start, end):
            name = match["name"]
            if name in known:
                continue
            if name not in shares:
                shares[name] = _share(match, field)
            here[name] = None
        is_json = found.containers[segment.container].kind != "text"
        for label in labels(found.text, start, end) - known:
            shares.setdefault(label, FIELD if is_json else 1.0)
            here[label] = None
            if is_json:
                near[index] = 1.0
        names[index] = list(here)
    worth = dict[str, float]()
    for name, count in Counter(chain.from_iterable(names)).items():
        # Capped at four segments: more repetitions mean nothing more. A link gains nothing: each object may have it.
        counted = 1 if "://" in name else min(count, 4)
        repeated = math.log2(counted) / 2
        worth[name] = (1 + REPEATED * repeated) * shares[name]
    return worth


def _share(match: re.Match[str], field: float) -> float:
    """Return the factor by which the kind and the place of a name change its worth."""
    if match["key"]:
        return KEY
    if _NUMBER.fullmatch(match["name"]):
        return NUMBER
    if _is_field(match.string, *match.span("name")):
        return field
    return 1.0


def _is_field(text: str, start: int, end: int) -> bool:
    """Return whether a name is the key at the beginning of a line, or the whole value after one."""
    # Before a key there may only be indentation and the dash of a list, as in YAML; otherwise it is a word in a sentence.
    after = text[end : end + 2]
    if after in KEY_ENDS:
        farthest = max(0, start - INDENTATION)
        _, _, before_key = text[farthest:start].rpartition("\n")
        return not before_key.strip(" -\t")
    before = text[start - 2 : start]
    is_last = after in VALUE_ENDS or after[:1] in VALUE_ENDS
    return is_last and before in VALUE_BEGINS


def _relevances(hits: Sequence[frozenset[str]]) -> list[float]:
    """Return how much of the question each segment holds; a word counts by its weight and its rarity.

    The whole question is the six words that count most, or at least as much as one word that is in a single segment.
    """
    chances = 1 + len(hits)
    counts = Counter(chain.from_iterable(hits))
    rarity = {word: weight(word) * math.log(chances / count) for word, count in counts.items()}
    rarest_first = sorted(rarity.values(), reverse=True)
    best = sum(rarest_first[:BEST_TERMS])
    # Without this lower bound, a segment that matches only common words would count as holding the whole question.
    most = max(best, math.log(chances), SMALL)
    # Summed exactly, because sets have a different order in each process.
    held_by_each = [math.fsum(map(rarity.__getitem__, held)) for held in hits]
    return [min(1.0, held / most) for held in held_by_each]
