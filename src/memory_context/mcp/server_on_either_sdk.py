"""The MCP server object, and the differences between the versions 1.x and 2.x of the MCP SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar

from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared import exceptions
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, TypeAdapter

from memory_context import sentences_models_read as prompts
from memory_context.mcp.resources import Resources
from memory_context.mcp.tool_list import Tools
from memory_context.mcp.wire_types_and_errors import Method, Methods, RequestError, Wire, answered
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.checked_numbers import is_whole
from memory_context.runtime.version import __version__
from memory_context.tools.tool_calls_and_answers import CountsTokens, Verb
from memory_context.tools.tools_of_an_agent import verbs_on

R = TypeVar("R", bound=BaseModel)

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
            given either.
    """
    manager = memories.manager if isinstance(memories, ScopedMemory) else memories
    offered = verbs or verbs_on(memories, queries=True)
    tools = Tools(offered, max_tokens, page_tokens)
    resources = Resources(manager)
    methods: Methods = {
        "ListTools": tools.listed,
        "CallTool": tools.called,
        "ListResources": resources.listed,
        "ListResourceTemplates": resources.templates,
        "ReadResource": resources.read,
    }
    if IS_SDK_1:
        return _server_1(methods)
    return _server_2(methods)


def _server_2(methods: Methods) -> Server[Any]:
    return Server(
        NAME,
        version=__version__,
        instructions=prompts.MCP_INSTRUCTIONS,
        on_list_tools=_handler(methods["ListTools"], types.ListToolsResult),
        on_call_tool=_handler(methods["CallTool"], types.CallToolResult),
        on_list_resources=_handler(methods["ListResources"], types.ListResourcesResult),
        on_list_resource_templates=_handler(
            methods["ListResourceTemplates"], types.ListResourceTemplatesResult
        ),
        on_read_resource=_handler(methods["ReadResource"], types.ReadResourceResult),
    )


def _handler(method: Method, result: type[R]) -> Callable[[Any, BaseModel | None], Awaitable[R]]:
    async def handler(_: Any, params: BaseModel | None) -> R:  # noqa: ANN401 - the SDK's context
        answer = await _answered(method, params)
        return result.model_validate(answer)

    return handler


def _server_1(methods: Methods) -> Server[Any]:
    server: Any = Server(NAME, version=__version__, instructions=prompts.MCP_INSTRUCTIONS)
    sdk: Any = types
    for name, method in methods.items():
        request = getattr(sdk, f"{name}Request")
        result = getattr(sdk, f"{name}Result")
        server.request_handlers[request] = _handler_1(method, result, sdk.ServerResult)
    return server  # type: ignore[no-any-return] # of the other SDK


def _handler_1(method: Method, result: type[R], envelope: Any) -> Callable[[Any], Awaitable[Any]]:  # noqa: ANN401 - of the other SDK
    async def handler(request: Any) -> Any:  # noqa: ANN401 - as above
        answer = await _answered(method, request.params)
        return envelope(result.model_validate(answer))

    return handler


async def _answered(method: Method, params: BaseModel | None) -> Wire:
    wire = Wire()
    if params:
        wire = params.model_dump(by_alias=True)
    try:
        return await answered(method, wire)
    except RequestError as error:
        if not IS_SDK_1:
            raise exceptions.MCPError(error.code, error.message) from None
        sdk: Any = exceptions
        raise sdk.McpError(types.ErrorData(code=error.code, message=error.message)) from None


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
