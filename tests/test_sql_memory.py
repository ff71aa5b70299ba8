"""SQLMemory: ListMemory's behaviour on a store, for good; and with real agents."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MemoryQueryEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken, Image
from autogen_core.memory import ListMemory, Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import LLMMessage, SystemMessage, UserMessage
from autogen_core.tools import FunctionTool
from PIL import Image as Pillow
from pydantic import ValidationError

from for_each import first_quick, for_each
from memory_context import MemoryContext, MemoryManager, SQLMemory, exceptions
from memory_context.testing import ScriptedChatClient, check_prompt
from messages import LOG, call, results, user

MISSING = "postgresql://127.0.0.1:1/none?connect_timeout=1"


def text(content: str, **metadata: Any) -> MemoryContent:
    """A text to remember."""
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata or None)


def picture() -> Image:
    """A small picture."""
    return Image.from_pil(Pillow.new("RGB", (3, 2), "red"))


async def add(memory: Memory, *contents: MemoryContent) -> list[MemoryContent]:
    """Add the contents, and return what the memory holds then."""
    for content in contents:
        await memory.add(content)
    return (await memory.query("")).results


async def prompt(memory: Memory, *before: LLMMessage) -> list[LLMMessage]:
    """What stands in a context with some messages after the memory has updated it."""
    context = UnboundedChatCompletionContext(list(before))
    await memory.update_context(context)
    return await context.get_messages()


@pytest.fixture
async def memory(store_url: str) -> AsyncIterator[SQLMemory]:
    """A memory on an empty database."""
    memory = SQLMemory("ann", store=store_url)
    yield memory
    await memory.close()


@pytest.fixture(params=["list", "memory", "file", "postgresql"])
async def either(request: pytest.FixtureRequest) -> AsyncIterator[Memory]:
    """AutoGen's ListMemory, or ours on an empty database."""
    if request.param == "list":
        yield ListMemory()
        return
    fixtures = {"file": "sqlite_url", "postgresql": "postgres_url"}
    url = (
        "sqlite://"
        if request.param == "memory"
        else str(request.getfixturevalue(fixtures[request.param]))
    )
    memory = SQLMemory("ann", store=url)
    yield memory
    await memory.close()


CONTENTS = {
    "text": text("likes short answers"),
    "string MIME type": MemoryContent(content="plain", mime_type="text/plain"),
    "own MIME type": MemoryContent(content="a,b", mime_type="text/csv"),
    "markdown": MemoryContent(content="# Rules\n\n- be *brief*", mime_type=MemoryMimeType.MARKDOWN),
    "dict": MemoryContent(
        content={"units": "metric", "n": [1, None, {"é": "中文"}]}, mime_type=MemoryMimeType.JSON
    ),
    "JSON as text": MemoryContent(content='{"units": "metric"}', mime_type=MemoryMimeType.JSON),
    "empty dict": MemoryContent(content={}, mime_type=MemoryMimeType.JSON),
    "empty text": MemoryContent(content="", mime_type=MemoryMimeType.TEXT),
    "bytes": MemoryContent(content=b"\x00\xff\x01", mime_type=MemoryMimeType.BINARY),
    "text as bytes": MemoryContent(content=b"abc", mime_type=MemoryMimeType.TEXT),
    "NUL and surrogate": text("\0 \ud800"),
    "large": text(LOG * 20),
    "metadata": text("x", source="a form", tags=["a"], nested={"n": 1.5, "none": None}),
    "empty metadata": MemoryContent(content="x", mime_type=MemoryMimeType.TEXT, metadata={}),
    "image's shape": MemoryContent(content={"data": "no image"}, mime_type=MemoryMimeType.JSON),
}


