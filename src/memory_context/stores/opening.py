"""From what a caller names a store by to the store."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import unquote
from weakref import WeakValueDictionary

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.forks import Lock, no_fork
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.sql.engines import PASSWORD_VARIABLE, STORE_VARIABLE, unread_url
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore

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
_folders: WeakValueDictionary[Path, FileStore] = WeakValueDictionary()
_lock = Lock()


def as_store(store: AnyStore | None, password_variable: str = PASSWORD_VARIABLE) -> MemoryStore:
    """`store` itself if it is one, else a `SQLAlchemyStore` on it; a `FileStore` for a URL such as ``file:///folder``.

    ``encrypted+``, ``compressed+`` and ``redacted+`` before a URL are an `EncryptedStore` with the keys in
    ``MEMORY_CONTEXT_KEYS``, a `CompressedStore`, and a `RedactingStore` without patterns of a user's around it; the
    first one is the outermost.

    None is the variable ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db``. All users of a folder in this process
    share one `FileStore`, because one may write into it.
    """
    named = os.environ.get(STORE_VARIABLE) if store is None else store
    if isinstance(named, str) and (outer := _outer(named)):
        wrapper = getattr(importlib.import_module("memory_context.stores"), WRAPPERS[outer])
        return cast(
            "MemoryStore", wrapper(as_store(named.removeprefix(f"{outer}+"), password_variable))
        )
    if isinstance(named, str) and named.startswith(FILES):
        return _file_store(named)
    if store is None or isinstance(store, str | sa.URL | sa.Engine | sa.Pool):
        return SQLAlchemyStore(store, password_variable=password_variable)
    if isinstance(store, MemoryStore):
        return store
    message = f"a store is a URL, an engine, a pool or a MemoryStore, not {type(store).__name__}"
    raise InvalidArgumentError(message)


def database_url(url: str) -> str:
    """The URL without the stores around it: of the database, or of the folder, as it stands there."""
    while outer := _outer(url):
        url = url.removeprefix(f"{outer}+")
    return url


def _outer(url: str) -> str | None:
    """The outermost of the stores that are to be around it."""
    name, plus, _ = url.partition("+")
    return name if plus and name in WRAPPERS else None


def _file_store(url: str) -> FileStore:
    with no_fork:
        from memory_context.stores.files.file_store import FileStore  # noqa: PLC0415 - for POSIX systems only

    path = unquote(url.removeprefix(FILES))
    path = path.removeprefix("//localhost") if path.startswith("//localhost/") else path
    if not path or (path.startswith("//") and not path.startswith("///")):
        message = f"not the URL of a folder: {unread_url(url)!r}; write file:///home/me/memories, or file:memories"
        raise InvalidArgumentError(message)
    folder = Path(path.removeprefix("//")).expanduser().absolute()
    with _lock:
        return _folders.setdefault(folder, FileStore(folder))
