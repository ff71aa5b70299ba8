"""List and call the memory tools (the library's *verbs*) over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.mcp.wire_types_and_errors import INVALID_PARAMS, RequestError, Wire
from memory_context.model.item import encodable
from memory_context.model.tool_names import QUERY, READING_TOOLS, STORE
from memory_context.runtime import log_events
from memory_context.tools.note_tools import told_arguments
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
)

_ANSWER = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": prompts.MCP_ANSWER_TEXT},
        "keys": {
            "type": "array",
            "items": {"type": "string"},
            "description": prompts.MCP_ANSWER_KEYS,
        },
    },
    "required": ["text", "keys"],
}


class Tools:
    """The verbs that a server offers, each with the memories that it works on.

    Args:
        verbs: The verbs, and what each works on.
        max_tokens: The most tokens of an answer; see `answer_limit`.
        page_tokens: The most tokens of a page of `retrieve_memory`; see `answer_limit`.
    """

    def __init__(
        self,
        verbs: Mapping[Verb[Any], CountsTokens],
        max_tokens: int | None,
        page_tokens: int | None = None,
    ) -> None:
        self._offered = {verb.name: (verb, memories) for verb, memories in verbs.items()}
        self._max_tokens = max_tokens
        self._page_tokens = page_tokens

    def listed(self, _: Wire) -> Wire:
        """Answer ``tools/list``."""
        return {"tools": [_tool(verb, memories) for verb, memories in self._offered.values()]}

    def called(self, params: Wire) -> Wire:
        """Answer ``tools/call``. If the tool fails, the result is marked as an error, so that the model reads why.

        Raises:
            RequestError: There is no such tool.
        """
        name = params["name"]
        if name not in self._offered:
            tools = ", ".join(self._offered)
            message = prompts.MCP_NO_SUCH_TOOL.format(tool=name[:80], tools=tools)
            raise RequestError(INVALID_PARAMS, encodable(message))
        verb, memories = self._offered[name]
        limit = answer_limit(verb, self._max_tokens, self._page_tokens)
        try:
            answer = verb.called(memories, params.get("arguments") or {}, limit)
        except MemoryToolError as error:
            return failed(str(error))
        except Exception as error:  # noqa: BLE001 - no error of a tool may end the server
            log_events.TOOL_BROKE.log(error, where=True, tool=name)
            return failed(prompts.MCP_FAILED)
        text = encodable(answer.text)
        return {
            **_content(text),
            "structuredContent": {"text": text, "keys": list(answer.keys)},
            "isError": False,
        }


def _tool(verb: Verb[Any], memories: CountsTokens) -> Wire:
    # MCP's hints about a tool. Without them a client assumes that it is destructive, and asks its user.
    hints = {"openWorldHint": False}
    if verb.name in (STORE, QUERY):  # a query may store its answer
        hints |= {"destructiveHint": False, "idempotentHint": True}
    elif verb.name in READING_TOOLS:
        hints["readOnlyHint"] = True
    return {
        "name": verb.name,
        "title": verb.name.replace("_", " ").capitalize(),
        "description": verb.description,
        "inputSchema": told_arguments(verb, memories),
        "outputSchema": _ANSWER,
        "annotations": hints,
    }


def _content(text: str) -> Wire:
    return {"content": [{"type": "text", "text": text}]}


def failed(text: str) -> Wire:
    """Return a result that is marked as an error and says what went wrong."""
    return {**_content(encodable(text)), "isError": True}