class TestLikeListMemory:
    """What ListMemory and SQLMemory have in common."""

    async def test_empty(self, either: Memory) -> None:
        """An empty memory has nothing to say, and adds no message."""
        context = BufferedChatCompletionContext(5)

        assert [] == (await either.query("")).results
        assert [] == (await either.query("anything")).results
        assert [] == (await either.update_context(context)).memories.results
        assert [] == await context.get_messages()

    async def test_chronological_order(self, either: Memory) -> None:
        """A query without words gives everything, equal contents too, in the order in which it was added."""
        contents = [text(word) for word in ("first", "second", "first", "third")]

        assert contents == await add(either, *contents)
        assert contents == (await either.query("", CancellationToken())).results
        assert (
            contents
            == (await either.query(MemoryContent(content="", mime_type="text/plain"))).results
        )

    async def test_query_without_an_argument(self, either: ListMemory | SQLMemory) -> None:
        """A query may be left out."""
        await add(either, text("one"))

        assert [text("one")] == (await either.query()).results

    async def test_contents_come_back(self, either: Memory) -> None:
        """Texts, dicts and bytes come back as they were, with MIME type and metadata."""
        found = dict(zip(CONTENTS, await add(either, *CONTENTS.values()), strict=True))

        assert CONTENTS == found
        for name, content in CONTENTS.items():
            assert type(content.content) is type(found[name].content), name
            assert type(content.mime_type) is type(found[name].mime_type), name

    async def test_images_come_back(self, either: Memory) -> None:
        """An image comes back as an image with the same pixels."""
        image = MemoryContent(
            content=picture(), mime_type=MemoryMimeType.IMAGE, metadata={"of": "a wall"}
        )

        [found] = await add(either, image)

        assert isinstance(found.content, Image)
        assert picture().to_base64() == found.content.to_base64()
        assert (MemoryMimeType.IMAGE, {"of": "a wall"}) == (found.mime_type, found.metadata)

    async def test_one_message(self, either: Memory) -> None:
        """Several contents are one message, numbered, in AutoGen's words; the result holds them all."""
        contents = [text("first"), text("second")]
        await add(either, *contents)
        context = BufferedChatCompletionContext(5)

        result = await either.update_context(context)

        expected = "\nRelevant memory content (in chronological order):\n1. first\n2. second\n"
        assert [SystemMessage(content=expected)] == await context.get_messages()
        assert contents == result.memories.results

    async def test_update_again(self, either: Memory) -> None:
        """Each update adds one message with what the memory holds then."""
        await add(either, text("first"))
        context = UnboundedChatCompletionContext()
        await either.update_context(context)
        await add(either, text("second"))
        await either.update_context(context)

        first, second = await context.get_messages()
        assert "second" not in str(first.content)
        assert "1. first\n2. second\n" in str(second.content)

    async def test_clear(self, either: Memory) -> None:
        """After clear, which may be called twice, the memory is empty and can be filled again."""
        await add(either, text("old"))
        await either.clear()
        await either.clear()

        assert [] == (await either.query("")).results
        assert [] == await prompt(either)
        assert [text("new")] == await add(either, text("new"))

    async def test_close(self, either: Memory) -> None:
        """Close, which may be called twice, deletes nothing; the memory goes on."""
        await add(either, text("kept"))
        await either.close()
        await either.close()

        assert [text("kept"), text("more")] == await add(either, text("more"))

    async def test_callers_content_stays(self, either: Memory) -> None:
        """The caller's content and metadata are never changed."""
        metadata = {"source": "a form", "nested": {"n": 1}}
        content = MemoryContent(
            content={"a": [1]}, mime_type=MemoryMimeType.JSON, metadata=metadata
        )
        before = content.model_copy(deep=True)

        await add(either, content)
        await prompt(either)
        await either.clear()

        assert before == content
        assert {"source": "a form", "nested": {"n": 1}} == metadata

    async def test_json_form(self, either: Memory) -> None:
        """Results have a JSON form."""
        shown = [
            CONTENTS["dict"],
            CONTENTS["metadata"],
            MemoryContent(content=picture(), mime_type="image/png"),
        ]
        await add(either, *shown)

        dumped = (await either.query("")).model_dump(mode="json")
        updated = (await either.update_context(UnboundedChatCompletionContext())).model_dump(
            mode="json"
        )

        assert dumped == updated["memories"] == json.loads(json.dumps(dumped))
        assert ["application/json", "text/plain", "image/png"] == [
            one["mime_type"] for one in dumped["results"]
        ]

    async def test_unknown_arguments(self, either: Memory) -> None:
        """Arguments that other memories know are ignored."""
        await add(either, text("one"))

        assert [text("one")] == (await either.query("", score_threshold=0.5)).results


