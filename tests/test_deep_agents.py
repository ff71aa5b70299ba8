"""deepagents: its agents fold into our store instead of their files, and keep their files in it."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StoreBackend
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMiddleware, MemoryStoreAdapter
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryManager, MemoryRef, SQLAlchemyStore

# Above 20,000 tokens, from where on a deep agent moves a result to its files.
LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(8000))
ANSWER = "02:20:34 worker-1234 done"
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


@pytest.fixture
def store() -> SQLAlchemyStore:
    """An empty store."""
    return SQLAlchemyStore("sqlite://")


def test_a_deep_agent_folds_and_recalls(store: SQLAlchemyStore) -> None:
    """A result is folded before the agent would move it to its files, and what a question needs comes back."""
    model = ScriptedChatModel([[call("read_log")], "Read.", "At 02:20:34."])
    memory = MemoryContextMiddleware(store, user_id="42")
    agent: Any = create_deep_agent(
        model, [read_log], middleware=[memory], checkpointer=InMemorySaver()
    )
    for text in ("Read the log.", "When was worker-1234 done?"):
        agent.invoke({"messages": [("user", text)]}, THREAD)

    state = agent.get_state(THREAD).values
    [result] = [one for one in state["messages"] if isinstance(one, ToolMessage)]
    [ref] = MemoryRef.find_all(str(result.content))
    assert LOG == MemoryManager(store, user_id="42").retrieve(ref.key)
    assert {} == state.get("files", {})
    assert ANSWER in str(model.prompts[-1][-2].content)


def test_a_page_of_a_file_is_not_folded(store: SQLAlchemyStore) -> None:
    """What its `read_file` gives is a page already, and stays whole."""
    page = "\n".join(f"line {i} of the plan says something" for i in range(100))
    model = ScriptedChatModel(
        [
            [call("write_file", file_path="/plan.md", content=page)],
            [call("read_file", "2", file_path="/plan.md")],
            "Read.",
        ]
    )
    memory = MemoryContextMiddleware(store, user_id="42", threshold=100)
    agent: Any = create_deep_agent(model, middleware=[memory])
    state = agent.invoke({"messages": [("user", "Write and read.")]}, THREAD)

    read = [one for one in state["messages"] if isinstance(one, ToolMessage)][-1]
    assert "line 99 of the plan" in str(read.content)
    assert [] == MemoryRef.find_all(str(read.content))


@pytest.mark.long
def test_a_sub_agent_folds_with_a_middleware_of_its_own(store: SQLAlchemyStore) -> None:
    """A sub-agent that is given the middleware reads its tool's result folded."""
    helper = ScriptedChatModel([[call("read_log")], "It is long."])
    model = ScriptedChatModel(
        [[call("task", description="Read the log.", subagent_type="reader")], "Done."]
    )
    reader: Any = {
        "name": "reader",
        "description": "Reads logs.",
        "system_prompt": "Read.",
        "model": helper,
        "tools": [read_log],
        "middleware": [MemoryContextMiddleware(store, user_id="42")],
    }
    agent: Any = create_deep_agent(model, subagents=[reader])
    agent.invoke({"messages": [("user", "Read the log.")]}, THREAD)

    [ref] = MemoryRef.find_all(str(helper.prompts[-1][-1].content))
    assert LOG == MemoryManager(store, user_id="42").retrieve(ref.key)


def test_its_files_live_in_our_store(store: SQLAlchemyStore) -> None:
    """A `StoreBackend` on the adapter keeps files of one thread for the next."""

    def agent_of(script: list[Any]) -> Any:
        items = MemoryStoreAdapter(MemoryManager(store, user_id="42"))
        backend = StoreBackend(store=items, namespace=lambda _: ("files",))
        return create_deep_agent(ScriptedChatModel(script), backend=backend)

    writing = [call("write_file", file_path="/plan.md", content="Ship on Monday.")]
    agent_of([writing, "Written."]).invoke({"messages": [("user", "Write it down.")]})
    reading = [call("read_file", file_path="/plan.md")]
    state = agent_of([reading, "Monday."]).invoke({"messages": [("user", "When?")]})

    assert "Ship on Monday." in str(state["messages"][-2].content)
