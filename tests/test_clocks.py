"""A clock that jumps back and forth, as one that is set or a machine that sleeps."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest

from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.exceptions import MemoryDeletedError
from memory_context.memory.copy_export_import import ALL_USERS, export_memories, import_memories
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model import item as item_module
from memory_context.testing import check_prompt
from messages import LOG, call, results, user
from test_context import fill


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Sets the clock that every record is dated by, so far from the right time."""
    off = timedelta()

    class AnyDatetime(type(datetime)):  # type: ignore[misc] # a metaclass
        """Takes every datetime for one of the class."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Clock(datetime, metaclass=AnyDatetime):
        """The time that somebody has set."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            """Return it."""
            return datetime.now(tz) + off

    def set_clock(distance: timedelta) -> None:
        nonlocal off
        off = distance

    monkeypatch.setattr(item_module, "datetime", Clock)
    return set_clock


@pytest.mark.long
async def test_conversation_while_the_clock_jumps(
    store_url: str, jump: Callable[[timedelta], None]
) -> None:
    """A conversation with notes and compactions stays valid and loses nothing, whatever the time is said to be."""
    chance = random.Random(1)
    context = MemoryContext("ann", store=store_url, max_tokens=3000, notes=True)
    keys = dict[str, str]()
    for number in range(12):
        jump(timedelta(hours=chance.uniform(-48, 48)))
        text = f"output {number}\n{LOG}"
        await fill(context, user(f"What of worker-{number}?"), call("run", number=number))
        messages = await fill(context, results(text, number=number))
        check_prompt(messages)
        [ref, *_] = MemoryRef.find_all(messages[-1].model_dump_json().replace("\\n", "\n"))
        keys[ref.key] = text
        await context.store(f"note {number}", key="own", replace=True)
        assert f"note {number}" == await context.retrieve("own")
    assert context.stats().compactions
    assert 0 == context.stats().store_failures
    for key, text in keys.items():
        assert text == await context.retrieve(key)
    await context.aclose()


def test_deletions_while_the_clock_goes_back(
    store_url: str, tmp_path: Any, jump: Callable[[timedelta], None]
) -> None:
    """What is deleted is deleted, and what is stored after it is there, though it seems to be older; moved, too."""
    with MemoryManager(store_url, user_id="ann") as manager:
        manager.store("first", key="k")
        manager.forget("k")
        jump(timedelta(days=-1))
        with pytest.raises(MemoryDeletedError):
            manager.retrieve("k")
        manager.store("second", key="k")
        assert "second" == manager.retrieve("k")
        manager.store("kept", key="later", expires_at=item_module.now() + timedelta(hours=1))
        jump(timedelta(days=-2))
        assert 0 == delete_expired(manager.memory_store)
        jump(timedelta())
        assert 1 == delete_expired(manager.memory_store)
        path = export_memories(manager.memory_store, tmp_path / "all.jsonl", user_id=ALL_USERS).path
    with MemoryManager("sqlite://", user_id="ann") as copy:
        import_memories(copy.memory_store, path, user_id=ALL_USERS)
        assert "second" == copy.retrieve("k")
