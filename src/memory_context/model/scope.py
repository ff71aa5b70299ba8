"""The scope that every read and write carries: a user, and what narrows their memories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from memory_context.exceptions import InvalidScopeError
from memory_context.model.checked_numbers import is_whole, shown

MAX_NAME = 255
DETAIL = "detail"
OPEN_TIERS = (DETAIL, "memory", "conversation", "store")
"""Tiers whose ids only tell records apart. The ids of all other tiers also limit what is seen (`Scope.places`)."""

Place: TypeAlias = tuple[str, str]
UserId: TypeAlias = str | int | UUID


@dataclass(frozen=True, slots=True)
class Scope:
    """A user, and what narrows their memories further.

    Attributes:
        user_id: The tenant. Nobody else's memories are ever read or written. An integer or a UUID is taken as its text.
        agent_id: Only what this agent made.
        thread_id: Only what was made in this conversation.
        tier: Only this tier (``detail``, ``run``, ``session``, …).
        tier_id: Only this run, session, plan, task or project of the tier.
        places: The runs, sessions, plans, tasks and projects that are seen, as pairs of tier and id; None for all of
            the user's. Memories without such an id, and folded outputs, are always seen.

    Raises:
        InvalidScopeError: The user is missing, or a name does not fit a database column.
    """

    user_id: str
    agent_id: str | None = None
    thread_id: str | None = None
    tier: str | None = None
    tier_id: str | None = None
    places: frozenset[Place] | None = None

    def __post_init__(self) -> None:
        """Check every name, and turn integers and UUIDs into text."""
        for name in _COLUMNS:
            value = getattr(self, name)
            if value is not None or name == "user_id":
                object.__setattr__(self, name, checked_name(name, value))
        if self.places is not None:
            object.__setattr__(self, "places", checked_places(self.places))

    def narrowed(self) -> dict[str, str]:
        """Return the columns that a record of this scope must match, user first."""
        narrowed = dict[str, str]()
        for name in _COLUMNS:
            value = getattr(self, name)
            if value is not None:
                narrowed[name] = value
        return narrowed

    def sees(self, tier: str, tier_id: str | None) -> bool:
        """Return whether a memory of this tier and id is in one of the `places` that are seen."""
        is_open = tier_id is None or tier in OPEN_TIERS
        if is_open or self.places is None:
            return True
        return (tier, tier_id) in self.places


_DATABASE_URL = re.compile(r"(?:sqlite|postgres)[a-z0-9+]*://")
_COLUMNS = ("user_id", "agent_id", "thread_id", "tier", "tier_id")


def check_no_url(user_id: object) -> None:
    """Check the first argument of a class that takes the user first: with a URL there, it would open the default store.

    Raises:
        InvalidScopeError: It is a database's URL, which belongs in ``store=``.
    """
    if isinstance(user_id, str) and _DATABASE_URL.match(user_id):
        raise InvalidScopeError("user_id must not be a database's URL; give that as store=")


def checked_places(places: Iterable[Place]) -> frozenset[Place]:
    """Return the pairs of tier and id, with integers and UUIDs as text.

    Raises:
        InvalidScopeError: They are not such pairs, or a name does not fit a database column.
    """
    try:
        pairs = [(tier, tier_id) for tier, tier_id in places]
    except (TypeError, ValueError) as error:
        raise InvalidScopeError(
            f"places must be pairs of a tier and an id, such as ('run', 'r1'), not {shown(places)}"
        ) from error
    return frozenset(
        (checked_name("tier", tier), checked_name("tier_id", tier_id)) for tier, tier_id in pairs
    )


def checked_name(field: str, value: object) -> str:
    """Return the name *value*, for *field*, as text; integers and UUIDs are names, too.

    Raises:
        InvalidScopeError: It does not fit a database column.
    """
    is_short_number = is_whole(value) and abs(value) < 10**MAX_NAME
    if is_short_number or isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        raise InvalidScopeError(
            f"{field} must be a text, a UUID or an integer of at most {MAX_NAME} digits, not {type(value).__name__}"
        )
    if len(value) > MAX_NAME or not value.strip() or not value.isprintable():
        raise InvalidScopeError(
            f"{field} must have 1 to {MAX_NAME} printable characters, not {value[:80]!r}"
        )
    return value
