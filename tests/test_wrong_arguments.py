"""Arguments of a wrong type: the error names the argument and what it should have been, at the first call."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from autogen_core.models import UserMessage

from for_each import for_each
from langchain_memory_context import (
    MemoryContextMiddleware,
    MemoryStoreAdapter,
    memory_tools,
)
from langchain_memory_context import file_tools as langchain_file_tools
from memory_context import (
    AgentMemoryService,
    Compressed,
    ContextAssembler,
    ConversationMemory,
    Encrypted,
    FileStore,
    FoldPolicy,
    JudgeLimits,
    LexicalJudge,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    MemoryWorkbench,
    NotesPolicy,
    PassingPolicy,
    Quota,
    RecallPolicy,
    RedactionPattern,
    Redactor,
    Scope,
    ScopedMemory,
    Selection,
    SQLAlchemyStore,
    SQLAuditTrail,
    SQLMemory,
    Summaries,
    SummaryLimits,
    TierPolicy,
    mcp_server,
    observe,
)
from memory_context.agent_framework import file_tools
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryContextError,
    NotSerializableError,
)
from memory_context.memory.backup_files import backup_database
from memory_context.memory.chat_history import ChatTurn
from memory_context.memory.consolidation import ModelConsolidator, NoteMerger, consolidate
from memory_context.memory.copy_export_import import (
    copy_memories,
    export_memories,
    import_memories,
)
from memory_context.memory.gc_by_retention_rules import (
    RetentionRule,
    count_expired,
    delete_expired,
)
from memory_context.memory.redacted_records import redact_memories
from memory_context.text.describe import register
from memory_context.text.tokens.counter import as_counter

NO_MANAGER = "a MemoryManager is needed here, not str"


def wrong(value: object) -> Any:
    """The value, of a type that nothing checks before the library does."""
    return value


class Late:
    """A summarizer that would have to be awaited."""

    async def summarize(self, text: str, description: str) -> str:
        """Never asked."""
        return text + description


class Brief:
    """A summarizer."""

    def summarize(self, text: str, description: str) -> str:
        """Return the description."""
        return description or text


@pytest.fixture
def memory() -> Any:
    """The memories of a user, with one text; of any type, since these are the calls that a type checker would refuse."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.store("one\ntwo", key="k")
        yield manager


