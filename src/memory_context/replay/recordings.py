"""Recorded agent runs in OpenAI's chat form, with content as any provider has it, as AutoGen's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import cast

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memory_context.replay.content_parts import (
    RecordedMessage,
    calls_in,
    results_apart,
    text_of_content,
)

ASSISTANT = "assistant"
UNKNOWN_TOOL = "tool"
_RESULTS = ("tool", "function")
_INSTRUCTIONS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run.

    Attributes:
        id: What the file calls it.
        messages: All its messages, in order; each `AssistantMessage` is a model call.
    """

    id: str
    messages: tuple[LLMMessage, ...]


def to_messages(recorded: Sequence[RecordedMessage]) -> Iterator[LLMMessage]:
    """Yield AutoGen's messages for those of OpenAI's chat form: results that follow one another are one message.

    Results stand in the order of the calls that they answer, and bear their names; unknown roles are users.
    """
    names = dict[str, str]()
    apart = chain.from_iterable(map(results_apart, recorded))
    for are_results, group in groupby(apart, key=lambda one: one.get("role") in _RESULTS):
        if are_results:
            yield _results(group, names)
            continue
        for one in group:
            message = _message(one)
            if isinstance(message, AssistantMessage) and isinstance(message.content, list):
                for call in message.content:
                    # An id that is used again stands for its newest call, also in the order of calls.
                    names.pop(call.id, None)
                    names[call.id] = call.name
            yield message


def _message(recorded: RecordedMessage) -> LLMMessage:
    text = text_of_content(recorded.get("content"))
    if recorded.get("role") in _INSTRUCTIONS:
        return SystemMessage(content=text)
    if recorded.get("role") != ASSISTANT:
        return UserMessage(content=text, source="user")
    calls = [_call(call) for call in _recorded_calls(recorded)]
    if not calls:
        return AssistantMessage(content=text, source=ASSISTANT)
    return AssistantMessage(content=calls, source=ASSISTANT, thought=text or None)


def _recorded_calls(recorded: RecordedMessage) -> list[RecordedMessage]:
    """Return the calls of a message; before there could be several, one stood under ``function_call``.

    Anthropic's stand among the parts of its content.
    """
    if calls := recorded.get("tool_calls"):
        return cast("list[RecordedMessage]", calls)
    single = recorded.get("function_call")
    return [{"function": single}] if single else calls_in(recorded.get("content"))


def _call(recorded: RecordedMessage) -> FunctionCall:
    function: RecordedMessage = recorded.get("function") or {}
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return FunctionCall(
        id=str(recorded.get("id") or ""), name=str(function.get("name") or ""), arguments=arguments
    )


def _results(
    recorded: Iterator[RecordedMessage], names: Mapping[str, str]
) -> FunctionExecutionResultMessage:
    """Return results that follow one another, in the order of their calls; those of unknown calls come last."""
    order = {call_id: position for position, call_id in enumerate(names)}
    results = [_result(one, names) for one in recorded]
    results.sort(key=lambda result: order.get(result.call_id, len(order)))
    return FunctionExecutionResultMessage(content=results)


def _result(recorded: RecordedMessage, names: Mapping[str, str]) -> FunctionExecutionResult:
    call_id = str(recorded.get("tool_call_id") or "")
    return FunctionExecutionResult(
        content=text_of_content(recorded.get("content")),
        name=names.get(call_id) or str(recorded.get("name") or UNKNOWN_TOOL),
        call_id=call_id,
        is_error=recorded.get("status") == "error",  # as LangChain notes it
    )
