"""Filters, scopes and orders as SQL conditions with the same meaning on SQLite and PostgreSQL.

This module decides how texts are compared, and where nulls are sorted. The *shape* of a scope or of filters is
everything about them but their values: a statement is made once for a shape, and executed with different values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, cast
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import InvalidFilterError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import is_too_large, shown
from memory_context.model.item import is_storable
from memory_context.model.json_object import members_of
from memory_context.model.scope import OPEN_TIERS, Scope
from memory_context.stores.protocol import Filters
from memory_context.stores.sql.json_fields import is_endless, may_match
from memory_context.stores.sql.schema import IS_ACTIVE, Condition, Conditions, memories

# The number of scopes whose conditions are kept.
SCOPES = 1000
# Lists of up to so many values are padded to a power of two. Longer ones are not: a database limits how many there may be.
MOST_PADDED = 4096


def _under(column: sa.ColumnElement[Any], path: object) -> Condition:
    """Match *path* and everything below it. The column must be sorted by code point.

    LIKE cannot be used, because on SQLite it ignores case.
    """
    start = sa.func.rtrim(path, "/", type_=sa.Text)
    # One range, which an index can look up. It also contains paths such as `path-2` and `path.old`.
    after_all_below = start + "0"  # 0 follows / in ASCII
    in_range = (column >= start) & (column < after_all_below)
    is_path = column == start
    is_below = column >= start + "/"
    return in_range & (is_path | is_below)


def _contains(column: sa.ColumnElement[Any], text: object, dialect: str) -> Condition:
    """Match values that contain *text*. For contents, also match bytes that contain it in UTF-8."""
    stored = memories.c.content_bytes
    if dialect == "sqlite":
        # Without the coercion SQLAlchemy would bind the text as bytes, because of the cast.
        data = sa.cast(sa.type_coerce(text, sa.Text), sa.LargeBinary)
        in_text = sa.func.instr(column, text)
        in_bytes = sa.func.instr(stored, data)
    else:
        utf_8 = sa.func.convert_to(text, "UTF8", type_=sa.LargeBinary)
        in_text = sa.func.strpos(column, text)
        in_bytes = sa.func.position(utf_8.op("IN")(stored))
    if column is not memories.c.content:
        return in_text > 0
    return sa.func.coalesce(in_text, in_bytes) > 0


_OPERATORS: dict[str, Callable[[sa.ColumnElement[Any], Any], Condition]] = {
    "$eq": operator.eq,
    # Also true for null, as Python's ``!=`` is for None; SQL's ``<>`` is not.
    "$ne": sa.ColumnElement[Any].is_distinct_from,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$under": _under,
}
_ORDERED = {"$gt", "$gte", "$lt", "$lte", "$under"}
_FOR_TEXTS = {"$under": "a path", "$contains": "a text"}
_LISTS = (list, tuple, set, frozenset)
_NOT_FILTERED = {"content", "content_bytes", "content_metadata"}
COLUMNS = {column.name: column for column in memories.c if column.name not in _NOT_FILTERED}
COUNTED = ("token_count", "char_count", "line_count")
_KINDS = {
    str: "a text without NUL bytes and lone surrogates",
    bool: "True or False",
    float: "a number",
    int: "a whole number",
    UUID: "a UUID",
    datetime: "a datetime with a time zone",
}


def matching(
    scope: Scope, filters: Filters | None, dialect: str, hidden: Collection[str] = ()
) -> list[Condition]:
    """Return the conditions for the records of *scope* that match *filters*.

    Only active records match, unless *filters* say otherwise.

    Raises:
        InvalidFilterError: There is no such column or operator, the column cannot hold the value, or the column is
            *hidden* by the store's codec.
    """
    return [*within(scope), *_conditions_of(filters or {}, dialect, hidden)]


def _conditions_of(filters: Filters, dialect: str, hidden: Collection[str]) -> list[Condition]:
    conditions: list[Condition] = []
    if "is_active" not in filters:
        conditions.append(IS_ACTIVE)
    for name, wanted in filters.items():
        _check_readable(name, hidden)
        if name == "tags":
            conditions.append(_has_tag(wanted, dialect))
        elif name == "content":
            conditions.append(_content_condition(wanted, dialect))
        else:
            conditions.append(_condition(column_named(name), wanted, dialect))
    return conditions


def within(scope: Scope) -> Conditions:
    """Return the conditions for the records of *scope*."""
    # Checked before the cache is used, because something that is not a scope may not be hashable.
    check_arguments(scope=scope)
    return _within(scope)


@lru_cache(maxsize=SCOPES)
def _within(scope: Scope) -> Conditions:
    shape, values = shape_of(scope)
    return shape.conditions(values.__getitem__)


def checked_last(conditions: Conditions) -> Condition:
    """Return one condition for all of *conditions*, which SQLite evaluates after those beside it.

    Inside a CASE, SQLite cannot use an index for them. Otherwise it might read a whole tier by an index, although only
    a few ids or chunks have to be looked up.
    """
    all_hold = sa.and_(sa.true(), *conditions)
    return sa.case((all_hold, 1), else_=0) == 1


class ScopeShape(NamedTuple):
    """The conditions of a scope without their values: the key by which statements are kept.

    Attributes:
        columns: The columns that must have a given value.
        places: The number of `Scope.places`; None if the scope sees all places.
    """

    columns: tuple[str, ...]
    places: int | None

    def conditions(self, value_of: Callable[[str], Any] = sa.bindparam) -> list[Condition]:
        """Return the conditions, with the value that *value_of* returns for each name of `shape_of`.

        By default that is a bound parameter of this name.
        """
        conditions: list[Condition] = [
            memories.c[name] == value_of(f"scope_{name}") for name in self.columns
        ]
        if self.places is None:
            return conditions
        # The same rule as `Scope.sees`. Without an IN: `Prepared` statements cannot have one.
        in_sight: list[Condition] = [memories.c.tier_id.is_(None)]
        in_sight += (memories.c.tier == tier for tier in OPEN_TIERS)
        for number in range(self.places):
            is_tier = memories.c.tier == value_of(f"open_tier_{number}")
            is_place = memories.c.tier_id == value_of(f"open_id_{number}")
            in_sight.append(is_tier & is_place)
        return [*conditions, sa.or_(*in_sight)]


def shape_of(scope: Scope) -> tuple[ScopeShape, dict[str, str]]:
    """Return the shape of *scope*, and the values to execute its conditions with."""
    check_arguments(scope=scope)
    narrowed = scope.narrowed()
    columns = tuple(narrowed)
    values = {f"scope_{name}": value for name, value in narrowed.items()}
    if scope.places is None:
        return ScopeShape(columns, None), values
    for number, (tier, tier_id) in enumerate(sorted(scope.places)):
        values[f"open_tier_{number}"] = tier
        values[f"open_id_{number}"] = tier_id
    return ScopeShape(columns, len(scope.places)), values


@dataclass(frozen=True, slots=True)
class FilterShape:
    """The conditions of filters without their values: the key by which statements are kept.

    Attributes:
        text: The filters as text, with the kind of each value in its place. Either all values of a kind are valid, or
            none is.
        filters: An example of filters with this shape.
    """

    text: str
    filters: Filters = field(compare=False)

    def bound(self) -> Filters:
        """Return the filters with bound parameters, to be executed with the values of `shape_of_filters`."""
        numbers = count()

        def placeholder(value: object) -> sa.BindParameter[Any]:
            kind = sa.Text() if isinstance(value, str) else None
            return sa.bindparam(f"value_{next(numbers)}", type_=kind)

        bound: Filters = _with_leaves(self.filters, placeholder)
        return bound


def conditions_by_shape(
    scope: ScopeShape, filters: FilterShape, dialect: str, hidden: Collection[str]
) -> list[Condition]:
    """Return the conditions as `matching` does, to be executed with the values of `shape_of` and `shape_of_filters`."""
    _conditions_of(filters.filters, dialect, hidden)  # checks the values
    of_filters = _conditions_of(filters.bound(), dialect, hidden)
    return [*scope.conditions(), *of_filters]


def shape_of_filters(filters: Filters) -> tuple[FilterShape, dict[str, Any]]:
    """Return the shape of *filters*, and the values to execute its conditions with."""
    values: dict[str, Any] = {}

    def kind_of(value: Any) -> object:  # noqa: ANN401 - whatever a caller gives
        values[f"value_{len(values)}"] = value
        is_valid = not is_endless(value)
        if isinstance(value, str):
            is_valid = is_storable(value)
        is_valid &= not is_too_large(value)
        has_zone = getattr(value, "tzinfo", None) is not None
        return value.__class__, is_valid, has_zone

    return FilterShape(repr(_with_leaves(filters, kind_of)), filters), values


def _with_leaves(wanted: Any, leaf: Callable[[Any], object]) -> Any:  # noqa: ANN401 - filters, or a part of them
    """Return filters in which each value other than None is replaced by what *leaf* returns for it."""
    if isinstance(wanted, Mapping):
        parts = cast("Mapping[str, object]", wanted)
        return {name: _with_leaves(part, leaf) for name, part in parts.items()}
    if isinstance(wanted, _LISTS):
        return [_with_leaves(one, leaf) for one in cast("Iterable[object]", wanted)]
    if wanted is None:
        return None
    return leaf(wanted)


def _check_readable(name: str, hidden: Collection[str]) -> None:
    """Raise InvalidFilterError if the store's codec has *hidden* the column *name*."""
    if name in hidden:
        raise InvalidFilterError(
            f"{name} is encoded in this store; filter and order by other columns, or search"
        )


