"""Who a memory comes from: what is made of several texts has the least trusted of their origins, whatever is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
import sqlalchemy as sa
from autogen_core.models import AssistantMessage, LLMMessage
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from langchain_memory_context import MemoryStoreAdapter
from memory_context import (
    ContextAssembler,
    ConversationMemory,
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    NotesPolicy,
    ScopedMemory,
    SQLAlchemyStore,
)
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.consolidation import consolidate
from memory_context.memory.copy_export_import import export_memories, import_memories
from memory_context.model.item import MemoryItem
from memory_context.model.origin import ORIGINS, Origin, lowest
from memory_context.stores import Encrypted, FileStore, SQLAuditTrail
from messages import LOG, call, results, user

RANK = {origin: rank for rank, origin in enumerate(ORIGINS)}


def kept(manager: MemoryManager, kind: str) -> MemoryItem:
    """The newest memory of a type."""
    return manager.memory_store.query(manager.scope, {"memory_type": kind}, limit=1)[0]


def conversation(store: Any, **settings: Any) -> MemoryContext:
    """A conversation that recalls nothing by itself."""
    return MemoryContext("ann", store=store, **{"recall": False, **settings})


class TestWritten:
    """What the host writes of who says a text."""

    @for_each(
        "message, origin",
        [
            (results(LOG), "tool"),
            (user(LOG), "person"),
            # What another agent says may be what a tool gave it.
            (user(LOG, source="coder"), "tool"),
        ],
    )
    async def test_of_folds(self, message: LLMMessage, origin: Origin) -> None:
        """A result is a tool's, words are a person's; what was imported stays so where it is referred to."""
        store = SQLAlchemyStore("sqlite://")
        context = conversation(store, fold=FoldPolicy(source_thresholds={"user": 500}))
        await context.add_message(call("run"))
        await context.add_message(message)
        [key] = context.shown_keys()

        assert origin == MemoryManager(store, user_id="ann").get(key).origin

    async def test_of_what_refers_to_others(self) -> None:
        """A folded text that refers to an imported memory is as little trusted as that."""
        store = SQLAlchemyStore("sqlite://")
        manager = MemoryManager(store, user_id="ann")
        key = manager.store("imported", origin="import")
        context = conversation(store, fold=FoldPolicy(source_thresholds={"user": 500}))
        await context.add_message(user(f"[MemoryRef: {key}]\n{LOG}"))

        assert "import" == kept(manager, "message").origin

    async def test_of_tools(self) -> None:
        """What a model keeps by its tools is a model's, as a note and as a memory; a program's is the program's."""
        context = conversation("sqlite://", notes=True)
        workbench = context.workbench([])
        for name, text in (("save_memory", "a note"), ("store_memory", "a text")):
            await workbench.call_tool(name, {"content": text})
        await context.store("by the program")

        found = {item.content: item.origin for item in await context.search("", limit=9)}
        assert {"a note": "model", "a text": "model", "by the program": "program"} == found

    def test_of_others(self) -> None:
        """Chats have the lowest of their roles, answers of SQL that of what they read, LangGraph's items a model's."""
        manager = MemoryManager("sqlite://", user_id="ann")
        chat = ConversationMemory(manager=manager)
        keys = [chat.add_turn("t", role, role).key for role in ("human", "ai", "tool")]
        assert ["person", "model", "tool"] == [manager.get(key).origin for key in keys]

        manager.store("a,b\n1,2", key="table", origin="tool")
        manager.query('SELECT * FROM "table"', save_as="answer")
        assert "tool" == manager.get("answer").origin

        MemoryStoreAdapter(manager).put(("a",), "k", {"v": 1})
        assert "model" == kept(manager, "store_item").origin

    def test_of_nobody(self) -> None:
        """What no one said anything of is an import: rows of other programs, records made by hand, files."""
        store = SQLAlchemyStore("sqlite://")
        store.put(
            MemoryManager(store, user_id="ann").scope,
            MemoryItem(user_id="ann", memory_key="k", content="x"),
        )
        insert = sa.text(
            "INSERT INTO agent_memories (id, user_id, memory_key, content) "
            "VALUES ('6b1f3a9e2c0d5a449d570f2f7d6f1c11', 'ann', 'row', 'x')"
        )
        store.database.write(lambda connection: connection.execute(insert))

        manager = MemoryManager(store, user_id="ann")
        assert ["import", "import"] == [manager.get(key).origin for key in ("k", "row")]
        assert not manager.get("row").generated_key
        with pytest.raises(
            InvalidArgumentError, match="origin must be one of person, program, model"
        ):
            manager.store("x", origin="god")

    def test_in_files(self, tmp_path: Path) -> None:
        """A file of a `FileStore` holds it; one that a person has written without is an import."""
        with FileStore(tmp_path) as store:
            manager = MemoryManager(store, user_id="ann")
            key = manager.store("x", origin="person")
            [file] = tmp_path.glob("*.json")
            record = json.loads(file.read_text())
            assert ("person", False) == (record.pop("origin"), record.pop("generated_key"))
            file.write_text(json.dumps(record))
            store.refresh()

            assert "import" == manager.get(key).origin

    @for_each("codec", [None, Encrypted({"a": b"k" * 32})])
    def test_stored_again(self, codec: Encrypted | None) -> None:
        """Equal texts are one record, with the lower of their origins; under a codec, too."""
        store = SQLAlchemyStore("sqlite://", codec=codec)
        manager = MemoryManager(store, user_id="ann")
        origins: tuple[Origin, ...] = ("program", "tool", "person", "import", "model")
        keys = {manager.store("the same", origin=origin) for origin in origins}

        assert ["import"] == [manager.get(key).origin for key in keys]


