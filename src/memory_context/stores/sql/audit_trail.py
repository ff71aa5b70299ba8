"""The audit trail in SQLite or PostgreSQL: a table beside the memories, written in transactions of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Self

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.audit import ACTIONS, Action, AuditEntry, Auditor, AuditTrail
from memory_context.model.item import with_zone
from memory_context.model.scope import Scope
from memory_context.stores.opening import as_store
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.sql.engines import PASSWORD_VARIABLE
from memory_context.stores.sql.schema import audit
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.wrappers.wrapper import innermost

PAGE = 500


class SQLAuditTrail:
    """An `AuditTrail` in the table `agent_memory_audit`. Safe under threads, and for several processes.

    Nothing is opened before the first use.

    Args:
        store: The database: a URL, an engine, a pool, or a store whose database it is to be. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory.
        password_variable: The environment variable with the password of a URL that has none.

    Raises:
        UnsupportedDatabaseError: Neither SQLite nor PostgreSQL through psycopg.
        InvalidArgumentError: A store that is no database's.
    """

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None,
        *,
        password_variable: str = PASSWORD_VARIABLE,
    ) -> None:
        self._closes = store is None or isinstance(store, str | sa.URL | sa.Engine | sa.Pool)
        self._store = _database_of(as_store(store, password_variable))
        self._run = self._store._run  # noqa: SLF001 - a transaction of its database, schema and all

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"<SQLAuditTrail in {self._store!r}>"

    def __enter__(self) -> Self:
        """The trail itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    @property
    def url(self) -> str | None:
        """The URL of this database for another process, without its password; None in memory and on a bare pool."""
        return self._store.url

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Commit `entries`, all of them or none.

        Raises:
            StoreError: The database could not do it.
        """
        rows = [asdict(entry) for entry in entries]
        if rows:
            self._run(lambda connection: connection.execute(sa.insert(audit), rows), writes=True)

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
        """What was done with a user's memories, newest first, a page at a time.

        Args:
            user_id: Whose memories.
            key: With this one.
            action: Only this.
            since: At this moment or later; with a time zone.
            until: Before this moment; with a time zone.
            limit: How many at most.

        Raises:
            InvalidArgumentError: There is no such action, a time without a zone, a limit below 0.
            StoreError: The database could not do it.
        """
        _check(action, since, until, limit)
        where = list(_conditions(Scope(user_id).user_id, key, action, since, until))  # type: ignore[arg-type] # makes it text
        return self._pages(where, limit)

    def delete(self, user_id: str | int | None = None, *, before: datetime | None = None) -> int:
        """Delete entries: a user's, or everybody's from before a moment, or both; how many there were.

        Raises:
            InvalidArgumentError: Neither is given, or a time without a zone.
            StoreError: The database could not do it; nothing was deleted.
        """
        _check(None, None, before, None)
        if user_id is None and before is None:
            message = "say whose entries, or from before when: delete(user_id, before=…)"
            raise InvalidArgumentError(message)
        statement = sa.delete(audit)
        if user_id is not None:
            statement = statement.where(audit.c.user_id == Scope(user_id).user_id)  # type: ignore[arg-type] # makes it text
        if before is not None:
            statement = statement.where(audit.c.at < before)
        return self._run(lambda connection: connection.execute(statement).rowcount, writes=True)

    def close(self) -> None:
        """Give back the connections, unless the store is the caller's. The trail may be used again."""
        if self._closes:
            self._store.close()

    def _pages(
        self, where: list[sa.ColumnElement[bool]], limit: int | None
    ) -> Iterator[AuditEntry]:
        newest: tuple[sa.UnaryExpression[Any], ...] = (audit.c.at.desc(), audit.c.id.desc())
        left, after = limit, list[sa.ColumnElement[bool]]()
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            statement = sa.select(audit).where(*where, *after).order_by(*newest).limit(size)
            rows = self._run(partial(_rows, statement=statement))
            yield from map(_entry, rows)
            if len(rows) < size:
                return
            left = None if left is None else left - size
            last = rows[-1]
            after = [
                sa.or_(audit.c.at < last.at, sa.and_(audit.c.at == last.at, audit.c.id < last.id))
            ]


def as_auditor(
    trail: AuditTrail | Auditor | str | bool | None,  # noqa: FBT001 - one word for: in the same database
    store: MemoryStore,
    password_variable: str = PASSWORD_VARIABLE,
) -> Auditor | None:
    """What writes to a trail: True is one in the database of `store`, a text one in the database of that URL.

    Raises:
        InvalidArgumentError: It is no trail; or True, and `store` is no database.
    """
    if trail is None or trail is False:
        return None
    if isinstance(trail, Auditor):
        return trail
    if trail is True:
        return Auditor(SQLAuditTrail(store))
    if isinstance(trail, str):
        made = SQLAuditTrail(trail, password_variable=password_variable)
        return Auditor(made, closes=made.close)
    if isinstance(trail, AuditTrail):
        return Auditor(trail)
    message = f"audit= is True, a database's URL, or has record(entries), which {type(trail).__name__} has not"
    raise InvalidArgumentError(message)


def _database_of(store: object) -> SQLAlchemyStore:
    inside = innermost(store)
    if isinstance(inside, SQLAlchemyStore):
        return inside
    message = (
        f"{type(inside).__name__} is no database, so the trail needs one of its own: give its URL"
    )
    raise InvalidArgumentError(message)


def _check(
    action: object, since: datetime | None, until: datetime | None, limit: int | None
) -> None:
    if action is not None and action not in ACTIONS:
        message = f"an action is one of {', '.join(ACTIONS)}, not {action!r:.80}"
        raise InvalidArgumentError(message)
    for moment in (since, until):
        with_zone(moment, "a moment")
    if limit is not None and limit < 0:
        message = f"a limit is 0 or more, or None for all, not {limit}"
        raise InvalidArgumentError(message)


def _conditions(
    user_id: str,
    key: str | None,
    action: Action | None,
    since: datetime | None,
    until: datetime | None,
) -> Iterator[sa.ColumnElement[bool]]:
    yield audit.c.user_id == user_id
    if key is not None:
        yield audit.c.memory_key == key
    if action is not None:
        yield audit.c.action == action
    if since is not None:
        yield audit.c.at >= since
    if until is not None:
        yield audit.c.at < until


def _rows(
    connection: sa.Connection, statement: sa.Select[*tuple[Any, ...]]
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    return connection.execute(statement).all()


def _entry(row: sa.Row[*tuple[Any, ...]]) -> AuditEntry:
    return AuditEntry(row.at, row.user_id, row.agent_id, row.thread_id, row.memory_key, row.action)
