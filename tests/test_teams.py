"""Real AutoGen teams whose participants each have a MemoryContext; only the models are scripted.

`ScriptedChatClient` refuses every prompt that a provider would refuse. Where AutoGen itself breaks such a rule, the
test uses AutoGen's replay client instead, which does not check, and says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from autogen_agentchat.agents import (
    ApprovalRequest,
    ApprovalResponse,
    AssistantAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
)
from autogen_agentchat.base import Handoff, TaskResult
from autogen_agentchat.conditions import ExternalTermination, TextMentionTermination
from autogen_agentchat.messages import (
    CodeExecutionEvent,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallSummaryMessage,
)
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken, Component, FunctionCall, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tools import BaseTool, FunctionTool, StaticWorkbench
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.replay import ReplayChatCompletionClient
from PIL import Image as Pillow
from pydantic import BaseModel

from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.testing import ScriptedChatClient, check_prompt
from messages import LOG, dumps, results, user


def run_job(job: str) -> str:
    """Run a job and return its log."""
    return "\n".join(f"{job}: worker-{i} handled item {i * 7919 % 10007}" for i in range(300))


class Job(BaseModel):
    """The arguments of `run_job`."""

    job: str


class Nothing(BaseModel):
    """The configuration of a tool that needs none."""


class RunJob(BaseTool[Job, Any], Component[Nothing]):
    """`run_job` as a component: AutoGen cannot dump a loaded FunctionTool again."""

    component_config_schema = Nothing

    def __init__(self) -> None:
        super().__init__(Job, str, "run_job", "Run a job.")

    async def run(self, args: Job, cancellation_token: CancellationToken) -> str:  # noqa: ARG002 - AutoGen's signature
        """Run a job and return its log."""
        return run_job(args.job)

    def _to_config(self) -> Nothing:
        return Nothing()

    @classmethod
    def _from_config(cls, config: Nothing) -> Self:  # noqa: ARG003 - AutoGen's signature
        return cls()


JOB = run_job("a")
RUN = RunJob()
RUN_JOB = [FunctionCall(id="c1", name="run_job", arguments='{"job": "a"}')]
READS = "I have read it."
QUESTION = "What became of worker-123?"
ANSWER = LOG.split("\n")[123]


def contexts(url: str, *names: str) -> dict[str, MemoryContext]:
    """A context for each name, on one store."""
    return {name: MemoryContext("ann", store=url, agent_id=name) for name in names}


def runner(context: MemoryContext, name: str = "runner", **settings: Any) -> AssistantAgent:  # noqa: ANN401
    """An agent that runs a job and passes its whole output on, as AutoGen's defaults do."""
    client = settings.pop("model_client", ScriptedChatClient([RUN_JOB, "done"]))
    return AssistantAgent(name, model_client=client, tools=[RUN], model_context=context, **settings)


def reader(context: MemoryContext, name: str = "reader", script: Sequence[Any] = (READS,) * 3) -> AssistantAgent:
    """An agent that answers what the script says."""
    return AssistantAgent(name, model_client=ScriptedChatClient(script), model_context=context)


def unchecked(*replies: str) -> ReplayChatCompletionClient:
    """A model that takes every prompt."""
    info = ModelInfo(
        vision=True, function_calling=True, json_output=True, structured_output=True, family=ModelFamily.UNKNOWN
    )
    return ReplayChatCompletionClient(list(replies), model_info=info)


def keys(messages: Iterable[LLMMessage]) -> list[str]:
    """The keys of the references in the messages, in order."""
    return [ref.key for message in messages for ref in MemoryRef.find_all(message.model_dump_json())]


async def keys_of(all_contexts: Mapping[str, MemoryContext]) -> dict[str, list[str]]:
    """The keys of the references in each context."""
    return {name: keys(await context.get_messages()) for name, context in all_contexts.items()}


async def stored(context: MemoryContext) -> list[str]:
    """The contents of all of the user's memories."""
    return sorted(item.text for item in await context.search("", 100))


async def messages_of(*of: ChatCompletionContext) -> list[list[str]]:
    """The messages of each context, as their bytes."""
    return [dumps(await context.get_messages()) for context in of]


async def state_of(team: BaseGroupChat) -> dict[str, Any]:
    """The team's state, as it comes back from a file."""
    loaded: dict[str, Any] = json.loads(json.dumps(await team.save_state()))
    return loaded


def reloaded(team: BaseGroupChat) -> BaseGroupChat:
    """The team, dumped into a file and loaded."""
    return BaseGroupChat.load_component(json.loads(team.dump_component().model_dump_json()))


def last_text(result: TaskResult) -> str:
    """What was said last."""
    return str(result.messages[-1].content)  # type: ignore[union-attr] # every message of these runs has a content


