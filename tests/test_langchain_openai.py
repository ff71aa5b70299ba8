"""LangChain's own OpenAI client, against a server that refuses what the provider refuses."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from memory_context import MemoryManager, MemoryRef, SQLAlchemyStore
from memory_context.testing import ScriptedProvider, calling
from messages import LOG

SENT = list[str]()
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def run_build() -> str:
    """Run the build."""
    return LOG


@tool
def mail(text: str) -> str:
    """Mail a text."""
    SENT.append(text)
    return f"mailed {len(text)} characters"


@for_each("stream", [False, True])
async def test_a_thread(stream: bool) -> None:
    """A large result is folded, read, mailed by reference and recalled, streamed or not, and no request is refused."""
    store = SQLAlchemyStore("sqlite://")
    both = [calling("run_build", f"c{n}")["tool_calls"][0] for n in (1, 2)]
    with ScriptedProvider([{"tool_calls": both}, {"content": "Both failed."}]) as provider:
        model = ChatOpenAI(model="gpt-4o", api_key="none", base_url=provider.url)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        memory = MemoryContextMiddleware(store, user_id="ann", max_tokens=4000)
        agent: Any = create_agent(
            model, [run_build, mail], middleware=[memory], checkpointer=InMemorySaver()
        )

        async def run(text: str) -> None:
            given = {"messages": [("user", text)]}
            if not stream:
                await agent.ainvoke(given, THREAD)
                return
            async for _ in agent.astream(given, THREAD, stream_mode="messages"):
                pass

        await run("Build it twice.")
        key = MemoryRef.find_all(json.dumps(provider.asked[-1]["messages"]))[0].key
        provider.script = [
            calling("mail", "c3", text=f"[MemoryRef: {key}]"),
            calling("retrieve_memory", "c4", key=key, lines="1-2"),
            {"content": "Done."},
            {"content": "By worker-1."},
        ]
        await run("Mail it, and read its first lines.")
        await run("Who handled job-7919?")

    assert [] == provider.refused
    assert LOG == SENT.pop()
    assert json.dumps(LOG)[1:-1] not in json.dumps(provider.asked)
    assert LOG == MemoryManager(store, user_id="ann").retrieve(key)
    prompts = [request["messages"] for request in provider.asked]
    for earlier, later in pairwise(prompts):
        assert earlier == later[: len(earlier)]
