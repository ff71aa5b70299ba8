"""The turns of a conversation, kept in a store: ordered, and safe under threads and processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from memory_context._items import MemoryItem, hash_content
from memory_context._refs import one_line
from memory_context._scopes import Scope
from memory_context.exceptions import KeyExistsError
from memory_context.manager import MemoryManager

TIER = "conversation"
TYPE = "conversation"
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said, once.

    Attributes:
        role: Who: ``human``, ``ai``, ``tool``, …
        text: The words, with references in place of large texts.
        data: What else the message holds: an object of JSON.
        key: The memory that holds the turn; "" before it is stored.
    """

    role: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key: str = ""


class ConversationMemory:
    """The turns of one session of a user, in the order in which they were appended.

    Turns that are appended together are one memory, of the type and in the tier ``conversation``: one line of JSON for
    each. Whoever opens the same session on the same store finds them.

    Args:
        manager: The user's memories.
        session_id: Which conversation: 1 to 255 printable characters.

    Raises:
        InvalidScopeError: No session, or a name that no database column can hold.
    """

    def __init__(self, manager: MemoryManager, session_id: str) -> None:
        self.manager = manager
        self.scope = Scope(manager.scope.user_id, tier=TIER, tier_id=session_id)

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return str(self.scope.tier_id)

    def append(self, turns: Sequence[Turn]) -> str | None:
        """Commit `turns`, side by side, behind all that are there; their memory's key, None for no turns.

        Raises:
            InvalidContentError: JSON cannot express what a turn holds.
            StoreError: The store could not do it; nothing was appended.
        """
        if not turns:
            return None
        content = _lines(turns)
        description = one_line(next((turn.text for turn in turns if turn.text), turns[0].role))
        number = self._next_number()
        while True:  # another writer may have taken the number; somebody gets each, so this ends
            try:
                return self._put(self._key(number), content, description)
            except KeyExistsError:
                number += 1

    def turns(self, limit: int | None = None) -> list[Turn]:
        """The turns, oldest first; of the newest `limit` appends, if that is given.

        Raises:
            StoreError: The store could not do it.
        """
        return [turn for item in self._items(limit) for turn in _turns(item)]

    def clear(self) -> int:
        """Forget the turns; how many appends they were. Texts that were folded out of them stay in memory.

        Raises:
            StoreError: The store could not do it.
        """
        return self.manager.memory_store.clear(self.scope)

    def _items(self, limit: int | None) -> list[MemoryItem]:
        return self.manager.memory_store.query(self.scope, limit=limit, order_by="memory_key")[::-1]

    def _next_number(self) -> int:
        last = self._items(1)
        return int(last[0].memory_key.rpartition("_")[2]) + 1 if last else 0

    def _key(self, number: int) -> str:
        return f"conversation_{hash_content(self.session_id)[:16]}_{number:0{_DIGITS}d}"

    def _put(self, key: str, content: str, description: str) -> str:
        return self.manager.store(content, description, TYPE, key=key, tier=TIER, tier_id=self.session_id)


def _lines(turns: Iterable[Turn]) -> str:
    """One line of JSON for each turn. The id keeps equal turns of two writers apart: equal contents are one record."""
    mark = uuid4().hex
    facts = ({"role": turn.role, "text": turn.text, "data": dict(turn.data), "id": mark} for turn in turns)
    return "\n".join(json.dumps(one, ensure_ascii=False, allow_nan=False) for one in facts)


def _turns(item: MemoryItem) -> Iterator[Turn]:
    for line in item.data.decode("utf-8", "surrogatepass").split("\n"):
        facts = json.loads(line)
        yield Turn(facts["role"], facts["text"], facts["data"], item.memory_key)


__all__ = ["ConversationMemory", "Turn"]
