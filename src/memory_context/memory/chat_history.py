"""The turns of conversations: a window over each session, in this process or in a store."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from memory_context.exceptions import InvalidArgumentError, KeyExistsError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import CONVERSATION, hash_content, now, to_content
from memory_context.model.reference import one_line
from memory_context.model.scope import Scope
from memory_context.runtime import events
from memory_context.runtime.forks import Lock

TIER = TYPE = CONVERSATION
TOOL = "tool"
NEWEST = "memory_key"
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said, once.

    Attributes:
        role: Who: ``human``, ``ai``, ``tool``, …
        text: The words, with references in place of large texts.
        data: What else the message holds: an object of JSON.
        key: The memory that holds the turn; "" where no store does.
        at: When it was added; None before.
    """

    role: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key: str = ""
    at: datetime | None = None


class ConversationMemory:
    """The turns of each session, in the order in which they were added: the newest of them. Safe under threads.

    Without a manager the turns live in this process, and are dropped when they leave the window or their session is
    idle. With one they are committed to its store, where whoever opens the same session of the same user finds them,
    and nothing but `clear` deletes them: window and timeout only bound what is returned.

    A window does not begin with a tool's result whose call was cut off.

    Args:
        max_turns: How many turns of a session are returned at most; None for all.
        idle_timeout: After so many seconds without a new turn a session begins anew; None for never.
        manager: The user's memories, for turns that are to stay. Turns that are added together are one memory, of the
            type and in the tier ``conversation``: one line of JSON for each.
        clock: This moment, in UTC.

    Raises:
        InvalidArgumentError: A window of less than one turn, or a timeout that is not above 0.
    """

    def __init__(
        self,
        max_turns: int | None = 50,
        idle_timeout: float | None = 3600,
        *,
        manager: MemoryManager | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        if (max_turns is not None and max_turns < 1) or (
            idle_timeout is not None and idle_timeout <= 0
        ):
            message = f"max_turns is 1 or more, idle_timeout above 0, or None; not {max_turns!r} and {idle_timeout!r}"
            raise InvalidArgumentError(message)
        self.max_turns = max_turns
        self.idle_timeout = None if idle_timeout is None else timedelta(seconds=idle_timeout)
        self._clock = clock
        self._kept: _Kept = (
            _InProcess(max_turns, self.idle_timeout)
            if manager is None
            else _InStore(manager, max_turns)
        )

    def add_turn(
        self, session_id: str, role: str, text: str, data: Mapping[str, Any] | None = None
    ) -> Turn:
        """Add a turn behind all that are there.

        Args:
            session_id: Which conversation: 1 to 255 printable characters.
            role: Who: ``human``, ``ai``, ``tool``, …
            text: The words.
            data: What else belongs to it: an object of JSON.

        Raises:
            InvalidScopeError: `session_id` is none.
            InvalidContentError: JSON cannot express `data`.
            StoreError: The store could not do it; nothing was added.
        """
        [turn] = self.add_turns(session_id, [Turn(role, text, data or {})])
        return turn

    def add_turns(self, session_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Add `turns`, side by side, behind all that are there; as they were added. Raises what `add_turn` raises."""
        scope = _session(session_id)
        if not turns:
            return []
        moment = self._clock()
        lines = _lines(turns, moment)
        said = next((turn.text for turn in turns if turn.text), turns[0].role)
        key = self._kept.add(str(scope.tier_id), lines, said, moment)
        return [_turn(line, key) for line in lines]

    def get_turns(self, session_id: str) -> list[Turn]:
        """A copy of the session's turns, oldest first; empty for one that is not known, or idle.

        A line of the store that is no turn, because something changed it, is left out, and a warning logged.

        Raises:
            InvalidScopeError: `session_id` is none.
            StoreError: The store could not do it.
        """
        moment = self._clock()
        lines = self._kept.get(str(_session(session_id).tier_id), moment)
        turns = [turn for line in lines if (turn := _readable(*line))]
        return window(turns, self.max_turns, self.idle_timeout, moment)

    def clear(self, session_id: str) -> int:
        """Forget the session's turns; how many they were. Texts that were folded out of them stay in memory.

        Raises:
            InvalidScopeError: `session_id` is none.
            StoreError: The store could not do it.
        """
        return self._kept.clear(str(_session(session_id).tier_id))


def window(
    turns: Sequence[Turn], most: int | None, idle: timedelta | None, moment: datetime
) -> list[Turn]:
    """The newest `most` turns since the session was last idle for longer than `idle`; none if it is so at `moment`."""
    start = 0
    if idle is not None:
        times = [*(turn.at or moment for turn in turns), moment]
        start = max(
            (place for place in range(1, len(times)) if times[place] - times[place - 1] > idle),
            default=0,
        )
    if most is not None:
        start = max(start, len(turns) - most)
    while 0 < start < len(turns) and turns[start].role == TOOL:
        start += 1
    return list(turns[start:])


class _Kept(Protocol):
    """Where the lines of sessions are kept; one more than a window holds tells that some were cut off."""

    def add(self, session: str, lines: Sequence[str], said: str, moment: datetime) -> str: ...

    def get(self, session: str, moment: datetime) -> list[tuple[str, str, datetime]]:
        """The lines, each with the key and the time of the memory that holds it."""
        ...

    def clear(self, session: str) -> int: ...


class _InProcess:
    """Sessions in memory, the one that was added to last at the end."""

    def __init__(self, most: int | None, idle: timedelta | None) -> None:
        self._most, self._idle = most, idle
        self._lock = Lock()
        self._sessions = OrderedDict[str, tuple[datetime, deque[str]]]()

    def add(self, session: str, lines: Sequence[str], said: str, moment: datetime) -> str:  # noqa: ARG002 - for people who look into a store
        fresh = deque[str](maxlen=None if self._most is None else self._most + 1)
        with self._lock:
            self._drop_idle(moment)
            _, kept = self._sessions.pop(session, (moment, fresh))
            kept.extend(lines)
            self._sessions[session] = (moment, kept)
        return ""

    def get(self, session: str, moment: datetime) -> list[tuple[str, str, datetime]]:
        with self._lock:
            self._drop_idle(moment)
            last, kept = self._sessions.get(session, (moment, ()))
            return [(line, "", last) for line in kept]

    def clear(self, session: str) -> int:
        with self._lock:
            _, kept = self._sessions.pop(session, (None, ()))
        return len(kept) if self._most is None else min(len(kept), self._most)

    def _drop_idle(self, moment: datetime) -> None:
        while self._idle is not None and self._sessions:
            session, (last, _) = next(iter(self._sessions.items()))
            if moment - last <= self._idle:
                return
            del self._sessions[session]


class _InStore:
    """Sessions in a store: a memory for each addition, under keys that count up."""

    def __init__(self, manager: MemoryManager, most: int | None) -> None:
        self._manager, self._most = manager, most

    def add(self, session: str, lines: Sequence[str], said: str, moment: datetime) -> str:  # noqa: ARG002 - stands in the lines
        description = one_line(self._manager.kept(said))
        number = self._next_number(session)
        while True:  # another writer may have taken the number; somebody gets each, so this ends
            key = f"conversation_{hash_content(session)[:16]}_{number:0{_DIGITS}d}"
            try:
                return self._manager.store(
                    "\n".join(lines), description, TYPE, key=key, tier=TIER, tier_id=session
                )
            except KeyExistsError:
                number += 1

    def get(self, session: str, moment: datetime) -> list[tuple[str, str, datetime]]:  # noqa: ARG002 - nothing is dropped
        limit = None if self._most is None else self._most + 1
        added = self._manager.memory_store.query(self._scope(session), limit=limit, order_by=NEWEST)
        return [
            (line, item.memory_key, item.created_at)
            for item in reversed(added)
            for line in item.data.decode("utf-8", "surrogatepass").split("\n")
        ]

    def clear(self, session: str) -> int:
        turns = self._manager.memory_store.sum(self._scope(session), "line_count")
        self._manager.clear(TIER, session)
        return turns

    def _scope(self, session: str) -> Scope:
        return Scope(self._manager.scope.user_id, tier=TIER, tier_id=session)

    def _next_number(self, session: str) -> int:
        last = self._manager.memory_store.query(self._scope(session), limit=1, order_by=NEWEST)
        return int(last[0].memory_key.rpartition("_")[2]) + 1 if last else 0


def _session(session_id: str) -> Scope:
    return Scope("-", tier=TIER, tier_id=session_id)


def _lines(turns: Iterable[Turn], moment: datetime) -> list[str]:
    """One line of JSON for each turn. The id keeps equal turns of two writers apart: equal contents are one record."""
    mark = uuid4().hex
    facts = (
        {
            "role": turn.role,
            "text": turn.text,
            "data": dict(turn.data),
            "at": moment.isoformat(),
            "id": mark,
        }
        for turn in turns
    )
    return [str(to_content(one)[0]) for one in facts]


def _turn(line: str, key: str) -> Turn:
    facts = json.loads(line)
    return Turn(
        facts["role"], facts["text"], facts["data"], key, datetime.fromisoformat(facts["at"])
    )


def _readable(line: str, key: str, stored_at: datetime) -> Turn | None:
    """The turn of a line that a redactor may have changed; added when it was stored, where it does not say when."""
    try:
        facts = json.loads(line)
        role, text = str(facts["role"]), str(facts["text"])
        return Turn(role, text, dict(facts["data"]), key, _moment(facts["at"]) or stored_at)
    except (ValueError, TypeError, LookupError) as error:
        events.RECORD_UNREADABLE.log(error, memory_key=key)
        return None


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


__all__ = ["ConversationMemory", "Turn"]