class TestRoundRobin:
    """Agents take turns; each hears all that the others say."""

    @staticmethod
    def team(all_contexts: Mapping[str, MemoryContext], turns: int = 3) -> RoundRobinGroupChat:
        """A runner and two readers."""
        agents = [
            runner(all_contexts["runner"]),
            reader(all_contexts["reader"]),
            reader(all_contexts["other"], "other"),
        ]
        return RoundRobinGroupChat([*agents], max_turns=turns)

    async def test_broadcast(self, store_url: str) -> None:
        """The output that is broadcast as a user message folds to the key of the tool's result: one memory, one key."""
        store = MemoryManager(store_url, user_id="ann").memory_store
        all_contexts = {name: MemoryContext("ann", store=store) for name in ("runner", "reader", "other")}

        result = await self.team(all_contexts).run(task="Run job a.")

        found = await keys_of(all_contexts)
        assert [1, 1, 1] == [len(some) for some in found.values()]
        assert 1 == len({key for some in found.values() for key in some})
        assert [JOB] == await stored(all_contexts["runner"])
        assert READS == last_text(result)

    async def test_events_keep_the_full_text(self, sqlite_url: str) -> None:
        """What a user interface shows is the whole output, in the event and in the summary."""
        result = await self.team(contexts(sqlite_url, "runner", "reader", "other")).run(task="Run job a.")

        [event] = [message for message in result.messages if isinstance(message, ToolCallExecutionEvent)]
        [summary] = [message for message in result.messages if isinstance(message, ToolCallSummaryMessage)]
        assert JOB == event.content[0].content == summary.content

    async def test_placeholder_in_a_broadcast(self, sqlite_url: str) -> None:
        """A reference that one agent passes on is not opened by all who hear it."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "other")
        key = await all_contexts["runner"].store(JOB, "log of job a")
        says = f"The log is [MemoryRef: {key} - log of job a - 4000 tokens], worker-17 handled what you need."
        agents = [
            reader(all_contexts["runner"], "runner", [says]),
            reader(all_contexts["reader"]),
            reader(all_contexts["other"], "other"),
        ]

        await RoundRobinGroupChat([*agents], max_turns=3).run(task="Go on.")

        assert [0, 0, 0] == [context.stats().recalls for context in all_contexts.values()]
        assert {"runner": [key], "reader": [key], "other": [key]} == await keys_of(all_contexts)

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped team loads as an equal one, with its contexts, and runs."""
        team = self.team(contexts(sqlite_url, "runner", "reader", "other"))
        loaded = reloaded(team)

        result = await loaded.run(task="Run job a.")

        assert team.dump_component() == loaded.dump_component()
        assert READS == last_text(result)
        assert '"memory_context.MemoryContext"' in team.dump_component().model_dump_json()
        assert [JOB] == await stored(MemoryContext("ann", store=sqlite_url))

    async def test_state(self, store_url: str) -> None:
        """A second team that loads the state has the same messages, and goes on with prompts of the same beginning."""
        store = MemoryManager(store_url, user_id="ann").memory_store
        first, second = (
            {n: MemoryContext("ann", store=store) for n in ("runner", "reader", "other")} for _ in range(2)
        )
        team, other_team = self.team(first), self.team(second)
        await team.run(task="Run job a.")

        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())
        await other_team.run(task="Thanks.")
        for before, after in zip(await messages_of(*first.values()), await messages_of(*second.values()), strict=True):
            assert before == after[: len(before)]
            assert len(after) > len(before)

    async def test_state_with_unread_messages(self, sqlite_url: str) -> None:
        """An output that an agent has not read when the team stops is in the state, and folds when it is read."""
        first, second = (contexts(sqlite_url, "runner", "reader", "other") for _ in range(2))
        team, other_team = self.team(first, turns=1), self.team(second, turns=2)
        await team.run(task="Run job a.")
        assert [] == await first["reader"].get_messages()

        await other_team.load_state(await state_of(team))
        await other_team.run()

        assert keys(await first["runner"].get_messages()) == keys(await second["reader"].get_messages())
        assert second["reader"].stats().folds == 1

    async def test_state_of_another_context(self, sqlite_url: str) -> None:
        """A team's state that AutoGen's own contexts have saved loads, and its large outputs fold."""
        theirs = RoundRobinGroupChat(
            [
                AssistantAgent("runner", model_client=ScriptedChatClient([RUN_JOB]), tools=[RUN]),
                AssistantAgent("reader", model_client=ScriptedChatClient([READS])),
            ],
            max_turns=2,
        )
        await theirs.run(task="Run job a.")
        ours = contexts(sqlite_url, "runner", "reader")
        team = RoundRobinGroupChat([runner(ours["runner"]), reader(ours["reader"])], max_turns=2)

        await team.load_state(await state_of(theirs))

        found = await keys_of(ours)
        assert found["runner"] == found["reader"] != []
        assert [JOB] == await stored(ours["runner"])

    async def test_reset(self, sqlite_url: str) -> None:
        """A reset forgets the messages, never the memories; the team starts anew with the same key."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "other")
        team = self.team(all_contexts)
        await team.run(task="Run job a.")
        [key] = (await keys_of(all_contexts))["reader"]

        await team.reset()

        assert {"runner": [], "reader": [], "other": []} == await keys_of(all_contexts)
        assert JOB == await all_contexts["reader"].retrieve(key)

    async def test_streaming(self, sqlite_url: str) -> None:
        """A team whose models stream folds the same."""
        all_contexts = contexts(sqlite_url, "runner", "reader")
        agents = [
            runner(all_contexts["runner"], model_client_stream=True),
            AssistantAgent(
                "reader",
                model_client=ScriptedChatClient([READS]),
                model_context=all_contexts["reader"],
                model_client_stream=True,
            ),
        ]
        events = [event async for event in RoundRobinGroupChat([*agents], max_turns=2).run_stream(task="Run job a.")]

        assert isinstance(events[-1], TaskResult)
        found = await keys_of(all_contexts)
        assert found["runner"] == found["reader"] != []

    async def test_team_in_a_team(self, sqlite_url: str) -> None:
        """A team that takes part in another team folds what it hears, and its state is saved with the outer one's."""
        first, second = (contexts(sqlite_url, "runner", "reader", "other") for _ in range(2))

        def nested(of: Mapping[str, MemoryContext]) -> RoundRobinGroupChat:
            inner = RoundRobinGroupChat([reader(of["reader"]), reader(of["other"], "other")], max_turns=2, name="inner")
            return RoundRobinGroupChat([runner(of["runner"]), inner], max_turns=2)

        team, other_team = nested(first), nested(second)
        await team.run(task="Run job a.")
        await other_team.load_state(await state_of(team))

        found = await keys_of(first)
        assert found["runner"] == found["reader"][:1] == found["other"][:1] != []
        assert await messages_of(*first.values()) == await messages_of(*second.values())

    async def test_other_kinds_of_messages(self, sqlite_url: str) -> None:
        """Large texts fold in multimodal messages, whose images stay, and in structured ones, which are JSON."""

        class Report(BaseModel):
            lines: list[str]

        image = Image.from_pil(Pillow.new("RGB", (2, 2)))
        for task in (
            MultiModalMessage(content=[JOB, image], source="browser"),
            StructuredMessage[Report](content=Report(lines=LOG.split("\n")), source="crawler"),
        ):
            context = MemoryContext("ann", store=sqlite_url)
            coder = AssistantAgent("coder", model_client=ScriptedChatClient(["ok"]), model_context=context)

            await coder.run(task=task)

            message = (await context.get_messages())[0]
            assert 1 == len(keys([message]))
            assert isinstance(message.content, list) is isinstance(task, MultiModalMessage)
            assert isinstance(task, StructuredMessage) or image in message.content


