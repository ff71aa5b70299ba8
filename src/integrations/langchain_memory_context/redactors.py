"""Redactors that LangChain users have: `PIIMiddleware` as a redactor of this library."""

from __future__ import annotations

from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage

from langchain_memory_context.folded_tool_results import (
    AnyMiddleware,
    Redactor,
)
from memory_context.exceptions import InvalidArgumentError


def as_redactor(redactor: AnyMiddleware | Redactor) -> Redactor:
    """Return a callable that redacts a text, from such a callable or from a middleware that redacts tool results.

    Raises:
        InvalidArgumentError: It is neither, or a `PIIMiddleware` that does not redact tool results.
    """
    if isinstance(redactor, AgentMiddleware):
        middleware: AnyMiddleware = redactor  # pyright: ignore[reportUnknownVariableType] # any type arguments
        if not getattr(middleware, "apply_to_tool_results", True):
            raise InvalidArgumentError(
                f"{middleware.name} does not redact tool results: set apply_to_tool_results=True"
            )
        return lambda text: _redacted_by(middleware, text)
    if callable(redactor):
        return redactor
    raise InvalidArgumentError(
        f"redact= takes callables from text to text, or a PIIMiddleware, not {redactor!r:.80}"
    )


def _redacted_by(redactor: AnyMiddleware, text: str) -> str:
    """Return *text* as the middleware redacts it in a tool's result."""
    messages = [AIMessage(""), ToolMessage(text, tool_call_id="redaction")]
    update = redactor.before_model({"messages": messages}, cast("Any", None))
    return str((update or {}).get("messages", messages)[-1].content)
