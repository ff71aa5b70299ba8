"""`MemoryContextMiddleware` in real agents of LangChain's: what they store, what their models see, what is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Literal, cast
from uuid import uuid4

import pytest
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_config
from langgraph.types import Command
from pydantic import BaseModel, field_validator

from for_each import first_quick, for_each
from langchain_memory_context import ChatModelJudge, MemoryContextMiddleware, memory_tools
from langchain_memory_context.state_through_parent_graphs import carried_by
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    FoldPolicy,
    LexicalJudge,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    PassingPolicy,
    RecallPolicy,
    SQLAlchemyStore,
)
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import Conversation, ConversationSettings
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.message import Message, edits_between
from memory_context.conversation.recording_to_call_log import model_call
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    InvalidThresholdError,
    StoreError,
)
from memory_context.sentences_models_read import ABOUT_REFERENCES
from memory_context.testing import seeded_keys

LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
THREAD = {"configurable": {"thread_id": "t"}}
QUESTION = "When was worker-1234 done?"
ANSWER = "02:20:34 worker-1234 done"
VAGUE = "What about the one in the middle?"


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


@tool
def measure(text: str) -> str:
    """How long a text is."""
    return f"{len(text)} characters"


def store_of(path: Path | None = None) -> SQLAlchemyStore:
    """An empty store."""
    return SQLAlchemyStore(f"sqlite:///{path / 'memory.db'}" if path else "sqlite://")


def agent_of(
    script: Sequence[Any],
    *middleware: AgentMiddleware[Any, Any, Any],
    tools: Sequence[BaseTool] = (read_log, measure),
    **settings: Any,
) -> tuple[Any, ScriptedChatModel]:
    """An agent that keeps its state, and its model."""
    model = ScriptedChatModel(script)
    saver = settings.pop("checkpointer", None) or InMemorySaver()
    return create_agent(
        model, list(tools), middleware=middleware, checkpointer=saver, **settings
    ), model


async def run(
    agent: Any,
    text: str | Any,
    how: str = "invoke",
    config: Any = THREAD,
) -> list[AnyMessage]:
    """The messages of the state after a run."""
    given = {"messages": [HumanMessage(text)]} if isinstance(text, str) else text
    match how:
        case "invoke":
            agent.invoke(given, config)
        case "ainvoke":
            await agent.ainvoke(given, config)
        case "stream":
            list(agent.stream(given, config, stream_mode=["updates", "messages"]))
        case _:
            [_ async for _ in agent.astream(given, config, stream_mode=["updates", "messages"])]
    state = await agent.aget_state(config) if how.startswith("a") else agent.get_state(config)
    return list(state.values["messages"])


def result_in(messages: Sequence[BaseMessage], name: str = "read_log") -> ToolMessage:
    """The newest result of a tool."""
    return [one for one in messages if isinstance(one, ToolMessage) and one.name == name][-1]


def plain(messages: Sequence[BaseMessage]) -> list[tuple[str, Any]]:
    """What a model sees of messages."""
    return [(message.type, message.content) for message in messages]


@for_each("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_folds_and_recalls(how: str) -> None:
    """A large result is a reference in the state; what the next question needs comes back, in the prompt only."""
    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, model = agent_of([[call("read_log", "1")], "Read.", "At 02:20:34."], middleware)

    await run(agent, "Read the log.", how)
    messages = await run(agent, QUESTION, how)

    result = result_in(messages)
    assert ("1", "read_log", "success") == (result.tool_call_id, result.name, result.status)
    [ref] = MemoryRef.find_all(str(result.content))
    assert LOG == MemoryManager(middleware._hosted.store, user_id="42").retrieve(ref.key)  # noqa: SLF001
    *_, recalled, question = model.prompts[-1]
    assert (QUESTION, "memory_context") == (question.content, recalled.name)
    assert ANSWER in str(recalled.content)
    assert ANSWER not in str(messages)
    assert (1, 1) == (middleware.stats().folds, middleware.stats().recalls)
    [decision] = [one for one in middleware.decisions() if one.opened]
    assert (ref.key,) == decision.opened


@pytest.mark.parametrize("saver", first_quick(["memory", "sqlite"]))
def test_what_a_model_saw_does_not_change(saver: str, tmp_path: Path) -> None:
    """Each prompt begins with the one before, byte for byte, also in another process with the same checkpointer."""
    script = [[call("read_log")], "Read.", "At 02:20:34.", "At 00:00:07.", "Bye."]
    questions = ("Read the log.", QUESTION, "And worker-2222, when was it done?", "Thank you.")
    store, memory, prompts = store_of(tmp_path), InMemorySaver(), list[list[BaseMessage]]()
    for number, question in enumerate(questions):
        step = script[:2] if number == 0 else [script[number + 1]]
        with SqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as sqlite:
            kept = memory if saver == "memory" else sqlite
            agent, model = agent_of(
                step, MemoryContextMiddleware(store, user_id="42"), checkpointer=kept
            )
            agent.invoke({"messages": [HumanMessage(question)]}, THREAD)
        prompts += model.prompts

    for before, after in pairwise(prompts):
        assert plain(before) == plain(after)[: len(before)]
    assert "worker-2222" in str(prompts[-1][-4].content)


@pytest.mark.long
def test_checkpoints_are_small() -> None:
    """200,000 characters from a tool cost less than a fiftieth of the bytes in the checkpointer."""

    @tool
    def dump() -> str:
        """Give much."""
        return "".join(f"{number:09d}\n" for number in range(20_000))

    def size(*middleware: MemoryContextMiddleware) -> int:
        saver = InMemorySaver()
        agent, _ = agent_of(
            [[call("dump")], "Done."], *middleware, tools=[dump], checkpointer=saver
        )
        agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)
        blobs = sum(len(blob) for _, blob in saver.blobs.values())
        return blobs + sum(
            len(write[2][1]) for writes in saver.writes.values() for write in writes.values()
        )

    without, with_it = size(), size(MemoryContextMiddleware(store_of(), user_id="42"))
    assert with_it * 50 < without, (with_it, without)


@for_each(
    "output, question",
    [
        (LOG, QUESTION),
        (
            json.dumps([{"id": f"order-{n}", "total": n * 7} for n in range(900)]),
            "What is the total of order-812?",
        ),
        (
            "name,city\n" + "\n".join(f"person{n},town{n % 70}" for n in range(900)),
            "Where does person555 live?",
        ),
        ("short", "What was it?"),
    ],
)
@pytest.mark.long
async def test_same_as_autogen(output: str, question: str) -> None:
    """One conversation gives the same references, previews and recalls in both hosts, at the same positions."""

    @tool("read_log")
    def by_day(day: str) -> str:
        """Read the log of a day."""
        return output if day else ""

    context = MemoryContext("42", store=store_of(), recall=RecallPolicy(user_layer_tokens=0))
    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, model = agent_of(
        [[call("read_log", day="today")], "Read.", "At 02:20:34."], middleware, tools=[by_day]
    )

    with seeded_keys(1):
        await run(agent, "Read the log.", "ainvoke")
        await run(agent, question, "ainvoke")
    arguments = json.dumps({"day": "today"})
    result = FunctionExecutionResult(content=output, name="read_log", call_id="1", is_error=False)
    with seeded_keys(1):
        await context.add_message(UserMessage(content="Read the log.", source="user"))
        await context.get_messages()
        await context.add_message(
            AssistantMessage(content=[FunctionCall("1", arguments, "read_log")], source="a")
        )
        await context.add_message(FunctionExecutionResultMessage(content=[result]))
        await context.get_messages()
        await context.add_message(AssistantMessage(content="Read.", source="a"))
        await context.add_message(UserMessage(content=question, source="user"))

    theirs = [m.content[0].content if isinstance(m, FunctionExecutionResultMessage) else m.content
              for m in await context.get_messages()]  # fmt: skip
    ours = [message.content for message in model.prompts[-1]]
    assert [text for text in theirs if isinstance(text, str)] == [text for text in ours if text]
    assert (len(theirs), 5 if output == "short" else 6) == (len(ours), len(ours))


@tool("read_log")
def by_day(day: str) -> str:
    """Read the log of a day."""
    return LOG if day else ""


class Failing(SQLAlchemyStore):
    """A store whose database is gone."""

    def put(self, *_: Any, **__: Any) -> Any:
        """Fail."""
        raise StoreError


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_failing_store_leaves_the_text(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """If the store fails, the whole text stays, the run goes on, and it is logged and counted."""
    middleware = MemoryContextMiddleware(Failing("sqlite://"), user_id="42")
    agent, _ = agent_of([[call("read_log")], "Read."], middleware)

    assert LOG == result_in(await run(agent, "Read the log.", how)).content
    assert middleware.stats().store_failures > 0
    assert "the agent goes on" in caplog.text


async def test_failing_tool() -> None:
    """A tool's error passes through; as a message, made by a middleware further inside, its large text is folded."""

    @tool
    def broken() -> str:
        """Fail at length."""
        raise RuntimeError(LOG)

    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, _ = agent_of([[call("broken")], "Oh."], middleware, tools=[broken])
    with pytest.raises(RuntimeError):
        await run(agent, "Go.")

    inner = ToolErrorMiddleware(lambda error, _: str(error))
    agent, _ = agent_of([[call("broken")], "Oh."], middleware, inner, tools=[broken])
    result = result_in(await run(agent, "Go."), "broken")
    assert ("error", 1) == (result.status, len(MemoryRef.find_all(str(result.content))))


