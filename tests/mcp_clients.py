"""The SDK's own clients, of mcp 1.x and 2.x, on servers in processes of their own; what they get, as JSON has it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mcp
import mcp.client.streamable_http as http
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared import exceptions
from mcp.types import PaginatedRequestParams
from pydantic import BaseModel

import commands

SDK = int(version("mcp").partition(".")[0])
COMMAND = [*commands.COMMAND, "mcp"]
RefusedError: Any = getattr(exceptions, "McpError" if SDK == 1 else "MCPError")


@dataclass(frozen=True)
class Client:
    """A session with a server."""

    session: Any

    async def tools(self) -> dict[str, Any]:
        """The tools, by name."""
        return {tool["name"]: tool for tool in as_json(await self.session.list_tools())["tools"]}

    async def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """The result of a tool."""
        return as_json(await self.session.call_tool(name, arguments))

    async def text(self, name: str, **arguments: object) -> str:
        """The text of a tool's answer, which is no error."""
        result = await self.call(name, **arguments)
        assert not result["isError"], result
        [content] = result["content"]
        assert content["text"] == result["structuredContent"]["text"]
        return str(content["text"])

    async def mistake(self, name: str, **arguments: object) -> str:
        """What a tool says to a call that is of no use."""
        result = await self.call(name, **arguments)
        assert result["isError"], result
        [content] = result["content"]
        return str(content["text"])

    async def page(self, cursor: str | None = None) -> dict[str, Any]:
        """A page of resources."""
        return as_json(
            await self.session.list_resources(params=PaginatedRequestParams(cursor=cursor))
        )

    async def templates(self) -> dict[str, Any]:
        """The templates of resources."""
        return as_json(await self.session.list_resource_templates())

    async def read(self, uri: str) -> dict[str, Any]:
        """The one content of a resource."""
        [content] = as_json(await self.session.read_resource(uri))["contents"]
        return dict(content)

    async def refusal(self, uri: str) -> tuple[int, str]:
        """Code and message of the error that reading a resource gets."""
        try:
            answer = await self.read(uri)
        except RefusedError as refused:
            return refused.error.code, refused.error.message
        raise AssertionError(answer)


def as_json(result: BaseModel) -> dict[str, Any]:
    """A result as it stood on the wire."""
    return dict(result.model_dump(mode="json", by_alias=True, exclude_none=True))


@asynccontextmanager
async def session_with(
    target: StdioServerParameters | str, mode: str = "legacy"
) -> AsyncIterator[Client]:
    """A session with a server that is started for it, or that listens at a URL.

    Args:
        target: How it is started, or its URL.
        mode: ``legacy`` begins as the clients of 2025 do; ``auto``, of mcp 2.x only, as those of 2026 do.
    """
    if mode == "auto":
        async with mcp.Client(target) as client:
            yield Client(client.session)
        return
    streams: Any = (
        http.streamable_http_client(target) if isinstance(target, str) else stdio_client(target)
    )
    async with streams as both, ClientSession(both[0], both[1]) as session:
        await session.initialize()
        yield Client(session)


def on_stdio(*arguments: str, cwd: str = "/", **environment: str) -> StdioServerParameters:
    """How a client starts a server."""
    env = {**os.environ, **environment}
    return StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *arguments], env=env, cwd=cwd
    )


def http_server(
    *arguments: str, **environment: str
) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    """A server on a port that is free, and its URL."""
    return http_started([*COMMAND, "--http", "0", *arguments], environment)


@contextmanager
def http_started(
    command: list[str], environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and the URL that it prints."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, **(environment or {})},
    ) as server:
        try:
            assert server.stdout
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()
