"""Recorded agent runs in OpenAI's chat form, as AutoGen's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
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


def to_messages(recorded: Sequence[Mapping[str, Any]]) -> Iterator[LLMMessage]:
    """AutoGen's messages for those of OpenAI's chat form: results that follow one another are one message.

    Results stand in the order of the calls that they answer, and bear their names; unknown roles are users.
    """
    calls: dict[str, str] = {}
    for are_results, group in groupby(recorded, key=lambda one: one.get("role") in _RESULTS):
        if are_results:
            yield _results(list(group), calls)
            continue
        for one in group:
            message = _message(one)
            if isinstance(message, AssistantMessage) and isinstance(message.content, list):
                calls = _with_calls(calls, message.content)
            yield message


def _with_calls(calls: Mapping[str, str], newest: Sequence[FunctionCall]) -> dict[str, str]:
    """Names by ids in the order of the calls; an id that is used again stands for its newest call."""
    names = {call.id: call.name for call in newest}
    return {call: name for call, name in calls.items() if call not in names} | names


def _message(recorded: Mapping[str, Any]) -> LLMMessage:
    text = _text(recorded.get("content"))
    if recorded.get("role") in _INSTRUCTIONS:
        return SystemMessage(content=text)
    if recorded.get("role") != ASSISTANT:
        return UserMessage(content=text, source="user")
    calls = [_call(call) for call in _recorded_calls(recorded)]
    if not calls:
        return AssistantMessage(content=text, source=ASSISTANT)
    return AssistantMessage(content=calls, source=ASSISTANT, thought=text or None)


def _recorded_calls(recorded: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of a message; before there were several, one stood under ``function_call``."""
    single = recorded.get("function_call")
    return recorded.get("tool_calls") or ([{"function": single}] if single else [])


def _call(recorded: Mapping[str, Any]) -> FunctionCall:
    function: Mapping[str, Any] = recorded.get("function") or {}
    arguments = function.get("arguments") or "{}"
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return FunctionCall(
        id=str(recorded.get("id") or ""), name=str(function.get("name") or ""), arguments=written
    )


def _results(
    recorded: list[Mapping[str, Any]], calls: Mapping[str, str]
) -> FunctionExecutionResultMessage:
    """Results of calls that nobody made come last."""
    places = {call: place for place, call in enumerate(calls)}
    results = [_result(one, calls) for one in recorded]
    results.sort(key=lambda result: places.get(result.call_id, len(places)))
    return FunctionExecutionResultMessage(content=results)


def _result(recorded: Mapping[str, Any], calls: Mapping[str, str]) -> FunctionExecutionResult:
    call = str(recorded.get("tool_call_id") or "")
    name = calls.get(call) or str(recorded.get("name") or UNKNOWN_TOOL)
    failed = recorded.get("status") == "error"  # as LangChain notes it
    return FunctionExecutionResult(
        content=_text(recorded.get("content")), name=name, call_id=call, is_error=failed
    )


def _text(content: object) -> str:
    """The text of a content: of parts their texts, of anything else its JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content)
    parts = (
        _text(cast("dict[str, Any]", one).get("text")) if isinstance(one, dict) else _text(one)
        for one in cast("list[object]", content)
    )
    return "\n".join(part for part in parts if part)
