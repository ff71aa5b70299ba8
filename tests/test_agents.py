"""Real AutoGen agents and teams with a MemoryContext; only the model is scripted, and every prompt is checked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import ToolCallExecutionEvent, ToolCallSummaryMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken, FunctionCall
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.models import (
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai._openai_client import convert_tools

from for_each import for_each
from memory_context import (
    MEMORY_INSTRUCTIONS,
    FoldPolicy,
    MemoryContext,
    MemoryRef,
    RecallPolicy,
)
from memory_context.conversation.recall.limits_on_a_judge import JudgeLimits
from memory_context.conversation.retrieved_lines import lines_shown
from memory_context.testing import ScriptedChatClient, check_prompt
from messages import LOG


def run_job(job: str) -> str:
    """Run a job and return its log."""
    return f"job {job}\n{LOG}"


def count_workers() -> dict[str, object]:
    """Count workers."""
    return {"workers": [{"id": i, "state": "idle", "note": None} for i in range(300)]}


class Slow(ScriptedChatClient):
    """A model that never answers in time."""

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """Nothing, for a long time."""
        await asyncio.sleep(60)
        return await super().create(messages)


def _judge(reply: Any, **limits: Any) -> dict[str, Any]:
    recall = RecallPolicy(judge_limits=JudgeLimits(**limits))
    return {"model_client": ScriptedChatClient([reply] * 20), "recall": recall}


def _down(_messages: Sequence[LLMMessage]) -> str:
    message = "connection refused"
    raise OSError(message)


STEAL = json.dumps(
    {"expand": [{"key": f"k{i}", "lines": "1-"} for i in range(10_000)], "search": "bob's secrets"}
)
JUDGES: dict[str, Callable[[], dict[str, Any]]] = {
    "words": dict,
    "slow": lambda: {
        "model_client": Slow([]),
        "recall": RecallPolicy(judge_limits=JudgeLimits(seconds=0.01)),
    },
    "down": lambda: _judge(_down),
    "wrong": lambda: _judge("I would open everything, of course."),
    "huge": lambda: _judge("x" * 1_000_000),
    "malicious": lambda: _judge(STEAL),
    "broke": lambda: _judge("{}", calls=0),
}


# Words, and the worst that a model may say, before a commit; the others in the long suite.
@pytest.fixture(
    params=[
        judge if judge in {"words", "malicious"} else pytest.param(judge, marks=pytest.mark.long)
        for judge in JUDGES
    ]
)
def judged(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Who decides what comes back: words, or a model that is no help in one way or another."""
    return JUDGES[request.param]()


TOOLS = [FunctionTool(run_job, "Run a job."), FunctionTool(count_workers, "Count workers.")]


def calls(name: str, number: int = 1, **arguments: object) -> FunctionCall:
    """A call of a tool."""
    return FunctionCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def first_key(messages: Sequence[LLMMessage]) -> str:
    """The key of the first reference in a tool's result."""
    contents = (
        r.content
        for m in messages
        if isinstance(m, FunctionExecutionResultMessage)
        for r in m.content
    )
    return next(ref.key for content in contents for ref in MemoryRef.find_all(content))


def agent(
    client: ScriptedChatClient, context: MemoryContext, name: str = "coder", **settings: object
) -> AssistantAgent:
    """An agent with our tools and memory's."""
    return AssistantAgent(
        name,
        model_client=client,
        tools=[*TOOLS, *context.tools()],
        model_context=context,
        system_message=MEMORY_INSTRUCTIONS,
        **{"max_tool_iterations": 10, **settings},  # type: ignore[arg-type] # settings of AssistantAgent's
    )


def last_text(result: TaskResult) -> str:
    """What the agent said last."""
    return str(result.messages[-1].content)  # type: ignore[union-attr] # every message of these runs has a content


def prefixes_hold(client: ScriptedChatClient) -> bool:
    """Whether each prompt begins with the one before it."""
    return all(
        before == after[: len(before)]
        for before, after in zip(client.prompts, client.prompts[1:], strict=False)
    )