class TestShown:
    """What a model reads of it."""

    @pytest.mark.long
    async def test_in_a_recall(self) -> None:
        """The heading of a recalled text says it."""
        for origin in ORIGINS:
            context = MemoryContext("ann", store="sqlite://")
            manager = MemoryManager(context.manager.memory_store, user_id="ann")
            manager.store("invoice 4711: 12 EUR", "invoice 4711", "tool_output", origin=origin)
            await context.add_message(user("What is the total of invoice 4711?"))
            [recalled, *_] = [
                one for one in await context.get_messages() if "12 EUR" in str(one.content)
            ]

            heading = str(recalled.content).partition("\n")[2].partition("\n")[0]
            assert heading.endswith(f"tokens] ({origin})")

    async def test_in_the_layer(self) -> None:
        """Notes that begin a conversation say that neither a person nor a program wrote them."""
        context = MemoryContext("ann", store="sqlite://")
        manager = MemoryManager(context.manager.memory_store, user_id="ann")
        for origin in ORIGINS:
            manager.store(f"rule of {origin}", tags=["always"], origin=origin)
        await context.add_message(user("Go on."))
        [layer, _] = await context.get_messages()

        lines = str(layer.content).splitlines()
        for origin in ORIGINS:
            mark = f"({origin}) " if RANK[origin] > RANK["program"] else ""
            assert f"- {mark}rule of {origin}" in lines

    @for_each("require", [False, True])
    async def test_confirmed(self, require: bool) -> None:
        """Where it is required, what a model wrote begins no conversation and no prompt before a person confirmed it."""
        store = SQLAlchemyStore("sqlite://")
        manager = MemoryManager(store, user_id="ann", audit=True)
        always = manager.store("the model says tabs", tags=["always"], origin="model")
        manager.store("the program says UTC", tags=["always"])
        ScopedMemory(manager).add_preference("the person wants tea")

        async def begins() -> str:
            context = MemoryContext(
                "ann", store=store, notes=NotesPolicy(require_confirmed=require)
            )
            async with context.run():
                workbench = context.workbench([])
                said = {"content": "the run goes well", "tier": "run"}
                await workbench.call_tool("save_memory", said)
                await context.add_message(user("Go on."))
                return str(await context.get_messages())

        before = await begins()
        assert require is not ("(model) the model says tabs" in before)
        assert require is not ("model): the run goes well" in before)
        assert "the program says UTC" in before
        assert "the person wants tea" in before

        assert "person" == manager.confirm(always).origin
        assert "- the model says tabs" in await begins()
        assert "confirmed" in {entry.action for entry in SQLAuditTrail(store).entries("ann")}

    async def test_changed_afterwards(self) -> None:
        """A confirmed note that a model changes has to be confirmed again; one that a program changes is the program's."""
        notes = ScopedMemory("sqlite://", user_id="ann", session_id="t")
        key = notes.save("tabs", origin="model")
        notes.manager.confirm(key)
        by_whom: tuple[Origin, ...] = ("program", "model", "person")
        for origin in by_whom:
            notes.update(key, f"tabs, says the {origin}", origin=origin)

        assert "model" == notes.manager.get(key).origin

    def test_in_a_dumped_policy(self) -> None:
        """The setting survives `dump_component`."""
        context = MemoryContext(
            "ann", store="sqlite:///x.db", notes=NotesPolicy(require_confirmed=True)
        )
        loaded = MemoryContext.load_component(context.dump_component())

        assert loaded.notes_policy.require_confirmed

    def test_in_an_assembly(self) -> None:
        """An assembler looks at what is confirmed only, if it is told so: by importance, by words, and at the ends."""
        manager = MemoryManager("sqlite://", user_id="ann")
        notes = ScopedMemory(manager, task_id="k")
        for origin in ORIGINS:
            notes.save(f"rocket of the {origin}", tier="task", origin=origin)
        assembler = ContextAssembler(manager, task_id="k", require_confirmed=True)
        package = assembler.build("rocket", 2000, head_tail=2)

        assert {"person", "program"} == {item.origin for item in package.items}


