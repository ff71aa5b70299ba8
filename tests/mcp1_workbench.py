"""MemoryWorkbench around a real MCP server, and McpWorkbench on our own.

autogen-ext needs mcp 1.x, which the main environment does not have: the name of this file keeps it from being collected
there, and `.ci/run` names it in an environment of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage
from autogen_core.tools import ImageResultContent, TextResultContent, ToolResult
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from mcp_clients import COMMAND
from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.autogen.workbench import MemoryWorkbench
from memory_context.testing import ScriptedChatClient
from messages import LOG

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SERVER = f"""
import base64

from mcp.server.fastmcp import FastMCP, Image

server = FastMCP("jobs")
LOG = {LOG!r}


@server.tool()
def run_job(job: str) -> list[str]:
    if job == "broken":
        raise RuntimeError(LOG)
    return [f"job {{job}}", LOG]


@server.tool()
def picture():
    return ["a small picture", Image(data=base64.b64decode({PIXEL!r}), format="png"), LOG]


@server.tool()
def measure(text: str, rows: list[dict] | None = None) -> str:
    return f"{{len(text)}} characters, {{len(rows or [])}} rows"


server.run()
"""


@pytest.fixture
def params(tmp_path: Path) -> StdioServerParams:
    """How the server is started."""
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    return StdioServerParams(command=sys.executable, args=[str(script)], read_timeout_seconds=300)


@pytest.fixture
def context(sqlite_url: str) -> MemoryContext:
    """A context on a file."""
    return MemoryContext("ann", store=sqlite_url)


@pytest.fixture
async def workbench(
    params: StdioServerParams, context: MemoryContext
) -> AsyncIterator[MemoryWorkbench]:
    """A workbench around the server, started and stopped by it."""
    async with MemoryWorkbench(McpWorkbench(params), context) as workbench:
        yield workbench


def key_of(result: ToolResult) -> str:
    """The key of the reference that the last text of a result begins with."""
    text = result.result[-1]
    assert isinstance(text, TextResultContent)
    return MemoryRef.parse(text.content.split("\n")[0]).key


async def test_tools(workbench: MemoryWorkbench) -> None:
    """The server's tools and those of memory."""
    names = [tool["name"] for tool in await workbench.list_tools()]

    assert [
        "run_job",
        "picture",
        "measure",
        "retrieve_memory",
        "search_memory",
        "store_memory",
    ] == names


async def test_texts_are_folded_as_one(workbench: MemoryWorkbench, context: MemoryContext) -> None:
    """The texts of a result are folded as the one that AutoGen makes of them."""
    result = await workbench.call_tool("run_job", {"job": "a"})

    assert 1 == len(result.result)
    assert f"job a\n{LOG}" == await context.retrieve(key_of(result))


async def test_error(workbench: MemoryWorkbench, context: MemoryContext) -> None:
    """A large error is folded and stays an error."""
    result = await workbench.call_tool("run_job", {"job": "broken"})

    assert result.is_error
    assert LOG in str(await context.retrieve(key_of(result)))


async def test_call_by_reference(workbench: MemoryWorkbench, context: MemoryContext) -> None:
    """A text reaches the server where its reference was passed, as a list where it wants one."""
    ref = f"[MemoryRef: {key_of(await workbench.call_tool('run_job', {'job': 'a'}))}]"
    rows = f"[MemoryRef: {await context.store([{'a': 1}] * 3)}]"
    await workbench.call_tool("search_memory", {"query": ""})

    result = await workbench.call_tool("measure", {"text": ref, "rows": rows})

    assert TextResultContent(content=f"{len(LOG) + 6} characters, 3 rows") == result.result[0]


async def test_unknown_key(workbench: MemoryWorkbench) -> None:
    """A key that does not exist never reaches the server."""
    result = await workbench.call_tool("measure", {"text": "[MemoryRef: nothing]"})

    assert result.is_error
    assert "measure was not called" in result.to_text()


