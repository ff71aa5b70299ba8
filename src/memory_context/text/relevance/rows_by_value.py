"""Find the rows of a table that a message asks for by a value: the largest, the smallest, or those beyond a number.

The *measure* is the column with that value: the one that the message names ("the lowest humidity"), the one that its
superlative is about ("cheapest": a price), or the only one with numbers. If a duration is asked for and no column is the
measure, the first duration in each row is compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.excerpt.record_around_place import LONG_FIELD
from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD
from memory_context.text.index.analyzer import held_by, lexemes_of
from memory_context.text.query.dates_and_times import moment
from memory_context.text.query.number_notations_and_missing_values import notation_of
from memory_context.text.query.quantities_in_texts import SECONDS, quantity, unit_of
from memory_context.text.query.sandboxed_database import cell_text
from memory_context.text.relevance.ranked_places import LEAST_OF_FACT, RankedPlaces
from memory_context.text.relevance.superlatives_and_bounds import AskedValue, asked_value
from memory_context.text.relevance.term_occurrences import Occurrence, wanted_lexemes
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.rows.text_table import Row
from memory_context.text.rows.values_as_rows import pairs_of

# So many characters are read as tables for a message, which takes up to a second.
READ_CHARACTERS = 400_000
# The share of the message that rows must hold if it names the measure: of "Which pod uses the most memory?", rows of pods
# under `MEMORY` hold a third.
LEAST_OF_NAMED = 0.33
# Members of objects in cells are read as columns, if there are no more.
MOST_COLUMNS = 200
# If more rows than these are meant, the message asks for a list, and none of them answers it.
MOST_ROWS = 40
# Words in the names of columns whose numbers only identify something.
_IDS = frozenset(("id", "no", "nr", "number", "pid", "zip", "code", "phone", "port", "line", "key"))
# The column that `table_of` adds to the rows of a log, and to the lines of a text without rows.
LINE_NUMBER = "line"
_WORD = re.compile(r"[^\W_]+")
# A number with a unit of time; and one or several of these, as in "5m 12s", but not the end of a date or an address.
_PART = re.compile(rf"\d+(?:\.\d+)?\s?(?:{'|'.join(SECONDS)})(?![^\W\d_])")
_DURATION = re.compile(rf"(?<![\w.:-])(?:{_PART.pattern}\s?)+")
# Where a name in camel case is divided: `orderId` is an id.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
# So many cells of a column are looked at, to see what it holds.
SAMPLED = 1000
# A row is searched for at so many places of the rarest of its longest cells, and is where this share of its cells is.
MOST_PLACES = 50
MOST_COUNTED = 8
LEAST_OF_ROW = 0.8


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a message asks of the rows of a table.

    Attributes:
        asked: The value that is asked for.
        told: How much each word of the message tells, by the word's lexemes; without words that say which value is meant.
    """

    asked: AskedValue
    told: Mapping[frozenset[str], float]

    def held_by(self, text: str) -> set[str]:
        """Return those of the message's lexemes that a text holds."""
        return held_by(text, chain.from_iterable(self.told))

    def share(self, lexemes: Iterable[str]) -> float:
        """Return the share of what the message tells that a text with these *lexemes* holds."""
        held = frozenset(lexemes)
        told = sum(tells for words, tells in self.told.items() if words <= held)
        return round(told / (sum(self.told.values()) or 1.0), 6)

    def values_in(self, cells: Iterable[object]) -> list[float | None]:
        """Return the value in each cell of a column, whose notation decides whether ``(900)`` is -900, as in queries."""
        texts = [cell_text(cell).strip() for cell in cells]
        notation = notation_of(texts)
        numerals = dict[str, str]()
        if notation and not notation.of_truths:
            numerals = notation.numerals(texts)
        return [self._value_in(numerals.get(text, text)) for text in texts]

    def _value_in(self, text: str) -> float | None:
        """Return the number in a cell, or None; if dates are asked for, the seconds from 1970 to one, or minus an age."""
        if self.asked.bound and _measures_time(self.asked.bound) != _measures_time(text):
            return None  # "over 2 seconds" says nothing about a number without a unit
        if not self.asked.is_date:
            return _seconds(text) or quantity(text)
        # A number is a date only if it may be a year.
        if (when := moment(text)) and (not text.isdigit() or text[:2] in ("19", "20")):
            return when.timestamp()
        age = _seconds(text)
        return None if age is None else -age


