"""A store with a redactor: texts lose their secrets at every door, before they are stored, and so do those from before."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import langchain_memory_context
import memory_context
from conftest import STORES
from for_each import first_quick
from langchain_memory_context import (
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryContextMiddleware,
    MemoryStoreAdapter,
)
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    ContextAssembler,
    ConversationMemory,
    FileStore,
    FoldPolicy,
    MemoryContext,
    MemoryItem,
    MemoryManager,
    MemoryRef,
    Redactor,
    Scope,
    ScopedMemory,
    SQLMemory,
)
from memory_context.conversation import message as neutral
from memory_context.conversation.folding.fold_text import fold
from memory_context.conversation.message import as_lines, from_lines
from memory_context.exceptions import NotSerializableError, RedactionTimeoutError
from memory_context.memory.consolidation import consolidate
from memory_context.memory.copy_export_import import copy_memories, export_memories, import_memories
from memory_context.memory.redacted_records import redact_memories
from memory_context.model.call_log_records import Decision, ModelCall
from memory_context.model.item import Deletion, hash_content, now
from memory_context.model.tool_names import RETRIEVE
from memory_context.stores import SQLAlchemyStore
from memory_context.testing import ScriptedChatClient
from memory_context.testing.sample_memories import ANN, memory
from planted import MIXED, pem, some


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


AnyStore: TypeAlias = SQLAlchemyStore | FileStore
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


def opened(kind: str, request: pytest.FixtureRequest, redactor: Redactor | None) -> AnyStore:
    """A store of a kind, with a redactor or without."""
    if kind == "folder":
        return FileStore(request.getfixturevalue("tmp_path") / "files", redactor=redactor)
    urls = {"file": "sqlite_url", "postgresql": "postgres_url"}
    url = request.getfixturevalue(urls[kind]) if kind in urls else "sqlite://"
    return SQLAlchemyStore(url, redactor=redactor)


KINDS = [*STORES, "folder"]


@pytest.fixture(params=KINDS)
def redacting(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    """An empty store of each kind with a redactor."""
    with opened(request.param, request, Redactor()) as store:
        yield store


@pytest.fixture(params=KINDS)
def plain(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    """An empty store of each kind without one."""
    with opened(request.param, request, None) as store:
        yield store


def everything(item: MemoryItem) -> str:
    """All that a record tells."""
    return repr(item)


class TestBeforeStoring:
    """Nothing of a secret reaches the store."""

    def test_every_part_of_a_record(self, redacting: AnyStore) -> None:
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
        [inside] = redacting.list_all(ann.scope)

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
            == ann.redacted
        )
        assert 1 == inside.content_metadata["n"]

    def test_nothing_of_the_hash(self, redacting: AnyStore) -> None:
        """No hash of what was taken out is kept; equal contents are still one record."""
        ann = MemoryManager(redacting, user_id="ann")
        first, second = (ann.remember(LOG, type="tool_output", source="git push") for _ in range(2))
        [inside] = redacting.list_all(ann.scope)

        assert hash_content(LOG)[:8] not in everything(inside)
        assert (first.id, first.memory_key) == (second.id, second.memory_key)
        assert hash_content(inside.content) == inside.content_hash
        assert inside.text == ann.retrieve(first.memory_key)

    def test_a_description_that_cuts_a_secret(self, redacting: AnyStore) -> None:
        """A line that was made of the text and holds the beginning of a secret only has none of it."""
        ann = MemoryManager(redacting, user_id="ann")
        item = ann.remember(LOG, f"log: {TOKEN[:17]}…", "tool_output")

        assert "log: (redacted github_token)…" == item.summary

    def test_secrets_are_left_alone(self, redacting: AnyStore) -> None:
        """A memory of type `secret` is what its owner stored; redeemed by its key, not found by what it is."""
        ann = MemoryManager(redacting, user_id="ann")
        ann.store(LOG, "the log", "secret", key="s", metadata={"password": PASSWORD})

        assert LOG == ann.retrieve("s")
        assert PASSWORD == ann.get("s").content_metadata["password"]
        assert {} == ann.redacted

    def test_binary_content_is_left_alone(self, redacting: AnyStore) -> None:
        """Bytes come back as they are."""
        ann = MemoryManager(redacting, user_id="ann")
        key = ann.store(b"\x00" + TOKEN.encode(), "bytes")

        assert b"\x00" + TOKEN.encode() == ann.retrieve(key)

    def test_moving_in(self, redacting: AnyStore) -> None:
        """Records that come from another store lose their secrets, and keep their keys; coming again changes nothing."""
        with MemoryManager("sqlite://", user_id="ann") as other:
            keys = [
                other.store(LOG, type="tool_output"),
                other.store(f"password={PASSWORD}", tier="project", tier_id="p"),
            ]
            copies = [copy_memories(other.memory_store, redacting, user_id="ann") for _ in range(2)]
        ann = MemoryManager(redacting, user_id="ann")

        assert [2, 0] == [copy.written for copy in copies]
        inside = list(redacting.list_all(ann.scope))
        assert sorted(keys) == sorted(item.memory_key for item in inside)
        assert not any(
            secret in everything(item) for secret in (TOKEN, PASSWORD) for item in inside
        )

    @pytest.mark.long
    def test_counts_under_threads(self) -> None:
        """Every secret is counted once, however many threads store."""
        with (
            SQLAlchemyStore("sqlite://", redactor=Redactor()) as store,
            ThreadPoolExecutor(8) as threads,
        ):
            ann = MemoryManager(store, user_id="ann", counter=len)
            list(threads.map(lambda number: ann.store(f"{number} {TOKEN}", "x"), range(200)))

            assert {"github_token": 200} == ann.redacted
            assert 200 == store.count(ann.scope)

    def test_reasons(self, redacting: AnyStore) -> None:
        """Why something was deleted is kept without secrets, also of deletions that another store tells of."""
        ann = MemoryManager(redacting, user_id="ann")
        for key in ("a", "b"):
            ann.store(key, key=key, tier="project", tier_id="p")
        ann.forget("a", reason=f"rotated {TOKEN}")
        ann.clear("project", "p", reason=f"rotated {TOKEN}")
        with SQLAlchemyStore("sqlite://") as source:
            source.restore(ANN, [Deletion("c", now(), f"rotated {TOKEN}")])
            copy_memories(source, redacting, user_id="ann")

        shown = [deletion.reason for deletion in redacting.list_deleted(ANN)]
        assert ["rotated [redacted github_token]"] * 3 == shown

    def test_names_that_become_the_same(self, redacting: AnyStore) -> None:
        """Two names of the metadata that were secrets keep both values."""
        other = TOKEN[:-1] + ("x" if TOKEN[-1] != "x" else "y")
        ann = MemoryManager(redacting, user_id="ann")
        stored = ann.remember("x", metadata={TOKEN: 1, other: 2, "plain": 3})

        names = {"[redacted github_token]": 1, "[redacted github_token] 2": 2, "plain": 3}
        assert names | {"redacted": {"github_token": 2}} == stored.content_metadata

    def test_an_update(self, redacting: AnyStore) -> None:
        """A note that is changed loses the secrets of the new text, and counts them beside the old ones."""
        notes = ScopedMemory(MemoryManager(redacting, user_id="ann"), project_id="p")
        key = notes.save(f"the key is {TOKEN}", tier="project")
        changed = notes.update(key, {"password": PASSWORD}, category=TOKEN, tags=[TOKEN])

        assert changed
        assert '{"password": "[redacted password]"}' == changed.content
        assert len(changed.text) == changed.char_count
        assert {"github_token": 3, "password": 1} == changed.content_metadata["redacted"]
        assert {"github_token": 3, "password": 1} == notes.manager.redacted
        assert TOKEN not in everything(changed)

    def test_what_else_is_kept_as_redacted(self) -> None:
        """Metadata of a caller's own under the name of the counts stays as it is."""
        with SQLAlchemyStore("sqlite://", redactor=Redactor()) as store:
            ann = MemoryManager(store, user_id="ann")
            for mine in ("yes", {"github_token": "two"}, None, [1]):
                item = ann.remember(TOKEN, "x", tier="note", metadata={"redacted": mine})
                assert mine == item.content_metadata["redacted"]

    def test_a_pattern_that_takes_too_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is stored."""
        monkeypatch.setattr("memory_context.text.redact.user_patterns.SECONDS", 0.2)
        with SQLAlchemyStore("sqlite://", redactor=Redactor({"slow": "(a+)+b"})) as store:
            ann = MemoryManager(store, user_id="ann", counter=len)
            with pytest.raises(RedactionTimeoutError):
                ann.store("a" * 5000 + " b", "x")
            assert 0 == store.count(ann.scope)


HOSTILE = f"use {TOKEN} or postgresql://ann:{PASSWORD}@db/x, my code is 493021"
LONG = f"{HOSTILE}\n" * 200
HELD: Any = {"text": HOSTILE, "password": PASSWORD, "code": 493021, HOSTILE: [HOSTILE]}
FACTS: Any = {"metadata": HELD, "category": HOSTILE, "tags": [HOSTILE]}


@dataclass
class House:
    """A store with a redactor, and all that its embedder saw."""

    folder: Path
    store: SQLAlchemyStore
    embedder: Embedder

    @property
    def ann(self) -> MemoryManager:
        """A user's memories in it."""
        return MemoryManager(self.store, user_id="ann", counter=len)


