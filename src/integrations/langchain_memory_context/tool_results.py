"""What an agent's tools give, folded; and middleware that redacts it first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from langchain_memory_context.message_folding import GetOrigin, MessageFolder, Redactor
from langchain_memory_context.messages import FACTS, lines_of_previews, texts_of
from memory_context.conversation.key_trust import vouched_in
from memory_context.exceptions import InvalidArgumentError

ToolOutcome: TypeAlias = ToolMessage | Command[Any]
AnyMiddleware: TypeAlias = AgentMiddleware[Any, Any, Any]


def fold_outcome(
    folder: MessageFolder, outcome: ToolOutcome, tool: str, origin: GetOrigin
) -> ToolOutcome:
    """What a tool's call gave, with its messages folded."""
    match outcome:
        case ToolMessage():
            return folder.fold_result(_unclaimed(outcome, folder), tool, origin)
        case Command():
            update = _as_mapping(outcome.update)
            return (
                outcome
                if update is None
                else replace(outcome, update=_fold_update(folder, update, tool, origin))
            )


def _fold_update(
    folder: MessageFolder, update: Mapping[str, Any], tool: str, origin: GetOrigin
) -> dict[str, Any]:
    messages = update.get("messages")
    listed: list[Any] = [*messages] if isinstance(messages, list) else [messages]  # pyright: ignore[reportUnknownVariableType] # checked below
    folded = [
        folder.fold_result(_unclaimed(one, folder), tool, origin)
        if isinstance(one, ToolMessage)
        else one
        for one in listed
    ]
    return {**update, "messages": folded} if messages else dict(update)


def _unclaimed(message: ToolMessage, folder: MessageFolder) -> ToolMessage:
    """`message` without a note of folds that this process has not made: a tool may bring any metadata with it."""
    user_id = folder.manager.scope.user_id
    made = {key for text in texts_of(message) for key in vouched_in(user_id, text)}
    if lines_of_previews(message).keys() <= made:
        return message
    metadata = {name: value for name, value in message.response_metadata.items() if name != FACTS}
    return message.model_copy(update={"response_metadata": metadata})


def _as_mapping(update: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 - a Command takes anything
    return cast("Mapping[str, Any]", update) if isinstance(update, Mapping) else None


def as_redactor(redactor: AnyMiddleware | Redactor) -> Redactor:
    """A callable that takes away from a text what must not be stored; of a middleware, what it does to tools' results.

    Raises:
        InvalidArgumentError: It is neither, or a `PIIMiddleware` that leaves tools' results as they are.
    """
    if isinstance(redactor, AgentMiddleware):
        middleware: AnyMiddleware = redactor  # pyright: ignore[reportUnknownVariableType] # any type arguments
        if not getattr(middleware, "apply_to_tool_results", True):
            message = f"{middleware.name} leaves tools' results as they are: give it apply_to_tool_results=True"
            raise InvalidArgumentError(message)
        return lambda text: _through(middleware, text)
    if callable(redactor):
        return redactor
    message = f"redact= takes callables from text to text, or a PIIMiddleware, not {redactor!r:.80}"
    raise InvalidArgumentError(message)


def _through(redactor: AnyMiddleware, text: str) -> str:
    """What stays of a tool's result when the middleware has looked at it."""
    messages = [AIMessage(""), ToolMessage(text, tool_call_id="redaction")]
    update = redactor.before_model({"messages": messages}, cast("Any", None))
    return str((update or {}).get("messages", messages)[-1].content)