async def test_content_blocks_and_commands() -> None:
    """Text blocks side by side are folded as one, other blocks stay; so do a Command's other updates and its goto."""
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}

    @tool
    def blocks() -> list[Any]:
        """Give blocks."""
        return [
            {"type": "text", "text": LOG},
            {"type": "text", "text": "tail"},
            image,
            {"type": "text", "text": "end"},
        ]

    @tool
    def command(runtime: ToolRuntime) -> Command[Any]:
        """Give a command."""
        return Command(
            update={
                "messages": [ToolMessage(LOG, tool_call_id=runtime.tool_call_id, name="command")]
            }
        )

    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    script = [[call("blocks"), call("command", "2")], "Done."]
    agent, _ = agent_of(script, middleware, tools=[blocks, command])
    messages = await run(agent, "Go.", "ainvoke")

    first, second, last = cast("list[Any]", result_in(messages, "blocks").content)
    assert (image, {"type": "text", "text": "end"}) == (second, last)
    [ref] = MemoryRef.find_all(first["text"])
    manager = MemoryManager(middleware._hosted.store, user_id="42")  # noqa: SLF001
    assert f"{LOG}\ntail" == manager.retrieve(ref.key)
    [ref] = MemoryRef.find_all(str(result_in(messages, "command").content))
    assert LOG == manager.retrieve(ref.key)


