"""References in code become files in the working directory of what runs it, in every host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent
from autogen_agentchat.agents._code_executor_agent import ApprovalRequest, ApprovalResponse
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken, FunctionCall
from autogen_core.code_executor import CodeBlock
from autogen_core.tools import FunctionTool
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool as langchain_tool

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryContext, MemoryManager, MemoryRef, PassingPolicy
from memory_context.agent_framework import MemoryContextProvider
from memory_context.autogen import MemoryCodeExecutor
from memory_context.conversation.references.pass_by_reference import NotPassedError
from memory_context.conversation.references.texts_as_files_for_tools import file_name, with_files
from memory_context.exceptions import InvalidArgumentError
from memory_context.testing import ScriptedChatClient, ScriptedProvider, calling
from messages import LOG

# The tests have no Docker.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Using LocalCommandLineCodeExecutor"),
    pytest.mark.filterwarnings("ignore:Restarting local command line"),
]

COUNT = 'print(sum("ERROR" in line for line in open("{ref}")))'
ERRORS = str(sum("ERROR" in line for line in LOG.splitlines()))


def run_build() -> str:
    """Run the build."""
    return LOG


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory."""
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def memory() -> MemoryManager:
    """A log, a list, a picture and a secret."""
    manager = MemoryManager("sqlite://", user_id="ann")
    manager.store(LOG, key="log")
    manager.store([1, 2], key="list")
    manager.store(b"\x89PNG\r\n\x1a\n\0", key="picture")
    manager.store("hunter2", type="secret", key="password")
    return manager


def _python(folder: Path) -> Any:
    def python(code: str) -> str:
        """Run Python."""
        return subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
        ).stdout

    return python


def _filled(memory: MemoryManager, folder: Path, code: str, **policy: Any) -> str:
    keys = [ref.key for ref in MemoryRef.find_all(code)]
    arguments = {"code": code, "timeout": 3}
    filled = with_files(arguments, "python", PassingPolicy(**policy), memory, keys, folder)
    assert 3 == filled["timeout"]
    return str(filled["code"])


def test_files(memory: MemoryManager, folder: Path) -> None:
    """Each reference becomes the name of a file with the bytes of its memory, also of binary content."""
    code = "a = '[MemoryRef: log - a log - 9 tokens]'; b = '[MemoryRef: list]'; c = '[MemoryRef: picture]'"
    assert "a = 'log.txt'; b = 'list.json'; c = 'picture.png'" == _filled(memory, folder, code)
    assert LOG == (folder / "log.txt").read_text()
    assert [1, 2] == json.loads((folder / "list.json").read_text())
    assert memory.get("picture").content == (folder / "picture.png").read_bytes()
    memory.store("new", key="log", replace=True)
    _filled(memory, folder, code)
    assert "new" == (folder / "log.txt").read_text()
    assert {"log.txt", "list.json", "picture.png"} == {path.name for path in folder.iterdir()}


def test_names(memory: MemoryManager) -> None:
    """A key with an ending keeps it once, and a long one is cut to what a file system takes."""
    memory.store("x", key="notes.txt")
    assert "notes.txt" == file_name(memory.get("notes.txt"))
    memory.store("x", key="k" * 255)
    assert len(file_name(memory.get("k" * 255))) < 255


def test_a_link_in_the_files_place_is_not_followed(
    memory: MemoryManager, folder: Path, tmp_path: Path
) -> None:
    """What a link leads to stays as it is; a folder in the place is an error that says so."""
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (folder / "log.txt").symlink_to(outside)
    _filled(memory, folder, "'[MemoryRef: log]'")
    assert "mine" == outside.read_text()
    assert LOG == (folder / "log.txt").read_text()
    (folder / "list.json").mkdir()
    with pytest.raises(NotPassedError, match=r"list\.json could not be written"):
        _filled(memory, folder, "'[MemoryRef: list]'")


def test_what_is_not_written(memory: MemoryManager, folder: Path) -> None:
    """Secrets, unknown keys, keys that were not shown, and too much text keep the code from running."""
    for code, why in (
        ("'[MemoryRef: password]'", "secret"),
        ("'[MemoryRef: nothing]'", "no memory"),
    ):
        with pytest.raises(NotPassedError, match=why):
            _filled(memory, folder, code)
    with pytest.raises(NotPassedError, match="No reference"):
        with_files("[MemoryRef: log]", "python", PassingPolicy(), memory, [], folder)
    with pytest.raises(NotPassedError, match="at most"):
        _filled(memory, folder, "'[MemoryRef: log]'", max_argument_bytes=10)
    assert [] == list(folder.iterdir())
    assert "'password.txt'" == _filled(
        memory, folder, "'[MemoryRef: password]'", secrets_for=["python"]
    )