async def test_fold_read_and_recall(judged: dict[str, Any]) -> None:
    """An agent calls tools, sees references, reads by lines, and gets what a later question needs."""
    context = MemoryContext("ann", store="sqlite://", **judged)
    client = ScriptedChatClient(
        [
            [calls("run_job", 1, job="a"), calls("count_workers", 2)],
            lambda messages: [calls("retrieve_memory", 3, key=first_key(messages), lines="2-3")],
            "two jobs were read",
            lambda messages: f"I see {messages[-2].content}",
        ]
    )
    coder = agent(client, context)

    first = await coder.run(task="Run job a.")
    second = await coder.run(task="What became of worker-123?")

    assert "two jobs were read" == last_text(first)
    assert LOG.split("\n")[123] in last_text(second)
    assert prefixes_hold(client)
    answer = client.prompts[2][-1]
    assert isinstance(answer, FunctionExecutionResultMessage)
    assert "\n".join(LOG.split("\n")[:2]) in answer.content[0].content
    assert (2, 1) == (context.stats().folds, context.stats().recalls)


async def test_events_show_the_full_text(judged: dict[str, Any]) -> None:
    """What a user interface shows is the tool's full output; only the model's prompt is smaller."""
    context = MemoryContext("ann", store="sqlite://", **judged)
    coder = agent(ScriptedChatClient([[calls("run_job", job="a")]]), context, max_tool_iterations=1)

    result = await coder.run(task="Run job a.")

    [event] = [
        message for message in result.messages if isinstance(message, ToolCallExecutionEvent)
    ]
    summary = result.messages[-1]
    assert run_job("a") == event.content[0].content
    assert isinstance(summary, ToolCallSummaryMessage)
    assert run_job("a") == summary.content
    assert (await context.get_messages())[-1].content[0].content.startswith("[MemoryRef: run_job_")  # type: ignore[union-attr]


async def test_reflection_and_streaming(judged: dict[str, Any]) -> None:
    """Reflection and streaming work as with AutoGen's own contexts."""
    context = MemoryContext("ann", store="sqlite://", **judged)
    client = ScriptedChatClient([[calls("run_job", job="a")], "the log is long"])
    coder = agent(
        client, context, reflect_on_tool_use=True, model_client_stream=True, max_tool_iterations=1
    )

    assert "the log is long" == last_text(await coder.run(task="Run job a."))


async def test_retrieved_text_is_not_folded_again(judged: dict[str, Any]) -> None:
    """What retrieve_memory returns reaches the model as it is, page by page, each of `page_tokens` at most."""
    policy = FoldPolicy(threshold=300, page_tokens=500)
    context = MemoryContext("ann", store="sqlite://", fold=policy, **judged)
    client = ScriptedChatClient(
        [
            [calls("run_job", 1, job="a")],
            lambda messages: [calls("retrieve_memory", 2, key=first_key(messages))],
            lambda messages: [
                calls(
                    "retrieve_memory", 3, key=first_key(messages), offset=int(_offset(messages[-1]))
                )
            ],
            "read",
        ]
    )
    await agent(client, context).run(task="Run job a.")

    pages = [
        m.content[0].content
        for m in client.prompts[-1]
        if isinstance(m, FunctionExecutionResultMessage)
    ][1:]
    texts = [page.split("\n", 2)[2].rsplit("\n", 1)[0] for page in pages]
    assert run_job("a").startswith("\n".join(texts))
    assert all(0 < context._manager.counter.count(page) <= 500 for page in pages)  # noqa: SLF001 - to count as it counts
    assert 1 == context.stats().folds


def _offset(message: LLMMessage) -> str:
    assert isinstance(message, FunctionExecutionResultMessage)
    return message.content[0].content.rpartition("offset=")[2].rstrip(")")


