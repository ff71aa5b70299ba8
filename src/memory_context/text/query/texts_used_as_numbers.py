"""Refuse a statement that uses texts as numbers, or numbers as texts: SQLite would compute with them without an error.

To know whether an expression gives texts or numbers, it is evaluated (`values_of_expressions`). So the checks need not
know the functions in it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.expressions import Expr

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.dates_and_times import is_read_by_sqlite, moment
from memory_context.text.query.number_notations_and_missing_values import (
    Notation,
    is_filled,
    is_number,
    is_plain_number,
    notation_of,
)
from memory_context.text.query.quantities_in_texts import (
    instead,
    is_quantity,
    out_of_order,
    shown,
)
from memory_context.text.query.ungrouped_columns import aggregates, is_total, resolved
from memory_context.text.query.values_of_expressions import Given, ValuesOfExpressions, sql_of

if TYPE_CHECKING:
    from memory_context.text.query.sandboxed_database import LockedDatabase

_OF_NUMBERS = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Neg,
    exp.Sum,
    exp.Avg,
    exp.Abs,
    exp.Round,
    exp.Ceil,
    exp.Floor,
)
_OF_CONDITIONS = (exp.Where, exp.Having, exp.And, exp.Or, exp.Not)
# Known to give numbers without being evaluated.
_GIVE_NUMBERS = (
    *_OF_NUMBERS,
    *_OF_CONDITIONS,
    exp.Count,
    exp.Placeholder,
    exp.Predicate,
    exp.Boolean,
)
_OF_EXTREMES = (exp.Max, exp.Min, exp.Greatest, exp.Least)
_OF_TEXTS = (exp.Like, exp.Glob, exp.Substring, exp.Lower, exp.Upper, exp.StrPosition)
_OF_DATES = (exp.Date, exp.TimeToStr)
_NAMES_OF_DATES = ("date", "datetime", "time", "julianday", "unixepoch", "strftime", "timediff")
_UNITS_OF_TIME = ("unixepoch", "auto", "julianday")
_COMPARE_ORDER = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_COMPARE = (
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.EQ,
    exp.NEQ,
    exp.Is,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Nullif,
)
_EQUAL = (exp.EQ, exp.In, exp.Case)
# In these places, a string or number that equals a column's name must mean that column. A year means it in any place.
_AGGREGATE = (exp.Count, exp.Sum, exp.Avg, exp.Max, exp.Min)
_NAME_TEXTS = (*_AGGREGATE, exp.Group, exp.Ordered)
_NAME_NUMBERS = (*_AGGREGATE, exp.Select, exp.Alias)
LEAST_YEAR = 4
# Names of outputs are followed so far.
MOST_NAMES = 10
# What SQLite reads as a number in a comparison with a column of numbers (01 as 1): digits, perhaps with a point, an
# exponent, and blanks around them.
_LIKE_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*")
_STANDS_IN_NUMBERS = re.compile(r"[-0-9.e+]|^$")


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of an expression over the rows that its query reads.

    Attributes:
        name: The expression's name in error messages.
        has_numbers: Whether some values are numbers.
        texts: The values that are texts.
        notation: The notation of a column in the expression, if the database writes its numbers differently.
        reads_texts: Whether SQLite converts a text to a number when it compares it with these values.
        is_column: Whether the values are unchanged cells of columns.
        are_meant_as_texts: Whether the statement appends ``|| ''``, which says that texts are meant.
        literal: The string, if the expression is one.
    """

    name: str
    has_numbers: bool
    texts: Mapping[str, None]
    notation: Notation | None
    reads_texts: bool
    is_column: bool
    are_meant_as_texts: bool
    literal: str | None

    @property
    def filled(self) -> list[str]:
        """Return the texts that hold a value."""
        return list(filter(is_filled, self.texts))


def check_numbers(statement: Expr, loaded: LockedDatabase, evaluated: ValuesOfExpressions) -> None:
    """Refuse ``sum(amount)``, ``amount > 250`` and ``ORDER BY amount`` if texts in ``amount`` make the result wrong.

    Args:
        statement: The statement.
        loaded: The database with its tables.
        evaluated: Evaluates its expressions.

    Raises:
        InvalidQueryError: Texts are used as numbers, or numbers as the texts in which they were written.
    """
    uses = _Uses(statement, loaded, evaluated)
    for node in statement.walk():
        uses.check(node)


