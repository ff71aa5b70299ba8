"""Texts that a statement takes for numbers, and numbers that it takes for texts: SQLite would compare or add them anyhow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from sqlglot import exp

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.column_origins import ColumnOrigins, Origin
from memory_context.text.query.number_notation import Notation, is_filled, is_number, notation_of
from memory_context.text.rows.rows_under_columns import TextTable

LONGEST_CELL = 40
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)
_OF_NUMBERS = (*_ARITHMETIC, exp.Sum, exp.Avg, exp.Abs, exp.Round, exp.Ceil, exp.Floor)
_OF_ORDER = (exp.Max, exp.Min, exp.Greatest, exp.Least)
_OF_TRUTHS = (exp.Where, exp.Having, exp.And, exp.Or, exp.Not)
_OF_TEXTS = (exp.Like, exp.Glob, exp.Substring, exp.Lower, exp.Upper, exp.StrPosition)
_ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_COMPARED = (*_ORDERED, exp.EQ, exp.NEQ, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
# What CAST takes whole: no digits, or a number before anything that continues none, as in `12 (3m ago)`.
_CAST_TAKES = re.compile(
    r"[^0-9]*|\s*[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?![0-9.]|,[0-9]|['\u2019\s][0-9]{3}).*",
    re.DOTALL,
)
_STANDS_IN_NUMBERS = re.compile(r"[-0-9.e+]|^$")
_WITH_UNIT = re.compile(r"\s*[-+]?[0-9][0-9.,]*\s?[A-Za-zµ]{1,3}(?:/s)?\s*")
_MARK = re.compile(r"[^-0-9.\s]+")


class LoadedTables(Protocol):
    """The tables of a database, with what stands in them."""

    @property
    def tables(self) -> Mapping[str, TextTable]:
        """Those that the statement names."""
        ...

    def notation(self, table: str, column: str) -> Notation | None:
        """Return how a column writes the numbers that it holds; None for a column of texts."""
        ...

    def texts(self, table: str, column: str) -> Iterable[str]:
        """Return the cells of a column that are no numbers in the database."""
        ...

    def has_numbers(self, table: str, column: str) -> bool:
        """Return whether some cell of a column is a number in the database."""
        ...


_Check = Callable[[Origin, LoadedTables], None]


def check_numbers(statement: exp.Expr, loaded: LoadedTables) -> None:
    """Refuse ``sum(amount)`` and ``amount > 250`` where cells of ``amount`` are no numbers.

    Raises:
        InvalidQueryError: They are; or a column that is read as numbers is used as the texts it was written in.
    """
    origins = ColumnOrigins(loaded.tables)
    uses = dict[tuple[_Check, Origin], None]()
    for node in statement.walk():
        for column, check in _uses_in(node):
            uses.update(((check, origin), None) for origin in origins.of(column))
        for column, other in _ordered_pairs(node):
            if any(loaded.notation(*origin) for origin in origins.of(other)):
                uses.update(((_check_number, origin), None) for origin in origins.of(column))
    for check, origin in uses:
        check(origin, loaded)


def _uses_in(node: exp.Expr) -> Iterator[tuple[exp.Column, _Check]]:
    """Yield the columns that a node uses, with what holds for their cells then."""
    if isinstance(node, (*_OF_NUMBERS, *_OF_TRUTHS)) or _is_total(node):
        yield from _each(node.iter_expressions(), _check_number)
    elif isinstance(node, exp.If) and not _is_of_value(node):
        yield from _each([node.this], _check_number)
    elif isinstance(node, _OF_ORDER):
        yield from _each(node.iter_expressions(), _check_order)
    elif isinstance(node, exp.Cast) and _is_to_number(node):
        yield from _each([node.this], _check_cast)
    elif isinstance(node, _OF_TEXTS) or _replaces_in_numbers(node):
        yield from _each([node.this], _check_pattern)
    for one, other in _compared(node):
        if isinstance(other, exp.Literal) and other.is_string:
            yield from _each([one], partial(_check_text, other.name))
        elif _gives_number(other):
            yield from _each([one], _check_number)


def _each(nodes: Iterable[exp.Expr], check: _Check) -> Iterator[tuple[exp.Column, _Check]]:
    return ((column, check) for column in _columns(nodes))


def _ordered_pairs(node: exp.Expr) -> Iterator[tuple[exp.Column, exp.Column]]:
    """Yield columns of which a node tells which one is more, each way round."""
    if isinstance(node, (*_ORDERED, exp.Between)):
        for one, other in _compared(node):
            if isinstance(one, exp.Column) and isinstance(other, exp.Column):
                yield one, other


def _is_total(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "total"


def _is_of_value(node: exp.If) -> bool:
    """Return whether it is a branch of ``CASE ok WHEN 1``."""
    return isinstance(node.parent, exp.Case) and node.parent.this is not None


def _compared(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield what a node compares with what, each way round."""
    pairs = list[tuple[exp.Expr, exp.Expr]]()
    if isinstance(node, _COMPARED):
        pairs.append((node.this, node.expression))
    elif isinstance(node, exp.Between):
        pairs += [(node.this, node.args["low"]), (node.this, node.args["high"])]
    elif isinstance(node, exp.In):
        pairs += [(node.this, one) for one in node.expressions]
    elif isinstance(node, exp.Case) and node.this is not None:
        pairs += [(node.this, branch.this) for branch in node.args["ifs"]]
    for one, other in pairs:
        yield one.unnest(), other.unnest()
        yield other.unnest(), one.unnest()