def rows_by_value(ranked: RankedPlaces) -> list[Occurrence]:
    """Return a place in each row that a message asks for by its value; nothing if it asks for none.

    If several texts have such rows, those that hold most of the message are taken; of equal ones, those in the newest text.
    """
    wanted = _wanted(ranked)
    if wanted is None:
        return []
    found = ranked.found
    meant = list[Occurrence]()
    most = 0.0
    left = READ_CHARACTERS
    for key in sorted(found.in_order, key=found.texts.came_at, reverse=True):
        text = found.texts.text_of(key)
        if len(text) > left:
            continue
        left -= len(text)
        share, rows = _rows_meant(text, found.texts.card_of(key), wanted)
        if share > most and 0 < len(rows) <= MOST_ROWS:
            somewhere = replace(found.in_order[key][0], is_exact=True, is_stretch=False)
            meant = list(filter(None, (_place_of(row, somewhere) for row in rows)))
            most = share
    return meant


def _wanted(ranked: RankedPlaces) -> _Wanted | None:
    """Return what the message asks of rows; None if it asks for no value, or about something that no text holds."""
    asked = asked_value(ranked.message)
    if asked is None or not ranked.is_question:
        return None
    found = ranked.found
    said = set(chain.from_iterable(map(lexemes_of, _WORD.findall(asked.said))))
    told = dict[frozenset[str], float]()
    for number, term in enumerate(found.terms):
        lexemes = frozenset(wanted_lexemes(term))
        if lexemes <= said:
            continue
        if number not in found.met and not ranked.may_be_own(term):
            return None
        if number in ranked.told:
            told[lexemes] = ranked.told[number]
    return _Wanted(asked, told)


def _rows_meant(text: str, card: Iterable[str], wanted: _Wanted) -> tuple[float, Sequence[Row]]:
    """Return the share of the message that rows and what is above them hold, and those with the value that is asked for.

    If some rows hold more of the message than others ("the largest order of Miller"), only these are compared. If no rows
    hold enough of it, the share is 0.
    """
    try:
        table = table_of(text)
        rows = list(table.rows())
    except InvalidSelectionError:
        return 0.0, []
    columns = table.columns
    if columns[:1] == (LINE_NUMBER,):
        columns = columns[1:]
        rows = [row[1:] for row in rows]
    measure = _measure_of(columns, rows, wanted)
    if measure is None:
        columns, rows = _with_columns_of_members(columns, rows)
        measure = _measure_of(columns, rows, wanted)
    if measure is None and not wanted.asked.is_duration:
        return 0.0, []
    # The name of a JSON list says what its objects are.
    above = {*card, *wanted.held_by(" ".join((table.name, *columns)))}
    by_share = defaultdict[float, list[tuple[float, Row]]](list)
    written_rows = [" ".join(map(cell_text, row)) for row in rows]
    values: Iterable[float | None] = map(_seconds_in, written_rows)
    if measure is not None:
        values = wanted.values_in(row[measure] for row in rows)
    for row, written, value in zip(rows, written_rows, values, strict=True):
        if value is not None:
            share = wanted.share(above | wanted.held_by(written))
            by_share[share].append((value, row))
    share = max(by_share, default=0.0)
    is_named = measure is not None and wanted.share(wanted.held_by(columns[measure])) > 0
    if share < (LEAST_OF_NAMED if is_named else LEAST_OF_FACT):
        return 0.0, []
    return share, _with_value(by_share[share], wanted.asked)


