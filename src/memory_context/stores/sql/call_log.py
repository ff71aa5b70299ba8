"""Keeping model calls and decisions in a store's database. A background thread writes it, so that agents never wait."""

from __future__ import annotations

import atexit
import contextvars
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from typing import cast
from weakref import WeakSet

import sqlalchemy as sa

from memory_context.exceptions import SealError, StoreUnavailableError
from memory_context.model.call_log_records import (
    CALL_KINDS,
    CallFilter,
    CallRecord,
    CallTotals,
    Decision,
    ModelCall,
)
from memory_context.model.item import now
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import Scope
from memory_context.runtime import deadlines, log_events
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.telemetry import count
from memory_context.stores.codec import Codec
from memory_context.stores.sql import forget_user_and_scrub
from memory_context.stores.sql.schema import (
    AnyRow,
    Condition,
    UTCDateTime,
    calls,
    in_period,
    narrowed,
)
from memory_context.stores.sql.transactions import Database

# The largest number of records that wait to be written. The oldest are dropped while the database is unreachable.
MAX_WAITING = 1000
# Records that arrive within this many seconds are written in one transaction.
GATHER_SECONDS = 0.2
# Rows that were kept long enough are deleted at most once within this many seconds.
SWEEP_SECONDS = 3600.0
# Each user's id is looked up in the index after the one before. SELECT DISTINCT would read the whole index.
_CALLERS = sa.text("""
WITH RECURSIVE callers(user_id) AS (
    SELECT min(user_id) FROM agent_memory_calls
    UNION ALL
    SELECT (SELECT min(user_id) FROM agent_memory_calls WHERE user_id > callers.user_id)
    FROM callers WHERE callers.user_id IS NOT NULL
)
SELECT user_id FROM callers WHERE user_id IS NOT NULL
""")
_PROMPTS = (calls.c.prompt, calls.c.prompt_sealed)
# Cast, because in PostgreSQL the sum of a BIGINT is a NUMERIC, and a parameter that is null has no type.
_TOTALS_OF_KINDS = sa.text("""
SELECT thread_id, CAST(sum(CASE kind WHEN 'model' THEN 1 ELSE 0 END) AS BIGINT), CAST(sum(tokens_full) AS BIGINT),
    CAST(sum(tokens_sent) AS BIGINT), CAST(sum(tokens_spent) AS BIGINT), min(at) AS first, max(at) AS last
FROM agent_memory_calls
WHERE user_id = :user AND (CAST(:thread AS TEXT) IS NULL OR thread_id = :thread) AND kind IN :kinds
GROUP BY thread_id ORDER BY last DESC
""")
_KINDS: sa.BindParameter[list[str]] = sa.bindparam("kinds", list(CALL_KINDS), expanding=True)
_TOTALS = _TOTALS_OF_KINDS.bindparams(_KINDS).columns(first=UTCDateTime, last=UTCDateTime)

_open_logs = WeakSet["KeepsCalls"]()


