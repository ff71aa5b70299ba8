"""The verbs on memories as MCP's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_context import wording_for_models as prompts
from memory_context.mcp.requests import INVALID_PARAMS, RequestError, Wire, on_wire
from memory_context.model.tool_names import QUERY, READING_TOOLS, STORE
from memory_context.runtime import events
from memory_context.tools.note_tools import told_arguments
from memory_context.tools.verbs import CountsTokens, MemoryToolError, Verb, answer_limit

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
    """Verbs, each with the memories that it works on, and what `answer_limit` says of the size of answers."""

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
        """Answer ``tools/call``. A failure is a result too, marked as an error, since a model reads it.

        Raises:
            RequestError: There is no such tool.
        """
        name = params["name"]
        if name not in self._offered:
            tools = ", ".join(self._offered)
            message = prompts.MCP_NO_SUCH_TOOL.format(tool=name[:80], tools=tools)
            raise RequestError(INVALID_PARAMS, on_wire(message))
        verb, memories = self._offered[name]
        most = answer_limit(verb, self._max_tokens, self._page_tokens)
        try:
            answer = verb.called(memories, params.get("arguments") or {}, most)
        except MemoryToolError as error:
            return failed(str(error))
        except Exception as error:  # noqa: BLE001 - nothing that a tool does may end the server
            events.TOOL_BROKE.log(error, where=True, tool=name)
            return failed(prompts.MCP_FAILED)
        text = on_wire(answer.text)
        return {
            **_content(text),
            "structuredContent": {"text": text, "keys": list(answer.keys)},
            "isError": False,
        }


def _tool(verb: Verb[Any], memories: CountsTokens) -> Wire:
    return {
        "name": verb.name,
        "title": verb.name.replace("_", " ").capitalize(),
        "description": verb.description,
        "inputSchema": told_arguments(verb, memories),
        "outputSchema": _ANSWER,
        "annotations": _hints(verb),
    }


def _hints(verb: Verb[Any]) -> Wire:
    """Return hints, so that a client asks its user less often: without them MCP takes a tool for destructive."""
    if verb.name in (STORE, QUERY):  # a query may keep its answer
        return {"openWorldHint": False, "destructiveHint": False, "idempotentHint": True}
    if verb.name in READING_TOOLS:
        return {"readOnlyHint": True, "openWorldHint": False}
    return {"openWorldHint": False}


def _content(text: str) -> Wire:
    return {"content": [{"type": "text", "text": text}]}


def failed(text: str) -> Wire:
    """Return a result that says what went wrong."""
    return {**_content(on_wire(text)), "isError": True}
