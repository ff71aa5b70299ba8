"""What a web front end's builder of agents calls."""

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
        data_layer: Chainlit's `SQLAlchemyDataLayer`, or anything else with an `engine`; an
            asynchronous or synchronous engine; a URL, also of asyncpg and aiosqlite; or a store.
            An asynchronous engine only names the database: the context has a synchronous one of its
            own. None: as `MemoryContext`.
        thread_id: The front end's conversation.
        settings: All others of `MemoryContext`.

    Raises:
        UnsupportedDatabaseError: Not SQLite or PostgreSQL, or a database in an asynchronous
            engine's memory.
    """
    store = synchronous(data_layer)
    return MemoryContext(user_id, store=store, thread_id=thread_id, **settings)
