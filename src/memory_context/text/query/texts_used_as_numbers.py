"""Refuse a statement that uses texts as numbers, or numbers as texts: SQLite would compute with them without an error.

To know whether an expression gives texts or numbers, it is evaluated over the rows that its query reads. So the checks
need not know the functions in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, permutations
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.expressions import Expr

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.dates_and_times import is_read_by_sqlite, moment
from memory_context.text.query.expanded_expressions import (
    Alternatives,
    ExpandedExpressions,
    is_total,
    of_all_rows,
    tables_of,
)
from memory_context.text.query.number_notations_and_missing_values import (
    Notation,
    is_filled,
    is_number,
    is_plain_number,
    notation_of,
)
from memory_context.text.query.quantities_in_texts import (
    instead,
    is_nested,
    is_quantity,
    out_of_order,
    shown,
)

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


def check_numbers(statement: Expr, loaded: LockedDatabase) -> None:
    """Refuse ``sum(amount)``, ``amount > 250`` and ``ORDER BY amount`` if texts in ``amount`` make the result wrong.

    Raises:
        InvalidQueryError: Texts are used as numbers, or numbers as the texts in which they were written.
    """
    uses = _Uses(loaded)
    for node in statement.walk():
        uses.check(node)


class _Uses:
    """Checks how the nodes of one statement use the values of their expressions."""

    def __init__(self, loaded: LockedDatabase) -> None:
        self._loaded = loaded
        self._expanded = ExpandedExpressions(loaded.tables)
        self._computed = dict[tuple[str, str], tuple[bool, list[str]]]()

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
            values = self._values(node.this, self._expanded.ordered(node))
            # Texts beside numbers sort after them. That is fine for a text that the statement puts in the place of
            # NULL; but in a descending order cells that are texts would come first, as if they were the largest.
            is_wrong = values.is_column and node.args.get("desc")
            _check_order(values, takes_numbers=not is_wrong)
        elif isinstance(node, _OF_TEXTS) or _replaces_in_numbers(node) or _strips(node):
            self._check_pattern(node.this)
        self._check_numbers(_used_as_numbers(node))
        self._check_dates(_read_as_dates(node))
        self._check_day_numbers(node)
        for alternatives in self._expanded.made_distinct(node):
            self._check_united(alternatives)
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
                if is_nested(text):
                    _refuse_nested(values, "read as a date here")
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
        units = [f", {_sql(one)}" for one in others if one.name.lower() in _UNITS_OF_TIME]
        unit = "".join(units).lower()
        name = _sql(time)
        for one in self._expanded.of(time):
            number = _sql(one)
            if "JULIANDAY(" in number.upper():
                continue  # a difference of days may be any number
            is_wrong = f"typeof({number}) <> 'text' AND ifnull(date({number}{unit}), '-') LIKE '-%'"
            wrong = f"CASE WHEN {is_wrong} THEN CAST({number} AS TEXT) END"
            _, found = self._given(exp.condition(wrong, dialect="sqlite"))
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
        if not isinstance(node, exp.NEQ):
            _check_nested(one, other)
            _check_nested(other, one)
        if is_ordering:
            _check_order(one, other)

    def _check_united(self, alternatives: Alternatives) -> None:
        """Refuse to look for equal values in two expressions if one gives numbers and the other a text such as 01."""
        computed = [one for one in alternatives if not one.find(exp.Placeholder)]
        for one, other in permutations(computed, 2):
            has_numbers, _ = self._given(one)
            _, texts = self._given(other)
            text = next(filter(_LIKE_NUMBER.fullmatch, texts), None)
            is_same = of_all_rows(one) == of_all_rows(other)
            if not has_numbers or text is None or is_same:
                continue
            of_numbers = _sql(of_all_rows(one))
            of_texts = _sql(of_all_rows(other))
            raise InvalidQueryError(
                f"{of_numbers} gives numbers, and {of_texts} gives texts such as {shown(text)}, which equal no "
                f"number here: write CAST({of_texts} AS REAL), or CAST({of_numbers} AS TEXT)"
            )

    def _check_absent(self, column: Expr, values: _Values, other: Expr) -> None:
        """Refuse to look for ``''`` or ``'n/a'`` if no cell holds it because such cells are NULL in the database."""
        is_for_absent = other.is_string and not is_filled(other.name)
        if not is_for_absent or other.name in values.texts:
            return
        for asked in other.root().find_all(exp.Is):
            if isinstance(asked.expression, exp.Null) and asked.this == column:
                return
        for one in self._expanded.of(column):
            is_null = f"CASE WHEN {_sql(one)} IS NULL THEN 1 END"
            has_null, _ = self._loaded.given(is_null, one.text("table"))
            if has_null:
                raise InvalidQueryError(
                    f"no cell of {values.name} is {shown(other.name)}: those without a value are NULL; "
                    f"write {values.name} IS NULL"
                )

    def _check_pattern(self, node: Expr) -> None:
        """Refuse patterns and text functions on a column of numbers that the database writes differently."""
        for column in map(of_all_rows, self._expanded.of(node)):
            notation = self._notation(column)
            if notation and (notation.is_rewritten or notation.drops_zeros):
                raise InvalidQueryError(
                    f"{column.name} is read as a {notation.kind}: "
                    "use it as it is, without patterns and functions of texts"
                )

    def _of(self, node: Expr) -> _Values:
        return self._values(node, self._expanded.of(node))

    def _values(self, node: Expr, alternatives: Alternatives) -> _Values:
        """Return the values of a node, given the expressions that it is expanded to."""
        node = node.unnest()
        given = list(map(self._given, alternatives))
        alternatives = list(map(of_all_rows, alternatives))
        is_column = bool(given) and all(isinstance(one, exp.Column) for one in alternatives)
        if is_column:
            counts = [len(texts) for _, texts in given]
            named_after = alternatives[counts.index(max(counts))]
            node = exp.to_identifier(named_after.name)
        columns = set[Expr]()
        for one in alternatives:
            columns.update(one.find_all(exp.Column))
        notations = filter(None, map(self._notation, columns))
        return _Values(
            _sql(node),
            has_numbers=any(has_numbers for has_numbers, _ in given),
            texts=dict.fromkeys(text for _, texts in given for text in texts),
            notation=next((one for one in notations if one.is_rewritten), None),
            reads_texts=bool(given) and all(map(self._reads_texts, alternatives)),
            is_column=is_column,
            are_meant_as_texts=all(map(_is_meant_as_text, alternatives)),
            literal=_text_of(alternatives),
        )

    def _given(self, expanded: Expr) -> tuple[bool, list[str]]:
        """Return the result of `LockedDatabase.given`, which evaluates each expression only once and only if it must."""
        unguarded = of_all_rows(expanded)
        if isinstance(unguarded, _GIVE_NUMBERS) or self._reads_texts(unguarded):
            return True, []
        tables = tables_of(expanded)
        if len(tables) > 1 or expanded.find(exp.Placeholder):
            return False, []  # it cannot be evaluated
        key = _sql(expanded), "".join(tables)
        if key not in self._computed:
            self._computed[key] = self._loaded.given(*key)
        return self._computed[key]

    def _reads_texts(self, expanded: Expr) -> bool:
        if isinstance(expanded, exp.Cast):
            return expanded.to.this in exp.DataType.NUMERIC_TYPES
        return self._notation(expanded) is not None

    def _notation(self, expanded: Expr) -> Notation | None:
        if isinstance(expanded, exp.Column):
            return self._loaded.notation(expanded.table, expanded.name)
        return None


def _sql(node: Expr) -> str:
    return node.sql(dialect="sqlite")


def _text_of(alternatives: Alternatives) -> str | None:
    if len(alternatives) == 1 and alternatives[0].is_string:
        return alternatives[0].name
    return None


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


def _is_meant_as_text(expanded: Expr) -> bool:
    joined = expanded.unnest()
    return isinstance(joined, exp.DPipe) and _text_of([joined.expression]) == ""


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


def _check_nested(one: _Values, other: _Values) -> None:
    """Refuse to compare a column of objects or lists with texts that are none."""
    # Most columns end this at their first value; a list of them would be made for each comparison.
    if not one.is_column or one.has_numbers:
        return
    if not all(map(is_nested, filter(is_filled, one.texts))):
        return
    others = other.filled
    if one.filled and others and not any(map(is_nested, others)):
        _refuse_nested(one, f"compared with {shown(others[0])} here")


def _refuse_nested(values: _Values, use: str) -> None:
    """Raise an error that says how to read the members of objects and lists."""
    name = values.name
    raise InvalidQueryError(
        f"{name} is {use}, and holds JSON such as {shown(values.filled[0])}: "
        f"write {name} ->> '$.member', or look into it with json_each({name})"
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
