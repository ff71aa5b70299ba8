"""Opening the store that a caller names by a URL, an engine, a pool or the store itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError
from memory_context.stores.codec import Codec
from memory_context.stores.compression import Compressed
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.sql.transactions import AnyDatabase
from memory_context.stores.sql.urls import PASSWORD_VARIABLE, STORE_VARIABLE, unread_url

if TYPE_CHECKING:
    from memory_context.stores.files.file_store import FileStore
    from memory_context.text.redact import Redactor

AnyStore: TypeAlias = AnyDatabase | MemoryStore
"""Everything by which a caller may name a store: see `as_store`."""

FILES = "file:"
CODECS = ("compressed", "encrypted")
REDACTED = "redacted"


def as_store(store: AnyStore | None, password_variable: str = PASSWORD_VARIABLE) -> MemoryStore:
    """Return the store that a caller names.

    A store is returned as it is. A URL such as ``file:///folder`` opens a `FileStore`; any other
    URL, an engine or a pool opens a `SQLAlchemyStore`. None stands for the environment variable
    ``MEMORY_CONTEXT_STORE``, or for ``sqlite:///memory.db`` if that is not set.

    ``compressed+`` before a URL gives the store the codec `Compressed`, ``encrypted+`` the codec
    `Encrypted` with the keys in ``MEMORY_CONTEXT_KEYS``, and ``redacted+``, before or after them,
    a `Redactor` without settings.

    Raises:
        InvalidArgumentError: *store* neither is a store nor names one.
        UnsupportedDatabaseError: A URL, engine or pool of a database other than SQLite and
            PostgreSQL.
    """
    given = os.environ.get(STORE_VARIABLE) if store is None else store
    if isinstance(given, str):
        return _store_at(given, password_variable)
    if given is None or isinstance(given, sa.URL | sa.Engine | sa.Pool):
        return SQLAlchemyStore(given, password_variable=password_variable)
    if isinstance(given, MemoryStore):
        return given
    suggestion = f"; write 'sqlite:///{given}' or 'file:{given}'" if isinstance(given, Path) else ""
    raise InvalidArgumentError(
        f"a store is a URL, an engine, a pool or a MemoryStore, not {type(store).__name__}{suggestion}"
    )


def _store_at(url: str, password_variable: str) -> MemoryStore:
    inner_url = database_url(url)
    prefixes = url.removesuffix(inner_url).split("+")[:-1]
    codecs = [name for name in prefixes if name != REDACTED]
    if len(codecs) > 1:
        raise InvalidArgumentError(
            f"a store has one codec, so only one of {', '.join(CODECS)} may come before its URL: {unread_url(url)!r}"
        )
    codec = Compressed() if codecs else Codec()
    if codecs == ["encrypted"]:
        from memory_context.stores.encryption import Encrypted  # noqa: PLC0415 - needs an extra

        codec = Encrypted()
    redactor = None
    if REDACTED in prefixes:
        from memory_context.text.redact import Redactor  # noqa: PLC0415 - compiles many patterns

        redactor = Redactor()
    if inner_url.startswith(FILES):
        return _file_store(url, inner_url, codec, redactor)
    return SQLAlchemyStore(
        inner_url, password_variable=password_variable, codec=codec, redactor=redactor
    )


def database_url(url: str) -> str:
    """Return the URL of the database or folder itself, without prefixes such as ``encrypted+``."""
    name, plus, inside = url.partition("+")
    if plus and name in (*CODECS, REDACTED):
        return database_url(inside)
    return url


def _file_store(url: str, inner_url: str, codec: Codec, redactor: Redactor | None) -> FileStore:
    from memory_context.stores.files.file_store import FileStore  # noqa: PLC0415 - for POSIX systems only

    path = unquote(inner_url.removeprefix(FILES))
    # file:///folder, file://localhost/folder and file:folder name a folder on this machine;
    # file://host/folder names one on another machine.
    if path.startswith("//localhost/"):
        path = path.removeprefix("//localhost")
    is_on_another_host = path.startswith("//") and not path.startswith("///")
    if not path or is_on_another_host:
        raise InvalidArgumentError(
            f"not the URL of a folder: {unread_url(url)!r}; write file:///srv/memories, or file:memories"
        )
    return FileStore(path.removeprefix("//"), codec=codec, redactor=redactor)
