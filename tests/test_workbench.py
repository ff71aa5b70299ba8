"""MemoryWorkbench in real agents and teams: outputs are folded at the source, references are passed as arguments."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff, TaskResult
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.messages import (
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallExecutionEvent,
)
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage, UserMessage
from autogen_core.tools import (
    BaseStreamTool,
    FunctionTool,
    ImageResultContent,
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    ToolSchema,
    Workbench,
)
from pydantic import BaseModel

from for_each import first_quick, for_each
from memory_context import MemoryContext, MemoryRef, PassingPolicy, exceptions
from memory_context.autogen.workbench import MemoryWorkbench
from memory_context.sentences_models_read import ABOUT_REFERENCES
from memory_context.testing import ScriptedChatClient, seeded_keys
from messages import LOG, call, results

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def run_job(job: str) -> str:
    """Run a job and return its log."""
    if job == "broken":
        raise RuntimeError(LOG)
    return f"job {job}\n{LOG}"


def list_workers() -> list[dict[str, object]]:
    """List the workers."""
    return [{"id": i, "state": "idle", "note": None} for i in range(300)]


def count_up(to: int) -> str:
    """Count."""
    return "\n".join(f"number {i}" for i in range(to))


def measure(text: str, unit: str = "characters") -> str:
    """Measure a text."""
    return f"{len(text)} {unit}"


def count_rows(rows: list[dict[str, object]]) -> str:
    """Count rows."""
    return f"{len(rows)} rows"


FUNCTIONS: list[Callable[..., Any]] = [run_job, list_workers, measure, count_rows]


@pytest.fixture
def context() -> MemoryContext:
    """A context on a database in memory."""
    return MemoryContext("ann", store="sqlite://")


def text_of(result: ToolResult) -> str:
    """The one text of a result."""
    [content] = result.result
    assert isinstance(content, TextResultContent)
    return content.content


def key_of(result: ToolResult) -> str:
    """The key of the reference that a folded result begins with."""
    return MemoryRef.parse(text_of(result).split("\n")[0]).key


def calls(name: str, number: int = 1, **arguments: object) -> FunctionCall:
    """A call of a tool."""
    return FunctionCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def first_ref(messages: Sequence[LLMMessage]) -> str:
    """The first reference in a prompt, as it stands there."""
    texts = [
        r.content
        for m in messages
        if isinstance(m, FunctionExecutionResultMessage)
        for r in m.content
    ]
    texts += [
        m.content for m in messages if isinstance(m, UserMessage) and isinstance(m.content, str)
    ]
    return next(str(ref) for text in texts for ref in MemoryRef.find_all(text))


def agent(
    script: Sequence[Any],
    context: MemoryContext,
    workbench: Workbench,
    name: str = "coder",
    **settings: Any,
) -> AssistantAgent:
    """An agent with a workbench, and a model that follows the script."""
    return AssistantAgent(
        name,
        model_client=ScriptedChatClient(script),
        workbench=workbench,
        model_context=context,
        **{"max_tool_iterations": 10, **settings},
    )


def prompts(of: AssistantAgent) -> list[list[LLMMessage]]:
    """The prompts that the agent's model has seen."""
    client = of._model_client  # noqa: SLF001 - AutoGen has no public name for it
    assert isinstance(client, ScriptedChatClient)
    return client.prompts


def last_text(result: TaskResult) -> str:
    """What was said last."""
    return str(result.messages[-1].content)  # type: ignore[union-attr] # every message of these runs has a content


