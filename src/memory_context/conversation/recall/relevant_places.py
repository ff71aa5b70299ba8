"""What of a conversation's texts a message is about: places that hold its distinctive terms, by what the index says."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from memory_context.conversation.recall.numbers_with_names import is_named
from memory_context.conversation.recall.question_terms import (
    AskedTerm,
    content_terms,
    is_pointed_at,
    refers_back,
)
from memory_context.text.excerpt.record import Record, record_at
from memory_context.text.index.analyzer import COMPOUND, held_by, lexemes_of
from memory_context.text.index.term_hits import ChunkPlace, TermHits
from memory_context.text.words_and_names import UNSPACED_RUN

FEW = 3
NEAR = 300
ACROSS = 60
# So many terms must a window hold of a message, and so much must their rarities be together: less if it refers back.
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
WINDOW = 800
# How much of a message must be met that a model may see more in it: as much as if it referred back.
UNSURE = 1
# Of what a message asks for a record must hold so much, by rarity, and that must tell so much apart, to be what it is about.
ALL_OF_IT = 0.9
LEAST_TOGETHER = 0.5
# With so many words something is asked, with one less if it is a question.
LEAST_ASKED = 3
# Then the two words must stand so near each other: "the Prime Minister" has little to do with a number further on.
BESIDE_ANOTHER = 30
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
LINE_CHARACTERS = 160
# A window counts more beside others that hold something, for people stay with a subject for a while.
OWN = 2.0
BESIDE = (0.8, 0.6, 0.4, 0.2)
LEAST_OF_BEST = 0.3
# On recorded agents, "the newest three" hold what the next step uses in nine of ten cases.
NEWEST = 3
NEWER = 1.1
PASSAGE_CHARACTERS = 7000
# Of a numbered thing that stands in many places, the best say enough; a question in plain words needs what is around.
NAMED_CHARACTERS = 4000
# The beginning of a UUID or a hash, which people quote in place of it.
_ID_BEGUN = re.compile(r"(?=[a-f-]*\d)(?=[\d-]*[a-f])[0-9a-f]{7,}[0-9a-f-]*")
LEAST_ID = 32
# Of a number that stands at more places, records are looked for at so many.
MOST_RECORDS = 50
# The records of so many places are held against each other, of those that hold most of a message near them; and this
# for so many terms.
MOST_COMPARED = 12
# What a text begins with says what it is, as its description and its tool's arguments do.
HEADING = 200
# So many words must a line have that another one with the same signs between its words tells the same of something else.
LEAST_WORDS = 4
BESIDE_CHARACTERS = 600
_WORD = re.compile(r"\w+")
VALUE_OPENS = frozenset(('"', "'", "=", ",", "\t", "|", ">"))
VALUE_CLOSES = frozenset(('"', "'", ",", "\t", "|", "<", "\n", "", " ", ";"))

Window: TypeAlias = tuple[str, int]
"""The key of a text, and the number of a window of some lines in it."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """A memory that a message is about.

    Attributes:
        key: The memory.
        records: What of it is meant, best first.
        terms: The terms of the message that stand there.
        score: How much they tell apart.
    """

    key: str
    records: Sequence[Record]
    terms: Sequence[str]
    score: float


@dataclass(frozen=True)
class Occurrence:
    """A place where a term stands, whole."""

    term: int
    key: str
    text: str
    start: int
    stop: int
    is_exact: bool

    @cached_property
    def record(self) -> Record:
        """Return the record of the text that the place is in."""
        return record_at(self.text, self.start, self.stop)

    def is_in(self, key: str, record: Record) -> bool:
        """Return whether the place is in a record of the text under a key."""
        return self.key == key and record.start <= self.start < record.stop


@dataclass(slots=True)
class FoundTerms:
    """All places of the terms in the chunks that were looked at."""

    terms: Sequence[AskedTerm]
    weights: list[float]
    occurrences: dict[tuple[int, str, int], Occurrence] = field(
        default_factory=dict[tuple[int, str, int], Occurrence]
    )
    in_order: dict[str, list[Occurrence]] = field(default_factory=dict[str, list[Occurrence]])
    described: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def of(self, term: int) -> list[Occurrence]:
        """Return the places of a term: where it is written as in the message, if there are any, else its other forms."""
        places = [one for one in self.occurrences.values() if one.term == term]
        return [place for place in places if place.is_exact] or places

    def held_near(self, place: Occurrence) -> set[int]:
        """Return the terms within 300 characters of a place."""
        return self.held_in(place.key, place.start - NEAR, place.stop + NEAR + 1)

    def weight_beside(self, place: Occurrence) -> float:
        """Return how much the terms within 60 characters of a place tell apart."""
        return self.weight_of(self.held_in(place.key, place.start - ACROSS, place.stop + ACROSS))

    def held_in(self, key: str, start: int, stop: int) -> set[int]:
        """Return the terms that begin in a part of a text."""
        places = self.in_order.get(key, ())
        first = bisect_left(places, start, key=_start)
        return {one.term for one in places[first : bisect_left(places, stop, key=_start)]}

    def held_by_record(self, place: Occurrence) -> set[int]:
        """Return the terms in the record of a place, and in what stands before it and says whose it is."""
        spans = [self.held_in(place.key, start, stop) for start, stop in place.record.spans]
        return set(chain.from_iterable(spans))

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
    found = FoundTerms(terms, weights)
    for chunk in chunks:
        _add_occurrences(found, chunk, text_of(chunk.memory_key))
    _add_named_numbers(found)
    for place in sorted(found.occurrences.values(), key=_start):
        found.in_order.setdefault(place.key, []).append(place)
    for key in found.in_order:
        heading = text_of(key)[:HEADING]
        named = held_by(heading, chain.from_iterable(wanted)).union(card_of(key))
        found.described[key] = {n for n, lexemes in enumerate(wanted) if named >= set(lexemes)}
    return found


def _start(place: Occurrence) -> int:
    return place.start


def _add_named_numbers(found: FoundTerms) -> None:
    """Add where a number with a noun ("order 22") stands without it, but called by it, if it stands nowhere with it."""
    of_number = {term.words: number for number, term in enumerate(found.terms)}
    met = {place.term for place in found.occurrences.values()}
    for number, term in enumerate(found.terms):
        noun, digits = term.words[0], term.words[-1]
        alone = of_number.get((digits,))
        if len(term.words) != 2 or not digits.isdigit() or alone is None or number in met:
            continue
        for count, place in enumerate(found.of(alone)):
            by_record = count < MOST_RECORDS
            if is_named(place.text, place.start, place.stop, noun, by_record=by_record):
                added = replace(place, term=number)
                found.occurrences[number, place.key, place.start] = added


def _add_occurrences(found: FoundTerms, chunk: ChunkPlace, text: str) -> None:
    # A name may lie across the end of a chunk.
    words = list(_words(text, max(0, chunk.start - ACROSS), chunk.stop + ACROSS))
    # Each different word is compared once: the rows of a table repeat theirs.
    places = defaultdict[str, list[int]](list)
    for place, (begin, end) in enumerate(words):
        places[text[begin:end]].append(place)
    forms = defaultdict[str, list[str]](list)
    for written in places:
        for lexeme in lexemes_of(written):
            forms[lexeme].append(written)
    for number, term in enumerate(found.terms):
        anchors = [place for place, word in enumerate(term.words) if lexemes_of(word)]
        if not anchors:
            continue
        anchor = term.words[anchors[-1]]
        folded = [asked.casefold() for asked in term.words]
        alike = list(forms.get(lexemes_of(anchor)[0], ()))
        if _ID_BEGUN.fullmatch(folded[0]):
            alike += [word for word in places if word.casefold().startswith(folded[0])]
        starts = [
            place - anchors[-1]
            for written in dict.fromkeys(alike)
            if _is_word(anchor, written)
            for place in places[written]
        ]
        for start in sorted(starts):
            run = words[start : start + len(folded)] if start >= 0 else []
            held = [text[begin:end] for begin, end in run]
            if len(held) < len(folded) or not all(map(_is_word, term.words, held)):
                continue
            is_exact = [word.casefold() for word in held] == folded
            begin, end, key = run[0][0], run[-1][1], chunk.memory_key
            added = Occurrence(number, key, text, begin, end, is_exact)
            found.occurrences.setdefault((number, key, begin), added)


def _words(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the words of a part of a text begin and end; a script without spaces ends a word of another one."""
    for match in COMPOUND.finditer(text, start, stop):
        begin, compound = match.start(), match.group()
        for run in [compound] if compound.isascii() else UNSPACED_RUN.split(compound):
            if run:
                yield begin, begin + len(run)
            begin += len(run)


