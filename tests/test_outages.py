"""PostgreSQL is stopped at once and started again while agents run: they go on, and fold again afterwards."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage, UserMessage
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.conversation.fail_open import FailOpen
from memory_context.testing import ScriptedChatClient
from messages import LOG, results
from messages import call as call_message
from own_postgres import OwnServer, own_server
from test_context import shown

pytestmark = pytest.mark.long

SOAK = pytest.mark.soak
THREAD: Any = {"configurable": {"thread_id": "t"}}
PER_OUTAGE = 4
"""Jobs for each outage: one before it, one whose end it is, one in it, one after it."""


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with own_server() as server:
        yield server


def output(number: int) -> str:
    """What the job gives: a large text."""
    return f"job {number}\n{LOG}"


def until_open(*guards: FailOpen) -> None:
    """Wait until the store is tried again, where a failure was slow."""
    time.sleep(max(0, *(guard.breaker.paused_until - time.monotonic() for guard in guards)))


class Job:
    """A tool's work, in the midst of which the server stops or starts."""

    def __init__(self, server: OwnServer, guards: Callable[[], Sequence[FailOpen]]) -> None:
        self.server, self.guards = server, guards

    def run_job(self, number: int) -> str:
        """Run a job."""
        match number % PER_OUTAGE:
            case 1:
                self.server.stop()
            case 3:
                self.server.start()
                until_open(*self.guards())
        return output(number)


def check_outputs(texts: Sequence[str], manager: MemoryManager) -> None:
    """What came in an outage stands there in full, everything else behind a reference that redeems."""
    for number, text in enumerate(texts):
        if number % PER_OUTAGE in {1, 2}:
            assert output(number) == text
        else:
            assert output(number) == manager.retrieve(MemoryRef.find_all(text)[0].key)


def outages_warned_of(caplog: pytest.LogCaptureFixture) -> int:
    """How often it was said that memory failed."""
    return sum(
        "goes on with full texts" in record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING
    )


@pytest.mark.parametrize("outages", [1, pytest.param(10, marks=SOAK)])
async def test_team_goes_on(
    server: OwnServer, caplog: pytest.LogCaptureFixture, told: Callable[[str], None], outages: int
) -> None:
    """A team of two goes on with full texts, and folds again, without a restart and in the same contexts."""
    user, jobs = f"team-{outages}", PER_OUTAGE * outages
    own = {
        name: MemoryContext(user, store=server.url, agent_id=name) for name in ("runner", "reader")
    }
    guards = [context._conversation.fail_open for context in own.values()]  # noqa: SLF001
    run_job = FunctionTool(Job(server, lambda: guards).run_job, "Run a job.", name="run_job")
    calls = [
        [FunctionCall(id=f"c{n}", name="run_job", arguments=f'{{"number": {n}}}')]
        for n in range(jobs)
    ]
    runner = AssistantAgent(
        "runner",
        model_client=ScriptedChatClient(calls),
        tools=[run_job],
        model_context=own["runner"],
    )
    reader = AssistantAgent(
        "reader",
        model_client=ScriptedChatClient(["I have read it."] * jobs),
        model_context=own["reader"],
    )

    started = time.monotonic()
    await RoundRobinGroupChat([runner, reader], max_turns=2 * jobs).run(task="Run all jobs.")

    given = await own["runner"].get_messages(), await own["reader"].get_messages()
    results_of_tools = [
        shown(message)
        for message in given[0]
        if isinstance(message, FunctionExecutionResultMessage)
    ]
    broadcast = [shown(message) for message in given[1] if isinstance(message, UserMessage)][1:]
    for texts, context in zip((results_of_tools, broadcast), own.values(), strict=True):
        assert jobs == len(texts)
        check_outputs(texts, context.manager)
    assert 2 * outages == outages_warned_of(caplog)
    assert all(context.stats().store_failures >= 2 * outages for context in own.values())
    told(
        f"{outages} outages, {jobs} jobs, {time.monotonic() - started:.0f} s; {own['runner'].stats()}"
    )


@pytest.mark.parametrize("outages", [1, pytest.param(10, marks=SOAK)])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_langchain_agent_goes_on(
    server: OwnServer,
    caplog: pytest.LogCaptureFixture,
    told: Callable[[str], None],
    how: str,
    outages: int,
) -> None:
    """An agent of LangChain's goes on with full texts, and folds again, with the same middleware."""
    user, jobs = f"{how}-{outages}", PER_OUTAGE * outages
    own = MemoryContextMiddleware(server.url, user_id=user)
    run_job = tool(Job(server, lambda: [own._hosted.fail_open]).run_job)  # noqa: SLF001
    model = ScriptedChatModel(
        [[call("run_job", str(n), number=n)] for n in range(jobs)] + ["Done."]
    )
    agent: Any = create_agent(model, [run_job], middleware=[own], checkpointer=InMemorySaver())
    given, config = (
        {"messages": [HumanMessage("Run all jobs.")]},
        THREAD | {"recursion_limit": 1000},
    )

    state = agent.invoke(given, config) if how == "invoke" else await agent.ainvoke(given, config)

    texts = [str(message.content) for message in state["messages"] if message.type == "tool"]
    assert jobs == len(texts)
    with MemoryManager(server.url, user_id=user) as manager:
        check_outputs(texts, manager)
    assert outages == outages_warned_of(caplog)
    assert own.stats().store_failures >= 2 * outages
    told(f"{outages} outages, {jobs} jobs; {own.stats()}")
    own.close()


@pytest.mark.parametrize("outages", [2, pytest.param(20, marks=SOAK)])
async def test_outages_at_any_moment(
    server: OwnServer, told: Callable[[str], None], outages: int
) -> None:
    """Whenever the server stops, each text is in the prompt, or behind a reference to exactly it."""
    context = MemoryContext(f"any-{outages}", store=server.url, recall=False)
    trouble = threading.Thread(target=fail_and_return, args=(server, outages))
    trouble.start()
    given = list[str]()
    while trouble.is_alive():
        await run_job(context, given)
        await asyncio.sleep(0.02)
    until_open(context._conversation.fail_open)  # noqa: SLF001
    await run_job(context, given)

    prompt = await context.get_messages()
    texts = [
        shown(message) for message in prompt if isinstance(message, FunctionExecutionResultMessage)
    ]
    folded = [bool(MemoryRef.find_all(text)) for text in texts]
    redeemed = [
        context.manager.retrieve(MemoryRef.find_all(text)[0].key) if is_folded else text
        for text, is_folded in zip(texts, folded, strict=True)
    ]
    assert given == redeemed
    assert folded[-1]
    assert len(texts) - sum(folded) == context.stats().store_failures
    told(f"{outages} outages, {len(given)} texts, {sum(folded)} of them folded")


def fail_and_return(server: OwnServer, outages: int) -> None:
    """Stop the server and start it again, at random moments."""
    chance = random.Random(outages)
    for _ in range(outages):
        time.sleep(chance.uniform(0, 0.5))
        server.stop()
        time.sleep(chance.uniform(0, 0.2))
        server.start()


async def run_job(context: MemoryContext, given: list[str]) -> None:
    """Let an agent call a tool, and hear its large result, which is noted in `given`."""
    number = len(given)
    given.append(output(number))
    await context.add_message(call_message("run_job", number=number))
    await context.add_message(results(given[-1], number=number))
    await context.get_messages()