class TestQuery:
    """A query narrows; what it finds comes best first."""

    async def test_words(self, memory: SQLMemory) -> None:
        """A text finds the contents that speak of it, as text or as a content."""
        wanted = MemoryContent(
            content={"database": "postgres", "port": 5433}, mime_type=MemoryMimeType.JSON
        )
        await add(memory, text("likes short answers"), wanted, text("deploys on fridays"))

        assert [wanted] == (await memory.query("which port?")).results
        assert [wanted] == (await memory.query(text("postgres"))).results
        assert [wanted] == (
            await memory.query(MemoryContent(content={"port": 1}, mime_type="x"))
        ).results
        assert [] == (await memory.query("zebra")).results

    async def test_limits(self, memory: SQLMemory) -> None:
        """At most 5 hits, or as many as asked for; without words, the newest in chronological order."""
        contents = await add(memory, *(text(f"rocket {i}") for i in range(7)))

        assert 5 == len((await memory.query("rocket")).results)
        assert 7 == len((await memory.query("rocket", limit=10)).results)
        assert 2 == len((await memory.query("rocket", top_k=2)).results)
        assert contents[-2:] == (await memory.query("", top_k=2)).results

    async def test_bad_queries(self, memory: SQLMemory) -> None:
        """A query of bytes or an image, and a limit below 1, say what is wrong."""
        for content in (b"abc", picture()):
            with pytest.raises(exceptions.InvalidArgumentError, match="query must be a text, not"):
                await memory.query(MemoryContent(content=content, mime_type="x"))
        with pytest.raises(
            exceptions.InvalidArgumentError, match="limit must be a whole number, 1"
        ):
            await memory.query("x", limit=0)


class TestApart:
    """A memory is its user's and its name's."""

    async def test_names_and_users(self, sqlite_url: str) -> None:
        """Memories with other names or users hold nothing of each other, and clear nothing of each other."""
        mine, other, hers = (
            SQLMemory("ann", store=sqlite_url, name="rules"),
            SQLMemory("ann", store=sqlite_url),
            SQLMemory("bea", store=sqlite_url, name="rules"),
        )
        for memory in (mine, other, hers):
            await add(memory, text(f"{memory.name} secret word"))
        await mine.clear()

        assert ("rules", "default_memory") == (mine.name, other.name)
        assert [0, 1, 1] == [
            len((await memory.query("word")).results) for memory in (mine, other, hers)
        ]
        assert "default_memory secret word" in str((await prompt(other))[0].content)

    async def test_same_name_is_the_same_memory(self, store_url: str) -> None:
        """Whoever opens the name later, as another agent too, finds the same contents."""
        manager = MemoryManager(store_url, user_id=7)
        await add(
            SQLMemory(7, store=manager.memory_store, agent_id="a", thread_id="t1"), text("kept")
        )

        assert [text("kept")] == (
            await SQLMemory("7", store=manager.memory_store, agent_id="b").query()
        ).results

    async def test_clear_leaves_the_rest(self, sqlite_url: str) -> None:
        """Clear leaves folded outputs and notes of other kinds where they are."""
        context, memory = MemoryContext("ann", store=sqlite_url), SQLMemory("ann", store=sqlite_url)
        key = await context.store("an output", tier="project", tier_id="default_memory")
        await add(memory, text("a rule"))
        await memory.clear()

        assert "an output" == await context.retrieve(key)
        assert [key] == [item.memory_key for item in await context.search("")]

    async def test_record(self, sqlite_url: str) -> None:
        """What is added is a note in the store, which the other verbs find."""
        await add(
            SQLMemory("ann", store=sqlite_url, name="rules", agent_id="coder", thread_id="t"),
            text("be brief"),
        )

        [item] = MemoryManager(sqlite_url, user_id="ann").search("brief")

        assert ("note", "memory", "rules") == (item.memory_type, item.tier, item.tier_id)
        assert ("coder", "t") == (item.agent_id, item.thread_id)
        assert item.memory_key.startswith("rules_")

    async def test_concurrent_adds(self, memory: SQLMemory) -> None:
        """Overlapping calls lose nothing."""
        await asyncio.gather(*(memory.add(text(str(i))) for i in range(20)))

        assert {str(i) for i in range(20)} == {
            one.content for one in (await memory.query()).results
        }


