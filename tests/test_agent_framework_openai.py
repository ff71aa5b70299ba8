"""Agent Framework's agents with its own OpenAI client, against a server that refuses what the provider refuses."""

from __future__ import annotations

import json

import pytest
from agent_framework import Agent, AgentSession, tool
from agent_framework.exceptions import ChatClientException
from agent_framework.openai import OpenAIChatCompletionClient

from for_each import first_quick
from memory_context import MemoryManager, MemoryRef
from memory_context.agent_framework import MemoryContextProvider
from memory_context.exceptions import InvalidScopeError
from memory_context.testing import ScriptedProvider, calling
from messages import LOG


@tool(approval_mode="never_require")
def run_build() -> str:
    """Run the build."""
    return LOG


SENT = list[str]()


@tool(approval_mode="never_require")
def mail(text: str) -> str:
    """Mail a text."""
    SENT.append(text)
    return f"mailed {len(text)} characters"


def agent_on(provider: ScriptedProvider, memory: MemoryContextProvider) -> Agent:
    """An agent with the framework's own client."""
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="none", base_url=provider.url)
    return Agent(client, name="desk", tools=[run_build, mail], context_providers=[memory])


async def test_a_session() -> None:
    """A large result leaves prompts and session, is read and passed on by reference, in a session through JSON, too."""
    script = [
        calling("run_build", "c1"),
        {"content": "It failed."},
    ]
    memory = MemoryContextProvider("sqlite://", user_id="ann")
    with ScriptedProvider(script) as provider:
        agent = agent_on(provider, memory)
        session = agent.create_session()
        await agent.run("Build it.", session=session)
        [ref] = MemoryRef.find_all(json.dumps(provider.asked[-1]["messages"]))
        session = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
        provider.script = [
            calling("mail", "c2", text=f"[MemoryRef: {ref.key}]"),
            calling("retrieve_memory", "c3", key=ref.key, lines="1-2"),
            {"content": "Done."},
        ]

        response = await agent.run("Mail it, and read its first lines.", session=session)

    assert "Done." == response.text
    assert [] == provider.refused
    assert LOG == SENT.pop()
    assert json.dumps(LOG)[1:-1] not in json.dumps(provider.asked)
    assert LOG.splitlines()[0] in provider.asked[-1]["messages"][-1]["content"]
    assert len(json.dumps(session.to_dict())) < len(LOG) / 2
    earlier, later = provider.asked[-2]["messages"], provider.asked[-1]["messages"]
    assert earlier == later[: len(earlier)]
    assert provider.asked[1]["messages"] == later[: len(provider.asked[1]["messages"])]


@pytest.mark.parametrize("stream", first_quick([False, True]))
async def test_recall(*, stream: bool) -> None:
    """What a question needs stands before it, at the same place in every later prompt, streamed or not."""
    memory = MemoryContextProvider("sqlite://", user_id="ann")
    MemoryManager(memory._hosted.store, user_id="ann").store(LOG, key="log")  # noqa: SLF001
    script = [calling("run_build", "c1"), {"content": "sdx9."}, {"content": "Yes."}]
    with ScriptedProvider(script) as provider:
        agent = agent_on(provider, memory)
        session = agent.create_session()
        if stream:
            updates = agent.run("Why did worker-777 crash?", session=session, stream=True)
            assert "sdx9." == (await updates.get_final_response()).text
        else:
            await agent.run("Why did worker-777 crash?", session=session)
        await agent.run("Sure?", session=session)

    assert [] == provider.refused
    first, _, last = [request["messages"] for request in provider.asked]
    assert ["memory_context", None] == [message.get("name") for message in first]
    assert "no space left on /dev/sdx9" in first[0]["content"]
    assert first == last[:2]
    assert json.dumps(LOG)[1:-1] not in json.dumps(provider.asked)


async def test_nobodys_memories() -> None:
    """Without a user nothing is read; a session names one, or a callable of it does."""
    with ScriptedProvider([{"content": "Hi."}] * 2) as provider:
        agent = agent_on(provider, MemoryContextProvider("sqlite://"))
        session = agent.create_session()
        with pytest.raises(InvalidScopeError, match="no user is named"):
            await agent.run("Hello.", session=session)
        session.state["user_id"] = "ann"
        await agent.run("Hello.", session=session)
        memory = MemoryContextProvider("sqlite://", user_id=lambda session: session.session_id)
        await agent_on(provider, memory).run("Hello.")


async def test_a_script_that_is_too_short() -> None:
    """A request behind the end of the script is refused, with the reason."""
    with ScriptedProvider() as provider:
        agent = agent_on(provider, MemoryContextProvider("sqlite://", user_id="ann"))
        with pytest.raises(ChatClientException, match="the script has no further message"):
            await agent.run("Hello.")


@pytest.mark.long
async def test_limit() -> None:
    """With `max_tokens` the oldest turns leave the prompts for the store, and every key redeems."""
    script = [{"content": f"answer {number} " + "word " * 80} for number in range(12)]
    memory = MemoryContextProvider("sqlite://", user_id="ann", max_tokens=1500)
    with ScriptedProvider(script) as provider:
        agent = agent_on(provider, memory)
        session = agent.create_session()
        for number in range(12):
            await agent.run(f"question {number} " + "filler " * 60, session=session)

    assert [] == provider.refused
    prompts = [json.dumps(request["messages"]) for request in provider.asked]
    assert memory.stats().compactions >= 1
    assert max(map(len, prompts)) < 12_000
    [ref, *_] = MemoryRef.find_all(prompts[-1])
    manager = MemoryManager(memory._hosted.store, user_id="ann")  # noqa: SLF001
    assert "question 1 " in str(manager.retrieve(ref.key))


async def test_results_side_by_side() -> None:
    """Results of calls that run together are folded each, and stand behind their calls."""
    both = {"tool_calls": [calling("run_build", f"c{n}")["tool_calls"][0] for n in (1, 2)]}
    memory = MemoryContextProvider("sqlite://", user_id="ann")
    with ScriptedProvider([both, {"content": "Both failed."}]) as provider:
        await agent_on(provider, memory).run("Build it twice.")

    assert [] == provider.refused
    results = [m["content"] for m in provider.asked[-1]["messages"] if m["role"] == "tool"]
    assert 2 == len(results)
    assert LOG not in results
