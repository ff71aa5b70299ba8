"""Agents of LangChain's as people build them: many calls at once, branches of a thread, counters that fail."""

from __future__ import annotations

import json
import threading
from itertools import pairwise
from typing import Annotated, Any, cast

import pytest
import sqlalchemy as sa
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, PIIMiddleware
from langchain_core.messages import (
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from for_each import first_quick
from langchain_memory_context import MemoryContextMemory, MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    RecallPolicy,
    SQLAlchemyStore,
)
from memory_context.testing import seeded_keys

THREAD: Any = {"configurable": {"thread_id": "t"}}


def page(number: int, lines: int = 25) -> str:
    """A page of some 400 tokens, which stays whole when it comes alone."""
    return "\n".join(
        f"{number:02}-{line:02} order-{10_000 + number * 1000 + line} shipped to dock {line}"
        for line in range(lines)
    )


@tool
def read_page(number: int) -> str:
    """Read a page."""
    return page(number)


@tool
def read_long_page(number: int) -> str:
    """Read a long page."""
    return page(number, 100)


def results(messages: list[AnyMessage]) -> list[str]:
    """What the tools gave, as it stands in the state."""
    return [str(message.content) for message in messages if isinstance(message, ToolMessage)]


def read_pages(count: int, **settings: Any) -> tuple[Any, MemoryContextMiddleware]:
    """An agent that has read pages side by side."""
    calls = [call("read_page", str(number), number=number) for number in range(count)]
    middleware = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42", **settings)
    model = ScriptedChatModel([calls, "Read.", "Dock 7."])
    return create_agent(
        model, [read_page], middleware=[middleware], checkpointer=InMemorySaver()
    ), middleware


def test_a_question_that_was_edited_takes_its_recall_along() -> None:
    """A person who asks something else under the same id, and has the model run again, gets what this needs alone."""
    model = ScriptedChatModel(
        [[call("read_long_page", "1", number=27)], "Read.", "Dock 7.", "Dock 90."]
    )
    middleware = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42")
    agent = create_agent(
        model, [read_long_page], middleware=[middleware], checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("Read it.")]}, THREAD)
    asked = HumanMessage("Which dock was order-37057 shipped to?", id="asked")
    answer = agent.invoke({"messages": [asked]}, THREAD)["messages"][-1]
    assert "order-37057 " in str(model.prompts[-1][-2].content)

    edited = HumanMessage("Which dock was order-37090 shipped to?", id="asked")
    changes: Any = [RemoveMessage(id=answer.id), edited]
    agent.invoke({"messages": changes}, THREAD)
    shown = "\n".join(str(message.content) for message in model.prompts[-1][-3:-1])
    assert "order-37090 " in shown
    assert "order-37057 " not in shown


@pytest.mark.long
async def test_many_results_as_in_autogen() -> None:
    """Thirty results over the limit give the same references and previews in both hosts, and the same recall afterwards."""
    agent, _ = read_pages(30, max_tokens=4000)
    context = MemoryContext(
        "42",
        store=SQLAlchemyStore("sqlite://"),
        max_tokens=4000,
        recall=RecallPolicy(user_layer_tokens=0),
    )
    question = "Which dock was order-27007 shipped to?"
    with seeded_keys(1):
        await agent.ainvoke({"messages": [HumanMessage("Read all.")]}, THREAD)
        await agent.ainvoke({"messages": [HumanMessage(question)]}, THREAD)

    calls = [FunctionCall(str(n), json.dumps({"number": n}), "read_page") for n in range(30)]
    given = [
        FunctionExecutionResult(content=page(n), name="read_page", call_id=str(n), is_error=False)
        for n in range(30)
    ]
    with seeded_keys(1):
        await context.add_message(UserMessage(content="Read all.", source="user"))
        await context.get_messages()
        await context.add_message(AssistantMessage(content=calls, source="a"))
        await context.add_message(FunctionExecutionResultMessage(content=given))
        await context.get_messages()
        await context.add_message(AssistantMessage(content="Read.", source="a"))
        await context.add_message(UserMessage(content=question, source="user"))
        *_, folded, _, recalled, _ = await context.get_messages()

    assert isinstance(folded, FunctionExecutionResultMessage)
    values = agent.get_state(THREAD).values
    assert [result.content for result in folded.content] == results(values["messages"])
    [ours] = values["memory_context"]["MemoryContextMiddleware"]["note"]["inserted"]
    assert recalled.content == ours["text"]
    assert "17-07 order-27007 shipped to dock 7" in ours["text"]


@pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
async def test_a_counter_that_fails(how: str) -> None:
    """Where a counter of the user's own fails, texts stay whole and the run goes on."""

    def broken(text: str) -> int:
        raise ValueError(text[:10])

    agent, middleware = read_pages(30, fold=FoldPolicy(counter=broken))
    given = {"messages": [HumanMessage("Read all.")]}
    state = agent.invoke(given, THREAD) if how == "invoke" else await agent.ainvoke(given, THREAD)

    assert [page(number) for number in range(30)] == results(state["messages"])
    assert 0 < middleware.stats().store_failures


def test_a_branch_of_a_thread_has_its_own_past() -> None:
    """From an earlier checkpoint a thread goes on as if what came later had not been: no recall of the other branch."""
    model = ScriptedChatModel([[call("read_page", number=3)], "Read.", "Dock 7.", "Dock 9."])
    middleware = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42", threshold=50)
    agent: Any = create_agent(
        model, [read_page], middleware=[middleware], checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("Read it.")]}, THREAD)
    before = agent.get_state(THREAD).config
    for line in (17, 19):
        agent.invoke({"messages": [HumanMessage(f"Where did order-130{line} go?")]}, before)

    first, second = model.prompts[-2:]
    assert len(first) == len(second)
    assert "order-13019 shipped to dock 19" in str(second[-2].content)
    assert [first[-2].content] != [second[-2].content]
    assert 1 == len(
        agent.get_state(THREAD).values["memory_context"]["MemoryContextMiddleware"]["note"][
            "inserted"
        ]
    )


