"""Files of recordings: their forms are told apart by their shape, and what is none of them is named."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall as AutoGenCall
from autogen_core.model_context import UnboundedChatCompletionContext
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from memory_context import MemoryContext
from memory_context.conversation.message import FunctionCall, Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay import Recording, parse_recording, read_recordings, stream_recordings
from memory_context.testing import ScriptedChatClient
from messages import restored

EXPECTED = (
    Message("0", "system", "system", {0: "Be short."}),
    Message("1", "user", "user", {0: "Which job?"}),
    Message(
        "2",
        "assistant",
        "assistant",
        {0: "I look."},
        (FunctionCall("c1", "run", '{"host": "alpha"}'),),
    ),
    Message("3", "tool", "run", {0: "job-4711"}, answers="c1"),
    Message("4", "assistant", "assistant", {0: "It is job-4711."}),
)

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": [{"type": "text", "text": "Which job?"}]},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "run", "arguments": '{"host": "alpha"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "job-4711"},
    {"role": "assistant", "content": "It is job-4711.", "refusal": None},
]

KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("system", "SystemMessage", {"content": "Be short."}),
    ("human", "HumanMessage", {"content": "Which job?"}),
    (
        "ai",
        "AIMessage",
        {
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "run", "input": {"host": "alpha"}},
            ],
            "tool_calls": [
                {"name": "run", "args": {"host": "alpha"}, "id": "c1", "type": "tool_call"}
            ],
            "invalid_tool_calls": [],
        },
    ),
    ("tool", "ToolMessage", {"content": "job-4711", "tool_call_id": "c1", "status": "success"}),
    ("remove", "RemoveMessage", {"content": "", "id": "m1"}),
    ("ai", "AIMessageChunk", {"content": "It is job-4711.", "tool_call_chunks": []}),
]


def fields(kind: str, more: dict[str, Any]) -> dict[str, Any]:
    """What every message of LangChain's has beside its own."""
    return {
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": None,
        **more,
    }


AS_DICTS = [{"type": kind, "data": fields(kind, more)} for kind, _, more in KINDS]
AS_MODELS = [
    fields("AIMessageChunk" if name == "AIMessageChunk" else kind, more)
    for kind, name, more in KINDS
]
AS_DUMPS = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name],
        "kwargs": {**more, "type": kind},
    }
    for kind, name, more in KINDS
]
AUTOGENS = tuple(restored(EXPECTED))
STATE = {"messages": [message.model_dump(mode="json") for message in AUTOGENS]}


@pytest.mark.parametrize("messages", [OPENAI, AS_DICTS, AS_MODELS, AS_DUMPS, STATE["messages"]])
@pytest.mark.parametrize("form", ["run", "messages", "runs", "lists", "lines", "many lines"])
def test_every_form_of_messages_in_every_form_of_file(
    tmp_path: Path, messages: list[dict[str, Any]], form: str
) -> None:
    """OpenAI's, AutoGen's and LangChain's messages; bare or in a run; one run or many; JSON or JSON lines."""
    run = {"id": "r1", "source": "test", "messages": messages}
    texts = {
        "run": json.dumps(run, indent=1),
        "messages": json.dumps(messages),
        "runs": json.dumps([run, run], indent=2),
        "lists": json.dumps([messages, messages]),
        "lines": json.dumps(run) + "\n",
        "many lines": f"{json.dumps(run)}\n\n{json.dumps(messages)}\r\n{json.dumps([run])}",
    }
    path = tmp_path / "runs"
    path.write_text(texts[form], encoding="utf-8")
    recordings = read_recordings(path)
    assert {"run": 1, "messages": 1, "runs": 2, "lists": 2, "lines": 1, "many lines": 3}[
        form
    ] == len(recordings)
    assert [EXPECTED] * len(recordings) == [one.messages for one in recordings]
    assert {"run": "r1", "messages": "runs:1", "lines": "r1"}.get(
        form, recordings[0].id
    ) == recordings[0].id