class _Uses:
    """Checks how the nodes of a statement use the values of their expressions."""

    def __init__(
        self, statement: Expr, loaded: LockedDatabase, evaluated: ValuesOfExpressions
    ) -> None:
        self._loaded = loaded
        self._evaluated = evaluated
        self._named = {one.alias.lower(): one.this for one in statement.find_all(exp.Alias)}
        self._tables = {one.alias_or_name: one.name for one in statement.find_all(exp.Table)}
        self._columns = defaultdict[str, list[tuple[str, str]]](list)
        for name, table in loaded.tables.items():
            for column in table.columns:
                self._columns[column.lower()].append((name, column))

    def check(self, node: Expr) -> None:
        """Check one node.

        Raises:
            InvalidQueryError: SQLite would return a wrong result.
        """
        if isinstance(node, exp.Literal):
            self._check_name(node)
        elif isinstance(node, _OF_EXTREMES):
            _check_order(*map(self._of, node.iter_expressions()), takes_numbers=False)
        elif isinstance(node, exp.Ordered):
            values = self._ordered(node)
            # Texts beside numbers sort after them. That is fine for a text that the statement puts in the place of
            # NULL; but in a descending order cells that are texts would come first, as if they were the largest.
            is_wrong = values.is_column and node.args.get("desc")
            _check_order(values, takes_numbers=not is_wrong)
        elif isinstance(node, _OF_TEXTS) or _replaces_in_numbers(node) or _strips(node):
            self._check_pattern(node.this)
        self._check_numbers(_used_as_numbers(node))
        self._check_dates(_read_as_dates(node))
        self._check_day_numbers(node)
        self._check_united(node)
        for one, others in _compared(node):
            values = self._of(one)
            for other in others:
                self._check_comparison(values, self._of(other), node)
                if isinstance(node, _EQUAL) and values.is_column:
                    self._check_absent(one, values, other)

    def _check_name(self, literal: exp.Literal) -> None:
        """Refuse ``sum(2024)`` and ``GROUP BY 'region'`` if there is such a column: SQLite would use the constant."""
        name = literal.name
        if literal.is_string:
            kind = "text"
            is_meant = isinstance(literal.parent, _NAME_TEXTS)
        else:
            kind = "number"
            is_meant = len(name) >= LEAST_YEAR or isinstance(literal.parent, _NAME_NUMBERS)
        if not is_meant:
            return
        tables = self._loaded.tables.values()
        if any(name in table.columns for table in tables):
            raise InvalidQueryError(
                f'{literal.sql()} is a {kind} here; write the column in double quotes: "{name}"'
            )

    def _check_numbers(self, nodes: Iterable[Expr]) -> None:
        for node in nodes:
            if isinstance(node, _GIVE_NUMBERS):
                continue
            values = self._of(node)
            # A function may return numbers as texts, with which SQLite computes correctly: substr(day, 1, 4).
            if values.is_column or not all(map(is_plain_number, values.filled)):
                _refuse_texts(values, "used as numbers here")

    def _check_dates(self, nodes: Iterable[Expr]) -> None:
        """Refuse date functions of dates in forms that SQLite does not read, for which they return NULL."""
        for values in map(self._of, nodes):
            for text in values.filled:
                if moment(text) and not is_read_by_sqlite(text):
                    raise InvalidQueryError(
                        f"SQLite reads 2026-01-31 and 2026-01-31 09:05:00, and gives NULL for {shown(text)} "
                        f"in {values.name}: convert it to this form with substr({values.name}, …)"
                    )

    def _check_day_numbers(self, node: Expr) -> None:
        """Refuse date functions of 2024, 20250131 or 1735689600, which SQLite takes for days since 4714 BC."""
        arguments = list(_read_as_dates(node))
        if isinstance(node, exp.Anonymous) and node.name.lower() == "strftime":
            del arguments[:1]
        if not arguments:
            return
        time, *others = arguments
        name = sql_of(time)
        if "JULIANDAY(" in name.upper():
            return  # a difference of days may be any number
        units = [f", {sql_of(one)}" for one in others if one.name.lower() in _UNITS_OF_TIME]
        unit = "".join(units).lower()
        is_wrong = f"typeof({{0}}) <> 'text' AND ifnull(date({{0}}{unit}), '-') LIKE '-%'"
        found = self._evaluated.of(time, f"CASE WHEN {is_wrong} THEN CAST({{0}} AS TEXT) END").texts
        if found and "unixepoch" in unit:
            raise InvalidQueryError(
                f"{found[0]} in {name} is too large for seconds since 1970: write {name} / 1000 for milliseconds"
            )
        if found:
            raise InvalidQueryError(
                f"SQLite takes a number for days since 4714 BC, and {found[0]} in {name} would be a wrong date: "
                f"write date({name}, 'unixepoch') if it counts seconds since 1970, or make it a text such as "
                f"2026-01-31: {name} || '-01-01' for a year, otherwise each part with substr({name}, …)"
            )

    def _check_comparison(self, one: _Values, other: _Values, node: Expr) -> None:
        is_ordering = isinstance(node, _COMPARE_ORDER)
        _check_with_number(one, other, is_ordering=is_ordering)
        _check_with_number(other, one, is_ordering=is_ordering)
        if is_ordering:
            _check_order(one, other)

    def _check_united(self, node: Expr) -> None:
        """Refuse to look for equal values among numbers and texts such as 01, as GROUP BY, DISTINCT and EXCEPT do."""
        for name, merged in self._made_distinct(node):
            texts = chain.from_iterable(given.texts for given in merged)
            text = next(filter(_LIKE_NUMBER.fullmatch, texts), None)
            if text is not None and any(given.has_numbers for given in merged):
                raise InvalidQueryError(
                    f"{name} gives numbers, and texts such as {shown(text)}, which equal no number here: "
                    f"write CAST({name} AS TEXT), or CAST({name} AS REAL)"
                )

    def _made_distinct(self, node: Expr) -> Iterator[tuple[str, list[Given]]]:
        """Yield the name and the values of each expression whose equal values *node* merges, from each part of a UNION."""
        terms = list[Expr]()
        if isinstance(node, exp.Group) and isinstance(node.parent, exp.Select):
            terms = [resolved(term, node.parent) for term in node.expressions]
        elif isinstance(node, exp.Distinct):
            terms = node.expressions
        elif isinstance(node, exp.Window):
            terms = list[Expr](node.args.get("partition_by") or ())
        elif isinstance(node, exp.Query) and node.args.get("distinct"):
            parts = [node.this, node.expression] if isinstance(node, exp.SetOperation) else [node]
            for columns in zip(*map(self._looked_for, parts), strict=False):
                yield columns[0][0], [given for _, given in columns]
        for term in terms:
            yield sql_of(term), [self._evaluated.of(term)]

    def _looked_for(self, query: exp.Query) -> Iterator[tuple[str, Given]]:
        """Yield the columns of a query; those that count rows hold no ids, and count as empty."""
        counts = [number for number, output in enumerate(query.selects) if aggregates(output)]
        for number, (name, given) in enumerate(self._evaluated.columns(query).items()):
            yield name, Given() if number in counts else given

    def _check_absent(self, column: Expr, values: _Values, other: Expr) -> None:
        """Refuse to look for ``''`` or ``'n/a'`` if no cell holds it because such cells are NULL in the database."""
        is_for_absent = other.is_string and not is_filled(other.name)
        if not is_for_absent or other.name in values.texts:
            return
        for asked in other.root().find_all(exp.Is):
            if isinstance(asked.expression, exp.Null) and asked.this == column:
                return
        if self._evaluated.of(column, "CASE WHEN {} IS NULL THEN 1 END").has_numbers:
            raise InvalidQueryError(
                f"no cell of {values.name} is {shown(other.name)}: those without a value are NULL; "
                f"write {values.name} IS NULL"
            )

    def _check_pattern(self, node: Expr) -> None:
        """Refuse patterns and text functions on a column of numbers that the database writes differently."""
        column = self._meant(node)
        for notation in self._notations(column):
            if isinstance(column, exp.Column) and (notation.is_rewritten or notation.drops_zeros):
                raise InvalidQueryError(
                    f"{column.name} is read as a {notation.kind}: "
                    "use it as it is, without patterns and functions of texts"
                )

    def _of(self, node: Expr) -> _Values:
        given = Given(has_numbers=True)
        if isinstance(node, exp.Query) and isinstance(node.parent, exp.In):
            given = next(iter(self._evaluated.columns(node).values()), Given())
        elif isinstance(node, exp.Literal):
            given = Given(texts=[node.name]) if node.is_string else given
        elif not isinstance(node.unnest(), _GIVE_NUMBERS):
            given = self._evaluated.of(node)
        return self._values(node, given)

    def _ordered(self, node: exp.Ordered) -> _Values:
        """Return the values of a term of ORDER BY: first as the number or name of an output, then as a column."""
        query = node.parent and node.parent.parent
        term = node.this
        if isinstance(query, exp.SetOperation):
            columns = self._evaluated.columns(query)
            name = dict(enumerate(columns, 1)).get(term.to_py()) if term.is_int else term.name
            if name in columns:
                return self._values(exp.column(name), columns[name])
        return self._of(resolved(term, query) if isinstance(query, exp.Select) else term)

    def _values(self, node: Expr, given: Given) -> _Values:
        """Return the values of a node, given what it gives."""
        meant = self._meant(node)
        is_column = isinstance(meant, exp.Column)
        notations = (one for one in self._notations(meant) if one.is_rewritten)
        return _Values(
            meant.name if is_column else sql_of(node.unnest()),
            has_numbers=given.has_numbers,
            texts=dict.fromkeys(given.texts),
            notation=next(notations, None),
            reads_texts=given.reads_texts,
            is_column=is_column,
            are_meant_as_texts=isinstance(meant, exp.DPipe) and _text_of(meant.expression) == "",
            literal=_text_of(meant),
        )

    def _meant(self, node: Expr) -> Expr:
        """Return the expression that the name of an output stands for, or the column under its table's name."""
        for _ in range(MOST_NAMES):
            node = node.unnest()
            if not isinstance(node, exp.Column):
                break
            if places := self._columns.get(node.name.lower()):
                return exp.column(places[0][1], node.table)
            node = self._named.get(node.name.lower(), node)
        return node

    def _notations(self, expression: Expr) -> Iterator[Notation]:
        """Yield the notations of the columns in an expression."""
        for column in map(self._meant, expression.find_all(exp.Column)):
            places = self._columns.get(column.name.lower(), [])
            of_table = self._tables.get(column.text("table"))
            places = [place for place in places if place[0] == of_table] or places
            notations = [self._loaded.notation(*place) for place in places]
            if notations and all(notations):
                yield from filter(None, notations)


