"""Build a `MemoryContext` on the database of a web front end, such as Chainlit."""

from __future__ import annotations

from typing import Any

from memory_context.autogen.context import MemoryContext
from memory_context.stores import AnyStore
from memory_context.stores.sql.urls import HasEngine, synchronous


def build_model_context(
    user_id: str | int,
    data_layer: AnyStore | HasEngine | None = None,
    *,
    thread_id: str | None = None,
    **settings: Any,  # noqa: ANN401 - those of `MemoryContext`
) -> MemoryContext:
    """Return a `MemoryContext` on the database in which a web front end keeps its conversations.

    Args:
        user_id: The signed-in user.
        data_layer: Chainlit's `SQLAlchemyDataLayer`, or another object with an `engine`; an asynchronous or synchronous
            engine; a URL, including one for asyncpg or aiosqlite; or a store. Only the URL of an asynchronous engine is
            used: the context opens a synchronous engine of its own. None: see `MemoryContext`.
        thread_id: The front end's conversation.
        settings: All other settings of `MemoryContext`.

    Raises:
        UnsupportedDatabaseError: The database is neither SQLite nor PostgreSQL, or is an in-memory database of an
            asynchronous engine.
    """
    store = synchronous(data_layer)
    return MemoryContext(user_id, store=store, thread_id=thread_id, **settings)
