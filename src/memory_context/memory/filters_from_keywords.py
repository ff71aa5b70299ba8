"""Turn the keywords that `search` and `get` take into filters of a store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import with_zone
from memory_context.stores import Filters

ANY_STATE = {"is_active": [True, False]}
# The last character of Unicode: whatever begins with a text sorts before that text followed by this character.
LAST_CHARACTER = "\U0010ffff"


def search_filters(
    filters: Filters | None = None,
    *,
    types: str | Iterable[str] | None = None,
    tier: str | Iterable[str] | None = None,
    category: str | None = None,
    tags: str | Iterable[str] | None = None,
    thread: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> dict[str, Any]:
    """Return the filters for the keywords, together with `filters`. A keyword of None filters nothing.

    A `category` is a path, and includes those below it. If it ends with ``*``, it includes all paths that begin with
    what is before that: ``project*`` includes ``project-context/rockets``.

    Raises:
        InvalidArgumentError: An argument has the wrong type, a time has no zone, or a column is in `filters` as well.
    """
    check_arguments(filters=filters, types=types, tier=tier, category=category, tags=tags)
    lists = {"memory_type": types, "tier": tier, "tags": tags}
    narrowed: dict[str, Any] = {
        column: as_list(names) for column, names in lists.items() if names is not None
    }
    if category is not None:
        narrowed["category"] = {"$under": category}
        if category.endswith("*"):
            narrowed["category"] = beginning_with(category.removesuffix("*"))
    if thread is not None:
        narrowed["thread_id"] = thread
    period = {"$gte": with_zone(since, "since"), "$lt": with_zone(until, "until")}
    limits = {operator: moment for operator, moment in period.items() if moment}
    if limits:
        narrowed["created_at"] = limits
    given = dict(filters or {})
    repeated = narrowed.keys() & given.keys()
    if repeated:
        raise InvalidArgumentError(
            f"{', '.join(sorted(repeated))} is an argument of its own; leave it out of filters"
        )
    return narrowed | given


def beginning_with(text: str) -> Filters:
    """Return the condition on a column for values that begin with *text*."""
    return {"$gte": text, "$lt": text + LAST_CHARACTER}


def as_list(names: str | Iterable[str] | None) -> list[str]:
    """Return the names as a list; a single text is one name, not its letters, and None is no name."""
    if names is None:
        return []
    if isinstance(names, str):
        return [names]
    return list(names)
