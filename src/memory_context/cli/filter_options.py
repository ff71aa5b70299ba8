"""Parse the options of `list` and `search` that select memories, and turn them into a store's filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_context.exceptions import InvalidArgumentError, InvalidFilterError

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d{1,6})([mhdw])")
_OPERATORS = {"=": "$eq", "!=": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_FILTER = re.compile(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)


def read_filters(
    types: Sequence[str] | None,
    tier: str | None,
    category: str | None,
    tags: Sequence[str] | None,
    thread: str | None,
    since: str | None,
    until: str | None,
    where: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the store's filters for these options.

    Raises:
        InvalidArgumentError: A time cannot be parsed, or a column is given twice.
        InvalidFilterError: A condition cannot be parsed, or there is no such column.
    """
    from memory_context.memory.filters_from_keywords import search_filters

    filters = search_filters(
        types=types or None,
        tier=tier,
        category=category,
        tags=tags or None,
        thread=thread,
        since=moment(since) if since else None,
        until=moment(until) if until else None,
    )
    for text in where or ():
        column, wanted = condition(text)
        earlier = filters.setdefault(column, {})
        # Two conditions on one column are allowed if their operators differ: >=0.2 and <0.5.
        if not isinstance(earlier, dict) or earlier.keys() & wanted.keys():
            raise InvalidArgumentError(f"{column} is given twice")
        filters[column] = {**earlier, **wanted}
    return filters


def moment(text: str) -> datetime:
    """Parse a time: ``2026-01-31``, ``2026-01-31T12:00`` (local time without a zone), or ``7d`` for seven days ago.

    Raises:
        InvalidArgumentError: It is none of these.
    """
    try:
        if age := _AGE.fullmatch(text):
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"{text!r} is not a time: give one such as 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00Z, or how long "
            "ago, such as 30m, 24h, 7d or 2w"
        ) from error


def condition(text: str) -> tuple[str, dict[str, Any]]:
    """Parse a condition on a column, such as ``importance>=0.8``, into the column and its filter.

    Raises:
        InvalidFilterError: It cannot be parsed, or there is no such column.
    """
    from pydantic import TypeAdapter

    from memory_context.stores.sql.filters_as_sql import column_named

    match = _FILTER.fullmatch(text)
    if match is None:
        raise InvalidFilterError(
            f"{text!r} is not a filter: give COLUMN=VALUE, or != < <= > >= in place of ="
        )
    name, sign, value = match.groups()
    if name == "tags":
        raise InvalidFilterError("use --tag to filter by tags")
    kind = column_named(name).type.python_type
    try:
        wanted = moment(value) if kind is datetime else TypeAdapter(kind).validate_python(value)
    except ValueError as error:
        raise InvalidFilterError(
            f"{name} is compared with a {kind.__name__}, not with {value!r}"
        ) from error
    return name, {_OPERATORS[sign]: wanted}
