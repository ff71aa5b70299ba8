"""Keep the turns of chats, in this process or in a store, and return the newest of each session."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

from memory_context.exceptions import KeyExistsError
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.redacted_records import MESSAGES
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import (
    CONVERSATION,
    RECALLED,
    MemoryItem,
    encodable,
    hash_content,
    now,
    to_content,
)
from memory_context.model.one_line import one_line
from memory_context.model.origin import MODEL, PERSON, PROGRAM, TOOL, Origin, lowest
from memory_context.model.scope import Scope
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock
from memory_context.text.redact import Redaction

HUMAN = "human"
_ORIGINS: Mapping[str, Origin] = {HUMAN: PERSON, "system": PROGRAM, "ai": MODEL}
NEWEST_KEYS_FIRST = "memory_key"
# Keys sort as text: with padding, the tenth comes after the ninth.
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One message of a chat.

    Attributes:
        role: Who said it: ``human``, ``ai``, ``tool``, …
        text: The words, with references in place of large texts.
        data: What else the message contains: a JSON object.
        key: The key of the memory that holds the turn; "" if it is not in a store.
        at: When it was added; None before that.
        is_recalled: Whether memory brought it back, rather than somebody saying it. It is returned with the others, but
            is neither searched nor recalled again, and does not describe the session.
    """

    role: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key: str = ""
    at: datetime | None = None
    is_recalled: bool = False


