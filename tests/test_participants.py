"""Agents with contexts of their own in and around teams: societies, code executors, tools; cancelled; with memories.

`ScriptedChatClient` refuses every prompt that a provider would refuse. Where AutoGen itself breaks such a rule, the
test uses AutoGen's replay client instead, which does not check, and says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest
from autogen_agentchat.agents import (
    ApprovalRequest,
    ApprovalResponse,
    AssistantAgent,
    CodeExecutorAgent,
    SocietyOfMindAgent,
)
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import (
    CodeExecutionEvent,
    TextMessage,
)
from autogen_agentchat.teams import (
    RoundRobinGroupChat,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import FunctionCall
from autogen_core.memory import ListMemory, MemoryContent, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    LLMMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool, StaticWorkbench
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.replay import ReplayChatCompletionClient

from memory_context import MemoryContext
from memory_context.testing import ScriptedChatClient, check_prompt
from messages import LOG, dumps, results, user
from teams import (
    ANSWER,
    JOB,
    QUESTION,
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
    runner,
    state_of,
    stored,
    unchecked,
)


class TestSocietyOfMind:
    """A team that speaks as one agent. Its team is reset after each turn; its own context goes into the next one."""

    @staticmethod
    def society(
        all_contexts: Mapping[str, MemoryContext], client: ScriptedChatClient | None = None
    ) -> SocietyOfMindAgent:
        """A runner and a reader within one agent."""
        reads = AssistantAgent(
            "reader",
            model_client=client or ScriptedChatClient([READS] * 3),
            model_context=all_contexts["reader"],
        )
        inner = RoundRobinGroupChat([reads, runner(all_contexts["runner"])], max_turns=2)
        return SocietyOfMindAgent(
            "society",
            inner,
            model_client=ScriptedChatClient(["one", "two", "three"]),
            model_context=all_contexts["outer"],
        )

    async def test_clear_at_each_turn(self, sqlite_url: str) -> None:
        """The inner contexts are cleared after each turn, and every memory is still there."""
        all_contexts = contexts(sqlite_url, "runner", "reader", "outer")
        society = self.society(all_contexts)

        result = await society.run(task="Run job a.")

        assert "one" == last_text(result)
        assert (
            []
            == await all_contexts["runner"].get_messages()
            == await all_contexts["reader"].get_messages()
        )
        assert [JOB] == await stored(all_contexts["outer"])

    @pytest.mark.long
    async def test_earlier_messages_are_added_again(self, sqlite_url: str) -> None:
        """What the outer context shows goes into the inner ones again: same key; a question brings its text back."""
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
        first, second = (
            contexts(sqlite_url, "runner", "reader", "outer", "critic") for _ in range(2)
        )

        def team(of: Mapping[str, MemoryContext]) -> RoundRobinGroupChat:
            return RoundRobinGroupChat(
                [self.society(of), reader(of["critic"], "critic")], max_turns=2
            )

        one, other = team(first), team(second)
        await one.run(task="Run job a.")
        await other.load_state(await state_of(one))

        assert await messages_of(first["critic"]) == await messages_of(second["critic"])
        assert [] == await second["outer"].get_messages()

    async def test_dump_and_load(self, sqlite_url: str) -> None:
        """A dumped society loads as an equal one, and runs."""
        society = self.society(contexts(sqlite_url, "runner", "reader", "outer"))
        loaded = SocietyOfMindAgent.load_component(
            json.loads(society.dump_component().model_dump_json())
        )

        assert "one" == last_text(await loaded.run(task="Run job a."))
        assert isinstance(loaded.model_context, MemoryContext)
        assert society.model_context.dump_component() == loaded.model_context.dump_component()


CODE = "```python\nfor i in range(600):\n    print(f'line {i} of worker {i * 7919 % 10007}')\n```"
FAILING = "```python\nfor i in range(600):\n    print(f'line {i} of worker {i * 7919 % 10007}')\nraise SystemExit(3)\n```"


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

    async def test_output_is_folded(
        self, sqlite_url: str, executor: LocalCommandLineCodeExecutor
    ) -> None:
        """The output of a program folds, and the reflection on it reads the reference; the event shows all of it."""
        context = MemoryContext("ann", store=sqlite_url)
        client = ScriptedChatClient([CODE, "It printed 600 lines."])
        coder = CodeExecutorAgent(
            "coder", executor, model_client=client, model_context=context, approval_func=approve
        )

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
        client = unchecked(
            FAILING, json.dumps({"retry": True, "reason": "once more"}), FAILING, "It failed."
        )
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

    async def test_approval_reads_the_context(
        self, sqlite_url: str, executor: LocalCommandLineCodeExecutor
    ) -> None:
        """Who approves the code sees the messages that the model will see."""
        context = MemoryContext("ann", store=sqlite_url)
        seen: list[list[str]] = []

        def look(request: ApprovalRequest) -> ApprovalResponse:
            seen.append(dumps(request.context))
            return ApprovalResponse(approved=False, reason="no")

        client = ScriptedChatClient([CODE, "It was refused."])
        coder = CodeExecutorAgent(
            "coder", executor, model_client=client, model_context=context, approval_func=look
        )
        await coder.run(task=TextMessage(content=LOG, source="crawler"))

        assert [dumps(await context.get_messages())[:2]] == seen

    async def test_broadcast_without_a_model(
        self, sqlite_url: str, executor: LocalCommandLineCodeExecutor
    ) -> None:
        """An executor without a model broadcasts the whole output, which folds at every receiver to one key."""
        all_contexts = contexts(sqlite_url, "writer", "reader")
        writer = reader(all_contexts["writer"], "writer", [CODE, "thanks"])
        team = RoundRobinGroupChat(
            [
                writer,
                CodeExecutorAgent("executor", executor, approval_func=approve),
                reader(all_contexts["reader"]),
            ],
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
        coder = CodeExecutorAgent(
            "coder", executor, model_client=client, model_context=first, approval_func=approve
        )
        await coder.run(task="Print some lines.")

        await second.load_state(json.loads(json.dumps(await first.save_state())))

        assert "messages" not in json.dumps(await coder.save_state())
        assert await messages_of(first) == await messages_of(second)

    @pytest.mark.filterwarnings("ignore:.*(may execute code|No approval function):UserWarning")
    async def test_dump_and_load(
        self, sqlite_url: str, executor: LocalCommandLineCodeExecutor
    ) -> None:
        """A dumped code executor loads with its context."""
        context = MemoryContext("ann", store=sqlite_url)
        coder = CodeExecutorAgent(
            "coder", executor, model_client=ScriptedChatClient([CODE]), model_context=context
        )
        loaded = CodeExecutorAgent.load_component(
            json.loads(coder.dump_component().model_dump_json())
        )

        assert isinstance(loaded.model_context, MemoryContext)
        assert context.dump_component() == loaded.model_context.dump_component()


class TestAgentTool:
    """An agent or a team as a tool of another agent."""

    @staticmethod
    def outer(tool: AgentTool | TeamTool, context: MemoryContext, name: str) -> AssistantAgent:
        """An agent that calls the other one once."""
        call = [FunctionCall(id="c9", name=name, arguments='{"task": "Run job a."}')]
        client = ScriptedChatClient([call, "The tool has answered."])
        return AssistantAgent(
            "boss", model_client=client, tools=[tool], model_context=context, max_tool_iterations=3
        )

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
        team = RoundRobinGroupChat(
            [runner(all_contexts["runner"]), reader(all_contexts["reader"])], max_turns=2
        )
        boss = self.outer(TeamTool(team, "jobs", "Runs jobs."), all_contexts["boss"], "jobs")

        await boss.run(task="Have job a run.")

        found = await keys_of(all_contexts)
        assert found["runner"] == found["reader"] != []
        assert f"runner: {JOB}\n\nreader: {READS}" == await all_contexts["boss"].retrieve(
            found["boss"][0]
        )

    async def test_state(self, sqlite_url: str) -> None:
        """The states of both agents are saved by the agent and its tool, and load into new ones."""
        first, second = (contexts(sqlite_url, "runner", "boss") for _ in range(2))
        tools = [AgentTool(runner(one["runner"])) for one in (first, second)]
        boss, other_boss = (
            self.outer(tool, one["boss"], "runner")
            for tool, one in zip(tools, (first, second), strict=True)
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
    async def cancelled(
        context: MemoryContext, client: ReplayChatCompletionClient
    ) -> AssistantAgent:
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
        """The next run goes on, with an answer to the open call; messages are added, folded and brought back, in order."""
        context = MemoryContext("ann", store=sqlite_url)
        client = Calls(FunctionCall(id="c1", name="never", arguments="{}"))
        client.chat_completions.extend(["first", "second"])
        coder = await self.cancelled(context, client)

        await coder.run(task=TextMessage(content=LOG, source="crawler"))
        result = await coder.run(task=QUESTION)

        messages = await context.get_messages()
        check_prompt(messages)
        assert "second" == last_text(result)
        assert ["AssistantMessage", "FunctionExecutionResultMessage"] == [
            type(m).__name__ for m in messages if isinstance(m.content, list)
        ]
        assert ANSWER in "".join(dumps(messages))
        assert user(QUESTION) == messages[-2]

    async def test_state_with_an_open_call(self, sqlite_url: str) -> None:
        """The state with the open call is saved and loaded; a result that comes late is taken in."""
        first, second = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
        coder = await self.cancelled(
            first, Calls(FunctionCall(id="call-1-0", name="never", arguments="{}"))
        )
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
        recalled = [
            i
            for i, m in enumerate(client.prompts[1])
            if getattr(m, "source", "") == "memory_context"
        ]
        asked = client.prompts[1].index(user(QUESTION))
        assert [asked - 1] == recalled
        assert ANSWER in "".join(dumps(client.prompts[1]))
        assert client.prompts[0] == client.prompts[1][: len(client.prompts[0])]

    async def test_two_memories(self, sqlite_url: str) -> None:
        """A second memory searches for what the first has added, as with AutoGen's own contexts."""
        context = MemoryContext("ann", store=sqlite_url)
        memories = [_Lookup("It rains."), _Lookup("It snows.")]
        client = ScriptedChatClient(["answer"])
        coder = AssistantAgent(
            "coder", model_client=client, model_context=context, memory=[*memories]
        )

        await coder.run(task="How is the weather?")

        assert [["How is the weather?"], ["It rains."]] == [memory.queries for memory in memories]
        assert user("It snows.", source="lookup") == client.prompts[0][-1]