@pytest.mark.parametrize("setting", ["keep", "store"])
async def test_artifacts(setting: Any) -> None:
    """Artifacts stay as they are, or, if large, leave a key behind that gives them back; small ones always stay."""
    table = [{"row": number, "value": number * number} for number in range(2000)]

    @tool(response_format="content_and_artifact")
    def query(large: bool) -> tuple[str, Any]:
        """Give a table."""
        return "2,000 rows", table if large else {"rows": 0}

    middleware = MemoryContextMiddleware(
        store_of(), user_id="42", fold=FoldPolicy(artifacts=setting)
    )
    script = [[call("query", large=True)], [call("query", "2", large=False)], "Done."]
    agent, _ = agent_of(script, middleware, tools=[query])
    first, second = [one for one in await run(agent, "Go.") if isinstance(one, ToolMessage)]

    assert {"rows": 0} == second.artifact
    if setting == "keep":
        assert table == first.artifact
    else:
        stored = MemoryManager(middleware._hosted.store, user_id="42").retrieve(  # noqa: SLF001
            first.artifact["memory_key"]
        )
        assert table == json.loads(stored)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_pass_by_reference(how: str) -> None:
    """A reference as an argument is the whole text for the tool; the state keeps the reference."""
    middleware = MemoryContextMiddleware(store_of(), user_id="42")

    def pass_it(prompt: list[BaseMessage]) -> list[Any]:
        ref = MemoryRef.find_all(str(result_in(prompt).content))[0]
        return [
            call("measure", "2", text=str(ref)),
            call("measure", "3", text="[MemoryRef: nothing]"),
        ]

    agent, _ = agent_of([[call("read_log")], pass_it, "Done."], middleware)
    messages = await run(agent, "Measure the log.", how)

    good, bad = [one for one in messages if isinstance(one, ToolMessage)][1:]
    assert f"{len(LOG)} characters" == good.content
    assert "error" == bad.status
    assert "was not called" in str(bad.content)
    assert not any(LOG in str(message) for message in messages)


async def test_secrets_are_not_passed() -> None:
    """A secret's text reaches only the tools that are listed."""
    store = store_of()
    MemoryManager(store, user_id="42").store("hunter2", "password", "secret", key="password")
    for listed, said in (([], "is a secret"), (["measure"], "7 characters")):
        middleware = MemoryContextMiddleware(
            store, user_id="42", pass_by_reference=PassingPolicy(secrets_for=listed)
        )
        script = [
            [call("search_memory", query="password")],
            [call("measure", "2", text="[MemoryRef: password]")],
            ".",
        ]
        agent, _ = agent_of(script, middleware)
        assert said in str(result_in(await run(agent, "Go."), "measure").content)


@for_each("how", ["invoke", "ainvoke"])
async def test_an_invalid_call_is_quoted_as_the_model_wrote_it(how: str) -> None:
    """The error about an invalid argument quotes the references in the call, not the texts that they stand for."""

    @tool
    def login(password: str, port: int) -> str:
        """Log in."""
        return f"{password}:{port}"

    store = store_of()
    MemoryManager(store, user_id="42").store("hunter2", "password", "secret", key="password")
    policy = PassingPolicy(secrets_for=["login"])
    middleware = MemoryContextMiddleware(store, user_id="42", pass_by_reference=policy)
    wrong = [call("login", password="[MemoryRef: password]", port="https")]
    model, saver = ScriptedChatModel([wrong, "."]), InMemorySaver()
    agent: Any = create_agent(model, [login], middleware=[middleware], checkpointer=saver)
    messages = await run(agent, "Log in with [MemoryRef: password].", how)

    said = str(result_in(messages, "login").content)
    assert "'password': '[MemoryRef: password]', 'port': 'https'" in said
    assert "hunter2" not in said


@for_each("how", ["invoke", "ainvoke"])
async def test_an_error_of_a_tools_own_quotes_the_reference(how: str) -> None:
    """What a tool's own validator says about an argument quotes the reference, not the text that it stands for."""

    class Login(BaseModel):
        password: list[str]

        @field_validator("password")
        @classmethod
        def refused(cls, value: list[str]) -> list[str]:
            message = f"no password of ours: {value[0]}"
            raise ValueError(message)

    @tool(args_schema=Login)
    def login(password: list[str]) -> str:
        """Log in."""
        return password[0]

    store = store_of()
    MemoryManager(store, user_id="42").store("hunter2", "password", "secret", key="password")
    policy = PassingPolicy(secrets_for=["login"])
    middleware = MemoryContextMiddleware(store, user_id="42", pass_by_reference=policy)
    model = ScriptedChatModel([[call("login", password=["[MemoryRef: password]"])], "."])
    agent: Any = create_agent(model, [login], middleware=[middleware], checkpointer=InMemorySaver())
    messages = await run(agent, "Log in with [MemoryRef: password].", how)

    said = str(result_in(messages, "login").content)
    assert "no password of ours: [MemoryRef: password]" in said
    assert "hunter2" not in said