class TestMessage:
    """How the memory enters a prompt."""

    async def test_default_is_legal_everywhere(self, memory: SQLMemory) -> None:
        """Behind other messages it is a user message, at the front a system message: no provider refuses either."""
        await add(memory, text("be brief"))

        behind = await prompt(memory, user("hello"))
        front = await prompt(memory, SystemMessage(content="you are a coder"))

        assert [UserMessage, UserMessage] == [type(message) for message in behind]
        assert [SystemMessage, SystemMessage] == [type(message) for message in front]
        check_prompt(behind)
        check_prompt(front)

    @pytest.mark.parametrize(("choice", "kind"), [(True, SystemMessage), (False, UserMessage)])
    async def test_choice(self, choice: bool, kind: type, sqlite_url: str) -> None:
        """A choice holds wherever the message stands."""
        memory = SQLMemory("ann", store=sqlite_url, as_system_message=choice)
        await add(memory, text("be brief"))

        assert kind is type((await prompt(memory, user("hello")))[-1])
        assert kind is type((await prompt(memory))[-1])

    async def test_dicts_and_bytes(self, memory: SQLMemory) -> None:
        """In a prompt a dict is JSON; bytes and images are a line that says what they are."""
        image = MemoryContent(content=picture(), mime_type=MemoryMimeType.IMAGE)
        await add(memory, CONTENTS["dict"], CONTENTS["bytes"], image)

        shown = str((await prompt(memory))[0].content)

        assert '1. {"units": "metric", "n": [1, null, {"é": "中文"}]}\n' in shown
        assert "2. (application/octet-stream, 3 bytes)\n3. (image/*, " in shown

    async def test_events_hold_bytes(self, memory: SQLMemory) -> None:
        """Bytes that are no UTF-8 go into an agent's event as the line that stands for them."""
        await add(memory, CONTENTS["bytes"])

        updated = (await memory.update_context(UnboundedChatCompletionContext())).memories.results

        assert "(application/octet-stream, 3 bytes)" == updated[0].content
        assert MemoryQueryEvent(content=updated, source="coder").dump()

    async def test_not_folded(self, memory: SQLMemory) -> None:
        """A large memory stays readable in a MemoryContext, whose question is still the user's."""
        context = MemoryContext("ann", store="sqlite://")
        await add(memory, text(LOG))
        for message in (
            call("run"),
            results(LOG.replace("worker", "robot")),
            user("what became of robot-123?"),
        ):
            await context.add_message(message)

        await memory.update_context(context)
        messages = await context.get_messages()

        assert LOG in str(messages[-1].content)
        assert user("what became of robot-123?") == messages[2]
        assert LOG.replace("worker", "robot").split("\n")[123] in str(messages[3].content)


class TestFailure:
    """A store that cannot be reached."""

    async def test_run_goes_on(self, caplog: pytest.LogCaptureFixture) -> None:
        """An update without the store adds nothing and warns; the agent's run goes on."""
        memory = SQLMemory("ann", store=MISSING)
        coder = AssistantAgent("coder", model_client=ScriptedChatClient(["hi"]), memory=[memory])

        with caplog.at_level(logging.WARNING, "memory_context"):
            result = await coder.run(task="hello")

        assert "hi" == result.messages[-1].content  # type: ignore[union-attr] # a text message
        assert "goes on without 'default_memory'" in caplog.text

    async def test_verbs_raise(self) -> None:
        """Everything else says that the store cannot be reached."""
        memory = SQLMemory("ann", store=MISSING)
        verbs: list[Callable[[], Any]] = [lambda: memory.add(text("x")), memory.query, memory.clear]
        for verb in verbs:
            with pytest.raises(exceptions.StoreUnavailableError):
                await verb()

    async def test_what_json_cannot_express(self, memory: SQLMemory) -> None:
        """A dict or metadata without a JSON form is refused, and nothing is added."""
        for content in (
            MemoryContent(content={"now": object()}, mime_type=MemoryMimeType.JSON),
            MemoryContent(content="x", mime_type=MemoryMimeType.TEXT, metadata={"now": object()}),
        ):
            with pytest.raises(exceptions.InvalidContentError, match="cannot be expressed as JSON"):
                await memory.add(content)

        assert [] == (await memory.query()).results

    async def test_cancelled(self, memory: SQLMemory) -> None:
        """A cancelled token ends the call."""
        token = CancellationToken()
        token.cancel()

        with pytest.raises(asyncio.CancelledError):
            await memory.query("", token)

    @for_each("name", ["", " ", "a\0", "x" * 256])
    def test_bad_names(self, name: str) -> None:
        """A name that no column can hold is refused at once."""
        with pytest.raises(exceptions.InvalidScopeError, match="tier_id must have 1 to 255"):
            SQLMemory("ann", store="sqlite://", name=name)


class TestComponent:
    """A memory is dumped and loaded as a component; its contents stay in the store."""

    async def test_round_trip(self, sqlite_url: str) -> None:
        """A dumped memory loads as an equal one, with its contents."""
        memory = SQLMemory(
            7,
            store=sqlite_url,
            name="rules",
            agent_id="coder",
            thread_id="t1",
            as_system_message=False,
            password_variable="MY_PASSWORD",
        )
        await add(memory, CONTENTS["dict"])
        config = json.loads(memory.dump_component().model_dump_json())

        loaded = Memory.load_component(config)

        assert ("memory_context.SQLMemory", "memory") == (
            config["provider"],
            config["component_type"],
        )
        assert isinstance(loaded, SQLMemory)
        assert memory.dump_component() == loaded.dump_component()
        assert [CONTENTS["dict"]] == (await loaded.query()).results

    def test_password_is_not_dumped(self) -> None:
        """The password stays out of the configuration."""
        memory = SQLMemory("ann", store="postgresql://u:hidden@h/d")

        assert "hidden" not in memory.dump_component().model_dump_json()

    def test_what_cannot_be_dumped(self) -> None:
        """A memory on a database in memory says why it cannot be dumped."""
        with pytest.raises(exceptions.NotSerializableError, match="it has no URL"):
            SQLMemory("ann", store="sqlite://").dump_component()


