"""Real AutoGen teams whose participants each have a MemoryContext; only the models are scripted.

`ScriptedChatClient` refuses every prompt that a provider would refuse. Where AutoGen itself breaks such a rule, the
test uses AutoGen's replay client instead, which does not check, and says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest
from autogen_agentchat.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
)
from autogen_agentchat.base import Handoff, TaskResult
from autogen_agentchat.conditions import ExternalTermination, TextMentionTermination
from autogen_agentchat.messages import (
    MultiModalMessage,
    StructuredMessage,
    ToolCallExecutionEvent,
    ToolCallSummaryMessage,
)
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
)
from PIL import Image as Pillow
from pydantic import BaseModel

from memory_context import FoldPolicy, MemoryContext, MemoryManager
from memory_context.testing import ScriptedChatClient, check_prompt
from messages import LOG, call, dumps, results, user
from teams import (
    JOB,
    READS,
    RUN,
    RUN_JOB,
    Calls,
    contexts,
    keys,
    keys_of,
    last_text,
    messages_of,
    reader,
    reloaded,
    run_job,
    runner,
    state_of,
    stored,
)


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
        all_contexts = {
            name: MemoryContext("ann", store=store) for name in ("runner", "reader", "other")
        }

        result = await self.team(all_contexts).run(task="Run job a.")

        found = await keys_of(all_contexts)
        assert [1, 1, 1] == [len(some) for some in found.values()]
        assert 1 == len({key for some in found.values() for key in some})
        assert [JOB] == await stored(all_contexts["runner"])
        assert READS == last_text(result)

    async def test_events_keep_the_full_text(self, sqlite_url: str) -> None:
        """What a user interface shows is the whole output, in the event and in the summary."""
        result = await self.team(contexts(sqlite_url, "runner", "reader", "other")).run(
            task="Run job a."
        )

        [event] = [
            message for message in result.messages if isinstance(message, ToolCallExecutionEvent)
        ]
        [summary] = [
            message for message in result.messages if isinstance(message, ToolCallSummaryMessage)
        ]
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
            {n: MemoryContext("ann", store=store) for n in ("runner", "reader", "other")}
            for _ in range(2)
        )
        team, other_team = self.team(first), self.team(second)
        await team.run(task="Run job a.")

        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())
        await other_team.run(task="Thanks.")
        for before, after in zip(
            await messages_of(*first.values()), await messages_of(*second.values()), strict=True
        ):
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

        assert keys(await first["runner"].get_messages()) == keys(
            await second["reader"].get_messages()
        )
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

    @pytest.mark.long
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
        events = [
            event
            async for event in RoundRobinGroupChat([*agents], max_turns=2).run_stream(
                task="Run job a."
            )
        ]

        assert isinstance(events[-1], TaskResult)
        found = await keys_of(all_contexts)
        assert found["runner"] == found["reader"] != []

    @pytest.mark.long
    async def test_team_in_a_team(self, sqlite_url: str) -> None:
        """A team that takes part in another team folds what it hears, and its state is saved with the outer one's."""
        first, second = (contexts(sqlite_url, "runner", "reader", "other") for _ in range(2))

        def nested(of: Mapping[str, MemoryContext]) -> RoundRobinGroupChat:
            inner = RoundRobinGroupChat(
                [reader(of["reader"]), reader(of["other"], "other")], max_turns=2, name="inner"
            )
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
            coder = AssistantAgent(
                "coder", model_client=ScriptedChatClient(["ok"]), model_context=context
            )

            await coder.run(task=task)

            message = (await context.get_messages())[0]
            assert 1 == len(keys([message]))
            assert isinstance(message.content, list) is isinstance(task, MultiModalMessage)
            if isinstance(task, MultiModalMessage):
                shown = [piece for piece in message.content if isinstance(piece, Image)]
                assert [image.to_base64()] == [picture.to_base64() for picture in shown]


