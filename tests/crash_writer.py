"""A writer to be killed: forks at each line that it reads, and the fork works on a database until it is killed.

What it is about to change, and what it has stored, changed or deleted, it says in lines of JSON:
``["begun", pid]``, ``["will", key, hash]``, ``["did", key, hash]`` (a hash of null is a deletion), ``["said", hash]``
for a text that goes into a conversation, ``["saved", thread, references]``, ``["ended", status]``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import psycopg  # noqa: F401 - loaded before the fork, which is quick then

from memory_context import MemoryContext, MemoryManager, MemoryRef, Room, SQLAlchemyStore
from memory_context.memory.backup_files import backup_database
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model.item import hash_content
from memory_context.testing import check_prompt
from messages import call, results, user
from patient import PATIENT

WORDS = (
    "rocket",
    "ledger",
    "harbour",
    "pylon",
    "granite",
    "violin",
    "comet",
    "anchor",
    "lantern",
    "meadow",
)
LARGE = 600_000  # characters; more than what is indexed in the transaction of the write
THREADS = 3
NOTES = 20


def tell(*facts: object) -> None:
    """Write a line at once; short enough for the kernel to take it whole."""
    os.write(sys.stdout.fileno(), (json.dumps(facts) + "\n").encode())


@dataclass
class Writer:
    """Works as an agent does, by chance, until it is killed.

    Attributes:
        url: The database.
        folder: Where the states of conversations are kept.
        seed: What decides.
        talks: Whether it leads a conversation too.
    """

    url: str
    folder: Path
    seed: int
    random: random.Random = field(init=False)
    number: int = 0

    def __post_init__(self) -> None:
        """Make chances and memories."""
        self.random = random.Random(self.seed)
        self.talks = self.random.random() < 0.4
        self.thread = f"t{self.random.randrange(THREADS)}"
        self.context = MemoryContext("ann", store=self.url, thread_id=self.thread, max_tokens=3000)
        self.manager = self.context.manager
        self.own: list[str] = []

    async def work(self) -> None:
        """Go on for as long as the parent lives."""
        parent = os.getppid()
        if self.talks and self.state.exists():
            await self.context.load_state(json.loads(self.state.read_text()))
        verbs = [self.store, self.store, self.put_own, self.forget, self.note]
        while os.getppid() == parent:
            if self.talks and self.random.random() < 0.5:
                await self.converse()
            else:
                self.random.choice(verbs)()

    @property
    def state(self) -> Path:
        """The file of the conversation's state."""
        return self.folder / f"{self.thread}.json"

    def text(self) -> str:
        """A text that nobody else writes: small, a few pages, or larger than one transaction indexes."""
        self.number += 1
        most = self.random.choices((200, 8000, LARGE), (0.6, 0.37, 0.03))[0]
        lines = [f"unique{self.seed}x{self.number} of writer {self.seed}"]
        words = [f"{self.random.choice(WORDS)}-{self.random.randrange(10_000)}" for _ in range(40)]
        line = " ".join(words)
        lines += [
            f"{i} {line}"
            for i in range(self.random.randrange(most) // len(line) + (most == LARGE) * 1500)
        ]
        return "\n".join(lines)

    def store(self) -> None:
        """Store a text, which may be recalled although its writer was killed before it could say so."""
        text = self.text()
        tell("said", hash_content(text))
        key = self.manager.store(text, type="note")
        self.own.append(key)
        tell("did", key, hash_content(text))

    def put_own(self) -> None:
        """Store a text under a key that many writers use."""
        text, key = self.text(), f"own-{self.random.randrange(12)}"
        tell("will", key, hash_content(text))
        self.manager.store(text, key=key, replace=True)
        tell("did", key, hash_content(text))

    def note(self) -> None:
        """Keep a note in a tier that evicts."""
        text = self.text()[:500]
        tell("said", hash_content(text))
        item = self.manager.remember(
            text, tier="project", tier_id="p", room=Room(max_items=NOTES, evict=0.1)
        )
        tell("did", item.memory_key, hash_content(text))

    def forget(self) -> None:
        """Forget a memory, of this writer or of another."""
        found = self.manager.memory_store.query(
            self.manager.scope, {"memory_type": "note"}, limit=10
        )
        keys = [*self.own, *(item.memory_key for item in found)]
        if keys:
            key = self.random.choice(keys)
            tell("will", key, None)
            self.manager.forget(key)
            tell("did", key, None)

    async def converse(self) -> None:
        """Ask, call a tool, get its large results, and ask for the prompt; the state is saved after each message."""
        outputs = [self.text() for _ in range(self.random.randrange(1, 4))]
        for text in outputs:
            tell("said", hash_content(text))
        names = ["run"] * len(outputs)
        number = self.seed * 10_000 + self.number
        question = user(f"What of unique{self.seed}x{self.random.randrange(self.number) + 1}?")
        for message in (question, call(*names, number=number), results(*outputs, number=number)):
            await self.context.add_message(message)
            await self.save()
        check_prompt(await self.context.get_messages(), open_calls=True)
        await self.save()

    async def save(self) -> None:
        """Save the state, whole or not at all."""
        saved = json.dumps(await self.context.save_state())
        draft = self.state.with_suffix(".draft")
        draft.write_text(saved)
        draft.replace(self.state)
        tell("saved", self.thread, len(MemoryRef.find_all(saved)))


async def converse(url: str, folder: Path, seed: int) -> None:
    """Lead a conversation whose limit is passed all the time."""
    writer = Writer(url, folder, seed)
    if writer.state.exists():
        await writer.context.load_state(json.loads(writer.state.read_text()))
    while True:
        await writer.converse()


def keep_up(verb: str, url: str, folder: Path) -> None:
    """Do what an administrator does, and wait to be killed."""
    with SQLAlchemyStore(url) as store:
        if verb == "gc":
            delete_expired(store)
        elif verb == "forget":
            store.forget_user("ann")
        while verb == "backup":
            backup_database(store, folder / "backups")
            tell("saved", verb, 0)
    tell("saved", verb, 0)
    signal.pause()


def live(url: str, folder: Path, seed: int, verb: str) -> None:
    """Work in a fork until the end."""
    try:
        tell("begun", os.getpid())
        if verb == "write":
            asyncio.run(Writer(url, folder, seed).work())
        elif verb == "converse":
            asyncio.run(converse(url, folder, seed))
        else:
            keep_up(verb, url, folder)
    except BaseException:  # noqa: BLE001 - a fork must not come back
        traceback.print_exc()
    finally:
        os._exit(1)


def main() -> None:
    """Fork a writer for each line that is read: a database, a folder, a seed, and what it is to do."""
    exec(PATIENT)
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.search(manager.store("what is slow the first time"))
    for line in sys.stdin:
        url, folder, seed, verb = json.loads(line)
        if not (pid := os.fork()):
            live(url, Path(folder), seed, verb)
        tell("ended", os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
