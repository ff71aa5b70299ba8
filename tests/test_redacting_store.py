"""A store that keeps no secrets: the contract of what is inside, and nothing of a secret in it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResult, FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    FileStore,
    MemoryContext,
    MemoryItem,
    MemoryManager,
    MemoryRef,
    MemoryStore,
    RedactingStore,
    Redactor,
    Scope,
)
from memory_context.conversation.fold import fold
from memory_context.exceptions import RedactionTimeoutError
from memory_context.memory.transfer import copy_memories, export_memories
from memory_context.model.item import Deletion, hash_content, now
from memory_context.stores import Encrypted, SQLAlchemyStore
from memory_context.testing import MemoryStoreContract, ScriptedChatClient
from memory_context.testing.sample_memories import ANN, memory
from planted import MIXED, pem, some


@pytest.mark.long
class TestInMemory(MemoryStoreContract):
    """The contract, around a database in memory."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore("sqlite://") as store:
            yield store


@pytest.mark.soak
class TestOnSQLite(MemoryStoreContract):
    """The contract, around a SQLite file."""

    @pytest.fixture
    def store(self, sqlite_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(sqlite_url) as store:
            yield store


@pytest.mark.soak
class TestOnPostgreSQL(MemoryStoreContract):
    """The contract, around PostgreSQL."""

    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(postgres_url) as store:
            yield store


@pytest.mark.soak
class TestOnFiles(MemoryStoreContract):
    """The contract, around a folder of files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(FileStore(tmp_path / "files")) as store:
            yield store


PASSWORD = "hunter" + "2!x"


def with_key(chosen: random.Random) -> tuple[str, str]:
    """A log with a token in its middle, and the token."""
    token = "ghp" + "_" + some(chosen, MIXED, 36)
    lines = [
        f"line {number} of the deployment took {number * 37 % 991} ms" for number in range(400)
    ]
    lines[200] = (
        f"remote: https://x-access-token:{token}@github.com/a/b.git rejected the zebrafish push"
    )
    return "\n".join(lines), token


LOG, TOKEN = with_key(random.Random(1))


@pytest.fixture(params=["memory", "file", "postgresql", "folder"])
def redacting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedactingStore]:
    """An empty redacting store around each kind of store."""
    urls = {"file": "sqlite_url", "postgresql": "postgres_url"}
    inner: Any = "sqlite://" if request.param == "memory" else FileStore(tmp_path / "files")
    inner = request.getfixturevalue(urls[request.param]) if request.param in urls else inner
    with RedactingStore(inner) as store:
        yield store


def everything(item: MemoryItem) -> str:
    """All that a record tells."""
    return repr(item)


class TestBeforeStoring:
    """Nothing of a secret reaches the store inside."""

    def test_every_part_of_a_record(self, redacting: RedactingStore) -> None:
        """Content, description, nested metadata, category and tags; the facts are those of what is stored."""
        ann = MemoryManager(redacting, user_id="ann")
        item = ann.remember(
            LOG,
            f"a log that names {TOKEN}",
            "tool_output",
            source="git push",
            metadata={
                "arguments": json.dumps({"url": f"https://a:{PASSWORD}@b.org"}),
                "deep": [{"password": PASSWORD}],
                "n": 1,
            },
            category=f"logs/{TOKEN}",
            tags=["a", TOKEN],
        )
        [inside] = redacting.inner.list_all(ann.scope)

        assert TOKEN not in everything(inside)
        assert PASSWORD not in everything(inside)
        assert item == inside
        assert inside.text == LOG.replace(TOKEN, "[redacted github_token]")
        assert (ann.facts_of(inside.content), inside.content_hash) == (
            {
                name: getattr(inside, name)
                for name in ("token_count", "char_count", "line_count", "content_hash")
            },
            inside.identity,
        )
        assert (
            {"github_token": 4, "url_password": 1, "password": 1}
            == inside.content_metadata["redacted"]
            == redacting.counts
        )
        assert 1 == inside.content_metadata["n"]

    def test_nothing_of_the_hash(self, redacting: RedactingStore) -> None:
        """No hash of what was taken out is kept; equal contents are still one record."""
        ann = MemoryManager(redacting, user_id="ann")
        first, second = (ann.remember(LOG, type="tool_output", source="git push") for _ in range(2))
        [inside] = redacting.inner.list_all(ann.scope)

        assert hash_content(LOG)[:8] not in everything(inside)
        assert (first.id, first.memory_key) == (second.id, second.memory_key)
        assert hash_content(inside.content) == inside.content_hash
        assert inside.text == ann.retrieve(first.memory_key)

    def test_a_description_that_cuts_a_secret(self, redacting: RedactingStore) -> None:
        """A line that was made of the text and holds the beginning of a secret only has none of it."""
        ann = MemoryManager(redacting, user_id="ann")
        item = ann.remember(LOG, f"log: {TOKEN[:17]}…", "tool_output")

        assert "log: [redacted github_token]…" == item.summary

    def test_secrets_are_left_alone(self, redacting: RedactingStore) -> None:
        """A memory of type `secret` is what its owner stored; redeemed by its key, not found by what it is."""
        ann = MemoryManager(redacting, user_id="ann")
        ann.store(LOG, "the log", "secret", key="s", metadata={"password": PASSWORD})

        assert LOG == ann.retrieve("s")
        assert PASSWORD == ann.get("s").content_metadata["password"]
        assert {} == redacting.counts

    def test_binary_content_is_left_alone(self, redacting: RedactingStore) -> None:
        """Bytes come back as they are."""
        ann = MemoryManager(redacting, user_id="ann")
        key = ann.store(b"\x00" + TOKEN.encode(), "bytes")

        assert b"\x00" + TOKEN.encode() == ann.retrieve(key)

    def test_moving_in(self, redacting: RedactingStore) -> None:
        """Records that come from another store lose their secrets, and keep their keys; coming again changes nothing."""
        with MemoryManager("sqlite://", user_id="ann") as other:
            keys = [
                other.store(LOG, type="tool_output"),
                other.store(f"password={PASSWORD}", tier="project", tier_id="p"),
            ]
            records = list(other.memory_store.list_all(other.scope))
        ann = MemoryManager(redacting, user_id="ann")

        assert (2, 0) == (
            redacting.restore(ann.scope, records).written,
            redacting.restore(ann.scope, records).written,
        )
        inside = list(redacting.inner.list_all(ann.scope))
        assert sorted(keys) == sorted(item.memory_key for item in inside)
        assert not any(
            secret in everything(item) for secret in (TOKEN, PASSWORD) for item in inside
        )

    def test_counts_under_threads(self) -> None:
        """Every secret is counted once, however many threads store."""
        with RedactingStore("sqlite://") as store, ThreadPoolExecutor(8) as threads:
            ann = MemoryManager(store, user_id="ann", counter=len)
            list(threads.map(lambda number: ann.store(f"{number} {TOKEN}", "x"), range(200)))

            assert {"github_token": 200} == store.counts
            assert 200 == store.count(ann.scope)


class TestBeforeRecalling:
    """What was stored without it comes out without secrets too, by every verb."""

    def test_every_verb(self, redacting: RedactingStore) -> None:
        """get, get_many, query, search, list_all; passages of hits; the record's facts are those of what is shown."""
        plain = MemoryManager(redacting.inner, user_id="ann")
        key = plain.store(LOG, f"log with {TOKEN}", "tool_output", metadata={"password": PASSWORD})
        scope = plain.scope
        [hit] = redacting.search(scope, "zebrafish push rejected")
        shown = [
            redacting.get(scope, key),
            *redacting.get_many(scope, [key]),
            *redacting.query(scope),
            *redacting.list_all(scope),
            hit,
        ]

        assert 5 == len(shown)
        for item in shown:
            assert item
            assert key == item.memory_key
            assert TOKEN not in everything(item)
            assert PASSWORD not in everything(item)
            assert (len(item.content), hash_content(item.content)) == (
                item.char_count,
                item.content_hash,
            )
        assert hit.match
        assert "zebrafish" in hit.match.passage
        assert LOG == plain.retrieve(key)
        assert {} == redacting.counts

    def test_reasons(self, redacting: RedactingStore) -> None:
        """Why something was deleted is kept without secrets, and shown so where it was kept before."""
        for key in ("a", "b", "c", "d"):
            redacting.put(ANN, memory(key, memory_key=key))
        redacting.delete(ANN, "a", reason=f"rotated {TOKEN}")
        redacting.inner.delete(ANN, "b", reason=f"rotated {TOKEN}")
        redacting.clear(ANN, reason=f"rotated {TOKEN}")
        with SQLAlchemyStore("sqlite://") as source:
            source.restore(ANN, [Deletion("e", now(), f"rotated {TOKEN}")])
            copy_memories(source, redacting, user_id="ann")

        shown = [deletion.reason for deletion in redacting.list_deleted(ANN)]
        assert ["rotated [redacted github_token]"] * 5 == shown
        assert "rotated [redacted github_token]" == getattr(
            redacting.deletion(ANN, "b"), "reason", None
        )
        kept = {one.memory_key for one in redacting.inner.list_deleted(ANN) if TOKEN in one.reason}
        assert {"b"} == kept

    def test_names_that_become_the_same(self, redacting: RedactingStore) -> None:
        """Two names of the metadata that were secrets keep both values."""
        other = TOKEN[:-1] + ("x" if TOKEN[-1] != "x" else "y")
        stored = redacting.put(ANN, memory("x", content_metadata={TOKEN: 1, other: 2, "plain": 3}))

        names = {"[redacted github_token]": 1, "[redacted github_token] 2": 2, "plain": 3}
        assert names == {
            key: value for key, value in stored.content_metadata.items() if key != "redacted"
        }

    def test_found_again(self, redacting: RedactingStore) -> None:
        """Where equal content was stored before there was a redactor, `put` gives that record without its secrets."""
        before = redacting.inner.put(ANN, memory("clean", shared=True, summary=f"log with {TOKEN}"))

        found = redacting.put(ANN, memory("clean", shared=True))

        assert (before.id, "log with [redacted github_token]") == (found.id, found.summary)

    def test_a_passage_that_cuts_a_secret(self) -> None:
        """A passage that begins or ends inside a secret shows none of it."""
        words = "needle " + " ".join(f"word{number}" for number in range(262))
        for padding in range(0, 60, 7):
            text = f"{words} {'x' * padding} {TOKEN} {words}\n" * 3
            with RedactingStore("sqlite://") as store:
                plain = MemoryManager(store.inner, user_id="ann", counter=len)
                plain.store(text, "x")
                for hit in store.search(plain.scope, "needle"):
                    assert hit.match
                    assert TOKEN[:10] not in hit.match.passage
                    assert TOKEN[-10:] not in hit.match.passage

    def test_export(self, redacting: RedactingStore, tmp_path: Path) -> None:
        """An export through the wrapper has no secret in it."""
        plain = MemoryManager(redacting.inner, user_id="ann")
        plain.store(LOG, "log", "tool_output")
        export_memories(redacting, tmp_path / "out.jsonl", user_id="ann")

        assert TOKEN not in (tmp_path / "out.jsonl").read_text("utf-8")

    def test_a_pattern_that_takes_too_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is stored and nothing shown."""
        monkeypatch.setattr("memory_context.text.redact.user_patterns.SECONDS", 0.2)
        with RedactingStore("sqlite://", Redactor({"slow": "(a+)+b"})) as store:
            ann, plain = (
                MemoryManager(one, user_id="ann", counter=len) for one in (store, store.inner)
            )
            with pytest.raises(RedactionTimeoutError):
                ann.store("a" * 5000 + " b", "x")
            assert 0 == store.count(ann.scope)
            key = plain.store("a" * 5000 + " b", "x")
            with pytest.raises(RedactionTimeoutError):
                ann.get(key)


async def test_autogen_agent() -> None:
    """An agent's output is folded without its token: preview, store, recall, tools and the saved state have none of it."""
    store = RedactingStore("sqlite://")
    context = MemoryContext("ann", store=store)
    pushing = FunctionTool(lambda: LOG, "Push.", name="push")
    script: list[Any] = [
        [FunctionCall(id="1", name="push", arguments="{}")],
        lambda prompt: [FunctionCall(id="2", name="retrieve_memory", arguments=json.dumps({"key": _refs(prompt)[0].key, "contains": "zebrafish"}))],
        [FunctionCall(id="3", name="search_memory", arguments='{"query": "zebrafish push"}')],
        "Rejected.",
        "As I said.",
    ]  # fmt: skip
    client = ScriptedChatClient(script)
    agent = AssistantAgent(
        "coder",
        model_client=client,
        model_context=context,
        workbench=context.workbench([pushing]),
        max_tool_iterations=6,
    )
    await agent.run(task="push it")
    await agent.run(task=f"why was [MemoryRef: {_refs(client.prompts[-1])[0].key}] rejected?")

    assert "zebrafish" in repr(client.prompts)
    assert TOKEN not in repr(client.prompts)
    assert "[redacted github_token]" in repr(client.prompts)
    assert TOKEN not in json.dumps(dict(await context.save_state()))
    assert context.stats().folds > 0
    assert not any(TOKEN in everything(item) for item in store.inner.list_all(Scope("ann")))
    await context.aclose()


async def test_a_text_below_the_threshold_stays() -> None:
    """What is not folded is not stored, and stands in the prompt as it came."""
    context = MemoryContext("ann", store=RedactingStore("sqlite://"))
    await context.add_message(FunctionExecutionResultMessage(content=[FunctionExecutionResult(content=TOKEN, name="x", call_id="1", is_error=False)]))  # fmt: skip

    assert TOKEN in repr(await context.get_messages())
    await context.aclose()


def test_a_text_of_secrets_is_folded() -> None:
    """A text that is mostly secrets is replaced, though what is left of it is short."""
    block = "\n".join(pem(random.Random(number)) for number in range(5))
    manager = MemoryManager(RedactingStore("sqlite://"), user_id="ann")

    def commit(text: str) -> MemoryItem:
        return manager.remember(text, type="tool_output", source="cat")

    folded = fold(block, commit, manager.counter, threshold=500, preview_tokens=300)
    assert folded
    assert pem(random.Random(0))[40:60] not in folded.text


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_langchain_agent(how: str) -> None:
    """The same in LangChain; the checkpoints that are saved after the fold have nothing of the token either."""

    @tool
    def push() -> str:
        """Push."""
        return LOG

    store, saver = RedactingStore("sqlite://"), InMemorySaver()
    middleware = MemoryContextMiddleware(store, user_id="ann")
    model = ScriptedChatModel([[call("push")], "Rejected.", "As I said."])
    agent: Any = create_agent(model, [push], middleware=[middleware], checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for text in ("push it", "why was the zebrafish push rejected?"):
        given = {"messages": [HumanMessage(text)]}
        await agent.ainvoke(given, config) if how == "ainvoke" else agent.invoke(given, config)

    assert TOKEN not in repr(model.prompts)
    assert "[redacted github_token]" in repr(model.prompts)
    assert TOKEN not in repr(agent.get_state(config))
    assert [] == [checkpoint for checkpoint in saver.list(config) if TOKEN in repr(checkpoint)]
    assert TOKEN.encode() not in repr((saver.blobs, saver.writes, saver.storage)).encode()
    assert not any(TOKEN in everything(item) for item in store.inner.list_all(Scope("ann")))


def _refs(prompt: Sequence[LLMMessage]) -> list[MemoryRef]:
    return [ref for message in prompt for ref in MemoryRef.find_all(repr(message.content))]


@pytest.mark.parametrize(
    "inside", [SQLAlchemyStore, lambda url: SQLAlchemyStore(url, codec=Encrypted({"k": b"k" * 32}))]
)
def test_moving_in_what_differs_in_secrets(
    sqlite_url: str, inside: Callable[[str], MemoryStore]
) -> None:
    """Memories that differ in their secrets only come in as many as they were; coming again changes nothing."""
    ann = MemoryManager("sqlite://", user_id="ann")
    texts = [
        f"login with {secret}\n" + "a row\n" * 300
        for secret in (TOKEN, TOKEN[::-1], f"password={PASSWORD}")
    ]
    keys = [
        ann.store(f"{text} token=q8Jf2LkP0zXvB7nM4tR{number}", source="login")
        for number, text in enumerate(texts)
    ]
    keys += [ann.store(f"token=Zr5TkQ1wXn9PbV3mLs7{letter}", source="login") for letter in "ABC"]
    with RedactingStore(inside(sqlite_url)) as store:
        first = copy_memories(ann.memory_store, store, user_id="ann")
        again = copy_memories(ann.memory_store, store, user_id="ann")

        assert (len(keys), ()) == (first.written, first.conflicts)
        assert (len(keys), ()) == (again.unchanged, again.conflicts)
        shown = [MemoryManager(store, user_id="ann").retrieve(key) for key in keys]
        assert 1 == len(set(shown[3:]))
        assert not any(secret in repr(shown) for secret in (TOKEN, PASSWORD, "q8Jf2", "Zr5T"))