def _is_word(asked: str, written: str) -> bool:
    """Return whether a word of a text is the one that was asked for: a number whole, others by their lexemes."""
    if asked.casefold() == written.casefold():
        return True
    if _ID_BEGUN.fullmatch(asked.casefold()) and len(written) >= LEAST_ID:
        return written.casefold().startswith(asked.casefold())
    if asked.isdigit():
        parts = re.split(r"[/:@#\\_-]", written)
        return asked in parts and not all(part.isdigit() for part in parts) and "." not in written
    lexemes = lexemes_of(asked)
    if not asked.isascii():
        # Of a script without spaces the first one is a single character, which many words have.
        return set(lexemes).issubset(lexemes_of(written))
    return not lexemes or lexemes[0] in lexemes_of(written)


def _places_meant(found: FoundTerms, number: int) -> list[Occurrence]:
    """Return the places of a term: of a name those whose records hold most of the names, which mean it together.

    What describes a text belongs to each of its records.
    """
    term, places = found.terms[number], found.of(number)
    if len(places) < 2 or not (term.is_name or term.is_capitalised):
        return places

    def weights_near(place: Occurrence) -> tuple[float, bool, float]:
        near = found.weight_of(found.held_near(place) | found.described[place.key])
        return near, _is_value(place), found.weight_beside(place)

    places = sorted(places, key=weights_near, reverse=True)[:MOST_COMPARED]
    names = {
        n for n, one in enumerate(found.terms) if one.is_name or one.is_capitalised or one.is_phrase
    }
    weights = list[tuple[float, float]]()
    for place in places:
        held = found.held_by_record(place) & names
        described = found.described[place.key] & names
        weights.append((found.weight_of(held | described), found.weight_of(held)))
    most = max(weights)
    meant = [place for place, weight in zip(places, weights, strict=True) if weight == most]
    # What is quoted there, or is all of a cell, is what is told of.
    meant = list(filter(_is_value, meant)) or meant
    # In prose, and where people speak in turns, others may say it in other words.
    is_numbered = any(map(str.isdigit, term.text))
    is_told_apart = _is_listed if is_numbered else _has_head_or_is_value
    # "Flight" in a message is no name because of a text's "flight_number".
    is_name = term.is_name or all(place.text[place.start].isupper() for place in meant)
    return meant if is_name and all(map(is_told_apart, meant)) else places


