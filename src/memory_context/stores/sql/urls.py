"""Database URLs: which is meant, which are supported, and how they are shown without a password."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from memory_context.exceptions import UnsupportedDatabaseError

STORE_VARIABLE = "MEMORY_CONTEXT_STORE"
PASSWORD_VARIABLE = "MEMORY_CONTEXT_STORE_PASSWORD"  # noqa: S105 - the name of a variable
DEFAULT_URL = "sqlite:///memory.db"
_DRIVERS = {"sqlite": ("", "pysqlite"), "postgresql": ("", "psycopg")}
_ASYNCHRONOUS = {"postgresql+asyncpg": "postgresql+psycopg", "sqlite+aiosqlite": "sqlite"}


class HasEngine(Protocol):
    """A front end's data layer on SQLAlchemy; engines have this attribute too."""

    @property
    def engine(self) -> Any:  # noqa: ANN401 - SQLAlchemy's Engine or AsyncEngine
        """Return its engine."""
        ...


def store_url(
    url: str | sa.URL | None = None, password_variable: str = PASSWORD_VARIABLE
) -> sa.URL:
    """Return the URL of the database: *url*, or the environment's, or the default.

    The environment's is in ``MEMORY_CONTEXT_STORE``, the default is ``sqlite:///memory.db``.

    A relative SQLite path is resolved against the working directory now. A PostgreSQL URL without a
    password takes it from the variable `password_variable`, where that is set.

    Raises:
        UnsupportedDatabaseError: Not a URL of SQLite or PostgreSQL, or with another driver than
            psycopg.
    """
    text = url or os.environ.get(STORE_VARIABLE) or DEFAULT_URL
    try:
        parsed = sa.make_url(text)
    except (ArgumentError, ValueError):
        message = f"not a database URL: {unread_url(text)!r}; use {DEFAULT_URL} or postgresql+psycopg://host/database"
        # Without its cause, whose text may be a part of a password.
        raise UnsupportedDatabaseError(message) from None
    parsed = supported(parsed)
    file = file_of(parsed)
    if file:
        parsed = parsed.set(database=str(file.expanduser().absolute()))
    password = os.environ.get(password_variable)
    if parsed.get_backend_name() == "postgresql" and parsed.password is None and password:
        parsed = parsed.set(password=password)
    return parsed


def synchronous(source: Any) -> Any:  # noqa: ANN401 - whatever a front end has
    """Return what a store opens for the database of a data layer or an asynchronous engine or URL.

    That is the URL with psycopg or sqlite3 as its driver; everything else is returned as it is.

    Raises:
        UnsupportedDatabaseError: The database is in the engine's memory.
    """
    engine = getattr(source, "engine", source)
    given = getattr(engine, "url", engine)
    if not str(given).startswith(tuple(_ASYNCHRONOUS)):
        return engine
    url = sa.make_url(given)
    if is_memory(url):
        raise UnsupportedDatabaseError(
            "an asynchronous engine's database in memory cannot be shared; use a file"
        )
    query = dict(url.query)
    query.pop("prepared_statement_cache_size", None)  # asyncpg's alone; libpq would refuse it
    if "ssl" in query:
        query["sslmode"] = query.pop("ssl")
    return url.set(drivername=_ASYNCHRONOUS[url.drivername], query=query)


def supported(url: sa.URL) -> sa.URL:
    """Return *url* with the driver that is used.

    Raises:
        UnsupportedDatabaseError: Another database than SQLite and PostgreSQL, or another driver
            than psycopg.
    """
    backend, _, driver = url.drivername.partition("+")
    if backend == "postgres":  # as hosting services write it
        backend = "postgresql"
    if backend not in _DRIVERS:
        raise UnsupportedDatabaseError(
            f"{backend!r} databases are not supported; use SQLite ({DEFAULT_URL}) or postgresql+psycopg://…"
        )
    if driver not in _DRIVERS[backend]:
        right = f"{backend}+{_DRIVERS[backend][1]}"
        raise UnsupportedDatabaseError(f"the driver {driver!r} is not supported; write {right}://…")
    return url.set(drivername="postgresql+psycopg" if backend == "postgresql" else "sqlite")


def file_of(url: sa.URL) -> Path | None:
    """Return the file of a SQLite database, as the URL names it.

    None for a server, for a database in memory, and for SQLite's own ``file:`` URIs.
    """
    database = url.database or ""
    if url.get_backend_name() != "sqlite" or is_memory(url) or database.startswith("file:"):
        return None
    return Path(database)


def without_password(url: sa.URL) -> str:
    """Return *url* as text, with no password anywhere in it."""
    return shown_url(url._replace(password=None))


def shown_url(url: sa.URL) -> str:
    """Return *url* for people: with stars for the password, and without one in its query."""
    told = [name for name in url.query if "password" in name.lower()]
    return url.difference_update_query(told).render_as_string()


def unread_url(text: object) -> str:
    """Return what may be shown of a URL that cannot be parsed.

    That is its scheme alone, because it is not known where a password may stand.
    """
    shown, marks, _ = str(text).partition("://")
    if "@" in shown or "password" in shown:
        return "…"
    return f"{shown[:80]}{marks}…" if marks else shown[:80]


def is_memory(url: sa.URL) -> bool:
    """Return whether this is an in-memory SQLite database, which lives as long as its store."""
    return url.get_backend_name() == "sqlite" and (url.database or ":memory:") == ":memory:"
