"""The MCP server from the outside: real processes, the SDK's own client, over both transports.

It runs on mcp 2.x in the main environment, and `.ci/run` runs it on mcp 1.x too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_clients import Client, http_server, on_stdio, over_http
from memory_context import MemoryManager
from messages import LOG

INVALID_PARAMS = -32602
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a few memories of ann's, and one of bob's."""
    url = f"sqlite:///{tmp_path_factory.mktemp('mcp') / 'memory.db'}"
    with MemoryManager(url, user_id="bob") as memory:
        memory.store("what bob knows", key="of.bob")
    with MemoryManager(url, user_id="ann") as memory:
        memory.store(LOG, "the night's log", key="Night.Log")
        memory.store(PIXEL, key="pixel")
        memory.store({"orders": [{"id": 1, "total": 50}, {"id": 2, "total": 150}]}, key="orders")
        memory.store("hunter2", "password of the database", "secret", key="password")
    return url


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    """How the client reaches the server."""
    return str(request.param)


@asynccontextmanager
async def connected(transport: str, url: str, *arguments: str, user: str = "ann") -> AsyncIterator[Client]:
    """A client of a server in a process of its own."""
    arguments = ("--store", url, "--user", user, *arguments)
    if transport == "stdio":
        async with on_stdio(*arguments) as client:
            yield client
    else:
        with http_server(*arguments) as (_, address):
            async with over_http(address) as client:
                yield client


async def test_tools(transport: str, url: str) -> None:
    """A client stores, finds and reads, over either transport."""
    async with connected(transport, url) as client:
        assert ["retrieve_memory", "search_memory", "store_memory"] == [*await client.tools()]
        stored = await client.call("store_memory", content="the port of the database is 5433", description="a port")
        [key] = stored["structuredContent"]["keys"]
        found = await client.text("search_memory", query="port of the database")
        assert key in found
        assert "5433" in await client.text("retrieve_memory", key=key)