def _is_distinctive(found: FoundTerms, number: int, places: Sequence[Occurrence]) -> bool:
    """Return whether a term stands for one record: a name that is meant at few places, or a rare word that is a value."""
    term = found.terms[number]
    # The same line in a copy of a log is the same place.
    different = {place.text[max(0, place.start - NEAR) : place.stop + NEAR] for place in places}
    if term.is_short_number or not 0 < len(different) <= FEW:
        return False
    if term.is_name:
        return True
    if term.is_capitalised and len(found.held_near(places[0])) > 1:
        return True
    return all(map(_is_value, places)) and any(_is_spoken_of(found, place) for place in places)


def _is_spoken_of(found: FoundTerms, place: Occurrence) -> bool:
    """Return whether something else of a message stands near a place or in its heads, or the message names nothing else.

    A word that is all of a cell may be any word: "short" and "cook" are people's names too.
    """
    others = [term for number, term in enumerate(found.terms) if number != place.term]
    if len(found.held_near(place)) > 1 or not others:
        return True
    asked = set(chain.from_iterable(map(wanted_lexemes, others)))
    return any(held_by(place.text[start:stop], asked) for start, stop in place.record.heads)


def _is_value(place: Occurrence) -> bool:
    """Return whether a place is all of a value: of a field, a cell, a string."""
    before = place.text[max(0, place.start - 2) : place.start]
    opens = before[-1:] in VALUE_OPENS or before in (": ", "= ")
    return opens and place.text[place.stop : place.stop + 1] in VALUE_CLOSES


def _is_listed(place: Occurrence) -> bool:
    """Return whether a place is in one of several things that are told alike: a record, a row, a value, a line of a log."""
    comes_again = place.record.comes_again or _is_line_of_list(place)
    return comes_again or _has_head_or_is_value(place)


def _has_head_or_is_value(place: Occurrence) -> bool:
    return bool(place.record.heads) or _is_value(place)


def _is_line_of_list(place: Occurrence) -> bool:
    """Return whether a place with a digit begins its line, as a number, date or id does, or a line beside has its form."""
    text = place.text
    line_start = text.rfind("\n", 0, place.start) + 1
    before, written = text[line_start : place.start], text[place.start : place.stop]
    if not any(map(str.isalnum, before)) and any(map(str.isdigit, written)):
        return True
    begin = max(0, line_start - BESIDE_CHARACTERS)
    above = text[begin:line_start].split("\n")[-2:-1]
    line, *below = text[line_start : place.stop + BESIDE_CHARACTERS].split("\n")[:2]
    form = _form(line)
    return form.count("w") >= LEAST_WORDS and form in map(_form, [*above, *below])