def test_a_folder_is_needed(folder: Path) -> None:
    """A directory that is not there, and an executor without one, are errors that say so."""
    with pytest.raises(InvalidArgumentError, match="for python, which is not a directory"):
        PassingPolicy(directories={"python": folder / "nowhere"})
    context = MemoryContext("ann", store="sqlite://")
    inner = MemoryCodeExecutor(LocalCommandLineCodeExecutor(work_dir=folder), context)
    with pytest.raises(InvalidArgumentError, match="no work_dir"):
        MemoryCodeExecutor(inner, context)


async def test_autogen_tool(folder: Path, sqlite_url: str) -> None:
    """An AutoGen agent's tool that runs code reads what the agent has seen a reference to."""
    context = MemoryContext("ann", store=sqlite_url)

    def ask(messages: Any) -> list[FunctionCall]:
        [ref] = MemoryRef.find_all(str(messages[-1].content[0].content))
        code = COUNT.format(ref=ref)
        return [FunctionCall(id="2", name="python", arguments=json.dumps({"code": code}))]

    client = ScriptedChatClient(
        [[FunctionCall(id="1", name="run_build", arguments="{}")], ask, "Done."]
    )
    tools = [FunctionTool(run_build, "Build."), FunctionTool(_python(folder), "Run Python.")]
    policy = PassingPolicy(directories={"python": folder})
    workbench = context.workbench(tools, pass_by_reference=policy)
    agent = AssistantAgent(
        "coder", model_client=client, model_context=context, workbench=workbench, max_tool_iterations=5,
    )  # fmt: skip
    await agent.run(task="How many errors?")
    last: Any = client.prompts[-1][-1]
    assert ERRORS == last.content[0].content.strip()
    assert {"python": str(folder)} == workbench.dump_component().config["pass_by_reference"][
        "directories"
    ]


def _approved(_: ApprovalRequest) -> ApprovalResponse:
    return ApprovalResponse(approved=True, reason="a test")


async def test_autogen_executor(folder: Path) -> None:
    """AutoGen's agent that runs its own code reads memories as files, by the executor that it has."""
    context = MemoryContext("ann", store="sqlite://", threshold=100)

    def write(messages: Any) -> str:
        [ref] = MemoryRef.find_all(str(messages[-1].content))
        return f"```python\n{COUNT.format(ref=ref)}\n```"

    client = ScriptedChatClient([write, "There are some."])
    executor = MemoryCodeExecutor(LocalCommandLineCodeExecutor(work_dir=folder), context)
    async with executor:
        agent = CodeExecutorAgent(
            "coder", executor, model_client=client, model_context=context, approval_func=_approved
        )
        await agent.run(task=TextMessage(content=f"Count errors.\n{LOG}", source="tester"))
        await executor.restart()
        refused = await executor.execute_code_blocks(
            [CodeBlock("open('[MemoryRef: other]')", "python")], CancellationToken()
        )
    assert ERRORS in str(client.prompts[-1][-1].content)
    assert 1 == refused.exit_code
    assert "No reference" in refused.output


def test_langchain(folder: Path) -> None:
    """A LangChain agent's tool that runs code reads memories as files."""
    policy = PassingPolicy(directories={"python": folder})
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann", pass_by_reference=policy)

    def ask(messages: Any) -> Any:
        [ref] = MemoryRef.find_all(str(messages[-1].content))
        return [call("python", "2", code=COUNT.format(ref=ref))]

    model = ScriptedChatModel([[call("run_build", "1")], ask, "Done."])
    tools = [langchain_tool(run_build), langchain_tool(_python(folder))]
    agent = create_agent(model, tools, middleware=[middleware])
    state = agent.invoke({"messages": [HumanMessage("How many errors?")]})
    assert ERRORS == str(state["messages"][-2].content).strip()


async def test_agent_framework(folder: Path) -> None:
    """A tool of Agent Framework that runs code reads memories as files."""
    policy = PassingPolicy(directories={"python": folder})
    memory = MemoryContextProvider("sqlite://", user_id="ann", pass_by_reference=policy)
    with ScriptedProvider([calling("run_build", "c1"), {"content": "Built."}]) as provider:
        client = OpenAIChatCompletionClient(model="gpt-4o", api_key="none", base_url=provider.url)
        tools = [tool(approval_mode="never_require")(one) for one in (run_build, _python(folder))]
        agent = Agent(client, tools=tools, context_providers=[memory])
        session = agent.create_session()
        await agent.run("Build.", session=session)
        [ref] = MemoryRef.find_all(json.dumps(provider.asked[-1]["messages"]))
        provider.script = [
            calling("python", "c2", code=COUNT.format(ref=f"[MemoryRef: {ref.key}]")),
            {"content": "Done."},
        ]
        await agent.run("How many errors?", session=session)
    assert [] == provider.refused
    assert ERRORS == provider.asked[-1]["messages"][-1]["content"].strip()