async def test_agent(params: StdioServerParams, context: MemoryContext) -> None:
    """An agent works with the server's tools, started by the first use; it is dumped and loaded with them."""
    server = McpWorkbench(params)
    workbench = MemoryWorkbench(server, context)
    call = FunctionCall(id="1", name="run_job", arguments='{"job": "a"}')
    client = ScriptedChatClient([[call], "done"])
    coder = AssistantAgent(
        "coder", client, workbench=workbench, model_context=context, max_tool_iterations=5
    )

    await coder.run(task="Run job a.")
    dumped = coder.dump_component()
    loaded = AssistantAgent.load_component(json.loads(dumped.model_dump_json()))
    await workbench.stop()

    answer = client.prompts[-1][-1]
    assert isinstance(answer, FunctionExecutionResultMessage)
    assert answer.content[0].content.startswith("[MemoryRef: run_job_")
    assert dumped == loaded.dump_component()


async def test_pictures_stay(workbench: MemoryWorkbench, context: MemoryContext) -> None:
    """A picture stays between its texts."""
    result = await workbench.call_tool("picture")

    assert TextResultContent(content="a small picture") == result.result[0]
    assert isinstance(result.result[1], ImageResultContent)
    assert LOG == await context.retrieve(key_of(result))


class TestOurServer:
    """`memory-context mcp`, as AutoGen's own client sees it."""

    @pytest.fixture
    async def server(self, sqlite_url: str) -> McpWorkbench:
        """AutoGen's workbench on our server, started by its first use."""
        arguments = [*COMMAND[1:], "--store", sqlite_url, "--user", "ann"]
        return McpWorkbench(
            StdioServerParams(
                command=COMMAND[0], args=arguments, env={**os.environ}, read_timeout_seconds=300
            )
        )

    async def test_tools(self, server: McpWorkbench, sqlite_url: str) -> None:
        """AutoGen lists the tools and calls them; a mistake is an error that says what would be right."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store(LOG, "the night's log", key="Night.Log")
        async with server:
            tools = {tool["name"]: tool for tool in await server.list_tools()}
            part = await server.call_tool(
                "retrieve_memory", {"key": "Night.Log", "contains": "SDX9"}
            )
            wrong = await server.call_tool("retrieve_memory", {"key": "nothing"})

        assert "pattern" in tools["retrieve_memory"]["parameters"]["properties"]
        assert ["key"] == tools["retrieve_memory"]["parameters"]["required"]
        assert "401: 2026-01-01 13:00:00 ERROR worker-777" in part.to_text()
        assert not part.is_error
        assert wrong.is_error
        assert "Call search_memory" in wrong.to_text()

    async def test_resources(self, server: McpWorkbench, sqlite_url: str) -> None:
        """AutoGen lists memories as resources and reads them."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store(LOG, "the night's log", key="Night.Log")
        async with server:
            [listed] = (await server.list_resources()).resources
            [content] = (await server.read_resource(str(listed.uri))).contents

        assert LOG == content.model_dump()["text"]

    async def test_an_agent(self, server: McpWorkbench, sqlite_url: str) -> None:
        """An agent keeps a note with one call and finds it with the next."""
        keep = FunctionCall(
            "1",
            '{"content": "port 5433", "description": "where the database listens"}',
            "store_memory",
        )
        find = FunctionCall("2", '{"query": "where does the database listen"}', "search_memory")
        client = ScriptedChatClient([[keep], [find], "done"])
        agent = AssistantAgent("keeper", client, workbench=server, max_tool_iterations=5)

        async with server:
            await agent.run(task="Remember the port.")

        answer = client.prompts[-1][-1]
        assert isinstance(answer, FunctionExecutionResultMessage)
        assert "port 5433" in answer.content[0].content
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            assert ["port 5433"] == [item.text for item in memory.search("database")]

    def test_documentation(self, sqlite_url: str, tmp_path: Path) -> None:
        """The program in docs/mcp.md runs as it stands, but for the paths."""
        page = (Path(__file__).parents[1] / "docs" / "mcp.md").read_text("utf-8")
        [code] = re.findall(r"mcp1_workbench.py` runs it.*?```python\n(.*?)```", page, re.DOTALL)
        start = f"env={dict(os.environ)!r}, command={COMMAND[0]!r}, args=[*{COMMAND[1:-1]!r}, "
        code = re.sub(r'command="memory-context",\s+args=\[', lambda _: start, code)
        code = code.replace("sqlite:////srv/ann/memory.db", sqlite_url)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
        )

        assert (
            "['retrieve_memory', 'search_memory', 'query_memory', 'store_memory'" in done.stdout
        ), done.stderr
        assert "Kept as [MemoryRef: note_" in done.stdout