async def test_tools_tell_what_to_do_next(judged: dict[str, Any]) -> None:
    """A wrong key, wrong lines and a deleted memory are answered with what to do, and the run goes on."""
    context = MemoryContext("ann", store="sqlite://", **judged)
    gone = await context.store("old", "an old text")
    kept = await context.store("new\n" * 10, "a new text")
    await context.forget(gone, reason="asked to")
    client = ScriptedChatClient(
        [
            [
                calls("retrieve_memory", 1, key="nothing"),
                calls("retrieve_memory", 2, key="no key!"),
            ],
            [
                calls("retrieve_memory", 3, key=gone),
                calls("retrieve_memory", 4, key=kept, lines="90-99"),
            ],
            [
                calls("search_memory", 5, query="zebra"),
                calls("store_memory", 6, content="x is 1", description="x"),
            ],
            "done",
        ]
    )
    await agent(client, context).run(task="Read them.")

    answers = [
        r
        for m in client.prompts[-1]
        if isinstance(m, FunctionExecutionResultMessage)
        for r in m.content
    ]
    assert [True, True, True, True, False, False] == [bool(answer.is_error) for answer in answers]
    for answer, expected in zip(
        answers,
        [
            "Call search_memory",
            "some_key in [MemoryRef: some_key",
            "(asked to). Run the command that made it again",
            "which has lines 1 to 10",
            "Try other words",
            "Kept as [MemoryRef: note_",
        ],
        strict=True,
    ):
        assert expected in answer.content


async def test_agent_round_trip(sqlite_url: str) -> None:
    """An agent with the context and its tools is dumped, loaded, and goes on from its saved state."""
    context = MemoryContext("ann", store=sqlite_url)
    key = await context.store(LOG, "a log")
    script: list[str | list[FunctionCall]] = [[calls("retrieve_memory", key=key)], "read"]
    original = AssistantAgent(
        "coder",
        model_client=ScriptedChatClient(script),
        tools=[*context.tools()],
        model_context=context,
        max_tool_iterations=5,
    )
    loaded = AssistantAgent.load_component(json.loads(original.dump_component().model_dump_json()))

    result = await loaded.run(task="Read it.")

    assert original.dump_component() == loaded.dump_component()
    assert isinstance(loaded.model_context, MemoryContext)
    assert "read" == last_text(result)
    assert LOG.split("\n")[0] in result.messages[2].model_dump_json()


async def test_agent_state(sqlite_url: str) -> None:
    """A new agent that loads a saved state has the same messages, and opens the same references."""
    context, other = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
    await agent(ScriptedChatClient([[calls("run_job", job="a")], "done"]), context).run(
        task="Run job a."
    )
    saved = agent(ScriptedChatClient([]), context)
    state = json.loads(json.dumps(await saved.save_state()))

    client = ScriptedChatClient(
        [lambda messages: [calls("retrieve_memory", 9, key=first_key(messages))], "read"]
    )
    loaded = agent(client, other)
    await loaded.load_state(state)
    assert await context.get_messages() == await other.get_messages()
    result = await loaded.run(task="Read it.")

    assert "read" == last_text(result)
    await loaded.on_reset(None)  # type: ignore[arg-type] # the token is not used
    assert [] == await other.get_messages()


async def test_loaded_tool_reads(sqlite_url: str) -> None:
    """A memory tool that was dumped and loaded reads the same memories."""
    from memory_context.autogen import RetrieveMemoryTool  # noqa: PLC0415

    context = MemoryContext("ann", store=sqlite_url)
    key = await context.store("the text")
    tool = RetrieveMemoryTool.load_component(
        json.loads(context.tools()[0].dump_component().model_dump_json())
    )

    assert "the text" in await tool.run_json({"key": key}, CancellationToken())


async def test_memory_and_context(judged: dict[str, Any]) -> None:
    """AutoGen's memories, which read the last message and add a system message, work with the context."""
    context = MemoryContext("ann", store="sqlite://", **judged)
    facts = ListMemory()
    await facts.add(MemoryContent(content="likes short answers", mime_type="text/plain"))
    client = ScriptedChatClient([lambda messages: str(len(messages))])
    coder = AssistantAgent(
        "coder", model_client=client, model_context=context, memory=[facts], system_message=None
    )

    with pytest.raises(AssertionError, match="system message after others"):
        await coder.run(task="hello")

    [task, memory] = await context.get_messages()
    assert isinstance(task, UserMessage)
    assert isinstance(memory, SystemMessage)