CASES: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda m: m.retrieve("k", max_tokens=wrong("5")),
        "max_tokens must be a whole number of tokens",
    ),
    (lambda m: m.page("k", max_tokens=wrong("5")), "max_tokens must be a whole number of tokens"),
    (lambda m: memory_tools(m, max_tokens=wrong("5")), "max_tokens must be a whole number of"),
    (lambda m: memory_tools(m, page_tokens=wrong("5")), "page_tokens must be a whole number"),
    (
        lambda m: m.page("k", offset=wrong(None)),
        "offset must be a whole number, 0 or more, not None",
    ),
    (
        lambda m: m.page("k", wrong("1-2")),
        "selection must be a Selection, such as Selection(lines=",
    ),
    (lambda m: ScopedMemory(m).get(category=wrong(5)), "a category is a path"),
    (
        lambda m: ScopedMemory(m).get(tags=wrong(5)),
        "tags must be a text, or a list of texts, not 5",
    ),
    (lambda m: ScopedMemory(m).get(tier=wrong(["global"])), "there is no tier ['global']"),
    (lambda m: ScopedMemory(m, policies=wrong(TierPolicy("team"))), "policies must be a list of"),
    (lambda m: ContextAssembler(m).build("x", 9, wrong(60)), "allocation must be a dict of tiers"),
    (lambda _: ContextAssembler(wrong("sqlite://")), NO_MANAGER),
    (lambda _: ConversationMemory(manager=wrong("sqlite://")), NO_MANAGER),
    (lambda _: observe(wrong("sqlite://")), NO_MANAGER),
    (
        lambda _: ConversationMemory(idle_timeout=wrong(timedelta(5))),
        "idle_timeout must be a number of seconds above 0 and below 2.7 million years, or None, not timedelta",
    ),
    (lambda _: ConversationMemory(idle_timeout=float("nan")), "idle_timeout must be a number"),
    (lambda _: ConversationMemory().add_turn("s", "human", wrong(5)), "text must be a text"),
    (lambda _: ConversationMemory().add_turn("s", "human", "x", wrong(5)), "data must be a"),
    (lambda _: TierPolicy(wrong(5)), "name must be a text, not 5"),
    (lambda _: TierPolicy("team", evict=wrong("all")), "evict must be a number from 0 to 1"),
    (lambda _: FileStore(wrong(None)), "directory must be a path, not None"),
    (lambda _: AgentMemoryService(wrong(None)), "app_cache_dir must be a path, not None"),
    (lambda _: AgentMemoryService("x", quota_bytes=wrong(None)), "quota_bytes must be an int or"),
    (lambda _: as_counter(wrong(print)).count("x"), "returns a number, 0 or more; print"),
    (lambda _: as_counter(lambda _: float("inf")).count("x"), "<lambda> returned inf"),
    (lambda _: as_counter(lambda _: -1).count("x"), "returns a number, 0 or more; <lambda>"),
    (
        lambda _: MemoryManager("sqlite://", user_id="a", summarizer=wrong(Late())),
        "that is not async; Late has none",
    ),
    (
        lambda _: MemoryContext("sqlite:///a.db"),
        "user_id must not be a database's URL; give that",
    ),
    (
        lambda _: SQLAlchemyStore("sqlite://", codec=wrong("zip")),
        "codec must be a codec, such as",
    ),
    (lambda _: SQLAlchemyStore("sqlite://", codec=wrong(Compressed)), "codec must be a codec"),
    (
        lambda _: SQLAlchemyStore("sqlite://", redactor=wrong(True)),
        "redactor must be a redactor",
    ),
    (
        lambda _: SQLAlchemyStore("sqlite://", calls_kept=wrong(30)),
        "calls_kept must be a timedel",
    ),
    (
        lambda _: FileStore("d", redactor=wrong(Redactor)),
        "redactor must be a redactor, such as",
    ),
    (lambda _: SQLMemory("postgresql+psycopg://h/d"), "user_id must not be a database's URL"),
    (
        lambda _: register("ls", wrong("a listing")),
        "function must be a function from a text to a line, not str",
    ),
    (lambda _: SQLAlchemyStore("sqlite:a.db"), "use sqlite:///a.db or"),
    (lambda _: SQLAlchemyStore("sqlite://a.db"), "a file has three slashes: sqlite:///a.db"),
    (lambda _: SQLAlchemyStore("sqlite://data/a.db"), "three slashes: sqlite:///data/a.db"),
    (lambda m: ScopedMemory(m).get(tags=wrong(False)), "tags must be a text, or a list of texts"),
    (lambda _: ConversationMemory(idle_timeout=1e15), "below 2.7 million years, or None"),
    (lambda _: SQLAlchemyStore(wrong(Path("a.db"))), "use sqlite:///a.db"),
    (
        lambda _: MemoryRef("k", wrong(None), 4),
        "a reference and its description are texts, not None",
    ),
    (lambda _: Scope("ann", places=wrong(5)), "places must be pairs of a tier and an id, such as"),
    (lambda m: m.within(wrong("x")), "places must be pairs of a tier and an id, such as"),
    (lambda _: Redactor(without=wrong(None)), "without must be a list of kinds, such as ['jwt']"),
    (lambda _: Redactor().redact(wrong(None)), "text must be a text, not None"),
    (lambda _: MemoryWorkbench([], wrong("x")), "context must be a MemoryContext, not str"),
    (lambda m: mcp_server(m, verbs=wrong(5)), "verbs must be a mapping from verbs to memories"),
    (
        lambda _: MemoryManager("sqlite://", user_id="a", key_source=wrong(5)),
        "key_source must be a source of random numbers, such as random.Random(1), not 5",
    ),
    (lambda m: m.store("x", tags=[wrong(None)]), "a type, tier, category or tag has 1 to 255"),
    (
        lambda m: ScopedMemory(m).update("note", tags=[wrong(None)]),
        "a type, tier, category or tag has 1 to 255 printable characters, not None",
    ),
    (lambda m: m.known_keys(wrong(5)), "keys must be a list of keys, not 5"),
    (
        lambda _: FileStore("d", file_mode=wrong("0600")),
        "file_mode must be a mode of files, such as",
    ),
    (lambda m: export_memories(m, "x", user_id="a"), "store must be a store, such as SQLAlchemy"),
    (
        lambda _: SQLAlchemyStore("sqlite://", password_variable=wrong(None)),
        "the name of an environ",
    ),
    (lambda m: mcp_server(m.memory_store), "a MemoryManager or a ScopedMemory is needed here"),
    (lambda m: mcp_server(m, max_tokens=wrong("5")), "max_tokens must be a whole number of tok"),
    (lambda _: file_tools(wrong("folder"), "a"), "service must be an AgentMemoryService, not"),
    (lambda _: langchain_file_tools(wrong(None), "a"), "service must be an AgentMemoryService"),
    (lambda m: consolidate(m.memory_store, "task"), "a MemoryManager is needed here, not SQLA"),
    (lambda m: consolidate(m, wrong(None)), "the notes of one tier are merged, such as 'task'"),
    (lambda m: consolidate(m, "task", merger=wrong(5)), "with a method merge(notes, max_tokens)"),
    (lambda m: consolidate(m, "task", max_tokens=0), "max_tokens must be a whole number, 1 or"),
    (lambda m: consolidate(m, "task", dry_run=wrong(None)), "dry_run must be True or False"),
    (lambda _: ModelConsolidator(wrong("gpt")), "ask must be a function of a system message"),
    (lambda m: redact_memories(m.memory_store, wrong(None)), "such as Redactor(), not None"),
    (lambda m: ContextAssembler(m, clock=wrong(5)), "clock must be a function that returns the"),
    (lambda m: ContextAssembler(m).build(wrong(None), 9), "task must be a text, not None"),
    (
        lambda m: ContextAssembler(m).build("x", 9, {"task": wrong(None)}),
        "an allocation gives tiers parts from 0 to 100",
    ),
    (lambda m: ContextAssembler(m).record(wrong("p")), "package must be a ContextPackage"),
    (lambda _: ConversationMemory(manager=wrong([])), "a MemoryManager is needed here, not list"),
    (lambda _: ConversationMemory().add_turn("s", wrong(5), "x"), "role must be a text, not 5"),
    (lambda _: ConversationMemory().add_turns("s", wrong(["x"])), "turn must be a turn, such as"),
    (lambda m: m.remember("x", check=wrong(5)), "check must be a function, or None, not 5"),
    (lambda m: m.remember("x", room=wrong(5)), "room must be a Room(max_chars=…, max_items=…)"),
    (lambda m: m.forget("k", soft=wrong("no")), "soft must be True or False, not str"),
    (lambda m: m.forget("k", reason=wrong(5)), "reason must be a text, not 5"),
    (lambda m: ScopedMemory(m, task_id=wrong([5])), "task_id must be a text, a UUID or an int"),
    (
        lambda m: ScopedMemory(m).update("k", origin=wrong("me")),
        "origin must be one of person, program, model, tool, import, not 'me'",
    ),
    (lambda _: TierPolicy("team", confirm=wrong(True)), "confirm must be a function, or None"),
    (lambda m: delete_expired(m.memory_store, wrong([5])), "rule must be a rule, such as"),
    (lambda _: PassingPolicy(directories=wrong({"ls": 5})), "directories= names 5 for ls, which"),
    (lambda _: FileStore("d", embedder=wrong(5), embedding_model="m"), "an embedder has embed_do"),
    (
        lambda m: m.memory_store.search(m.scope, "x", mode=wrong("words")),
        "mode must be one of keyword, semantic, hybrid and, in a MemoryManager, substring, not 'words'",
    ),
    (
        lambda m: m.memory_store.search(m.scope, "x", mode=wrong("substring")),
        "mode must be one of keyword, semantic, hybrid and",
    ),
    (lambda m: m.search("x", mode=wrong("words")), "in a MemoryManager, substring, not 'words'"),
    (
        lambda _: PassingPolicy(tools=wrong([5])),
        "tool must be the name of a tool in tools= and secrets_for=, not 5",
    ),
    (
        lambda _: PassingPolicy(max_argument_bytes=wrong("5")),
        "a whole number of bytes, or a mapping from tools to such numbers, 0 or more, not '5'",
    ),
    (lambda m: m.forget("k", reason=wrong(None)), "reason must be a text, not None"),
]


