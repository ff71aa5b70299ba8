"""The tool `memory`, by which an agent keeps files: in AutoGen and in LangChain, by one list of commands."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ToolCallExecutionEvent
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import FunctionExecutionResultMessage
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

import langchain_memory_context
from examples import examples
from for_each import for_each
from hostile import PATHS
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    AgentMemoryService,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    default_counter,
)
from memory_context import sentences_models_read as prompts
from memory_context.autogen import AgentFilesTool, file_tools
from memory_context.testing import ScriptedChatClient
from memory_context.tools.file_tools import FILES, AgentFiles, FileArgs
from memory_context.tools.tool_calls_and_answers import MemoryToolError

NOTES = "# Notes\n\nTabs, not spaces.\n"


@pytest.fixture
def service(tmp_path: Path) -> AgentMemoryService:
    """A service with the files of one agent."""
    service = AgentMemoryService(tmp_path / "cache")
    service.write_memory_file("ann", "notes.md", NOTES)
    service.write_memory_file("ann", "plans/one.md", "step one\n")
    return service


def say(service: AgentMemoryService, max_tokens: int = 500, **arguments: Any) -> str:
    """What the tool answers, also if that is an error."""
    try:
        return FILES.answer(AgentFiles(service, "ann"), FileArgs(**arguments), max_tokens).text
    except MemoryToolError as error:
        return str(error)


def test_view(service: AgentMemoryService) -> None:
    """A folder lists what is in it with sizes, a file shows its lines with their numbers."""
    listed = (
        "/memories, 1-3 of 3 files and folders:\n/memories/notes.md (27 bytes)\n/memories/plans/\n"
        "/memories/plans/one.md (9 bytes)"
    )
    for path in ("/memories", "/memories/", "memories", None):
        assert listed == say(service, command="view", path=path)
    for path in ("/memories/plans", "/memories/plans/"):
        assert listed.splitlines()[-1] in say(service, command="view", path=path)
    assert (
        "/memories/notes.md, lines 1-3 of 3:\n     1\t# Notes\n     2\t\n     3\tTabs, not spaces."
        == say(service, command="view", path="/memories/notes.md")
    )
    assert (
        "/memories is empty."
        == FILES.answer(AgentFiles(service, "bob"), FileArgs(command="view"), 500).text
    )


@for_each("name", ["{x}.md", "{first}{text}", "}"])
def test_braces_in_names(service: AgentMemoryService, name: str) -> None:
    """A name is never taken for a part of a sentence's wording."""
    say(service, command="create", path=f"/memories/{name}/{name}", file_text="{x}\n")

    viewed = say(service, command="view", path=f"/memories/{name}/{name}")
    assert f"/memories/{name}/{name}, lines 1-1 of 1:\n     1\t{{x}}" == viewed
    listed = say(service, command="view", path=f"/memories/{name}")
    assert f"/memories/{name}, 1-1 of 1 files and folders:" == listed.splitlines()[0]


@for_each(
    "view_range, lines",
    [
        ([2, 3], "2-3"),
        ([3, -1], "3-3"),
        ([2, 99], "2-3"),
        ("2-3", "2-3"),
        ("[2, 3]", "2-3"),
        ("2-", "2-3"),
        ("[1, -1]", "1-3"),
        ([2], "2-2"),
        ("", "1-3"),
        ([], "1-3"),
        (None, "1-3"),
    ],
)
def test_view_range(service: AgentMemoryService, view_range: object, lines: str) -> None:
    """Ranges are understood in the forms in which models write them."""
    answer = say(service, command="view", path="/memories/notes.md", view_range=view_range)
    assert answer.startswith(f"/memories/notes.md, lines {lines} of 3:\n")


