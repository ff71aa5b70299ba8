"""Convert recorded runs from OpenAI's chat format, with content parts of any provider, to a conversation's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from memory_context.conversation.fold_recall_notes_policies import PERSON
from memory_context.conversation.message import FunctionCall, Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.formats.content_parts import (
    Json,
    calls_in,
    results_apart,
    text_of_content,
)

UNKNOWN_TOOL = "tool"
_RESULTS = ("tool", "function")
_INSTRUCTIONS = ("system", "developer")
ROLES = ("user", "assistant", *_INSTRUCTIONS, *_RESULTS)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run.

    Attributes:
        id: The name of the run in its file.
        messages: All its messages, in order; each message of an assistant is a model call. Their ids number them: ``4``,
            or for results that came together ``5.0`` and ``5.1``.
    """

    id: str
    messages: tuple[Message, ...]


def together(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Yield the messages of a recording in lists; messages that came together are in one list."""
    for _, group in groupby(messages, key=lambda message: message.id.partition(".")[0]):
        yield list(group)


def to_messages(recorded: Sequence[Json]) -> Iterator[Message]:
    """Convert messages of OpenAI's chat format to a conversation's; consecutive results count as having come together.

    Results are put in the order of the calls that they answer, and get the names of those calls.

    Raises:
        InvalidArgumentError: A message has an unknown role.
    """
    for number, group in enumerate(_groups(recorded)):
        if len(group) == 1:
            yield replace(group[0], id=str(number))
            continue
        for place, message in enumerate(group):
            yield replace(message, id=f"{number}.{place}")


def _groups(recorded: Sequence[Json]) -> Iterator[list[Message]]:
    """Yield lists of messages without ids: consecutive results in one list, every other message in its own."""
    names = dict[str, str]()
    apart = [one for message in recorded for one in results_apart(message)]
    for are_results, group in groupby(apart, key=lambda one: one.get("role") in _RESULTS):
        if are_results:
            yield _results(group, names)
            continue
        for one in group:
            message = _message(one)
            for call in message.calls:
                # An id that is used again belongs to its newest call, also in the order of calls.
                names.pop(call.id, None)
                names[call.id] = call.name
            yield [message]


def _message(recorded: Json) -> Message:
    role = recorded.get("role")
    if role == "assistant":
        return _reply(recorded)
    if role not in ROLES:
        raise InvalidArgumentError(
            f"the role {role!r:.80} is not known; the known ones are {', '.join(ROLES)}"
        )
    text = text_of_content(recorded.get("content"))
    if role in _INSTRUCTIONS:
        return Message("", "system", "system", {0: text})
    source = recorded.get("source") or PERSON
    return Message("", "user", str(source), {0: text})


def _reply(recorded: Json) -> Message:
    text = text_of_content(recorded.get("content"), calls=True)
    # Next to an empty content, OpenAI has a field of its own for a refusal.
    text = text or text_of_content(recorded.get("refusal"))
    recorded_calls = recorded.get("tool_calls")
    single = recorded.get("function_call")
    if not recorded_calls:
        # OpenAI's older format has a single call; Anthropic's calls are among the parts of the content.
        recorded_calls = [{"function": single}] if single else calls_in(recorded.get("content"))
    calls = tuple(map(_call, recorded_calls))
    texts = {0: text} if text or not calls else {}
    return Message("", "assistant", "assistant", texts, calls)


def _call(recorded: Json) -> FunctionCall:
    function: Json = recorded.get("function") or {}
    call_id = recorded.get("id") or ""
    tool = function.get("name") or ""
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return FunctionCall(str(call_id), str(tool), arguments)


def _results(recorded: Iterator[Json], names: Mapping[str, str]) -> list[Message]:
    """Return consecutive results in the order of their calls; results of unknown calls come last."""
    order = {call_id: position for position, call_id in enumerate(names)}

    def place_of(result: Message) -> int:
        return order.get(result.answers or "", len(order))

    results = [_result(one, names) for one in recorded]
    return sorted(results, key=place_of)


def _result(recorded: Json, names: Mapping[str, str]) -> Message:
    call_id = str(recorded.get("tool_call_id") or "")
    tool = names.get(call_id) or recorded.get("name") or UNKNOWN_TOOL
    text = text_of_content(recorded.get("content"))
    # LangChain's mark of a failed call.
    is_error = recorded.get("status") == "error"
    return Message("", "tool", str(tool), {0: text}, answers=call_id, is_error=is_error)