def column_named(name: str) -> sa.Column[Any]:
    """Return the column *name*.

    Raises:
        InvalidFilterError: There is no such column, or it cannot be filtered by.
    """
    if name not in COLUMNS:
        raise InvalidFilterError(
            f"no column {name!r} to filter or order by; there are {', '.join(COLUMNS)}"
        )
    return COLUMNS[name]


def order_of(
    order_by: str, dialect: str, hidden: Collection[str] = (), *, by_index: bool = True
) -> tuple[sa.ColumnElement[Any], ...]:
    """Return the expressions to order by: the column, largest first and nulls last, then the id.

    With ``-`` before the column's name the order is reversed. If *by_index* is false, the database cannot use an index
    for the order: it selects the rows first, and then sorts them.

    Raises:
        InvalidFilterError: There is no such column.
    """
    name = order_by.removeprefix("-")
    _check_readable(name, hidden)
    column = column_named(name)
    if column.name == "tags":
        raise InvalidFilterError("memories cannot be ordered by their tags")
    ordered = _by_code_points(column, dialect)
    if not by_index:
        ordered = sa.func.coalesce(ordered, sa.null())
    if order_by.startswith("-"):
        order = ordered.asc()
        if column.nullable:
            order = order.nulls_first()
        return order, memories.c.id
    order = ordered.desc()
    if column.nullable:
        order = order.nulls_last()
    return order, memories.c.id.desc()