def _form(line: str) -> str:
    """Return a line with each of its words as one letter."""
    return _WORD.sub("w", line)


def relevant(
    message: str,
    found: FoundTerms,
    is_seen: Callable[[str, int, int], bool],
    recency: Mapping[str, int],
) -> tuple[list[Relevance], bool]:
    """Return what a message is about, best first: the records that it names, else the passages that it speaks of.

    Also returned is whether that is clear: it names something, or next to nothing of it is met.

    Args:
        message: The message.
        found: Where its terms stand.
        is_seen: Whether a part of the text under a key stands in the prompt.
        recency: For each key, a number that is higher for texts that came or were mentioned later.
    """
    chosen = _Chosen(found)
    is_open = _choose_records(chosen, found, is_seen, recency)
    back = refers_back(message)
    if not chosen.covered:
        is_open = True
        for place in _places_of_all(message, found):
            chosen.take(place, is_seen)
    if chosen.covered and not (back and is_open):
        return chosen.relevances(), True
    windows = _windows(found)
    back = max(back, _points_at_rare(message, found))
    numbers = {number for number, term in enumerate(found.terms) if term.is_short_number}
    met = [
        (sum(found.weights[term] for term in held), len(held.keys() - numbers))
        for held in map(_terms_at, windows.values())
    ]
    weight, several = max(met, default=(0.0, 0))
    if _is_enough(weight, several, back):
        for key, record, held in _passages(found, windows, recency):
            if not is_seen(key, record.start, record.stop):
                chosen.show(key, record, held)
    return chosen.relevances(), not _is_enough(weight, several, max(back, UNSURE))


def _places_of_all(message: str, found: FoundTerms) -> list[Occurrence]:
    """Return the best places whose records hold all that a message asks with.

    That must be several words, or one that a question means something by; and they must tell something apart.
    """
    asked = content_terms(message, found.terms)
    whole = found.weight_of(asked)
    least = LEAST_ASKED
    if message.rstrip().endswith(QUESTION_MARKS):
        is_meant = all(is_pointed_at(message, found.terms[number]) for number in asked)
        least = 1 if is_meant else LEAST_ASKED - 1
    if len(asked) < least or whole < LEAST_TOGETHER:
        return []
    phrases = {number for number, term in enumerate(found.terms) if term.is_phrase}
    rarest = max(asked, key=found.weights.__getitem__)
    chosen = list[Occurrence]()
    for place in sorted(found.of(rarest), key=found.weight_beside, reverse=True)[:MOST_COMPARED]:
        held = found.held_by_record(place)
        if len(asked) < LEAST_ASKED:
            held &= found.held_in(
                place.key, place.start - BESIDE_ANOTHER, place.stop + BESIDE_ANOTHER
            )
        is_all = held >= phrases and found.weight_of(held & asked) >= ALL_OF_IT * whole
        if is_all and not any(place.is_in(other.key, other.record) for other in chosen):
            chosen.append(place)
    return chosen[:FEW]


def _choose_records(
    chosen: _Chosen,
    found: FoundTerms,
    is_seen: Callable[[str, int, int], bool],
    recency: Mapping[str, int],
) -> bool:
    """Choose a record for each term that stands for one; return whether others may say more of what is in it."""

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    def worth(place: Occurrence) -> tuple[float, int, int]:
        near = found.weight_of(found.held_near(place))
        return near, recency.get(place.key, 0), -place.start

    is_open = False
    for rank, number in enumerate(sorted(range(len(found.terms)), key=order, reverse=True)):
        if number in chosen.covered:
            continue
        # A pasted log is full of names.
        places = _places_meant(found, number) if rank < MOST_COMPARED else found.of(number)
        if not _is_distinctive(found, number, places):
            continue
        place = max(places, key=worth)
        is_open = is_open or not _is_listed(place)
        chosen.take(place, is_seen)
    return is_open


def _points_at_rare(message: str, found: FoundTerms) -> bool:
    """Return whether a question takes something as known ("our landlord") that stands at few places."""
    return any(
        0 < len(found.of(number)) <= FEW and is_pointed_at(message, term)
        for number, term in enumerate(found.terms)
    )


def best_lines(found: FoundTerms, text_of: Callable[[str], str]) -> dict[str, str]:
    """Return, for each memory, the line that holds most of the message, cut to 160 characters."""
    weights = defaultdict[tuple[str, int], float](float)
    for place in found.occurrences.values():
        line = _line_of(text_of(place.key), place.start)
        weights[place.key, line] += found.weights[place.term]
    lines = dict[str, str]()
    for key, start in sorted(weights, key=weights.__getitem__):
        lines[key] = text_of(key)[start : start + LINE_CHARACTERS].partition("\n")[0]
    return lines