def test_changes(service: AgentMemoryService) -> None:
    """Each change is answered in one line that says what happened, with the paths that models know."""
    assert "Created /memories/a/new.md (3 bytes)." == say(
        service, command="create", path="/memories/a/new.md", file_text="é\n"
    )
    assert "Replaced the text at line 3 of /memories/notes.md." == say(
        service,
        command="str_replace",
        path="/memories/notes.md",
        old_str="Tabs, not spaces",
        new_str="Spaces",
    )
    assert "Inserted the text after line 1 of /memories/notes.md." == say(
        service, command="insert", path="/memories/notes.md", insert_line=1, insert_text="of ann"
    )
    assert "# Notes\nof ann\n\nSpaces.\n" == service.read_memory_file("ann", "notes.md")
    assert "Renamed /memories/a to /memories/b." == say(
        service, command="rename", old_path="/memories/a/", new_path="/memories/b"
    )
    assert "Deleted /memories/b." == say(service, command="delete", path="/memories/b")
    assert ["notes.md", "plans", "plans/one.md"] == [entry.path for entry in service.list("ann")]


def test_as_models_write_it(service: AgentMemoryService) -> None:
    """What is clear is understood: paths without the root, `new_str` for insert, `path` for rename, no `new_str`, JSON."""
    assert "lines 1-1 of 1" in say(service, command="view", path="plans/one.md")
    assert "Inserted" in say(
        service, command="insert", path="memories/plans/one.md", insert_line=0, new_str="zero"
    )
    assert "Renamed /memories/plans/one.md to /memories/two.md." == say(
        service, command="rename", path="plans/one.md", new_path="two.md"
    )
    assert "Replaced" in say(service, command="str_replace", path="two.md", old_str="zero\n")
    assert "step one\n" == service.read_memory_file("ann", "two.md")
    assert "Created" in say(service, command="create", path="a.json", file_text={"é": [1]})
    assert '{"é": [1]}' == service.read_memory_file("ann", "a.json")


@for_each(
    "arguments, answer",
    [
        (
            {"command": "view", "path": "/memories/x.md"},
            "There is nothing at /memories/x.md. View /memories to see",
        ),
        (
            {"command": "view", "path": "/etc/passwd"},
            "the path is absolute; .* Paths begin with /memories/.",
        ),
        ({"command": "view", "path": "/memories/../x"}, "'.' and '..' are not names"),
        ({"command": "view", "path": "/memoriesx"}, "the path is absolute"),
        (
            {"command": "view", "path": "notes.md", "view_range": [7, 9]},
            "which has lines 1 to 3.",
        ),
        ({"command": "view", "path": "notes.md", "offset": 1000}, "This was the last page."),
        (
            {"command": "create", "path": "notes.md", "file_text": ""},
            "'notes.md' exists already; change it, or delete",
        ),
        (
            {"command": "create", "path": "new.md"},
            "create needs file_text. Call the tool again with it.",
        ),
        ({"command": "create", "file_text": "x"}, "create needs path."),
        (
            {"command": "create", "path": "/memories", "file_text": "x"},
            "create works on what is inside /memories, not on",
        ),
        (
            {"command": "create", "path": "plans", "file_text": "x"},
            "'plans' is a directory, not a file.",
        ),
        (
            {"command": "str_replace", "path": "notes.md", "new_str": "x"},
            "str_replace needs old_str.",
        ),
        (
            {"command": "str_replace", "path": "notes.md", "old_str": "s"},
            "more than once, at the lines 1, 3",
        ),
        (
            {"command": "str_replace", "path": "notes.md", "old_str": "tabs"},
            "does not stand in the file",
        ),
        (
            {"command": "insert", "path": "notes.md", "insert_text": "x"},
            "insert needs insert_line.",
        ),
        ({"command": "insert", "path": "notes.md", "insert_line": 0}, "insert needs insert_text."),
        (
            {"command": "insert", "path": "notes.md", "insert_line": 9, "insert_text": "x"},
            "there is no line 9 to insert",
        ),
        ({"command": "delete", "path": "/memories/"}, "delete works on what is inside /memories"),
        ({"command": "delete"}, "delete needs path."),
        ({"command": "rename", "old_path": "notes.md"}, "rename needs new_path."),
        ({"command": "rename", "new_path": "notes.md"}, "rename needs old_path."),
        (
            {"command": "rename", "old_path": "no.md", "new_path": "x"},
            "There is nothing at /memories/no.md.",
        ),
        (
            {"command": "rename", "old_path": "notes.md", "new_path": "plans"},
            "'plans' exists already",
        ),
    ],
)
def test_errors_say_what_to_do(
    service: AgentMemoryService, arguments: dict[str, Any], answer: str
) -> None:
    """What went wrong is answered in one line that a model can act on, and changes nothing."""
    said = say(service, **arguments)

    assert re.search(answer, said)
    assert "\n" not in said
    assert NOTES == service.read_memory_file("ann", "notes.md")
    assert ["notes.md", "plans", "plans/one.md"] == [entry.path for entry in service.list("ann")]