class TestSelector:
    """A model chooses who speaks; the manager has a context of its own."""

    @staticmethod
    def team(all_contexts: Mapping[str, MemoryContext], client: ScriptedChatClient) -> SelectorGroupChat:
        """A runner and a reader, and a manager with a context."""
        agents = [runner(all_contexts["runner"]), reader(all_contexts["reader"])]
        return SelectorGroupChat(
            [*agents], client, max_turns=3, allow_repeated_speaker=True, model_context=all_contexts["manager"]
        )

    async def test_selector_reads_references(self, sqlite_url: str) -> None:
        """The manager's context folds the broadcast to the same key; the selector reads `source: text`, in order."""
        all_contexts = contexts(sqlite_url, "manager", "runner", "reader")
        client = ScriptedChatClient(["runner", "reader", "reader"])
        await self.team(all_contexts, client).run(task="Run job a.")

        found = await keys_of(all_contexts)
        asked = str(client.prompts[1][0].content)
        assert found["runner"] == found["reader"] == found["manager"] != []
        assert "user: Run job a." in asked
        assert f"runner: [MemoryRef: {found['runner'][0]} - " in asked
        assert len(asked) < len(JOB) / 4

    async def test_prefilled_context(self, sqlite_url: str) -> None:
        """Messages that the manager's context begins with stand in the selector's prompt."""
        all_contexts = contexts(sqlite_url, "runner", "reader")
        before: list[LLMMessage] = [user("an old question"), AssistantMessage(content="an old answer", source="sage")]
        manager = MemoryContext("ann", store=sqlite_url, initial_messages=before)
        client = ScriptedChatClient(["runner", "reader", "reader"])

        await self.team({**all_contexts, "manager": manager}, client).run(task="Run job a.")

        for line in ("user: an old question", "sage: an old answer", "user: Run job a."):
            assert line in str(client.prompts[0][0].content).split("\n")

    async def test_state(self, sqlite_url: str) -> None:
        """The manager saves no context but its messages; a second team folds them to the same ones."""
        first, second = (contexts(sqlite_url, "manager", "runner", "reader") for _ in range(2))
        team = self.team(first, ScriptedChatClient(["runner", "reader", "reader"]))
        await team.run(task="Run job a.")

        other_team = self.team(second, ScriptedChatClient(["runner", "reader", "reader"]))
        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    async def test_state_into_the_same_team(self, sqlite_url: str) -> None:
        """AutoGen adds the messages a second time when a state is loaded into a live team: the keys stay the same."""
        all_contexts = contexts(sqlite_url, "manager", "runner", "reader")
        team = self.team(all_contexts, ScriptedChatClient(["runner", "reader", "reader"]))
        await team.run(task="Run job a.")
        before = keys(await all_contexts["manager"].get_messages())

        await team.load_state(await state_of(team))

        assert 2 * before == keys(await all_contexts["manager"].get_messages())
        assert [JOB] == await stored(all_contexts["manager"])

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped team loads with the manager's context, and runs."""
        team = self.team(
            contexts(sqlite_url, "manager", "runner", "reader"), ScriptedChatClient(["runner", "reader", "reader"])
        )
        loaded = reloaded(team)

        await loaded.run(task="Run job a.")

        assert team.dump_component() == loaded.dump_component()
        assert "memory_context.MemoryContext" == loaded.dump_component().config["model_context"]["provider"]


