"""Redaction of what this library writes itself: no pattern of a user's makes a record unreadable."""

from __future__ import annotations

import json
from dataclasses import replace as replaced
from typing import Any

import pytest
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.models import AssistantMessage, UserMessage
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from examples import examples
from for_each import for_each
from langchain_memory_context import MemoryContextChatMessageHistory, MemoryStoreAdapter
from memory_context import (
    ConversationMemory,
    MemoryContext,
    MemoryItem,
    MemoryManager,
    MemoryRef,
    Redactor,
    Scope,
    ScopedMemory,
    SQLMemory,
)
from memory_context.conversation.message import from_lines
from memory_context.exceptions import StoreError
from memory_context.memory.chat_history import ChatTurn
from memory_context.memory.redacted_records import redact_memories
from memory_context.stores import SQLAlchemyStore
from memory_context.text.redact import Redaction, Secret, without_pieces

PASSWORD = "hunter" + "2!x"
TOKEN = "ghp" + "_" + "aB3dE6gH9k" * 3 + "q7X4Zm"


def everything(item: MemoryItem) -> str:
    """All that a record tells."""
    return repr(item)


PATTERNS = {
    "otp": r"\b\d{6}\b",
    "date": r"\d{4}-\d\d-\d\d",
    "hex": "[0-9a-f]{32}",
    "number": r"\d+",
    "word": r"\b(human|ai|text|type|role|data|null|at|id|user|assistant|key|namespace|source|content)\b",
    "mail": r'"?[^" ]+@[^" ]+",?',
    "brackets": r"[\[\]{}:,]",
}