async def test_memory_tools_belong_to_the_run() -> None:
    """The agent's memory tools reach the memories of the run's user, by its context or its configuration."""

    @dataclass
    class Who:
        user_id: str

    store = store_of()
    for name in ("ann", "bob"):
        MemoryManager(store, user_id=name).store(f"a note of {name}'s", key="note")
    script = [[call("retrieve_memory", key="note")], "Done."] * 2
    agent, _ = agent_of(script, MemoryContextMiddleware(store), context_schema=Who)

    agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD, context=Who("ann"))
    config = {"configurable": {"thread_id": "u", "user_id": "bob"}}
    bobs = await run(agent, "Go.", "ainvoke", config)
    anns = agent.get_state(THREAD).values["messages"]

    assert "a note of ann's" in str(result_in(anns, "retrieve_memory").content)
    assert "a note of bob's" in str(result_in(bobs, "retrieve_memory").content)
    with pytest.raises(InvalidScopeError, match="no user is named"):
        agent.invoke({"messages": [HumanMessage("Go.")]}, {"configurable": {"thread_id": "v"}})


def test_the_user_is_told_by_a_callable_of_the_runtime() -> None:
    """One compiled agent serves many users, whose ids may be UUIDs; what a client says does not count then."""
    store = store_of()
    ann, bob = uuid4(), uuid4()
    users = {"t": ann, "u": bob}
    for user_id, words in ((ann, "a note of ann's"), (bob, "a note of bob's")):
        MemoryManager(store, user_id=user_id).store(words, "note", "note", key="note")
    script = [[call("retrieve_memory", key="note")], "ok"]
    middleware = MemoryContextMiddleware(
        store, user_id=lambda _: users.get(get_config()["configurable"]["thread_id"])
    )
    agent, _ = agent_of(script * 2, middleware)

    for thread, words in (("t", "a note of ann's"), ("u", "a note of bob's")):
        config = {"configurable": {"thread_id": thread, "user_id": "eve"}}
        agent.invoke({"messages": [HumanMessage("Go.")]}, config)
        held = agent.get_state(config).values["messages"]
        assert words in str(result_in(held, "retrieve_memory").content)
    with pytest.raises(InvalidScopeError, match="no user is named"):
        agent.invoke(
            {"messages": [HumanMessage("Go.")]},
            {"configurable": {"thread_id": "v", "user_id": "eve"}},
        )


@for_each("how", ["invoke", "ainvoke"])
async def test_who_is_signed_in_counts_before_what_a_client_says(how: str) -> None:
    """LangGraph's server tells whom its authentication has found; a request's own user_id is no other."""
    store = store_of()
    MemoryManager(store, user_id="ann").store("a note of ann's", "note", "note", key="note")
    script = [[call("retrieve_memory", key="note")], "ok"]
    agent, _ = agent_of(script, MemoryContextMiddleware(store))
    who = {"thread_id": "t", "langgraph_auth_user_id": "ann", "user_id": "eve"}
    held = await run(agent, "Go.", how, {"configurable": who})
    assert "a note of ann's" in str(result_in(held, "retrieve_memory").content)


async def test_records_tell_where_they_come_from() -> None:
    """A stored result has its thread, its agent, its tool and its arguments."""
    store = store_of()
    agent, _ = agent_of(
        [[call("read_log", "1", day="monday")], "."],
        MemoryContextMiddleware(store, user_id=42),
        tools=[by_day],
        name="ops",
    )
    await run(agent, "Go.", "ainvoke")

    [item] = MemoryManager(store, user_id="42").search("worker")
    assert ("t", "ops", "tool_output") == (item.thread_id, item.agent_id, item.memory_type)
    assert {
        "source": "read_log",
        "call_id": "1",
        "arguments": '{"day": "monday"}',
        "is_error": False,
    } == item.content_metadata


@pytest.mark.long
async def test_parallel_calls_each_have_their_reference() -> None:
    """Results of calls that ran side by side are folded one by one and keep their order."""

    @tool
    def read(number: int) -> str:
        """Read a log."""
        return LOG.replace("worker", f"job{number}")

    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    calls = [call("read", str(number), number=number) for number in range(6)]
    agent, _ = agent_of([calls, "Done."], middleware, tools=[read])
    results = [one for one in await run(agent, "Go.", "ainvoke") if isinstance(one, ToolMessage)]

    assert [str(number) for number in range(6)] == [one.tool_call_id for one in results]
    assert 6 == len({MemoryRef.find_all(str(one.content))[0].key for one in results})


async def test_persons_long_words_are_folded_before_a_model_sees_them() -> None:
    """A very long message of a person becomes a reference, in the prompt and in the state, under the same id."""
    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, model = agent_of(["Thank you."], middleware)
    words = f"Look at this:\n{LOG}\nWhat failed?"
    [question, _] = await run(agent, {"messages": [HumanMessage(words, id="mine")]}, "ainvoke")

    assert "mine" == question.id
    assert 1 == len(MemoryRef.find_all(str(question.content)))
    assert question.content == model.prompts[0][-1].content
    assert str(question.content).endswith(f"What failed?\n{ABOUT_REFERENCES}")


async def test_history_from_elsewhere_is_folded_once() -> None:
    """Messages that were there before the middleware are folded at its first model call, then stay."""
    history = [HumanMessage("Read it."), AIMessage("", tool_calls=[call("read_log", "1")]),
               ToolMessage(LOG, tool_call_id="1", name="read_log"), AIMessage("Read.")]  # fmt: skip
    agent, model = agent_of(
        ["At 02:20:34.", "Bye."], MemoryContextMiddleware(store_of(), user_id="42")
    )
    await run(agent, {"messages": [*history, HumanMessage(QUESTION)]})
    await run(agent, "Bye.")

    assert 1 == len(MemoryRef.find_all(str(result_in(model.prompts[0]).content)))
    assert ANSWER in str(model.prompts[0][-2].content)
    assert plain(model.prompts[0]) == plain(model.prompts[1])[: len(model.prompts[0])]


