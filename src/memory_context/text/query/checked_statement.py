"""Rewrite a statement so that SQLite passes the values through checks which it adds, compares, orders, casts or unites.

So only values on which the answer depends are checked, whichever functions and subqueries gave them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query import checked_values as checks
from memory_context.text.query.columns_of_a_statement import (
    ORDER,
    QualifiedStatement,
    is_constant,
    is_total,
    outputs,
)
from memory_context.text.query.numbers_and_missing_values import is_filled

if TYPE_CHECKING:
    from memory_context.text.query.sandboxed_database import LockedDatabase

FUNCTION: Final = "checked"
_OF_NUMBERS = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg),
    *(exp.Sum, exp.Avg, exp.Abs, exp.Round, exp.Ceil, exp.Floor),
    *(exp.Where, exp.Having, exp.And, exp.Or, exp.Not),
)
_GIVE_NUMBERS = (*_OF_NUMBERS, exp.Predicate, exp.Boolean, exp.Count)
_GIVE_TEXTS = (exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.DPipe, exp.TimeToStr)
_OF_EXTREMES = (exp.Max, exp.Min, exp.Greatest, exp.Least)
_OF_TEXTS = (exp.Like, exp.Glob, exp.Substring, exp.Lower, exp.Upper, exp.StrPosition)
_NAMES_OF_DATES = ("date", "datetime", "time", "julianday", "unixepoch", "strftime", "timediff")
_UNITS_OF_TIME = ("unixepoch", "auto", "julianday")
# In these places a string or number that equals a column's name is meant as this column. A year is so in any place.
_AGGREGATE = (exp.Count, exp.Sum, exp.Avg, exp.Max, exp.Min)
_NAME_TEXTS = (*_AGGREGATE, exp.Group, exp.Ordered)
_NAME_NUMBERS = (*_AGGREGATE, exp.Select, exp.Alias)
LEAST_YEAR = 4
_STANDS_IN_NUMBERS = re.compile(r"[-0-9.e+]|^$")
_TYPE_OF_TEXTS = re.compile("CHAR|CLOB|TEXT|BLOB", re.IGNORECASE)
_TYPE_OF_TIMES = re.compile("DATE|TIME", re.IGNORECASE)


def check_names(statement: exp.Expr, loaded: LockedDatabase) -> None:
    """Refuse ``sum(2024)`` and ``GROUP BY 'region'`` if there is such a column: SQLite would use the constant.

    Raises:
        InvalidQueryError: A constant is the name of a column.
    """
    columns = {column for table in loaded.tables.values() for column in table.columns}
    for literal in statement.find_all(exp.Literal):
        is_year = not literal.is_string and len(literal.name) >= LEAST_YEAR
        is_meant = is_year or isinstance(
            literal.parent, _NAME_TEXTS if literal.is_string else _NAME_NUMBERS
        )
        if is_meant and literal.name in columns:
            kind = "text" if literal.is_string else "number"
            raise InvalidQueryError(
                f'{literal.sql()} is a {kind} here; the column stands in double quotes: "{literal.name}"'
            )


class CheckedStatement:
    """Rewrites a statement, and checks the values that SQLite passes.

    Args:
        statement: The statement, which is changed.
        loaded: The database.

    Attributes:
        sql: The statement with calls of `check`, under the name `FUNCTION`.
    """

    def __init__(self, statement: QualifiedStatement, loaded: LockedDatabase) -> None:
        self._origins, self._loaded = statement.origins, loaded
        self._checks = list[Callable[..., Any]]()
        self._at_end = list[Callable[[], None]]()
        # Nothing is rewritten before all nodes are seen, because a call hides what stood there.
        self._calls = list[tuple[exp.Expr, exp.Expr]]()
        self._comparisons = list[tuple[exp.Expr, exp.Expr]]()
        for node in statement.tree.walk():
            self._look_at(node)
        for node, call in self._calls:
            node.replace(call)
            call.append("expressions", node)
        for node, call in self._comparisons:
            passed, _ = _compared(node)
            node.replace(call)
            call.set("expressions", [*call.expressions, *passed])
        self.sql = statement.tree.sql(dialect="sqlite")

    def check(self, place: int, *values: object) -> Any:  # noqa: ANN401 - whatever SQLite holds
        """Check values at one place of the statement, and return the one that SQLite is to use.

        Raises:
            InvalidQueryError: SQLite would return a wrong result.
        """
        return self._checks[place](*values)

    def check_all(self) -> None:
        """Check the values of each place together, once the statement has been run.

        Raises:
            InvalidQueryError: SQLite's result is wrong.
        """
        for check in self._at_end:
            check()

    def _pass(self, node: exp.Expr, check: Callable[..., Any], *others: exp.Expr) -> None:
        """Have SQLite pass the values of *others* and of *node* to *check*, and use what it returns for *node*."""
        self._calls.append((node, self._call(check, *others)))

    def _call(self, check: Callable[..., Any], *others: exp.Expr) -> exp.Expr:
        place = exp.Literal.number(len(self._checks))
        self._checks.append(check)
        return exp.Anonymous(this=FUNCTION, expressions=[place, *others])

    def _look_at(self, node: exp.Expr) -> None:
        if isinstance(node, _OF_EXTREMES):
            self._check_order(node, list(_arguments(node)))
        elif isinstance(node, exp.Ordered):
            self._check_order(node, _ordered(node))
        elif isinstance(node, exp.Cast):
            self._check_cast(node)
        elif isinstance(node, exp.SetOperation):
            self._check_united(node)
        elif isinstance(node, _OF_TEXTS) or _replaces_in_numbers(node) or _strips(node):
            self._check_pattern(node.this)
        for one in _used_as_numbers(node):
            if self._kind(one) is not float:
                number = partial(checks.number, self._named(one), is_cell=self._is_cell(one))
                self._pass(one, number)
        self._check_date(node)
        self._check_comparison(node)

    def _check_order(self, node: exp.Expr, values: list[exp.Expr]) -> None:
        if {self._kind(one) for one in values} == {float} or all(
            map(self._is_meant_as_text, values)
        ):
            return
        # Texts beside numbers sort after them. That is fine for a text that the statement puts in the place of NULL; but
        # in a descending order cells that are texts would come first, as if they were the largest.
        is_term = isinstance(node, exp.Ordered)
        takes_numbers = is_term and not (node.args.get("desc") and all(map(self._is_cell, values)))
        seen = checks.Values(self._named(values[0]))
        self._at_end.append(partial(seen.check_order, takes_numbers=takes_numbers))
        for one in values:
            self._pass(one, seen.see)

    def _check_cast(self, node: exp.Cast) -> None:
        name, kind = self._named(node.this), node.to.sql(dialect="sqlite")
        if _TYPE_OF_TIMES.match(kind):
            raise InvalidQueryError(
                f"SQLite has no type {kind}, and would make a number of {name}: compare the text, or date({name})"
            )
        if not _TYPE_OF_TEXTS.search(kind):
            self._pass(node.this, checks.CastTexts(name).number)

    def _check_united(self, node: exp.SetOperation) -> None:
        """Check the outputs of a UNION or the like if anything in the statement makes equal values one."""
        is_distinct = any(one.args["distinct"] for one in node.root().find_all(exp.SetOperation))
        if is_distinct or node.root().find(exp.Group, exp.Distinct, exp.Window):
            by_name = dict[str, list[exp.Expr]]()
            for name, one in outputs(node):
                by_name.setdefault(name, []).append(one)
            for ones in by_name.values():
                self._check_equal(ones)

    def _check_equal(self, ones: list[exp.Expr]) -> None:
        if len(kinds := set(map(self._kind, ones))) > 1 or None in kinds:
            united = [checks.Values(one.sql(dialect="sqlite")) for one in ones]
            self._at_end.append(partial(checks.check_equal, united))
            for one, values in zip(ones, united, strict=True):
                self._pass(one, values.see)

    def _check_pattern(self, node: exp.Expr) -> None:
        """Refuse patterns and text functions on a column of numbers that the database writes differently."""
        while isinstance(node, exp.Trim):
            node = node.this
        for column in self._origins(node):
            notation = self._loaded.notations.get((column.text("table"), column.name))
            if notation and (notation.is_rewritten or notation.drops_zeros):
                raise InvalidQueryError(
                    f"{column.name} is read as a {notation.kind}: "
                    "use it as it is, without patterns and functions of texts"
                )

    def _check_date(self, node: exp.Expr) -> None:
        is_named = isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES_OF_DATES
        if not (is_named or isinstance(node, exp.Date | exp.TimeToStr)):
            return
        is_format_first = is_named and node.name.lower() == "strftime"
        time, *modifiers = list(node.iter_expressions())[is_format_first:] or [exp.Null()]
        time = time.this if isinstance(time, exp.TsOrDsToTimestamp) else time
        # A difference of days may be any number.
        if "JULIANDAY(" not in time.sql(dialect="sqlite").upper():
            units = [one.copy() for one in modifiers if one.name.lower() in _UNITS_OF_TIME]
            date = exp.Anonymous(this="date", expressions=[time.copy(), *units])
            check = partial(checks.time, self._named(time), [one.name for one in units])
            self._pass(time, check, date)

    def _check_comparison(self, node: exp.Expr) -> None:
        passed, constants = _compared(node)
        values = [*passed, *constants]
        if not values or any(isinstance(one, exp.Null | exp.Boolean | exp.Tuple) for one in values):
            return
        if node.args.get("query"):
            if not any(map(self._reads_texts, values)):
                self._check_equal(values)
            return
        is_ordering = isinstance(node, ORDER)
        if any(isinstance(one, exp.Collate) for one in values):
            # SQLite compares them, because it knows the collation.
            compared = [one.this if isinstance(one, exp.Collate) else one for one in values]
            self._check_order(node, compared) if is_ordering else self._check_equal(compared)
            return
        looks_for_nothing = not all(is_filled(one.name) for one in constants)
        if not looks_for_nothing and self._are_alike(values, is_ordering=is_ordering):
            return
        names = ["" if is_constant(one) else self._named(one) for one in values]
        comparison = checks.ComparedValues(
            _FUNCTIONS[type(node)],
            names,
            [one.to_py() for one in constants],
            is_ordering=is_ordering,
            reads_texts=any(map(self._reads_texts, values)),
            takes_null=isinstance(node, _TAKE_NULL),
        )
        self._comparisons.append((node, self._call(comparison.result)))
        if is_ordering and not any(map(self._is_meant_as_text, values)):
            self._at_end.append(comparison.seen.check_order)
        nulls = (one.parent for one in node.root().find_all(exp.Null))
        asked = [one.this for one in nulls if isinstance(one, exp.Is)]
        if isinstance(node, exp.EQ | exp.In) and passed[0] not in asked:
            self._at_end.append(comparison.check_absent)

    def _are_alike(self, values: list[exp.Expr], *, is_ordering: bool) -> bool:
        """Return whether SQLite surely compares numbers with numbers, or asks whether texts are equal."""
        kinds = set(map(self._kind, values))
        if any(map(self._reads_texts, values)):
            kinds = {
                float if isinstance(one, exp.Column) and not is_ordering else self._kind(one)
                for one in values
                if not (one.is_string and checks.is_whole_number(one.name))
            }
        return kinds == {float} or (kinds == {str} and not is_ordering)

    # What is known of an expression

    def _kind(self, node: exp.Expr) -> type | None:
        """Return float if all values are surely numbers, str if all are surely texts, otherwise None."""
        kinds = set(map(self._kind_of_origin, self._origins(node)))
        return kinds.pop() if len(kinds) == 1 else None

    def _kind_of_origin(self, node: exp.Expr) -> type | None:
        if isinstance(node, exp.Column):
            return self._loaded.kinds.get((node.table, node.name))
        if isinstance(node, exp.Cast):
            return str if _TYPE_OF_TEXTS.search(node.to.sql(dialect="sqlite")) else float
        if isinstance(node, _GIVE_NUMBERS) or node.is_number or is_total(node):
            return float
        return str if isinstance(node, _GIVE_TEXTS) or node.is_string else None

    def _is_cell(self, node: exp.Expr) -> bool:
        """Return whether all values are unchanged cells of columns."""
        return all(
            (one.text("table"), one.name) in self._loaded.kinds for one in self._origins(node)
        )

    def _reads_texts(self, node: exp.Expr) -> bool:
        """Return whether SQLite makes a number of a text that it compares with a column or cast."""
        origins = [node, *self._origins(node)]
        return self._kind(node) is float and all(
            isinstance(one, exp.Column | exp.Cast) for one in origins
        )

    def _is_meant_as_text(self, node: exp.Expr) -> bool:
        """Return whether the statement appends ``|| ''`` to a text."""
        origins = [one.unnest() for one in self._origins(node)]
        return all(isinstance(one, exp.DPipe) and one.expression == _NOTHING for one in origins)

    def _named(self, node: exp.Expr) -> str:
        """Return the name of an expression for error messages: of a cell, that of its column."""
        copy = (self._origins(node)[-1] if self._is_cell(node) else node).copy()
        for column in copy.find_all(exp.Column):
            column.set("table", None)
        for name in copy.find_all(exp.Identifier):
            name.set("quoted", None)
        return copy.sql(dialect="sqlite")


def _compared(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return what a node compares: values that SQLite passes, and constants with which these are compared."""
    if type(node) not in _FUNCTIONS or node.args.get("field"):
        return [], []
    if query := node.args.get("query"):
        return [node.this, *(one for _, one in outputs(query))], []
    values = [
        one.unnest() if isinstance(one, exp.Paren) else one for one in node.iter_expressions()
    ]
    constants = list(filter(is_constant, values))
    if isinstance(node, ORDER) or len(constants) == len(values):
        return values, []
    return [one for one in values if not is_constant(one)], constants


