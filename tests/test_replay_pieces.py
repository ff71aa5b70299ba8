"""Recordings in pieces: what telemetry keeps of model calls, and the lines of a coding agent's session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    Content,
    FunctionInvocationLayer,
    tool,
)
from agent_framework.observability import (
    OBSERVABILITY_SETTINGS,
    ChatTelemetryLayer,
    enable_sensitive_telemetry,
)
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import ToolCall as LangChainCall
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

from exported import exported
from for_each import for_each
from memory_context.conversation.message import FunctionCall, Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay import Recording, read_recordings
from memory_context.replay.formats.runs_in_a_document import recordings_in
from memory_context.testing import ScriptedFrameworkClient

QUESTION, ANSWER = "Where did order-777 go?", "order-777 went to dock 2."
OUTPUT = "order-777 went to dock 2\n" * 3
ARGUMENTS = '{"day": "Mönday"}'

ASKED = (
    Message("0", "system", "system", {0: "Be short."}),
    Message("1", "user", "user", {0: QUESTION}),
)
WHOLE = (
    *ASKED,
    Message(
        "2", "assistant", "assistant", {0: "I look."}, (FunctionCall("c1", "orders", ARGUMENTS),)
    ),
    Message("3", "tool", "orders", {0: OUTPUT}, answers="c1"),
    Message("4", "assistant", "assistant", {0: ANSWER}),
)


def read(folder: Path, *documents: object) -> list[Recording]:
    """The runs in a file with a line for each of *documents*."""
    path = folder / "pieces.jsonl"
    lines = [json.dumps(document, default=str) + "\n" for document in documents]
    path.write_text("".join(lines), encoding="utf-8")
    return read_recordings(path)


class TracedClient(
    FunctionInvocationLayer[Any],
    ChatMiddlewareLayer[Any],
    ChatTelemetryLayer[Any],
    BaseChatClient[Any],
):
    """A scripted client with the layers that the framework's own clients have."""

    OTEL_PROVIDER_NAME = "scripted"

    def __init__(self, *script: Any) -> None:
        super().__init__()
        self._scripted = ScriptedFrameworkClient(script)

    def _inner_get_response(
        self, *, messages: Sequence[Any], stream: bool, options: Any, **_: Any
    ) -> Any:
        return self._scripted._inner_get_response(  # noqa: SLF001 - as a layer
            messages=messages, stream=stream, options=options
        )


@tool
def orders(day: str) -> str:
    """Say what went where."""
    return OUTPUT if day else ""


async def agents_run(*more: str) -> tuple[list[Any], dict[str, Any]]:
    """The spans and the session of an agent that answers the question, and says *more* to further messages."""
    call = [
        Content.from_text("I look."),
        Content.from_function_call("c1", "orders", arguments=ARGUMENTS),
    ]
    agent = Agent(TracedClient(call, ANSWER, *more), instructions="Be short.", tools=[orders])
    session = agent.create_session()
    tracing = exported()
    tracing.keep(True)
    enable_sensitive_telemetry()
    try:
        for said in (QUESTION, *("Thanks." for _ in more)):
            await agent.run(said, session=session)
        spans = [json.loads(span.to_json()) for span in tracing.spans()]
    finally:
        OBSERVABILITY_SETTINGS.enable_sensitive_data = False
        tracing.keep(False)
    return spans, session.to_dict()


async def test_spans_of_a_framework_are_one_run(tmp_path: Path) -> None:
    """Spans around calls and tools add nothing; a later turn, in a trace of its own, goes on with the same run."""
    spans, _ = await agents_run("Welcome.")
    [run] = read(tmp_path, *spans)
    assert WHOLE == run.messages[:5]
    assert ["Thanks.", "Welcome."] == [message.text for message in run.messages[5:]]
    assert {span["context"]["trace_id"] for span in spans} > {run.id}


async def test_spans_as_a_collector_writes_them(tmp_path: Path) -> None:
    """OTLP has attributes as lists of typed values, in batches."""
    spans, _ = await agents_run()
    batch = [
        {
            "traceId": span["context"]["trace_id"],
            "spanId": span["context"]["span_id"],
            "startTimeUnixNano": str(number),
            "attributes": [
                {"key": name, "value": {"stringValue": str(value)}}
                for name, value in span["attributes"].items()
            ],
        }
        for number, span in enumerate(spans)
    ]
    for spans_of_batch in (batch, batch[::-1]):
        [run] = read(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans_of_batch}]}]})
        assert run.messages == WHOLE