def test_hostile_paths(service: AgentMemoryService) -> None:
    """No hostile path below or beside /memories does anything, and each is answered within the limit."""
    paths = [one for path in PATHS if path.strip("/ ") for one in (path, f"/memories/{path}")]
    for path in paths:
        said = say(service, 200, command="delete", path=path)
        assert not default_counter().exceeds(said, 200)
        assert said.isprintable()
    assert ["notes.md", "plans", "plans/one.md"] == [entry.path for entry in service.list("ann")]


def test_unavailable(tmp_path: Path) -> None:
    """If the folder cannot be used, the model is told to go on without it."""
    (tmp_path / "file").touch()
    assert prompts.FILES_UNAVAILABLE == say(AgentMemoryService(tmp_path / "file"), command="view")


def pages(service: AgentMemoryService, max_tokens: int, **arguments: Any) -> list[str]:
    """All pages of a view."""
    said = [say(service, max_tokens, command="view", **arguments)]
    while found := re.search(
        r"\nThere is more\. Next page: the same call with offset=(\d+)$", said[-1]
    ):
        said.append(say(service, max_tokens, command="view", offset=int(found[1]), **arguments))
    return said


@examples(40, HealthCheck.function_scoped_fixture)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=120), min_size=1, max_size=150
    ).map("\n".join),
    st.integers(200, 500),
)
def test_pages_of_a_file(service: AgentMemoryService, text: str, max_tokens: int) -> None:
    """Pages of a file stay within the limit, and put together they are all its lines with their numbers."""
    service.write_memory_file("ann", "long.md", text)
    said = pages(service, max_tokens, path="/memories/long.md")

    assert not any(default_counter().exceeds(page, max_tokens) for page in said)
    if text:
        shown = "".join(re.sub(r"\A[^\n]*:\n|\nThere is more\.[^\n]*\Z", "", page) for page in said)
        assert service.view("ann", "long.md").replace("\n", "") == shown.replace("\n", "")


def test_pages_of_one_line(service: AgentMemoryService) -> None:
    """One line that is longer than a page comes in several, each of which names the line."""
    service.write_memory_file("ann", "long.json", json.dumps(list(range(2000))))
    said = pages(service, 300, path="long.json")

    assert 10 < len(said)
    assert all(page.startswith("/memories/long.json, lines 1-1 of 1:\n") for page in said)
    assert "1999]" in said[-1]


def test_a_path_longer_than_an_answer(service: AgentMemoryService) -> None:
    """Of a very long path, answers show the end, so that they keep within their limit and have room for the text."""
    path = "/memories/" + "/".join(f"folder {number} of a path too long" for number in range(28))
    text = "a line of it\n" * 60
    said = [say(service, 200, command="create", path=f"{path}/a.md", file_text=text)]
    said += pages(service, 200, path=f"{path}/a.md")
    said.append(say(service, 200, command="rename", old_path=f"{path}/a.md", new_path=f"{path}/b"))
    said.append(say(service, 200, command="view", path=f"{path}/a.md"))
    assert not any(default_counter().exceeds(answer, 200) for answer in said)
    assert 60 == "".join(said).count("a line of it")
    assert said[-2].endswith(" of a path too long/b.")
    assert said[-1].endswith("/a.md. View /memories to see what is there.")


def test_pages_of_a_folder(service: AgentMemoryService) -> None:
    """A long listing comes in pages within the limit."""
    for number in range(120):
        service.write_memory_file("ann", f"many/{number:03}.md", "x")
    said = pages(service, 300, path="/memories/many")

    assert not any(default_counter().exceeds(page, 300) for page in said)
    assert said[0].startswith("/memories/many, 1-")
    assert [f"/memories/many/{number:03}.md (1 bytes)" for number in range(120)] == [
        line for page in said for line in page.splitlines() if line.startswith("/memories/many/")
    ]