class KeepsCalls:
    """A `CallKeeper`: the table `agent_memory_calls` of a store's database. Safe under threads.

    `note_call` never waits for the database and never fails: a short-lived thread writes the record a moment later.

    Args:
        database: The database with the table.
        calls_kept: How long rows are kept; None: no rows are written.
    """

    def __init__(self, database: Database, calls_kept: timedelta | None) -> None:
        self.database = database
        self._calls_kept = calls_kept
        self._waiting = deque[CallRecord](maxlen=MAX_WAITING)
        self._lock = Lock()
        self._writing = Lock(deadlines.patience)
        self._timer: threading.Timer | None = None
        self._is_failing = False
        self._swept_at = -math.inf
        _open_logs.add(self)
        in_child(self)

    def after_fork(self) -> None:
        """In a forked child, forget the thread and the waiting records, which the parent writes."""
        self._timer = None
        self._waiting.clear()

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`. In a read-only database nothing is written."""
        if self._calls_kept is None:
            return
        with self._lock:
            if len(self._waiting) == MAX_WAITING:
                count("calls_dropped")
            self._waiting.append(record)
            self._write_soon()

    def _write_soon(self) -> None:
        """Start a timer, unless one is running. The caller holds the lock."""
        if self._timer and self._timer.is_alive():
            return
        # In the caller's context, so that the write appears in the caller's traces.
        run = contextvars.copy_context().run
        self._timer = threading.Timer(GATHER_SECONDS, run, [self._write_waiting])
        self._timer.name = "memory-context-calls"
        self._timer.daemon = True
        self._timer.start()

    def calls(self, wanted: CallFilter, limit: int | None = 100) -> list[CallRecord]:
        """See `CallKeeper.calls`.

        Raises:
            SealError: A row was changed, or was never encrypted and the codec does not accept it.
        """
        self.write_waiting_calls()
        columns = [column for column in calls.c if wanted.prompts or column not in _PROMPTS]
        matching = sa.select(*columns).where(*_conditions(wanted))
        newest = matching.order_by(calls.c.at.desc(), calls.c.id.desc())
        rows = self.database.rows(newest.limit(limit))
        codec = self.database.codec
        return [_record_of(row, codec, prompts=wanted.prompts) for row in rows]

    def call_totals(self, user_id: str, thread_id: str | None = None) -> list[CallTotals]:
        """See `CallKeeper.call_totals`."""
        self.write_waiting_calls()
        values = {"user": Scope(user_id).user_id, "thread": thread_id}
        return [CallTotals(*row) for row in self.database.rows(_TOTALS, values)]

    def callers(self) -> list[str]:
        """See `CallKeeper.callers`."""
        self.write_waiting_calls()
        # Sorted in Python, because the databases' collations differ.
        return sorted(row.user_id for row in self.database.rows(_CALLERS))

    @deadlines.waiting(None)
    def rewrite_calls(
        self, user_id: str | None, change: Callable[[CallRecord], CallRecord | None]
    ) -> None:
        """See `CallKeeper.rewrite_calls`. The database is not locked while a record is changed."""
        try:
            self._rewrite(user_id, change)
        finally:
            # What was overwritten before a failure, here or by the caller, must not stay in the file.
            forget_user_and_scrub.scrub(self.database)

    def _rewrite(
        self, user_id: str | None, change: Callable[[CallRecord], CallRecord | None]
    ) -> None:
        self.write_waiting_calls()
        codec = self.database.codec
        of_user = narrowed(calls, user_id=user_id)
        known = sa.select(calls.c.user_id, calls.c.id).where(*of_user, calls.c.kind.in_(CALL_KINDS))
        for one in self.database.rows(known):
            this = narrowed(calls, user_id=one.user_id, id=one.id)
            # One row, or none if it was deleted meanwhile.
            for row in self.database.rows(sa.select(calls).where(*this)):
                changed = change(_record_of(row, codec, prompts=True))
                if changed:
                    update = sa.update(calls).where(*this).values(**_row_of(changed, codec))
                    self.database.write(sa.Connection.execute, update)

    def write_waiting_calls(self) -> None:
        """Write the waiting records. If that fails, or another thread is writing for too long, they go on waiting."""
        while self._write_waiting():
            pass

    def _write_waiting(self) -> bool:
        """Write the records that wait now; return whether any were written."""
        try:
            with self._writing:
                return self._write_batch()
        except StoreUnavailableError:
            return False

    def _write_batch(self) -> bool:
        with self._lock:
            if self._timer:
                self._timer.cancel()
            self._timer = None
            taken = list(self._waiting)
            self._waiting.clear()
        if not taken:
            return False
        if self.database.was_removed:
            # Do not create a new database for the log's sake. Whoever uses the old one is told that it is gone.
            count("calls_dropped", len(taken))
            return False
        try:
            if not self.database.reads_only:
                self.database.write(self._insert, taken)
        except Exception as error:  # noqa: BLE001 - otherwise the thread would die, and no other one would start
            with self._lock:
                self._waiting = deque((*taken, *self._waiting), MAX_WAITING)
                was_failing, self._is_failing = self._is_failing, True
            if not was_failing:
                log_events.CALLS_NOT_KEPT.log(error, calls=len(taken))
            return False
        with self._lock:
            self._is_failing = False
            # The timer for records that arrived meanwhile may have given up waiting for this write.
            if self._waiting:
                self._write_soon()
        return True

    def _insert(self, connection: sa.Connection, records: Sequence[CallRecord]) -> None:
        rows = [_row_of(record, self.database.codec) for record in records]
        connection.execute(sa.insert(calls), rows)
        moment = time.monotonic()
        if self._calls_kept is not None and moment - self._swept_at > SWEEP_SECONDS:
            connection.execute(sa.delete(calls).where(calls.c.at < (now() - self._calls_kept)))
            self._swept_at = moment


def _conditions(wanted: CallFilter) -> list[Condition]:
    return [
        *narrowed(calls, user_id=wanted.user_id, thread_id=wanted.thread_id),
        calls.c.kind.in_([wanted.kind] if wanted.kind else CALL_KINDS),
        *in_period(calls.c.at, wanted.since, wanted.until),
    ]


def _row_of(record: CallRecord, codec: Codec) -> JsonObject:
    facts = asdict(record.what)
    row = {
        "at": facts.pop("at"),
        "user_id": record.user_id,
        "agent_id": record.agent_id,
        "thread_id": record.thread_id,
        "kind": record.kind,
        "tokens_full": facts.pop("tokens_full", 0),
        "tokens_sent": facts.pop("tokens_sent", 0),
        "tokens_spent": facts.pop("tokens", 0),
    }
    # As JSON in ASCII, because prompts and reasons may quote characters that a text column refuses (NUL, surrogates).
    given = facts.pop("prompt", "")
    prompt = json.dumps(given) if given else None
    row |= _stored("prompt", prompt, record.user_id, codec)
    # All facts without a column of their own.
    return row | _stored("details", json.dumps(facts), record.user_id, codec)


def _stored(column: str, text: str | None, user_id: str, codec: Codec) -> JsonObject:
    """Return the values of *column* and of its twin for sealed bytes, of which one is None."""
    if text is None or codec.index == "plain":
        return {column: text, f"{column}_sealed": None}
    sealed = codec.seal(text.encode(), _associated_data(column, user_id))
    return {column: None, f"{column}_sealed": sealed}


def _opened(column: str, row: AnyRow, codec: Codec) -> str | None:
    """Return the text of *column*, decrypted if it is sealed: the inverse of `_stored`."""
    sealed = getattr(row, f"{column}_sealed")
    text = getattr(row, column)
    if sealed is not None:
        return codec.unseal(bytes(sealed), _associated_data(column, row.user_id)).decode()
    must_be_sealed = codec.index != "plain" and not codec.accept_plain
    if text is not None and must_be_sealed:
        raise SealError(
            "a model call is not encrypted, but this store is; with accept_plain=True it can be read"
        )
    return cast("str | None", text)


def _associated_data(column: str, user_id: str) -> bytes:
    """Return the associated data that binds sealed texts to their column and user."""
    return json.dumps(["memory-context calls", column, user_id]).encode()


def _record_of(row: AnyRow, codec: Codec, *, prompts: bool) -> CallRecord:
    facts: JsonObject = {
        "at": row.at,
        "tokens_full": row.tokens_full,
        "tokens_sent": row.tokens_sent,
        "tokens": row.tokens_spent,
    }
    if prompts:
        facts["prompt"] = json.loads(_opened("prompt", row, codec) or '""')
    details = json.loads(_opened("details", row, codec) or "{}")
    for name, value in details.items():
        facts[name] = tuple(cast("list[str]", value)) if isinstance(value, list) else value
    kind = Decision if row.kind == "decision" else ModelCall
    known = {field.name for field in fields(kind)}
    what = kind(**{name: facts[name] for name in known & facts.keys()})
    return CallRecord(row.user_id, row.agent_id, row.thread_id, what)


@atexit.register
def _write_at_exit() -> None:
    """Write the records that are still waiting when the program ends, because its threads end with it."""
    with deadlines.waiting(deadlines.EXIT_SECONDS):
        for log in list(_open_logs):
            log.write_waiting_calls()