def test_redaction_sees_text_before_it_is_stored() -> None:
    """What a PIIMiddleware, given as `redact`, takes away is in no store, prompt or state."""
    pii = PIIMiddleware("email", apply_to_tool_results=True)

    @tool
    def people() -> str:
        """List people."""
        return "\n".join(
            f"{number}: person{number}@example.org, room {number}" for number in range(2000)
        )

    store = store_of()
    middleware = MemoryContextMiddleware(store, user_id="42", fold=FoldPolicy(redact=[pii]))
    agent, model = agent_of(
        [[call("people")], "Read.", "Room 77."], pii, middleware, tools=[people]
    )
    agent.invoke({"messages": [HumanMessage("Who is there?")]}, THREAD)
    agent.invoke({"messages": [HumanMessage("Who is in room 77?")]}, THREAD)

    items = MemoryManager(store, user_id="42").search("room")
    assert 1 == len(items)
    assert "@example.org" not in items[0].text + str(model.prompts) + str(
        agent.get_state(THREAD).values
    )
    assert "77: [REDACTED_EMAIL], room 77" in items[0].text
    assert "room 77" in str(model.prompts[-1][-2].content)
    with pytest.raises(InvalidArgumentError, match="apply_to_tool_results=True"):
        MemoryContextMiddleware(
            store, user_id="42", fold=FoldPolicy(redact=[PIIMiddleware("email")])
        )


def test_what_is_redacted_stays_so_without_a_thread() -> None:
    """A person's text that is redacted and not folded is shown to each model call as to the first."""
    policy = FoldPolicy(redact=[lambda text: text.replace("hunter2", "____")])
    model = ScriptedChatModel([[call("measure", text="x")], "Done."])
    middleware = MemoryContextMiddleware(store_of(), user_id="42", fold=policy)
    agent = create_agent(model, [measure], middleware=[middleware])
    agent.invoke({"messages": [HumanMessage("It is hunter2. " + "And so on. " * 400)]})

    first, second = model.prompts
    assert str(first[0].content).startswith("It is ____. ")
    assert first == second[: len(first)]


@pytest.mark.long
@for_each("redacts", [True, False])
def test_what_is_recalled_is_redacted_beside_pii_middleware(redacts: bool) -> None:
    """What others stored whole comes back without addresses where the middleware knows the redactor, and only there."""
    pii = PIIMiddleware("email", apply_to_tool_results=True)
    store = store_of()
    address = "person77@example.org"
    people = "\n".join(f"room {n} belongs to person{n}@example.org" for n in range(2000))
    memories = MemoryManager(store, user_id="42")
    memories.store(people, f"rooms of {address}", "tool_output", source="people", key="rooms")
    memories.store(f"The chief of room 77 is {address}", f"chief {address}", "note", key="chief")
    policy = FoldPolicy(redact=[pii] if redacts else [])
    memory = MemoryContextMiddleware(store, user_id="42", fold=policy)
    agent, model = agent_of(["Of a person."], pii, memory)

    agent.invoke(
        {"messages": [HumanMessage("[MemoryRef: rooms] Whose is room 77, and its chief?")]}, THREAD
    )

    assert "room 77 belongs to" in str(model.prompts[0])
    assert redacts == (address not in str(model.prompts[0]))


def test_what_a_light_model_reads_is_redacted() -> None:
    """A judge's offers and the parts that `ask_memory` reads are without what the policy takes away."""
    pii = PIIMiddleware("email", apply_to_tool_results=True)
    store, light = store_of(), ScriptedChatModel(["{}"] * 9)
    people = "\n".join(f"room {n} belongs to person{n}@example.org" for n in range(2000))
    memories = MemoryManager(store, user_id="42")
    memories.store(people, "rooms of person77@example.org", "tool_output", key="rooms")
    memory = MemoryContextMiddleware(
        store, user_id="42", fold=FoldPolicy(redact=[pii]), model=light
    )
    asking = [call("ask_memory", key="rooms", question="Whose is room 77?")]
    agent, _ = agent_of(["Read.", asking, "Done."], pii, memory)

    for text in ["See [MemoryRef: rooms] on room 5.", "And who of them came last?"]:
        agent.invoke({"messages": [HumanMessage(text)]}, THREAD)

    seen = str(light.prompts)
    assert "rooms of (REDACTED_EMAIL)" in seen
    assert "room 77 belongs to [REDACTED_EMAIL]" in seen
    assert "@example.org" not in seen


