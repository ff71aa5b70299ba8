"""Failures that users of other libraries have published, each as a test of this one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import product
from typing import Any, cast

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
)
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool

from for_each import first_quick
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as tool_call
from memory_context import MemoryContext, MemoryManager, MemoryRef, Room
from memory_context.exceptions import MemoryDeletedError
from memory_context.memory.gc_by_retention_rules import RetentionRule, delete_expired
from memory_context.model.item import now
from memory_context.testing import Fault, FaultyStore, ScriptedChatClient, random_faults
from messages import LOG, call, results, stored_messages, user
from test_context import fill, shown

IDS = ("", "x" * 1500, "../../etc/passwd", "a/b\\c", "\n", "id\u202e")


def output(number: object) -> str:
    """A large text that no other is."""
    return f"output {number}\n{LOG}"


def refs_of(messages: Sequence[LLMMessage]) -> list[MemoryRef]:
    """The references in results."""
    return [
        ref
        for message in messages
        if isinstance(message, FunctionExecutionResultMessage)
        for result in message.content
        for ref in MemoryRef.find_all(result.content)
    ]


async def test_empty_and_long_ids_of_calls(sqlite_url: str) -> None:
    """Results are told apart though their ids are empty, equal, very long or paths (deepagents #6302, #5560)."""
    context = MemoryContext("ann", store=sqlite_url)
    given = [output(number) for number, _ in enumerate(product(range(2), IDS))]
    for text, (_, call_id) in zip(given, product(range(2), IDS), strict=True):
        asked = AssistantMessage(content=[FunctionCall(call_id, "{}", "read")], source="coder")
        result = FunctionExecutionResult(content=text, name="read", call_id=call_id, is_error=False)
        await fill(context, asked, FunctionExecutionResultMessage(content=[result]))

    refs = refs_of(await context.get_messages())

    assert given == [await context.retrieve(ref.key) for ref in refs]
    assert 0 == context.stats().store_failures
    await context.aclose()


@pytest.mark.long
def test_empty_and_long_ids_of_calls_in_langchain(sqlite_url: str) -> None:
    """The same in LangChain, where a result's id decides to which call it belongs (deepagents #6302, #5560)."""

    @tool
    def read(number: int) -> str:
        """Read an output."""
        return output(number)

    own = MemoryContextMiddleware(sqlite_url, user_id="ann")
    script = [[tool_call("read", call_id, number=n)] for n, call_id in enumerate(IDS)]
    agent: Any = create_agent(ScriptedChatModel([*script, "Done."]), [read], middleware=[own])
    state = agent.invoke({"messages": [HumanMessage("Read all.")]}, {"recursion_limit": 100})

    contents = [str(one.content) for one in state["messages"] if isinstance(one, ToolMessage)]
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        redeemed = [manager.retrieve(MemoryRef.find_all(text)[0].key) for text in contents]
    assert [output(number) for number in range(len(IDS))] == redeemed
    own.close()


@pytest.mark.parametrize("share", first_quick([0.3, 0.9]))
async def test_no_reference_to_what_was_never_written(sqlite_url: str, share: float) -> None:
    """However the store fails while a text is folded, a reference stands only for a row (deepagentsjs #621)."""
    kinds = [fault for fault in Fault if fault is not Fault.DELAY]
    store = FaultyStore(sqlite_url, random_faults(7, kinds, share), delay=0.0)
    context = MemoryContext("ann", store=store, recall=False)
    given = [output(number) for number in range(20)]
    for number, text in enumerate(given):
        context._conversation.fail_open.breaker.paused_until = 0.0  # noqa: SLF001 - no pause after a slow failure
        await fill(context, call("run", number=number), results(text, number=number))
    texts = [
        shown(message)
        for message in await context.get_messages()
        if isinstance(message, FunctionExecutionResultMessage)
    ]
    store.inject(())

    # By somebody else, who has nothing but the file.
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        for text, whole in zip(texts, given, strict=True):
            refs = MemoryRef.find_all(text)
            assert whole == (manager.retrieve(refs[0].key) if refs else text)
    assert any(text in given for text in texts)
    await context.aclose()


async def test_originals_are_not_lost(sqlite_url: str) -> None:
    """Whatever leaves a prompt, by folding and then by compaction, comes back byte for byte (Headroom #1006)."""
    context = MemoryContext("ann", store=sqlite_url, max_tokens=2000, recall=False)
    given = [output(number) for number in range(12)]
    for number, text in enumerate(given):
        await fill(context, user(f"Do {number}."), call("run", number=number))
        await fill(context, results(text, number=number))
    assert context.stats().compactions

    keys = [ref.key for message in await context.get_messages() for ref in _refs_in(message)]
    found, seen = set[str](), set[str]()
    while keys:
        key = keys.pop()
        if key in seen:
            continue
        seen.add(key)
        item = context.manager.get(key)
        found.add(item.text)
        if item.memory_type == "conversation":
            messages = stored_messages(item.text)
            keys += [ref.key for message in messages for ref in _refs_in(message)]
    assert set(given) <= found
    await context.aclose()


def _refs_in(message: LLMMessage) -> Iterator[MemoryRef]:
    yield from MemoryRef.find_all(message.model_dump_json().replace("\\n", "\n"))


async def test_what_was_retrieved_is_not_folded_again() -> None:
    """A model that reads a text back, again and again, is given the text, not a reference to it (Headroom #1077)."""
    key = ""
    seen = list[str]()

    def retrieve(prompt: Sequence[LLMMessage]) -> list[FunctionCall]:
        nonlocal key
        key = key or refs_of(prompt)[0].key
        seen.append(shown(prompt[-1]))
        arguments = json.dumps({"key": key})
        return [FunctionCall(f"c{len(seen)}", arguments, "retrieve_memory")]

    context = MemoryContext("ann", store="sqlite://")
    client = ScriptedChatClient(
        [[FunctionCall("c0", "{}", "read")], *[retrieve] * 4, "I have read it."]
    )
    tools: list[Any] = [FunctionTool(lambda: LOG, "Read the log.", name="read"), *context.tools()]
    agent = AssistantAgent(
        "coder", model_client=client, model_context=context, tools=tools, max_tool_iterations=9
    )
    await agent.run(task="Read the log.")

    assert 1 == context.stats().folds
    assert all("worker-30 handled" in text for text in seen[1:])
    assert not any(MemoryRef.find_all(text.partition("\n")[2]) for text in seen[1:])
    await context.aclose()


async def test_placeholder_is_no_new_original() -> None:
    """A prompt that another memory has folded is not folded again, nor is a JSON text spliced (Headroom #1077, #3544)."""
    outer, inner = (MemoryContext(name, store="sqlite://") for name in ("outer", "inner"))
    rows = json.dumps([{"id": number, "name": f"worker-{number}"} for number in range(2000)])
    [result] = await fill(inner, results(rows))
    text = shown(result)
    # In place of the whole text, never inside it: what is left would not be JSON any more.
    assert text.startswith("[MemoryRef: ")
    for number in range(5):
        [*_, result] = await fill(outer, results(text, number=number))
        assert text == shown(result)
    assert 0 == outer.stats().folds
    assert rows == await inner.retrieve(MemoryRef.find_all(text)[0].key)
    for context in (outer, inner):
        await context.aclose()


async def test_references_without_a_tool_are_redeemed_by_the_context() -> None:
    """An agent without memory tools gets back what its next question is about (Headroom #1006, #3544)."""
    context = MemoryContext("ann", store="sqlite://")
    messages = await fill(context, call("run"), results(LOG))
    assert "no space left on /dev/sdx9" in LOG
    folded = shown(messages[-1])
    assert MemoryRef.find_all(folded)

    messages = await fill(
        context,
        AssistantMessage(content="Done.", source="coder"),
        user("What did worker-123 handle?"),
    )

    assert any("worker-123 handled" in message.model_dump_json() for message in messages[2:])
    await context.aclose()


def test_references_come_with_the_tool_that_redeems_them(sqlite_url: str) -> None:
    """In LangChain every model call that holds a reference is offered the tool, and the graph runs it (Headroom #1006)."""
    offered = list[set[str]]()

    class WatchedModel(ScriptedChatModel):
        """A model that notes its tools."""

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            """Note them."""
            offered.append({getattr(one, "name", "") for one in tools})
            return self

    @tool
    def read() -> str:
        """Read the log."""
        return LOG

    def retrieve(prompt: Sequence[Any]) -> list[Any]:
        [ref, *_] = MemoryRef.find_all(str(prompt[-1].content))
        return [tool_call("retrieve_memory", "2", key=ref.key, contains="worker-123 ")]

    own = MemoryContextMiddleware(sqlite_url, user_id="ann")
    model: Any = cast("Any", WatchedModel)([[tool_call("read", "1")], retrieve, "Done."])
    agent: Any = create_agent(model, [read], middleware=[own])
    state = agent.invoke({"messages": [HumanMessage("Read it.")]})

    assert all("retrieve_memory" in names for names in offered)
    assert "worker-123 handled" in str(state["messages"][-2].content)
    own.close()


def test_evicted_references_still_redeem(sqlite_url: str) -> None:
    """Who makes room for new memories takes none away to which a reference may stand (Strands PR #3487)."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        room = Room(max_items=5, evict=0.2)
        items = [
            manager.remember(f"note {number}", tier="project", tier_id="p", room=room)
            for number in range(12)
        ]
        active = manager.memory_store.count(manager.scope, {"tier": "project"})
        assert active <= 5
        for number, item in enumerate(items):
            assert f"note {number}" == manager.retrieve(item.memory_key)


def test_expired_references_say_so(sqlite_url: str) -> None:
    """What a rule of retention deletes is not silently gone: its reference says when and why (Strands PR #3487)."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        key = manager.store(LOG, type="tool_output")
        delete_expired(
            manager.memory_store,
            [RetentionRule.parse("tool_output=1d")],
            at=now() + timedelta(days=2),
        )
        with pytest.raises(MemoryDeletedError, match=f"{key}.*was deleted on"):
            manager.retrieve(key)