@dataclass
class Lineage:
    """A user's memories, and the lowest origin of all that went into each.

    Attributes:
        user: Whose.
        stores: Where they are, and where they move to next.
        due: The lowest origins, by key.
        count: How many texts were made.
    """

    user: str
    stores: Iterator[SQLAlchemyStore]
    due: dict[str, Origin] = field(default_factory=dict[str, Origin])
    count: int = 0

    def __post_init__(self) -> None:
        """Begin in the first store."""
        self.move()

    def move(self) -> None:
        """Go on in the next store."""
        self.manager = MemoryManager(next(self.stores), user_id=self.user)

    def note(self, key: str, *origins: Origin) -> None:
        """Note what went into a memory, beside what was there."""
        there = [self.due[key]] if key in self.due else []
        self.due[key] = lowest([*there, *origins])

    def text(self) -> str:
        """A text that no other one is like, long enough to be folded."""
        self.count += 1
        return "\n".join(f"{self.count} of {line}" for line in range(400))

    def check(self) -> None:
        """No memory is trusted more than the least trusted of what went in."""
        for key, origin in self.due.items():
            assert RANK[self.manager.get(key).origin] >= RANK[origin], (key, origin)


def _store(lineage: Lineage, number: int, origin: Origin) -> None:
    text = f"note {number % 5} of the rocket"
    lineage.note(lineage.manager.store(text, origin=origin), origin)


def _save(lineage: Lineage, number: int, origin: Origin) -> None:
    notes = ScopedMemory(lineage.manager, task_id="k", project_id="p")
    words = " ".join(f"word{one}" for one in range(number % 3, 12))
    lineage.note(notes.save(words, tier="task", origin=origin), origin)


def _update(lineage: Lineage, number: int, origin: Origin) -> None:
    notes = ScopedMemory(lineage.manager, task_id="k", project_id="p")
    for note in notes.get()[number % 3 :][:1]:
        notes.update(note.memory_key, priority=number % 10 + 1, origin=origin)
        lineage.note(note.memory_key, origin)


def _promote(lineage: Lineage, number: int, _: Origin) -> None:
    notes = ScopedMemory(lineage.manager, task_id="k", project_id="p")
    for note in notes.get(tier="task")[number % 3 :][:1]:
        notes.promote(note.memory_key, "project")


def _consolidate(lineage: Lineage, number: int, _: Origin) -> None:
    tier = ("task", "project")[number % 2]
    for merged in consolidate(lineage.manager, tier).groups:
        lineage.note(merged.key, *(lineage.due[key] for key in merged.sources))


