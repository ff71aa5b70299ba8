"""Processes that fork while other threads use the library: children work, never hang, and lose nothing.

A process of pytest's has threads, and must not fork itself: each test starts one that does.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory_context import MemoryManager
from memory_context.stores import EncryptedStore
from sources import SOURCES

_START = """
import os, signal, sys, threading, time
from memory_context import MemoryManager
from memory_context.runtime.forks import Lock

def child(work):
    # the exit status of a forked child that does `work`, and is killed if it hangs
    number = os.fork()
    if number == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

def say(words):
    os.write(1, f"{words}\\n".encode())  # no buffer, which a child would have a copy of

manager = MemoryManager(sys.argv[1], user_id="ann")
"""
_WRITERS = """
stop = threading.Event()
failures = []
def write(name):
    for number in range(10_000):
        try:
            say(manager.store(f"{name} {number}", key=f"{name}-{number}"))
        except Exception as error:
            failures.append(error)
        time.sleep(0.001)
        if stop.is_set():
            return
threads = [threading.Thread(target=write, args=(f"thread{number}",)) for number in range(3)]
for thread in threads:
    thread.start()
def one(number):
    return child(lambda: say(manager.store(f"child {number}", key=f"child-{number}")))
codes = [one(number) for number in range(8)]
stop.set()
for thread in threads:
    thread.join()
assert [0] * 8 == codes, codes
assert not failures, failures
"""
_FIRST_USE = """
thread = threading.Thread(target=lambda: say(manager.store("first", key="first")))
thread.start()
time.sleep(0.5)
assert thread.is_alive()
assert 0 == child(lambda: say(manager.store("child", key="child")))
thread.join()
"""
_FIRST_COUNT = """
import tempfile
found = tempfile._get_default_tempdir
def slow():
    time.sleep(1)
    return found()
tempfile._get_default_tempdir = slow
thread = threading.Thread(target=lambda: say(manager.store("first", key="first")))
thread.start()
while not tempfile._once_lock.locked():
    assert thread.is_alive()
assert 0 == child(lambda: say(manager.store("child", key="child")))
thread.join()
"""
_DRIVER = """
begun = threading.Event()
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "psycopg":
            begun.set()
            time.sleep(1)
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=lambda: say(manager.store("first", key="first")))
thread.start()
begun.wait()
assert 0 == child(lambda: say(manager.store("child", key="child")))
thread.join()
"""
_KEYS = """
from memory_context.stores import _keys
lock, begun, made = threading.Lock(), threading.Event(), _keys.HKDF
def slow(*arguments, **more):
    with lock:
        begun.set()
        time.sleep(0.5)
        return made(*arguments, **more)
_keys.HKDF = slow
thread = threading.Thread(target=lambda: say(manager.store("first", key="first")))
thread.start()
begun.wait()
assert 0 == child(lambda: say(manager.store("child", key="child")))
thread.join()
"""
_IDLE = """
def is_open(database):
    for number in range(3, 256):
        try:
            if os.path.samestat(os.fstat(number), os.stat(database)):
                return True
        except OSError:
            pass
    return False

def look():
    assert not is_open(path)
    say(manager.store("child", key="child"))

path = sys.argv[1].removeprefix("sqlite:///")
say(manager.store("parent", key="parent"))
assert is_open(path)
assert 0 == child(look)
say(manager.store("afterwards", key="afterwards"))
"""
_LOCKS = """
held, free, own = Lock(), Lock(), Lock()
taken, done = threading.Event(), threading.Event()
def hold():
    with held:
        taken.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
taken.wait()
def take():
    for lock in (held, free, own):
        with lock, lock:
            pass
with own:
    code = child(take)
done.set()
thread.join()
assert 0 == code
"""
_EMBEDDER = """
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
begun, goes_on = threading.Event(), threading.Event()
parent = os.getpid()
def embed(texts):
    if os.getpid() == parent:
        begun.set()
        goes_on.wait()
    return [[float(len(text)), 1.0] for text in texts]
embed.model = "lengths"
manager = MemoryManager(SQLAlchemyStore(sys.argv[1], embedder=embed, embedding_model="lengths"), user_id="ann")
say(manager.store("of the parent", key="parent"))
begun.wait()
def work():
    say(manager.store("of the child", key="child"))
    found = []
    while len(found) < 2:
        found = manager.memory_store.search(Scope("ann"), "of a question", mode="semantic")
    manager.close()
code = child(work)
goes_on.set()
manager.close()
assert 0 == code
"""


def run(program: str, url: str) -> list[str]:
    """The keys that the program says it stored; all of them must be there."""
    command = [sys.executable, "-W", "ignore", "-c", _START + program, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    keys = done.stdout.split()
    with MemoryManager(url, user_id="ann") as manager:
        assert set(keys) == {
            item.memory_key for item in manager.memory_store.list_all(manager.scope)
        }
    return keys


def integrity(path: Path) -> str:
    """What SQLite says of the database."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_while_threads_write(request: pytest.FixtureRequest, fixture: str, tmp_path: Path) -> None:
    """Children that are forked in the middle of other threads' transactions store too; nothing fails or is lost."""
    keys = run(_WRITERS, request.getfixturevalue(fixture))

    assert {f"child-{number}" for number in range(8)} <= set(keys)
    assert fixture == "postgres_url" or "ok" == integrity(tmp_path / "memory.db")


def test_in_the_first_use(sqlite_url: str, tmp_path: Path) -> None:
    """A child that is forked while another thread waits to create the schema has it, and works."""
    with closing(
        sqlite3.connect(tmp_path / "memory.db", isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("BEGIN IMMEDIATE")
        command = [sys.executable, "-W", "ignore", "-c", _START + _FIRST_USE, sqlite_url]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(3)
            other.execute("ROLLBACK")
            out, errors = process.communicate(timeout=60)

    assert (0, "", {"first", "child"}) == (process.returncode, errors, set(out.split()))


def test_in_the_first_count(sqlite_url: str) -> None:
    """A child that is forked while another thread loads the tokenizer, and holds a lock of `tempfile`, works."""
    assert {"first", "child"} == set(run(_FIRST_COUNT, sqlite_url))


def test_in_the_import_of_a_driver(postgres_url: str) -> None:
    """A child that is forked while another thread imports the database's driver, and holds its lock, works."""
    assert {"first", "child"} == set(run(_DRIVER, postgres_url))


def test_in_the_first_encryption(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that is forked while another thread derives keys, and holds a lock of the library that does it, works."""
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{EncryptedStore.generate_key()}")

    assert {"first", "child"} == set(run(_KEYS, f"encrypted+{sqlite_url}"))


def test_locks(sqlite_url: str) -> None:
    """What another thread held is free in the child; what the thread that forked held is its own still."""
    assert [] == run(_LOCKS, sqlite_url)


def test_embedder(sqlite_url: str) -> None:
    """Vectors are made in a child though the thread that makes them, and held its lock, is the parent's."""
    assert ["parent", "child"] == run(_EMBEDDER, sqlite_url)


def test_no_open_file_is_taken_over(sqlite_url: str) -> None:
    """A child has no connection of its parent open: SQLite's locks would go with it when the child closes it."""
    assert ["parent", "child", "afterwards"] == run(_IDLE, sqlite_url)


def test_no_other_locks() -> None:
    """The library's locks are those that a fork frees; `_tokens` makes its choice anew, with its lock."""
    found = {
        path.name
        for path in SOURCES
        if re.search(r"threading\.R?Lock\b|threading import .*Lock", path.read_text())
    }

    assert found <= {"_forks.py", "_tokens.py"}