def appended(old: list[AnyMessage], new: Any) -> list[AnyMessage]:
    """A reducer that gives messages no ids, as deep agents have one for the texts that they are called with."""
    return [*old, *cast("list[AnyMessage]", convert_to_messages(new))]


class Unnamed(AgentState[Any]):
    """A state whose messages may have no ids."""

    messages: Annotated[list[AnyMessage], appended]


@pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
async def test_messages_without_ids(how: str) -> None:
    """Where messages have no ids, what was recalled stands in its place all the same, also when a text comes again."""
    model = ScriptedChatModel(
        [[call("read_page", number=3)], "Read.", "Dock 17.", "Dock 17.", "Bye."]
    )
    middleware = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42", threshold=50)
    agent: Any = create_agent(
        model,
        [read_page],
        middleware=[middleware],
        state_schema=Unnamed,
        checkpointer=InMemorySaver(),
    )
    question = "Where did order-13017 go?"
    for text in ("Read it.", question, question, "Where did order-13021 go?"):
        given = {"messages": [("user", text)]}
        _ = agent.invoke(given, THREAD) if how == "invoke" else await agent.ainvoke(given, THREAD)

    assert {None} == {
        message.id for message in model.prompts[-1] if message.type == "human" and not message.name
    }
    assert ["memory_context"] == [message.name for message in model.prompts[2] if message.name][1:]
    assert "order-13017 shipped to dock 17" in str(model.prompts[2][-2].content)
    assert "order-13021 shipped to dock 21" in str(model.prompts[-1][-2].content)
    for before, after in pairwise(model.prompts):
        assert [(m.type, m.content) for m in before] == [(m.type, m.content) for m in after][
            : len(before)
        ]


@pytest.mark.parametrize("redacts_first", first_quick([True, False]))
def test_redaction_in_either_order(redacts_first: bool) -> None:
    """A redaction that the middleware is given sees texts before they are stored, wherever it stands in the list."""

    @tool
    def people() -> str:
        """List people."""
        return "\n".join(
            f"{number}: person{number}@example.org, room {number}" for number in range(2000)
        )

    pii = PIIMiddleware("email", apply_to_tool_results=True)
    store = SQLAlchemyStore("sqlite://")
    own = MemoryContextMiddleware(store, user_id="42", fold=FoldPolicy(redact=[pii]))
    model = ScriptedChatModel([[call("people")], "Read.", "Room 77."])
    stack: list[AgentMiddleware[Any, Any, Any]] = [pii, own] if redacts_first else [own, pii]
    agent: Any = create_agent(model, [people], middleware=stack, checkpointer=InMemorySaver())
    for text in ("Who is there?", "Who is in room 77?"):
        agent.invoke({"messages": [HumanMessage(text)]}, THREAD)

    [item] = MemoryManager(store, user_id="42").search("room")
    assert "@example.org" not in item.text + str(model.prompts) + str(
        agent.get_state(THREAD).values
    )
    assert "77: [REDACTED_EMAIL], room 77" in str(model.prompts[-1][-2].content)


async def test_statements_run_off_the_event_loop(sqlite_url: str) -> None:
    """No statement of an asynchronous run is executed by the event loop's thread; saving what was said is one hop."""
    engine, threads = sa.create_engine(sqlite_url), list[str]()

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(*_: Any) -> None:
        if threading.current_thread().name != "memory-context-calls":  # which nobody waits for
            threads.append(threading.current_thread().name)

    model = ScriptedChatModel([[call("read_page", number=3)], "Read.", "Dock 17."])
    own = MemoryContextMiddleware(engine, user_id="42", threshold=50)
    agent: Any = create_agent(model, [read_page], middleware=[own], checkpointer=InMemorySaver())
    for text in ("Read it.", "Where did order-13017 go?"):
        await agent.ainvoke({"messages": [HumanMessage(text)]}, THREAD)
    assert (1, 1) == (own.stats().folds, own.stats().recalls)

    memory = MemoryContextMemory(user_id="42", store=engine, threshold=50)
    await memory.aload_memory_variables({"input": "Hello."})
    before = len(threads)
    await memory.asave_context({"input": page(4)}, {"output": page(5)})

    assert 4 < len(threads) - before
    # What may hang runs in a thread of its own, which the one of the hop waits for.
    hops = set(threads[before:]) - {"memory-context-store"}
    assert len(hops) <= 1
    assert {"memory-context"} == {name.partition("_")[0].removesuffix("-store") for name in threads}
    engine.dispose()


def test_calls_of_a_script_have_ids_of_their_own() -> None:
    """Parallel calls are answered one by one, so two of the same tool are not the same call."""
    assert call("read_log")["id"] != call("read_log")["id"]


def test_a_script_goes_on_when_its_prompts_are_emptied() -> None:
    """Tests empty the list of prompts between two steps; the model says each step once."""
    model = ScriptedChatModel(["one", "two"])
    said = list[str]()
    for _ in model.script:
        said.append(model.invoke("?").text)
        model.prompts.clear()

    assert ["one", "two"] == said
    with pytest.raises(RuntimeError, match="has 2 steps"):
        model.invoke("?")
