"""Where the terms of a message stand in the chunks that the index has found, and what stands near them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from memory_context.conversation.recall.numbers_with_names import is_named
from memory_context.conversation.recall.question_terms import NUMBER_SIGN, TIME, AskedTerm
from memory_context.text.excerpt.record_around_place import (
    LONG_LINE,
    Record,
    end_of_column_names,
    record_at,
)
from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD
from memory_context.text.index.analyzer import COMPOUND, held_by, lexemes_of
from memory_context.text.index.term_hits import ChunkPlace, TermHits
from memory_context.text.lines import line_end
from memory_context.text.words_and_names import UNSPACED_RUN

# So many characters around a place are near it, and so many beside it.
NEAR = 300
BESIDE = 60
# A name may lie across the end of a chunk.
ACROSS = 60
# What a text begins with says what it is, as its description and its tool's arguments do.
HEADING = 200
# Of a number that stands at more places, records are looked for at so many.
MOST_RECORDS = 50
# The beginning of a UUID or a hash, which people quote in place of it.
_ID_BEGUN = re.compile(r"(?=[a-f-]*\d)(?=[\d-]*[a-f])[0-9a-f]{7,}[0-9a-f-]*")
LEAST_ID = 32
# A time of day in a stamp: its date stands before, in web servers' logs with a colon behind the year.
_TIME_IN_STAMP = re.compile(rf"(?:\d{{4}}:)?({TIME.pattern})")
# What parts of a written word a number may be: of a path, an address, an id.
_PARTS = re.compile(r"[/:@#\\_-]")


@dataclass(frozen=True)
class Occurrence:
    """A place where a term stands, whole; or lines in a row that all have the same time of day.

    Attributes:
        term: The number of the term in the message.
        key: The memory.
        text: The whole text.
        start: Where the term begins in it.
        stop: Where it ends.
        is_exact: Whether it is written as in the message.
        is_stretch: Whether it is several lines.
    """

    term: int
    key: str
    text: str
    start: int
    stop: int
    is_exact: bool
    is_stretch: bool = False

    @cached_property
    def record(self) -> Record:
        """Return the record of the text that the place is in; of several lines as many as a record may have."""
        if not self.is_stretch:
            return record_at(self.text, self.start, self.stop)
        start, stop = self.text.rfind("\n", 0, self.start) + 1, line_end(self.text, self.stop)
        if stop - start > LONGEST_RECORD:
            stop = self.text.rfind("\n", start, start + LONGEST_RECORD)
        return Record(start, stop) if stop > 0 else record_at(self.text, self.start, self.start)

    @property
    def names_a_field(self) -> bool:
        """Return whether a value follows that the place names: of JSON, of a repr, or behind an equals sign."""
        behind = self.text[self.stop : self.stop + 2]
        return behind in ('":', "':") or behind.startswith("=")

    @property
    def names_a_column(self) -> bool:
        """Return whether the place is in the header of a table."""
        return self.start < end_of_column_names(self.text)

    def is_in(self, key: str, record: Record) -> bool:
        """Return whether the place is in a record of the text under a key."""
        return self.key == key and record.start <= self.start < record.stop


@dataclass(slots=True)
class FoundTerms:
    """All places of the terms in the chunks that were looked at.

    Attributes:
        terms: The terms of the message.
        weights: How much each of them tells apart.
        occurrences: The places, by term, key and start.
        in_order: The places of each text in their order.
        described: The terms that a text's card or heading names, by its key.
        chunks: How many chunks the index has of the user's.
    """

    terms: Sequence[AskedTerm]
    weights: list[float]
    occurrences: dict[tuple[int, str, int], Occurrence] = field(
        default_factory=dict[tuple[int, str, int], Occurrence]
    )
    in_order: dict[str, list[Occurrence]] = field(default_factory=dict[str, list[Occurrence]])
    described: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    chunks: int = 0

    @property
    def met(self) -> set[int]:
        """Return the terms that stand anywhere."""
        return {place.term for place in self.occurrences.values()}

    def of(self, term: int) -> list[Occurrence]:
        """Return the places of a term: where it is written as in the message, if there are any, else its other forms."""
        places = [one for one in self.occurrences.values() if one.term == term]
        return [place for place in places if place.is_exact] or places

    def held_near(self, place: Occurrence) -> set[int]:
        """Return the terms within 300 characters of a place."""
        return self.held_in(place.key, place.start - NEAR, place.stop + NEAR + 1)

    def weight_beside(self, place: Occurrence) -> float:
        """Return how much the terms within 60 characters of a place tell apart."""
        return self.weight_of(self.held_in(place.key, place.start - BESIDE, place.stop + BESIDE))

    def held_in(self, key: str, start: int, stop: int) -> set[int]:
        """Return the terms that begin in a part of a text."""
        return {one.term for one in self.places_in(key, start, stop)}

    def places_in(self, key: str, start: int, stop: int) -> Sequence[Occurrence]:
        """Return the places that begin in a part of a text."""
        places = self.in_order.get(key, ())
        first = bisect_left(places, start, key=_start)
        behind = bisect_left(places, stop, key=_start)
        return places[first:behind]

    def held_by_record(self, place: Occurrence) -> set[int]:
        """Return the terms in the record of a place, and in what stands before it and says whose it is."""
        spans = [self.held_in(place.key, start, stop) for start, stop in place.record.spans]
        return set(chain.from_iterable(spans))

    def held_above(self, place: Occurrence) -> set[int]:
        """Return the terms in what a record does not repeat: the heads of a place's record, and what describes its text.

        A term that stands in a heading and in the text is of the records that hold it.
        """
        heads = [self.held_in(place.key, start, stop) for start, stop in place.record.heads]
        of_text = {one.term for one in self.in_order.get(place.key, ())}
        return (self.described[place.key] - of_text).union(*heads)

    def weight_of(self, terms: Iterable[int]) -> float:
        """Return how much some terms tell apart."""
        return round(sum(self.weights[term] for term in terms), 6)


def wanted_lexemes(term: AskedTerm) -> list[str]:
    """Return the lexemes that the index is asked for."""
    return list(dict.fromkeys(chain.from_iterable(map(lexemes_of, term.words))))


def found_in(
    terms: Sequence[AskedTerm],
    hits: TermHits,
    chunks: Iterable[ChunkPlace],
    text_of: Callable[[str], str],
    card_of: Callable[[str], Iterable[str]] = lambda _: (),
) -> FoundTerms:
    """Return where the terms stand in some chunks, and which of them the card of a text or its heading names."""
    wanted = list(map(wanted_lexemes, terms))
    weights = [max(map(hits.rarity, lexemes), default=0.0) for lexemes in wanted]
    found = FoundTerms(terms, weights, chunks=hits.chunks)
    for chunk in chunks:
        _add_occurrences(found, chunk, text_of(chunk.memory_key))
    named = dict[str, AbstractSet[str]]()
    for key in dict.fromkeys(place.key for place in found.occurrences.values()):
        heading = text_of(key)[:HEADING]
        named[key] = held_by(heading, chain.from_iterable(wanted)).union(card_of(key))
    _add_named_numbers(found, named)
    _join_times(found)
    for place in sorted(found.occurrences.values(), key=_start):
        found.in_order.setdefault(place.key, []).append(place)
    for key, lexemes_named in named.items():
        found.described[key] = {
            number for number, lexemes in enumerate(wanted) if lexemes_named >= set(lexemes)
        }
    return found


def _start(place: Occurrence) -> int:
    return place.start


def _add_named_numbers(found: FoundTerms, described: Mapping[str, AbstractSet[str]]) -> None:
    """Add where a number with a noun ("order 22") stands without it, but called by it, if it stands nowhere with it."""
    of_number = {term.words: number for number, term in enumerate(found.terms)}
    met = found.met
    for number, term in enumerate(found.terms):
        noun, digits = term.words[0], term.words[-1]
        alone = of_number.get((digits,))
        if len(term.words) != 2 or not digits.isdigit() or alone is None or number in met:
            continue
        alone_at = [place for place in found.occurrences.values() if place.term == alone]
        for count, place in enumerate(alone_at):
            by_record = count < MOST_RECORDS
            is_described = noun == NUMBER_SIGN or _names(described[place.key], noun)
            if is_named(
                place.text,
                place.start,
                place.stop,
                noun,
                by_record=by_record,
                is_described=is_described,
            ):
                added = replace(place, term=number)
                found.occurrences[number, place.key, place.start] = added


def _join_times(found: FoundTerms) -> None:
    """Make one place of lines in a row that have the same time of day: what happened then stands in all of them."""
    for number, term in enumerate(found.terms):
        if not term.is_time:
            continue
        first: Occurrence | None = None
        for place in sorted(found.of(number), key=lambda place: (place.key, place.start)):
            follows = first is not None and first.key == place.key
            if first and follows and _is_in_row(first, place):
                del found.occurrences[number, place.key, place.start]
                first = replace(first, stop=place.stop, is_stretch=True)
                found.occurrences[number, first.key, first.start] = first
            else:
                first = place


def _is_in_row(first: Occurrence, place: Occurrence) -> bool:
    """Return whether a place is in the line of another one, or in the next; in a long line is more than one record."""
    between = place.text.count("\n", first.stop, place.start)
    if between:
        return between == 1
    begin = place.text.rfind("\n", 0, place.start) + 1
    return line_end(place.text, place.stop) - begin <= LONG_LINE


def _names(lexemes: AbstractSet[str], noun: str) -> bool:
    """Return whether *lexemes* name a noun; the stem of "PRs" is not that of "PR"."""
    return any(lexeme in lexemes or f"{lexeme}s" in lexemes for lexeme in lexemes_of(noun))


def _add_occurrences(found: FoundTerms, chunk: ChunkPlace, text: str) -> None:
    """Add where each of the terms stands in a chunk."""
    words = _ChunkWords(text, max(0, chunk.start - ACROSS), chunk.stop + ACROSS)
    for number, term in enumerate(found.terms):
        if term.words[0] == NUMBER_SIGN:
            continue
        folded = [asked.casefold() for asked in term.words]
        for run in words.runs_of(term.words):
            begin, stop = run[0][0], run[-1][1]
            written = [text[start:end] for start, end in run]
            # A name may go on in the next line, but there the next row begins as well.
            if "\n" in text[begin:stop] and tuple(written) != term.words:
                continue
            # A log writes the seconds, too.
            is_exact = term.is_time or list(map(str.casefold, written)) == folded
            added = Occurrence(number, chunk.memory_key, text, begin, stop, is_exact)
            found.occurrences.setdefault((number, chunk.memory_key, begin), added)


class _ChunkWords:
    """The words of a part of a text.

    Each different word is compared once: the rows of a table repeat theirs.
    """

    def __init__(self, text: str, start: int, stop: int) -> None:
        self._text = text
        self._spans = list(_word_spans(text, start, stop))
        self._places: Mapping[str, list[int]] = defaultdict(list)
        for place, (begin, end) in enumerate(self._spans):
            self._places[text[begin:end]].append(place)
        self._forms: Mapping[str, list[str]] = defaultdict(list)
        for written in self._places:
            for lexeme in lexemes_of(written):
                self._forms[lexeme].append(written)

    def runs_of(self, asked: Sequence[str]) -> Iterator[list[tuple[int, int]]]:
        """Yield where words stand one behind the other as they were asked for, in their order."""
        anchors = [place for place, word in enumerate(asked) if lexemes_of(word)]
        if not anchors:
            return
        before = anchors[-1]
        anchor = asked[before]
        starts = list[int]()
        for written in self._written_like(anchor, asked[0]):
            if _is_word(anchor, written):
                starts += [place - before for place in self._places[written]]
        for start in sorted(starts):
            run = self._spans[start : start + len(asked)] if start >= 0 else []
            if len(run) < len(asked):
                continue
            held = [self._text[begin:end] for begin, end in run]
            if all(map(_is_word, asked, held)):
                yield run

    def _written_like(self, anchor: str, first: str) -> Iterable[str]:
        """Return the words with the lexeme of an anchor, and the ids and times that the first word asked for begins."""
        alike = list(self._forms.get(lexemes_of(anchor)[0], ()))
        begun = first.casefold()
        if TIME.fullmatch(begun) or _ID_BEGUN.fullmatch(begun):
            alike += [word for word in self._places if _is_begun(begun, word.casefold())]
        if _is_compound(anchor):
            alike += [word for word in self._places if _is_part(anchor, word)]
        return dict.fromkeys(alike)


def _word_spans(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the words of a part of a text begin and end; a script without spaces ends a word of another one."""
    for match in COMPOUND.finditer(text, start, stop):
        begin, compound = match.start(), match.group()
        for run in [compound] if compound.isascii() else UNSPACED_RUN.split(compound):
            if run:
                yield begin, begin + len(run)
            begin += len(run)


