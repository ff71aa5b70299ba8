"""Find the rows of a table that a message asks for by a value: the largest, the smallest, or those beyond a number.

The *measure* is the column with that value: the one that the message names ("the lowest humidity"), or that its superlative
is about ("cheapest": a price), or the only one with numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from memory_context.conversation.recall.asked_value import AskedValue, asked_value
from memory_context.conversation.recall.ranked_places import LEAST_OF_FACT, RankedPlaces
from memory_context.conversation.recall.term_occurrences import Occurrence, wanted_lexemes
from memory_context.exceptions import InvalidSelectionError
from memory_context.text.index.analyzer import held_by, lexemes_of
from memory_context.text.query.dates_and_times import moment
from memory_context.text.query.quantities_in_texts import quantity, unit_of
from memory_context.text.query.sandboxed_database import cell_text
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.rows.rows_under_columns import Row, TextTable

# Larger texts are not read as tables for a message: that takes seconds. Nor are more texts than these.
LONGEST_READ = 400_000
MOST_READ = 5
# Columns whose numbers name something.
_IDS = frozenset("id no nr number pid zip code phone port line key index".split())
_WORD = re.compile(r"[^\W_]+")
# A row is looked for at so many places of its rarest cell.
MOST_PLACES = 50
# This share of a row's cells must stand in a record for it to be the row's.
LEAST_OF_ROW = 0.8


@dataclass(frozen=True)
class _Wanted:
    """What a message asks of a table's rows."""

    asked: AskedValue
    # What each word tells, by its lexemes, without the words that say which value is meant.
    told: Mapping[frozenset[str], float]

    def share_in(self, held: Iterable[str]) -> float:
        """Return the share of what the message tells that some lexemes hold."""
        lexemes = frozenset(held)
        told = sum(tells for words, tells in self.told.items() if words <= lexemes)
        return round(told / (sum(self.told.values()) or 1.0), 6)

    def lexemes_in(self, text: str) -> set[str]:
        """Return the lexemes of the message's words that a text holds."""
        return held_by(text, chain.from_iterable(self.told))


def rows_by_value(ranked: RankedPlaces) -> list[Occurrence]:
    """Return a place in each row that a message asks for by its value; nothing if it asks for none."""
    asked = asked_value(ranked.message)
    if asked is None or not ranked.is_question:
        return []
    found = ranked.found
    said = set(chain.from_iterable(map(lexemes_of, _WORD.findall(asked.said))))
    told = dict[frozenset[str], float]()
    for number, term in enumerate(found.terms):
        lexemes = frozenset(wanted_lexemes(term))
        if lexemes <= said:
            continue
        if number not in found.met and not ranked.may_be_own(term):
            return []
        if number in ranked.told:
            told[lexemes] = ranked.told[number]
    wanted = _Wanted(asked, told)
    best, most = list[Occurrence](), 0.0
    for key in islice(_texts_by_words(ranked), MOST_READ):
        described = found.described[key]
        lexemes = set(chain.from_iterable(wanted_lexemes(found.terms[one]) for one in described))
        text = found.texts.text_of(key)
        share, rows = _rows_of(text, lexemes, wanted)
        if rows and share > most:
            term = next(iter(found.in_order[key])).term
            places = (_place_of(row, key, text, term) for row in rows)
            best, most = [place for place in places if place], share
    return best


def _texts_by_words(ranked: RankedPlaces) -> Iterator[str]:
    """Yield the keys of the texts that may be read, the one with most of the message first, of equal ones the newest."""
    found = ranked.found

    def worth(key: str) -> tuple[float, Any]:
        held = {one.term for one in found.in_order[key]} | found.described[key]
        return sum(ranked.told.get(term, 0.0) for term in held), found.texts.came_at(key)

    keys = [key for key in found.in_order if len(found.texts.text_of(key)) <= LONGEST_READ]
    yield from sorted(keys, key=worth, reverse=True)


def _rows_of(text: str, described: set[str], wanted: _Wanted) -> tuple[float, list[Row]]:
    """Return the rows with the value that is asked for, and the share of what the message tells in them and above them.

    If some rows hold more of the message than others ("the largest order of Miller"), only these are compared.
    """
    try:
        table = table_of(text)
        rows = list(table.rows())
    except InvalidSelectionError:
        return 0.0, []
    measure = _measure_of(table, rows, wanted)
    if measure is None:
        return 0.0, []
    place, read = measure
    above = described | wanted.lexemes_in(" ".join(table.columns))
    compared, most = list[tuple[Any, Row]](), LEAST_OF_FACT
    for row in rows:
        value = read(cell_text(row[place]))
        if value is None:
            continue
        share = wanted.share_in(above | wanted.lexemes_in(" ".join(map(cell_text, row))))
        if share > most:
            compared.clear()
            most = share
        if share == most:
            compared.append((value, row))
    return most, _meant(compared, wanted.asked)


def _meant(rows: Sequence[tuple[Any, Row]], asked: AskedValue) -> list[Row]:
    """Return the rows with the largest or smallest value, or with one beyond the bound."""
    if not rows:
        return []
    if asked.bound is None:
        values = [value for value, _ in rows]
        extreme = max(values) if asked.is_largest else min(values)
        return [row for value, row in rows if value == extreme]
    bound = quantity(asked.bound)
    if bound is None:
        return []
    return [row for value, row in rows if value != bound and (value > bound) == asked.is_largest]


def _measure_of(
    table: TextTable, rows: Sequence[Row], wanted: _Wanted
) -> tuple[int, Callable[[str], Any]] | None:
    """Return the index of the column with the value that is asked for, and how to read it; None if it is not clear."""
    asked = wanted.asked
    read = moment if asked.is_date else quantity
    measures = list[tuple[bool, float, int]]()
    for place, name in enumerate(table.columns):
        names = _WORD.findall(name.lower())
        if _IDS.isdisjoint(names) and _is_measure([row[place] for row in rows], read):
            is_about = not set(asked.columns.split()).isdisjoint(names)
            share = wanted.share_in(wanted.lexemes_in(name))
            measures.append((is_about, share, -place))
    if not measures:
        return None
    is_about, share, place = max(measures)
    is_clear = is_about or share > 0 or len(measures) == 1 or asked.is_date
    return (-place, read) if is_clear else None


def _is_measure(cells: Sequence[Any], read: Callable[[str], Any]) -> bool:
    filled = [cell_text(cell) for cell in cells[:1000] if cell is not None]
    values = [value for value in map(read, filled) if value is not None]
    return 2 * len(values) >= len(filled) and len(set(values)) > 1


def _place_of(row: Row, key: str, text: str, term: int) -> Occurrence | None:
    """Return the place of a row's rarest cell in the text; None if the row is not written there as it was read."""
    cells = [cell_text(cell) for cell in row if not isinstance(cell, dict | list | bool)]
    cells = [cell for cell in cells if cell and cell in text]
    if not cells:
        return None
    rarest = min(cells, key=text.count)
    for match in islice(re.finditer(re.escape(rarest), text), MOST_PLACES):
        place = Occurrence(term, key, text, match.start(), match.end(), is_exact=True)
        record = text[place.record.start : place.record.stop]
        held = sum(1 for cell in cells if cell in record)
        if held >= LEAST_OF_ROW * len(cells):
            return place
    return None