def _used_as_numbers(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node, exp.If) or (
        isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean)
    ):
        return [node.this]
    is_used = isinstance(node, _OF_NUMBERS) or is_total(node)
    return _arguments(node) if is_used else ()


def _arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the arguments of a function, also if only distinct ones are used."""
    for one in node.iter_expressions():
        yield from one.expressions if isinstance(one, exp.Distinct) else [one]


def _ordered(node: exp.Ordered) -> list[exp.Expr]:
    """Return what gives the values of a term of ORDER BY: an output of each part of the query, or the term."""
    query = node.parent and node.parent.parent
    term = node.this.this if isinstance(node.this, exp.Collate) else node.this
    named = list[exp.Expr]()
    if isinstance(query, exp.Query) and isinstance(term, exp.Column) and not term.table:
        named = [one for name, one in outputs(query) if name == term.name]
    return named or [term]


def _strips(node: exp.Expr) -> bool:
    """Return whether a node is ``trim(amount, '$')``, for characters other than blanks."""
    return isinstance(node, exp.Trim) and node.expression is not None


def _replaces_in_numbers(node: exp.Expr) -> bool:
    """Return whether ``replace()`` is for a character that numbers in the database still have: a point, not ``$``."""
    return isinstance(node, exp.Replace) and bool(_STANDS_IN_NUMBERS.search(node.expression.name))


def _is_among(value: Any, *others: Any) -> bool:  # noqa: ANN401 - whatever SQLite holds
    return value in others


_FUNCTIONS: dict[type[exp.Expr], Callable[..., bool]] = {
    **dict.fromkeys((exp.EQ, exp.NullSafeEQ, exp.Is), operator.eq),
    **dict.fromkeys((exp.NEQ, exp.NullSafeNEQ), operator.ne),
    exp.In: _is_among,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_TAKE_NULL = (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
_NOTHING: Final = exp.Literal.string("")