class TestSwarm:
    """Agents hand over to each other, with what their tools have just returned."""

    @staticmethod
    def team(all_contexts: Mapping[str, MemoryContext]) -> Swarm:
        """Alice runs a job and hands over to Bob, who hands back."""
        to_bob = FunctionCall(id="c2", name="transfer_to_bob", arguments="{}")
        to_alice = FunctionCall(id="c3", name="transfer_to_alice", arguments="{}")
        alice = runner(
            all_contexts["alice"],
            "alice",
            model_client=ScriptedChatClient([[*RUN_JOB, to_bob], "All done."]),
            handoffs=[Handoff(target="bob", message="Over to bob.")],
        )
        bob = AssistantAgent(
            "bob",
            model_client=ScriptedChatClient([[to_alice]]),
            model_context=all_contexts["bob"],
            handoffs=[Handoff(target="alice", message="Back to alice.")],
        )
        return Swarm([alice, bob], termination_condition=TextMentionTermination("All done."))

    async def test_handoff(self, sqlite_url: str) -> None:
        """The results that a handoff brings along fold to the key that they have at the agent that called."""
        all_contexts = contexts(sqlite_url, "alice", "bob")

        result = await self.team(all_contexts).run(task="Run job a.")

        found = await keys_of(all_contexts)
        assert found["alice"] == found["bob"] != []
        assert [JOB] == await stored(all_contexts["bob"])
        assert "All done." == last_text(result)
        carried = [type(message).__name__ for message in await all_contexts["bob"].get_messages()][:4]
        assert ["UserMessage", "AssistantMessage", "FunctionExecutionResultMessage", "UserMessage"] == carried
        for context in all_contexts.values():
            check_prompt(await context.get_messages())

    async def test_state(self, sqlite_url: str) -> None:
        """A second team that loads the state has the same messages."""
        first, second = (contexts(sqlite_url, "alice", "bob") for _ in range(2))
        team, other_team = self.team(first), self.team(second)
        await team.run(task="Run job a.")

        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped swarm loads and runs."""
        team = self.team(contexts(sqlite_url, "alice", "bob"))
        loaded = reloaded(team)

        assert "All done." == last_text(await loaded.run(task="Run job a."))
        assert team.dump_component() == loaded.dump_component()


class TestGraphFlow:
    """Agents in a graph, some of them at the same time."""

    @staticmethod
    def team(first: AssistantAgent, branches: Sequence[AssistantAgent], last: AssistantAgent) -> GraphFlow:
        """One agent, branches that run at once, and one that waits for them."""
        builder = DiGraphBuilder()
        builder.add_node(first).add_node(last)
        for branch in branches:
            builder.add_node(branch).add_edge(first, branch).add_edge(branch, last)
        return GraphFlow([first, *branches, last], builder.build())

    def of(self, all_contexts: Mapping[str, MemoryContext]) -> GraphFlow:
        """A runner, two readers, and one that sums up."""
        branches = [reader(all_contexts[name], name) for name in ("left", "right")]
        return self.team(runner(all_contexts["runner"]), branches, reader(all_contexts["last"], "last"))

    async def test_fan_out_and_in(self, sqlite_url: str) -> None:
        """All branches, and the one that waits for them, have the runner's key."""
        all_contexts = contexts(sqlite_url, "runner", "left", "right", "last")

        await self.of(all_contexts).run(task="Run job a.")

        found = await keys_of(all_contexts)
        assert [found["runner"]] * 4 == list(found.values())
        assert [JOB] == await stored(all_contexts["last"])

    async def test_shared_context(self, sqlite_url: str) -> None:
        """One context for branches that run at once, whose calls overlap: nothing is lost, nothing folds twice."""
        shared = MemoryContext("ann", store=sqlite_url)
        names = [f"branch{i}" for i in range(4)]
        branches = [
            AssistantAgent(name, model_client=ScriptedChatClient([f"{name}\n{LOG}"]), model_context=shared)
            for name in names
        ]
        own = contexts(sqlite_url, "runner", "last")

        await self.team(runner(own["runner"]), branches, reader(own["last"], "last")).run(task="Run job a.")

        messages = await shared.get_messages()
        answers = {message.source for message in messages if isinstance(message, AssistantMessage)}
        assert set(names) == answers
        assert 1 == len(set(keys(messages)))
        assert 4 == len(keys(messages))
        assert 5 == len(set(keys(await own["last"].get_messages())))

    async def test_shared_context_with_tools(self, sqlite_url: str) -> None:
        """Calls of several agents interleave in a shared context, which no provider takes; no result is lost.

        AutoGen's own contexts interleave them too, therefore these models do not check their prompts.
        """
        shared = MemoryContext("ann", store=sqlite_url)
        agents = [
            runner(
                shared,
                f"runner{i}",
                model_client=_Calls(FunctionCall(id=f"c{i}", name="run_job", arguments=f'{{"job": "{i}"}}')),
            )
            for i in range(3)
        ]

        await asyncio.gather(*(agent.run(task=f"Run job {i}.") for i, agent in enumerate(agents)))

        messages = await shared.get_messages()
        results_of = [r for m in messages if isinstance(m, FunctionExecutionResultMessage) for r in m.content]
        assert {"c0", "c1", "c2"} == {result.call_id for result in results_of}
        assert 3 == len(set(keys(messages)))
        assert sorted(run_job(str(i)) for i in range(3)) == await stored(shared)

    async def test_state(self, sqlite_url: str) -> None:
        """A second graph that loads the state has the same messages."""
        first, second = (contexts(sqlite_url, "runner", "left", "right", "last") for _ in range(2))
        team, other_team = self.of(first), self.of(second)
        await team.run(task="Run job a.")

        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped graph loads and runs."""
        team = self.of(contexts(sqlite_url, "runner", "left", "right", "last"))
        loaded = reloaded(team)

        await loaded.run(task="Run job a.")

        assert team.dump_component() == loaded.dump_component()
        assert [JOB] == await stored(MemoryContext("ann", store=sqlite_url))

    async def test_filtered_agent(self, sqlite_url: str) -> None:
        """An agent behind a message filter folds what the filter lets through."""
        own = contexts(sqlite_url, "runner", "left")
        only_runner = MessageFilterConfig(per_source=[PerSourceFilter(source="runner")])
        filtered = MessageFilterAgent("left", reader(own["left"], "left"), only_runner)
        first = runner(own["runner"])
        builder = DiGraphBuilder().add_node(first).add_node(filtered).add_edge(first, filtered)

        await GraphFlow([first, filtered], builder.build()).run(task="Run job a.")

        found = await keys_of(own)
        assert found["runner"] == found["left"] != []
        assert 2 == len(await own["left"].get_messages())


class _Calls(ReplayChatCompletionClient):
    """A model that makes one call, whatever the prompt."""

    def __init__(self, call: FunctionCall) -> None:
        info = unchecked().model_info
        super().__init__([], model_info=info)
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self.chat_completions = [
            CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)
        ]


class TestSocietyOfMind:
    """A team that speaks as one agent. Its team is reset after each turn; its own context goes into the next one."""

    @staticmethod
    def society(
        all_contexts: Mapping[str, MemoryContext], client: ScriptedChatClient | None = None
    ) -> SocietyOfMindAgent:
        """A runner and a reader within one agent; its own model does not check: AutoGen ends with a system message."""
        reads = AssistantAgent(
            "reader", model_client=client or ScriptedChatClient([READS] * 3), model_context=all_contexts["reader"]
        )
        inner = RoundRobinGroupChat([reads, runner(all_contexts["runner"])], max_turns=2)
        return SocietyOfMindAgent(
            "society", inner, model_client=unchecked("one", "two", "three"), model_context=all_contexts["outer"]
        )

    async def test_clear_at_each_turn(self, sqlite_url: str) -> None:
        """The inner contexts are cleared after each turn, and every memory is still there."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "outer")
        society = self.society(all_contexts)

        result = await society.run(task="Run job a.")

        assert "one" == last_text(result)
        assert [] == await all_contexts["runner"].get_messages() == await all_contexts["reader"].get_messages()
        assert [JOB] == await stored(all_contexts["outer"])

    async def test_earlier_messages_are_added_again(self, sqlite_url: str) -> None:
        """What the outer context shows goes into the inner ones again: same key, and a question brings back its text."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "outer")
        client = ScriptedChatClient([READS] * 2)
        society = self.society(all_contexts, client)

        await society.run(task=TextMessage(content=LOG, source="crawler"))
        [key] = keys(await all_contexts["outer"].get_messages())
        await society.run(task=QUESTION)

        first, second = ("".join(dumps(prompt)) for prompt in client.prompts)
        assert key in first
        assert key in second
        assert ANSWER not in first
        assert ANSWER in second
        assert sorted([JOB, LOG]) == await stored(all_contexts["outer"])

    async def test_in_a_team(self, sqlite_url: str) -> None:
        """In a team, state and components round trip; the outer context begins anew, as AutoGen does not save it."""
        first, second = (contexts(sqlite_url, "runner", "reader", "outer", "critic") for _ in range(2))

        def team(of: Mapping[str, MemoryContext]) -> RoundRobinGroupChat:
            return RoundRobinGroupChat([self.society(of), reader(of["critic"], "critic")], max_turns=2)

        one, other = team(first), team(second)
        await one.run(task="Run job a.")
        await other.load_state(await state_of(one))

        assert await messages_of(first["critic"]) == await messages_of(second["critic"])
        assert [] == await second["outer"].get_messages()

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped society loads as an equal one, and runs."""
        society = self.society(contexts(sqlite_url, "runner", "reader", "outer"))
        loaded = SocietyOfMindAgent.load_component(json.loads(society.dump_component().model_dump_json()))

        assert "one" == last_text(await loaded.run(task="Run job a."))
        assert isinstance(loaded.model_context, MemoryContext)
        assert society.model_context.dump_component() == loaded.model_context.dump_component()