async def test_a_session_of_the_framework_is_a_run(tmp_path: Path) -> None:
    """Agent Framework keeps the history in the state of a provider, without the instructions."""
    _, session = await agents_run()
    [run] = read(tmp_path, session)
    assert session["session_id"] == run.id
    expected = [(one.role, one.source, one.texts, one.calls, one.answers) for one in WHOLE[1:]]
    assert expected == [
        (one.role, one.source, one.texts, one.calls, one.answers) for one in run.messages
    ]


def spread(prefix: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what OpenInference makes of messages: an attribute for each value."""
    return {
        f"{prefix}.{number}.message.{name}": value
        for number, message in enumerate(messages)
        for name, value in message.items()
    }


ASKING = [
    {"role": "system", "content": "Be short."},
    {
        "role": "user",
        "contents.0.message_content.type": "text",
        "contents.0.message_content.text": QUESTION,
    },
]
LOOKING = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls.0.tool_call.id": "c1",
    "tool_calls.0.tool_call.function.name": "orders",
    "tool_calls.0.tool_call.function.arguments": ARGUMENTS,
}
FOUND = {"role": "tool", "content": OUTPUT, "tool_call_id": "c1"}
ANSWERED = {"role": "assistant", "content": ANSWER}


def test_openinferences_spans(tmp_path: Path) -> None:
    """Attributes that spell out messages are put together; chains and tools around them are not model calls."""
    calls = [(ASKING, LOOKING), ([*ASKING, LOOKING, FOUND], ANSWERED)]
    spans = [
        {
            "context": {"trace_id": "t1", "span_id": str(number)},
            "start_time": f"2026-01-01T00:00:0{number}Z",
            "attributes": {
                "openinference.span.kind": "LLM",
                "session.id": "s1",
                **spread("llm.input_messages", prompt),
                **spread("llm.output_messages", [reply]),
            },
        }
        for number, (prompt, reply) in enumerate(calls)
    ]
    chain = {"context": {}, "attributes": {"openinference.span.kind": "CHAIN"}}
    assert [Recording("s1", WHOLE)] == read(tmp_path, chain, *spans[::-1])


def test_spans_of_earlier_conventions(tmp_path: Path) -> None:
    """OpenLLMetry counts messages as OpenInference does, with other names; what else a span tells may be plain text."""
    call = {"id": "c1", "name": "orders", "arguments": ARGUMENTS}
    attributes = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be short.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": QUESTION,
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "I look.",
        **{f"gen_ai.completion.0.tool_calls.0.{name}": value for name, value in call.items()},
    }
    texts = {"gen_ai.system_instructions": "Be kind.", "gen_ai.output.messages": "I look."}
    for more in ({}, texts):
        [run] = read(tmp_path, {"context": {"trace_id": "t"}, "attributes": attributes | more})
        assert (run.id, run.messages) == ("t", WHOLE[:3])


def langsmiths_runs() -> list[dict[str, Any]]:
    """What LangChain's tracer sends to LangSmith of two calls of a model."""
    # As the tracer that sends them does: with messages, and not with a prompt as one text.
    collector = RunCollectorCallbackHandler(_schema_format="original+chat")
    call = LangChainCall(name="orders", args={"day": "Mönday"}, id="c1")
    looking = AIMessage("I look.", tool_calls=[call])
    model = GenericFakeChatModel(messages=iter([looking, AIMessage(ANSWER)]))
    asked = [SystemMessage("Be short."), HumanMessage(QUESTION)]
    found = ToolMessage(OUTPUT, tool_call_id="c1")
    for prompt in (asked, [*asked, looking, found]):
        model.invoke(prompt, {"callbacks": [collector], "metadata": {"thread_id": "t1"}})
    return [run.model_dump(mode="json", exclude={"child_runs"}) for run in collector.traced_runs]


def test_langsmiths_runs(tmp_path: Path) -> None:
    """Real runs of LangChain's tracer; chains around them are left out."""
    runs = langsmiths_runs()
    chain = {**runs[0], "run_type": "chain"}
    assert [Recording("t1", WHOLE)] == read(tmp_path, chain, *runs)
    assert [Recording("t1", WHOLE)] == read(tmp_path, [chain, *runs])


def test_langsmiths_runs_of_openais_client(tmp_path: Path) -> None:
    """LangSmith's wrapper keeps what OpenAI's client sent and got."""
    run = {
        "id": "r1",
        "run_type": "llm",
        "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "Ho"}}]},
    }
    [read_run] = read(tmp_path, run)
    assert ["Hi", "Ho"] == [message.text for message in read_run.messages]


def test_what_was_cut_in_between_begins_another_run(tmp_path: Path) -> None:
    """A prompt that does not begin with the one before is no continuation, nor is the same question asked again."""

    def call(*said: str) -> dict[str, Any]:
        roles = ("user", "assistant")
        prompt = [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
        outputs = {"role": "assistant", "content": "ok"}
        return {
            "run_type": "llm",
            "trace_id": "t",
            "inputs": {"messages": prompt},
            "outputs": outputs,
        }

    runs = read(
        tmp_path, call("a"), call("a", "ok", "b"), call("b"), call("a"), call("b", "ok", "c")
    )
    assert [("t", 4), ("t/2", 4), ("t/3", 2)] == [(run.id, len(run.messages)) for run in runs]


def test_spans_without_texts_say_how_to_get_them(tmp_path: Path) -> None:
    """Most instrumentations leave the messages out at first: nothing would be measured."""
    span = {"context": {"trace_id": "t"}, "attributes": {"gen_ai.operation.name": "chat"}}
    with pytest.raises(InvalidArgumentError, match=r"none of the spans .*CAPTURE_MESSAGE_CONTENT"):
        read(tmp_path, span, span)


def line(kind: str, content: object, **more: object) -> dict[str, Any]:
    """A line of a session."""
    message = {"role": kind, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return {"type": kind, "sessionId": "s1", "uuid": "u", "message": message, **more}


CALL = {"type": "tool_use", "id": "c1", "name": "orders", "input": {"day": "Mönday"}}
SESSION = [
    {"type": "summary", "summary": "Orders", "leafUuid": "u"},
    line("user", QUESTION),
    line("assistant", [{"type": "text", "text": "I look."}], id="m1"),
    line("assistant", [CALL], id="m1"),
    {"type": "system", "sessionId": "s1", "subtype": "local_command", "content": "noted"},
    line("user", [{"type": "tool_result", "tool_use_id": "c1", "content": OUTPUT}]),
    line("assistant", [{"type": "text", "text": ANSWER}], id="m2"),
]


def test_a_session_of_claude_code_is_a_run(tmp_path: Path) -> None:
    """The lines of one response are one model call; lines of other kinds are no messages."""
    [run] = read(tmp_path, *SESSION)
    assert run.id == "s1"
    expected = [(one.role, one.texts, one.calls) for one in WHOLE[1:]]
    assert expected == [(one.role, one.texts, one.calls) for one in run.messages]


def test_sub_agents_and_compactions_are_runs_of_their_own(tmp_path: Path) -> None:
    """None of their messages stood in the prompt of the others."""
    side = line("user", "Look closer.", isSidechain=True, agentId="a1")
    lines = [*SESSION, side, line("user", "So far: …", isCompactSummary=True), line("user", "On.")]
    runs = read(tmp_path, *lines)
    assert {"s1": 4, "s1/a1": 1, "s1, compaction 1": 2} == {
        run.id: len(run.messages) for run in runs
    }


@for_each(
    "documents, said",
    [
        ([SESSION[0]], "line 1: the lines of a session hold no message"),
        ([SESSION[1], {"messages": []}], "line 2: not a span, a run or a line"),
        (
            [{"context": {}, "attributes": {"gen_ai.input.messages": "{"}}],
            "parts of the wrong kind",
        ),
        ([{"context": {}, "attributes": {"llm.input_messages.x.message.role": 1}}], "wrong kind"),
        ([{"resourceSpans": 7}], "wrong kind"),
        ([{"run_type": "llm", "inputs": 7}], "wrong kind"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, documents: list[object], said: str) -> None:
    """The error names the file, the line where it begins, and what would be right."""
    with pytest.raises(
        InvalidArgumentError, match=rf"pieces\.jsonl, line .*{said.rsplit(': ', maxsplit=1)[-1]}"
    ):
        read(tmp_path, *documents)


NAMES = (
    "run_type inputs outputs messages context attributes resourceSpans scopeSpans spans sessionId type message role "
    "content parts leafUuid llm.input_messages.0.message.role gen_ai.input.messages gen_ai.output.messages events"
)
JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(["llm", "user", "assistant", "text", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=5)
    ),
    max_leaves=14,
)
PIECE = st.dictionaries(st.sampled_from(NAMES.split()), JSON, min_size=2, max_size=6)


@given(st.lists(PIECE, min_size=1, max_size=3))
def test_any_pieces_are_recordings_or_an_error_of_ours(pieces: list[object]) -> None:
    """However odd they are, they cannot make a reader fail in a way that has no words."""
    try:
        recordings = list(recordings_in(pieces))
    except InvalidArgumentError:
        return
    assert all(isinstance(one, Recording) for one in recordings)
