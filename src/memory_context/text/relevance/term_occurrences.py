"""Find every place where a term of the message occurs in stored texts, and tell which terms occur together.

A *place* is one `Occurrence` of one term. Its *record* is the part of the text around it that makes sense by itself, such
as a row or a JSON object; the record's *heads* are further up and say what it belongs to, such as a table's header. A part
of a text *holds* the terms in it. The terms that the card of a text (its description in the index) or its first 200
characters name *describe* the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, takewhile

from memory_context.text.excerpt.record_around_place import (
    LONG_LINE,
    Record,
    record_at,
)
from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD
from memory_context.text.excerpt.turns_of_conversations import (
    LONGEST_UNSAID,
    blanked_unsaid,
    is_conversation,
)
from memory_context.text.index.analyzer import COMPOUND, held_by, lexemes_of
from memory_context.text.index.term_hits import ChunkPlace, TermHits
from memory_context.text.lines import line_end, line_start
from memory_context.text.relevance.numbers_with_names import is_named
from memory_context.text.relevance.question_terms import NUMBER_SIGN, TIME, AskedTerm
from memory_context.text.relevance.recall_candidates_and_their_calls import SearchedCandidates
from memory_context.text.rows.names_above_rows import names_above
from memory_context.text.spans import Span
from memory_context.text.terminal_output import blanked_colours
from memory_context.text.words_and_names import UNSPACED_RUN, unescaped

# Within this many characters of a place, other terms are "near" it, or "beside" it.
NEAR = 300
BESIDE = 60
# A name may straddle the end of a chunk, so this many characters on both sides of it are read too.
ACROSS = 60
# The first characters of a text say what it is, as its description and the arguments of its tool call do.
HEADING = 200
# Finding the record around a number takes milliseconds, so it is done for this many places of each number at most.
MOST_RECORDS = 50
# A word of the message that no text holds may be a misspelt or inflected form of another one, if it has at least this many
# letters, and this many at the beginning are the same.
LEAST_RESPELT = 6
SAME_BEGINNING = 4
# The beginning of a UUID or a hash, which people quote in place of the whole; the whole has at least 32 characters.
_ID_BEGUN = re.compile(r"(?=[a-f-]*\d)(?=[\d-]*[a-f])[0-9a-f]{7,}[0-9a-f-]*")
LEAST_ID = 32
# The signs around a value: in JSON and in a repr, in a cell, behind a name, in markup.
_VALUE_OPENS = frozenset(('"', "'", "=", ",", "\t", "|", ">"))
_VALUE_CLOSES = frozenset(('"', "'", ",", "\t", "|", "<", "\n", "", " ", ";"))
# A time of day in a timestamp. The date is before it; web servers' logs put a colon between the year and the time.
_TIME_IN_STAMP = re.compile(rf"(?:\d{{4}}:)?({TIME.pattern})")
# Separates the parts of a path, an address or an id: "57" is a part of "web-57-x".
_PARTS = re.compile(r"[/:@#\\_-]")
# What a word (`COMPOUND`) may begin with: a line break or tab that JSON has escaped, or the backslash before a folder.
_BEFORE_WORD = re.compile(r"^\\[nrt]?")


@dataclass(frozen=True)
class Occurrence:
    """A place where a whole term occurs; or, for a time of day, all consecutive lines with that time.

    Attributes:
        term: The index of the term among the terms of the message.
        key: The key of the memory.
        text: The memory's whole text.
        start: The offset in the text at which the term begins.
        stop: The offset at which it ends.
        is_exact: Whether the text writes the term as the message does, apart from upper and lower case.
        is_stretch: Whether the place is several consecutive lines with the same time of day.
        asked: Where the message's terms are in the text.
    """

    term: int
    key: str
    text: str
    start: int
    stop: int
    is_exact: bool
    is_stretch: bool = False
    asked: Sequence[int] = ()

    @cached_property
    def record(self) -> Record:
        """Return the record that the place is in; of a stretch, as many of its lines as a record may have."""
        if not self.is_stretch:
            return record_at(self.text, self.start, self.stop, self.asked)
        start = line_start(self.text, self.start)
        stop = line_end(self.text, self.stop)
        if stop - start > LONGEST_RECORD:
            stop = self.text.rfind("\n", start, start + LONGEST_RECORD)
        return Record(start, stop) if stop > 0 else record_at(self.text, self.start, self.start)

    def overlaps(self, other: Occurrence) -> bool:
        """Return whether the record of the place is in part shown with that of the other, as in one long line."""
        record = self.record
        return self.key == other.key and any(
            start < record.stop and record.start < stop for start, stop in other.record.body
        )

    @property
    def is_value(self) -> bool:
        """Return whether the place fills a field's value, a cell or a string, as far as the signs around it show."""
        before = self.text[max(0, self.start - 2) : self.start]
        behind = self.text[self.stop : self.stop + 1]
        opens = before[-1:] in _VALUE_OPENS or before in (": ", "= ")
        return opens and behind in _VALUE_CLOSES

    @property
    def names_a_field(self) -> bool:
        """Return whether the place is the name of a field: a key in JSON or in a Python repr, or before an equals sign."""
        behind = self.text[self.stop : self.stop + 2]
        return behind in ('":', "':") or behind.startswith("=")

    @property
    def names_a_column(self) -> bool:
        """Return whether the place is in the header of a table."""
        names = names_above(self.text, self.start)
        return names is not None and self.start < names[1]