class TestSelector:
    """A model chooses who speaks; the manager has a context of its own."""

    @staticmethod
    def team(
        all_contexts: Mapping[str, MemoryContext], client: ScriptedChatClient
    ) -> SelectorGroupChat:
        """A runner and a reader, and a manager with a context."""
        agents = [runner(all_contexts["runner"]), reader(all_contexts["reader"])]
        return SelectorGroupChat(
            [*agents],
            client,
            max_turns=3,
            allow_repeated_speaker=True,
            model_context=all_contexts["manager"],
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

    @pytest.mark.long
    async def test_prefilled_context(self, sqlite_url: str) -> None:
        """Messages that the manager's context begins with stand in the selector's prompt."""
        all_contexts = contexts(sqlite_url, "runner", "reader")
        before: list[LLMMessage] = [
            user("an old question"),
            AssistantMessage(content="an old answer", source="sage"),
        ]
        manager = MemoryContext("ann", store=sqlite_url, initial_messages=before)
        client = ScriptedChatClient(["runner", "reader", "reader"])

        await self.team({**all_contexts, "manager": manager}, client).run(task="Run job a.")

        for line in ("user: an old question", "sage: an old answer", "user: Run job a."):
            assert line in str(client.prompts[0][0].content).split("\n")

    @pytest.mark.long
    async def test_state(self, sqlite_url: str) -> None:
        """The manager saves no context but its messages; a second team folds them to the same ones."""
        first, second = (contexts(sqlite_url, "manager", "runner", "reader") for _ in range(2))
        team = self.team(first, ScriptedChatClient(["runner", "reader", "reader"]))
        await team.run(task="Run job a.")

        other_team = self.team(second, ScriptedChatClient(["runner", "reader", "reader"]))
        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    @pytest.mark.long
    async def test_state_into_the_same_team(self, sqlite_url: str) -> None:
        """AutoGen adds the messages a second time when a state is loaded into a live team: the keys stay the same."""
        all_contexts = contexts(sqlite_url, "manager", "runner", "reader")
        team = self.team(all_contexts, ScriptedChatClient(["runner", "reader", "reader"]))
        await team.run(task="Run job a.")
        before = keys(await all_contexts["manager"].get_messages())

        await team.load_state(await state_of(team))

        assert 2 * before == keys(await all_contexts["manager"].get_messages())
        assert [JOB] == await stored(all_contexts["manager"])

    @pytest.mark.long
    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped team loads with the manager's context, and runs."""
        team = self.team(
            contexts(sqlite_url, "manager", "runner", "reader"),
            ScriptedChatClient(["runner", "reader", "reader"]),
        )
        loaded = reloaded(team)

        await loaded.run(task="Run job a.")

        assert team.dump_component() == loaded.dump_component()
        assert (
            "memory_context.MemoryContext"
            == loaded.dump_component().config["model_context"]["provider"]
        )


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
        carried = [type(message).__name__ for message in await all_contexts["bob"].get_messages()][
            :4
        ]
        assert [
            "UserMessage",
            "AssistantMessage",
            "FunctionExecutionResultMessage",
            "UserMessage",
        ] == carried
        for context in all_contexts.values():
            check_prompt(await context.get_messages())

    async def test_recall_for_the_task(self, sqlite_url: str) -> None:
        """What the person asked for is brought back at an agent that is handed results, too, and has not heard the rest."""
        all_contexts = contexts(sqlite_url, "alice", "bob")
        await all_contexts["alice"].store(LOG, "the log of last night")
        team = self.team(all_contexts)

        await team.run(task="Run job a. What became of worker-377?")

        [answer] = [line for line in LOG.split("\n") if "worker-377 " in line]
        assert answer in "".join(dumps(await all_contexts["bob"].get_messages()))

    async def test_no_recall_for_what_was_answered(self, sqlite_url: str) -> None:
        """What another agent answered is not asked again with the person's next message, though calls lie between."""
        context = MemoryContext("ann", store=sqlite_url)
        await context.store(LOG, "the log of last night")
        for message in (
            user("What became of worker-377?"),
            call("to_bob"),
            results("Over to bob."),
            user("It went on.", source="al"),
            user("Thanks. Now write a short poem about the sea for my mother."),
        ):
            await context.add_message(message)

        assert "worker-3" not in "".join(dumps(await context.get_messages())[4:])

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
    def team(
        first: AssistantAgent, branches: Sequence[AssistantAgent], last: AssistantAgent
    ) -> GraphFlow:
        """One agent, branches that run at once, and one that waits for them."""
        builder = DiGraphBuilder()
        builder.add_node(first).add_node(last)
        for branch in branches:
            builder.add_node(branch).add_edge(first, branch).add_edge(branch, last)
        return GraphFlow([first, *branches, last], builder.build())

    def of(self, all_contexts: Mapping[str, MemoryContext]) -> GraphFlow:
        """A runner, two readers, and one that sums up."""
        branches = [reader(all_contexts[name], name) for name in ("left", "right")]
        return self.team(
            runner(all_contexts["runner"]), branches, reader(all_contexts["last"], "last")
        )

    @pytest.mark.long
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
            AssistantAgent(
                name, model_client=ScriptedChatClient([f"{name}\n{LOG}"]), model_context=shared
            )
            for name in names
        ]
        own = contexts(sqlite_url, "runner", "last")

        await self.team(runner(own["runner"]), branches, reader(own["last"], "last")).run(
            task="Run job a."
        )

        messages = await shared.get_messages()
        answers = {message.source for message in messages if isinstance(message, AssistantMessage)}
        assert set(names) == answers
        outputs = [key for key in keys(messages) if key.startswith("run_job_")]
        assert 1 == len(set(outputs))
        assert 4 == len(outputs)
        assert 5 == len(set(keys(await own["last"].get_messages())))

    async def test_shared_context_keeps_the_order(self, sqlite_url: str) -> None:
        """Overlapping calls take effect in the order in which they began, however long a fold takes."""
        shared = MemoryContext("ann", store=sqlite_url)
        large, small = user(LOG, source="left"), user("small", source="right")

        await asyncio.gather(shared.add_message(large), shared.add_message(small))

        messages = await shared.get_messages()
        assert small == messages[1]
        assert 1 == len(keys(messages))

    async def test_shared_context_with_tools(self, sqlite_url: str) -> None:
        """Calls of several agents interleave in a shared context, which no provider takes; no result is lost.

        AutoGen's own contexts interleave them too, therefore these models do not check their prompts.
        """
        shared = MemoryContext("ann", store=sqlite_url)
        agents = [
            runner(
                shared,
                f"runner{i}",
                model_client=Calls(
                    FunctionCall(id=f"c{i}", name="run_job", arguments=f'{{"job": "{i}"}}')
                ),
            )
            for i in range(3)
        ]

        await asyncio.gather(*(agent.run(task=f"Run job {i}.") for i, agent in enumerate(agents)))

        messages = await shared.get_messages()
        results_of = [
            r for m in messages if isinstance(m, FunctionExecutionResultMessage) for r in m.content
        ]
        assert {"c0", "c1", "c2"} == {result.call_id for result in results_of}
        assert 3 == len(set(keys(messages)))
        assert sorted(run_job(str(i)) for i in range(3)) == await stored(shared)

    @pytest.mark.long
    async def test_state(self, sqlite_url: str) -> None:
        """A second graph that loads the state has the same messages."""
        first, second = (contexts(sqlite_url, "runner", "left", "right", "last") for _ in range(2))
        team, other_team = self.of(first), self.of(second)
        await team.run(task="Run job a.")

        await other_team.load_state(await state_of(team))

        assert await messages_of(*first.values()) == await messages_of(*second.values())

    @pytest.mark.long
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