class TestEveryDoor:
    """One hostile text comes in by every door, and nothing of it is in the store, nor in what its embedder sees."""

    @pytest.fixture
    def house(self, tmp_path: Path) -> Iterator[House]:
        """An empty store, which has nothing of the secrets when the test is over."""
        embedder = Embedder()
        redactor = Redactor({"otp": r"\b\d{6}\b"})
        url = f"sqlite:///{tmp_path}/memory.db"
        store = SQLAlchemyStore(
            url, embedder=embedder, embedding_model="lengths", redactor=redactor
        )
        yield House(tmp_path, store, embedder)
        records = [*store.list_all(ANN), *store.list_deleted(ANN)]
        store.close()
        files = b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*"))
        assert records
        for secret in (TOKEN, PASSWORD, "493021"):
            assert [] == [record for record in records if secret in repr(record)]
            assert [] == [text for text in embedder.seen if secret in text]
            assert secret.encode() not in files

    def test_manager(self, house: House) -> None:
        """Texts, dicts, lists, descriptions, metadata, categories, tags, queries, reasons."""
        ann = house.ann
        ann.store(LONG, **FACTS)
        ann.store(HELD, HOSTILE, **FACTS)
        ann.store([HOSTILE, HELD], HOSTILE)
        ann.store(f"{HOSTILE}\ud800", HOSTILE)
        for words in (HOSTILE, TOKEN):
            ann.search(words)
        ann.forget(ann.store(HOSTILE), reason=HOSTILE)
        ann.clear("detail", reason=HOSTILE)
        ann.store(HOSTILE)

    def test_notes(self, house: House) -> None:
        """Every verb that writes a note, and what is made of notes."""
        notes = ScopedMemory(
            house.ann, run_id="r", session_id="s", plan_id="p", task_id="t", project_id="q"
        )
        keys = [notes.save(HELD, "a", [HOSTILE], HELD, tier=tier) for tier in notes.open_tiers]
        for _ in range(2):
            notes.save(HOSTILE, tier="project")
        notes.update(keys[0], HOSTILE, category="b", tags=[HOSTILE], metadata=HELD)
        notes.add_preference(HOSTILE)
        notes.add_reasoning(HOSTILE, "s1")
        notes.add_tool_output("tool", HELD, "s1")
        notes.add_decision(HOSTILE, [HOSTILE])
        notes.add_convention(HOSTILE, HOSTILE)
        notes.add_failure(HOSTILE, HOSTILE)
        notes.add_pattern(HOSTILE, HOSTILE)
        notes.promote(keys[0], "global")
        notes.search(HOSTILE)

        assert consolidate(house.ann, "project", "q").groups
        assert 2 == len(notes.get_stage_outputs("s1"))

    def test_turns_and_assemblies(self, house: House) -> None:
        """The turns of a chat, and the task of a package that is recorded."""
        ConversationMemory(manager=house.ann).add_turn("s", "human", HOSTILE, {"held": HELD})
        ScopedMemory(house.ann, project_id="q").add_decision("a decision")
        assembler = ContextAssembler(house.ann, project_id="q")
        assembler.record(assembler.build(HOSTILE, 500), HOSTILE)

    def test_moving_in(self, house: House) -> None:
        """Copies of another store and imports of a file."""
        with SQLAlchemyStore("sqlite://") as other:
            plain = MemoryManager(other, user_id="ann")
            plain.store(LONG, HOSTILE, **FACTS)
            ConversationMemory(manager=plain).add_turn("x", "human", HOSTILE, {"held": HELD})
            other.restore(ANN, [Deletion("gone", now(), HOSTILE)])
            copy_memories(other, house.store, user_id="ann")
            export_memories(other, house.folder / "out.jsonl", user_id="ann")
        house.store.clear(ANN)
        import_memories(house.store, house.folder / "out.jsonl", user_id="ann")

    async def test_autogen(self, house: House) -> None:
        """Messages that are folded or compacted, tools that a model calls, contents of a memory, queries."""
        memory = SQLMemory("ann", store=house.store)
        content = MemoryContent(content=HELD, mime_type=MemoryMimeType.JSON, metadata=HELD)
        await memory.add(content)
        await memory.query(HOSTILE)
        context = MemoryContext("ann", store=house.store, max_tokens=600, notes=True)
        await context.add_message(UserMessage(content=f"do it: {HOSTILE}", source="user"))
        for number in range(12):
            step = str(number)
            calls = [FunctionCall(id=step, name="run", arguments=json.dumps(HELD))]
            results = [
                FunctionExecutionResult(content=LONG, name="run", call_id=step, is_error=False)
            ]
            for message in (
                AssistantMessage(content=calls, source="coder", thought=HOSTILE),
                FunctionExecutionResultMessage(content=results),
                AssistantMessage(content=f"{HOSTILE} " * 5, source="coder"),
            ):
                await context.add_message(message)
            await context.get_messages()
        for name, arguments in TOOL_CALLS.items():
            result = await context.workbench([]).call_tool(name, arguments)
            assert not result.is_error

        assert context.stats().compactions
        await context.aclose()

    def test_langchain(self, house: House) -> None:
        """Items of a store, messages of a history, what a chain said."""
        adapter = MemoryStoreAdapter(house.ann)
        adapter.put(("users",), "a", HELD)
        adapter.search(("users",), query=HOSTILE)
        calls: Any = [{"name": "run", "args": HELD, "id": "1", "type": "tool_call"}]
        history = MemoryContextChatMessageHistory("h", user_id="ann", store=house.store)
        history.add_messages(
            [
                HumanMessage(HOSTILE),
                HumanMessage([{"type": "text", "text": HOSTILE}]),
                AIMessage(HOSTILE, tool_calls=calls),
                ToolMessage(LONG, tool_call_id="1"),
            ]
        )
        chat = MemoryContextMemory(user_id="ann", thread_id="m", store=house.store)
        chat.save_context({"input": HOSTILE}, {"output": LONG})
        chat.load_memory_variables({"input": HOSTILE})


