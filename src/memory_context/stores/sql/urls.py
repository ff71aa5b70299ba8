"""Database URLs: finding the one to use, checking that it is supported, and showing it without its password."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from memory_context.exceptions import UnsupportedDatabaseError
from memory_context.model.checked_arguments import check_arguments

STORE_VARIABLE = "MEMORY_CONTEXT_STORE"
PASSWORD_VARIABLE = "MEMORY_CONTEXT_STORE_PASSWORD"  # noqa: S105 - the name of a variable
DEFAULT_URL = "sqlite:///memory.db"
_DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg"}
_TRUE = ("true", "yes", "on", "y", "t", "1")  # as SQLAlchemy reads a parameter of a URL
# The options of sqlite3; in a URI, also SQLite's own. SQLAlchemy accepts two ampersands with nothing between them.
_OPTIONS = re.compile(
    r"((timeout|isolation_level|detect_types|check_same_thread|cached_statements|uri)=[^&]*|&)*"
    r"|(?=.*\buri=)(\w+=[^&]*|&)*"
)
_ASYNCHRONOUS = {"postgresql+asyncpg": "postgresql+psycopg", "sqlite+aiosqlite": "sqlite"}


class HasEngine(Protocol):
    """The SQLAlchemy data layer of a front end such as Chainlit. SQLAlchemy's engines have this attribute, too."""

    @property
    def engine(self) -> Any:  # noqa: ANN401 - SQLAlchemy's Engine or AsyncEngine
        """Return its engine."""
        ...


def store_url(
    url: str | sa.URL | None = None, password_variable: str = PASSWORD_VARIABLE
) -> sa.URL:
    """Return the URL of the database: *url*, or the one in ``MEMORY_CONTEXT_STORE``, or ``sqlite:///memory.db``.

    A relative SQLite path is resolved against the current working directory. A PostgreSQL URL without
    a password gets the one in the environment variable `password_variable`, if that is set.

    Raises:
        UnsupportedDatabaseError: It is not a URL of SQLite or PostgreSQL, it names a driver other
            than psycopg, or it is a SQLite URL with something other than options after its
            question mark.
    """
    check_arguments(password_variable=password_variable)
    text = url or os.environ.get(STORE_VARIABLE) or DEFAULT_URL
    try:
        parsed = sa.make_url(text)
    except (ArgumentError, ValueError):
        shown = unread_url(text)
        is_file = bool(Path(shown).suffix)
        example = DEFAULT_URL
        if is_file:
            example = f"sqlite:///{shown.removeprefix('sqlite:')}"
        message = (
            f"not a database URL: {shown!r}; use {example} or postgresql+psycopg://host/database"
        )
        if "://" not in str(text) and not is_file:
            message += "; a user is given as user_id=…"
        # Without its cause, whose text may contain a part of a password.
        raise UnsupportedDatabaseError(message) from None
    parsed = supported(parsed)
    file = file_of(parsed)
    if file:
        if isinstance(text, str):
            _refuse_words_as_options(text)
        path = str(file.expanduser().absolute())
        if _is_uri(parsed):
            path = f"file:{quote(path)}"
        return parsed.set(database=path)
    password = os.environ.get(password_variable)
    is_postgresql = parsed.get_backend_name() == "postgresql"
    if is_postgresql and password and parsed.password is None:
        return parsed.set(password=password)
    return parsed


def _refuse_words_as_options(url: str) -> None:
    """Raise UnsupportedDatabaseError if words after the question mark of *url* are not options.

    SQLAlchemy drops them, and would open another file than the one that was meant, or not as it was meant.
    """
    _, _, options = url.partition("?")
    if not _OPTIONS.fullmatch(options):
        raise UnsupportedDatabaseError(
            f"{options!r}, after the ? of the URL, has a word that is no option: in the name of a file write %3F for ?,"
            " and with options of SQLite's own, sqlite:///file:NAME?mode=ro&uri=true"
        )