def test_interrupt_and_resume() -> None:
    """A call that waits for a person runs once, with the text in place of its reference, and its result is folded."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"echo": True})

    @tool
    def echo(text: str) -> str:
        """Say it again."""
        return text[::-1]

    def pass_it(prompt: list[BaseMessage]) -> list[Any]:
        return [call("echo", "2", text=str(MemoryRef.find_all(str(result_in(prompt).content))[0]))]

    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, _ = agent_of(
        [[call("read_log")], pass_it, "Done."], asks, middleware, tools=[read_log, echo]
    )
    assert "__interrupt__" in agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    [ref] = MemoryRef.find_all(
        str(result_in(agent.get_state(THREAD).values["messages"], "echo").content)
    )
    assert LOG[::-1] == MemoryManager(middleware._hosted.store, user_id="42").retrieve(ref.key)  # noqa: SLF001


@pytest.mark.parametrize("mode", first_quick(["per_call", "batched"]))
def test_a_person_edits_a_call(mode: Literal["batched", "per_call"]) -> None:
    """A person is asked about the reference that the model passes; a reference in the call that they edit is filled in."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"count": True}, interrupt_mode=mode)

    @tool
    def count(text: str, unit: str) -> str:
        """Count."""
        return f"{len(text)} {unit}"

    def counting(prompt: list[BaseMessage], unit: str = "words") -> dict[str, Any]:
        return {"text": str(MemoryRef.find_all(str(result_in(prompt).content))[0]), "unit": unit}

    agent, _ = agent_of(
        [[call("read_log")], lambda prompt: [call("count", "2", **counting(prompt))], "Done."],
        asks,
        MemoryContextMiddleware(store_of(), user_id="42"),
        tools=[read_log, count],
    )
    asked = agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)
    [interrupt] = asked["__interrupt__"]
    actions = interrupt.value.get("action_requests", [interrupt.value])
    assert [counting(asked["messages"])] == [action["args"] for action in actions]
    edited = {"name": "count", "args": counting(asked["messages"], "letters")}
    decision = {"type": "edit", "edited_action": edited}
    agent.invoke(
        Command(resume=decision if mode == "per_call" else {"decisions": [decision]}), THREAD
    )

    result = result_in(agent.get_state(THREAD).values["messages"], "count")
    assert str(result.content).endswith(f"{len(LOG)} letters")


@pytest.mark.long
async def test_beside_retries_and_summaries() -> None:
    """Retries fold once; after a summary the remaining references still redeem, and messages stay valid."""
    tries = list[int]()

    @tool
    def shaky() -> str:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return LOG

    store = store_of()
    retry = ToolRetryMiddleware(initial_delay=0, jitter=False)
    again = ModelRetryMiddleware(initial_delay=0, jitter=False)
    summary = SummarizationMiddleware(
        ScriptedChatModel(["They read a log."]), trigger=("messages", 4), keep=("messages", 2)
    )
    middleware = MemoryContextMiddleware(store, user_id="42")
    script = [[call("shaky")], OSError("busy"), "Read.", "At 02:20:34."]
    agent, model = agent_of(script, again, retry, summary, middleware, tools=[shaky])
    await run(agent, "Read the log.", "ainvoke")
    messages = await run(agent, QUESTION, "ainvoke")

    assert 1 == middleware.stats().folds
    assert "summary of the conversation" in str(messages[0].content)
    [key] = {
        ref.key
        for prompt in model.prompts
        for one in prompt
        for ref in MemoryRef.find_all(str(one.content))
    }
    assert LOG == MemoryManager(store, user_id="42").retrieve(key)


@pytest.mark.long
def test_context_editing_inside_keeps_recalls() -> None:
    """Clearing old results, put behind this middleware in the list, leaves the state's references as they are."""
    edits = ContextEditingMiddleware()
    middleware = MemoryContextMiddleware(store_of(), user_id="42")
    agent, model = agent_of([[call("read_log")], "Read.", "At 02:20:34."], middleware, edits)
    agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, THREAD)

    assert ANSWER in str(model.prompts[-1][-2].content)


@pytest.mark.long
@for_each("how", ["stream", "astream"])
@for_each("answer", ["text", "nonsense"])
async def test_judges_words_do_not_reach_the_stream(how: str, answer: str) -> None:
    """A judge's tokens are not streamed to the user; where it talks nonsense, nothing is clearly meant."""

    def verdict(prompt: list[BaseMessage]) -> str:
        key = str(prompt[-1].content).split("References")[1].split("\n")[1].split(" - ")[0]
        return json.dumps(
            {"intent": "concrete", "expand": [{"key": key, "lines": "500-502"}], "search": None}
        )

    script: list[Callable[..., Any] | str] = [
        verdict if answer == "text" else "I would open the log secretly."
    ]
    judge = ScriptedChatModel(script)
    middleware = MemoryContextMiddleware(
        store_of(), user_id="42", recall=RecallPolicy(judge=ChatModelJudge(judge))
    )
    agent, model = agent_of([[call("read_log")], "Read.", "At 02:20:34."], middleware)
    await run(agent, "Read the log.", how)
    given = {"messages": [HumanMessage(VAGUE)]}
    if how == "stream":
        streamed = [chunk for chunk, _ in agent.stream(given, THREAD, stream_mode="messages")]
    else:
        streamed = [
            chunk async for chunk, _ in agent.astream(given, THREAD, stream_mode="messages")
        ]

    assert 1 == len(judge.prompts)
    assert "At 02:20:34." == "".join(str(chunk.content) for chunk in streamed)
    recalled = str(model.prompts[-1][-2].content)
    assert (answer == "text") == ("worker-500 done" in recalled)
    facts = agent.get_state(THREAD).values["memory_context"]["MemoryContextMiddleware"]
    assert 1 == facts["note"]["facts"]["judge_calls"]
    assert 0 < facts["note"]["facts"]["judge_tokens"]


@pytest.mark.long
def test_two_instances() -> None:
    """Two instances with names of their own fold into their own stores; without names LangChain refuses them."""
    small, large = store_of(), store_of()
    first = MemoryContextMiddleware(
        large,
        user_id="42",
        name="rest",
        fold=FoldPolicy(tool_thresholds={"measure": None, "read_log": None}),
    )
    second = MemoryContextMiddleware(
        small,
        user_id="42",
        tools=False,
        name="logs",
        fold=FoldPolicy(tool_thresholds={"measure": 50}),
    )
    agent, _ = agent_of([[call("read_log")], "Read.", "At."], first, second)
    agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, THREAD)

    assert (0, 1) == (
        len(MemoryManager(large, user_id="42").search("")),
        len(MemoryManager(small, user_id="42").search("")),
    )
    assert {"rest", "logs"} == agent.get_state(THREAD).values["memory_context"].keys()
    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent_of([], *(MemoryContextMiddleware(store, user_id="42") for store in (small, large)))