CODE = "```python\nfor i in range(600):\n    print(f'line {i} of worker {i * 7919 % 10007}')\n```"
FAILING = (
    "```python\nfor i in range(600):\n    print(f'line {i} of worker {i * 7919 % 10007}')\nraise SystemExit(3)\n```"
)


def approve(request: ApprovalRequest) -> ApprovalResponse:
    """Approve everything."""
    return ApprovalResponse(approved=True, reason=f"{len(request.context)} messages")


@pytest.fixture
async def executor(tmp_path: Path) -> AsyncIterator[LocalCommandLineCodeExecutor]:
    """A real executor in a folder of its own."""
    (tmp_path / "code").mkdir()
    with pytest.warns(UserWarning, match="may execute code on the local machine"):
        executor = LocalCommandLineCodeExecutor(work_dir=tmp_path / "code")
    await executor.start()
    yield executor
    await executor.stop()


class TestCodeExecutor:
    """CodeExecutorAgent puts a program's output into its context as a user message of its own name."""

    async def test_output_is_folded(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """The output of a program folds, and the reflection on it reads the reference; the event shows all of it."""
        context = MemoryContext("ann", store=sqlite_url)
        client = ScriptedChatClient([CODE, "It printed 600 lines."])
        coder = CodeExecutorAgent("coder", executor, model_client=client, model_context=context, approval_func=approve)

        events = [event async for event in coder.run_stream(task="Print some lines.")]

        [key] = keys(client.prompts[1])
        [execution] = [event for event in events if isinstance(event, CodeExecutionEvent)]
        assert execution.result.output == await context.retrieve(key)
        assert 600 == len(execution.result.output.splitlines())
        assert key.startswith("coder_")
        assert isinstance(events[-1], TaskResult)
        assert "It printed 600 lines." == last_text(events[-1])

    async def test_retries(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """On a retry AutoGen adds the same task again: it has the same key, as has the same output.

        The models do not check: AutoGen asks for the retry with the output in full, outside the context.
        """
        context = MemoryContext("ann", store=sqlite_url)
        client = unchecked(FAILING, json.dumps({"retry": True, "reason": "once more"}), FAILING, "It failed.")
        coder = CodeExecutorAgent(
            "coder",
            executor,
            model_client=client,
            model_context=context,
            max_retries_on_error=1,
            approval_func=approve,
        )

        await coder.run(task=TextMessage(content=LOG, source="crawler"))

        found = keys(await context.get_messages())
        assert 4 == len(found)
        assert [found[0], found[1]] == [found[2], found[3]]
        assert 2 == len(await stored(context))

    async def test_approval_reads_the_context(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """Who approves the code sees the messages that the model will see."""
        context = MemoryContext("ann", store=sqlite_url)
        seen: list[list[str]] = []

        def look(request: ApprovalRequest) -> ApprovalResponse:
            seen.append(dumps(request.context))
            return ApprovalResponse(approved=False, reason="no")

        client = ScriptedChatClient([CODE, "It was refused."])
        coder = CodeExecutorAgent("coder", executor, model_client=client, model_context=context, approval_func=look)
        await coder.run(task=TextMessage(content=LOG, source="crawler"))

        assert [dumps(await context.get_messages())[:2]] == seen

    async def test_broadcast_without_a_model(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """An executor without a model broadcasts the whole output, which folds at every receiver to one key."""
        all_contexts = contexts(sqlite_url, "writer", "reader")
        writer = reader(all_contexts["writer"], "writer", [CODE, "thanks"])
        team = RoundRobinGroupChat(
            [writer, CodeExecutorAgent("executor", executor, approval_func=approve), reader(all_contexts["reader"])],
            max_turns=4,
        )

        await team.run(task="Print some lines.")

        found = await keys_of(all_contexts)
        assert 1 == len(found["writer"])
        assert found["writer"] == found["reader"]

    async def test_state(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """AutoGen saves no context of a code executor; the context's own state brings it back."""
        first, second = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
        client = ScriptedChatClient([CODE, "done"])
        coder = CodeExecutorAgent("coder", executor, model_client=client, model_context=first, approval_func=approve)
        await coder.run(task="Print some lines.")

        await second.load_state(json.loads(json.dumps(await first.save_state())))

        assert "messages" not in json.dumps(await coder.save_state())
        assert await messages_of(first) == await messages_of(second)

    @pytest.mark.filterwarnings("ignore:.*(may execute code|No approval function):UserWarning")
    async def test_dump_and_load(self, sqlite_url: str, executor: LocalCommandLineCodeExecutor) -> None:
        """A dumped code executor loads with its context."""
        context = MemoryContext("ann", store=sqlite_url)
        coder = CodeExecutorAgent("coder", executor, model_client=ScriptedChatClient([CODE]), model_context=context)
        loaded = CodeExecutorAgent.load_component(json.loads(coder.dump_component().model_dump_json()))

        assert isinstance(loaded.model_context, MemoryContext)
        assert context.dump_component() == loaded.model_context.dump_component()


class TestAgentTool:
    """An agent or a team as a tool of another agent."""

    @staticmethod
    def outer(tool: AgentTool | TeamTool, context: MemoryContext, name: str) -> AssistantAgent:
        """An agent that calls the other one once."""
        call = [FunctionCall(id="c9", name=name, arguments='{"task": "Run job a."}')]
        client = ScriptedChatClient([call, "The tool has answered."])
        return AssistantAgent("boss", model_client=client, tools=[tool], model_context=context, max_tool_iterations=3)

    async def test_whole_conversation(self, sqlite_url: str) -> None:
        """The inner agent's conversation is the tool's result: it folds at the outer agent, whole."""
        all_contexts = contexts(sqlite_url, "runner", "boss")
        boss = self.outer(AgentTool(runner(all_contexts["runner"])), all_contexts["boss"], "runner")

        result = await boss.run(task="Have job a run.")

        [key] = keys(await all_contexts["boss"].get_messages())
        assert f"runner: {JOB}" == await all_contexts["boss"].retrieve(key)
        assert "The tool has answered." == last_text(result)

    async def test_last_message(self, sqlite_url: str) -> None:
        """The inner agent's last message is the inner tool's output: the same text, the same key."""
        all_contexts = contexts(sqlite_url, "runner", "boss")
        tool = AgentTool(runner(all_contexts["runner"]), return_value_as_last_message=True)

        await self.outer(tool, all_contexts["boss"], "runner").run(task="Have job a run.")

        found = await keys_of(all_contexts)
        assert found["runner"] == found["boss"] != []

    async def test_team_tool(self, sqlite_url: str) -> None:
        """A team as a tool folds within, and its conversation folds at the outer agent."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "boss")
        team = RoundRobinGroupChat([runner(all_contexts["runner"]), reader(all_contexts["reader"])], max_turns=2)
        boss = self.outer(TeamTool(team, "jobs", "Runs jobs."), all_contexts["boss"], "jobs")

        await boss.run(task="Have job a run.")

        found = await keys_of(all_contexts)
        assert found["runner"] == found["reader"] != []
        assert f"runner: {JOB}\n\nreader: {READS}" == await all_contexts["boss"].retrieve(found["boss"][0])

    async def test_state(self, sqlite_url: str) -> None:
        """The states of both agents are saved by the agent and its tool, and load into new ones."""
        first, second = (contexts(sqlite_url, "runner", "boss") for _ in range(2))
        tools = [AgentTool(runner(one["runner"])) for one in (first, second)]
        boss, other_boss = (
            self.outer(tool, one["boss"], "runner") for tool, one in zip(tools, (first, second), strict=True)
        )
        await boss.run(task="Have job a run.")

        await other_boss.load_state(json.loads(json.dumps(await boss.save_state())))
        await tools[1].load_state_json(json.loads(json.dumps(await tools[0].save_state_json())))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """An agent with an agent as a tool is dumped and loaded, and runs."""
        all_contexts = contexts(sqlite_url, "runner", "boss")
        boss = self.outer(AgentTool(runner(all_contexts["runner"])), all_contexts["boss"], "runner")
        loaded = AssistantAgent.load_component(json.loads(boss.dump_component().model_dump_json()))

        assert "The tool has answered." == last_text(await loaded.run(task="Have job a run."))
        assert boss.dump_component() == loaded.dump_component()


class TestWorkbenches:
    """The memory tools beside an agent's own, as a second workbench."""

    async def test_second_workbench(self, sqlite_url: str) -> None:
        """Tools and workbenches exclude each other at AutoGen; memory's tools go into a workbench of their own."""
        context = MemoryContext("ann", store=sqlite_url)

        def read(messages: Sequence[LLMMessage]) -> list[FunctionCall]:
            arguments = json.dumps({"key": keys(messages)[0], "lines": "18"})
            return [FunctionCall(id="c2", name="retrieve_memory", arguments=arguments)]

        client = ScriptedChatClient([RUN_JOB, read, "read"])
        coder = AssistantAgent(
            "coder",
            model_client=client,
            workbench=[StaticWorkbench([RUN]), StaticWorkbench(list(context.tools()))],
            model_context=context,
            max_tool_iterations=5,
        )

        await coder.run(task="Run job a.")

        assert JOB.split("\n")[17] in "".join(dumps(client.prompts[2][-1:]))


class TestCancelled:
    """A run that is cancelled while a tool runs leaves a call without a result; AutoGen does not clean up.

    A cancelled token would do as well, but AutoGen 0.7.5 then waits for the result for ever.
    """

    @staticmethod
    async def cancelled(context: MemoryContext, client: ReplayChatCompletionClient) -> AssistantAgent:
        """An agent whose run was cancelled in the middle of a call."""
        started = asyncio.Event()

        async def never() -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        tool = FunctionTool(never, "Never end.")
        coder = AssistantAgent("coder", model_client=client, tools=[tool], model_context=context)
        run = asyncio.create_task(coder.run(task="Go."))
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return coder

    async def test_context_is_usable(self, sqlite_url: str) -> None:
        """The next run goes on: messages are added, folded and brought back, in order, around the open call.

        The model does not check: AutoGen sends the open call.
        """
        context = MemoryContext("ann", store=sqlite_url)
        client = _Calls(FunctionCall(id="c1", name="never", arguments="{}"))
        client.chat_completions.extend(["first", "second"])
        coder = await self.cancelled(context, client)

        await coder.run(task=TextMessage(content=LOG, source="crawler"))
        result = await coder.run(task=QUESTION)

        messages = await context.get_messages()
        check_prompt(messages, open_calls=True)
        assert "second" == last_text(result)
        assert ["AssistantMessage"] == [type(m).__name__ for m in messages if isinstance(m.content, list)]
        assert ANSWER in "".join(dumps(messages))
        assert user(QUESTION) == messages[-2]

    async def test_state_with_an_open_call(self, sqlite_url: str) -> None:
        """The state with the open call is saved and loaded; a result that comes late is taken in."""
        first, second = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
        coder = await self.cancelled(first, _Calls(FunctionCall(id="call-1-0", name="never", arguments="{}")))
        other = AssistantAgent("coder", model_client=unchecked(), model_context=second)

        await other.load_state(json.loads(json.dumps(await coder.save_state())))
        assert await messages_of(first) == await messages_of(second)
        await second.add_message(results(LOG, name="never"))

        check_prompt(await second.get_messages())
        assert 1 == second.stats().folds


class _Lookup(ListMemory):
    """A memory that searches for the last message, as those on vectors do, and adds a user message."""

    def __init__(self, says: str) -> None:
        super().__init__()
        self.says = says
        self.queries: list[str] = []

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Search for `messages[-1]`, ask for the messages again, add what was found."""
        before = await model_context.get_messages()
        self.queries.append(str(before[-1].content))
        assert dumps(before) == dumps(await model_context.get_messages())
        await model_context.add_message(UserMessage(content=self.says, source="lookup"))
        found = MemoryContent(content=self.says, mime_type="text/plain")
        return UpdateContextResult(memories=MemoryQueryResult(results=[found]))


class TestRetrievalMemories:
    """Memories that read the last message of the context and ask for the messages once more."""

    async def test_query_is_the_question(self, sqlite_url: str) -> None:
        """The last message is the user's, with what was brought back before it, once; the prompt keeps it so."""
        context, lookup = MemoryContext("ann", store=sqlite_url), _Lookup("It rains.")
        client = ScriptedChatClient(["noted", "answer"])
        coder = AssistantAgent("coder", model_client=client, model_context=context, memory=[lookup])
        await coder.run(task=TextMessage(content=LOG, source="crawler"))

        await coder.run(task=QUESTION)

        assert QUESTION == lookup.queries[1]
        recalled = [i for i, m in enumerate(client.prompts[1]) if getattr(m, "source", "") == "memory_context"]
        asked = client.prompts[1].index(user(QUESTION))
        assert [asked - 1] == recalled
        assert ANSWER in "".join(dumps(client.prompts[1]))
        assert client.prompts[0] == client.prompts[1][: len(client.prompts[0])]

    async def test_two_memories(self, sqlite_url: str) -> None:
        """A second memory searches for what the first has added, as with AutoGen's own contexts."""
        context = MemoryContext("ann", store=sqlite_url)
        memories = [_Lookup("It rains."), _Lookup("It snows.")]
        client = ScriptedChatClient(["answer"])
        coder = AssistantAgent("coder", model_client=client, model_context=context, memory=[*memories])

        await coder.run(task="How is the weather?")

        assert [["How is the weather?"], ["It rains."]] == [memory.queries for memory in memories]
        assert user("It snows.", source="lookup") == client.prompts[0][-1]


async def test_team_goes_on(sqlite_url: str) -> None:
    """A team that was stopped from outside after one turn goes on with the same contexts."""
    all_contexts = contexts(sqlite_url, "runner", "reader")
    stop = ExternalTermination()
    agents = [runner(all_contexts["runner"]), reader(all_contexts["reader"])]
    team = RoundRobinGroupChat([*agents], termination_condition=stop, max_turns=2)
    async for event in team.run_stream(task="Run job a."):
        if isinstance(event, ToolCallExecutionEvent):
            stop.set()
    assert [] == await all_contexts["reader"].get_messages()

    await team.run()

    found = await keys_of(all_contexts)
    assert found["runner"] == found["reader"] != []
    for context in all_contexts.values():
        check_prompt(await context.get_messages())
