"""LangChain's own conformance tests on the tools and the retriever, and what they do beyond that."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware, MemoryRetriever, memory_tools
from memory_context import MemoryManager, default_counter
from memory_context import sentences_models_read as prompts

LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))


def filled() -> MemoryManager:
    """Memories of one user."""
    manager = MemoryManager("sqlite://", user_id="42")
    manager.remember(LOG, key="job_log", type="tool_output", metadata={"source": "read_log"})
    for number in range(5):
        manager.remember(
            f"note {number}: the database listens on port {5000 + number}", type="note"
        )
    return manager


def call(tool: BaseTool, **arguments: object) -> ToolMessage:
    """The message that a tool's call gives."""
    message = tool.invoke(ToolCall(name=tool.name, args=arguments, id="1", type="tool_call"))
    assert isinstance(message, ToolMessage)
    return message


class _Retrieve:
    """`retrieve_memory`, as LangChain's tests take a tool."""

    place: ClassVar[int] = 0
    example: ClassVar[dict[str, Any]] = {"key": "job_log", "lines": "1-3"}

    @property
    def tool_constructor(self) -> BaseTool:
        """The tool."""
        return memory_tools(filled())[self.place]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """Arguments that it takes."""
        return self.example


class _Search(_Retrieve):
    """`search_memory`."""

    place, example = 1, {"query": "database port"}


class _Store(_Retrieve):
    """`store_memory`."""

    place, example = 2, {"content": "tabs, not spaces", "type": "convention"}


class TestRetrieveUnit(_Retrieve, ToolsUnitTests):
    """`retrieve_memory` is made as LangChain's tools are."""


class TestRetrieveIntegration(_Retrieve, ToolsIntegrationTests):
    """`retrieve_memory` is called as LangChain's tools are."""


class TestSearchUnit(_Search, ToolsUnitTests):
    """`search_memory` is made as LangChain's tools are."""


class TestSearchIntegration(_Search, ToolsIntegrationTests):
    """`search_memory` is called as LangChain's tools are."""


class TestStoreUnit(_Store, ToolsUnitTests):
    """`store_memory` is made as LangChain's tools are."""


class TestStoreIntegration(_Store, ToolsIntegrationTests):
    """`store_memory` is called as LangChain's tools are."""


class TestRetriever(RetrieversIntegrationTests):
    """`MemoryRetriever` is a retriever as LangChain's are."""

    @property
    def retriever_constructor(self) -> type[MemoryRetriever]:
        """The class."""
        return MemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """What it is made of."""
        return {"manager": filled()}

    @property
    def retriever_query_example(self) -> str:
        """A query with five answers."""
        return "database port"


def test_answers_are_paged_and_name_their_memories() -> None:
    """An answer keeps within its tokens, says how to go on, and its artifact has the key only."""
    manager = filled()
    retrieve = memory_tools(manager, max_tokens=300)[0]

    message = call(retrieve, key="[MemoryRef: job_log]")

    assert {"keys": ["job_log"]} == message.artifact
    assert "success" == message.status
    assert "offset=" in str(message.content)
    assert 300 >= manager.counter.count(str(message.content))


@for_each(
    "arguments, said",
    [
        ({"key": "nothing"}, "search_memory"),
        ({"key": "job_log", "lines": "x"}, "120-180"),
        ({}, "key is missing"),
    ],
)
def test_errors_say_what_to_do(arguments: dict[str, Any], said: str) -> None:
    """What goes wrong is an answer with the status error; nothing is raised that would end the agent's run."""
    message = call(memory_tools(filled())[0], **arguments)

    assert "error" == message.status
    assert said in str(message.content)


def test_a_text_alone_is_the_first_argument() -> None:
    """What LangChain calls the input of a tool, a text in place of arguments, is the key that is read."""
    retrieve = memory_tools(filled())[0]

    assert retrieve.invoke({"key": "job_log"}) == retrieve.invoke("job_log")


def test_store_and_find_again() -> None:
    """What `store_memory` keeps, `search_memory` finds, and the retriever too, asynchronously as well."""
    manager = MemoryManager("sqlite://", user_id="42")
    _, search, store = memory_tools(manager)

    key = call(store, content="The staging database is db-7.", type="decision").artifact["keys"][0]

    assert key in str(call(search, query="staging").content)
    [document] = MemoryRetriever(manager=manager).invoke("staging database")
    assert (key, "The staging database is db-7.", "decision") == (
        document.id,
        document.page_content,
        document.metadata["memory_type"],
    )


async def test_asynchronous_answers_are_the_same() -> None:
    """The asynchronous tools and retriever give what the synchronous ones give."""
    manager = filled()
    for tool, arguments in zip(
        memory_tools(manager), ({"key": "job_log"}, {"query": "port"}), strict=False
    ):
        asked = ToolCall(name=tool.name, args=arguments, id="1", type="tool_call")
        assert tool.invoke(asked) == await tool.ainvoke(asked)
    retriever = MemoryRetriever(manager=manager, k=2)
    assert retriever.invoke("worker-77 done") == await retriever.ainvoke("worker-77 done")


def test_documents_are_excerpts_and_secrets_stay_hidden() -> None:
    """A document of a large memory is what speaks of the query; with no limit the whole; of a secret nothing."""
    manager = filled()
    manager.store("hunter2 opens staging", "password of staging", "secret", key="staging_password")

    [log] = MemoryRetriever(manager=manager, k=1, max_tokens=100).invoke("worker-1234")
    assert "worker-1234" in log.page_content
    assert "read_log" == log.metadata["source"]
    assert 100 >= manager.counter.count(log.page_content)
    assert (
        LOG
        == MemoryRetriever(manager=manager, max_tokens=None)
        .invoke("worker-1234", k=1)[0]
        .page_content
    )
    found = MemoryRetriever(manager=manager).invoke("password of staging")
    assert "hunter2" not in str(found)
    assert prompts.HIDDEN == found[0].page_content


def test_each_call_has_its_own_owner() -> None:
    """With a callable, a tool answers from the memories of whoever calls."""
    users = {name: MemoryManager("sqlite://", user_id=name) for name in ("ann", "bob")}
    users["ann"].store("a note of Ann's", key="note")
    current = ["bob"]
    retrieve = memory_tools(lambda: users[current[0]])[0]

    assert "error" == call(retrieve, key="note").status
    current[0] = "ann"
    assert "Ann's" in str(call(retrieve, key="note").content)


def test_what_each_call_pays() -> None:
    """Schemas and instructions take 450 tokens at most, as LangChain sends them, with the word on passing references."""
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann")
    sent = json.dumps([convert_to_openai_tool(tool) for tool in middleware.tools])

    count = default_counter().count
    assert count(sent) + count(middleware.instructions) <= 450


@for_each(
    "key",
    [
        "MemoryRef: note_1",
        "'MemoryRef: note_1 - a note - 2 tokens'",
        "[MemoryRef: note_1]",
        "`note_1`",
    ],
)
def test_a_key_as_models_write_it(key: str) -> None:
    """A reference without its brackets is one, too."""
    manager = MemoryManager("sqlite://", user_id="42")
    manager.store("sea salt", key="note_1")
    assert "sea salt" in memory_tools(manager)[0].invoke({"key": key})
