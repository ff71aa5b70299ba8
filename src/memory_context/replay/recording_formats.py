"""The forms in which runs are recorded, told apart by their shape: OpenAI's chat form, AutoGen's and LangChain's.

A message has a ``role`` (OpenAI), or a ``type`` that names a class of AutoGen's or a kind of LangChain's, whose fields
stand beside it, below ``data`` (``messages_to_dict``) or below ``kwargs`` (``dumpd``, ``dumps``). A run is a list of
such messages, or an object that has one under ``messages``: itself, or inside of what AutoGen, LangChain and LangGraph
put around it when they save a state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from autogen_core.models import LLMMessage
from pydantic import TypeAdapter, ValidationError

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.recordings import Recording, to_messages

Json: TypeAlias = Mapping[str, Any]

RIGHT = (
    'a recording is an object with "messages" or a list of messages, in OpenAI\'s chat form (role, content), '
    "as a saved state of AutoGen's, or as LangChain dumps it"
)
_AUTOGEN = ("SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage")
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "chat": "user",
    "remove": "",
}
_AROUND = (
    "llm_context",
    "agent_state",
    "inner_team_state",
    "values",
    "channel_values",
    "checkpoint",
    "kwargs",
)
_NAMES = ("id", "thread_id", "run_id", "name")
_MESSAGES: TypeAdapter[list[LLMMessage]] = TypeAdapter(list[LLMMessage])


def recordings_in(document: object) -> Iterator[Recording]:
    """The runs that a value out of a JSON file holds; one run after another, if it is a list of them.

    Raises:
        InvalidArgumentError: It is none of the known forms; says what it is and what would be right.
    """
    if _is_message(document):
        message = f"this is a single message; {RIGHT}"
        raise InvalidArgumentError(message)
    many = _listed(document)
    if not many or _is_message(many[0]):
        yield from _in_one(document)
        return
    for number, one in enumerate(many, 1):
        yield from _in_list(one, number)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _in_list(document: object, number: int) -> Iterator[Recording]:
    try:
        yield from _in_one(document)
    except InvalidArgumentError as error:
        message = f"item {number} of the list: {error}"
        raise InvalidArgumentError(message) from error


def _in_one(document: object) -> Iterator[Recording]:
    found = list(_runs(document, ""))
    if not found:
        message = f"{RIGHT}; this is {_sketch(document)}"
        raise InvalidArgumentError(message)
    for name, messages in found:
        yield Recording(name, tuple(_read(messages)))


def _runs(document: object, name: str) -> Iterator[tuple[str, list[object]]]:
    """The lists of messages in `document`, each with the name of its run or agent."""
    if isinstance(document, list):
        if document:
            yield name, cast("list[object]", document)
    elif isinstance(document, dict):
        yield from _runs_of(cast("Json", document), name)


def _runs_of(run: Json, name: str) -> Iterator[tuple[str, list[object]]]:
    own = next((str(run[key]) for key in _NAMES if isinstance(run.get(key), str | int)), name)
    if isinstance(run.get("messages"), list):
        yield own, run["messages"]
        return
    if isinstance(run.get("agent_states"), dict):
        for agent, state in cast("Json", run["agent_states"]).items():
            yield from _runs(state, f"{name}/{agent}" if name else agent)
    for key in _AROUND:
        if isinstance(run.get(key), dict):
            yield from _runs(run[key], own)


def _read(messages: list[object]) -> Iterator[LLMMessage]:
    for number, message in enumerate(messages, 1):
        if not _is_message(message):
            error = f"message {number} is {_sketch(message)}, and no message; {RIGHT}"
            raise InvalidArgumentError(error)
    known = cast("list[Json]", messages)
    yield from _autogen(known) if known and _kind(known[0]) in _AUTOGEN else _chat(known)


def _autogen(messages: Sequence[Json]) -> list[LLMMessage]:
    try:
        return _MESSAGES.validate_python(messages)
    except ValidationError as error:
        first = error.errors()[0]
        message = f"message {int(first['loc'][0]) + 1} is none of AutoGen's: {first['msg']}"
        raise InvalidArgumentError(message) from error


def _chat(messages: Sequence[Json]) -> list[LLMMessage]:
    try:
        return list(to_messages(_openai(messages)))
    except (
        AttributeError,
        TypeError,
        ValueError,
    ) as error:  # objects where lists belong, texts in place of objects
        message = f"the messages have parts of the wrong kind: {error}"
        raise InvalidArgumentError(message) from error


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    message = cast("Json", value)
    if isinstance(message.get("role"), str) or _kind(message) in _AUTOGEN:
        return True
    return _kind(message) in _ROLES and "content" in _fields(message)


def _kind(message: Json) -> str:
    """The name of a message's class or kind, without ``Chunk`` and, of LangChain's, without ``Message``."""
    if message.get("lc") and isinstance(message.get("id"), list):
        name = str(message["id"][-1]) if message["id"] else ""
        return name.removesuffix("Chunk").removesuffix("Message").lower()
    name = str(message.get("type", "")).removesuffix("MessageChunk")
    return name if name in _AUTOGEN else name.lower()


def _openai(messages: Sequence[Json]) -> list[Json]:
    """The messages in OpenAI's form; those that LangChain keeps only to remove others are left out."""
    return [
        _from_langchain(one) if "role" not in one else one
        for one in messages
        if _kind(one) != "remove"
    ]


def _from_langchain(message: Json) -> Json:
    fields = _fields(message)
    role = fields.get("role") if _kind(message) == "chat" else _ROLES[_kind(message)]
    return {
        **fields,
        "role": role,
        "tool_calls": _calls(fields),
        "function_call": _raw(fields).get("function_call"),
    }


def _fields(message: Json) -> Json:
    return next(
        (message[key] for key in ("data", "kwargs") if isinstance(message.get(key), dict)), message
    )


def _calls(fields: Json) -> list[Json]:
    """The calls as the model wrote them, where that is kept; else as LangChain has parsed them, or as parts of text."""
    parsed = [*(fields.get("tool_calls") or ()), *(fields.get("invalid_tool_calls") or ())]
    written = [_call(call, call.get("args")) for call in parsed] or [
        _call(part, part.get("input")) for part in _parts(fields) if part.get("type") == "tool_use"
    ]
    return _raw(fields).get("tool_calls") or written


def _call(call: Json, arguments: object) -> Json:
    return {
        "id": call.get("id"),
        "function": {"name": call.get("name"), "arguments": _written(arguments)},
    }


def _parts(fields: Json) -> list[Json]:
    """The parts of a content that is a list, without those that are plain texts."""
    return [cast("Json", part) for part in _listed(fields.get("content")) if isinstance(part, dict)]


def _raw(fields: Json) -> Json:
    return fields.get("additional_kwargs") or {}


def _written(arguments: object) -> str:
    return (
        arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    )


def _sketch(value: object) -> str:
    """What a value out of a JSON file looks like, in a few words."""
    words: dict[type, Callable[[Any], str]] = {
        dict: lambda one: (
            f"an object with {', '.join(map(repr, list(one)[:5]))}" if one else "an empty object"
        ),
        list: lambda one: f"a list of {len(one)}" if one else "an empty list",
        str: lambda one: f"the text {one[:40]!r}",
    }
    return words.get(type(value), json.dumps)(value)