def test_no_other_door() -> None:
    """Only these modules write into a store or search it; whoever adds one sees to it that its texts are redacted."""
    source = Path(memory_context.__file__).parent
    folders = [source, Path(langchain_memory_context.__file__).parent]
    doors = set[tuple[str, str]]()
    for path in [path for folder in folders for path in folder.rglob("*.py")]:
        if {"stores", "testing"} & set(path.parts[-4:]):
            continue
        for verb in re.findall(r"store\.(put|restore|search)\(", path.read_text("utf-8")):
            doors.add((path.name, verb))

    assert {
        ("manager.py", "put"),  # redacted in `remember`; `revive` writes what was there
        ("manager.py", "search"),  # `hits`
        ("memories_notes_and_sql.py", "put"),  # what was there, with another end
        ("assembler.py", "put"),
        ("notes_in_open_tiers.py", "put"),  # redacted in `update`; `promote` writes what was there
        ("consolidation.py", "put"),  # what was there, with the key of the merged note
        ("redacted_records.py", "put"),
        ("copy_export_import.py", "restore"),
    } == doors


TOOL_CALLS: dict[str, Any] = {
    "store_memory": {"content": HOSTILE, "description": HOSTILE},
    "save_memory": {"content": HOSTILE, "category": "a", "tags": [HOSTILE]},
    "search_memory": {"query": HOSTILE},
    "clear_memory": {"tier": "session"},
}


