"""One owner's view of a store: everything that can be asked there, with answers that two stores can be compared by."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from autogen_core import CancellationToken
from autogen_core.models import LLMMessage
from langchain_core.messages import AIMessage, HumanMessage

from langchain_memory_context import (
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryRetriever,
    MemoryStoreAdapter,
)
from memory_context import (
    ContextAssembler,
    ConversationMemory,
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    RecallPolicy,
    ScopedMemory,
)
from memory_context.exceptions import MemoryContextError
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.mcp.resources import Resources
from memory_context.mcp.wire_types_and_errors import RequestError
from memory_context.memory.consolidation import consolidate
from memory_context.memory.copy_export_import import export_memories, import_memories
from memory_context.model.item import Deletion, MemoryItem, now
from memory_context.stores import MemoryStore
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.tool_calls_and_answers import MemoryToolError
from memory_context.tools.tools_of_an_agent import memory_verbs
from messages import call, results, user

_HEX = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z)?")


def count(text: str) -> int:
    """Tokens by the length, so that random ids take equally many."""
    return len(text) // 4


TOO_MUCH = (MemoryContextError, MemoryToolError, RequestError)


@dataclass
class Owner:
    """A user, or one side of a user, on one store.

    Attributes:
        store: The store.
        user_id: The user.
        ids: Which run, session, task and project are open.
        runner: Where what is asynchronous runs.
        made: The keys that were made up here, in their order: random ones differ from store to store.
    """

    store: MemoryStore
    user_id: str
    ids: dict[str, str]
    runner: asyncio.Runner
    made: list[str] = field(default_factory=list[str])
    state: Any = None

    def __post_init__(self) -> None:
        """Open what is used all the time."""
        self.owner = MemoryManager(
            self.store,
            user_id=self.user_id,
            thread_id=self.ids.get("session_id", "t"),
            counter=count,
        )
        self.notes = ScopedMemory(self.owner, **self.ids)  # type: ignore[arg-type] # ids
        self.manager = self.notes.manager if self.ids else self.owner
        self.context = MemoryContext(
            self.user_id,
            store=self.store,
            thread_id=self.ids.get("session_id", "t"),
            max_tokens=2000,
            fold=FoldPolicy(threshold=100, preview_tokens=60, counter=count),
            recall=RecallPolicy(expansion_budget=300, results=True),
            notes=bool(self.ids),
        )
        self.memory = MemoryContextMemory(
            user_id=self.user_id,
            thread_id=f"m{self.ids.get('session_id', '')}",
            store=self.store,
            fold=FoldPolicy(threshold=100, counter=count),
        )
        self.history = MemoryContextChatMessageHistory(
            f"h{self.ids.get('session_id', '')}",
            user_id=self.user_id,
            store=self.store,
            fold=FoldPolicy(threshold=100, counter=count),
        )
        verbs = dict.fromkeys(memory_verbs(queries=True), self.manager) | (
            dict.fromkeys(NOTE_VERBS, self.notes) if self.ids else {}
        )
        self.tools = Tools(verbs, 300)
        self.resources = Resources(self.manager, page=2)

    def key(self, key: str | int) -> str:
        """A key as it is; a number is the key that was made up here as so manieth."""
        return (
            key
            if isinstance(key, str)
            else self.made[key % len(self.made)]
            if self.made
            else "nothing"
        )

    def told(self, work: Callable[[], Any]) -> str:
        """What somebody learns by doing something: the result or the error, and what is logged, without chance."""
        with _logged() as lines:
            try:
                shown = _shown(work())
            except TOO_MUCH as error:
                shown = f"{type(error).__name__}: {error} {getattr(error, 'message', '')}"
        return self.scrubbed("\n".join([shown, *lines]))

    def scrubbed(self, text: str) -> str:
        """`text` without times, random ids and made up keys."""
        for number, key in enumerate(self.made):
            text = text.replace(key, f"<key {number}>")
        text = _TIME.sub("<time>", _HEX.sub("<id>", _DIGEST.sub("<hash>", text)))
        return text.replace(self.user_id, "<me>")

    def later(self, work: Awaitable[Any]) -> Any:
        """The result of what is asynchronous."""

        async def awaited() -> Any:
            return await work

        return self.runner.run(awaited())

    # Each of the following is something that an owner can do, with arguments that mean the same in every store.

    def put(self, text: str, key: str | None, **details: Any) -> str:
        """Store a text."""
        item = self.manager.remember(text, key=key, **details)
        if item.identity is None and key is None and item.memory_key not in self.made:
            self.made.append(item.memory_key)
        return f"{item.ref} {item.tier} {item.tags} {item.category} {item.is_active}"

    def get(self, key: str | int, **selector: Any) -> Any:
        """Read a memory."""
        return self.manager.retrieve(self.key(key), **selector)

    def find(self, query: str, **narrow: Any) -> list[str]:
        """Search."""
        hits = self.manager.search(query, 10, **narrow)
        return [f"{hit.memory_key} {hit.summary} {hit.content!r} {_matched(hit)}" for hit in hits]

    def ask_store(self, verb: str, key: str | int, filters: dict[str, Any]) -> Any:
        """A verb of the store itself."""
        store, scope, wanted = self.store, self.manager.scope, self.key(key)
        verbs: dict[str, Callable[[], Any]] = {
            "get": lambda: store.get(scope, wanted),
            "get_many": lambda: store.get_many(scope, [wanted, "own", "night"]),
            "query": lambda: store.query(scope, filters, limit=None),
            "search": lambda: store.search(scope, "launch code walrus", filters=filters, limit=20),
            "delete": lambda: store.delete(scope, wanted),
            "deletion": lambda: bool(store.deletion(scope, wanted)) and not self.ids,
            "touch": lambda: store.touch(scope, [wanted]),
            "expire_at": lambda: store.expire_at(
                scope,
                [(item, now() + timedelta(days=1)) for item in store.get_many(scope, [wanted])],
            ),
            "list_all": lambda: list(store.list_all(scope)),
            "list_deleted": lambda: [] if self.ids else list(store.list_deleted(scope)),
            "count": lambda: store.count(scope, filters),
            "sum": lambda: store.sum(scope, "token_count", filters),
            "usage": lambda: store.usage(scope, filters),
            "clear": lambda: self.ids or store.clear(scope),
        }
        return verbs[verb]()

    def note(self, verb: str, key: str | int, text: str, tier: str) -> Any:
        """A verb of the notes."""
        notes, wanted = self.notes, self.key(key)
        verbs: dict[str, Callable[[], Any]] = {
            "save": lambda: self.made.append(notes.save(text, "a/b", ["x"], tier=tier)),
            "get": lambda: notes.get(wanted),
            "all": notes.get,
            "search": lambda: [
                f"{hit.memory_key} {hit.text} {_matched(hit)}" for hit in notes.search(text)
            ],
            "update": lambda: notes.update(wanted, text),
            "delete": lambda: notes.delete(wanted),
            "promote": lambda: notes.promote(wanted, tier),
            "categories": notes.list_categories,
            "size": lambda: (notes.count(), notes.size(), notes.evicted()),
            "clear": lambda: notes.clear(tier=tier),
            "end": lambda: notes.end("run"),
        }
        return verbs[verb]()

    def tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """A tool, over MCP."""
        given = {
            name: self.key(value) if name == "key" else value for name, value in arguments.items()
        }
        answer = self.tools.called({"name": name, "arguments": given})
        keys = answer.get("structuredContent", {}).get("keys", [])
        if name in ("store_memory", "save_memory"):
            self.made += [key for key in keys if key not in self.made and name == "save_memory"]
        return answer

    def own_tool(self, number: int, arguments: dict[str, Any]) -> Any:
        """A tool of the AutoGen context."""
        tool = self.context.tools()[number % 2]
        given = {
            name: self.key(value) if name == "key" else value for name, value in arguments.items()
        }
        return self.later(tool.run_json(given, CancellationToken()))

    def resource(self, key: str | int) -> Any:
        """The resources, over MCP."""
        page = self.resources.listed({})
        pages = [page["resources"]]
        while "nextCursor" in page:
            page = self.resources.listed({"cursor": page["nextCursor"]})
            pages.append(page["resources"])
        return pages, self.resources.read({"uri": f"memory://{self.key(key)}"})

    def say(self, text: str, *, result: bool) -> Any:
        """A message, or a tool's result, and the prompt that comes of it."""
        messages: list[LLMMessage] = [call("run"), results(text)] if result else [user(text)]
        for message in messages:
            self.later(self.context.add_message(message))
        prompt = self.later(self.context.get_messages())
        stats = self.context.stats()
        return [one.model_dump() for one in prompt], stats, self.context.shown_keys()

    def keep(self) -> Any:
        """Save the state of the conversation."""
        self.state = self.later(self.context.save_state())
        return self.state

    def load(self, state: Any) -> Any:
        """Load a state."""
        self.later(self.context.load_state(state))
        return self.say("what is the launch code?", result=False)

    def chain(self, text: str, question: str) -> Any:
        """LangChain's memory."""
        self.memory.save_context({"input": question}, {"output": text})
        return self.memory.load_memory_variables({"input": question})

    def remember_messages(self, text: str) -> Any:
        """LangChain's history."""
        self.history.add_messages([HumanMessage("?"), AIMessage(text)])
        return [message.content for message in self.history.messages]

    def ask_retriever(self, query: str) -> Any:
        """LangChain's retriever."""
        documents = MemoryRetriever(manager=self.manager, k=10).invoke(query)
        return [(each.id, each.page_content, each.metadata["description"]) for each in documents]

    def ask_adapter(self, text: str, key: str) -> Any:
        """LangGraph's store."""
        adapter = MemoryStoreAdapter(self.owner)
        before = adapter.get(("a", "b"), key)
        adapter.put(("a", "b"), key, {"text": text})
        found = adapter.search(("a",), query="launch")
        return (
            before and before.value,
            [(one.key, one.value) for one in found],
            adapter.list_namespaces(),
        )

    def assemble(self, task: str, project: str) -> Any:
        """What an agent starts with."""
        package = ContextAssembler(self.manager, task_id="1", project_id=project).build(task, 400)
        return package.text, package.tokens, package.unranked, package.all_tokens

    def merge(self, tier: str) -> Any:
        """Make one note of those that say the same."""
        report = consolidate(self.manager, tier)
        self.made += [group.key for group in report.groups]
        return report.notes, [
            (group.sources, group.tokens_before, group.tokens_after) for group in report.groups
        ]

    def converse(self, text: str) -> Any:
        """A conversation in the store."""
        conversation = ConversationMemory(manager=self.manager)
        session = f"c{self.ids.get('session_id', '')}"
        conversation.add_turn(session, "human", text)
        return [turn.text for turn in conversation.get_turns(session)]

    def look(self) -> Any:
        """What people are shown of this user."""
        catalog = Catalog(self.store)
        totals = [
            (one.name, one.memories, one.evicted, one.tokens)
            for one in catalog.totals("tier", self.user_id)
        ]
        threads = [(one.memories, one.tokens) for one in catalog.threads(self.manager.scope)]
        shown = [(one.memory_key, one.summary) for one in catalog.entries(self.manager.scope)]
        return totals, threads, shown, catalog.count_pending(self.user_id)

    def export(self) -> tuple[str, Any]:
        """The lines of an export, and what became of importing them again."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.jsonl"
            export_memories(self.store, path, user_id=self.user_id)
            again = import_memories(self.store, path, user_id=self.user_id)
            return path.read_text(), (again.written, again.unchanged, again.conflicts)

    def take(self, exported: str) -> Any:
        """Import a file, whoever wrote it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "theirs.jsonl"
            path.write_text(exported)
            taken = import_memories(self.store, path, user_id=self.user_id)
            return taken.written, taken.unchanged, taken.conflicts, taken.damaged, taken.complete


def _matched(hit: MemoryItem) -> str:
    return (
        f"score={hit.match.score:.9f}\n{hit.match.passage} {hit.match.lines} {hit.match.why}"
        if hit.match
        else ""
    )


def _shown(value: Any) -> str:
    """A value as text, all of it, and nothing that differs by chance but ids and times."""
    if isinstance(value, MemoryItem | Deletion) or is_dataclass(value):
        return _shown(
            {one.name: getattr(value, one.name) for one in fields(value) if one.name != "id"}
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, datetime | UUID):
        return "<time>" if isinstance(value, datetime) else "<id>"
    if isinstance(value, Sequence | Iterable) and not isinstance(value, str | bytes):
        return "[" + ",\n".join(map(_shown, value)) + "]"
    return value if isinstance(value, str) else repr(value)


@contextmanager
def _logged() -> Generator[list[str]]:
    """The lines that the library logs."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler, logger = Handler(), logging.getLogger("memory_context")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


def as_json(value: Any) -> Any:
    """A copy by way of JSON."""
    return json.loads(json.dumps(value))