async def test_team_broadcast_folds_to_the_same_key(sqlite_url: str) -> None:
    """In a team another agent's full output arrives as a user message, and folds to the same key."""
    runner_context, reader_context = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
    runner = agent(
        ScriptedChatClient([[calls("run_job", job="a")]]),
        runner_context,
        "runner",
        max_tool_iterations=1,
    )
    reader = agent(ScriptedChatClient(["read"]), reader_context, "reader")
    team = RoundRobinGroupChat([runner, reader], max_turns=2)

    await team.run(task="Run job a.")
    state = json.loads(json.dumps(await team.save_state()))

    keys = [
        {
            ref.key
            for message in await context.get_messages()
            for ref in MemoryRef.find_all(message.model_dump_json())
        }
        for context in (runner_context, reader_context)
    ]
    assert keys[0] == keys[1]
    assert 1 == len(keys[0])
    assert 1 == len(await runner_context.search(""))
    for context in (runner_context, reader_context):
        check_prompt(await context.get_messages())
    await team.reset()
    assert [] == await reader_context.get_messages()
    await team.load_state(state)
    assert 1 == len(MemoryRef.find_all((await reader_context.get_messages())[1].model_dump_json()))


@for_each(
    "arguments",
    [
        {"key": "[MemoryRef: KEY]", "lines": "2-3"},
        {"key": "[MemoryRef: KEY - a log - 9 tokens]", "lines": [2, 3]},
        {"key": "[MemoryRef: KEY - a log]", "lines": "2-3"},
        {"key": "[MemoryRef: KEY - a lo…", "lines": "2-3"},
        {"key": "MemoryRef: KEY - a log", "lines": "2-3"},
        {"key": "`KEY`", "lines": "lines 2 to 3"},
        {"key": '"KEY"', "lines": "L2-L3"},
        {"key": " KEY ", "lines": "2\u20133", "offset": None},
        {"key": "KEY", "lines": "2:3", "offset": -1},
    ],
)
async def test_arguments_as_models_write_them(arguments: dict[str, Any]) -> None:
    """References as keys, whole or cut, and lists and words for lines are understood."""
    context = MemoryContext("ann", store="sqlite://")
    key = await context.store("one\ntwo\nthree\nfour", "a log")
    tool = context.tools()[0]

    answer = await tool.run_json(
        {**arguments, "key": arguments["key"].replace("KEY", key)}, CancellationToken()
    )

    assert "lines 2-3 of 4" in answer
    assert "two\nthree" in answer


@for_each(
    "index, arguments, expected",
    [
        (0, {}, "The argument key is missing. Call the tool again with it"),
        (0, {"key": 5}, "The argument key is wrong"),
        (0, {"memory": "x"}, "There is no argument 'memory'. .* with key in its place"),
        (1, {"query": 5}, "The argument query is wrong"),
        (2, {}, "The argument content is missing"),
    ],
)
async def test_arguments_of_no_use(index: int, arguments: dict[str, Any], expected: str) -> None:
    """Arguments that mean nothing are named, with what to do, and without a library's address."""
    tool = MemoryContext("ann", store="sqlite://").tools()[index]

    with pytest.raises(Exception, match=expected) as caught:
        await tool.run_json(arguments, CancellationToken())

    assert "Call the tool again" in str(caught.value)
    assert "http" not in str(caught.value)


async def test_generous_arguments() -> None:
    """Too many hits, a missing description and a dict as content are no mistakes."""
    retrieve, search, store = MemoryContext("ann", store="sqlite://").tools()

    assert "Kept as [MemoryRef: note_" in await store.run_json(
        {"content": {"a": 1}}, CancellationToken()
    )
    assert "[MemoryRef: note_" in await search.run_json(
        {"query": "", "limit": 500}, CancellationToken()
    )
    assert "retrieve_memory" == retrieve.name


async def test_a_store_that_fails_tells_no_address() -> None:
    """What a model reads of a database that is down has neither its address nor its user."""
    context = MemoryContext("ann", store="postgresql://eve:hidden@127.0.0.1:1/shop?password=other")
    assert "other" not in repr(context.manager.memory_store)

    with pytest.raises(Exception, match="cannot be reached") as caught:
        await context.tools()[0].run_json({"key": "k"}, CancellationToken())

    assert not any(word in str(caught.value) for word in ("127.0.0.1", "eve", "hidden", "other"))


TABLE = json.dumps([{"id": i, "name": f"n{i}", "total": i * 2} for i in range(300)])