@for_each("call, message", CASES)
def test_an_argument_of_a_wrong_type_is_named_with_what_would_be_right(
    memory: Any, call: Callable[[Any], object], message: str
) -> None:
    """An argument of a wrong type raises an error of the library that names it, at that call."""
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        call(memory)


class Merging:
    """A merger whose class is used, not an instance."""

    @classmethod
    def merge(cls, notes: Sequence[str], max_tokens: int) -> str | None:
        """Return the first note."""
        return notes[0][:max_tokens]


RIGHT: list[Callable[[Any], object]] = [
    lambda m: ContextAssembler(m).build("x", 200, {"task": wrong(np.int64(40))}),
    lambda m: ContextAssembler(m).build("x", 200, {"task": wrong(Fraction(1, 3))}),
    lambda m: count_expired(m.memory_store, iter([RetentionRule.parse("note=30d")])),
    lambda m: delete_expired(m.memory_store, map(RetentionRule.parse, ["note=30d"])),
    lambda _: ConversationMemory().add_turns("s", iter([ChatTurn("human", "x")])),
    lambda m: ConversationMemory(manager=m).add_turns("s", iter(())),
    lambda m: ScopedMemory(m, task_id=wrong(np.int64(3)), project_id=wrong(Decimal(5))),
    lambda m: consolidate(m, "task", max_tokens=wrong(np.int64(300))),
    lambda m: consolidate(m, "task", dry_run=wrong(0), merger=Merging),
    lambda m: m.memory_store.delete(m.scope, "gone", soft=wrong(1)),
    lambda m: m.memory_store.delete(m.scope, "gone", soft=wrong(np.True_)),
    lambda m: m.memory_store.delete(m.scope, "gone", soft=True, reason=wrong(None)),
    lambda _: isinstance(ModelConsolidator(lambda _, question: question), NoteMerger),
]


