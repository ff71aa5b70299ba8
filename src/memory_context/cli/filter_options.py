"""Which memories: the options of `list` and `search` as filters of a store."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_context.exceptions import InvalidArgumentError, InvalidFilterError
from memory_context.stores.sql.filters import type_of

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d{1,6})([mhdw])")
_OPERATORS = {"=": "$eq", "!=": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_FILTER = re.compile(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What the memories must be; None is no restriction."""

    types: Sequence[str] | None = None
    tier: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    thread: str | None = None
    since: str | None = None
    until: str | None = None
    where: Sequence[str] | None = None

    def filters(self) -> dict[str, Any]:
        """As a store takes them.

        Raises:
            InvalidArgumentError: A time or a condition that cannot be read, or a column that is given twice.
            InvalidFilterError: There is no such column.
        """
        given = {name: value for name, value in self._options().items() if value}
        for name, wanted in map(condition, self.where or ()):
            known = given.get(name)
            if name in given and not (isinstance(known, dict) and not known.keys() & wanted.keys()):
                message = f"{name} is given twice"
                raise InvalidArgumentError(message)
            given[name] = {**known, **wanted} if isinstance(known, dict) else wanted
        return given

    def _options(self) -> dict[str, Any]:
        ends = {"$gte": self.since and moment(self.since), "$lt": self.until and moment(self.until)}
        return {
            "memory_type": list(self.types or ()),
            "tier": self.tier,
            "category": {"$under": self.category} if self.category else None,
            "tags": list(self.tags or ()),
            "thread_id": self.thread,
            "created_at": {name: end for name, end in ends.items() if end},
        }


def moment(text: str) -> datetime:
    """A time: ``2026-01-31``, ``2026-01-31T12:00`` (local time without a zone), or ``7d`` for seven days ago.

    Raises:
        InvalidArgumentError: It is none of these.
    """
    try:
        if age := _AGE.fullmatch(text):
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        message = f"a time reads 2026-01-31, 2026-01-31T12:00, 2026-01-31T12:00Z, or 30m, 24h, 7d, 2w ago, not {text!r}"
        raise InvalidArgumentError(message) from error


def condition(text: str) -> tuple[str, dict[str, Any]]:
    """A column, and what it must be: ``importance>=0.8``.

    Raises:
        InvalidFilterError: It cannot be read, or there is no such column.
    """
    match = _FILTER.fullmatch(text)
    if match is None:
        message = f"a filter reads COLUMN=VALUE, with = != < <= > >=, not {text!r}"
        raise InvalidFilterError(message)
    name, sign, value = match.groups()
    if name == "tags":
        message = "tags are given by --tag"
        raise InvalidFilterError(message)
    kind = type_of(name)
    try:
        return name, {_OPERATORS[sign]: _READERS.get(kind, kind)(value)}
    except (KeyError, ValueError) as error:
        message = f"{name} cannot be {value!r}: it is a {kind.__name__}"
        raise InvalidFilterError(message) from error


_READERS: dict[type, Callable[[str], Any]] = {
    bool: lambda text: _TRUTH[text.lower()],
    datetime: moment,
}