class FoundTerms:
    """All places of the message's terms in the chunks that were read.

    Attributes:
        terms: The terms of the message. Everywhere else, a term is its index in this list.
        weights: The weight of each term: the rarer it is in the user's memories, the better it tells records apart.
        texts: The texts that were searched.
        occurrences: The places, by term, key and start.
        in_order: The places in each text, by its key, in the order of the text.
        described: For each key, the terms that the text's card or its first characters name.
        chunks: The number of chunks that the index has of all the user's texts.
    """

    def __init__(
        self,
        terms: Sequence[AskedTerm],
        hits: TermHits,
        chunks: Iterable[ChunkPlace],
        texts: SearchedCandidates,
    ) -> None:
        """Find the terms.

        Args:
            terms: The terms of the message.
            hits: What the index knows of their lexemes.
            chunks: The chunks to read.
            texts: The texts, each under its key.
        """
        wanted = list(map(wanted_lexemes, terms))
        self.terms = terms
        self.weights = [max(map(hits.rarity, lexemes), default=0.0) for lexemes in wanted]
        self.texts = texts
        self.chunks = hits.chunks
        self.occurrences = dict[tuple[int, str, int], Occurrence]()
        self.asked = defaultdict[str, list[int]](list)
        read = [_ChunkWords(chunk, texts.text_of(chunk.memory_key)) for chunk in chunks]
        for words in read:
            for number, term in enumerate(terms):
                _add_occurrences(self, number, term, words)
        _add_respelt(self, hits, read)
        named = dict[str, AbstractSet[str]]()
        for key in dict.fromkeys(place.key for place in self.occurrences.values()):
            heading = texts.text_of(key)[:HEADING]
            named[key] = held_by(heading, chain.from_iterable(wanted)).union(texts.card_of(key))
        _add_named_numbers(self, named)
        _add_names_in_fields(self)
        _join_times(self)
        self.in_order = defaultdict[str, list[Occurrence]](list)
        for place in sorted(self.occurrences.values(), key=_start):
            self.in_order[place.key].append(place)
            self.asked[place.key].append(place.start)
        self.described = dict[str, set[int]]()
        for key, lexemes_named in named.items():
            self.described[key] = {
                number for number, lexemes in enumerate(wanted) if lexemes_named >= set(lexemes)
            }

    @property
    def met(self) -> set[int]:
        """Return the terms that have at least one place."""
        return {place.term for place in self.occurrences.values()}

    def of(self, term: int) -> list[Occurrence]:
        """Return the places where a term is written as in the message; if there are none, those of its other forms."""
        places = [one for one in self.occurrences.values() if one.term == term]
        return [place for place in places if place.is_exact] or places

    def newest(self, places: Sequence[Occurrence]) -> list[Occurrence]:
        """Return *places* without those in older answers of a call whose newer answer has some of them, too."""
        keys = sorted(dict.fromkeys(place.key for place in places), key=self.texts.came_at)
        newest = {self.texts.call_of(key): key for key in keys}
        kept = frozenset(newest.values())
        return [place for place in places if place.key in kept]

    def held_near(self, place: Occurrence) -> set[int]:
        """Return the terms within 300 characters of a place."""
        return self.held_in(place.key, place.start - NEAR, place.stop + NEAR + 1)

    def weight_beside(self, place: Occurrence) -> float:
        """Return the weight of the terms within 60 characters of a place."""
        return self.weight_of(self.held_in(place.key, place.start - BESIDE, place.stop + BESIDE))

    def held_in(self, key: str, start: int, stop: int) -> set[int]:
        """Return the terms that begin in a part of a text."""
        places = self.in_order.get(key, [])
        first = bisect_left(places, start, key=_start)
        behind = bisect_left(places, stop, key=_start)
        return {one.term for one in places[first:behind]}

    def held_by_record(self, place: Occurrence) -> set[int]:
        """Return the terms in the record of a place and in the record's heads."""
        spans = [self.held_in(place.key, start, stop) for start, stop in place.record.spans]
        return set(chain.from_iterable(spans))

    def weight_of(self, terms: Iterable[int]) -> float:
        """Return the sum of the weights of some terms."""
        return round(sum(self.weights[term] for term in terms), 6)


