"""Opening a store by whatever a caller names it by."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import unquote
from weakref import WeakValueDictionary

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.after_fork import Lock
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.sql.urls import PASSWORD_VARIABLE, STORE_VARIABLE, unread_url

if TYPE_CHECKING:
    from memory_context.stores.files.file_store import FileStore

AnyStore: TypeAlias = str | sa.URL | sa.Engine | sa.Pool | MemoryStore
"""All that a caller may name a store by: see `as_store`."""

FILES = "file:"
WRAPPERS = {
    "compressed": "CompressedStore",
    "encrypted": "EncryptedStore",
    "redacted": "RedactingStore",
}
# Weak: a store lives as long as somebody uses it.
_file_stores: WeakValueDictionary[Path, FileStore] = WeakValueDictionary()
_lock = Lock()


def as_store(store: AnyStore | None, password_variable: str = PASSWORD_VARIABLE) -> MemoryStore:
    """Return the store that a caller names: itself, or a `SQLAlchemyStore`, or a `FileStore`.

    A `FileStore` is named by a URL such as ``file:///folder``.

    ``encrypted+``, ``compressed+`` and ``redacted+`` before a URL put an `EncryptedStore` with the
    keys in ``MEMORY_CONTEXT_KEYS``, a `CompressedStore`, or a `RedactingStore` without patterns of
    the user's own around it; the first one is the outermost.

    None is the variable ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db``. All users of a
    folder in this process share one `FileStore`, because one may write into it.

    Raises:
        InvalidArgumentError: It is no store and names none.
        UnsupportedDatabaseError: A URL, engine or pool of another database than SQLite and
            PostgreSQL.
    """
    named = os.environ.get(STORE_VARIABLE) if store is None else store
    if isinstance(named, str):
        outer = _outer(named)
        if outer:
            wrapper = getattr(importlib.import_module("memory_context.stores"), WRAPPERS[outer])
            inside = as_store(named.removeprefix(f"{outer}+"), password_variable)
            return cast("MemoryStore", wrapper(inside))
        if named.startswith(FILES):
            return _file_store(named)
    if store is None or isinstance(store, str | sa.URL | sa.Engine | sa.Pool):
        return SQLAlchemyStore(store, password_variable=password_variable)
    if isinstance(store, MemoryStore):
        return store
    message = f"a store is a URL, an engine, a pool or a MemoryStore, not {type(store).__name__}"
    raise InvalidArgumentError(message)


def database_url(url: str) -> str:
    """Return the URL of the database or folder itself, without the stores around it."""
    while outer := _outer(url):
        url = url.removeprefix(f"{outer}+")
    return url


def _outer(url: str) -> str | None:
    """Return the scheme of the outermost store around the database; None without one."""
    name, plus, _ = url.partition("+")
    return name if plus and name in WRAPPERS else None


def _file_store(url: str) -> FileStore:
    from memory_context.stores.files.file_store import FileStore  # noqa: PLC0415 - for POSIX systems only

    path = unquote(url.removeprefix(FILES))
    # file:///folder, file://localhost/folder and file:folder name a folder; file://host/folder
    # names another machine's.
    if path.startswith("//localhost/"):
        path = path.removeprefix("//localhost")
    is_on_another_host = path.startswith("//") and not path.startswith("///")
    if not path or is_on_another_host:
        message = f"not the URL of a folder: {unread_url(url)!r}; write file:///srv/memories, or file:memories"
        raise InvalidArgumentError(message)
    folder = Path(path.removeprefix("//")).expanduser().absolute()
    with _lock:
        return _file_stores.setdefault(folder, FileStore(folder))