class TestRecordsOfTheLibrary:
    """A user's patterns see what people and tools said, and nothing that the library writes into a record itself."""

    @for_each("name", PATTERNS)
    def test_turns(self, name: str) -> None:
        """Turns come back with their roles, in their order, with when they were said, however a pattern looks."""
        store = SQLAlchemyStore("sqlite://", redactor=Redactor({name: PATTERNS[name]}))
        kept = ConversationMemory(manager=MemoryManager(store, user_id="ann", counter=len))
        data = {"to": "ann@example.org", "codes": [493021, True, None], "on": "2026-01-02"}
        added = kept.add_turns(
            "s", [ChatTurn("human", "493021 is for ann@example.org", data), ChatTurn("ai", "ok")]
        )
        turns = kept.get_turns("s")

        assert [turn.role for turn in turns] == ["human", "ai"]
        assert [turn.at for turn in turns] == [turn.at for turn in added]
        assert turns[0].data.keys() == data.keys()
        assert (
            turns[0].text
            == Redactor({name: PATTERNS[name]}).redact("493021 is for ann@example.org").text
        )

    def test_secrets_in_turns(self) -> None:
        """What is secret by its form, the name beside it, or a pattern is gone from text and data, numbers too."""
        store = SQLAlchemyStore(
            "sqlite://", redactor=Redactor({"otp": r"\b\d{6}\b", "pin": r'"pin": (?P<value>\d+)'})
        )
        kept = ConversationMemory(manager=MemoryManager(store, user_id="ann"))
        data = {
            "password": PASSWORD,
            "args": [{"name": "DB_PASSWORD", "value": PASSWORD}, {"code": 493021, "pin": 12}],
        }
        kept.add_turn("s", "human", f"my code is 493021, the token {TOKEN}", data)
        [inside] = store.list_all(Scope("ann"))
        [turn] = kept.get_turns("s")

        assert turn.text == "my code is [redacted otp], the token [redacted github_token]"
        assert turn.data["password"] == "[redacted password]"
        assert turn.data["args"][1] == {"code": "[redacted otp]", "pin": "[redacted pin]"}
        assert not any(
            secret in everything(inside) for secret in (PASSWORD, "493021", TOKEN, ": 12")
        )

    def test_what_was_recalled(self) -> None:
        """Of what was recalled for a turn the same is gone, at the door and afterwards, and the rest comes back."""
        data = {"password": PASSWORD, "type": "human"}
        turn = ChatTurn("human", f"> the token {TOKEN}", data, is_recalled=True)
        redactor = Redactor()
        for store in (
            SQLAlchemyStore("sqlite://", redactor=redactor),
            SQLAlchemyStore("sqlite://"),
        ):
            kept = ConversationMemory(manager=MemoryManager(store, user_id="ann"))
            kept.add_turns("s", [turn, ChatTurn("ai", "ok")])
            redact_memories(store, redactor)
            [inside] = store.list_all(Scope("ann"))
            [recalled, _] = kept.get_turns("s")

            assert recalled.text == "> the token [redacted github_token]"
            assert recalled.data == {"password": "[redacted password]", "type": "human"}
            assert not any(secret in everything(inside) for secret in (PASSWORD, TOKEN))

    @for_each("name", PATTERNS)
    def test_langchain_history(self, name: str) -> None:
        """Messages come back with their ids and their calls, whatever numbers and names a pattern finds."""
        store = SQLAlchemyStore("sqlite://", redactor=Redactor({name: PATTERNS[name]}))
        history = MemoryContextChatMessageHistory("t", user_id="ann", store=store)
        calls: Any = [
            {"name": "look_up", "args": {"code": 493021}, "id": "call_100001", "type": "tool_call"}
        ]
        usage: Any = {"input_tokens": 100001, "output_tokens": 200002, "total_tokens": 300003}
        said = [
            HumanMessage("hi", id="100001"),
            AIMessage("", tool_calls=calls, usage_metadata=usage, id="2026-01-02"),
            ToolMessage("ann@example.org", tool_call_id="call_100001", name="look_up"),
        ]
        history.add_messages(said)
        found = history.messages

        assert [(message.type, message.id) for message in found] == [
            (message.type, message.id) for message in said
        ]
        assert isinstance(found[1], AIMessage)
        assert found[1].usage_metadata == usage
        assert (
            found[1].tool_calls[0]["id"] == "call_100001" == getattr(found[2], "tool_call_id", None)
        )

    @for_each("name", PATTERNS)
    def test_langgraph_items(self, name: str) -> None:
        """Items are found by namespace and key, and namespaces are listed as they are."""
        store = SQLAlchemyStore("sqlite://", redactor=Redactor({name: PATTERNS[name]}))
        adapter = MemoryStoreAdapter(MemoryManager(store, user_id="ann"))
        adapter.put(("users", "493021"), "493021", {"mail": "ann@example.org", "n": 1})

        assert adapter.list_namespaces() == [("users", "493021")]
        assert [(item.namespace, item.key) for item in adapter.search(("users",))] == [
            (("users", "493021"), "493021")
        ]
        assert adapter.get(("users", "493021"), "493021")

    @for_each("name", PATTERNS)
    async def test_autogen_memory(self, name: str) -> None:
        """A dict comes back as a dict, of the MIME type that it had."""
        memory = SQLMemory(
            "ann", store=SQLAlchemyStore("sqlite://", redactor=Redactor({name: PATTERNS[name]}))
        )
        await memory.add(
            MemoryContent(
                content={"to": "ann@example.org", "x": [1]}, mime_type=MemoryMimeType.JSON
            )
        )
        [found] = (await memory.query()).results

        assert isinstance(found.content, dict)
        assert found.mime_type == MemoryMimeType.JSON

    @for_each("name", PATTERNS)
    def test_stages_and_secrets(self, name: str) -> None:
        """What was kept in a stage is found by the stage's name; what was marked as secret stays marked."""
        store = SQLAlchemyStore(
            "sqlite://", redactor=Redactor({name: PATTERNS[name], "marks": "secret|stage"})
        )
        tiers = ScopedMemory(MemoryManager(store, user_id="ann"), task_id="t")
        tiers.add_reasoning("thought", "role:493021")
        key = tiers.manager.store("x", "x", tags=["secret"])

        assert len(tiers.get_stage_outputs("role:493021")) == 1
        assert tiers.manager.get(key).tags == ("secret",)

    @pytest.mark.long
    @for_each("name", PATTERNS)
    async def test_compacted_messages(self, name: str) -> None:
        """Messages of a compaction can be put back."""
        store = SQLAlchemyStore("sqlite://", redactor=Redactor({name: PATTERNS[name]}))
        context = MemoryContext("ann", store=store, max_tokens=500)
        await context.add_message(UserMessage(content="do the task", source="user"))
        for step in range(20):
            content = f"step {step} for ann@example.org: 493021 " + "word " * 20
            await context.add_message(AssistantMessage(content=content, source="coder"))
            prompt = await context.get_messages()
        [key] = [ref.key for message in prompt for ref in MemoryRef.find_all(str(message.content))]

        [stored] = [item for item in store.list_all(Scope("ann")) if item.memory_key == key]
        messages = from_lines(stored.text)

        assert await context.restore(key) == len(messages)
        assert {getattr(message, "source", None) for message in messages} == {"coder"}
        await context.aclose()

    @given(
        st.sampled_from([*PATTERNS.values(), ".", r'"', r"\\", r"\W+", r"(?<=: ).+", r"\w+"]),
        st.recursive(
            st.text(max_size=8) | st.integers() | st.booleans() | st.none(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=4), inner, max_size=3)
            ),
            max_leaves=5,
        ),
    )
    @examples(200)
    def test_no_pattern_breaks_json(self, pattern: str, value: object) -> None:
        """What was given as a dict is one afterwards, of the same size; doing it again changes nothing."""
        redactor = Redactor({"x": pattern})
        once = Redaction(redactor).json(json.dumps({"value": value}))
        again = Redaction(redactor).json(once)

        assert len(json.loads(once)) == 1
        assert once == again