def _by_code_points(column: sa.Column[Any], dialect: str) -> sa.ColumnElement[Any]:
    """Return *column* with its texts ordered by code point.

    SQLite does this by default. PostgreSQL orders by the database's locale.
    """
    if dialect == "postgresql" and isinstance(column.type, sa.Text):
        return column.collate("C")
    return column


def counted_column(name: str) -> sa.Column[Any]:
    """Return the column *name*.

    Raises:
        InvalidFilterError: There is no such column, or it cannot be summed up.
    """
    if name not in COUNTED:
        raise InvalidFilterError(f"no column {name!r} to sum up; there are {', '.join(COUNTED)}")
    return COLUMNS[name]


def _condition(column: sa.Column[Any], wanted: object, dialect: str) -> Condition:
    if isinstance(wanted, Mapping):
        operators = cast("Mapping[object, object]", wanted).items()
        compared = [_compared(column, name, value, dialect) for name, value in operators]
        return sa.and_(sa.true(), *compared)  # without operators everything matches
    if isinstance(wanted, _LISTS):
        return _one_of(column, cast("Iterable[object]", wanted), dialect)
    return column == _checked(column, wanted)


def _one_of(column: sa.Column[Any], wanted: Iterable[object], dialect: str) -> Condition:
    listed: list[object] = []
    others: list[Condition] = []
    for one in wanted:
        if one is None or isinstance(one, Mapping):
            others.append(_condition(column, cast("object", one), dialect))
        else:
            listed.append(_checked(column, one))
    # Not an IN with an empty list, which would be evaluated for each row.
    if listed:
        # Drivers keep the statement of each length: some 800 KB for 2,000 keys of a long conversation.
        spare = min(1 << (len(listed) - 1).bit_length(), MOST_PADDED) - len(listed)
        listed += listed[-1:] * spare
        others.append(column.in_(listed))
    return sa.or_(sa.false(), *others)


