"""Filters as SQL, alike on every database: how texts compare, and where nulls stand, is said here."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias, cast
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import InvalidFilterError
from memory_context.model.item import is_storable
from memory_context.model.scope import OPEN_TIERS, Place, Scope
from memory_context.stores.protocol import Filters
from memory_context.stores.sql.schema import UTCDateTime, memories

Condition: TypeAlias = sa.ColumnElement[bool]


def _under(column: sa.ColumnElement[Any], path: str) -> Condition:
    """Whether a path is `path` or below it. Not LIKE, which on SQLite takes small letters for capitals."""
    below = path.rstrip("/") + "/"
    return (column == below[:-1]) | (sa.func.substr(column, 1, len(below)) == below)


def _differs(column: sa.ColumnElement[Any], value: object) -> Condition:
    """Nothing is not equal to a value, as in Python."""
    return column.is_distinct_from(value)


_OPERATORS: dict[str, Callable[[sa.ColumnElement[Any], Any], Condition]] = {
    "$eq": operator.eq,
    "$ne": _differs,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$under": _under,
}
_FOR_NULL = {"$eq", "$ne"}
_LISTS = (list, tuple, set, frozenset)
_NOT_FILTERED = {"content", "content_bytes", "content_metadata"}
COLUMNS = {column.name: column for column in memories.c if column.name not in _NOT_FILTERED}
COUNTED = ("token_count", "char_count", "line_count")
_ELEMENTS = {"sqlite": "json_each", "postgresql": "jsonb_array_elements_text"}
_KINDS: dict[type[Any], tuple[type[Any] | tuple[type[Any], ...], str]] = {
    sa.Text: (str, "a text without NUL bytes and lone surrogates"),
    sa.Boolean: (bool, "True or False"),
    sa.Float: ((int, float), "a number"),
    sa.BigInteger: (int, "a whole number"),
    sa.Uuid: (UUID, "a UUID"),
    UTCDateTime: (datetime, "a datetime with a time zone"),
}


def conditions(filters: Filters | None, dialect: str) -> Iterator[Condition]:
    """One condition for each filter.

    Raises:
        InvalidFilterError: A column or an operator that there is not, or a value that the column cannot hold.
    """
    for name, wanted in (filters or {}).items():
        yield (
            _has_tag(wanted, dialect)
            if name == "tags"
            else _condition(column_named(name), wanted, dialect)
        )


def within(scope: Scope) -> Iterator[sa.ColumnElement[bool]]:
    """What the records of a scope must meet."""
    yield from (memories.c[name] == value for name, value in scope.narrowed().items())
    if scope.places is not None:
        yield in_sight(scope.places)


def in_sight(places: Iterable[Place]) -> sa.ColumnElement[bool]:
    """Whether a record is not behind a wall: `Scope.sees`, in SQL."""
    ids: dict[str, list[str]] = {}
    for tier, tier_id in sorted(places):
        ids.setdefault(tier, []).append(tier_id)
    open_ids = (
        sa.and_(memories.c.tier == tier, memories.c.tier_id.in_(listed))
        for tier, listed in ids.items()
    )
    return sa.or_(memories.c.tier_id.is_(None), memories.c.tier.in_(OPEN_TIERS), *open_ids)


def column_named(name: str) -> sa.Column[Any]:
    """The column that can be filtered by.

    Raises:
        InvalidFilterError: There is none of that name.
    """
    if name not in COLUMNS:
        message = f"no column {name!r} to filter or order by; there are {', '.join(COLUMNS)}"
        raise InvalidFilterError(message)
    return COLUMNS[name]


def order_of(order_by: str, dialect: str) -> tuple[sa.ColumnElement[Any], ...]:
    """Largest first, nothing last; ``-`` before the column's name turns that round. Equal ones by their ids.

    Raises:
        InvalidFilterError: There is no such column.
    """
    column = column_named(order_by.removeprefix("-"))
    if column.name == "tags":
        message = "memories cannot be ordered by their tags"
        raise InvalidFilterError(message)
    ordered = _ordered(column, dialect)
    if order_by.startswith("-"):
        return (ordered.asc().nulls_first() if column.nullable else ordered.asc()), memories.c.id
    return (
        ordered.desc().nulls_last() if column.nullable else ordered.desc()
    ), memories.c.id.desc()


def _ordered(column: sa.Column[Any], dialect: str) -> sa.ColumnElement[Any]:
    """The column, its texts in the order of their code points, as SQLite has them."""
    return (
        column.collate("C")
        if dialect == "postgresql" and isinstance(column.type, sa.Text)
        else column
    )


def counted_column(name: str) -> sa.Column[Any]:
    """The column that can be summed up.

    Raises:
        InvalidFilterError: `name` is none.
    """
    if name not in COUNTED:
        message = f"no column {name!r} to sum up; there are {', '.join(COUNTED)}"
        raise InvalidFilterError(message)
    return COLUMNS[name]


def type_of(name: str) -> type:
    """The Python type of a column's values.

    Raises:
        InvalidFilterError: There is none of that name.
    """
    kind = column_named(name).type
    return (
        kind.impl_instance.python_type
        if isinstance(kind, sa.types.TypeDecorator)
        else kind.python_type
    )


def _condition(column: sa.Column[Any], wanted: object, dialect: str) -> Condition:
    if isinstance(wanted, Mapping):
        operators = cast("Mapping[object, object]", wanted)
        return sa.and_(
            sa.true(),
            *(_compared(column, name, value, dialect) for name, value in operators.items()),
        )
    if isinstance(wanted, _LISTS):
        values = list(cast("Iterable[object]", wanted))
        some = column.in_([_checked(column, value) for value in values if value is not None])
        return some | column.is_(None) if None in values else some
    return column == _checked(column, wanted)


def _compared(column: sa.Column[Any], name: object, value: object, dialect: str) -> Condition:
    if name not in _OPERATORS:
        message = f"no operator {name!r}; there are {', '.join(_OPERATORS)}"
        raise InvalidFilterError(message)
    if name == "$under" and not (isinstance(value, str) and isinstance(column.type, sa.Text)):
        message = f"$under takes a path, of a column with texts; not {value!r:.80} of {column.name}"
        raise InvalidFilterError(message)
    if value is None and name not in _FOR_NULL:
        message = f"nothing is less or more than None; for memories without {column.name}: {{{column.name!r}: None}}"
        raise InvalidFilterError(message)
    compared = column if name in _FOR_NULL or name == "$under" else _ordered(column, dialect)
    return _OPERATORS[str(name)](compared, _checked(column, value))


def _checked(column: sa.Column[Any], value: object) -> object:
    """`value`, which every database can compare with the column."""
    kind, right = next(found for type_, found in _KINDS.items() if isinstance(column.type, type_))
    fits = value is None or (
        isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    )
    fits = fits and (not isinstance(value, str) or is_storable(value))
    if not fits or (isinstance(value, datetime) and value.tzinfo is None):
        message = f"{column.name} is filtered by {right}, not {value!r:.80}"
        raise InvalidFilterError(message)
    return value


def _has_tag(wanted: object, dialect: str) -> Condition:
    several = isinstance(wanted, _LISTS)
    words = list(cast("Iterable[object]", wanted)) if several else [wanted]
    if not all(isinstance(word, str) and is_storable(word) for word in words):
        message = f"tags are filtered by a word or a list of words, not {wanted!r:.80}"
        raise InvalidFilterError(message)
    elements = getattr(sa.func, _ELEMENTS[dialect])(memories.c.tags).table_valued("value")
    return sa.exists(sa.select(elements.c.value).where(elements.c.value.in_(words)))