class Camera(Workbench):
    """A workbench of the test's own: a picture between texts, and what was done to it."""

    def __init__(self, *texts: str, name: str = "look") -> None:
        self.texts, self.name = texts, name
        self.done: list[str] = []
        self.state: Mapping[str, Any] = {}

    async def list_tools(self) -> list[ToolSchema]:
        """One tool without a schema."""
        return [ToolSchema(name=self.name)]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,  # noqa: ARG002 - AutoGen's signature
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002 - AutoGen's signature
        call_id: str | None = None,  # noqa: ARG002 - AutoGen's signature
    ) -> ToolResult:
        """The texts, a picture in the middle."""
        parts: list[Any] = [TextResultContent(content=text) for text in self.texts]
        parts.insert(len(parts) // 2, ImageResultContent(content=Image.from_base64(PIXEL)))
        return ToolResult(name=name, result=parts)

    async def start(self) -> None:
        """Note it, or fail."""
        self.done.append("start")
        if self.name == "broken":
            message = "no camera"
            raise RuntimeError(message)

    async def stop(self) -> None:
        """Note it, or fail."""
        self.done.append("stop")
        if self.name == "stuck":
            message = "stuck"
            raise RuntimeError(message)

    async def reset(self) -> None:
        """Note it."""
        self.done.append("reset")

    async def save_state(self) -> Mapping[str, Any]:
        """How many pictures."""
        return {"pictures": 1}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Keep it."""
        self.state = state


class TestFolding:
    """Large outputs leave the workbench as references."""

    async def test_small_everywhere(self, context: MemoryContext) -> None:
        """Events, prompt and the next question hold the same reference and preview; the text is folded once.

        The prompt says below the first one what it is.
        """
        coder = agent(
            [[calls("run_job", job="a")], "done"], context, MemoryWorkbench(FUNCTIONS, context)
        )

        result = await coder.run(task="Run job a.")

        [event] = [
            message for message in result.messages if isinstance(message, ToolCallExecutionEvent)
        ]
        [answer] = [m for m in prompts(coder)[-1] if isinstance(m, FunctionExecutionResultMessage)]
        shown = answer.content[0].content
        assert shown == f"{event.content[0].content}\n{ABOUT_REFERENCES}"
        assert run_job("a") == await context.retrieve(
            MemoryRef.find_all(answer.content[0].content)[0].key
        )
        assert 1 == context.stats().folds

    @for_each(
        "name, threshold",
        [
            ("run_job", 50),
            ("run_job", 500),
            ("run_every_single_job_of_the_whole_data_centre_of_the_company_ab", 100),
        ],
    )
    async def test_as_the_context_would(self, name: str, threshold: int) -> None:
        """Reference and preview are those that the context itself would have made; it does not fold them again."""
        folding, plain = (
            MemoryContext("ann", store="sqlite://", threshold=threshold) for _ in range(2)
        )
        tool = FunctionTool(run_job, "Run a job.", name=name)
        for context in (folding, plain):
            await context.add_message(call(name, arguments='{"job": "a"}'))
        with seeded_keys(1):
            folded = await MemoryWorkbench([tool], folding).call_tool(name, {"job": "a"})

        with seeded_keys(1):
            await plain.add_message(results(run_job("a"), name=name))
        await folding.add_message(results(text_of(folded), name=name))

        [_, expected] = await plain.get_messages()
        shown = f"{text_of(folded)}\n{ABOUT_REFERENCES}"
        assert shown == expected.content[0].content  # type: ignore[union-attr] # results
        assert await plain.get_messages() == await folding.get_messages()

    async def test_facts_of_the_call(self, context: MemoryContext) -> None:
        """The record knows the tool, what the model called it with, and that it failed."""
        workbench = MemoryWorkbench([run_job], context)
        await workbench.call_tool("run_job", {"job": "broken"})

        [item] = await context.search("")

        assert ("run_job", True) == (
            item.content_metadata["source"],
            item.content_metadata["is_error"],
        )
        assert {"job": "broken"} == json.loads(item.content_metadata["arguments"])

    async def test_errors_stay_errors(self, context: MemoryContext) -> None:
        """The large error of a tool is folded, and is an error still."""
        result = await MemoryWorkbench([run_job], context).call_tool("run_job", {"job": "broken"})

        assert result.is_error
        assert LOG == await context.retrieve(key_of(result))

    async def test_small_outputs_stay(self, context: MemoryContext) -> None:
        """A small output stays as it is."""
        result = await MemoryWorkbench([measure], context).call_tool("measure", {"text": "ab"})

        assert (
            ToolResult(name="measure", result=[TextResultContent(content="2 characters")]) == result
        )

    async def test_images_stay(self, context: MemoryContext) -> None:
        """Images stay between their texts, which are folded run by run."""
        result = await MemoryWorkbench(Camera("a", "b", LOG, LOG), context).call_tool("look")

        assert [TextResultContent(content="a"), TextResultContent(content="b")] == result.result[:2]
        assert isinstance(result.result[2], ImageResultContent)
        folded = ToolResult(name="look", result=result.result[3:])
        assert f"{LOG}\n{LOG}" == await context.retrieve(key_of(folded))

    async def test_memory_answers_stay(self, context: MemoryContext) -> None:
        """What memory tools answer is not folded, and a reference is what they take."""
        key = await context.store(LOG)
        workbench = MemoryWorkbench([], context)

        page = await workbench.call_tool("retrieve_memory", {"key": key})
        kept = await workbench.call_tool(
            "store_memory", {"content": f"[MemoryRef: {key}]", "description": "x"}
        )

        assert LOG[:200] in text_of(page)
        assert f"[MemoryRef: {key}]" == await context.retrieve(
            MemoryRef.find_all(text_of(kept))[0].key
        )

    async def test_store_fails(
        self, context: MemoryContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If the store fails, the output stays as it is, and the failure is counted."""

        def put(*_arguments: object, **_settings: object) -> None:
            raise exceptions.StoreUnavailableError

        monkeypatch.setattr(context.manager.memory_store, "put", put)
        result = await MemoryWorkbench([run_job], context).call_tool("run_job", {"job": "a"})

        assert run_job("a") == text_of(result)
        assert 1 == context.stats().store_failures

    async def test_unknown_tool(self, context: MemoryContext) -> None:
        """A tool that does not exist is an error result."""
        result = await MemoryWorkbench([run_job], context).call_tool("run_jbo", {"job": "a"})

        assert result.is_error
        assert "There is no tool 'run_jbo'." == text_of(result)

    @pytest.mark.usefixtures("drawn_keys")
    async def test_team_hears_references(self, sqlite_url: str) -> None:
        """In a team another agent hears the reference, opens it, and passes it on."""
        contexts = [MemoryContext("ann", store=sqlite_url) for _ in range(2)]
        runner = agent(
            [[calls("run_job", job="a")]],
            contexts[0],
            MemoryWorkbench(FUNCTIONS, contexts[0]),
            "runner",
            max_tool_iterations=1,
        )
        reader = agent(
            [lambda messages: [calls("measure", text=first_ref(messages))], "read"],
            contexts[1],
            MemoryWorkbench(FUNCTIONS, contexts[1]),
            "reader",
        )

        result = await RoundRobinGroupChat([runner, reader], max_turns=2).run(task="Run job a.")

        assert str(result.messages[3].content).startswith("[MemoryRef: run_job_")  # type: ignore[union-attr] # the summary
        assert f"{len(run_job('a'))} characters" == prompts(reader)[-1][-1].content[0].content  # type: ignore[union-attr] # results
        assert 1 == str(prompts(reader)[-1]).count("Such references")

    @pytest.mark.usefixtures("drawn_keys")
    async def test_handoff_brings_references(self, sqlite_url: str) -> None:
        """In a swarm the next agent gets the reference with the handoff, reads what references are, and passes it on."""
        first, second = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
        ann = agent(
            [[calls("run_job", 1, job="a"), calls("transfer_to_bob", 2)]],
            first,
            MemoryWorkbench(FUNCTIONS, first),
            "ann",
            handoffs=["bob"],
        )
        script = [lambda messages: [calls("measure", 3, text=first_ref(messages))], "done"]
        bob = agent(script, second, MemoryWorkbench(FUNCTIONS, second), "bob")

        await Swarm([ann, bob], termination_condition=TextMessageTermination("bob")).run(
            task="Run job a, then measure it."
        )

        assert f"{len(run_job('a'))} characters" == prompts(bob)[-1][-1].content[0].content  # type: ignore[union-attr] # results
        assert 0 == second.stats().folds
        assert [1, 1] == [str(prompt).count("Such references") for prompt in prompts(bob)]

    async def test_parallel_calls(self, context: MemoryContext) -> None:
        """Parallel calls are folded each by itself."""
        script = [[calls("run_job", i, job=str(i)) for i in range(5)], "done"]
        coder = agent(script, context, MemoryWorkbench(FUNCTIONS, context))

        await coder.run(task="Run all jobs.")

        answers = prompts(coder)[-1][-1]
        assert isinstance(answers, FunctionExecutionResultMessage)
        keys = [MemoryRef.find_all(answer.content)[0].key for answer in answers.content]
        assert [run_job(str(i)) for i in range(5)] == [await context.retrieve(key) for key in keys]


class TestPassing:
    """References as arguments."""

    async def test_from_tool_to_tool(self, context: MemoryContext) -> None:
        """A tool gets the whole text where the model passes the reference; calls and events show the reference only."""
        script = [
            [calls("run_job", 1, job="a")],
            lambda messages: [
                calls("measure", 2, text=first_ref(messages), unit="see [MemoryRef: x]")
            ],
            "done",
        ]
        coder = agent(script, context, MemoryWorkbench(FUNCTIONS, context))

        result = await coder.run(task="Measure the log of job a.")

        shown = prompts(coder)[-1][-1].content[0].content  # type: ignore[union-attr] # results
        assert f"{len(run_job('a'))} see [MemoryRef: x]" == shown
        assert LOG.split("\n")[200] not in result.model_dump_json()

    async def test_where_a_list_is_wanted(self, context: MemoryContext) -> None:
        """A tool that takes a list gets the list that another one has returned."""
        workbench = MemoryWorkbench(FUNCTIONS, context)
        key = key_of(await workbench.call_tool("list_workers"))

        assert "300 rows" == text_of(
            await workbench.call_tool("count_rows", {"rows": f"[MemoryRef: {key}]"})
        )

    async def test_unknown_key(self, context: MemoryContext) -> None:
        """A key that does not exist is an error that names near keys, and the tool is not called."""
        called: list[str] = []

        def save(text: str) -> None:
            called.append(text)

        workbench = MemoryWorkbench([run_job, save], context)
        key = key_of(await workbench.call_tool("run_job", {"job": "a"}))
        result = await workbench.call_tool("save", {"text": f"[MemoryRef: {key}0]"})

        assert result.is_error
        assert f"Similar keys: {key}." in text_of(result)
        assert text_of(result).startswith("save was not called.")
        assert [] == called

    async def test_not_shown(self, context: MemoryContext) -> None:
        """A key that the conversation has not shown is refused, until a person types it or a memory tool reports it."""
        heard, found = [await context.store(f"{name} text") for name in ("a heard", "a found")]
        workbench = MemoryWorkbench(FUNCTIONS, context)
        written = [{"text": f"[MemoryRef: {key}]"} for key in (heard, found)]
        before = [(await workbench.call_tool("measure", one)).is_error for one in written]

        await context.add_message(UserMessage(content=f"see [MemoryRef: {heard}]", source="user"))
        await workbench.call_tool("search_memory", {"query": "found"})
        after = [text_of(await workbench.call_tool("measure", one)) for one in written]

        assert [True, True] == before
        assert ["12 characters", "12 characters"] == after

    async def test_other_users_key(self, sqlite_url: str) -> None:
        """The key of another user is a key that does not exist, even where the conversation shows it."""
        key = await MemoryContext("bob", store=sqlite_url).store("bob's text")
        context = MemoryContext("ann", store=sqlite_url)
        await context.add_message(UserMessage(content=f"see [MemoryRef: {key}]", source="user"))

        result = await MemoryWorkbench(FUNCTIONS, context).call_tool(
            "measure", {"text": f"[MemoryRef: {key}]"}
        )

        assert result.is_error
        assert "There is no memory with the key" in text_of(result)

    async def test_error_of_a_tools_own(self, context: MemoryContext) -> None:
        """A tool's error that quotes an argument quotes the reference, not the text that it stands for."""

        def login(password: str) -> None:
            message = f"wrong password: {password}"
            raise ValueError(message)

        key = await context.store("hunter2", type="secret")
        ref = f"[MemoryRef: {key}]"
        await context.add_message(UserMessage(content=f"log in with {ref}", source="user"))
        workbench = MemoryWorkbench(
            [login], context, pass_by_reference=PassingPolicy(secrets_for=["login"])
        )
        result = await workbench.call_tool("login", {"password": ref})

        assert result.is_error
        assert f"wrong password: {ref}" == text_of(result)

    async def test_secret(self, context: MemoryContext) -> None:
        """A secret that a person names goes to no tool that is not on the list."""
        key = await context.store("hunter2", type="secret")
        await context.add_message(
            UserMessage(content=f"send [MemoryRef: {key}] to me", source="user")
        )
        workbench = MemoryWorkbench(
            FUNCTIONS, context, pass_by_reference=PassingPolicy(secrets_for=["login"])
        )

        result = await workbench.call_tool("measure", {"text": f"[MemoryRef: {key}]"})

        assert result.is_error
        assert "is a secret, which measure may not get" in text_of(result)

    async def test_secret_for_a_tool(self, context: MemoryContext) -> None:
        """A tool on the list gets a secret; nothing else than the tool sees it."""
        key = await context.store("hunter2", type="secret")
        await context.add_message(UserMessage(content=f"use [MemoryRef: {key}]", source="user"))
        workbench = MemoryWorkbench(
            FUNCTIONS, context, pass_by_reference=PassingPolicy(secrets_for=["measure"])
        )

        assert "7 characters" == text_of(
            await workbench.call_tool("measure", {"text": f"[MemoryRef: {key}]"})
        )

    @pytest.mark.parametrize("setting", [False, PassingPolicy(tools=["run_job"])])
    async def test_switched_off(
        self, context: MemoryContext, setting: bool | PassingPolicy
    ) -> None:
        """Where references are not passed, the tool gets what the model wrote."""
        workbench = MemoryWorkbench(FUNCTIONS, context, pass_by_reference=setting)

        assert "14 characters" == text_of(
            await workbench.call_tool("measure", {"text": "[MemoryRef: k]"})
        )

    async def test_size_limit(self, context: MemoryContext) -> None:
        """A text over the tool's limit is refused; the limit of another tool does not count."""
        workbench = MemoryWorkbench(
            FUNCTIONS, context, pass_by_reference=PassingPolicy(max_argument_bytes={"measure": 10})
        )
        ref = f"[MemoryRef: {key_of(await workbench.call_tool('list_workers'))}]"

        result = await workbench.call_tool("measure", {"text": ref})

        assert result.is_error
        assert "measure gets 10 at most" in text_of(result)
        assert "300 rows" == text_of(await workbench.call_tool("count_rows", {"rows": ref}))

    async def test_too_deep(self, context: MemoryContext) -> None:
        """Arguments that are nested too deeply are an error result: an exception would hang the agent."""
        key = await context.store("x")
        await context.add_message(UserMessage(content=f"[MemoryRef: {key}]", source="user"))
        arguments: Any = f"[MemoryRef: {key}]"
        for _ in range(2000):
            arguments = [arguments]

        result = await MemoryWorkbench(FUNCTIONS, context).call_tool("measure", {"text": arguments})

        assert result.is_error
        assert "nested too deeply" in text_of(result)

    async def test_what_the_model_is_told(self, context: MemoryContext) -> None:
        """The tool that reads memories says to which tools references can be passed, or nothing of it."""
        told = [
            next(
                t["description"] for t in await bench.list_tools() if t["name"] == "retrieve_memory"
            )
            for setting in (True, PassingPolicy(tools=["measure", "run_job"]), False)
            for bench in [MemoryWorkbench(FUNCTIONS, context, pass_by_reference=setting)]
        ]

        assert "gives any other tool its text" in told[0]
        assert "gives measure, run_job its text" in told[1]
        assert told[0].startswith(told[2])
        assert "argument" not in told[2]


class Steps(BaseModel):
    """How many steps."""

    count: int


class Walk(BaseStreamTool[Steps, TextMessage, TextMessage]):
    """A tool that streams, and fails or is large at the end."""

    def __init__(self) -> None:
        super().__init__(Steps, TextMessage, "walk", "Walk.")

    async def run(self, args: Steps, cancellation_token: CancellationToken) -> TextMessage:
        """Not used: it streams."""
        raise NotImplementedError

    async def run_stream(
        self,
        args: Steps,
        cancellation_token: CancellationToken,  # noqa: ARG002 - AutoGen's signature
    ) -> AsyncGenerator[TextMessage, None]:
        """A message for each step."""
        for i in range(args.count):
            yield TextMessage(content=f"step {i}", source="walker")
        if args.count > 2:
            raise RuntimeError(LOG)
        yield TextMessage(content=LOG, source="walker")

    def return_value_as_string(self, value: TextMessage) -> str:
        """Its content."""
        return value.content


class Ticker(StaticStreamWorkbench):
    """A workbench that streams without end, and notes that it was closed."""

    def __init__(self) -> None:
        super().__init__([FunctionTool(measure, "x")])
        self.closed = False

    async def call_tool_stream(
        self, *_arguments: object, **_settings: object
    ) -> AsyncGenerator[Any, None]:
        """Ticks."""
        try:
            while True:
                yield "tick"
        finally:
            self.closed = True


class TestStreaming:
    """What streams keeps streaming."""

    @pytest.mark.long
    @pytest.mark.parametrize("kind", ["agent", "team"])
    async def test_agents_as_tools(self, context: MemoryContext, kind: str) -> None:
        """The events of an agent or a team that is a tool are streamed; its result is folded."""
        inner = AssistantAgent(
            "helper", model_client=ScriptedChatClient([LOG]), model_client_stream=True
        )
        tool = (
            AgentTool(inner)
            if kind == "agent"
            else TeamTool(RoundRobinGroupChat([inner], max_turns=1), "helper", "x")
        )
        coder = agent(
            [[calls("helper", task="Write a log.")], "done"],
            context,
            MemoryWorkbench([tool], context),
        )

        events = [event async for event in coder.run_stream(task="Let the helper write.")]

        assert any(
            isinstance(event, ModelClientStreamingChunkEvent) and event.source == "helper"
            for event in events
        )
        answer = prompts(coder)[-1][-1].content[0].content  # type: ignore[union-attr] # results
        ref = MemoryRef.parse(str(answer).split("\n")[0])
        assert ref.key.startswith("helper_")
        assert f"helper: {LOG}" == await context.retrieve(ref.key)

    async def test_inner_agent_with_memory(self, sqlite_url: str) -> None:
        """An inner agent with a context of its own folds into its own, the outer one into the outer."""
        inner, outer = (
            MemoryContext("ann", store=sqlite_url, threshold=threshold) for threshold in (500, 100)
        )
        helper = agent(
            [[calls("run_job", job="a")], "word " * 300],
            inner,
            MemoryWorkbench([run_job], inner),
            "helper",
        )
        coder = agent(
            [[calls("helper", task="x")], "done"],
            outer,
            MemoryWorkbench([AgentTool(helper)], outer),
        )

        await coder.run(task="Let the helper run it.")

        assert (1, 1) == (inner.stats().folds, outer.stats().folds)

    async def test_reference_as_task(self, context: MemoryContext) -> None:
        """An agent that is a tool gets the whole text where its task is a reference."""
        helper = ScriptedChatClient(
            [lambda messages: f"{len(str(messages[-1].content))} characters"]
        )
        tool = AgentTool(
            AssistantAgent("helper", model_client=helper), return_value_as_last_message=True
        )
        workbench = MemoryWorkbench([tool, run_job], context)
        key = key_of(await workbench.call_tool("run_job", {"job": "a"}))

        stream = [
            event
            async for event in workbench.call_tool_stream("helper", {"task": f"[MemoryRef: {key}]"})
        ]

        assert f"{len(run_job('a'))} characters" == text_of(stream[-1])

    async def test_stream_of_results(self, context: MemoryContext) -> None:
        """Events come as they are, the result folded; a refused call and a tool that does not stream are one result."""
        workbench = MemoryWorkbench([Walk(), Camera()], context)

        walked = [event async for event in workbench.call_tool_stream("walk", {"count": 2})]
        failed = [event async for event in workbench.call_tool_stream("walk", {"count": 3})]
        refused = [
            event async for event in workbench.call_tool_stream("walk", {"count": "[MemoryRef: k]"})
        ]
        looked = [event async for event in workbench.call_tool_stream("look")]

        assert ["step 0", "step 1"] == [
            event.content for event in walked[:-1] if isinstance(event, TextMessage)
        ]
        assert [3, 4, 1, 1] == [len(stream) for stream in (walked, failed, refused, looked)]
        assert LOG == await context.retrieve(key_of(walked[-1]))
        assert [False, True, True, False] == [
            s[-1].is_error for s in (walked, failed, refused, looked)
        ]

    async def test_closed_early(self, context: MemoryContext) -> None:
        """A stream that is not read to its end is closed inside too."""
        ticker = Ticker()
        stream = MemoryWorkbench(ticker, context).call_tool_stream("measure", {"text": "x"})
        assert "tick" == await anext(stream)
        await stream.aclose()

        assert ticker.closed


class TestTools:
    """What a workbench may be made of."""

    async def test_order(self, context: MemoryContext) -> None:
        """Tools, functions and workbenches; the memory tools come last."""
        static = StaticWorkbench(
            [FunctionTool(measure, "x")], {"measure": ToolOverride(name="size")}
        )
        workbench = MemoryWorkbench(
            [static, run_job, Camera(), FunctionTool(count_rows, "x")], context
        )

        assert [
            "run_job",
            "count_rows",
            "size",
            "look",
            "retrieve_memory",
            "search_memory",
            "store_memory",
        ] == [schema["name"] for schema in await workbench.list_tools()]
        assert "2 characters" == text_of(await workbench.call_tool("size", {"text": "ab"}))

    def test_duplicates(self, context: MemoryContext) -> None:
        """Two tools of one name are refused at once, a memory tool that is brought along too."""
        twice: list[Any] = [run_job, FunctionTool(run_job, "x")]
        for tools in (twice, context.tools()):
            with pytest.raises(
                exceptions.InvalidArgumentError, match="more than one tool has the name"
            ):
                MemoryWorkbench(tools, context)

    async def test_duplicates_in_workbenches(self, context: MemoryContext) -> None:
        """Two tools of one name in two workbenches are refused before the model is called."""
        workbench = MemoryWorkbench([Camera(), Camera(name="search_memory")], context)

        with pytest.raises(exceptions.InvalidArgumentError, match="has the name search_memory"):
            await agent(["never said"], context, workbench).run(task="Look.")

    @pytest.mark.parametrize("tools", ["run_job", run_job, [7], None])
    def test_no_tools(self, context: MemoryContext, tools: object) -> None:
        """Anything that is no list of tools is refused."""
        with pytest.raises(exceptions.InvalidArgumentError):
            MemoryWorkbench(tools, context)  # type: ignore[arg-type] # a mistake

    async def test_life_cycle(self, context: MemoryContext) -> None:
        """Start, reset and stop reach every workbench, and their states are kept."""
        cameras = [Camera(), Camera(name="see")]
        async with MemoryWorkbench([run_job, *cameras], context) as workbench:
            await workbench.reset()
            state = json.loads(json.dumps(await workbench.save_state()))
            await workbench.load_state(state)

        assert [["start", "reset", "stop"]] * 2 == [camera.done for camera in cameras]
        assert [{"pictures": 1}] * 2 == [camera.state for camera in cameras]

    @pytest.mark.parametrize(
        "state", [{"workbenches": []}, {"type": "StaticWorkbenchState", "tools": {}}]
    )
    async def test_state_of_another(self, context: MemoryContext, state: dict[str, Any]) -> None:
        """The state of another workbench is refused."""
        with pytest.raises(exceptions.StateError):
            await MemoryWorkbench([Camera()], context).load_state(state)

    async def test_failing_start_and_stop(self, context: MemoryContext) -> None:
        """If one fails to start, those before it are stopped; if one fails to stop, the others are stopped too."""
        first, stuck = Camera(), Camera(name="stuck")
        with pytest.raises(RuntimeError, match="no camera"):
            await MemoryWorkbench([first, Camera(name="broken")], context).start()
        with pytest.raises(RuntimeError, match="stuck"):
            await MemoryWorkbench([first, stuck], context).stop()

        assert ["start", "stop", "stop"] == first.done

    async def test_cancelled(self, context: MemoryContext) -> None:
        """Cancelling the token cancels the tool."""

        async def wait() -> None:
            await asyncio.sleep(60)

        token = CancellationToken()
        call = asyncio.ensure_future(MemoryWorkbench([wait], context).call_tool("wait", {}, token))
        await asyncio.sleep(0.1)
        token.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call


class TestComponent:
    """Dumped and loaded."""

    async def test_round_trip(self, sqlite_url: str) -> None:
        """An agent with a workbench is dumped and loaded, and goes on: folding, and passing what its state shows."""
        context = MemoryContext("ann", store=sqlite_url)
        policy = PassingPolicy(secrets_for=["measure"], max_argument_bytes={"measure": 1_000_000})
        workbench = MemoryWorkbench([measure, count_up], context, pass_by_reference=policy)
        original = agent([[calls("count_up", to=900)], "done"], context, workbench)
        await original.run(task="Count.")
        state = json.loads(json.dumps(await original.save_state()))
        dumped = AssistantAgent(
            "coder",
            ScriptedChatClient([]),
            workbench=workbench,
            model_context=context,
            max_tool_iterations=10,
        ).dump_component()
        with pytest.warns(UserWarning, match="SECURITY WARNING"):
            loaded = AssistantAgent.load_component(json.loads(dumped.model_dump_json()))
        await loaded.load_state(state)
        assert isinstance(loaded.model_context, MemoryContext)

        client = loaded._model_client  # noqa: SLF001 - AutoGen has no public name for it
        assert isinstance(client, ScriptedChatClient)
        client.script += [
            lambda messages: [calls("measure", 2, text=first_ref(messages))],
            [calls("count_up", 3, to=901)],
            "done",
        ]
        await loaded.run(task="Measure it.")

        assert f"{len(count_up(900))} characters" == client.prompts[1][-1].content[0].content  # type: ignore[union-attr] # results
        assert 1 == loaded.model_context.stats().folds

    async def test_settings_survive(self, sqlite_url: str) -> None:
        """What is loaded dumps to the same, with every setting."""
        helper = AgentTool(AssistantAgent("helper", model_client=ScriptedChatClient(["hi"])))
        workbench = MemoryWorkbench(
            [helper],
            MemoryContext("ann", store=sqlite_url, thread_id="t", threshold=100),
            pass_by_reference=PassingPolicy(
                tools=["helper"], secrets_for=["helper"], max_argument_bytes={"helper": 1}
            ),
        )
        dumped = workbench.dump_component()

        loaded = MemoryWorkbench.load_component(json.loads(dumped.model_dump_json()))

        assert dumped == loaded.dump_component()
        assert await workbench.list_tools() == await loaded.list_tools()
        assert "hi" in text_of(await loaded.call_tool("helper", {"task": "x"}))

    async def test_not_serializable(self, context: MemoryContext, sqlite_url: str) -> None:
        """A store in memory and a workbench that cannot be dumped are clear errors."""
        for workbench in (
            MemoryWorkbench([], context),
            MemoryWorkbench([Camera()], MemoryContext("ann", store=sqlite_url)),
        ):
            with pytest.raises(exceptions.NotSerializableError):
                workbench.dump_component()


class TestUnread:
    """A run that ends with a reference."""

    @pytest.mark.parametrize(
        ("settings", "expected"),
        first_quick(
            [
                ({"max_tool_iterations": 1}, 1),
                ({}, 0),
                ({"max_tool_iterations": 1, "reflect_on_tool_use": True}, 0),
            ]
        ),
    )
    async def test_warned_once(
        self,
        context: MemoryContext,
        caplog: pytest.LogCaptureFixture,
        settings: dict[str, Any],
        expected: int,
    ) -> None:
        """Where runs end with a reference that no model has read, that is said once; otherwise never."""
        script: list[Any] = [
            [calls("run_job", 1, job="a")],
            "seen",
            [calls("run_job", 2, job="b")],
            "seen",
        ] * 2
        if settings == {"max_tool_iterations": 1}:
            script = [step for step in script if step != "seen"]
        workbench = MemoryWorkbench(FUNCTIONS, context)
        coder = agent(script, context, workbench, **settings)

        for task in ("Run job a.", "Run job b.", "Run job a again."):
            await coder.run(task=task)
        await workbench.stop()

        assert expected == sum(
            "max_tool_iterations=10" in record.message for record in caplog.records
        )
        assert {"memory_context"} >= {
            r.name for r in caplog.records if r.levelno == logging.WARNING
        }

    async def test_warned_on_stop(
        self, context: MemoryContext, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A single run is told of when the workbench is stopped, with both reasons that it may have ended for."""
        async with MemoryWorkbench(FUNCTIONS, context) as workbench:
            await agent(
                [[calls("run_job", job="a")]], context, workbench, max_tool_iterations=1
            ).run(task="Run job a.")
            assert "max_tool_iterations=10" not in caplog.text

        assert "max_tool_iterations=10" in caplog.text
        assert "unless it was cancelled" in caplog.text

    async def test_warned_where_each_request_loads_its_state(
        self, context: MemoryContext, caplog: pytest.LogCaptureFixture
    ) -> None:
        """That the run of the request before ended unread is told of in the next one, on another context."""
        script: list[Any] = [[calls("run_job", job="a")]]
        once: dict[str, Any] = {"max_tool_iterations": 1}
        await agent(script, context, MemoryWorkbench(FUNCTIONS, context), **once).run(
            task="Run it."
        )
        state = json.loads(json.dumps(await context.save_state()))

        following = MemoryContext("ann", store=context.manager.memory_store)
        await following.load_state(state)
        script = [[calls("run_job", 2, job="b")], "seen"]
        await agent(script, following, MemoryWorkbench(FUNCTIONS, following)).run(task="Go on.")

        assert "max_tool_iterations=10" in caplog.text

    async def test_warns_when_the_context_is_closed(self, caplog: pytest.LogCaptureFixture) -> None:
        """A single run that ended with an unread reference is warned of when its context is closed."""
        context = MemoryContext("ann", store="sqlite://")
        workbench = context.workbench([run_job])
        await agent([[calls("run_job", job="a")]], context, workbench, max_tool_iterations=1).run(
            task="Run job a."
        )
        assert "max_tool_iterations=10" not in caplog.text

        await context.aclose()

        assert "max_tool_iterations=10" in caplog.text

    @pytest.mark.parametrize("goes_on", first_quick([False, True]))
    async def test_cancelled_in_a_tool(
        self,
        context: MemoryContext,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
        *,
        goes_on: bool,
    ) -> None:
        """A run that was cancelled in a tool is not warned of, whether or not the tool finishes after that."""
        started, may_end, noted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        note = context.note_finished

        def note_finished(*args: Any, **options: Any) -> None:
            note(*args, **options)
            noted.set()

        monkeypatch.setattr(context, "note_finished", note_finished)

        async def slow() -> str:
            """Take long."""
            started.set()
            await may_end.wait()
            return LOG

        workbench = MemoryWorkbench([run_job, slow], context)
        script = [[calls("run_job", 1, job="a"), calls("slow", 2)], "done"]
        coder = agent(script, context, workbench, max_tool_iterations=10)
        running = asyncio.create_task(coder.run(task="Run job a."))
        await asyncio.gather(started.wait(), noted.wait())
        running.cancel()
        await asyncio.wait([running])
        if goes_on:
            may_end.set()
            await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        await coder.run(task="What happened?")
        await workbench.stop()

        assert "max_tool_iterations" not in caplog.text

    @for_each("reflect", [False, True])
    async def test_a_model_call_that_fails(
        self, caplog: pytest.LogCaptureFixture, *, reflect: bool
    ) -> None:
        """Results that a model was sent were not left unread, even if its call failed."""

        def fails(_: Sequence[LLMMessage]) -> str:
            raise ConnectionError

        context = MemoryContext("ann", store="sqlite://")
        workbench = MemoryWorkbench(FUNCTIONS, context)
        settings = {"reflect_on_tool_use": True} if reflect else {"max_tool_iterations": 10}
        script = [[calls("run_job", job="a")], fails, "done"]
        coder = agent(script, context, workbench, **settings)
        with pytest.raises(ConnectionError):
            await coder.run(task="Run job a.")
        await coder.run(task="Once more.")
        await workbench.stop()

        assert "max_tool_iterations" not in caplog.text

    async def test_small_results_and_handoffs(
        self, context: MemoryContext, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A small result may end a run, and a handoff ends it with every setting."""
        script = [
            [calls("measure", 1, text="x")],
            [calls("run_job", 2, job="a"), calls("transfer_to_bob", 3)],
            [calls("measure", 4, text="x")],
        ]
        workbench = MemoryWorkbench(FUNCTIONS, context)
        coder = agent(
            script, context, workbench, max_tool_iterations=1, handoffs=[Handoff(target="bob")]
        )

        for _ in script:
            await coder.run(task="Go on.")
        await workbench.stop()

        assert "max_tool_iterations" not in caplog.text
