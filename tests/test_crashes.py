"""Writers that are killed at random moments: what was acknowledged is there, whole, and nothing points to nothing."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

import crash_writer
from memory_context import MemoryContext, MemoryItem, MemoryManager, MemoryRef
from memory_context.memory.backup_files import backup_database
from memory_context.memory.doctor_checks_and_advice import examined
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model.item import hash_content, now
from memory_context.stores import SQLAlchemyStore, as_store
from memory_context.stores.encryption_keys import KEYS_VARIABLE
from memory_context.stores.sql import doctor_looks_into_a_database

pytestmark = pytest.mark.long

ACKNOWLEDGED = ("did", "saved")
MOST_ACKNOWLEDGED = 30
OFTEN = 25
KEYS = f"one:{base64.b64encode(bytes(32)).decode()}"


@dataclass
class Ledger:
    """What the writers have said.

    Attributes:
        allowed: For each key the hashes of what it may hold; None: it may be gone.
        said: The hashes of the texts that went into conversations.
        counts: How often each was said.
    """

    allowed: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(lambda: {None}))
    said: set[str] = field(default_factory=set[str])
    counts: Counter[str] = field(default_factory=Counter[str])

    def note(self, facts: list[Any]) -> list[str]:
        """Note a line; the key that it is about, if it is about one."""
        match facts:
            case ["will", key, None] if key not in self.allowed:
                return []  # of a writer that was killed before it could acknowledge it: nobody said what it holds
            case ["will", key, hashed]:
                self.allowed[key].add(hashed)
                return [key]
            case ["did", key, hashed]:
                self.allowed[key] = {hashed}
                self.counts["deleted" if hashed is None else "stored"] += 1
                return [key]
            case ["said", hashed]:
                self.said.add(hashed)
            case ["saved", _, references]:
                self.counts["states saved"] += 1
                self.counts["references in them"] += references
        return []


@dataclass
class Writers:
    """The process that forks writers, one after the other.

    Attributes:
        process: It.
        folder: Where the writers save states.
        ledger: What they say.
    """

    process: subprocess.Popen[str]
    folder: Path
    ledger: Ledger

    def kill_one(
        self, url: str, seed: int, acknowledged: int, moment: float, verb: str = "write"
    ) -> list[str]:
        """Kill one, `moment` seconds after it has acknowledged so many things; the keys that it spoke of."""
        order = json.dumps((url, str(self.folder), seed, verb))
        print(order, file=self.process.stdin, flush=True)
        begun, pid = self._said()
        assert "begun" == begun
        keys: dict[str, None] = {}
        while acknowledged > 0:
            facts = self._said()
            acknowledged -= facts[0] in ACKNOWLEDGED
            keys |= dict.fromkeys(self.ledger.note(facts))
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
        while (facts := self._said())[0] != "ended":
            keys |= dict.fromkeys(self.ledger.note(facts))
        return list(keys)

    def _said(self) -> list[Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the writers' process ended"
        facts: list[Any] = json.loads(line)
        assert facts[0] != "ended" or facts[1] == signal.SIGKILL, "a writer ended by itself"
        return facts


@contextmanager
def writers(folder: Path, ledger: Ledger) -> Iterator[Writers]:
    """The process that forks writers."""
    program = Path(crash_writer.__file__)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(program.parent), os.environ.get("PYTHONPATH", "")])
    }
    with (
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):
        try:
            yield Writers(process, folder, ledger)
        finally:
            process.kill()
            errors.seek(0)
            assert not errors.read()


def check_whole(items: Iterable[MemoryItem]) -> None:
    """Each record has the content that it was stored with."""
    for item in items:
        assert hash_content(item.content) == item.content_hash
        assert len(item.content) == item.char_count


def check_kept(url: str, ledger: Ledger, keys: Iterable[str], random: random.Random) -> None:
    """What was acknowledged is there, whole, and is found; what was deleted is deleted."""
    wanted = list(keys)
    with MemoryManager(url, user_id="ann") as manager:
        found = {
            item.memory_key: item for item in manager.memory_store.get_many(manager.scope, wanted)
        }
        check_whole(found.values())
        for key in wanted:
            hashed = found[key].content_hash if key in found else None
            assert hashed in ledger.allowed[key], key
            if ledger.allowed[key] == {None}:
                assert manager.memory_store.deletion(manager.scope, key), key
        there = [
            item
            for item in found.values()
            if item.is_active and ledger.allowed[item.memory_key] != {None}
        ]
        for item in random.sample(there, min(3, len(there))):
            word = item.text.split(" ", 1)[0]
            assert item.memory_key in [hit.memory_key for hit in manager.search(word)], word
        notes = manager.memory_store.count(manager.scope, {"tier": "project", "tier_id": "p"})
        assert notes <= crash_writer.NOTES


def check_index(url: str) -> None:
    """The index holds what is stored or waits for it, and nothing else."""
    with cast("SQLAlchemyStore", as_store(url)) as store:
        store.database.read_format()  # how its words are hidden, if they are
        faults = store.database.run_as_it_is(doctor_looks_into_a_database.faults)
        assert not any(faults.values()), faults


def check_all(url: str, ledger: Ledger) -> None:
    """All of it, as an administrator would look."""
    with MemoryManager(url, user_id="ann") as manager:
        items = list(manager.memory_store.list_all(manager.scope))
    check_whole(items)
    hashes = {item.memory_key: item.content_hash for item in items}
    for key, allowed in ledger.allowed.items():
        assert hashes.get(key) in allowed, key
    if not url.startswith("file:"):
        assert not [check for check in examined(url) if check.status == "problem"]
    if "sqlite:" in url:
        check_file(url.partition("sqlite:///")[2])


def check_file(path: str | Path) -> None:
    """SQLite finds nothing wrong in a file."""
    with closing(sqlite3.connect(path)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()


def states_in(folder: Path) -> list[Any]:
    """The states that were saved."""
    return [json.loads(file.read_text()) for file in sorted(folder.glob("t*.json"))]


def was_forgotten(manager: MemoryManager, ledger: Ledger, key: str) -> bool:
    """Whether a writer forgot this memory, which had been recalled into a conversation; the store says so then."""
    return (
        None in ledger.allowed.get(key, ())
        and manager.memory_store.deletion(manager.scope, key) is not None
    )


async def check_states(url: str, folder: Path, ledger: Ledger) -> int:
    """Every reference in a saved state, and in what was compacted, leads to what was said; how many there are."""
    seen: set[str] = set()
    for state in states_in(folder):
        context = MemoryContext("ann", store=url)
        await context.load_state(state)
        assert not context.stats().store_failures
        texts = [message.model_dump_json() for message in context.shown_messages()]
        while texts:
            fresh = {ref.key for text in texts for ref in MemoryRef.find_all(text)} - seen
            seen |= fresh
            items = [
                context.manager.get(key)
                for key in fresh
                if not was_forgotten(context.manager, ledger, key)
            ]
            check_whole(items)
            told = {
                *ledger.said,
                *(hashed for item in items for hashed in ledger.allowed.get(item.memory_key, ())),
            }
            assert all(
                item.content_hash in told for item in items if item.memory_type != "conversation"
            )
            texts = [item.text for item in items if item.memory_type == "conversation"]
        await context.aclose()
    return len(seen)


@pytest.fixture
def compressed_url(postgres_url: str) -> str:
    """The URL of a server's database whose rows are compressed."""
    return f"compressed+{postgres_url}"