def test_schema(service: AgentMemoryService) -> None:
    """Both hosts describe the same tool, each argument with one type; AutoGen requires all of them, LangChain the command."""
    [autogen], [langchain] = (
        file_tools(service, "ann"),
        langchain_memory_context.file_tools(service, "ann"),
    )
    ours = autogen.schema
    theirs = convert_to_openai_tool(langchain)["function"]

    assert ("memory", prompts.FILES_TOOL) == (ours["name"], ours.get("description"))
    assert ("memory", prompts.FILES_TOOL) == (theirs["name"], theirs["description"])
    assert ["command"] == theirs["parameters"]["required"]
    parameters: Any = ours.get("parameters")
    assert list(parameters["properties"]) == parameters["required"]
    for schema in (parameters, theirs["parameters"]):
        assert ["view", "create", "str_replace", "insert", "delete", "rename"] == schema[
            "properties"
        ]["command"]["enum"]
        assert all(isinstance(argument["type"], str) for argument in schema["properties"].values())
        assert all(
            argument.get("description")
            for name, argument in schema["properties"].items()
            if name != "command"
        )


def file_call(number: int = 1, **arguments: object) -> list[FunctionCall]:
    """A call of the tool by AutoGen."""
    return [FunctionCall(id=str(number), name="memory", arguments=json.dumps(arguments))]


async def test_autogen_agent(service: AgentMemoryService) -> None:
    """An AssistantAgent keeps a file, corrects an error after its answer, and another one finds the file."""
    client = ScriptedChatClient(
        [
            file_call(1, command="view", path="/memories"),
            file_call(2, command="create", path="/memories/notes.md", file_text="x"),
            file_call(
                3,
                command="str_replace",
                path="/memories/notes.md",
                old_str="Tabs",
                new_str="Spaces",
            ),
            file_call(4, command="flush"),
            "noted",
        ]
    )
    coder = AssistantAgent(
        "coder", model_client=client, tools=[*file_tools(service, "ann")], max_tool_iterations=9
    )
    result = await coder.run(task="Note that we use spaces.")

    events = [
        event
        for message in result.messages
        if isinstance(message, ToolCallExecutionEvent)
        for event in message.content
    ]
    assert [False, True, False, True] == [event.is_error for event in events]
    assert "exists already; change it, or delete it first." in events[1].content
    assert "The argument command is wrong: Input should be 'view', 'create'" in events[3].content
    assert "Spaces, not spaces." in service.read_memory_file("ann", "notes.md")

    reader = ScriptedChatClient([file_call(command="view", path="/memories/notes.md"), "seen"])
    other = AssistantAgent(
        "other", model_client=reader, tools=[*file_tools(service, "ann")], max_tool_iterations=2
    )
    await other.run(task="What do we use?")
    last = reader.prompts[-1][-1]
    assert isinstance(last, FunctionExecutionResultMessage)
    assert "     3\tSpaces, not spaces." in last.content[0].content


async def test_autogen_context(service: AgentMemoryService) -> None:
    """Beside a MemoryContext, views are not folded, and a stored text goes into a file by its reference."""
    context = MemoryContext("ann", store="sqlite://", thread_id="t")
    log = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
    service.write_memory_file("ann", "log.txt", log)

    async def read_log() -> str:
        """Read the log."""
        return log

    def keep(messages: Any) -> list[FunctionCall]:
        [ref] = MemoryRef.find_all(messages[-1].content[0].content)[:1]
        return file_call(2, command="create", path="/memories/kept.txt", file_text=str(ref))

    client = ScriptedChatClient(
        [
            [FunctionCall(id="1", name="read_log", arguments="{}")],
            keep,
            file_call(3, command="view", path="/memories/kept.txt", view_range=[2000, -1]),
            "kept",
        ]
    )
    workbench = context.workbench([read_log, *file_tools(service, "ann")])
    agent = AssistantAgent(
        "coder",
        model_client=client,
        model_context=context,
        workbench=workbench,
        max_tool_iterations=9,
    )
    await agent.run(task="Keep the log.")

    assert log == service.read_memory_file("ann", "kept.txt")
    last = client.prompts[-1][-1]
    assert isinstance(last, FunctionExecutionResultMessage)
    assert "\n  2000\t02:33:19 worker-1999 done\n" in last.content[0].content