def wanted_lexemes(term: AskedTerm) -> list[str]:
    """Return the lexemes of a term, each once, as the index is asked for them."""
    return list(dict.fromkeys(chain.from_iterable(map(lexemes_of, term.words))))


def found_as_meant(
    asked: Sequence[AskedTerm],
    hits: TermHits,
    chunks: Sequence[ChunkPlace],
    texts: SearchedCandidates,
) -> FoundTerms:
    """Return the places of the terms, without terms that only ask: those that may only ask, and that no text holds."""
    found = FoundTerms(asked, hits, chunks, texts)
    met = found.met
    meant = [term for number, term in enumerate(asked) if number in met or not term.may_only_ask]
    if len(meant) < len(asked):
        return FoundTerms(meant, hits, chunks, texts)
    return found


def _start(place: Occurrence) -> int:
    return place.start


def _add_named_numbers(found: FoundTerms, described: Mapping[str, AbstractSet[str]]) -> None:
    """For each phrase of a noun and a number ("order 22") that no text holds, add the places where a text implies it.

    There the number is alone, and the noun names it from elsewhere: as its column's header, for example.
    """
    numbers = {term.words: number for number, term in enumerate(found.terms)}
    met = found.met
    for number, term in enumerate(found.terms):
        noun, digits = term.words[0], term.words[-1]
        digits_alone = numbers.get((digits,))
        if len(term.words) != 2 or not digits.isdigit() or digits_alone is None or number in met:
            continue
        places = [place for place in found.occurrences.values() if place.term == digits_alone]
        for count, place in enumerate(places):
            is_described = noun == NUMBER_SIGN or _names(described[place.key], noun)
            if is_named(
                place.text,
                place.start,
                place.stop,
                noun,
                by_record=count < MOST_RECORDS,
                is_described=is_described,
            ):
                found.occurrences[number, place.key, place.start] = replace(place, term=number)


def _add_names_in_fields(found: FoundTerms) -> None:
    """For each name of two words ("Ada Byron"), add the places where a record has them in two fields, the last one's."""
    numbers = {term.words: number for number, term in enumerate(found.terms)}
    for number, term in enumerate(found.terms):
        *first, last = (numbers.get((word,), -1) for word in term.words)
        if not term.is_name or len(first) != 1:
            continue
        firsts = [place for place in found.of(first[0]) if place.is_value]
        for place in [one for one in found.of(last) if one.is_value][:MOST_RECORDS]:
            # Not the record of the place itself, which knows what is asked beside it only later.
            body = record_at(place.text, place.start, place.stop).body
            if any(
                one.key == place.key and start <= one.start < stop
                for one in firsts
                for start, stop in body
            ):
                added = replace(place, term=number)
                found.occurrences.setdefault((number, place.key, place.start), added)


def _join_times(found: FoundTerms) -> None:
    """Merge the places of a time of day in consecutive lines into one: all these lines tell what happened then."""
    for number, term in enumerate(found.terms):
        if not term.is_time:
            continue
        first: Occurrence | None = None
        for place in sorted(found.of(number), key=lambda place: (place.key, place.start)):
            if first and first.key == place.key and _is_adjacent(first, place):
                del found.occurrences[number, place.key, place.start]
                first = replace(first, stop=place.stop, is_stretch=True)
                found.occurrences[number, first.key, first.start] = first
            else:
                first = place


