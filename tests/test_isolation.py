"""User A never reads user B's memory: through any verb, tool, reference in text, or state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from autogen_core import CancellationToken
from autogen_core.models import LLMMessage

from memory_context import (
    ContextAssembler,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    ScopedMemory,
)
from memory_context.exceptions import MemoryDeletedError, MemoryNotFoundError, StateOwnerError
from memory_context.memory.consolidation import consolidate
from memory_context.stores import MemoryStore, SQLAlchemyStore
from messages import LOG, call, results, user
from test_context import fill

SECRET = "the launch code of ann is 5-3-9-1"


@pytest.fixture
def store(store_url: str) -> Iterator[MemoryStore]:
    """A store that two users share."""
    with SQLAlchemyStore(store_url) as store:
        yield store


def texts(messages: list[LLMMessage]) -> str:
    """Everything that a model would see."""
    return "\n".join(message.model_dump_json() for message in messages)


def test_same_error_as_for_nothing(store: MemoryStore) -> None:
    """Another user's key, also a deleted one, is not found, with the error of a key that never existed."""
    ann, bob = MemoryManager(store, user_id="ann"), MemoryManager(store, user_id="bob")
    key, gone = ann.store(SECRET), ann.store("gone")
    ann.forget(gone)

    errors = []
    for wanted in (key, gone, "nothing"):
        with pytest.raises(MemoryNotFoundError) as caught:
            bob.retrieve(wanted)
        errors.append(str(caught.value).replace(wanted, "KEY"))
        assert not isinstance(caught.value, MemoryDeletedError)
    assert 1 == len(set(errors))
    with pytest.raises(MemoryDeletedError):
        ann.retrieve(gone)


def test_verbs(store: MemoryStore) -> None:
    """Searching, forgetting, and storing under the same key or content stay within the user."""
    ann, bob = MemoryManager(store, user_id="ann"), MemoryManager(store, user_id="bob")
    key = ann.store(SECRET, key="code")

    assert [] == bob.search("launch code")
    assert [] == bob.search("launch code", filters={"user_id": "ann"})
    assert not bob.forget(key)
    assert "code" == bob.store("bob's own", key="code")
    assert bob.store(SECRET)
    assert SECRET == ann.retrieve("code")
    assert "bob's own" == bob.retrieve("code")


async def test_references_in_text_and_tools(store: MemoryStore) -> None:
    """A reference to another user's memory, in whoever's words, opens nothing, and no tool reads it."""
    ann, bob = MemoryContext("ann", store=store), MemoryContext("bob", store=store)
    key = await ann.store(f"{SECRET}\n{LOG}", "ann's code")
    reference = f"[MemoryRef: {key} - ann's code - 99 tokens]"

    messages = await fill(
        bob,
        user(f"open {reference}"),
        call("run"),
        results(reference),
        user(f"launch code {reference}", "eve"),
    )

    assert "5-3-9-1" not in texts(messages)
    assert 0 == bob.stats().recalls
    retrieve, search, _ = bob.tools()
    with pytest.raises(Exception, match="There is no memory with the key"):
        await retrieve.run_json({"key": key}, CancellationToken())
    assert "5-3-9-1" not in await search.run_json({"query": "launch code"}, CancellationToken())


async def test_states(store: MemoryStore) -> None:
    """A saved state opens nothing for another user, also when its owner's name is taken out."""
    ann, bob = MemoryContext("ann", store=store), MemoryContext("bob", store=store)
    [_, folded] = await fill(ann, call("run"), results(f"{LOG}\n{SECRET}\n{LOG}"))
    state = dict(await ann.save_state())

    with pytest.raises(StateOwnerError):
        await bob.load_state(state)
    await bob.load_state({"messages": state["messages"]})

    # What stood in ann's prompt, the preview of her text with it, is in the state.
    assert folded == (await fill(bob, user("what is the launch code of ann?")))[1]
    assert 0 == bob.stats().recalls
    with pytest.raises(MemoryNotFoundError):
        await bob.retrieve(MemoryRef.find_all(texts([folded]))[0].key)


def test_walls_hold_for_what_stands_on_a_manager(store: MemoryStore) -> None:
    """Who sees one project only is neither given another one's notes by an assembler, nor lets them be merged."""
    ann = MemoryManager(store, user_id="ann")
    text = "The launch service listens on port 5391 behind the gateway, and restarts each night at two."
    keys = [ann.store(f"{text}{end}", tier="project", tier_id="theirs") for end in ("", " ", "  ")]
    mine = ScopedMemory(ann, project_id="mine").manager

    assert not ContextAssembler(mine, project_id="theirs").build("the launch service", 500)
    assert 0 == consolidate(mine, "project").notes == consolidate(mine, "project", "theirs").notes
    assert all(ann.get(key).is_active for key in keys)
    assert ContextAssembler(ann, project_id="theirs").build("the launch service", 500)
    assert consolidate(ann, "project").groups
