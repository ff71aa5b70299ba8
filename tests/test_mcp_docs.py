"""What docs/mcp.md says is so: its configurations and commands start a server."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from mcp_clients import COMMAND, http_started, session_with
from memory_context import MemoryManager

PAGE = (Path(__file__).parents[1] / "docs" / "mcp.md").read_text("utf-8")
PATH = "sqlite:////srv/ann/memory.db"


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def at_home(text: str, url: str) -> str:
    """`text` with the test's own database in place of the page's."""
    assert PATH in text
    return text.replace(PATH, url)


@pytest.mark.long
@pytest.mark.parametrize("config", blocks("json"))
async def test_configurations(config: str, sqlite_url: str) -> None:
    """A client that starts what a configuration says gets ann's memories."""
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store("kept", key="of.ann")
    [servers] = json.loads(at_home(config, sqlite_url)).values()
    server = servers["memory"]
    assert "memory-context" == server["command"]
    arguments = [*COMMAND[1:-1], *server["args"]]
    env = {**os.environ, **server.get("env", {})}
    params = StdioServerParameters(command=COMMAND[0], args=arguments, env=env, cwd="/")

    async with session_with(params) as client:
        assert "kept" in await client.text("retrieve_memory", key="of.ann")


@pytest.mark.long
@pytest.mark.parametrize("line", [line for block in blocks("bash") for line in block.splitlines()])
async def test_commands(line: str, sqlite_url: str) -> None:
    """A command serves over HTTP, on its port; here on one that is free."""
    name, *arguments = shlex.split(at_home(line, sqlite_url).replace("--http 8765", "--http 0"))
    assert "memory-context" == name
    with http_started([*COMMAND[:-1], *arguments]) as (_, url):
        async with session_with(url) as client:
            assert "search_memory" in await client.tools()
