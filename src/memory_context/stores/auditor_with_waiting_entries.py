"""Write to the audit trail, whose failures never stop the work that is recorded. Off by default."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from memory_context.model.audit_entries import Action, AuditEntry
from memory_context.model.item import now
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock
from memory_context.runtime.circuit_breaker import Breaker, breaker_of_a_store
from memory_context.runtime.telemetry import Who, count

WAITING = 1000


@runtime_checkable
class AuditTrail(Protocol):
    """Keeps entries. Safe under threads."""

    def record(self, entries: Sequence[AuditEntry]) -> object:
        """Keep all *entries*, or raise and keep none. An error does not stop the work that is recorded."""
        ...


AnyAuditTrail: TypeAlias = AuditTrail | str | bool
"""An audit trail, the URL of its database, or whether the store's own database keeps one."""


@dataclass(slots=True)
class Auditor:
    """Writes entries to an audit trail, whose failures never stop the work. Safe under threads.

    Entries are written after the fact. Each outage of the trail is logged once, every failure is counted, and the
    newest 1,000 entries wait for the next attempt. After a slow failure, the trail is left alone for some
    seconds (`circuit_breaker.PAUSE`).

    Attributes:
        trail: The audit trail.
        closes: Closes the trail; None for a trail that the caller made and closes.
        failures: How often the trail failed.
        waiting: The entries that the trail has not taken yet.
    """

    trail: AuditTrail
    closes: Callable[[], object] | None = None
    failures: int = 0
    waiting: deque[AuditEntry] = field(default_factory=lambda: deque[AuditEntry](maxlen=WAITING))
    _warned: bool = False
    _breaker: Breaker = field(default_factory=breaker_of_a_store)
    _lock: Lock = field(default_factory=Lock)

    def note(self, action: Action, who: Who, keys: Iterable[str]) -> None:
        """Record that *who* did *action* to the memories under *keys*."""
        moment = now()
        entries = [AuditEntry(moment, *who, key, action) for key in keys]
        if entries:
            self._write(entries)

    def close(self) -> None:
        """Try once more to write the waiting entries, and close the trail if it was made here."""
        self._write([])
        if self.closes:
            self.closes()

    def _write(self, entries: Sequence[AuditEntry]) -> None:
        started = self._breaker.clock()
        with self._lock:
            if not self._breaker.lets_ask:
                self.waiting.extend(entries)
                return
            entries = [*self.waiting, *entries]
            self.waiting.clear()
        if not entries:
            return
        try:
            self.trail.record(entries)
        except Exception as error:  # noqa: BLE001 - whatever a user's trail raises, the run goes on
            count("audit_failures")
            with self._lock:
                self.failures += 1
                self.waiting = deque((*entries, *self.waiting), WAITING)
                self._breaker.note_slow_failure(started)
                is_new_outage = not self._warned
                self._warned = True
            if is_new_outage:
                log_events.AUDIT_FAILED.log(error, where=True, entries=len(entries))
            return
        self._warned = False
        count("audit_entries", len(entries))
