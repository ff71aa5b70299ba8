"""Parse the options of `list` and `search` that select memories, and turn them into a store's filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_context.exceptions import InvalidArgumentError

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d{1,6})([mhdw])")  # 7d


def read_filters(
    types: Sequence[str] | None,
    tier: str | None,
    category: str | None,
    tags: Sequence[str] | None,
    thread: str | None,
    since: str | None,
    until: str | None,
) -> dict[str, Any]:
    """Return the store's filters for these options.

    Raises:
        InvalidArgumentError: A time cannot be parsed, or *since* is not before *until*.
    """
    from memory_context.memory.filters_from_keywords import search_filters

    return search_filters(
        types=types or None,
        tier=tier,
        category=category,
        tags=tags or None,
        thread=thread,
        **period(since, until),
    )


def period(since: str | None, until: str | None) -> dict[str, Any]:
    """Return the filters for the options `--since` and `--until`.

    Raises:
        InvalidArgumentError: A time cannot be parsed, or *since* is not before *until*.
    """
    begin = moment(since) if since else None
    end = moment(until) if until else None
    if begin and end and begin >= end:
        raise InvalidArgumentError(f"--since {since} must be before --until {until}")
    return {"since": begin, "until": end}


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