def _content_condition(wanted: object, dialect: str) -> Condition:
    """Return the condition for contents that contain a text (``$contains``).

    Within this library, ``$fields`` with operators for the fields of a JSON content can be used instead. It matches more
    than it should, and the caller checks the records that it finds (see `json_fields`).

    Raises:
        InvalidFilterError: Any other operator.
    """
    operators = members_of(wanted)
    fields = operators.get("$fields")
    if isinstance(fields, Mapping):
        limits = cast("Mapping[object, object]", fields).items()
        return sa.and_(sa.true(), *(may_match(name, limit, dialect) for name, limit in limits))
    if list(operators) != ["$contains"]:
        raise InvalidFilterError(
            f"content can only be filtered by a text that it contains: {{'$contains': 'a text'}}, not {wanted!r:.80}"
        )
    return _compared(memories.c.content, "$contains", operators["$contains"], dialect)


def _is_text(value: object) -> bool:
    """Return whether *value* is a text, or a bound parameter for one that was checked already."""
    return isinstance(value, str | sa.BindParameter)


def _compared(column: sa.Column[Any], name: object, value: object, dialect: str) -> Condition:
    if name not in _OPERATORS and name != "$contains":
        raise InvalidFilterError(
            f"no operator {name!r}; there are {', '.join(_OPERATORS)}, $contains"
        )
    takes = _FOR_TEXTS.get(str(name))
    are_texts = _is_text(value) and isinstance(column.type, sa.Text)
    if takes and not are_texts:
        raise InvalidFilterError(
            f"{name} takes {takes}, for a column with texts; not {value!r:.80} for {column.name}"
        )
    if value is None and name in _ORDERED:
        raise InvalidFilterError(
            f"operators of order do not take None; memories without {column.name} match {{{column.name!r}: None}}"
        )
    checked = _checked(column, value)
    if name == "$contains":
        return _contains(column, checked, dialect)
    compare = _OPERATORS[str(name)]
    if name in _ORDERED:
        return compare(_by_code_points(column, dialect), checked)
    return compare(column, checked)


def _checked(column: sa.Column[Any], value: object) -> object:
    """Return *value* if it can be compared with the column on either database.

    Raises:
        InvalidFilterError: It cannot be compared.
    """
    if isinstance(value, sa.BindParameter):
        # From `FilterShape.bound`; its value is checked already.
        return sa.bindparam(value.key, type_=column.type)
    if value is None:
        return None
    kind = column.type.python_type
    fits = isinstance(value, kind)
    if isinstance(value, bool):
        fits = kind is bool  # for Python a bool is an int as well
    elif isinstance(value, int):
        fits = kind in (int, float) and not is_too_large(value)
    elif isinstance(value, str):
        fits &= is_storable(value)
    # Without a time zone, the same value would be another point in time on another machine.
    elif isinstance(value, datetime):
        fits &= value.tzinfo is not None
    if not fits:
        raise InvalidFilterError(f"{column.name} is filtered by {_KINDS[kind]}, not {shown(value)}")
    return value


def _has_tag(wanted: object, dialect: str) -> Condition:
    """Match records that have the tag, or at least one of the tags."""
    words = [wanted]
    if isinstance(wanted, _LISTS):
        words = list(cast("Iterable[object]", wanted))
    if not all(map(_is_word, words)):
        raise InvalidFilterError(
            f"tags are filtered by a word or a list of words, not {wanted!r:.80}"
        )
    if not words:
        return sa.false()
    each = sa.func.json_each if dialect == "sqlite" else sa.func.jsonb_array_elements_text
    elements = each(memories.c.tags).table_valued(sa.column("value", sa.Text))
    value = elements.c.value
    return sa.exists(sa.select(value).where(value.in_(words)))


def _is_word(word: object) -> bool:
    if isinstance(word, str):
        return is_storable(word)
    return isinstance(word, sa.BindParameter)
