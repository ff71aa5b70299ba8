"""Whose memories: the scope that every read and write carries."""

from __future__ import annotations

from dataclasses import dataclass, fields

from memory_context.exceptions import InvalidScopeError

MAX_NAME = 255
DETAIL = "detail"


@dataclass(frozen=True, slots=True)
class Scope:
    """A user, and what narrows their memories further.

    Attributes:
        user_id: The tenant. Nobody else's memories are ever read or written. An integer is taken as its text.
        agent_id: Only what this agent made.
        thread_id: Only what was made in this conversation.
        tier: Only this tier (``detail``, ``run``, ``session``, …).
        tier_id: Only this run, session, plan, task or project of the tier.

    Raises:
        InvalidScopeError: No user, or a name that no database column can hold.
    """

    user_id: str
    agent_id: str | None = None
    thread_id: str | None = None
    tier: str | None = None
    tier_id: str | None = None

    def __post_init__(self) -> None:
        """Check every name, and turn integers into text."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None or field.name == "user_id":
                object.__setattr__(self, field.name, _name(field.name, value))

    def narrowed(self) -> dict[str, str]:
        """The columns that a record of this scope must match, user first."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _name(field: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**MAX_NAME:
        return str(value)
    if not isinstance(value, str):
        message = f"{field} must be a text or an integer of at most {MAX_NAME} digits, not a {type(value).__name__}"
        raise InvalidScopeError(message)
    if not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        message = f"{field} must have 1 to {MAX_NAME} printable characters, not {value[:80]!r}"
        raise InvalidScopeError(message)
    return value