def _text_of(node: Expr) -> str | None:
    return node.name if node.is_string else None


def _used_as_numbers(node: Expr) -> Iterable[Expr]:
    if isinstance(node, exp.If) and not _is_of_value(node):
        return [node.this]
    if isinstance(node, _OF_NUMBERS + _OF_CONDITIONS) or is_total(node):
        return node.iter_expressions()
    return ()


def _read_as_dates(node: Expr) -> Iterable[Expr]:
    is_named = isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES_OF_DATES
    if is_named or isinstance(node, _OF_DATES):
        return node.iter_expressions()
    return ()


def _is_of_value(node: exp.If) -> bool:
    """Return whether a node is a branch such as that of ``CASE ok WHEN 1``, which holds a value and not a condition."""
    return isinstance(node.parent, exp.Case) and node.parent.this is not None


def _compared(node: Expr) -> Iterator[tuple[Expr, list[Expr]]]:
    """Yield each expression that a node compares, with the expressions that it is compared with."""
    if isinstance(node, _COMPARE):
        left = [node.this]
        right = [node.expression]
        if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
            left = node.this.expressions
            right = node.expression.expressions
        for one, other in zip(left, right, strict=False):
            yield one, [other]
    elif isinstance(node, exp.Between):
        yield node.this, [node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        yield node.this, [query] if query else node.expressions
    elif isinstance(node, exp.Case) and node.this is not None:
        yield node.this, [branch.this for branch in node.args["ifs"]]


def _strips(node: Expr) -> bool:
    """Return whether a node is ``trim(amount, '$')``, for characters other than blanks."""
    return isinstance(node, exp.Trim) and node.expression is not None


def _replaces_in_numbers(node: Expr) -> bool:
    """Return whether ``replace()`` is for a character that numbers in the database still have: a point, not ``$``."""
    if not isinstance(node, exp.Replace):
        return False
    replaced = node.expression.name
    return _STANDS_IN_NUMBERS.search(replaced) is not None


def _refuse_texts(values: _Values, use: str, otherwise: str = "") -> None:
    """Raise an error if there are texts; its example is not a plain number if any of them is not."""
    texts = values.filled or list(values.texts)
    if not texts:
        return
    example = shown(min(texts, key=is_plain_number))
    raise InvalidQueryError(
        f"{values.name} is {use}, and gives texts such as {example}: {instead(values.name)}"
        + otherwise.format(example)
    )


def _check_with_number(numbers: _Values, texts: _Values, *, is_ordering: bool) -> None:
    """Refuse to compare numbers with texts: in SQLite no text equals a number, and any text is larger than all numbers."""
    if texts.literal is not None:
        _check_literal(numbers, texts.literal, is_ordering=is_ordering)
    elif not numbers.has_numbers:
        return
    elif is_ordering:
        are_numbers = all(map(is_plain_number, texts.filled))
        if not numbers.reads_texts or not are_numbers:
            _refuse_texts(texts, "compared with numbers here")
    elif numbers.reads_texts:
        return
    else:
        has_quantities = any(map(is_quantity, texts.texts))
        may_be_equal = texts.has_numbers or numbers.texts
        if has_quantities or not may_be_equal:
            _refuse_texts(texts, "compared with numbers here", "; or compare it with a text, as {}")


def _check_literal(values: _Values, text: str, *, is_ordering: bool) -> None:
    """Refuse to compare a string such as ``'$5'`` with values that are numbers in the database."""
    notation = values.notation
    written = notation_of([text])
    is_plain = is_plain_number(text)
    is_among_them = text in values.texts and not is_ordering and not is_number(text)
    if is_among_them or (is_plain and values.reads_texts):
        return
    is_like_cells = bool(notation and written and written.of_truths == notation.of_truths)
    if values.has_numbers:
        # A string that is not a number equals none of them, which is the right answer for `=`.
        is_wrong = is_ordering or is_number(text) or bool(notation and is_filled(text))
    else:
        is_wrong = is_like_cells and not is_plain
    if not is_wrong:
        return
    number = "a number"
    if written and (is_like_cells or not written.of_truths):
        number = written.numerals([text])[text]
    kind = f"is read as a {notation.kind}" if notation else "gives numbers"
    raise InvalidQueryError(
        f"{values.name} {kind}: compare it with {number}, not with {shown(text)}"
    )


def _check_order(*values: _Values, takes_numbers: bool = True) -> None:
    """Refuse to order quantities as texts: then 9 is larger than 10, 5ms larger than 12ms, and any text than a number."""
    named = max(values, key=lambda one: len(one.texts))
    have_numbers = any(one.has_numbers for one in values)
    if have_numbers and not takes_numbers:
        _refuse_texts(named, "ordered among numbers here")
    filled = chain.from_iterable(one.filled for one in values)
    pair = out_of_order(list(filled))
    if pair is None or named.are_meant_as_texts:
        return
    smaller, larger = map(shown, pair)
    raise InvalidQueryError(
        f"{named.name} holds quantities, dates or versions in texts, of which {larger} would come before "
        f"{smaller}: {instead(named.name)}; or {named.name} || '', if texts are meant"
    )