class TestWhatIsTold:
    """Nobody has to wonder where a value went."""

    async def test_stats_of_autogen(self) -> None:
        """A context counts by kind what was taken out, of folded outputs and of notes; what it told stays as it was."""
        context = MemoryContext("ann", store=SQLAlchemyStore("sqlite://", redactor=Redactor()))
        before = context.stats()
        result = FunctionExecutionResult(content=LOG, name="x", call_id="1", is_error=False)
        await context.add_message(FunctionExecutionResultMessage(content=[result]))
        await context.store(f"password={PASSWORD}")

        assert {"github_token": 1, "password": 1} == context.stats().redacted
        assert {} == before.redacted
        await context.aclose()

    def test_stats_of_langchain(self) -> None:
        """A middleware counts for all users."""

        @tool
        def push() -> str:
            """Push."""
            return LOG

        store = SQLAlchemyStore("sqlite://", redactor=Redactor())
        middleware = MemoryContextMiddleware(store)
        for user in ("ann", "bob"):
            model = ScriptedChatModel([[call("push")], "Rejected."])
            agent: Any = create_agent(model, [push], middleware=[middleware])
            agent.invoke({"messages": [HumanMessage("push")]}, {"configurable": {"user_id": user}})

        assert {"github_token": 2} == middleware.stats().redacted

    def test_callback(self) -> None:
        """A redactor's callback is told kind and number of each record that is stored, and of nothing else."""
        told = list[tuple[str, int]]()
        redactor = Redactor(on_hit=lambda kind, count: told.append((kind, count)))
        ann = MemoryManager(SQLAlchemyStore("sqlite://", redactor=redactor), user_id="ann")
        ann.store(f"{TOKEN} and {TOKEN}", "x")
        ann.store("nothing", "x")
        ann.store(TOKEN, "x", "secret")
        ann.search(TOKEN)

        assert [("github_token", 2)] == told

    def test_a_callback_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        """What it raises is logged; the memory is stored."""
        redactor = Redactor(on_hit=lambda kind, _: {"": 1}[kind])
        ann = MemoryManager(SQLAlchemyStore("sqlite://", redactor=redactor), user_id="ann")
        key = ann.store(TOKEN, "x")

        assert "[redacted github_token]" == ann.retrieve(key)
        assert "on_hit of a redactor failed: KeyError" in caplog.text