def _is_adjacent(first: Occurrence, place: Occurrence) -> bool:
    """Return whether *place* is in the line of *first* or in the next; not within a long line, which holds many records."""
    between = place.text.count("\n", first.stop, place.start)
    if between:
        return between == 1
    begin = line_start(place.text, place.start)
    return line_end(place.text, place.stop) - begin <= LONG_LINE


def _names(lexemes: AbstractSet[str], noun: str) -> bool:
    """Return whether *noun* or its plural is among *lexemes*. Stemming does not make "PRs" equal to "PR"."""
    return any(lexeme in lexemes or f"{lexeme}s" in lexemes for lexeme in lexemes_of(noun))


def _add_respelt(found: FoundTerms, hits: TermHits, read: Sequence[_ChunkWords]) -> None:
    """For each word that no text holds, add the places of the word that is spelt nearly like it, if there is only one.

    People mistype, and most languages inflect names: "Kopirexu" is a form of "Kopirex". So "Michaela's number" finds the
    line of Michael if no text holds her name; his name, which is in that line, shows the difference.
    """
    by_beginning = defaultdict[str, dict[str, None]](dict)
    for written in chain.from_iterable(words.places for words in read):
        by_beginning[written[:SAME_BEGINNING].casefold()][written] = None
    for number, term in enumerate(found.terms):
        is_known = not hits.holding.keys().isdisjoint(wanted_lexemes(term))
        if is_known or not term.text.isalpha() or len(term.text) < LEAST_RESPELT:
            continue
        asked = term.text.casefold()
        candidates = by_beginning[asked[:SAME_BEGINNING]]
        alike = [word for word in candidates if _is_spelt_alike(asked, word.casefold())]
        if len(set(map(lexemes_of, alike))) == 1:
            for words in read:
                _add_occurrences(found, number, replace(term, words=(alike[0],)), words)


def _is_spelt_alike(asked: str, written: str) -> bool:
    """Return whether two words differ by one letter, or by two that changed places."""
    letters = zip(asked, written, strict=False)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], letters)))
    rest, other = asked[same:], written[same:]
    swapped = rest[1::-1] + rest[2:]
    # Two letters swapped, one left out, one added, or one replaced.
    return other in (swapped, rest[1:]) or other[1:] in (rest, rest[1:])


def _add_occurrences(found: FoundTerms, number: int, term: AskedTerm, words: _ChunkWords) -> None:
    """Add the places of a term in a chunk."""
    text, key = words.text, words.key
    if term.words[0] == NUMBER_SIGN:
        return
    folded = [asked.casefold() for asked in found.terms[number].words]
    for run in words.runs_of(term.words):
        begin, stop = run[0][0], run[-1][1]
        written = [_BEFORE_WORD.sub("", unescaped(text[start:end])) for start, end in run]
        # A name may be broken across lines, but the end of one row and the beginning of the next are not a name.
        # So across lines the case must match, too: "close" at the end of a row, and "SUP-440" below it, are not
        # "Close SUP-440".
        if "\n" in text[begin:stop] and tuple(written) != term.words:
            continue
        # A message says 14:05 where a log has 14:05:12.
        is_exact = term.is_time or list(map(str.casefold, written)) == folded
        added = Occurrence(number, key, text, begin, stop, is_exact, asked=found.asked[key])
        found.occurrences.setdefault((number, key, begin), added)