@for_each("call", RIGHT)
def test_an_argument_of_another_type_that_works_is_taken(
    memory: Any, call: Callable[[Any], object]
) -> None:
    """Numbers of other libraries, iterators, and what is equal to True or False are no mistakes."""
    call(memory)


class Place(str, Enum):  # noqa: UP042 - the text of a StrEnum is its value
    """An id that is a text, and whose own text is another."""

    HERE = "here"


def test_the_text_of_an_id_is_the_id(memory: Any) -> None:
    """Notes of a task whose id is an enum are found under the text that it was kept under before."""
    ScopedMemory(memory, task_id=wrong(Place.HERE)).save("a note", tier="task")
    assert 1 == ScopedMemory(memory, task_id="Place.HERE").count()


WRONG: tuple[object, ...] = (None, 5, "x", [], object(), float("nan"), [None])


def public_calls(memory: Any) -> list[tuple[Callable[..., object], dict[str, Any]]]:
    """The constructors and functions of the reference, each with arguments that are right."""
    store, key = memory.memory_store, Encrypted.generate_key()
    notes = ScopedMemory(memory, project_id="p")
    rule = RetentionRule.parse("note=30d")
    files, turns = AgentMemoryService("files"), ConversationMemory()
    assembler = ContextAssembler(memory, project_id="p")
    return [
        (MemoryContext, {"user_id": "ann", "store": store}),
        (MemoryWorkbench, {"tools": [], "context": MemoryContext("ann", store=store)}),
        (SQLMemory, {"user_id": "ann", "store": store}),
        (FoldPolicy, {}),
        (RecallPolicy, {}),
        (NotesPolicy, {}),
        (PassingPolicy, {}),
        (MemoryManager, {"store": store, "user_id": "ann"}),
        (MemoryRef, {"key": "k", "description": "d", "tokens": 4}),
        (MemoryRef.parse, {"text": "[MemoryRef: k]"}),
        (MemoryRef.find_all, {"text": "[MemoryRef: k]"}),
        (Scope, {"user_id": "ann"}),
        (Selection, {}),
        (ScopedMemory, {"manager": memory}),
        (TierPolicy, {"name": "team"}),
        (SQLAlchemyStore, {"store": "sqlite://"}),
        (FileStore, {"directory": "folder"}),
        (Quota, {}),
        (Encrypted, {"keys": {"a": key}}),
        (Compressed, {}),
        (Redactor, {}),
        (Redactor().redact, {"text": "a text"}),
        (RedactionPattern, {"pattern": "a"}),
        (observe, {"manager": memory}),
        (SQLAuditTrail, {"store": store}),
        (LexicalJudge, {}),
        (JudgeLimits, {}),
        (Summaries, {"summarizer": Brief()}),
        (SummaryLimits, {}),
        (ContextAssembler, {"memories": memory}),
        (ConversationMemory, {}),
        (AgentMemoryService, {"app_cache_dir": "folder"}),
        (mcp_server, {"memories": memory}),
        (export_memories, {"store": store, "path": "export", "user_id": "ann"}),
        (import_memories, {"store": store, "path": "export", "user_id": "ann"}),
        (copy_memories, {"source": store, "target": store, "user_id": "ann"}),
        (backup_database, {"store": store, "folder": "backups"}),
        (RetentionRule, {"after": rule.after}),
        (RetentionRule.parse, {"text": "note=30d"}),
        (delete_expired, {"store": store, "rules": [rule]}),
        (count_expired, {"store": store, "rules": [rule]}),
        (memory_tools, {"memories": memory}),
        (langchain_file_tools, {"service": files, "agent_instance_id": "a"}),
        (file_tools, {"service": files, "agent_instance_id": "a"}),
        (consolidate, {"memories": memory, "tier": "global"}),
        (ModelConsolidator, {"ask": lambda _, question: question}),
        (redact_memories, {"store": store, "redactor": Redactor()}),
        (assembler.build, {"task": "wait", "budget_tokens": 100}),
        (turns.add_turn, {"session_id": "s", "role": "human", "text": "Wait."}),
        (turns.add_turns, {"session_id": "s", "turns": []}),
        (memory.forget, {"key": "gone"}),
        (memory.origin_of, {"keys": ["k"], "origin": "model"}),
        (MemoryStoreAdapter, {"manager": memory}),
        (memory.retrieve, {"key": "k"}),
        (memory.page, {"key": "k"}),
        (memory.answer, {"key": "k", "max_tokens": 100}),
        (memory.search, {"query": "one"}),
        (memory.within, {"places": []}),
        (memory.known_keys, {"keys": ["k"]}),
        (memory.reindex, {}),
        (notes.save, {"content": "a note", "tier": "global"}),
        (notes.update, {"key": notes.save("a note", tier="global"), "content": "another"}),
        (notes.add_failure, {"code": "E1", "lesson": "Wait."}),
        (notes.add_decision, {"decision": "Wait."}),
    ]