def work() -> str:
    """Do some work."""
    return LOG


class TestAgents:
    """Real agents with SQLMemory beside MemoryContext; the client refuses prompts that providers refuse."""

    async def test_reminded_at_each_run(self, sqlite_url: str) -> None:
        """An agent is reminded once per run, behind the task; the event shows the contents."""
        memory, context = SQLMemory("ann", store=sqlite_url), MemoryContext("ann", store=sqlite_url)
        await add(memory, text("be brief"), CONTENTS["dict"])
        client = ScriptedChatClient([call("work").content, "done", "again"])
        coder = AssistantAgent(
            "coder",
            model_client=client,
            memory=[memory],
            model_context=context,
            tools=[FunctionTool(work, "Work."), *context.tools()],
            max_tool_iterations=5,
        )

        first = await coder.run(task="work")
        await coder.run(task="once more")

        [event] = [message for message in first.messages if isinstance(message, MemoryQueryEvent)]
        assert [text("be brief"), CONTENTS["dict"]] == event.content
        kinds = ["SystemMessage", "UserMessage", "UserMessage"]
        assert kinds == [type(message).__name__ for message in client.prompts[0]]
        reminders = [m for m in client.prompts[-1] if "1. be brief\n2. {" in str(m.content)]
        assert 2 == len(reminders)
        assert client.prompts[0] == client.prompts[2][:3]

    @pytest.mark.parametrize("choice", first_quick([None, False, True]))
    async def test_said_once(self, choice: bool | None, sqlite_url: str) -> None:
        """What the agent is reminded of stands in the prompt once: the context on the same store does not recall it."""
        memory = SQLMemory("ann", store=sqlite_url, as_system_message=choice)
        context = MemoryContext("ann", store=sqlite_url)
        await add(memory, text("The staging database lives in Oslo."))
        await context.add_message(user("Where does the staging database live?"))

        await memory.update_context(context)

        assert 1 == sum(
            "lives in Oslo" in str(message.content) for message in await context.get_messages()
        )

    async def test_nothing_to_say(self, sqlite_url: str) -> None:
        """An empty memory leaves the prompt as it is, and makes no event."""
        client = ScriptedChatClient(["done"])
        coder = AssistantAgent(
            "coder",
            model_client=client,
            memory=[SQLMemory("ann", store=sqlite_url)],
            model_context=MemoryContext("ann", store=sqlite_url),
        )

        result = await coder.run(task="hello")

        assert ["SystemMessage", "UserMessage"] == [
            type(message).__name__ for message in client.prompts[0]
        ]
        assert ["TextMessage", "TextMessage"] == [
            type(message).__name__ for message in result.messages
        ]

    async def test_team(self, sqlite_url: str) -> None:
        """A team whose agents share a memory is dumped and loaded, runs, and its state has a JSON form."""
        await add(SQLMemory("ann", store=sqlite_url), CONTENTS["bytes"], text("be brief"))
        agents = [
            AssistantAgent(
                name,
                model_client=ScriptedChatClient([f"{name} says"]),
                memory=[SQLMemory("ann", store=sqlite_url)],
                model_context=MemoryContext("ann", store=sqlite_url),
            )
            for name in ("coder", "tester")
        ]
        team = RoundRobinGroupChat([*agents], max_turns=2)
        loaded = RoundRobinGroupChat.load_component(
            json.loads(team.dump_component().model_dump_json())
        )

        result = await loaded.run(task="hello")
        state = json.loads(json.dumps(await loaded.save_state()))
        await team.load_state(state)

        assert 2 == sum(isinstance(message, MemoryQueryEvent) for message in result.messages)
        messages = [await agent.model_context.get_messages() for agent in agents]
        assert [3, 4] == [len(one) for one in messages]
        assert all("2. be brief" in str(one[-2].content) for one in messages)


def test_a_password_in_a_component_is_in_no_error() -> None:
    """A component with a URL written by hand that lacks a setting is refused without showing the URL's password."""
    config = {"store": "postgresql://ann:hunter2@db.example/memory"}
    with pytest.raises(ValidationError) as refused:
        SQLMemory.load_component({"provider": "memory_context.SQLMemory", "config": config})
    assert "hunter2" not in str(refused.value)