def _with_columns_of_members(
    columns: tuple[str, ...], rows: list[Row]
) -> tuple[tuple[str, ...], list[Row]]:
    """Return a table in which each member of an object in a cell has a column of its own, such as ``limits.seats``.

    If there would be more than 200 columns, objects stay.
    """
    named = [dict(pairs_of(dict(zip(columns, row, strict=True))).rows()) for row in rows]
    names = tuple(dict.fromkeys(chain.from_iterable(named)))
    if len(names) > MOST_COLUMNS:
        return columns, rows
    return names, [list(map(row.get, names)) for row in named]


def _measures_time(text: str) -> bool:
    """Return whether a quantity has a unit of time."""
    unit = unit_of(text)
    return unit is not None and unit[0] == "time"


def _seconds(text: str) -> float | None:
    """Return the seconds in a text that is a duration, such as "51 ms" or "5m 12s"; None for any other text."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(quantity(part) or 0.0 for part in _PART.findall(text))


def _seconds_in(line: str) -> float | None:
    """Return the seconds of the first duration in a line; None if there is none."""
    duration = _DURATION.search(line)
    return _seconds(duration.group().strip()) if duration else None


def _with_value(rows: Sequence[tuple[float, Row]], asked: AskedValue) -> list[Row]:
    """Return the rows with the largest or smallest value, or with one beyond the bound; each of *rows* follows its value."""
    if not asked.bound:
        values = [value for value, _ in rows]
        extreme = max(values) if asked.is_largest else min(values)
        return [row for value, row in rows if value == extreme]
    bound = quantity(asked.bound)
    if bound is None:
        return []
    meant = list[Row]()
    for value, row in rows:
        is_beyond = value > bound if asked.is_largest else value < bound
        if is_beyond or (asked.has_bound and value == bound):
            meant.append(row)
    return meant


def _measure_of(columns: Sequence[str], rows: Sequence[Row], wanted: _Wanted) -> int | None:
    """Return the index of the column with the value that is asked for; None if it is not clear which one that is."""
    asked = wanted.asked
    ranks = dict[int, tuple[bool, bool, float]]()
    before = wanted.held_by(asked.before)
    for place, name in enumerate(columns):
        names = set(_WORD.findall(_HUMP.sub(" ", name).lower()))
        filled = [row[place] for row in rows[:SAMPLED] if row[place] is not None]
        values = [value for value in wanted.values_in(filled) if value is not None]
        differ = len(set(values)) > 1
        if _IDS.isdisjoint(names) and differ and 2 * len(values) >= len(filled):
            is_about = not names.isdisjoint(asked.columns.split())
            held = wanted.held_by(name)
            ranks[place] = is_about, not before.isdisjoint(held), wanted.share(held)
    best = max(ranks, key=ranks.__getitem__, default=None)
    counted = set(lexemes_of(asked.counted))
    if best is None or not counted <= held_by(columns[best], counted):
        return None
    is_only = len(ranks) == 1 and not asked.columns
    is_clear = any(ranks[best]) or is_only or asked.is_date
    return best if is_clear else None


def _place_of(row: Row, at: Occurrence) -> Occurrence | None:
    """Return the place of a row's rarest cell in the text of *at*; None if the row is not written there as it was read."""
    texts = [cell_text(cell) for cell in row if not isinstance(cell, dict | list | bool)]
    cells = [cell for cell in texts if cell and cell in at.text]
    # If a row is too long to be shown whole, only the fields beside its long ones are shown.
    if sum(map(len, cells)) > LONGEST_RECORD:
        cells = [cell for cell in cells if len(cell) <= LONG_FIELD]
    # Counting takes time, so only the longest cells are candidates.
    longest = sorted(cells, key=len, reverse=True)[:MOST_COUNTED]
    rarest = min(longest, key=at.text.count, default="")
    for match in islice(re.finditer(re.escape(rarest), at.text), MOST_PLACES):
        place = replace(at, start=match.start(), stop=match.end())
        record = " ".join(at.text[slice(*span)] for span in place.record.spans)
        held = sum(1 for cell in cells if cell in record)
        if cells and held >= LEAST_OF_ROW * len(cells):
            return place
    return None
