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
from messages import LOG, call, dumps, results, user


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


@pytest.mark.parametrize("streams", [False, True])
async def test_what_was_done_before_a_run_was_cancelled(*, streams: bool) -> None:
    """Calls that the workbench has seen finished, or refused, keep their results; only the others were cancelled."""
    started, done = asyncio.Event(), list[str]()

    def quick(job: str) -> str:
        """Do a job at once."""
        done.append(job)
        return LOG

    async def slow() -> str:
        """Take long."""
        started.set()
        await asyncio.Event().wait()
        return ""

    context = MemoryContext("ann", store="sqlite://", recall=False)
    workbench = context.workbench([quick, slow])
    passed = '{"job": "[MemoryRef: unknown]"}'
    made = [("c1", "slow", "{}"), ("c2", "quick", '{"job": "a"}'), ("c3", "quick", passed)]
    await context.add_message(user("go"))
    await context.add_message(
        AssistantMessage(
            content=[FunctionCall(id=i, name=n, arguments=a) for i, n, a in made], source="coder"
        )
    )

    async def run(call_id: str, name: str, arguments: str) -> None:
        given = json.loads(arguments)
        if streams:
            async for _ in workbench.call_tool_stream(name, given, call_id=call_id):
                pass
        else:
            await workbench.call_tool(name, given, call_id=call_id)

    slow_call, *others = (asyncio.create_task(run(*one)) for one in made)
    await started.wait()
    await asyncio.gather(*others)
    slow_call.cancel()
    await asyncio.wait([slow_call])
    await context.add_message(user("what happened?"))
    prompt = await context.get_messages()
    answers = {
        result.call_id: result
        for message in prompt
        if isinstance(message, FunctionExecutionResultMessage)
        for result in message.content
    }

    assert [] == unanswered(prompt)
    assert ["a"] == done
    assert answers["c1"].content.startswith("The run was cancelled")
    assert answers["c2"].content.startswith("[MemoryRef: quick_")
    assert not answers["c2"].is_error
    assert "quick was not called" in answers["c3"].content
    assert 1 == context.stats().folds
    assert context.trusted_keys() == context.shown_keys()
    # What comes late all the same is dropped.
    await context.add_message(FunctionExecutionResultMessage(content=[answers["c2"]]))
    assert dumps(prompt) == dumps(await context.get_messages())


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
