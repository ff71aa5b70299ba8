"""Redaction of what this library writes itself: no pattern of a user's makes a record unreadable."""

from __future__ import annotations

import json
from dataclasses import replace as replaced
from typing import Any

import pytest
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.models import AssistantMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_memory_context import MemoryContextChatMessageHistory, MemoryStoreAdapter
from memory_context import (
    ConversationMemory,
    MemoryContext,
    MemoryItem,
    MemoryManager,
    MemoryRef,
    RedactingStore,
    Redactor,
    Scope,
    ScopedMemory,
    SQLMemory,
)
from memory_context._items import to_content
from memory_context._redacted import Clearing
from memory_context.autogen._compaction import from_lines
from memory_context.conversation import Turn
from memory_context.exceptions import StoreError
from memory_context.stores import SQLAlchemyStore
from memory_context.testing._memories import memory

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

    @pytest.mark.parametrize("name", PATTERNS)
    def test_turns(self, name: str) -> None:
        """Turns come back with their roles, in their order, with when they were said, however a pattern looks."""
        store = RedactingStore("sqlite://", Redactor({name: PATTERNS[name]}))
        kept = ConversationMemory(manager=MemoryManager(store, user_id="ann", counter=len))
        data = {"to": "ann@example.org", "codes": [493021, True, None], "on": "2026-01-02"}
        added = kept.add_turns("s", [Turn("human", "493021 is for ann@example.org", data), Turn("ai", "ok")])
        turns = kept.get_turns("s")

        assert [turn.role for turn in turns] == ["human", "ai"]
        assert [turn.at for turn in turns] == [turn.at for turn in added]
        assert turns[0].data.keys() == data.keys()
        assert turns[0].text == Redactor({name: PATTERNS[name]}).redact("493021 is for ann@example.org").text

    def test_secrets_in_turns(self) -> None:
        """What is secret by its form, the name beside it, or a pattern is gone from text and data, numbers too."""
        store = RedactingStore("sqlite://", Redactor({"otp": r"\b\d{6}\b", "pin": r'"pin": (?P<value>\d+)'}))
        kept = ConversationMemory(manager=MemoryManager(store, user_id="ann"))
        data = {"password": PASSWORD, "args": [{"name": "DB_PASSWORD", "value": PASSWORD}, {"code": 493021, "pin": 12}]}
        kept.add_turn("s", "human", f"my code is 493021, the token {TOKEN}", data)
        [inside] = store.inner.list_all(Scope("ann"))
        [turn] = kept.get_turns("s")

        assert turn.text == "my code is [redacted otp], the token [redacted github_token]"
        assert turn.data["password"] == "[redacted password]"
        assert turn.data["args"][1] == {"code": "[redacted otp]", "pin": "[redacted pin]"}
        assert not any(secret in everything(inside) for secret in (PASSWORD, "493021", TOKEN, ": 12"))

    @pytest.mark.parametrize("name", PATTERNS)
    def test_langchain_history(self, name: str) -> None:
        """Messages come back with their ids and their calls, whatever numbers and names a pattern finds."""
        store = RedactingStore("sqlite://", Redactor({name: PATTERNS[name]}))
        history = MemoryContextChatMessageHistory("t", user_id="ann", store=store)
        calls: Any = [{"name": "look_up", "args": {"code": 493021}, "id": "call_100001", "type": "tool_call"}]
        usage: Any = {"input_tokens": 100001, "output_tokens": 200002, "total_tokens": 300003}
        said = [
            HumanMessage("hi", id="100001"),
            AIMessage("", tool_calls=calls, usage_metadata=usage, id="2026-01-02"),
            ToolMessage("ann@example.org", tool_call_id="call_100001", name="look_up"),
        ]
        history.add_messages(said)
        found = history.messages

        assert [(message.type, message.id) for message in found] == [(message.type, message.id) for message in said]
        assert isinstance(found[1], AIMessage)
        assert found[1].usage_metadata == usage
        assert found[1].tool_calls[0]["id"] == "call_100001" == getattr(found[2], "tool_call_id", None)

    @pytest.mark.parametrize("name", PATTERNS)
    def test_langgraph_items(self, name: str) -> None:
        """Items are found by namespace and key, and namespaces are listed as they are."""
        store = RedactingStore("sqlite://", Redactor({name: PATTERNS[name]}))
        adapter = MemoryStoreAdapter(MemoryManager(store, user_id="ann"))
        adapter.put(("users", "493021"), "493021", {"mail": "ann@example.org", "n": 1})

        assert adapter.list_namespaces() == [("users", "493021")]
        assert [(item.namespace, item.key) for item in adapter.search(("users",))] == [(("users", "493021"), "493021")]
        assert adapter.get(("users", "493021"), "493021")

    @pytest.mark.parametrize("name", PATTERNS)
    async def test_autogen_memory(self, name: str) -> None:
        """A dict comes back as a dict, of the MIME type that it had."""
        memory = SQLMemory("ann", store=RedactingStore("sqlite://", Redactor({name: PATTERNS[name]})))
        await memory.add(MemoryContent(content={"to": "ann@example.org", "x": [1]}, mime_type=MemoryMimeType.JSON))
        [found] = (await memory.query()).results

        assert isinstance(found.content, dict)
        assert found.mime_type == MemoryMimeType.JSON

    @pytest.mark.parametrize("name", PATTERNS)
    def test_stages_and_secrets(self, name: str) -> None:
        """What was kept in a stage is found by the stage's name; what was marked as secret stays marked."""
        store = RedactingStore("sqlite://", Redactor({name: PATTERNS[name], "marks": "secret|stage"}))
        tiers = ScopedMemory(MemoryManager(store, user_id="ann"), task_id="t")
        tiers.add_reasoning("thought", "role:493021")
        key = tiers.manager.store("x", "x", tags=["secret"])

        assert len(tiers.get_stage_outputs("role:493021")) == 1
        assert tiers.manager.get(key).tags == ("secret",)

    @pytest.mark.parametrize("name", PATTERNS)
    async def test_compacted_messages(self, name: str) -> None:
        """Messages of a compaction can be put back."""
        store = RedactingStore("sqlite://", Redactor({name: PATTERNS[name]}))
        context = MemoryContext("ann", store=store, max_tokens=500)
        await context.add_message(UserMessage(content="do the task", source="user"))
        for step in range(20):
            content = f"step {step} for ann@example.org: 493021 " + "word " * 20
            await context.add_message(AssistantMessage(content=content, source="coder"))
            prompt = await context.get_messages()
        [key] = [ref.key for message in prompt for ref in MemoryRef.find_all(str(message.content))]

        [stored] = [item for item in store.inner.list_all(Scope("ann")) if item.memory_key == key]
        messages = from_lines(stored.text)

        assert await context.restore(key) == len(messages)
        assert {getattr(message, "source", None) for message in messages} == {"coder"}
        await context.aclose()

    @given(
        st.sampled_from([*PATTERNS.values(), ".", r'"', r"\\", r"\W+", r"(?<=: ).+", r"\w+"]),
        st.recursive(
            st.text(max_size=8) | st.integers() | st.booleans() | st.none(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
            max_leaves=5,
        ),
    )
    @settings(max_examples=200, deadline=None)
    def test_no_pattern_breaks_json(self, pattern: str, value: object) -> None:
        """What was given as a dict is one afterwards, of the same size; doing it again changes nothing."""
        clearing = Clearing(Redactor({"x": pattern}), len)
        content, media_type = to_content({"value": value})
        once = clearing.of(memory(content, media_type=media_type))
        again = Clearing(Redactor({"x": pattern}), len).of(once)

        assert len(json.loads(once.data)) == 1
        assert once.content == again.content


class TestDamagedRecords:
    """What a redactor broke is left out with a warning, or told as an error of the store's."""

    def test_turns(self, caplog: pytest.LogCaptureFixture) -> None:
        """A turn without its moment was said when it was stored; what is no turn any more is left out."""
        store = SQLAlchemyStore("sqlite://")
        history = MemoryContextChatMessageHistory("t", user_id="ann", store=store)
        history.add_messages([HumanMessage("one"), HumanMessage("two"), AIMessage("three"), AIMessage("four")])
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
        item = next(one for one in store.list_all(Scope("ann")) if one.content_metadata["key"] == "k")
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
