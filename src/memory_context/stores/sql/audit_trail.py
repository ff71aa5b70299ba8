"""The audit trail in a table of a store's database, written in transactions of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from itertools import islice

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.audit_entries import ACTIONS, Action, AuditEntry
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.scope import Scope
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.stores.auditor_with_waiting_entries import Auditor, AuditTrail
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.sql.schema import Condition, audit, in_period, narrowed
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.sql.urls import PASSWORD_VARIABLE
from memory_context.stores.store_of_a_url import AnyStore, as_store

PAGE = 500
_ENTRY = [audit.c[field.name] for field in fields(AuditEntry)]


class SQLAuditTrail(ClosedAtExit):
    """An `AuditTrail` in the table `agent_memory_audit`, safe for several threads and processes.

    Nothing is opened before the first use.

    Args:
        store: The database: a URL, an engine, a pool, or a store, whose database is used. None
            stands for the environment variable ``MEMORY_CONTEXT_STORE``, or for
            ``sqlite:///memory.db`` in the working directory if that is not set.
        password_variable: The environment variable with the password of a URL that has none.

    Raises:
        UnsupportedDatabaseError: The database is neither SQLite nor PostgreSQL through psycopg.
        InvalidArgumentError: A store that does not keep its memories in a database.
    """

    def __init__(
        self,
        store: AnyStore | None = None,
        *,
        password_variable: str = PASSWORD_VARIABLE,
    ) -> None:
        opened = as_store(store, password_variable)
        # A store object belongs to the caller.
        self._closes = opened is not store
        if not isinstance(opened, SQLAlchemyStore):
            raise InvalidArgumentError(
                f"{type(opened).__name__} has no database, so the trail needs one of its own: give its URL"
            )
        self._store = opened
        self._database = opened.database

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"<SQLAuditTrail in {self._store!r}>"

    @property
    def url(self) -> str | None:
        """Return the URL for another process, without its password.

        None if no URL can reach the database: one in memory, or a bare pool.
        """
        return self._store.url

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Commit *entries*, all of them or none.

        Raises:
            StoreError: The operation failed.
        """
        rows = [asdict(entry) for entry in entries]
        if rows:
            self._database.write(sa.Connection.execute, sa.insert(audit), rows)

    def entries(
        self,
        user_id: str | int,
        *,
        key: str | None = None,
        action: Action | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[AuditEntry]:
        """Yield the entries about a user's memories, newest first. They are read a page at a time.

        Args:
            user_id: The user whose memories the entries are about.
            key: Only entries about the memory under this key.
            action: Only entries about this action.
            since: Only entries from this moment on; with a time zone.
            until: Only entries before this moment; with a time zone.
            limit: The largest number of entries.

        Raises:
            InvalidArgumentError: There is no such action, a time has no zone, or the limit is negative.
            StoreError: The operation failed.
        """
        wanted: object = action
        if wanted is not None and wanted not in ACTIONS:
            raise InvalidArgumentError(
                f"an action is one of {', '.join(ACTIONS)}, not {wanted!r:.80}"
            )
        check_arguments(limit=limit)
        user = Scope(user_id).user_id  # type: ignore[arg-type] # makes it text
        where = narrowed(audit, user_id=user, memory_key=key, action=action)
        where += in_period(audit.c.at, since, until)
        return islice(self._pages(where), limit)

    def delete(self, user_id: str | int | None = None, *, before: datetime | None = None) -> int:
        """Delete the entries of a user, or from before a moment, or those to which both apply; return their number.

        Raises:
            InvalidArgumentError: Neither is given, or the time has no zone.
            StoreError: The operation failed; nothing was deleted.
        """
        if user_id is None and before is None:
            raise InvalidArgumentError(
                "give the user or the moment before which entries are deleted: delete(user_id, before=…)"
            )
        user = None if user_id is None else Scope(user_id).user_id  # type: ignore[arg-type] # makes it text
        where = (*narrowed(audit, user_id=user), *in_period(audit.c.at, None, before))
        statement = sa.delete(audit).where(*where)
        return self._database.write(lambda connection: connection.execute(statement).rowcount)

    def close(self) -> None:
        """Release the connections, unless the caller gave a store. The trail may be used again."""
        if self._closes:
            self._store.close()

    def _pages(self, where: Sequence[Condition]) -> Iterator[AuditEntry]:
        latest_first = (audit.c.at.desc(), audit.c.id.desc())
        newest = sa.select(*_ENTRY, audit.c.id).where(*where).order_by(*latest_first)
        page = newest
        while rows := self._database.rows(page.limit(PAGE)):
            for *entry, _ in rows:
                yield AuditEntry(*entry)
            last = rows[-1]
            page = newest.where(
                (audit.c.at < last.at) | ((audit.c.at == last.at) & (audit.c.id < last.id))
            )


def as_auditor(
    trail: AuditTrail | Auditor | str | bool | None,  # noqa: FBT001 - True is short for: in the same database
    store: MemoryStore,
    password_variable: str = PASSWORD_VARIABLE,
) -> Auditor | None:
    """Return the auditor that writes to *trail*; None if *trail* is None or False.

    True stands for a trail in the database of *store*, and a text for one in the database at this URL.

    Raises:
        InvalidArgumentError: *trail* is not a trail; or it is True, and *store* is not in a database.
    """
    if trail is None or trail is False:
        return None
    if isinstance(trail, Auditor):
        return trail
    if trail is True:
        return Auditor(SQLAuditTrail(store))
    if isinstance(trail, str):
        opened = SQLAuditTrail(trail, password_variable=password_variable)
        return Auditor(opened, closes=opened.close)
    if isinstance(trail, AuditTrail):
        return Auditor(trail)
    raise InvalidArgumentError(
        f"audit= must be True, a database's URL, or an object with record(entries), not {type(trail).__name__}"
    )
