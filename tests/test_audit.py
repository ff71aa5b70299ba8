"""The audit trail: who stored, recalled, expanded, passed on and deleted which memory, and when."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.model_context import UnboundedChatCompletionContext

from journeys import JOURNEYS, MARKER, THREAD, Journey
from langchain_memory_context import (
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryRetriever,
    MemoryStoreAdapter,
    memory_tools,
)
from memory_context import (
    AuditEntry,
    AuditTrail,
    FileStore,
    MemoryContext,
    MemoryManager,
    ScopedMemory,
    SQLAlchemyStore,
    SQLAuditTrail,
    SQLMemory,
)
from memory_context._audit import ACTIONS, PAUSE, WAITING, Auditor
from memory_context.exceptions import InvalidArgumentError, NotSerializableError, StoreError, StoreUnavailableError
from memory_context.mcp import mcp_server


class Kept(list[AuditEntry]):
    """A trail in a list."""

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep them."""
        self.extend(entries)

    def did(self) -> list[tuple[str, str]]:
        """Actions and keys, in their order."""
        return [(entry.action, entry.memory_key) for entry in self]


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_each_action_of_an_agent(journey: Journey, store_url: str) -> None:
    """An agent that folds, reads, passes on and gets back, and a person who deletes: each is there once, with who."""
    store = SQLAlchemyStore(store_url)
    started = datetime.now(UTC)
    manager = await journey(store, audit=True)
    [item] = manager.memory_store.query(manager.scope, {"memory_type": "tool_output"})
    manager.forget(item.memory_key)

    entries = list(SQLAuditTrail(store).entries("ann"))
    ours = [entry for entry in reversed(entries) if entry.memory_key == item.memory_key]
    assert ["stored", "expanded", "passed", "recalled", "deleted"] == [entry.action for entry in ours]
    assert set(ACTIONS) == {entry.action for entry in ours}
    assert {("ann", "coder", THREAD)} == {(one.user_id, one.agent_id, one.thread_id) for one in entries}
    assert all(started <= entry.at <= datetime.now(UTC) for entry in entries)
    assert ours == entries[::-1]
    assert MARKER not in repr(entries)
    store.close()


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_off_by_default(journey: Journey, sqlite_url: str) -> None:
    """Without `audit` nothing is written."""
    await journey(sqlite_url)

    assert [] == list(SQLAuditTrail(sqlite_url).entries("ann"))