@for_each(
    "arguments, expected",
    [
        ({"contains": "N299"}, "matching lines 1-1 of 1, in 1 lines\n1: "),
        ({"pattern": "n29\\d", "context": 1}, "matching lines 1-1 of 1"),
        ({"path": "$[7].name"}, 'matches 1-1 of 1\n"n7"\nThis was the last page.'),
        ({"where": "total > 596", "columns": "id"}, "\nid\n299\n"),
        ({"columns": ["id", "name"]}, "\nid,name\n0,n0\n"),
        ({"query": "n299"}, "chosen for the query"),
        ({"query": "nosuchword"}, "of 1, none of these matches the query"),
        (
            {
                "where": "",
                "contains": "",
                "path": None,
                "lines": "",
                "query": "",
                "offset": 0,
                "context": 3,
            },
            "lines 1-1 of 1, char",
        ),
        ({"lines": [1, 1]}, "lines 1-1 of 1, characters 0-"),
        ({"lines": ["1", "1-1", "-1"]}, "lines 1-1 of 1, characters 0-"),
        ({"path": "$[0].nosuch"}, "the keys id, name, total"),
        ({"path": "$[*].id", "where": "1"}, "or query=, not path= and where="),
        ({"where": "nosuch = 1"}, "no such column: nosuch"),
    ],
)
async def test_parts_for_a_model(arguments: dict[str, Any], expected: str) -> None:
    """Every selector works as models write it, is answered within a page, and mistakes say what to do."""
    context = MemoryContext("ann", store="sqlite://")
    key = await context.store(TABLE)

    try:
        answer = await context.tools()[0].run_json({"key": key, **arguments}, CancellationToken())
    except Exception as error:  # noqa: BLE001 - the tool's own, in words for the model
        answer = str(error)

    assert expected in answer
    assert context.manager.counter.count(answer) <= 6000  # a last page and a half


def test_the_tool_stays_callable() -> None:
    """A schema is strict: every argument is to be given, has a plain type, and no default."""
    schema = MemoryContext("ann", store="sqlite://").tools()[0].schema
    parameters = schema["parameters"]

    assert list(parameters["properties"]) == list(parameters["required"])
    for name, argument in parameters["properties"].items():
        assert argument.keys() <= {"type", "description"}, name
        assert argument["type"] in ("string", "integer")


async def test_what_each_call_pays() -> None:
    """Schemas and instructions take 450 tokens at most, as AutoGen sends them, with the word on passing references."""
    context = MemoryContext("ann", store="sqlite://")
    sent = convert_tools(await context.workbench([]).list_tools())

    count = context.manager.counter.count
    assert count(json.dumps(sent)) + count(context.instructions) <= 450


@pytest.mark.long
@for_each(
    "tool, arguments, expected",
    [
        (
            "search_memory",
            {"query": "", "limit": 1, "tier": "detail", "until": "2999-01-01"},
            "kept",
        ),
        ("search_memory", {"query": "", "tags": "x", "category": "y"}, "Nothing"),
        ("store_memory", {"content": "new", "type": "decision"}, "decision_"),
        ("retrieve_memory", {"key": "kept", "contains": "b", "context": 1}, "1- a\n2: b\n3- c"),
    ],
)
async def test_what_the_schema_skips(
    tool: str, arguments: dict[str, object], expected: str
) -> None:
    """Arguments that models are not told of work."""
    context = MemoryContext("ann", store="sqlite://")
    context.manager.store("a\nb\nc", key="kept")
    [called] = [one for one in context.tools() if one.name == tool]

    assert expected in await called.run_json(arguments, CancellationToken())
    assert not arguments.keys() <= called.schema["parameters"]["properties"].keys()


async def test_lines_of_several_ranges_are_in_sight() -> None:
    """An answer with several ranges, and one for a question, tells recall which lines it shows."""
    context = MemoryContext("ann", store="sqlite://")
    key = await context.store("\n".join(f"line {i}" for i in range(900)))
    tool = context.tools()[0]

    async def seen(**arguments: str) -> list[tuple[int, int]]:
        answer = await tool.run_json({"key": key, **arguments}, CancellationToken())
        result = FunctionExecutionResult(content=answer, name="retrieve_memory", call_id="1")
        return [lines for _, lines in lines_shown(result.content)]

    assert [(1, 3), (7, 7), (899, 900)] == await seen(lines="1-3,7,-2")
    assert [] == await seen(contains="line 77")
    assert any(first <= 501 <= last for first, last in await seen(query="line 500"))
