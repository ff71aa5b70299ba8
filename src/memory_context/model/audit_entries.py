"""The entries of the audit trail: who stored, recalled, expanded, passed on and deleted which memory, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, get_args

Action: TypeAlias = Literal["stored", "recalled", "expanded", "passed", "confirmed", "deleted"]
ACTIONS = get_args(Action)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit trail: what was done with a memory, without any of its content.

    Attributes:
        at: When, in UTC.
        user_id: The memory's owner.
        agent_id: The agent that did it, if it has a name.
        thread_id: The conversation in which it was done.
        memory_key: The memory's key.
        action: ``stored``: it was written, changed or moved to another tier. ``recalled``: a context brought it back by
            itself. ``expanded``: a model or a person read it, or found it by a search. ``passed``: its text went into
            another tool in place of a reference. ``confirmed``: a person vouched for it. ``deleted``: it was deleted for
            good.
    """

    at: datetime
    user_id: str
    agent_id: str | None
    thread_id: str | None
    memory_key: str
    action: Action
