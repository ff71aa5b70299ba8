"""Read runs in any of the known formats, which are told apart by their shape.

A message has a ``role`` (OpenAI, Anthropic, Agent Framework, OpenTelemetry), the ``type`` of an item of OpenAI's
Responses, or a ``type`` that names a class of AutoGen's or a kind of LangChain's. LangChain's fields are beside the
``type``, below ``data`` (``messages_to_dict``) or below ``kwargs`` (``dumpd``, ``dumps``). A run is a list of such
messages, or an object with such a list under ``messages``, possibly inside the wrappers that a framework puts around it
in a saved state. Telemetry and Claude Code write a run in many pieces: see `traced_calls` and `claude_code_sessions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import cast

from memory_context.conversation.message import Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.json_object import elements_of, members_of
from memory_context.replay.formats.autogen_states import chat_of_autogen, is_autogens
from memory_context.replay.formats.claude_code_sessions import (
    NO_MESSAGES,
    NoMessagesError,
    is_session_line,
    sessions_of,
)
from memory_context.replay.formats.content_parts import Json
from memory_context.replay.formats.langsmith_and_opentelemetry import (
    NO_TEXTS,
    is_traced,
    traced_calls,
)
from memory_context.replay.formats.openai_responses import chat_of_items, is_item
from memory_context.replay.formats.runs_from_model_calls import grown_runs
from memory_context.replay.recording_as_messages import Recording, to_messages

RIGHT = (
    'a recording is an object with "messages" or a list of messages, in one of the forms that `memory-context replay --help` '
    "lists"
)
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "chat": "user",
    "remove": "",
}
# The keys under which a saved state holds its messages, or another state that holds them.
_WRAPPERS = (
    "llm_context",
    "agent_state",
    "inner_team_state",
    "values",
    "channel_values",
    "checkpoint",
    "kwargs",
)
# The fields that may name a run, the most specific first.
_IDS = ("id", "thread_id", "session_id", "run_id", "name")
# The fields that may hold a message's content or calls.
_CONTENT_FIELDS = ("content", "contents", "parts", "tool_calls", "function_call", "data", "kwargs")
SKETCHED = 60  # characters


def recordings_in(document: object) -> Iterator[Recording]:
    """Yield the runs in a value of a JSON file, which may be a list of runs.

    Raises:
        InvalidArgumentError: It has none of the known formats; the message says what it is and what is expected.
    """
    if _is_message(document):
        raise InvalidArgumentError(f"this is a single message; {RIGHT}")
    items = elements_of(document)
    if is_piece(items[0] if items else document):
        yield from _recordings_of_pieces(items or [document])
        return
    # A list of messages is one run; a list of anything else is a list of runs.
    if not items or _is_message(items[0]):
        yield from _recordings_of(document)
        return
    for number, item in enumerate(items, 1):
        try:
            yield from _recordings_of(item)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"item {number} of the list: {error}") from error


def is_piece(document: object) -> bool:
    """Return whether a value of a JSON file is a piece of a run: a span, a LangSmith run or a line of a session."""
    return is_traced(document) or is_session_line(document)


def _recordings_of_pieces(pieces: Sequence[object]) -> Iterator[Recording]:
    """Yield the runs that are made up of spans, LangSmith's runs, or the lines of a session."""
    nothing = InvalidArgumentError(NO_TEXTS)
    try:
        if is_session_line(pieces[0]):
            nothing = NoMessagesError(NO_MESSAGES)
            runs = [(name, _read_messages(messages)) for name, messages in sessions_of(pieces)]
        else:
            calls = list[tuple[str, Sequence[Message], Sequence[Message]]]()
            for call in traced_calls(pieces):
                prompt = _read_messages(call.prompt)
                calls.append((call.trace, prompt, _read_messages([*call.prompt, *call.reply])))
            runs = list(grown_runs(calls))
    except InvalidArgumentError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # There is no schema to check, so a text in place of an object, or an object in place of a list, is found here.
        raise InvalidArgumentError(
            f"the pieces of a run have parts of the wrong kind: {error}; {RIGHT}"
        ) from error
    if not runs:
        raise nothing
    yield from (Recording(name, tuple(messages)) for name, messages in runs)


def _recordings_of(document: object) -> Iterator[Recording]:
    runs = list(_runs_in(document, ""))
    if not runs:
        raise InvalidArgumentError(f"{RIGHT}; this is {_sketch(document)}")
    for name, recorded in runs:
        yield Recording(name, tuple(_read_messages(recorded)))