def _gives_number(node: exp.Expr) -> bool:
    if isinstance(node, exp.Select):
        return any(_gives_number(output.unalias()) for output in node.expressions)
    if isinstance(node, exp.Cast):
        return _is_to_number(node)
    if isinstance(node, exp.Literal):
        return not node.is_string
    return isinstance(node, (*_OF_NUMBERS, exp.Boolean, exp.Count))


def _is_to_number(node: exp.Cast) -> bool:
    return node.to.this in exp.DataType.NUMERIC_TYPES


def _replaces_in_numbers(node: exp.Expr) -> bool:
    """Return whether a ``replace()`` leaves out what stands in numbers: a currency's sign is gone already, a point is not."""
    return isinstance(node, exp.Replace) and bool(_STANDS_IN_NUMBERS.search(node.expression.name))


def _columns(nodes: Iterable[exp.Expr]) -> Iterator[exp.Column]:
    """Yield the columns that give these values as they are."""
    for node in nodes:
        if isinstance(node, exp.Column):
            yield node
        elif isinstance(node, exp.Paren | exp.Distinct | exp.Coalesce):
            yield from _columns(node.iter_expressions())
        elif isinstance(node, exp.Case):
            branches = [branch.args.get("true") for branch in node.args["ifs"]]
            yield from _columns(filter(None, [*branches, node.args.get("default")]))
        elif isinstance(node, exp.If):
            yield from _columns(filter(None, [node.args.get("true"), node.args.get("false")]))
        elif isinstance(node, exp.Nullif | exp.Filter):
            yield from _columns([node.this])


def _check_number(origin: Origin, loaded: LoadedTables) -> None:
    texts = list(filter(is_filled, loaded.texts(*origin)))
    if texts:
        _, column = origin
        cell = _example(texts)
        raise InvalidQueryError(
            f"{column} is used as numbers here, and holds texts that are not all numbers in one notation, such as "
            f"{_short(cell)}: {_instead(column, texts)}; or compare it with a text, as {_short(cell)}"
        )


def _check_order(origin: Origin, loaded: LoadedTables) -> None:
    """Refuse the largest of texts of which some are numbers, or have a unit: 9 would be more than 10, 5ms than 12ms."""
    texts = list(filter(is_filled, loaded.texts(*origin)))
    if texts and (loaded.has_numbers(*origin) or any(map(_is_quantity, texts))):
        _, column = origin
        raise InvalidQueryError(
            f"{column} holds quantities in texts such as {_short(_example(texts))}, so that its largest and smallest "
            f"would be those of texts: {_instead(column, texts)}; or {column} || '', if texts are meant"
        )


def _is_quantity(text: str) -> bool:
    return is_number(text) or _WITH_UNIT.fullmatch(text) is not None


def _check_cast(origin: Origin, loaded: LoadedTables) -> None:
    texts = list(filter(is_filled, loaded.texts(*origin)))
    cell = next((text for text in texts if not _CAST_TAKES.fullmatch(text)), None)
    if cell is not None:
        _, column = origin
        raise InvalidQueryError(
            f"CAST would take {_short(cell)} in {column} for another number: {_instead(column, texts)}"
        )


def _check_pattern(origin: Origin, loaded: LoadedTables) -> None:
    """Refuse to look into cells for what they have in the text alone."""
    notation = loaded.notation(*origin)
    if notation is not None and not notation.is_plain:
        _, column = origin
        raise InvalidQueryError(
            f"{column} is read as a {notation.kind}: use it as it is, without patterns and functions of texts"
        )


def _check_text(text: str, origin: Origin, loaded: LoadedTables) -> None:
    """Refuse to compare ``$5`` with cells that are numbers in the database."""
    notation = loaded.notation(*origin)
    if notation is None or notation.is_plain or not is_filled(text):
        return
    written = notation_of([text])
    if written is None or not written.is_plain:
        number = "a number"
        if written is not None and written.of_truths == notation.of_truths:
            number = notation.numerals([text])[text]
        _, column = origin
        raise InvalidQueryError(
            f"{column} is read as a {notation.kind}: compare it with {number}, not with {_short(text)}"
        )


def _example(texts: list[str]) -> str:
    """Return one that is no number; else one that is none to SQLite; else the first."""
    for text in texts:
        if not is_number(text):
            return text
    for text in texts:
        if not _CAST_TAKES.fullmatch(text):
            return text
    return texts[0]


def _instead(column: str, texts: list[str]) -> str:
    """Say how to make numbers of texts: of what they begin with, or of what is left without a mark."""
    name = column if column.isidentifier() else f'"{column}"'
    strange = [text for text in texts if not _CAST_TAKES.fullmatch(text)]
    notation = notation_of(texts)
    if not strange and not (notation and notation.is_doubtful):
        return (
            f"write CASE WHEN {name} GLOB '*[0-9]*' THEN CAST({name} AS REAL) END, which takes the number at the "
            f"beginning alone"
        )
    cell = (strange or texts)[0]
    mark = (_MARK.findall(cell) or ["."])[0]
    if mark in ",.":
        decimals = name if mark == "." else f"replace({name}, ',', '.')"
        return (
            f"write CAST(replace({name}, '{mark}', '') AS REAL) if '{mark}' parts thousands, "
            f"CAST({decimals} AS REAL) if it is the decimal mark"
        )
    quoted = mark.replace("'", "''")
    return f"write CAST(replace({name}, '{quoted}', '') AS REAL), with a replace() for each mark that is no decimal point"


def _short(cell: str) -> str:
    text = " ".join(cell.split())
    return f"'{text[:LONGEST_CELL]}'"