def synchronous(source: Any) -> Any:  # noqa: ANN401 - whatever a front end has
    """Return the synchronous URL of the database of a data layer, an asynchronous engine, or an asynchronous URL.

    Its driver is psycopg or sqlite3. Anything else that a store can open is returned as it is.

    Raises:
        UnsupportedDatabaseError: The database is in the asynchronous engine's memory.
    """
    engine = getattr(source, "engine", source)
    given = getattr(engine, "url", engine)
    if not str(given).startswith(tuple(_ASYNCHRONOUS)):
        return engine
    url = sa.make_url(given)
    if is_memory(url):
        raise UnsupportedDatabaseError(
            "the database in memory of an asynchronous engine cannot be shared; use a file"
        )
    query = dict(url.query)
    # An option of asyncpg, which libpq would refuse.
    query.pop("prepared_statement_cache_size", None)
    if "ssl" in query:
        query["sslmode"] = query.pop("ssl")
    return url.set(drivername=_ASYNCHRONOUS[url.drivername], query=query)


def supported(url: sa.URL) -> sa.URL:
    """Return *url* with the driver that this library uses.

    Raises:
        UnsupportedDatabaseError: The database is neither SQLite nor PostgreSQL, or the driver is
            not psycopg.
    """
    backend, _, driver = url.drivername.partition("+")
    if backend == "postgres":  # some hosting services write it so
        backend = "postgresql"
    if backend not in _DRIVERS:
        raise UnsupportedDatabaseError(
            f"{url.drivername!r} is not supported; use SQLite ({DEFAULT_URL}) or postgresql+psycopg://…, also"
            " after encrypted+ or redacted+"
        )
    if driver not in ("", _DRIVERS[backend]):
        suggestion = f"{backend}+{_DRIVERS[backend]}"
        raise UnsupportedDatabaseError(
            f"the driver {driver!r} is not supported; write {suggestion}://…"
        )
    if backend == "sqlite":
        if url.host:
            file = "/".join(filter(None, (url.host, url.database)))
            raise UnsupportedDatabaseError(
                f"SQLite has no server such as {url.host!r}; the URL of a file has three slashes: sqlite:///{file}"
            )
        return url.set(drivername="sqlite")
    return url.set(drivername="postgresql+psycopg")


def file_of(url: sa.URL) -> Path | None:
    """Return the file of a SQLite database, as it is written in the URL.

    None for PostgreSQL, and for a database in memory, even one that a ``file:`` URI of SQLite's names.
    """
    if url.get_backend_name() != "sqlite" or is_memory(url):
        return None
    if not _is_uri(url):
        return Path(url.database or "")
    path = unquote(urlsplit(url.database or "").path)
    mode = url.query.get("mode")
    if mode == "memory" or url.query.get("vfs") == "memdb" or path in ("", ":memory:"):
        return None
    return Path(path)


def opens_for_reading(url: sa.URL) -> bool:
    """Return whether SQLite opens the file of *url* for reading only. Without ``uri=true`` it ignores ``mode=ro``."""
    return url.query.get("mode") == "ro" and _is_uri(url)


def _is_uri(url: sa.URL) -> bool:
    """Return whether the database is named by a URI of SQLite's, as in ``sqlite:///file:name.db?mode=ro&uri=true``."""
    value = str(url.query.get("uri"))
    return value.lower() in _TRUE and (url.database or "").startswith("file:")


def shown_url(url: sa.URL) -> str:
    """Return *url* for people: with stars for the password, and without passwords in its query."""
    with_passwords = [name for name in url.query if "password" in name.lower()]
    return url.difference_update_query(with_passwords).render_as_string()


def unread_url(text: object) -> str:
    """Return the part of an unparsable URL that may be shown in a message.

    That is only its scheme, because any other part may contain a password.
    """
    shown, marks, _ = str(text).partition("://")
    if "@" in shown or "password" in shown:
        return "…"
    if marks:
        return f"{shown[:80]}{marks}…"
    return shown[:80]


def is_memory(url: sa.URL) -> bool:
    """Return whether this is an in-memory SQLite database, which lives as long as its store."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")
