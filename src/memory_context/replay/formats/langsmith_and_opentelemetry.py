"""Read model calls from telemetry: spans of OpenTelemetry and OpenInference, and LangSmith's runs.

A span of OpenTelemetry's GenAI conventions has its messages as JSON in the attributes ``gen_ai.input.messages``,
``gen_ai.output.messages`` and ``gen_ai.system_instructions``, or in the attributes of an event. Earlier instrumentations
and OpenInference spread them over attributes such as ``gen_ai.prompt.0.role`` and ``llm.input_messages.0.message.role``.
Spans are in the format that an SDK prints (``context``, ``attributes``) or in OTLP's (``resourceSpans``).

Sources: the semantic conventions of OpenTelemetry (1.37 and later) and of OpenInference; the schema of LangSmith's SDK.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from memory_context.model.json_object import JsonObject, elements_of, members_of
from memory_context.replay.formats.content_parts import Json

NO_TEXTS = (
    "none of the spans or runs holds the messages of a model call; most instrumentations record them only if that is "
    "switched on, such as by OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)
# Only spans of model calls are read; the spans around them repeat the same messages.
_CALLING = ("chat", "generate_content", "text_completion")
# LangSmith's type of a model's run, and that of other tracers of LangChain.
_MODEL_RUNS = ("llm", "chat_model")
_IN = "gen_ai.input.messages"
_OUT = "gen_ai.output.messages"
_SYSTEM = "gen_ai.system_instructions"
# The prefixes of the attributes in which older conventions spread the messages: of the prompt, and of the reply.
_SPREAD = (
    ("llm.input_messages.", "llm.output_messages."),
    ("gen_ai.prompt.", "gen_ai.completion."),
)


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A model call.

    Attributes:
        trace: The trace or conversation that it belongs to.
        started: When it began, as a text; the texts of one file can be sorted.
        prompt: The messages that the model was sent, in one of the formats of recordings.
        reply: The messages that it answered.
    """

    trace: str
    started: str
    prompt: Sequence[Json]
    reply: Sequence[Json]


def is_traced(document: object) -> bool:
    """Return whether a value of a JSON file is a span, spans in OTLP's format, or a run of LangSmith's."""
    names = members_of(document).keys()
    if "attributes" in names and ("context" in names or "spanId" in names):
        return True
    return "resourceSpans" in names or names >= {"run_type", "inputs"}


def traced_calls(documents: Sequence[object]) -> list[TracedCall]:
    """Return the model calls among spans and runs that hold messages, in the order in which they began."""
    calls = list[TracedCall]()
    for document in cast("Sequence[Json]", documents):
        if "run_type" in document:
            calls += _call_of_run(document)
            continue
        for span in _spans_in(document):
            calls += _call_of_span(span)
    return sorted(calls, key=lambda call: call.started)


def _spans_in(document: Json) -> Iterator[Json]:
    if "resourceSpans" not in document:
        yield document
        return
    for resource in _objects(document["resourceSpans"]):
        for scope in _objects(resource.get("scopeSpans")):
            yield from _objects(scope.get("spans"))


def _object(value: Any) -> Json:  # noqa: ANN401 - out of a JSON file
    return cast("Json", value or {})


def _objects(value: Any) -> Sequence[Json]:  # noqa: ANN401 - out of a JSON file
    return cast("Sequence[Json]", value or ())