class _Chosen:
    """The records that were chosen, and the terms that they cover."""

    def __init__(self, found: FoundTerms) -> None:
        self.covered = set[int]()
        self._found = found
        self._records = defaultdict[str, list[Record]](list)
        self._terms = defaultdict[str, dict[int, None]](dict)

    def take(self, place: Occurrence, is_seen: Callable[[str, int, int], bool]) -> None:
        """Note that the record of a place covers its term, and the others that stand in it; show what is not in sight."""
        record, terms = place.record, self._found.terms
        held = self._found.held_in(place.key, record.start, record.stop)
        held |= self._found.described[place.key]
        words = set(terms[place.term].words)
        held |= {number for number, term in enumerate(terms) if words.issuperset(term.words)}
        self.covered |= held
        if not is_seen(place.key, record.start, record.stop):
            self.show(place.key, record, [place.term, *sorted(held)])

    def show(self, key: str, record: Record, held: Iterable[int]) -> None:
        """Show a passage, unless it lies in one that is shown."""
        records = self._records[key]
        if any(shown.start <= record.start and record.stop <= shown.stop for shown in records):
            return
        records.append(record)
        self._terms[key].update(dict.fromkeys(held))

    def relevances(self) -> list[Relevance]:
        """Return what was chosen, for each memory the records in their order."""
        found = list[Relevance]()
        for key, records in self._records.items():
            terms = [self._found.terms[number].text for number in self._terms[key]]
            score = sum(self._found.weights[number] for number in self._terms[key])
            found.append(Relevance(key, records, terms, score))
        return found


def _windows(found: FoundTerms) -> dict[Window, list[Occurrence]]:
    """Return where single terms stand in each window of lines."""
    windows = defaultdict[Window, list[Occurrence]](list)
    for place in found.occurrences.values():
        if not found.terms[place.term].is_phrase:
            index = _line_of(place.text, place.start) // WINDOW
            windows[place.key, index].append(place)
    return windows


def _terms_at(places: Iterable[Occurrence]) -> Counter[int]:
    """Return how often each term stands at some places."""
    return Counter(place.term for place in places)


def _passages(
    found: FoundTerms, windows: Mapping[Window, Sequence[Occurrence]], recency: Mapping[str, int]
) -> Iterator[tuple[str, Record, list[int]]]:
    """Yield the windows of lines that hold most of the message, with the terms in them, best first.

    Of what came or was spoken of last each counts a little more.
    """
    plain = defaultdict[Window, float](float)
    for window, places in windows.items():
        held = _terms_at(places)
        plain[window] = sum(found.weights[term] * n * 2.2 / (n + 1.2) for term, n in held.items())
    newest = sorted(recency, key=lambda key: -recency[key])[:NEWEST]
    scores = dict[Window, float]()
    for key, index in windows:
        beside = 0.0
        for distance, share in enumerate(BESIDE, 1):
            beside += share * (plain[key, index - distance] + plain[key, index + distance])
        score = OWN * plain[key, index] + beside
        scores[key, index] = score * (NEWER if key in newest else 1.0)
    ranked = sorted(scores, key=lambda window: -scores[window])
    names = "".join(term.text for term in found.terms if term.is_name)
    left = NAMED_CHARACTERS if any(map(str.isdigit, names)) else PASSAGE_CHARACTERS
    for window in ranked:
        places = windows[window]
        record = _window_at(places[0].text, window[1])
        left -= record.stop - record.start
        if left < 0 or scores[window] < LEAST_OF_BEST * scores[ranked[0]]:
            return
        yield window[0], record, list(_terms_at(places))


def _line_of(text: str, place: int) -> int:
    """Return where the line begins that a place is in; of a long line, the place itself."""
    return text.rfind("\n", max(0, place - WINDOW), place) + 1 or place


def _window_at(text: str, index: int) -> Record:
    """Return the lines that begin in a window; of long lines, the window."""
    start, end = index * WINDOW, min((index + 1) * WINDOW, len(text))
    stop = text.find("\n", end - 1, (index + 2) * WINDOW)
    if index:
        start = text.find("\n", start - 1, end) + 1 or start
    return Record(start, stop if stop >= 0 else end)


def _is_enough(weight: float, terms: int, back: int) -> bool:
    """Return whether a window that holds so much of a message shows that the message is about it."""
    least_terms, least_weight = LEAST_HELD[back]
    return terms >= least_terms and weight >= least_weight