def test_no_public_call_ends_with_an_error_of_pythons(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one argument is, a public call works or raises an error of the library, which names what was wrong."""
    monkeypatch.chdir(tmp_path)  # a file or a folder may be made under the name that is given
    raw = set[str]()
    for call, right in public_calls(memory):
        for name in inspect.signature(call).parameters:
            for value in WRONG:
                try:
                    call(**{**right, name: value})
                except MemoryContextError:
                    continue
                except Exception as error:  # noqa: BLE001 - these are looked for
                    raw.add(f"{call.__qualname__}({name}={value!r:.9}): {error!r}")
    assert set() == raw


def test_tags_are_counted_when_they_are_read(memory: Any) -> None:
    """An iterator over no tags asks for none in particular, as an empty list does; it found nothing."""
    memories = ScopedMemory(memory, session_id="s")
    memories.save("A note.", tier="session")
    assert 1 == memories.count(tags=iter(())) == memories.count(tags=[])


def test_a_user_whose_id_is_a_url_can_be_forgotten() -> None:
    """Memories that a context has stored for a URL by mistake are read and erased as those of any other user."""
    with SQLAlchemyStore("sqlite://") as store:
        MemoryManager(store, user_id="sqlite:///app.db").store("kept by mistake")
        assert 1 == store.forget_user("sqlite:///app.db").memories


def test_help_shows_the_arguments_of_the_middleware() -> None:
    """The signature of the middleware is that of its constructor; help() showed ``(*_, notes=False, **__)``."""
    shown = inspect.signature(MemoryContextMiddleware).parameters
    assert ["store", "user_id", "threshold"] == list(shown)[:3]


def test_no_tier_is_not_all_tiers(memory: Any) -> None:
    """`clear` without a tier is refused: it deleted every memory of the user."""
    with pytest.raises(InvalidArgumentError, match="needs the name of a tier"):
        memory.clear(None)
    assert memory.retrieve("k") == "one\ntwo"


def test_the_repr_of_a_memory_is_short(memory: Any) -> None:
    """The repr of a memory shows the beginning of its content, so that printed hits do not fill the terminal."""
    memory.store("word " * 50_000, key="long")
    [hit] = memory.search("word")
    assert len(repr(hit)) < 5_000
    assert "content='word word" in repr(hit)


async def test_a_counter_may_return_fractions() -> None:
    """A counter such as ``len(text) / 4`` folds: every text stayed in full, because a reference has a whole count."""
    context = MemoryContext("ann", store="sqlite://", fold=FoldPolicy(counter=wrong(quarter)))
    await context.add_message(UserMessage(content="line of a log\n" * 999, source="reader"))
    assert "- 3497 tokens]" in str((await context.get_messages())[0].content)


def quarter(text: str) -> float:
    """About a token for four characters."""
    return len(text) / 4


async def test_a_text_is_no_memory_content() -> None:
    """AutoGen's memory says that it takes a `MemoryContent`, if it is given a text."""
    with pytest.raises(InvalidArgumentError, match=r"add\(\) takes a MemoryContent, not str"):
        await SQLMemory("ann", store="sqlite://").add(wrong("Answer briefly."))


def test_what_has_a_store_open_says_that_it_is_not_copied(memory: Any, tmp_path: Path) -> None:
    """Pickling or deeply copying a store, a manager or a context says what to do; it ended with the error of a lock."""
    memories = ScopedMemory(memory)
    on_an_engine = SQLAlchemyStore(sa.create_engine(f"sqlite:///{tmp_path}/engine.db"))
    stores = [memory.memory_store, on_an_engine, FileStore(tmp_path)]
    owners = [memory, memories, *stores, MemoryContext("ann"), ConversationMemory()]
    for owner in owners:
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(NotSerializableError, match="open a store by its URL"):
                copied(owner)