class TestDamagedRecords:
    """What a redactor broke is left out with a warning, or told as an error of the store's."""

    def test_turns(self, caplog: pytest.LogCaptureFixture) -> None:
        """A turn without its moment was said when it was stored; what is no turn any more is left out."""
        store = SQLAlchemyStore("sqlite://")
        history = MemoryContextChatMessageHistory("t", user_id="ann", store=store)
        history.add_messages(
            [HumanMessage("one"), HumanMessage("two"), AIMessage("three"), AIMessage("four")]
        )
        [item] = store.list_all(Scope("ann"))
        lines = item.text.split("\n")
        moment = json.loads(lines[0])["at"]
        lines[0] = lines[0].replace(moment, "[redacted date]T12")
        lines[1] = lines[1].replace('"text"', "[redacted x]")
        lines[2] = lines[2].replace('"role": "ai"', '"role": "[redacted x]"')
        store.put(Scope("ann"), replaced(item, content="\n".join(lines)), replace=True)

        assert [message.content for message in history.messages] == ["one", "four"]
        assert caplog.text.count("is not what was stored there") == 2
        turns = ConversationMemory(manager=MemoryManager(store, user_id="ann")).get_turns("t")
        assert turns[0].at == item.created_at

    def test_langgraph_items(self) -> None:
        """A search leaves a damaged item out; who asks for it by its key gets an error of the store's."""
        store = SQLAlchemyStore("sqlite://")
        adapter = MemoryStoreAdapter(MemoryManager(store, user_id="ann"))
        adapter.put(("a",), "k", {"x": 1})
        adapter.put(("a",), "l", {"x": 1})
        item = next(
            one for one in store.list_all(Scope("ann")) if one.content_metadata["key"] == "k"
        )
        store.put(Scope("ann"), replaced(item, content='{"x": [redacted n]}'), replace=True)

        assert [item.key for item in adapter.search(("a",))] == ["l"]
        with pytest.raises(StoreError, match="does not hold the item"):
            adapter.get(("a",), "k")

    async def test_autogen_memory(self) -> None:
        """A dict that is none any more comes as the text that is left of it."""
        store = SQLAlchemyStore("sqlite://")
        memory = SQLMemory("ann", store=store)
        await memory.add(MemoryContent(content={"x": 1}, mime_type=MemoryMimeType.JSON))
        [item] = store.list_all(Scope("ann"))
        store.put(Scope("ann"), replaced(item, content='{"x": [redacted n]}'), replace=True)

        assert [one.content for one in (await memory.query()).results] == ['{"x": [redacted n]}']


SHORT = ["pw" + "123", "root" + "1", "s3c" + "r3t"]