class _ChunkWords:
    """The words of a chunk, indexed so that each distinct word is compared once: rows of a table repeat theirs.

    Attributes:
        key: The key of the memory.
        text: The memory's whole text.
        places: For each distinct word, its indexes among the chunk's words.
    """

    def __init__(self, chunk: ChunkPlace, text: str) -> None:
        self.key = chunk.memory_key
        self.text = text
        start = max(0, chunk.start - ACROSS)
        stop = chunk.stop + ACROSS
        if is_conversation(text):
            # What nobody said is known by how it begins and ends.
            start = max(line_start(text, start), start - LONGEST_UNSAID)
            stop = min(line_end(text, stop), stop + LONGEST_UNSAID)
        self._spans = list(_word_spans(text, start, stop))
        self.places = defaultdict[str, list[int]](list)
        for place, (begin, end) in enumerate(self._spans):
            self.places[text[begin:end]].append(place)
        self._forms = defaultdict[str, list[str]](list)
        for written in self.places:
            for lexeme in lexemes_of(written):
                self._forms[lexeme].append(written)

    def runs_of(self, asked: Sequence[str]) -> Iterator[list[Span]]:
        """Yield the spans of the words wherever all *asked* words are side by side, in their order."""
        with_lexemes = [place for place, word in enumerate(asked) if lexemes_of(word)]
        if not with_lexemes:
            return
        # The last word with a lexeme is looked up, and the others are compared at the places around it.
        words_before = with_lexemes[-1]
        anchor = asked[words_before]
        starts = list[int]()
        for written in self._written_like(anchor, asked[0]):
            if _is_word(anchor, written):
                starts += [place - words_before for place in self.places[written]]
        for start in sorted(starts):
            run = self._spans[start : start + len(asked)]
            if start < 0 or len(run) < len(asked):
                continue
            held = [self.text[begin:end] for begin, end in run]
            if all(map(_is_word, asked, held)):
                yield run

    def _written_like(self, anchor: str, first: str) -> Iterable[str]:
        """Return the words of the text that may be *anchor*: those that share its lexeme or have it as a part.

        If *first* is a time of day or the beginning of an id, also the times and ids that begin with it.
        """
        alike = list(self._forms.get(lexemes_of(anchor)[0], ()))
        begun = first.casefold()
        if TIME.fullmatch(begun) or _ID_BEGUN.fullmatch(begun):
            alike += [word for word in self.places if _is_begun(begun, word.casefold())]
        if _is_compound(anchor):
            alike += [word for word in self.places if _is_part(anchor, word)]
        return dict.fromkeys(alike)


def _word_spans(text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the spans of the words in a part of a text, without those that an end of the part cuts off.

    A run of a script without spaces is a word of its own.
    """
    # What is left of a word that is cut off may be another name: `test_1` of `test_101`.
    cuts = [
        place
        for place in (start, stop)
        if text[place - 1 : place].isalnum() and text[place : place + 1].isalnum()
    ]
    part = blanked_colours(text[start:stop])
    if is_conversation(text):
        part = blanked_unsaid(part)
    for match in COMPOUND.finditer(part):
        begin = start + match.start()
        compound = match.group()
        runs = [compound]
        if not compound.isascii():
            runs = UNSPACED_RUN.split(compound)
        for run in filter(None, runs):
            end = begin + len(run)
            if begin not in cuts and end not in cuts:
                yield begin, end
            begin = end


def _is_begun(asked: str, written: str) -> bool:
    """Return whether *asked* is a short form of *written*: the beginning of an id, or a time without its seconds."""
    if TIME.fullmatch(asked):
        times = [match[1].lstrip("0") for match in _TIME_IN_STAMP.finditer(written)]
        wanted = asked.lstrip("0")
        return any(time == wanted or time.startswith(f"{wanted}:") for time in times)
    is_id = _ID_BEGUN.fullmatch(asked) is not None and len(written) >= LEAST_ID
    return is_id and written.startswith(asked)


def _is_word(asked: str, written: str) -> bool:
    """Return whether the word *written* in a text is the word *asked*: a number must match whole, others by lexeme."""
    folded = asked.casefold()
    other = written.casefold()
    if folded == other or _is_begun(folded, other):
        return True
    if asked.isdigit():
        parts = _PARTS.split(written)
        is_part_of_name = not all(part.isdigit() for part in parts)
        return asked in parts and is_part_of_name and "." not in written
    if _is_compound(asked) and _is_part(asked, written):
        return True
    lexemes = lexemes_of(asked)
    if not asked.isascii():
        # In a script without spaces the first lexeme is a single character, which many words share: all must match.
        return set(lexemes).issubset(lexemes_of(written))
    return not lexemes or lexemes[0] in lexemes_of(written)


def _is_compound(word: str) -> bool:
    """Return whether a word has letters and signs between its parts, as "search-indexer" has; a time has no letters."""
    return len(_PARTS.split(word)) > 1 and any(map(str.isalpha, word))


def _is_part(asked: str, written: str) -> bool:
    """Return whether a longer compound has *asked* as a part between signs, as "search-indexer-5d9f" has "search-indexer"."""
    asked, written = asked.casefold(), written.casefold()
    if asked not in written:
        return False
    before, _, behind = written.partition(asked)
    goes_on_before = _BEFORE_WORD.sub("", before)[-1:].isalnum()
    goes_on_behind = behind[:1].isalnum()
    return not (goes_on_before or goes_on_behind)
