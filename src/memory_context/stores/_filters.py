"""Filters as SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import sqlalchemy as sa

from memory_context._scopes import OPEN_TIERS, Place
from memory_context.exceptions import InvalidFilterError
from memory_context.stores._protocol import Filters
from memory_context.stores._schema import memories


def _under(column: sa.ColumnElement[Any], path: Any) -> sa.ColumnElement[bool]:  # noqa: ANN401 - a filter's value
    """Whether a path is `path` or below it. Not LIKE, which on SQLite takes small letters for capitals."""
    below = f"{path}".rstrip("/") + "/"
    return (column == below[:-1]) | (sa.func.substr(column, 1, len(below)) == below)


_OPERATORS: dict[str, Callable[[Any, Any], sa.ColumnElement[bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$under": _under,
}
_LISTS = (list, tuple, set, frozenset)
_NOT_FILTERED = {"content", "content_bytes", "content_metadata"}
COLUMNS = {column.name: column for column in memories.c if column.name not in _NOT_FILTERED}
_ELEMENTS = {"sqlite": "json_each", "postgresql": "jsonb_array_elements_text"}


def conditions(filters: Filters | None, dialect: str) -> Iterator[sa.ColumnElement[bool]]:
    """One condition for each filter.

    Raises:
        InvalidFilterError: A column or an operator that there is not.
    """
    for name, wanted in (filters or {}).items():
        yield _has_tag(wanted, dialect) if name == "tags" else _condition(column_named(name), wanted)


def in_sight(places: Iterable[Place]) -> sa.ColumnElement[bool]:
    """Whether a record is not behind a wall: `Scope.sees`, in SQL."""
    ids: dict[str, list[str]] = {}
    for tier, tier_id in sorted(places):
        ids.setdefault(tier, []).append(tier_id)
    open_ids = (sa.and_(memories.c.tier == tier, memories.c.tier_id.in_(listed)) for tier, listed in ids.items())
    return sa.or_(memories.c.tier_id.is_(None), memories.c.tier.in_(OPEN_TIERS), *open_ids)


def column_named(name: str) -> sa.Column[Any]:
    """The column that can be filtered and ordered by.

    Raises:
        InvalidFilterError: There is none of that name.
    """
    if name not in COLUMNS:
        message = f"no column {name!r} to filter or order by; there are {', '.join(COLUMNS)}"
        raise InvalidFilterError(message)
    return COLUMNS[name]


def _condition(column: sa.Column[Any], wanted: object) -> sa.ColumnElement[bool]:
    if isinstance(wanted, Mapping):
        operators = cast("Mapping[object, object]", wanted)
        return sa.and_(sa.true(), *(_operator(name)(column, value) for name, value in operators.items()))
    if isinstance(wanted, _LISTS):
        return column.in_(list(cast("Iterable[object]", wanted)))
    return column == wanted


def _operator(name: object) -> Callable[[Any, Any], sa.ColumnElement[bool]]:
    if name not in _OPERATORS:
        message = f"no operator {name!r}; there are {', '.join(_OPERATORS)}"
        raise InvalidFilterError(message)
    return _OPERATORS[str(name)]


def _has_tag(wanted: object, dialect: str) -> sa.ColumnElement[bool]:
    if not isinstance(wanted, (str, *_LISTS)):
        message = f"tags are filtered by a word or a list of words, not {wanted!r}"
        raise InvalidFilterError(message)
    words = [wanted] if isinstance(wanted, str) else list(cast("Iterable[str]", wanted))
    elements = getattr(sa.func, _ELEMENTS[dialect])(memories.c.tags).table_valued("value")
    return sa.exists(sa.select(elements.c.value).where(elements.c.value.in_(words)))