class TestReopening:
    """A store with a redactor is opened by another process as far as a URL can say it."""

    def test_default(self, sqlite_url: str) -> None:
        """A redactor without settings stands before the URL, so that no process forgets it."""
        with SQLAlchemyStore(sqlite_url, redactor=Redactor()) as store:
            connection = MemoryManager(store, user_id="ann").connection()

        assert f"redacted+{sqlite_url}" == connection["store"]
        ann = MemoryManager(connection["store"], user_id="ann")
        assert "[redacted github_token]" == ann.retrieve(ann.store(TOKEN))
        ann.close()

    @pytest.mark.parametrize(
        "redactor",
        [Redactor({"x": "x"}), Redactor(without=["jwt"]), Redactor(on_hit=lambda *_: None)],
    )
    def test_settings(self, sqlite_url: str, redactor: Redactor) -> None:
        """One with settings cannot be told to another process."""
        with (
            SQLAlchemyStore(sqlite_url, redactor=redactor) as store,
            pytest.raises(NotSerializableError, match="it has no URL"),
        ):
            MemoryManager(store, user_id="ann").connection()


class TestWhatWasStoredBefore:
    """`redact_memories` takes secrets out of what was stored without a redactor."""

    def test_every_kind_of_record(self, plain: AnyStore) -> None:
        """Text, JSON, turns, notes: no secret is left, all can be read, keys stay, and doing it again changes nothing."""
        ann = MemoryManager(plain, user_id="ann")
        held: Any = {"password": PASSWORD, "codes": [493021], "said": f"it is {TOKEN}"}
        keys = [
            ann.store(LOG, f"log with {TOKEN}", "tool_output", metadata=held, tags=[TOKEN]),
            ann.store(held, "a dict", category=TOKEN),
            ann.store(LOG, "mine", "secret"),
            ann.store(TOKEN.encode() + b"\0", "bytes"),
        ]
        ann.forget(keys[1], soft=True)
        turns = ConversationMemory(manager=ann)
        before = turns.add_turn("s", "human", f"493021 and {TOKEN}", held)
        redactor = Redactor({"otp": r"\b\d{6}\b", "number": r"\d{4}"})
        progress = list[tuple[int, int]]()
        counts = redact_memories(
            plain, redactor, progress=lambda done, total: progress.append((done, total))
        )
        again = redact_memories(plain, redactor, user_id="ann")
        [turn] = turns.get_turns("s")

        assert {"github_token", "password", "otp"} <= counts.keys()
        assert {} == again
        assert [(number, 5) for number in range(1, 6)] == progress
        assert ("human", before.at) == (turn.role, turn.at)
        assert "[redacted otp] and [redacted github_token]" == turn.text
        assert ["[redacted otp]"] == turn.data["codes"]
        for item in plain.list_all(ann.scope):
            if item.memory_type != "secret" and isinstance(item.content, str):
                assert TOKEN not in everything(item)
                assert PASSWORD not in everything(item)
                assert (len(item.content), hash_content(item.content)) == (
                    item.char_count,
                    item.content_hash,
                )
        assert LOG == ann.retrieve(keys[2])
        assert b"\0" in ann.get(keys[3]).data
        assert keys[0] in [hit.memory_key for hit in ann.search("zebrafish push rejected")]
        assert not ann.get(keys[1]).is_active

    def test_recorded_calls(self, plain: AnyStore) -> None:
        """Prompts, and the words behind decisions, lose their secrets; ids, numbers and keys stay."""
        said = MemoryManager(plain, user_id="ann")
        login = neutral.FunctionCall("c1", "login", json.dumps({"code": 4930}))
        words = {0: f"it is {TOKEN}"}
        prompt = as_lines([neutral.Message("m", "assistant", "coder", words, (login,))])
        said.note_call(ModelCall(now(), 90, 80, 1, ("log_4930",), prompt=prompt))
        MemoryManager(plain, user_id="bob").note_call(
            Decision(now(), "lexical", TOKEN, ("k_1",), "concrete", (), TOKEN, (), TOKEN, 7, 0.5)
        )
        counts = redact_memories(plain, Redactor({"number": r"\b\d{4}\b"}))

        [kept] = said.calls().model_calls
        [message] = from_lines(kept.prompt)
        assert ("log_4930",) == kept.folded
        assert (90, 80, 1) == (kept.tokens_full, kept.tokens_sent, kept.messages)
        assert "it is [redacted github_token]" == message.text
        assert ("c1", '{"code": "[redacted number]"}') == (
            message.calls[0].id,
            message.calls[0].arguments,
        )
        [decided] = MemoryManager(plain, user_id="bob").calls()
        assert 3 == repr(decided).count("[redacted github_token]")
        assert {"github_token": 4, "number": 1} == counts
        assert {} == redact_memories(plain, Redactor({"number": r"\b\d{4}\b"}))

    def test_a_callback_may_use_the_store(self, plain: AnyStore) -> None:
        """While a record is redacted, no lock is held: whoever is told of a hit may note it in the same store."""
        noted = MemoryManager(plain, user_id="bob")
        said = MemoryManager(plain, user_id="ann")
        said.note_call(ModelCall(now(), 9, 9, 1, prompt=json.dumps({"said": TOKEN})))

        def note(kind: str, number: int) -> None:
            noted.store(f"{kind}: {number}", key="hits")

        assert {"github_token": 1} == redact_memories(plain, Redactor(on_hit=note))
        assert "github_token: 1" == noted.retrieve("hits")

    def test_a_pattern_that_takes_too_long(self, plain: AnyStore) -> None:
        """Its error is raised, for a recorded call too; no file is called damaged."""
        said = MemoryManager(plain, user_id="ann")
        said.note_call(ModelCall(now(), 9, 9, 1, prompt='{"said": "okapi"}'))

        def slow(text: str) -> list[tuple[int, int]]:
            if "okapi" in text:
                raise RedactionTimeoutError("the pattern slow took too long")
            return []

        with pytest.raises(RedactionTimeoutError, match="slow"):
            redact_memories(plain, Redactor({"slow": slow}))

    async def test_compacted_messages(self) -> None:
        """Messages that were compacted before can still be put back."""
        store = SQLAlchemyStore("sqlite://")
        context = MemoryContext("ann", store=store, max_tokens=500)
        for step in range(20):
            content = f"step {step}: {TOKEN} 493021 " + "word " * 20
            await context.add_message(AssistantMessage(content=content, source="coder"))
            prompt = await context.get_messages()
        [key] = [ref.key for ref in _refs(prompt)]
        counts = redact_memories(store, Redactor({"number": r"\d+"}))
        messages = from_lines(context.manager.get(key).text)

        assert {"github_token", "number"} == counts.keys()
        assert {"coder", "memory_context"} >= {message.source for message in messages}
        assert {"assistant", "user"} >= {message.role for message in messages}
        assert "step [redacted number]: [redacted github_token]" in messages[-1].text
        assert await context.restore(key) == len(messages)
        await context.aclose()

    @pytest.mark.long
    def test_no_bytes_are_left(self, tmp_path: Path) -> None:
        """Afterwards no word of a secret stands in the database's files."""
        with SQLAlchemyStore(f"sqlite:///{tmp_path}/memory.db") as store:
            ann = MemoryManager(store, user_id="ann")
            for number in range(50):
                ann.store(f"{LOG} {number}", f"log with {TOKEN}", "tool_output")
                ann.note_call(ModelCall(now(), 9, 9, 1, prompt=f'{{"said": "{TOKEN}"}}'))
            redact_memories(store, Redactor())
            written = b"".join(path.read_bytes() for path in tmp_path.iterdir())

        assert TOKEN.encode() not in written
        assert TOKEN.lower().encode() not in written

    def test_no_bytes_are_left_after_a_failure(self, tmp_path: Path) -> None:
        """What was overwritten before the failure does not stay in the database's files."""

        def slow(text: str) -> list[tuple[int, int]]:
            if "okapi" in text:
                raise RedactionTimeoutError("the pattern slow took too long")
            return []

        with SQLAlchemyStore(f"sqlite:///{tmp_path}/memory.db") as store:
            ann = MemoryManager(store, user_id="ann")
            ann.store(f"{LOG} with {TOKEN}", "a log", "tool_output")
            ann.note_call(ModelCall(now(), 9, 9, 1, prompt='{"said": "okapi"}'))
            with pytest.raises(RedactionTimeoutError):
                redact_memories(store, Redactor({"slow": slow}))
            written = b"".join(path.read_bytes() for path in tmp_path.iterdir())

        assert TOKEN.encode() not in written

    def test_interrupted(self) -> None:
        """What was done stays done; the rest is done the next time."""
        store = SQLAlchemyStore("sqlite://")
        ann = MemoryManager(store, user_id="ann")
        for number in range(4):
            ann.store(f"{number} {TOKEN}", "x")

        def stop(done: int, _total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            redact_memories(store, Redactor(), progress=stop)
        assert 2 == sum(TOKEN in item.text for item in store.list_all(ann.scope))
        assert {"github_token": 2} == redact_memories(store, Redactor())

    def test_damaged_turns(self) -> None:
        """A record of turns that is not JSON any more is redacted as text."""
        store = SQLAlchemyStore("sqlite://")
        for kind in ("conversation", "note"):
            store.put(
                ANN, memory(f'{{"text": {TOKEN}', memory_type=kind, media_type="application/json")
            )
        redact_memories(store, Redactor({"x": "zzz"}))

        assert {'{"text": [redacted github_token]'} == {item.text for item in store.list_all(ANN)}

    def test_somebody_else_writes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A memory that is changed meanwhile is read again, and loses its secrets too."""
        store = SQLAlchemyStore("sqlite://")
        notes = ScopedMemory(MemoryManager(store, user_id="ann"), project_id="p")
        key = notes.save(f"one {TOKEN}", tier="project")
        items = list(store.list_all(ANN))
        notes.update(key, f"two {TOKEN}")
        monkeypatch.setattr(store, "list_all", lambda _scope: iter(items))
        redact_memories(store, Redactor(), user_id="ann")

        assert "two [redacted github_token]" == notes.manager.retrieve(key)


async def test_autogen_agent() -> None:
    """An agent's output is folded without its token: preview, store, recall, tools and the saved state have none of it."""
    store = SQLAlchemyStore("sqlite://", redactor=Redactor())
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
    assert not any(TOKEN in everything(item) for item in store.list_all(Scope("ann")))
    await context.aclose()


@pytest.mark.parametrize("fold", first_quick(["at_once", "after_reading"]))
async def test_a_fold_policy_that_redacts(
    sqlite_url: str, fold: Literal["at_once", "after_reading"]
) -> None:
    """What a policy's callable takes away is in no prompt, no state and no store, whatever tool a result is from."""
    policy = FoldPolicy(
        fold=fold,
        tool_thresholds={"ls": None},
        redact=[lambda text: text.replace("zebrafish", "____")],
    )
    store = SQLAlchemyStore(sqlite_url)
    context = MemoryContext("ann", store=store, fold=policy)
    texts = {"push": "a zebrafish", "pull": LOG, "ls": "a zebrafish", RETRIEVE: "a zebrafish"}
    for name, text in texts.items():
        result = FunctionExecutionResult(content=text, name=name, call_id=name, is_error=False)
        await context.add_message(FunctionExecutionResultMessage(content=[result]))
    prompt = await context.get_messages()

    assert 3 == repr(prompt).count("a ____")
    assert "zebrafish" not in repr(prompt)
    assert "zebrafish" not in json.dumps(dict(await context.save_state()))
    assert "zebrafish" not in repr(list(store.list_all(ANN)))
    with pytest.raises(NotSerializableError, match="redact="):
        context.dump_component()
    await context.aclose()
    store.close()


async def test_a_text_below_the_threshold_stays() -> None:
    """What is not folded is not stored, and stands in the prompt as it came."""
    context = MemoryContext("ann", store=SQLAlchemyStore("sqlite://", redactor=Redactor()))
    await context.add_message(FunctionExecutionResultMessage(content=[FunctionExecutionResult(content=TOKEN, name="x", call_id="1", is_error=False)]))  # fmt: skip

    assert TOKEN in repr(await context.get_messages())
    await context.aclose()


def test_a_text_of_secrets_is_folded() -> None:
    """A text that is mostly secrets is replaced, though what is left of it is short."""
    block = "\n".join(pem(random.Random(number)) for number in range(5))
    manager = MemoryManager(SQLAlchemyStore("sqlite://", redactor=Redactor()), user_id="ann")

    def commit(text: str) -> MemoryItem:
        return manager.remember(text, type="tool_output", source="cat")

    folded = fold(block, commit, manager.counter, threshold=500, preview_tokens=300)
    assert folded
    assert pem(random.Random(0))[40:60] not in folded.text


@pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
async def test_langchain_agent(how: str) -> None:
    """The same in LangChain; the checkpoints that are saved after the fold have nothing of the token either."""

    @tool
    def push() -> str:
        """Push."""
        return LOG

    store, saver = SQLAlchemyStore("sqlite://", redactor=Redactor()), InMemorySaver()
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
    assert not any(TOKEN in everything(item) for item in store.list_all(Scope("ann")))


def _refs(prompt: Sequence[LLMMessage]) -> list[MemoryRef]:
    return [ref for message in prompt for ref in MemoryRef.find_all(repr(message.content))]


def test_moving_in_what_differs_in_secrets(sqlite_url: str) -> None:
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
    with SQLAlchemyStore(sqlite_url, redactor=Redactor()) as store:
        first = copy_memories(ann.memory_store, store, user_id="ann")
        again = copy_memories(ann.memory_store, store, user_id="ann")

        assert (len(keys), ()) == (first.written, first.conflicts)
        assert (len(keys), ()) == (again.unchanged, again.conflicts)
        shown = [MemoryManager(store, user_id="ann").retrieve(key) for key in keys]
        assert 1 == len(set(shown[3:]))
        assert not any(secret in repr(shown) for secret in (TOKEN, PASSWORD, "q8Jf2", "Zr5T"))


async def test_words_of_a_question_in_a_decision(tmp_path: Path) -> None:
    """A decision quotes words of the question, and a password among them reaches neither the file nor `decisions`."""
    password = "Tr0ub4dor-and-3xyz"
    file = tmp_path / "memory.db"
    store = SQLAlchemyStore(f"sqlite:///{file}", redactor=Redactor())
    with MemoryManager(store, user_id="ann") as manager:
        manager.store("staging logs " * 200, type="tool_output", key="env")
        context = MemoryContext("ann", store=store, thread_id="t")
        await context.add_message(
            UserMessage(content=f"what was DB_PASSWORD={password}?", source="user")
        )
        await context.get_messages()
        decisions = context.decisions()
        await context.aclose()
    store.close()

    assert decisions
    assert password not in repr(list(decisions))
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240 - nothing else runs
    assert password.encode() not in written