def test_autogen_component(service: AgentMemoryService) -> None:
    """A dumped tool leads to the same files, with the same limits."""
    [tool] = file_tools(service, "ann", max_tokens=333)
    assert isinstance(tool, AgentFilesTool)
    loaded = AgentFilesTool.load_component(tool.dump_component())

    assert tool.dump_component() == loaded.dump_component()
    answer = asyncio.run(
        loaded.run_json({"command": "view", "path": "/memories/notes.md"}, CancellationToken())
    )
    assert "Tabs, not spaces." in answer


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_langchain_agent(service: AgentMemoryService, how: str) -> None:
    """An agent of create_agent keeps a file, corrects an error after its answer, and reads what it kept."""
    model = ScriptedChatModel(
        [
            [
                call(
                    "memory",
                    "1",
                    command="insert",
                    path="/memories/notes.md",
                    insert_line=99,
                    insert_text="x",
                )
            ],
            [
                call(
                    "memory",
                    "2",
                    command="insert",
                    path="/memories/notes.md",
                    insert_line=3,
                    insert_text="Four.",
                )
            ],
            [call("memory", "3", command="flush")],
            [call("memory", "4", command="view", path="/memories/notes.md", view_range=[3, -1])],
            "noted",
        ]
    )
    agent = create_agent(model, langchain_memory_context.file_tools(service, "ann"))
    given_: Any = {"messages": [("user", "Note it.")]}
    state = agent.invoke(given_) if how == "invoke" else await agent.ainvoke(given_)

    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert ["error", "success", "error", "success"] == [answer.status for answer in answers]
    assert "the file has 3 lines, and 0 is its beginning." in str(answers[0].content)
    assert "The argument command is wrong" in str(answers[2].content)
    assert (
        "/memories/notes.md, lines 3-4 of 4:\n     3\tTabs, not spaces.\n     4\tFour."
        == answers[3].content
    )
    assert NOTES + "Four.\n" == service.read_memory_file("ann", "notes.md")


def test_langchain_middleware(service: AgentMemoryService) -> None:
    """Beside the middleware, views are not folded, and a stored text goes into a file by its reference."""
    manager = MemoryManager("sqlite://", user_id="ann")
    log = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
    key = manager.store(log, "the log of the night", key="night")

    model = ScriptedChatModel(
        [
            [
                call(
                    "memory",
                    "1",
                    command="create",
                    path="/memories/kept.txt",
                    file_text=f"[MemoryRef: {key}]",
                )
            ],
            [call("memory", "2", command="view", path="/memories/kept.txt", view_range=[2000, -1])],
            "kept",
        ]
    )
    middleware = MemoryContextMiddleware(manager.memory_store, user_id="ann")
    agent = create_agent(
        model, langchain_memory_context.file_tools(service, "ann"), middleware=[middleware]
    )
    given_: Any = {"messages": [("user", f"Keep [MemoryRef: {key}] in a file.")]}
    agent.invoke(given_)

    assert log == service.read_memory_file("ann", "kept.txt")
    assert "\n  2000\t02:33:19 worker-1999 done\n" in str(model.prompts[-1][-1].content)


class _Memory:
    """`memory`, as LangChain's tests take a tool."""

    tool_invoke_params_example: ClassVar[dict[str, Any]] = {"command": "view", "path": "/memories"}

    @pytest.fixture(autouse=True)
    def _service(self, service: AgentMemoryService) -> None:
        self.service = service

    @property
    def tool_constructor(self) -> Any:
        """The tool."""
        return langchain_memory_context.file_tools(self.service, "ann")[0]


class TestUnit(_Memory, ToolsUnitTests):
    """`memory` is made as LangChain's tools are."""


class TestIntegration(_Memory, ToolsIntegrationTests):
    """`memory` is called as LangChain's tools are."""