def test_other_tools_under_the_same_name_are_refused() -> None:
    """LangChain would let one replace the other without a word."""

    @tool
    def retrieve_memory(key: str) -> str:
        """Something else."""
        return key

    ann = MemoryContextMiddleware(store := store_of(), user_id="ann")
    bob = MemoryContextMiddleware(store, user_id="bob", name="bob")
    others = memory_tools(MemoryManager(store, user_id="bob"))
    refused = "rename your tool, or set tools=False for all middlewares but one"
    for agent, _ in (
        agent_of(["."], ann, tools=[retrieve_memory]),
        agent_of(["."], ann, tools=others),
        agent_of(["."], ann, bob),
    ):
        with pytest.raises(InvalidArgumentError, match=refused):
            agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)

    agent, _ = agent_of(["."], ann, tools=ann.tools)
    assert "." == agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)["messages"][-1].content


def test_sub_agents() -> None:
    """A sub-agent with the same middleware folds for the same user; its result is folded for its caller too."""
    middleware = MemoryContextMiddleware(store := store_of())
    worker = create_agent(
        ScriptedChatModel([[call("read_log")], LOG]), [read_log], middleware=[middleware]
    )

    @tool
    def delegate(task: str) -> str:
        """Let a worker do it."""
        return str(worker.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

    agent, _ = agent_of([[call("delegate", task="Read.")], "Done."], middleware, tools=[delegate])
    config = {"configurable": {"thread_id": "t", "user_id": "42"}}
    agent.invoke({"messages": [HumanMessage("Go.")]}, config)

    assert 1 == len(
        MemoryRef.find_all(
            str(result_in(agent.get_state(config).values["messages"], "delegate").content)
        )
    )
    assert 1 == len(MemoryManager(store, user_id="42").search("worker"))


async def test_what_a_person_gets_directly_is_whole() -> None:
    """A tool with return_direct ends the run with its whole text; before the next model call it is folded."""

    @tool(return_direct=True)
    def show_log() -> str:
        """Show the log to the person."""
        return LOG

    agent, model = agent_of(
        [[call("show_log")], "Bye."],
        MemoryContextMiddleware(store_of(), user_id="42"),
        tools=[show_log],
    )
    assert LOG == (await run(agent, "Show me the log.", "ainvoke"))[-1].content
    messages = await run(agent, "Bye.", "ainvoke")

    assert LOG not in str(model.prompts[-1])
    assert 1 == len(MemoryRef.find_all(str(result_in(messages, "show_log").content)))


def test_callers_objects_stay_as_they_are() -> None:
    """Neither the messages that the caller gives nor those that a tool returns are changed."""
    given = HumanMessage(LOG, id="mine")
    result = ToolMessage(LOG, tool_call_id="1", name="command")

    @tool
    def command() -> Command[Any]:
        """Give a command."""
        return Command(update={"messages": [result]})

    agent, _ = agent_of(
        [[call("command", "1")], "."],
        MemoryContextMiddleware(store_of(), user_id="42"),
        tools=[command],
    )
    agent.invoke({"messages": [given]}, THREAD)

    assert (LOG, LOG, {}, {}) == (
        given.content,
        result.content,
        given.response_metadata,
        result.response_metadata,
    )


def test_private_state_is_private() -> None:
    """Neither the result of a run nor the schema of its input shows what the middleware knows."""
    agent, _ = agent_of(
        [[call("read_log")], "."], MemoryContextMiddleware(store_of(), user_id="42")
    )

    assert {"messages"} == agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD).keys()
    assert "memory_context" not in agent.get_input_jsonschema().get("properties", {})


@for_each(
    "settings, error",
    [
        ({"threshold": 10}, InvalidThresholdError),
        ({"threshold": 800, "fold": FoldPolicy()}, InvalidArgumentError),
        ({"fold": "later"}, InvalidArgumentError),
        ({"model": 4}, InvalidArgumentError),
        (
            {"model": ScriptedChatModel([]), "recall": RecallPolicy(judge=LexicalJudge())},
            InvalidArgumentError,
        ),
        ({"fold": FoldPolicy(redact=["x"])}, InvalidArgumentError),
        ({"user_id": ""}, InvalidScopeError),
        ({"tools": "x"}, InvalidArgumentError),
        ({"tools": [read_log]}, InvalidArgumentError),
    ],
)
def test_wrong_settings(settings: dict[str, Any], error: type[Exception]) -> None:
    """Settings of the wrong kind are refused at once."""
    with pytest.raises(error):
        MemoryContextMiddleware("sqlite://", **{"user_id": "42", **settings})


