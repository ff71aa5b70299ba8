"""What providers refuse never stands in a prompt: calls without an answer, answers without a call, lone surrogates."""

from __future__ import annotations

import asyncio
import json

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool

from memory_context import MemoryContext
from memory_context.testing import ScriptedChatClient
from messages import call, dumps, results, user


def unanswered(messages: list[LLMMessage]) -> list[str]:
    """The calls that are not answered directly behind them."""
    open_ids = list[str]()
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and isinstance(message.content, list):
            behind = messages[place + 1] if place + 1 < len(messages) else None
            answers = set[str]()
            if isinstance(behind, FunctionExecutionResultMessage):
                answers = {result.call_id for result in behind.content}
            open_ids += [one.id for one in message.content if one.id not in answers]
    return open_ids


async def test_a_run_that_was_cancelled_in_a_tool() -> None:
    """The next run's request answers the calls that were cancelled; what they gave too late is dropped."""
    started, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        started.set()
        await may_end.wait()
        return "late"

    context = MemoryContext("ann", store="sqlite://")
    client = ScriptedChatClient(
        [[FunctionCall(id="c1", name="slow", arguments="{}")], "I stopped.", "Bye."]
    )
    tool = FunctionTool(slow, "Take long.", name="slow")
    agent = AssistantAgent("coder", model_client=client, model_context=context, tools=[tool])
    running = asyncio.create_task(agent.run(task="go"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await agent.run(task="what happened?")

    assert [] == unanswered(client.prompts[-1])
    [answer] = [
        one for one in client.prompts[-1] if isinstance(one, FunctionExecutionResultMessage)
    ]
    told = "The run was cancelled before a result came; whether this was done is not known."
    assert (told, True, "slow") == (
        answer.content[0].content,
        answer.content[0].is_error,
        answer.content[0].name,
    )
    before = dumps(client.prompts[-1])
    await context.add_message(
        FunctionExecutionResultMessage(
            content=[answer.content[0].model_copy(update={"content": "late"})]
        )
    )
    await agent.run(task="bye")
    assert before == dumps(client.prompts[-1])[: len(before)]
    assert "late" not in json.dumps(dumps(client.prompts[-1]))


async def test_a_look_while_a_tool_is_at_work() -> None:
    """Whoever reads the messages while a tool is at work changes nothing, and its result comes as ever."""
    context = MemoryContext("ann", store="sqlite://")
    for message in (user("go"), call("run", "stop")):
        await context.add_message(message)
    assert ["call-1-0", "call-1-1"] == unanswered(await context.get_messages())
    await context.add_message(results("one", "two"))
    assert "two" in json.dumps(dumps(await context.get_messages()))
    assert [] == unanswered(await context.get_messages())


async def test_one_of_two_calls() -> None:
    """Of two calls of which one was answered, the other is answered beside it; the prompt stays from then on."""
    context = MemoryContext("ann", store="sqlite://")
    for message in (user("go"), call("run", "stop"), results("one")):
        await context.add_message(message)
    first = await context.get_messages()
    await context.add_message(user("and now?"))
    second = await context.get_messages()
    answers = [
        one.call_id
        for m in second
        if isinstance(m, FunctionExecutionResultMessage)
        for one in m.content
    ]
    assert ["call-1-0", "call-1-1"] == answers
    assert dumps(first) == dumps(second)[: len(first)]


async def test_an_id_that_is_used_again() -> None:
    """A provider that numbers each turn's calls anew gets each turn's results."""
    context = MemoryContext("ann", store="sqlite://")
    for message in (user("go"), call("run"), user("stop"), call("run")):
        await context.add_message(message)
    await context.get_messages()
    await context.add_message(results("here"))
    assert "here" in json.dumps(dumps(await context.get_messages()))


async def test_a_result_that_stands_first() -> None:
    """Results without their call at the beginning are dropped, as AutoGen's own limited context does."""
    context = MemoryContext("ann", store="sqlite://", initial_messages=[results("old"), user("go")])
    assert dumps([user("go")]) == dumps(await context.get_messages())


async def test_lone_surrogates() -> None:
    """A small text, or an argument, with lone surrogates reaches the client as text that it can send."""
    context = MemoryContext("ann", store="sqlite://")
    for message in (
        user("caf\ud800"),
        call("run", arguments='{"a": "\udfff"}'),
        results("\ud834!"),
    ):
        await context.add_message(message)
    sent = [message.model_dump_json() for message in await context.get_messages()]
    assert "caf\ufffd" in sent[0]
