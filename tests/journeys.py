"""One journey of an agent, on each host: it folds an output, reads it, passes it on, and gets it back by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.stores import MemoryStore
from memory_context.testing import ScriptedChatClient
from messages import LOG

MARKER = "plantedmarker7f3"
THREAD = "thread-5"
QUESTION = f"What became of worker-123 and {MARKER}?"
NOTE = f"remember {MARKER} for later"

Journey: TypeAlias = Callable[..., Any]


def run_job(job: str) -> str:
    """Run a job and return its log."""
    return f"job {job} {MARKER}\n" + LOG.replace("handled", f"handled {MARKER}")


def count_lines(text: str) -> str:
    """Count the lines of a text."""
    return f"{len(text.splitlines())} lines"


def first_ref(texts: list[str]) -> MemoryRef:
    """The first reference in what tools gave."""
    return next(ref for text in texts for ref in MemoryRef.find_all(text))


async def autogen(store: MemoryStore | str, **settings: Any) -> MemoryManager:
    """The journey of an AutoGen agent; the memories of its user afterwards."""
    context = MemoryContext("ann", store=store, agent_id="coder", thread_id=THREAD, **settings)
    client = ScriptedChatClient(
        [
            [_call("run_job", 1, job="a")],
            lambda messages: [_call("retrieve_memory", 2, key=_ref(messages).key, lines="2-3")],
            lambda messages: [_call("count_lines", 3, text=str(_ref(messages)))],
            "It ran.",
            "It handled its job.",
        ]
    )
    tools = [FunctionTool(run_job, "Run a job."), FunctionTool(count_lines, "Count lines.")]
    agent = AssistantAgent(
        "coder",
        model_client=client,
        model_context=context,
        workbench=context.workbench(tools),
        max_tool_iterations=10,
    )
    await agent.run(task=f"Run job a, mind {MARKER}.")
    await agent.run(task=QUESTION)
    assert MARKER in str(client.prompts[-1][-2].content), "it came back"
    await context.aclose()
    return context.manager


def _call(name: str, number: int, **arguments: object) -> FunctionCall:
    return FunctionCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def _ref(messages: Any) -> MemoryRef:
    given: list[LLMMessage] = list(messages)
    return first_ref(
        [
            r.content
            for m in given
            if isinstance(m, FunctionExecutionResultMessage)
            for r in m.content
        ]
    )


def _shown(messages: Any) -> MemoryRef:
    return first_ref(
        [str(message.content) for message in messages if isinstance(message, ToolMessage)]
    )


def _agent(
    store: MemoryStore | str, settings: dict[str, Any]
) -> tuple[Any, ScriptedChatModel, MemoryContextMiddleware]:
    model = ScriptedChatModel(
        [
            [call("run_job", "1", job="a")],
            lambda messages: [call("retrieve_memory", "2", key=_shown(messages).key, lines="2-3")],
            lambda messages: [call("count_lines", "3", text=str(_shown(messages)))],
            "It ran.",
            "It handled its job.",
        ]
    )
    middleware = MemoryContextMiddleware(store, user_id="ann", **settings)
    tools = [tool(run_job), tool(count_lines)]
    return (
        create_agent(
            model, tools, middleware=[middleware], checkpointer=InMemorySaver(), name="coder"
        ),
        model,
        middleware,
    )


_CONFIG: Any = {"configurable": {"thread_id": THREAD}}
_TURNS = [{"messages": [HumanMessage(text)]} for text in (f"Run job a, mind {MARKER}.", QUESTION)]


async def langchain_sync(store: MemoryStore | str, **settings: Any) -> MemoryManager:
    """The journey of a LangChain agent that is invoked; the memories of its user afterwards."""
    agent, model, middleware = _agent(store, settings)
    for turn in _TURNS:
        agent.invoke(turn, _CONFIG)
    return _ended(model, middleware)


async def langchain_async(store: MemoryStore | str, **settings: Any) -> MemoryManager:
    """As `langchain_sync`, awaited."""
    agent, model, middleware = _agent(store, settings)
    for turn in _TURNS:
        await agent.ainvoke(turn, _CONFIG)
    return _ended(model, middleware)


def _ended(model: ScriptedChatModel, middleware: MemoryContextMiddleware) -> MemoryManager:
    assert MARKER in str(model.prompts[-1][-2].content), "it came back"
    return middleware._hosted.memories("ann", THREAD, "coder")  # noqa: SLF001 - the manager that its runs have


JOURNEYS: dict[str, Journey] = {
    "autogen": autogen,
    "langchain_sync": langchain_sync,
    "langchain_async": langchain_async,
}