class Embedder:
    """Makes vectors, and remembers of what."""

    model = "lengths"

    def __init__(self) -> None:
        self.seen = list[str]()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        self.seen += texts
        return [[float(len(text) % 7), 1.0, 2.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """A vector for a query."""
        return self.embed_documents([text])[0]


class TestWhatIsCutShort:
    """What is made of a text, and cut, has nothing of the secrets in it."""

    @pytest.mark.long
    @for_each("password", SHORT)
    def test_generated_descriptions(self, password: str) -> None:
        """However far a short password stands from the beginning, no description or reference shows it."""
        rest = "\n".join(f"row {number} other" for number in range(60))
        with SQLAlchemyStore("sqlite://", redactor=Redactor()) as store:
            ann = MemoryManager(store, user_id="ann", counter=len)
            for padding in range(90):
                url = f"{'x' * padding} postgresql://ann:{password}@db/x"
                item = ann.remember(f"{url}\n{rest}", type="tool_output", source="run")
                assert password[:3] not in item.ref.render()
                assert password[:3] not in item.summary

    @pytest.mark.long
    @pytest.mark.parametrize("password", SHORT)
    def test_given_descriptions(self, password: str) -> None:
        """Nor do lines that callers and other parts of the library make of a text: of turns, notes, lessons."""
        with SQLAlchemyStore("sqlite://", redactor=Redactor()) as store:
            tiers = ScopedMemory(
                MemoryManager(store, user_id="ann", counter=len), task_id="t", project_id="p"
            )
            kept = ConversationMemory(manager=tiers.manager)
            for padding in range(90):
                text = f"{padding} {'x' * padding} postgresql://ann:{password}@db/x and so on"
                kept.add_turn("s", "human", text)
                tiers.add_decision(text)
                tiers.add_failure("code", text)
                tiers.manager.store(text, "y" * (300 - 40 - padding) + text)
            summaries = [item.summary for item in store.list_all(Scope("ann"))]

        assert len(summaries) == 360
        assert not [summary for summary in summaries if password[:3] in summary]

    @for_each("password", SHORT)
    def test_descriptions_of_others(self, password: str) -> None:
        """Of records that were there before, a line that has a password or most of it shows none of it."""
        cut = {
            f"ann:{password}": "ann:[redacted url_password]",
            f"ann:{password[:4]}…": "ann:[redacted url_password]…",
        }
        with SQLAlchemyStore("sqlite://") as store:
            ann = MemoryManager(store, user_id="ann", counter=len)
            for number, (line, shown) in enumerate(cut.items()):
                key = ann.store(f"{number} postgresql://ann:{password}@db/x", line)
                redact_memories(store, Redactor())
                assert ann.get(key).summary == shown

    def test_short_secrets_in_words(self) -> None:
        """A short secret that is a part of a word by chance is left there."""
        secrets = [Secret("password", "row")]

        assert without_pieces("rows grow", secrets) == "rows grow"
        assert without_pieces("a row!", secrets) == "a [redacted password]!"

    def test_secrets_of_tiers(self) -> None:
        """A memory of type `secret` in a tier is not described by its first line."""
        tiers = ScopedMemory(MemoryManager("sqlite://", user_id="ann"), task_id="t")
        key = tiers.save(PASSWORD, "x", tier="task", type="secret")

        assert tiers.manager.get(str(key)).summary == "secret"

    async def test_notes_of_compactions(self) -> None:
        """The note that stands for compacted messages quotes what was stored of them."""
        store = SQLAlchemyStore("sqlite://", redactor=Redactor())
        context = MemoryContext("ann", store=store, max_tokens=800)
        await context.add_message(UserMessage(content="do the task", source="user"))
        for step in range(30):
            content = f"step {step}: DB_PASSWORD={PASSWORD}{step} " + "word " * 20
            await context.add_message(AssistantMessage(content=content, source="coder"))
            prompt = await context.get_messages()
        [note] = [
            str(message.content) for message in prompt if MemoryRef.find_all(str(message.content))
        ]

        assert "DB_PASSWORD=[redacted password]" in note
        assert PASSWORD not in note
        await context.aclose()


class TestEmbedder:
    """An embedder and a summarizer get redacted texts only."""

    async def test_queries(self) -> None:
        """Neither a search nor the recall for a user's message brings a secret to the embedder."""
        embedder = Embedder()
        store = SQLAlchemyStore(
            "sqlite://",
            embedder=embedder,
            embedding_model="lengths",
            redactor=Redactor({"otp": r"\b\d{6}\b"}),
        )
        ann = MemoryManager(store, user_id="ann")
        key = ann.store(f"the pump fails with DB_PASSWORD={PASSWORD} and 493021", "a log")
        context = MemoryContext("ann", store=store)
        question = f"why does the pump fail with postgresql://ann:{PASSWORD}@db/x and 493021?"
        await context.add_message(UserMessage(content=question, source="user"))
        await context.get_messages()

        assert [hit.memory_key for hit in ann.search(f"pump DB_PASSWORD={PASSWORD}")] == [key]
        assert embedder.seen
        assert any("pump fail" in text for text in embedder.seen)
        assert not [text for text in embedder.seen if PASSWORD in text or "493021" in text]
        await context.aclose()

    def test_words_of_markers(self) -> None:
        """A query with a secret does not find memories only because a secret was redacted there, too."""
        ann = MemoryManager(SQLAlchemyStore("sqlite://", redactor=Redactor()), user_id="ann")
        ann.store(f"the turbine, DB_PASSWORD={PASSWORD}", "a log")

        assert ann.search(f"zebrafish postgresql://u:{PASSWORD}@h") == []
        assert ann.search(TOKEN) == []

    def test_summarizers(self) -> None:
        """A summarizer is given the text as it is stored."""
        shown = list[str]()

        class Noting:
            def summarize(self, text: str, description: str) -> str:
                shown.append(text + description)
                return "a log"

        ann = MemoryManager(
            SQLAlchemyStore("sqlite://", redactor=Redactor()), user_id="ann", summarizer=Noting()
        )
        ann.store(f"DB_PASSWORD={PASSWORD}\n" + "some words of a log\n" * 300)

        assert len(shown) == 1
        assert PASSWORD not in shown[0]
