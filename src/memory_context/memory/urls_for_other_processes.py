"""Find the URLs by which another process can open the same store and the same audit trail."""

from __future__ import annotations

from memory_context.exceptions import NotSerializableError
from memory_context.stores import MemoryStore
from memory_context.stores.protocol import StoreSettings, url_of


def store_url(store: MemoryStore) -> str:
    """Return the URL, without its password, that opens the same store with the same settings.

    Raises:
        NotSerializableError: It has no URL, or has settings that a URL does not contain.
    """
    url = needed_url(
        store, "use a database file or a server, without a codec, redactor or engine of your own"
    )
    if isinstance(store, StoreSettings):
        if store.has_embedder:
            raise NotSerializableError(
                "an embedder cannot be serialized; give each process a store of its own with one"
            )
        if store.quota:
            raise NotSerializableError(
                "a quota cannot be serialized; give each process a store of its own with it"
            )
    return url


def needed_url(resource: object, hint: str) -> str:
    """Return the URL that opens a store or an audit trail in another process.

    Raises:
        NotSerializableError: There is none: the resource is the caller's own object, or exists only in this process.
    """
    url = url_of(resource)
    if url is None:
        raise NotSerializableError(f"{resource!r} cannot be serialized: it has no URL; {hint}")
    return url
