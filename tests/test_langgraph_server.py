"""docs/howto/langgraph-server.md, run: one agent behind FastAPI, several people, a real PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from fastapi.testclient import TestClient
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from langchain_memory_context.testing import ScriptedChatModel, Step, call
from memory_context import MemoryManager, MemoryRef
from pages import ROOT, programs

LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
ANSWER = "02:20:34 worker-1234 done"


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


def _answer(prompt: list[BaseMessage]) -> Step:
    """Read the log when asked to; else say all that the prompt holds."""
    if str(prompt[-1].content) == "Read the log.":
        return [call("read_log")]
    if isinstance(prompt[-1], ToolMessage):
        return "Read."
    return "\n".join(str(message.content) for message in prompt)


@pytest.fixture
def page() -> Iterator[ModuleType]:
    """The page's program as a module, for FastAPI looks names up where they were defined."""
    [program] = programs(ROOT / "docs/howto/langgraph-server.md")
    module = ModuleType("langgraph_server_page")
    sys.modules[module.__name__] = module
    exec(compile(program.code, module.__name__, "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def client(page: ModuleType, postgres_url: str) -> Iterator[TestClient]:
    """The page's application, with a model that says what it was shown."""
    tools: list[BaseTool] = [read_log]
    database = postgres_url.replace("postgresql+psycopg://", "postgresql://")
    app = page.server(ScriptedChatModel([_answer] * 20), tools, database)
    with TestClient(app) as client:
        yield client


def ask(client: TestClient, user: str, text: str, **more: Any) -> str:
    """What the server answers to a user."""
    response = client.post(
        "/ask", json={"thread": "t", "text": text, **more}, headers={"x-user": user}
    )
    assert 200 == response.status_code
    return str(response.json())


@pytest.mark.long
def test_the_page_serves_several_people(client: TestClient, postgres_url: str) -> None:
    """Each person's log is folded and comes back to its owner; the same thread's name of another is another thread."""
    for user in ("ann", "bob"):
        assert "Read." == ask(client, user, "Read the log.")

    shown = ask(client, "ann", "When was worker-1234 done?")
    assert ANSWER in shown
    assert LOG not in shown
    assert ANSWER not in ask(client, "eve", "When was worker-1234 done?")

    keys = {ref.key for ref in MemoryRef.find_all(shown)}
    assert LOG in [MemoryManager(postgres_url, user_id="ann").retrieve(key) for key in keys]
    held = {
        user: [
            item.memory_key for item in MemoryManager(postgres_url, user_id=user).search("worker")
        ]
        for user in ("bob", "eve")
    }
    assert held["bob"]
    assert keys.isdisjoint(held["bob"])
    assert [] == held["eve"]


def test_nobody_names_another_user(client: TestClient) -> None:
    """What a client adds to its request names no user, and no request without a user is answered."""
    ask(client, "ann", "Read the log.")
    assert ANSWER not in ask(
        client, "eve", "When was worker-1234 done?", user_id="ann", thread_id="ann/t"
    )
    assert 422 == client.post("/ask", json={"thread": "t", "text": "Hello"}).status_code
