"""The MCP server object, and the differences between the versions 1.x and 2.x of the MCP SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias, cast

from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared import exceptions
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, TypeAdapter

from memory_context import sentences_models_read as prompts
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.mcp.resources import Resources
from memory_context.mcp.wire_types_and_errors import Method, Methods, RequestError, Wire, answered
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import is_whole
from memory_context.runtime.version import __version__
from memory_context.tools.tool_calls_and_answers import CountsTokens, Verb
from memory_context.tools.tools_of_an_agent import verbs_on

NAME = "memory-context"
IS_SDK_1 = version("mcp").startswith("1.")
Verbs: TypeAlias = Mapping[Verb[Any], CountsTokens]
_MESSAGE = TypeAdapter[Any](types.JSONRPCMessage)


def mcp_server(
    memories: MemoryManager | ScopedMemory,
    *,
    verbs: Verbs | None = None,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
) -> Server[Any]:
    """Return an MCP server for one user's memories, to run on any transport of the SDK; `serve` runs it as a process.

    Args:
        memories: The memories; or a `ScopedMemory`, whose notes the server has tools for, too. Everybody who reaches
            the server reads and writes them as this user.
        verbs: The server's tools, each with the object that it works on; by default those for *memories*.
        max_tokens: The most tokens of a tool's answer, at least 200; 500 by default.
        page_tokens: The most tokens of a page of `retrieve_memory`; by default `max_tokens`, or 4,000 if that is not
            given either. An answer of `query_memory` that fits a page is whole; a larger one is begun.
    """
    check_owner(memories, MemoryManager, ScopedMemory)
    manager = memories.manager if isinstance(memories, ScopedMemory) else memories
    check_arguments(verbs=verbs, max_tokens=max_tokens, page_tokens=page_tokens)
    offered = verbs or verbs_on(memories, queries=True)
    tools = Tools(offered, max_tokens, page_tokens)
    resources = Resources(manager)
    methods: Methods = {
        "list_tools": tools.listed,
        "call_tool": tools.called,
        "list_resources": resources.listed,
        "list_resource_templates": resources.templates,
        "read_resource": resources.read,
    }
    sdk: Any = types
    settings: dict[str, Any] = {}
    handlers_1: dict[Any, Any] = {}
    for name, method in methods.items():
        kind = name.title().replace("_", "")
        handler = _handler(method, getattr(sdk, f"{kind}Result"))
        if IS_SDK_1:
            handlers_1[getattr(sdk, f"{kind}Request")] = handler
        else:
            settings[f"on_{name}"] = handler
    server: Any = Server(
        NAME, version=__version__, instructions=prompts.MCP_INSTRUCTIONS, **settings
    )
    if IS_SDK_1:
        server.request_handlers.update(handlers_1)
    return cast("Server[Any]", server)


def _handler(method: Method, result: type[BaseModel]) -> Callable[..., Awaitable[Any]]:
    async def handler(*given: Any) -> Any:  # noqa: ANN401 - the SDK's
        """Answer a request: SDK 1 gives the request, SDK 2 a context and the request's parameters."""
        params = given[0].params if IS_SDK_1 else given[1]
        try:
            answer = await answered(method, params.model_dump(by_alias=True) if params else {})
        except RequestError as error:
            if not IS_SDK_1:
                raise exceptions.MCPError(error.code, error.message) from None
            refused: Any = exceptions
            data = types.ErrorData(code=error.code, message=error.message)
            raise refused.McpError(data) from None
        sdk: Any = types
        made = result.model_validate(answer)
        return sdk.ServerResult(made) if IS_SDK_1 else made

    return handler


def wire_of(message: SessionMessage) -> Wire:
    """Return a message of the SDK as a JSON object, as it is on the wire."""
    wire: Wire = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
    # A request whose id MCP forbids (null, 0.5, true) is a notification in both SDKs, and SDK 1 leaves the id in it.
    # It would refuse the answer to such a request, and the session would end.
    if "method" in wire and not is_id(wire.get("id")):
        wire.pop("id", None)
    return wire


def is_id(value: object) -> bool:
    """Return whether MCP allows *value* as the id of a request: a whole number, or a string."""
    return is_whole(value) or isinstance(value, str)


def message_of(wire: Wire) -> SessionMessage:
    """Return a JSON object from the wire as a message of the SDK."""
    return SessionMessage(_MESSAGE.validate_python({"jsonrpc": "2.0", **wire}))