class ConversationMemory:
    """The newest turns of each session, in the order in which they were added. Safe under threads.

    Without a manager the turns live in this process, and are dropped when they leave the window or
    their session is idle. With one they are committed to its store, where whoever opens the same
    session of the same user finds them, and nothing but `clear` deletes them: the window and the
    timeout only limit what is returned.

    A window does not begin with a tool's result whose call was cut off.

    Args:
        max_turns: How many turns of a session are returned at most; None for all.
        idle_timeout: After how many seconds without a new turn a session starts over; None for
            never.
        manager: The user's memories, for turns that are to stay. Turns that are added together are
            one memory, of the type and in the tier ``conversation``: one line of JSON for each.
        clock: Returns the current moment, in UTC.

    Raises:
        InvalidArgumentError: The window has less than one turn, or the timeout is not above 0.
    """

    def __init__(
        self,
        max_turns: int | None = 50,
        idle_timeout: float | None = 3600,
        *,
        manager: MemoryManager | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        if max_turns is not None:
            check_whole("max_turns", max_turns, 1)
        self.max_turns = max_turns
        check_arguments(idle_timeout=idle_timeout, clock=clock)
        self.idle_timeout = None if idle_timeout is None else timedelta(seconds=idle_timeout)
        self._clock = clock
        # One line more than the window holds, which shows whether the window cuts any off.
        limit = None if max_turns is None else max_turns + 1
        self._manager = manager
        self._sessions: _SessionsInProcess | _SessionsInStore
        if manager is None:
            self._sessions = _SessionsInProcess(limit, self.idle_timeout)
        else:
            check_owner(manager, MemoryManager)
            self._sessions = _SessionsInStore(manager, limit)

    def add_turn(
        self, session_id: str, role: str, text: str, data: Mapping[str, Any] | None = None
    ) -> ChatTurn:
        """Add a turn at the end.

        Args:
            session_id: Which session: 1 to 255 printable characters.
            role: Who said it: ``human``, ``ai``, ``tool``, …
            text: The words.
            data: What else belongs to it: a JSON object.

        Raises:
            InvalidScopeError: `session_id` is not a valid id.
            InvalidContentError: JSON cannot express `data`.
            StoreError: The store failed; nothing was added.
        """
        [turn] = self.add_turns(session_id, [ChatTurn(role, text, data or {})])
        return turn

    def add_turns(self, session_id: str, turns: Iterable[ChatTurn]) -> list[ChatTurn]:
        """Add `turns` together at the end, and return them. Raises what `add_turn` does."""
        session = _checked_session(session_id)
        check_arguments(turns=turns)
        moment = self._clock()
        # The id keeps equal turns of two writers apart: equal contents are one record.
        marks = {"at": moment.isoformat(), "id": uuid4().hex}
        redaction = self._manager.redaction() if self._manager else Redaction(None)
        added = _Added(redaction, [], [])
        for turn in turns:
            check_arguments(turn=turn)
            check_arguments(role=turn.role, text=turn.text, data=turn.data)
            text = redaction.text(turn.text)
            to_content(dict(turn.data))  # raises for what JSON cannot express
            data = redaction.value(dict(turn.data), MESSAGES)
            facts = {"role": turn.role, "text": text, "data": data, **marks}
            if turn.is_recalled:
                facts[RECALLED] = True
            line, _ = to_content(facts)
            added.lines.append(str(line))
            added.turns.append(replace(turn, text=text, data=data))
        if not added.turns:
            return []
        key = self._sessions.add(session, added, moment)
        return _turns_of([(line, key, moment) for line in added.lines])

    def get_turns(self, session_id: str) -> list[ChatTurn]:
        """Return a copy of the session's turns, oldest first; none if it is unknown or idle.

        A stored line that was edited and is no longer a turn is left out, with a warning in the
        log.

        Raises:
            InvalidScopeError: `session_id` is not a valid id.
            StoreError: The store failed.
        """
        moment = self._clock()
        turns = _turns_of(self._sessions.get(_checked_session(session_id), moment))
        return window(turns, self.max_turns, self.idle_timeout, moment)

    def clear(self, session_id: str) -> int:
        """Forget the session's turns, and count them. Texts folded out of them stay in memory.

        Raises:
            InvalidScopeError: `session_id` is not a valid id.
            StoreError: The store failed.
        """
        return self._sessions.clear(_checked_session(session_id))


def window(
    turns: Sequence[ChatTurn], most: int | None, idle: timedelta | None, moment: datetime
) -> list[ChatTurn]:
    """Return the newest `most` turns since the session was last idle for longer than `idle`.

    There are none if it is idle at `moment`.
    """
    start = 0
    if idle is not None:
        moments = [*(turn.at or moment for turn in turns), moment]
        for position, (before, at) in enumerate(pairwise(moments), 1):
            if at - before > idle:
                start = position
    if most is not None:
        start = max(start, len(turns) - most)
    # Providers refuse a tool's result without its call.
    while 0 < start < len(turns) and turns[start].role == TOOL:
        start += 1
    return list(turns[start:])


Line = tuple[str, str, datetime]
"""A turn as JSON, the key of the memory that holds it, and when that memory was stored."""


class _Added(NamedTuple):
    """Turns that were added together.

    Attributes:
        redaction: The redaction that removed their secrets.
        turns: The turns.
        lines: Each of them as JSON.
    """

    redaction: Redaction
    turns: list[ChatTurn]
    lines: list[str]

    @property
    def said(self) -> list[ChatTurn]:
        """Return the turns of people, models and tools, without those that were recalled."""
        return [turn for turn in self.turns if not turn.is_recalled]

    @property
    def description(self) -> str:
        """Return the first words of a person; if no person said anything, the first of anybody."""
        words = [turn.text for turn in self.said if turn.role == HUMAN]
        words += [turn.text for turn in self.said]
        return one_line(next(filter(None, words), self.turns[0].role))


class _SessionsInProcess:
    """Sessions in this process, in the order of their last additions."""

    def __init__(self, limit: int | None, idle: timedelta | None) -> None:
        self._limit = limit
        self._idle = idle
        self._lock = Lock()
        self._sessions = OrderedDict[str, tuple[datetime, deque[str]]]()

    def add(
        self,
        session: str,
        added: _Added,
        moment: datetime,
    ) -> str:
        """Add the turns to a session; return "", because no memory holds them."""
        with self._lock:
            self._drop_idle(moment)
            _, kept = self._sessions.pop(session, (moment, deque[str](maxlen=self._limit)))
            kept.extend(added.lines)
            self._sessions[session] = (moment, kept)
        return ""

    def get(self, session: str, moment: datetime) -> list[Line]:
        with self._lock:
            self._drop_idle(moment)
            last, kept = self._sessions.get(session, (moment, ()))
            return [(line, "", last) for line in kept]

    def clear(self, session: str) -> int:
        with self._lock:
            _, kept = self._sessions.pop(session, (None, ()))
        # No caller saw the one line that is kept beyond the window.
        return len(kept) if self._limit is None else min(len(kept), self._limit - 1)

    def _drop_idle(self, moment: datetime) -> None:
        while self._idle is not None and self._sessions:
            session, (last, _) = next(iter(self._sessions.items()))
            if moment - last <= self._idle:
                return
            del self._sessions[session]


class _SessionsInStore:
    """Sessions in a store: a memory for each addition, under keys that count up."""

    def __init__(self, manager: MemoryManager, limit: int | None) -> None:
        self._manager = manager
        self._limit = limit

    def add(
        self,
        session: str,
        added: _Added,
        moment: datetime,  # noqa: ARG002 - is in the lines
    ) -> str:
        """Add the turns to a session, and return the key of the memory that holds them."""
        said = list[str]()
        recalled = list[tuple[int, str]]()
        for place, (line, turn) in enumerate(zip(added.lines, added.turns, strict=True)):
            if turn.is_recalled:
                recalled.append((place, encodable(line)))
            else:
                said.append(line)
        origin = lowest(_ORIGINS.get(turn.role, TOOL) for turn in added.said)
        number = 0
        for newest in self._newest(session, limit=1):
            *_, digits = newest.memory_key.rpartition("_")
            number = int(digits) + 1
        while True:  # another writer may have taken the number; one of them gets it, so this ends
            number = self._first_undeleted(session, number)
            try:
                return self._manager.store(
                    "\n".join(said),
                    added.description,
                    CONVERSATION,
                    key=_key(session, number),
                    tier=CONVERSATION,
                    tier_id=session,
                    # Not in the content, which is searched, and would be recalled again.
                    metadata={RECALLED: recalled} if recalled else {},
                    redaction=added.redaction,
                    origin=origin,
                )
            except KeyExistsError:
                number += 1

    def get(self, session: str, moment: datetime) -> list[Line]:  # noqa: ARG002 - nothing is dropped
        items = reversed(self._newest(session, self._limit))
        return [(line, item.memory_key, item.created_at) for item in items for line in _lines(item)]

    def clear(self, session: str) -> int:
        turns = sum(len(_lines(item)) for item in self._newest(session, None))
        self._manager.clear(CONVERSATION, session)
        return turns

    def _first_undeleted(self, session: str, number: int) -> int:
        """Return the first number from *number* on that no deleted turn had: references to those say so for good.

        Many in a row may be deleted, so the steps grow until one is found, and then the range is halved.
        """

        def is_deleted(number: int) -> bool:
            deletion = self._manager.memory_store.deletion
            return deletion(self._manager.scope, _key(session, number)) is not None

        last = number - 1
        step = 1
        while is_deleted(number):
            last = number
            number += step
            step *= 2
        while number - last > 1:
            middle = (last + number) // 2
            if is_deleted(middle):
                last = middle
            else:
                number = middle
        return number

    def _newest(self, session: str, limit: int | None) -> list[MemoryItem]:
        store = self._manager.memory_store
        scope = Scope(self._manager.scope.user_id, tier=CONVERSATION, tier_id=session)
        # Callers may keep other memories in this tier, under keys of their own, which are not turns.
        start = _start_of_keys(session)
        turns = {"memory_key": {"$gte": f"{start}0", "$lt": f"{start}:"}}  # ":" follows "9"
        return store.query(scope, turns, limit=limit, order_by=NEWEST_KEYS_FIRST)


def _start_of_keys(session: str) -> str:
    # The id of a session may contain characters that a key may not, and be longer than a key.
    return f"conversation_{hash_content(session)[:16]}_"


def _key(session: str, number: int) -> str:
    return f"{_start_of_keys(session)}{number:0{_DIGITS}d}"


def _checked_session(session_id: str) -> str:
    """Return the id of a session as text.

    Raises:
        InvalidScopeError: It is not a valid id.
    """
    return str(Scope("-", tier_id=session_id).tier_id)


def _lines(item: MemoryItem) -> list[str]:
    """Return the turns of a memory as lines of JSON, with recalled turns in their places."""
    # A line with a lone surrogate is kept as bytes.
    text = item.data.decode("utf-8", "surrogatepass")
    # Not splitlines, which also splits at U+2028 and others that JSON leaves in a string.
    lines = text.split("\n") if text else []
    for place, line in _recalled(item):
        lines.insert(place, line)
    return lines


def _recalled(item: MemoryItem) -> list[tuple[int, str]]:
    """Return the recalled turns, each with its place among all; none if somebody edited the file and broke the list."""
    try:
        return [(int(place), str(line)) for place, line in item.content_metadata.get(RECALLED, ())]
    except (ValueError, TypeError) as error:
        log_events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)
        return []


def _turns_of(lines: Sequence[Line]) -> list[ChatTurn]:
    """Parse lines into turns, leaving out those that a redactor or an edit has broken."""
    turns = list[ChatTurn]()
    for line, key, stored_at in lines:
        try:
            facts = json.loads(line)
            role = str(facts["role"])
            text = str(facts["text"])
            data = dict(facts["data"])
            at = _moment(facts["at"]) or stored_at
            turns.append(ChatTurn(role, text, data, key, at, bool(facts.get(RECALLED))))
        except (ValueError, TypeError, LookupError) as error:
            log_events.RECORD_UNREADABLE.log(error, memory_key=key)
    return turns


def _moment(text: object) -> datetime | None:
    """Return the moment that *text* gives; None if it has no zone, or if a redactor has replaced it."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    # Without a zone it could not be compared with the others.
    return moment if moment.tzinfo else None