def _runs_in(document: object, name: str) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield the lists of messages in `document`, each with the name of its run or agent."""
    if messages := elements_of(document):
        yield name, messages
    run = members_of(document)
    ids = (str(run[key]) for key in _IDS if isinstance(run.get(key), str | int))
    run_name = next(ids, name)
    # Other lists in the object are ignored.
    if isinstance(run.get("messages"), list):
        messages = run["messages"]
        # An Anthropic request has its system message beside the others.
        if run.get("system") and messages and "role" in members_of(messages[0]):
            messages = [{"role": "system", "content": run["system"]}, *messages]
        yield run_name, messages
        return
    for agent, state in members_of(run.get("agent_states")).items():
        yield from _runs_in(state, f"{name}/{agent}" if name else agent)
    # A session of Agent Framework holds the states of its providers, one of which keeps the history.
    for state in members_of(run.get("state")).values():
        yield from _runs_in(state, run_name)
    for key in _WRAPPERS:
        if inner := members_of(run.get(key)):
            yield from _runs_in(inner, run_name)


def _read_messages(values: Sequence[object]) -> Sequence[Message]:
    """Convert the messages of one run, in any known format, to a conversation's messages."""
    messages = cast("list[Json]", values)
    for number, message in enumerate(messages, 1):
        if not _is_message(message):
            raise InvalidArgumentError(
                f"message {number} is {_sketch(message)}, not a message; {RIGHT}"
            )
        # Formats with a role may have the text under `contents` or `parts`.
        if "role" in message and not any(key in message for key in _CONTENT_FIELDS):
            raise InvalidArgumentError(
                f"message {number} has neither content nor calls: {_sketch(message)}; {RIGHT}"
            )
    if messages and is_autogens(messages[0]):
        messages = chat_of_autogen(messages)
    try:
        # LangChain's `remove` messages only delete others, and have no content.
        chat = [_chat_form(message) for message in messages if _kind(message) != "remove"]
        if any(map(is_item, chat)):
            chat = list(chat_of_items(chat))
        return list(to_messages(chat))
    except InvalidArgumentError:
        raise
    except (AttributeError, TypeError, ValueError) as error:
        # There is no schema to check, so an object in place of a list, or a text in place of an object, is found here.
        raise InvalidArgumentError(f"the messages have parts of the wrong kind: {error}") from error


def _chat_form(message: Json) -> Json:
    """Return a message in OpenAI's chat format, its parts under `content`; an item of the Responses API as it is."""
    if "role" not in message and not is_item(message):
        fields = _fields(message)
        kind = _kind(message)
        return {
            **fields,
            "role": fields.get("role") if kind == "chat" else _ROLES[kind],
            "tool_calls": _tool_calls(fields),
            "function_call": _provider_fields(fields).get("function_call"),
        }
    for name in ("parts", "contents"):
        if name in message and "content" not in message:
            return {**message, "content": message[name]}
    return message


def _is_message(value: object) -> bool:
    message = members_of(value)
    if isinstance(message.get("role"), str) or is_item(message) or is_autogens(message):
        return True
    return _kind(message) in _ROLES and "content" in _fields(message)


def _kind(message: Json) -> str:
    """Return the kind of a message in lower case, such as ``ai`` for LangChain's ``AIMessageChunk``."""
    # LangChain's `dumpd`: {"lc": 1, "type": "constructor", "id": ["langchain", …, "AIMessage"],
    # "kwargs": …}.
    if message.get("lc") and isinstance(message.get("id"), list):
        names = ["", *message["id"]]
        name = str(names[-1])
        return name.removesuffix("Chunk").removesuffix("Message").lower()
    kind = str(message.get("type", ""))
    return kind.removesuffix("MessageChunk").lower()


def _fields(message: Json) -> Json:
    """Return the fields of a message, which LangChain may put below ``data`` or ``kwargs``."""
    return members_of(message.get("data")) or members_of(message.get("kwargs")) or message


def _provider_fields(fields: Json) -> Json:
    return fields.get("additional_kwargs") or {}


def _tool_calls(fields: Json) -> list[Json]:
    """Return the calls as the model wrote them, if that was kept, otherwise as they were parsed."""
    # Arguments that are parsed and dumped again have other spaces, and therefore other tokens.
    if written := _provider_fields(fields).get("tool_calls"):
        return cast("list[Json]", written)
    parsed = [*(fields.get("tool_calls") or ()), *(fields.get("invalid_tool_calls") or ())]
    return [
        {
            "id": call.get("id"),
            "function": {"name": call.get("name"), "arguments": call.get("args")},
        }
        for call in parsed
    ]


def _sketch(value: object) -> str:
    """Return the beginning of a value of a JSON file."""
    return json.dumps(value, ensure_ascii=False)[:SKETCHED]