def _call_of_span(span: Json) -> Iterator[TracedCall]:
    """Yield the model call of a span, if it is one and has its messages."""
    attributes = JsonObject()
    for holder in (span, *_objects(span.get("events"))):
        attributes |= _attributes(holder.get("attributes") or {})
    if attributes.get("gen_ai.operation.name", _CALLING[0]) not in _CALLING:
        return
    if attributes.get("openinference.span.kind", "LLM") != "LLM":
        return
    prompt = _parsed(attributes.get(_IN))
    reply = list[Json]()
    # The reply and the instructions are JSON only if the prompt is, as in the newer convention.
    if prompt:
        reply = _parsed(attributes.get(_OUT))
        if instructions := _parsed(attributes.get(_SYSTEM)):
            prompt = [{"role": "system", "content": instructions}, *prompt]
    for asked, answered in _SPREAD:
        if not prompt:
            prompt = list(map(_message, _gathered(attributes, asked)))
            reply = list(map(_message, _gathered(attributes, answered)))
    if not prompt or not reply:
        return
    # A conversation has many traces, so its id comes first.
    trace = (
        attributes.get("gen_ai.conversation.id")
        or attributes.get("session.id")
        or span.get("traceId")
        or _object(span.get("context")).get("trace_id")
        or ""
    )
    started = span.get("startTimeUnixNano") or span.get("start_time") or ""
    yield TracedCall(str(trace), str(started), prompt, reply)


def _attributes(written: Any) -> JsonObject:  # noqa: ANN401 - an object, or OTLP's list
    if isinstance(written, Mapping):
        return dict(cast("Json", written))
    return {one["key"]: _value(one["value"]) for one in written}


def _value(written: Json) -> Any:  # noqa: ANN401 - of any kind
    """Return a value of OTLP's, such as ``{"stringValue": …}``, as a plain value."""
    [(kind, value)] = written.items()
    if kind == "arrayValue":
        return [_value(one) for one in _objects(value.get("values"))]
    if kind == "kvlistValue":
        return _attributes(_objects(value.get("values")))
    return value


def _parsed(value: Any) -> list[Json]:  # noqa: ANN401 - JSON text, or its value
    if isinstance(value, str):
        value = json.loads(value)
    return cast("list[Json]", value or [])


def _gathered(attributes: Json, prefix: str) -> list[Any]:
    """Return the list of objects that is spread over attributes such as ``prefix0.role``."""
    root = JsonObject()
    for name, value in attributes.items():
        if not name.startswith(prefix):
            continue
        *path, last = name.removeprefix(prefix).split(".")
        inner = root
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return _in_order(root)


def _in_order(numbered: Json) -> list[Any]:
    return [numbered[number] for number in sorted(numbered, key=int)]


def _message(gathered: Json) -> Json:
    """Return a message in OpenAI's chat format."""
    message: Json = gathered.get("message", gathered)
    contents = _in_order(_object(message.get("contents")))
    parts = [content.get("message_content", content) for content in contents]
    calls = list[Json]()
    for one in _in_order(_object(message.get("tool_calls"))):
        call = one.get("tool_call", one)
        calls.append({"id": call.get("id"), "function": call.get("function", call)})
    return {
        "role": message.get("role", "assistant"),
        "content": parts or message.get("content"),
        "tool_calls": calls,
        "tool_call_id": message.get("tool_call_id"),
        "name": message.get("name"),
    }


def _call_of_run(run: Json) -> Iterator[TracedCall]:
    """Yield the model call of a run of LangSmith's, if it is one."""
    inputs = _object(run.get("inputs"))
    outputs = _object(run.get("outputs"))
    prompt = _flat(inputs.get("messages"))
    if run["run_type"] not in _MODEL_RUNS or not prompt:
        return
    # The reply is in LangChain's form, in OpenAI's, or a plain message.
    choices = _flat(outputs.get("generations")) or _flat(outputs.get("choices"))
    reply = [_object(choice["message"]) for choice in choices] or _flat(outputs.get("messages"))
    if not reply and "role" in outputs:
        reply = [outputs]
    if not reply:
        return
    extra = _object(run.get("extra"))
    metadata = _object(extra.get("metadata"))
    trace = metadata.get("thread_id") or run.get("trace_id") or run.get("id") or ""
    started = run.get("start_time", "")
    yield TracedCall(str(trace), str(started), prompt, reply)


def _flat(value: object) -> list[Json]:
    """Return a list of messages; of LangChain's lists, one for each prompt, the first, since a chat has one prompt."""
    listed = elements_of(value)
    if listed and isinstance(listed[0], list):
        return cast("list[Json]", listed[0])
    return listed