def _query(lineage: Lineage, number: int, _: Origin) -> None:
    key = [*lineage.due][number % len(lineage.due)]
    lineage.manager.query(f'SELECT * FROM "{key}"', save_as=f"answer{lineage.count}")
    lineage.note(f"answer{lineage.count}", lineage.due[key], "program")
    lineage.count += 1


def _move(lineage: Lineage, number: int, _: Origin) -> None:
    """Everything goes into a file, and from there into another store."""
    believed = number % 2 == 1
    source = lineage.manager.memory_store
    lineage.move()
    target = lineage.manager.memory_store
    with TemporaryDirectory() as folder:
        file = Path(folder) / "all.jsonl"
        export_memories(source, file, user_id=lineage.user)
        import_memories(target, file, user_id=lineage.user, keep_origins=believed)
    if not believed:
        lineage.due = dict.fromkeys(lineage.due, "import")


def _talk(lineage: Lineage, number: int, _: Origin) -> None:
    """A conversation folds, recalls and compacts; what it refers to went in."""
    key = [*lineage.due][number % len(lineage.due)]
    asyncio.run(_held(lineage, key))


async def _held(lineage: Lineage, key: str) -> None:
    store, scope = lineage.manager.memory_store, lineage.manager.scope
    before = {item.memory_key for item in store.list_all(scope)}
    context = MemoryContext("ann", store=store, max_tokens=900)
    await context.add_message(user("Begin."))
    await context.add_message(call("run"))
    await context.add_message(results(lineage.text()))
    await context.get_messages()
    await context.add_message(AssistantMessage(content="Which one?", source="a"))
    await context.add_message(user(f"Look at [MemoryRef: {key}], then go on."))
    for _ in range(3):
        await context.get_messages()
        await context.add_message(AssistantMessage(content=lineage.text()[:900], source="a"))
        await context.add_message(user("Go on, please."))
    await context.get_messages()
    made = [item for item in store.list_all(scope) if item.memory_key not in before]
    for item in sorted(made, key=lambda item: item.created_at):
        # Of a note of a task or a project, which the conversation does not see, the name alone went in.
        seen = store.get_many(replace(scope, places=frozenset()), lineage.due)
        went_in = [lineage.due[one.memory_key] for one in seen if one.memory_key in item.text]
        lineage.note(item.memory_key, *went_in, "tool")
    assert any(item.memory_type == "conversation" and key in item.text for item in made)


STEPS: list[Callable[[Lineage, int, Origin], None]] = [
    _store,
    _save,
    _update,
    _promote,
    _consolidate,
    _query,
    _move,
]
TALKING = [*STEPS, _talk]
Steps: TypeAlias = list[tuple[int, int, Origin]]
MOST_STEPS = 6
ANY_STEP = st.tuples(
    st.sampled_from(range(len(TALKING))), st.integers(0, 30), st.sampled_from(ORIGINS)
)


def follow(lineage: Lineage, steps: Steps, known: list[Any]) -> None:
    """Take the steps, and check after each that nothing is trusted more than what went in."""
    _store(lineage, 0, steps[0][2])
    for step, number, origin in steps:
        known[step % len(known)](lineage, number, origin)
        lineage.check()


@examples(50)
@given(st.lists(ANY_STEP, min_size=1, max_size=MOST_STEPS))
def test_no_upgrade(steps: Steps) -> None:
    """Storing, changing, promoting, merging, asking, moving, folding, recalling and compacting upgrade nothing."""
    stores = (SQLAlchemyStore("sqlite://") for _ in count())
    follow(Lineage("ann", stores), steps, TALKING)


@pytest.mark.long
def test_no_upgrade_in_ten_thousand() -> None:
    """Nor in 10,000 random lineages, each of another user of the same stores, without conversations, which take longer."""
    chance = Random(4711)
    stores = [SQLAlchemyStore("sqlite://") for _ in range(MOST_STEPS + 1)]
    for number in range(10_000):
        steps: Steps = []
        for _ in range(chance.randint(1, MOST_STEPS)):
            step = (chance.randrange(len(STEPS)), chance.randint(0, 30), chance.choice(ORIGINS))
            steps.append(step)
        try:
            follow(Lineage(f"user-{number}", iter(stores)), steps, STEPS)
        except AssertionError as error:
            error.add_note(f"after {steps}")
            raise