@for_each(
    "around",
    [
        lambda state: {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": state},
        lambda state: {"values": state, "next": [], "config": {"configurable": {"thread_id": "1"}}},
        lambda state: {"checkpoint": {"v": 4, "channel_values": {**state, "branch:to:a": None}}},
        lambda state: {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "ChatPromptValue"],
            "kwargs": state,
        },
    ],
)
def test_saved_states_are_opened(around: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """What AutoGen's agents, LangGraph's checkpoints and LangChain's prompts put around the messages is taken off."""
    for messages in (OPENAI, AS_DUMPS, STATE["messages"]):
        assert EXPECTED == parse_recording(json.dumps(around({"messages": messages}))).messages


async def test_a_team_has_a_recording_for_each_agent(tmp_path: Path) -> None:
    """The state that a real team saves has a context for each agent, teams inside of teams included."""

    def look() -> str:
        """Look."""
        return "job-4711 has failed"

    first = ScriptedChatClient([[AutoGenCall("c1", "{}", "look")], "job-4711"])
    agents = [
        AssistantAgent("ann", first, tools=[look], max_tool_iterations=2),
        AssistantAgent(
            "bob",
            ScriptedChatClient(["I see."]),
            model_context=MemoryContext("u", store="sqlite://"),
        ),
    ]
    team = RoundRobinGroupChat(list(agents), termination_condition=MaxMessageTermination(3))
    await team.run(task="Look.")
    state = await team.save_state()
    path = tmp_path / "team.json"
    path.write_text(json.dumps({"agent_states": {"inner": state}}), encoding="utf-8")
    ann, bob = read_recordings(path)
    assert ("inner/ann", "inner/bob") == (ann.id, bob.id)
    assert "job-4711 has failed" in ann.messages[2].text
    assert ["Look.", "job-4711", "I see."] == [message.text for message in bob.messages]
    assert ["user", "ann", "assistant"] == [message.source for message in bob.messages]
    alone = parse_recording(json.dumps(await agents[0].save_state()))
    assert ann.messages == alone.messages


async def test_a_context_saves_what_is_read(tmp_path: Path) -> None:
    """The states of AutoGen's contexts and of a MemoryContext are recordings."""
    for context in (UnboundedChatCompletionContext(), MemoryContext("u", store="sqlite://")):
        for message in AUTOGENS:
            await context.add_message(message)
        path = tmp_path / "state.json"
        path.write_text(json.dumps(await context.save_state()), encoding="utf-8")
        assert [Recording("state.json:1", EXPECTED)] == read_recordings(path)


def test_calls_are_replayed_as_the_model_wrote_them() -> None:
    """Where LangChain keeps the raw call, its text counts; calls that it could not parse count too."""
    raw = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"a":1}'}}
    function = {"name": "old", "arguments": "{ }"}
    wrong = {"type": "invalid_tool_call", "id": "c9", "name": "run", "args": "{bad", "error": "e"}
    parsed = {"name": "run", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    each: list[dict[str, Any]] = [
        {"additional_kwargs": {"tool_calls": [raw]}, "tool_calls": [parsed]},
        {"additional_kwargs": {"function_call": function}, "tool_calls": []},
        {"tool_calls": [], "invalid_tool_calls": [wrong]},
        {"tool_calls": [{**parsed, "args": {"a": "ä"}}]},
        {
            "content": [
                "I look.",
                {"type": "tool_use", "id": "c1", "name": "run", "input": {"b": 2}},
            ]
        },
    ]
    dumped = [{"type": "ai", "data": {"content": "", **one}} for one in each]
    messages = parse_recording(json.dumps(dumped)).messages
    written = [message.calls[0].arguments for message in messages]
    assert ['{"a":1}', "{ }", "{bad", '{"a": "ä"}', '{"b": 2}'] == written


def test_errors_of_tools_stay_errors() -> None:
    """LangChain's status of a tool's message is the conversation's flag."""
    failed = {"type": "tool", "data": {"content": "no", "tool_call_id": "c1", "status": "error"}}
    [message] = parse_recording(json.dumps([failed])).messages
    assert message.is_error


@for_each(
    "text, said",
    [
        ("", "is empty; a recording is an object with"),
        ("{", "line 1: not valid JSON"),
        ('{\n\n"messages": [\n{"role": "user",}\n]}', "not valid JSON: .* line 4"),
        ("not a recording\n{}", "line 1: not valid JSON"),
        ("7", "line 1: .* this is 7"),
        ('"text"', 'this is "text"'),
        ("[]", r"this is \[\]"),
        ("{}", r"this is \{\}"),
        ('{"prompt": 1, "completion": 2}', r'this is \{"prompt": 1, "completion": 2\}'),
        ('{"messages": ["hello"]}', 'message 1 is "hello"'),
        (
            '{"messages": [{"role": "user", "content": ""}, {"from": "x"}]}',
            r'message 2 is \{"from": "x"\}',
        ),
        ('{"role": "user", "content": "x"}\n{"role": "user"}', "line 1: this is a single message"),
        ('{"messages": []}\n\n{"messages": 1}', "line 3: "),
        ('[{"messages": []}, {"message": []}]', "item 2 of the list"),
        (
            '{"messages": [{"type": "UserMessage", "content": 7, "source": "u"}]}',
            "message 1 is not one of AutoGen's",
        ),
        ('[{"role": "assistant", "tool_calls": "run"}]', "parts of the wrong kind"),
        (
            '[{"type": "function", "function": {"name": "a tool, and no message"}}]',
            r'this is \{"type": "function"',
        ),
        ('{"type": "TeamState", "agent_states": {}}', '"type": "TeamState"'),
    ],
)
def test_what_is_no_recording_is_named(tmp_path: Path, text: str, said: str) -> None:
    """The error names the file and the line, says what stands there and what would be right."""
    path = tmp_path / "runs.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=rf"(?s)^runs\.jsonl.*{said}"):
        read_recordings(path)


@for_each(
    "data, said",
    [
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text"),
        (gzip.compress(b'{"messages": []}\n' * 999, mtime=0)[:-20], "cannot be read"),
        (b"\x1f\x8bno gzip at all", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    """Other encodings and damaged archives are errors that name the file."""
    path = tmp_path / "runs.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(InvalidArgumentError, match=rf"^runs\.jsonl\.gz.*{said}"):
        read_recordings(path)


NAMES = "messages role type content data kwargs lc id tool_calls function values additional_kwargs agent_states args"
WORDS = "ai assistant tool chat UserMessage AssistantMessage FunctionExecutionResultMessage"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(WORDS.split()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_recording_or_an_error_of_ours(document: object) -> None:
    """However odd a file is, it cannot make a reader fail in a way that has no words."""
    try:
        recording = parse_recording(json.dumps(document))
    except InvalidArgumentError:
        return
    assert isinstance(recording, Recording)


def test_zipped_files_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    """Whatever the file is called; a byte order mark at the beginning is none of the text."""
    data = b"\xef\xbb\xbf" + json.dumps({"id": 7, "messages": OPENAI}).encode()
    for name, content in (
        ("a.jsonl.gz", gzip.compress(data)),
        ("b", gzip.compress(data)),
        ("c.gz", data),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        assert [Recording("7", EXPECTED)] == read_recordings(path)


def test_lines_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """A run is there before the next one has been written, and a broken line hurts no run above it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    line = json.dumps({"id": "r", "messages": OPENAI}) + "\n"
    seen = list[Recording]()

    def write() -> None:
        with path.open("w", encoding="utf-8", buffering=1) as pipe:
            pipe.writelines([line, line, "{]\n"])

    writer = Thread(target=write)
    writer.start()
    with pytest.raises(InvalidArgumentError, match="pipe, line 3"):
        seen += stream_recordings(path)
    writer.join()

    path.unlink()
    path.write_text(line * 3 + "{]", encoding="utf-8")
    runs = stream_recordings(path)
    assert ["r", "r", "r"] == [next(runs).id for _ in range(3)]
    with pytest.raises(InvalidArgumentError, match="line 4"):
        next(runs)