@pytest.fixture
def encrypted_url(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a file whose rows are encrypted."""
    monkeypatch.setenv(KEYS_VARIABLE, KEYS)
    return f"encrypted+{sqlite_url}"


@pytest.fixture
def folder_url(tmp_path: Path) -> str:
    """The URL of a folder in which each memory is a file."""
    return f"file://{tmp_path}/memories"


@pytest.mark.parametrize(
    ("fixture", "kills"),
    [
        ("sqlite_url", 10),
        ("postgres_url", 5),
        ("folder_url", 5),
        ("compressed_url", 5),
        ("encrypted_url", 5),
        pytest.param("compressed_url", 100, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
        pytest.param("encrypted_url", 200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
        pytest.param("sqlite_url", 500, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
        pytest.param("postgres_url", 200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
        pytest.param("folder_url", 25, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
async def test_killed_writers(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    told: Callable[[str], None],
    fixture: str,
    kills: int,
) -> None:
    """However often writers are killed, what they acknowledged is there, whole, found, and nothing needs a repair."""
    url, ledger, chance = request.getfixturevalue(fixture), Ledger(), random.Random(kills)
    started, references = time.monotonic(), 0
    with writers(tmp_path, ledger) as forked:
        for seed in range(kills):
            early = chance.random() < 0.2
            acknowledged = 0 if early else chance.randint(1, MOST_ACKNOWLEDGED)
            keys = forked.kill_one(
                url, seed, acknowledged, chance.uniform(0, 0.15 if early else 0.03)
            )
            keys += chance.sample(list(ledger.allowed), min(20, len(ledger.allowed)))
            check_kept(url, ledger, keys, chance)
            if not url.startswith("file:"):
                check_index(url)
            references = await check_states(url, tmp_path, ledger)
            if seed % OFTEN == OFTEN - 1 or seed == kills - 1:
                check_all(url, ledger)
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(ledger.counts.items()))
    seconds = time.monotonic() - started
    told(
        f"{kills} kills in {seconds:.0f} s; acknowledged: {counts}; {references:,} references redeem at the end"
    )
    assert ledger.counts["stored"] > kills


@pytest.mark.parametrize("fixture", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    "kills", [5, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_killed_while_it_begins(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    told: Callable[[str], None],
    fixture: str,
    kills: int,
) -> None:
    """A database whose first writer was killed at any moment of its creation is created by the next one."""
    chance, stored = random.Random(kills), 0
    with writers(tmp_path, Ledger()) as forked:
        for seed in range(kills):
            url = (
                f"sqlite:///{tmp_path}/{seed}.db"
                if fixture == "sqlite"
                else request.getfixturevalue("postgres_url")
            )
            ledger = forked.ledger = Ledger()
            keys = forked.kill_one(url, seed, chance.choice((0, 0, 1)), chance.uniform(0, 0.5))
            check_kept(url, ledger, keys, chance)
            check_index(url)
            check_all(url, ledger)
            stored += ledger.counts["stored"]
            if fixture == "postgresql":
                with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
                    connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    told(f"{kills} new databases, {stored} things were stored in them")


@pytest.mark.parametrize(
    ("verb", "fixture"),
    [
        ("gc", "sqlite_url"),
        ("gc", "postgres_url"),
        ("forget", "sqlite_url"),
        ("forget", "postgres_url"),
        ("backup", "sqlite_url"),
    ],
)
@pytest.mark.parametrize(
    "kills", [6, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_killed_upkeep(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    told: Callable[[str], None],
    fixture: str,
    verb: str,
    kills: int,
) -> None:
    """Whoever is killed while it deletes or copies leaves whole memories, a whole index, whole copies; it is done again."""
    url, chance, done = request.getfixturevalue(fixture), random.Random(kills), 0
    backups = tmp_path / "backups"
    with writers(tmp_path, Ledger()) as forked:
        for seed in range(kills):
            kept = fill_with_expired(url, seed)
            forked.ledger = Ledger()
            forked.kill_one(url, seed, 0, chance.uniform(0, 0.12), verb)
            done += forked.ledger.counts["states saved"]
            check_index(url)
            with SQLAlchemyStore(url) as store:
                manager = MemoryManager(store, user_id="ann")
                items = {item.memory_key: item for item in store.list_all(manager.scope)}
                check_whole(items.values())
                assert verb == "forget" or kept <= items.keys()
                for item in chance.sample(list(items.values()), min(3, len(items))):
                    word = item.text.split(" ", 1)[0]
                    assert item.memory_key in [hit.memory_key for hit in manager.search(word)]
                if verb == "gc":
                    delete_expired(store)
                    assert kept == {item.memory_key for item in store.list_all(manager.scope)}
                elif verb == "forget":
                    store.forget_user("ann")
                    assert not list(store.list_all(manager.scope))
                    assert not list(store.list_deleted(manager.scope))
                else:
                    backup_database(store, backups)
            for path in backups.glob("*.db"):
                check_file(path)
                with MemoryManager(f"sqlite:///{path}", user_id="ann") as manager:
                    check_whole(manager.memory_store.list_all(manager.scope))
                path.unlink()
            check_index(url)
    told(f"{verb} on {fixture}: {kills} kills, {done} times it had ended")


def fill_with_expired(url: str, seed: int) -> set[str]:
    """Store some memories that have expired, some of them large, and some that stay; the keys of these."""
    with MemoryManager(url, user_id="ann") as manager:
        past = now() - timedelta(days=1)
        for number in range(30):
            words = f"gone{seed}x{number} " + "harbour lantern " * (40_000 if number == 7 else 50)
            manager.store(words, key=f"gone-{seed}-{number}", expires_at=past)
        kept = {f"kept-{seed}-{number}" for number in range(10)}
        for key in kept:
            manager.store(f"{key.replace('-', 'x')} violin meadow", key=key)
        return {item.memory_key for item in manager.memory_store.list_all(manager.scope)} - {
            f"gone-{seed}-{number}" for number in range(30)
        }


@pytest.mark.parametrize("fixture", ["sqlite_url", "encrypted_url", "compressed_url"])
@pytest.mark.parametrize(
    "kills", [3, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
async def test_killed_while_it_compacts(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    told: Callable[[str], None],
    fixture: str,
    kills: int,
) -> None:
    """Conversations that are compacted all the time lose nothing to a kill: what is saved leads to all that was said."""
    url, chance, ledger = request.getfixturevalue(fixture), random.Random(kills), Ledger()
    references = 0
    with writers(tmp_path, ledger) as forked:
        for seed in range(kills):
            forked.kill_one(url, seed, chance.randint(40, 80), chance.uniform(0, 0.2), "converse")
            references = await check_states(url, tmp_path, ledger)
            check_index(url)
    with MemoryManager(url, user_id="ann") as manager:
        compacted = manager.memory_store.count(manager.scope, {"memory_type": "conversation"})
    told(f"{kills} kills, {compacted} compactions, {references} references redeem at the end")
    assert compacted