def _is_begun(asked: str, written: str) -> bool:
    """Return whether people quote *asked* in place of what is *written*: the beginning of an id, or the minute of a time."""
    if TIME.fullmatch(asked):
        times = [match[1].lstrip("0") for match in _TIME_IN_STAMP.finditer(written)]
        wanted = asked.lstrip("0")
        return any(time == wanted or time.startswith(f"{wanted}:") for time in times)
    is_id = _ID_BEGUN.fullmatch(asked) is not None and len(written) >= LEAST_ID
    return is_id and written.startswith(asked)


def _is_word(asked: str, written: str) -> bool:
    """Return whether a word of a text is the one that was asked for: a number whole, others by their lexemes."""
    if asked.casefold() == written.casefold():
        return True
    if _is_begun(asked.casefold(), written.casefold()):
        return True
    if asked.isdigit():
        parts = _PARTS.split(written)
        is_part_of_name = not all(part.isdigit() for part in parts)
        return asked in parts and is_part_of_name and "." not in written
    if _is_compound(asked) and _is_part(asked, written):
        return True
    lexemes = lexemes_of(asked)
    if not asked.isascii():
        # Of a script without spaces the first one is a single character, which many words have.
        return set(lexemes).issubset(lexemes_of(written))
    return not lexemes or lexemes[0] in lexemes_of(written)


def _is_compound(word: str) -> bool:
    """Return whether a word has letters and signs between them, as "search-indexer" has, and no time of day."""
    return len(_PARTS.split(word)) > 1 and any(map(str.isalpha, word))


def _is_part(asked: str, written: str) -> bool:
    """Return whether a compound stands in a longer one, between signs: "search-indexer" in "search-indexer-5d9f"."""
    asked, written = asked.casefold(), written.casefold()
    if asked not in written:
        return False
    before, _, behind = written.partition(asked)
    return not (before[-1:].isalnum() or behind[:1].isalnum())