LEDGER = "\n".join(f"- agent-{i}: check item {i * 7919 % 10007} of the list" for i in range(60))


def progress(**answers: object) -> str:
    """The progress ledger of an orchestrator that gives the reader an instruction."""
    usual: dict[str, object] = {
        "is_request_satisfied": False,
        "is_progress_being_made": True,
        "is_in_loop": False,
        "instruction_or_question": "Go on.",
        "next_speaker": "reader",
    }
    return json.dumps(
        {name: {"reason": "", "answer": answer} for name, answer in (usual | answers).items()}
    )


class TestMagenticOne:
    """An orchestrator plans; what the agents hear first is its task ledger."""

    async def test_task_ledger(self, sqlite_url: str) -> None:
        """The agents see all of the task ledger, and of the one that takes its place when the orchestrator plans again."""
        again = LEDGER.replace("check", "count")
        stalled = progress(is_progress_being_made=False)
        done = progress(is_request_satisfied=True)
        first = ["There are 60 items.", LEDGER, progress(), stalled]
        second = ["There are 60 items.", again, progress(), done]
        model = ScriptedChatClient([READS] * 2)
        context = MemoryContext("ann", store=sqlite_url)
        agent = AssistantAgent("reader", model_client=model, model_context=context)
        orchestrator = ScriptedChatClient([*first, *second, "All are checked."])

        await MagenticOneGroupChat([agent], orchestrator, max_stalls=1).run(task="Check all.")

        before, after = (str(prompt[1].content) for prompt in model.prompts)
        assert LEDGER in before
        assert again in after

    async def test_state(self, sqlite_url: str) -> None:
        """A loaded context keeps its task as it is; what agents say later folds, also if it is as long."""
        report = LEDGER.replace("check", "checked")
        for fold in (FoldPolicy(), FoldPolicy(fold="after_reading")):
            first, second = (
                MemoryContext("ann", store=sqlite_url, fold=fold, recall=False) for _ in range(2)
            )
            await first.add_message(user(LEDGER, source="planner"))
            [task] = await first.get_messages()

            await second.load_state(json.loads(json.dumps(await first.save_state())))
            for _ in range(12):
                await second.add_message(AssistantMessage(content=READS, source="reader"))
                await second.add_message(user(report, source="planner"))
                await second.get_messages()

            shown = await second.get_messages()
            assert task == shown[0]
            assert keys(shown[2:]) != []

    async def test_limits(self, sqlite_url: str) -> None:
        """A task has a person's limits, but for sources that have a threshold of their own."""
        of_planner = FoldPolicy(source_thresholds={"planner": 700})
        for fold, text in ((of_planner, LEDGER), (FoldPolicy(), LOG)):
            context = MemoryContext("ann", store=sqlite_url, fold=fold)
            await context.add_message(user(text, source="planner"))
            assert 1 == len(keys(await context.get_messages()))


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


async def test_store_is_down() -> None:
    """A team whose store cannot be reached runs to its end with full texts, and says so in its counters."""
    all_contexts = contexts("postgresql://127.0.0.1:1/none?connect_timeout=1", "runner", "reader")
    team = RoundRobinGroupChat(
        [runner(all_contexts["runner"]), reader(all_contexts["reader"])], max_turns=2
    )

    assert READS == last_text(await team.run(task="Run job a."))

    assert user(JOB, source="runner") == (await all_contexts["reader"].get_messages())[1]
    assert all(context.stats().store_failures for context in all_contexts.values())