@pytest.mark.long
def test_judge_by_structured_output() -> None:
    """A model that binds a schema answers by it, and what it says of its cost is counted."""
    answer = {
        "intent": "concrete",
        "expand": [{"key": "KEY", "query": None, "lines": "900-901"}],
        "search": None,
    }

    def verdict(prompt: list[BaseMessage]) -> AIMessage:
        key = str(prompt[-1].content).split("References")[1].split("\n")[1].split(" - ")[0]
        arguments = json.loads(json.dumps(answer).replace("KEY", key))
        usage = {"input_tokens": 70, "output_tokens": 7, "total_tokens": 77}
        return AIMessage("", tool_calls=[call("JudgeAnswer", **arguments)], usage_metadata=usage)

    middleware = MemoryContextMiddleware(
        store_of(), user_id="42", model=ScriptedChatModel([verdict])
    )
    agent, model = agent_of([[call("read_log")], "Read.", "At 02:20:34."], middleware)
    agent.invoke({"messages": [HumanMessage("Read the log.")]}, THREAD)
    agent.invoke({"messages": [HumanMessage("What about it?")]}, THREAD)

    assert "worker-900 done" in str(model.prompts[-1][-2].content)
    assert (
        77
        == agent.get_state(THREAD).values["memory_context"]["MemoryContextMiddleware"]["note"][
            "facts"
        ]["judge_tokens"]
    )


@pytest.mark.long
async def test_tokens_are_never_counted_by_a_provider() -> None:
    """Neither agent's nor judge's model is asked how many tokens something has."""

    class Strict(ScriptedChatModel):
        def get_num_tokens(self, text: str) -> int:
            raise AssertionError(text[:80])

        def get_token_ids(self, text: str) -> list[int]:
            raise AssertionError(text[:80])

    judge, model = Strict(), Strict()
    judge.script, model.script = ["{}", "{}"], [[call("read_log")], "Read."]
    middleware = MemoryContextMiddleware(store_of(), user_id="42", model=judge)
    agent = create_agent(model, [read_log], middleware=[middleware])
    await agent.ainvoke({"messages": [HumanMessage("Read the log.")]})

    assert 1 == middleware.stats().folds


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_judges_words_do_not_reach_the_new_stream() -> None:
    """LangGraph's third streaming protocol shows the agent's messages alone, too."""
    judge = ScriptedChatModel(["I would open the log secretly."])
    middleware = MemoryContextMiddleware(
        store_of(), user_id="42", recall=RecallPolicy(judge=ChatModelJudge(judge))
    )
    agent, _ = agent_of([[call("read_log")], "Read.", "At 02:20:34."], middleware)
    agent.invoke({"messages": [HumanMessage("Read the log.")]}, THREAD)
    run = agent.stream_events({"messages": [HumanMessage(VAGUE)]}, THREAD, version="v3")

    assert ["At 02:20:34."] == [str(message.text) for message in run.messages]
    assert 1 == len(judge.prompts)


def calls_in(work: Callable[[], object]) -> int:
    """Return how many calls of the library's own functions *work* makes in this thread."""
    calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and "memory_context" in frame.f_code.co_filename

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def opened_conversation() -> Conversation:
    """Return a conversation in an empty store."""
    manager = MemoryManager(store_of(), user_id="42")
    settings = ConversationSettings()
    return Conversation(manager, settings, FailOpen(ContextStats()), settings.new_cache(manager))


def seen_turns(turns: int) -> list[AnyMessage]:
    """Return a conversation with a small and a folded result in each turn."""
    messages = list[AnyMessage]()
    for turn in range(turns):
        key = f"read_log_{turn}"
        note = {"message": {"lines": {key: [[1, 9]]}, "folded": [0], "trusted": [key]}}
        messages += [
            HumanMessage(f"Look at day {turn}.", id=f"question{turn}"),
            AIMessage("", tool_calls=[call("read_log", f"call{turn}")], id=f"call{turn}"),
            ToolMessage("ok", tool_call_id=f"call{turn}", name="look", id=f"small{turn}"),
            ToolMessage(
                f"[MemoryRef: {key} - a log - 900 tokens]\nline 1",
                tool_call_id=f"call{turn}",
                name="read_log",
                id=f"folded{turn}",
                response_metadata={"memory_context": note},
            ),
        ]
    return messages


def calls_behind(turns: int) -> int:
    """Return how many calls of functions it takes to decide about *turns* that a model has seen."""
    messages = seen_turns(turns)
    conversation = opened_conversation()

    def decide() -> None:
        carried = carried_by(messages, None, "memory", "", "42")
        shown = carried.messages
        prompt = conversation.folder.take_in_all(shown, len(shown))
        model_call(shown, prompt, conversation.cache.ledger)
        edits_between(carried.held, prompt)

    decide()
    return calls_in(decide)


def test_a_message_that_was_seen_takes_few_calls() -> None:
    """A turn of four messages that a model has seen costs a model call less than a hundred calls of functions."""
    assert calls_behind(50) - calls_behind(25) < 25 * 100


def test_what_was_seen_stays_the_same_object() -> None:
    """A seen message stays the same object, with its facts or without any, so that nothing is derived from it anew."""
    carried = carried_by(seen_turns(2), None, "memory", "", "42")
    prompt = opened_conversation().folder.take_in_all(carried.held, len(carried.held))
    assert [one is held for one, held in zip(prompt, carried.held, strict=True)] == [True] * 8


def test_a_result_after_one_that_was_seen_is_folded() -> None:
    """A large result is folded as it arrives, also right after another result of the same turn that a model has seen."""
    seen = Message("1", "tool", "read_log", {0: "ok"}, answers="a")
    new = Message("2", "tool", "read_log", {0: LOG}, answers="b")
    prompt = opened_conversation().folder.take_in_all([seen, new], 1)
    assert [bool(one.known.folded) for one in prompt] == [False, True]
