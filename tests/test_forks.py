"""Processes that fork: a child has connections and locks of its own, and loses nothing.

A process of pytest's has threads, and must not fork itself: each test starts one that does.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from memory_context import MemoryManager
from sources import SOURCES

pytestmark = pytest.mark.long

_START = """
import os, signal, sys, threading, time
from memory_context import MemoryManager
from memory_context.runtime.after_fork import Lock

def child(work):
    # the exit status of a forked child that does `work`, and is killed if it hangs
    number = os.fork()
    if number == 0:
        signal.alarm(300)
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
_CHILDREN = """
say(manager.store("parent", key="parent"))
def work(number):
    assert "parent" == manager.retrieve("parent")
    say(manager.store(f"child {number}", key=f"child-{number}"))
assert 0 == child(lambda: work(0))
assert 0 == child(lambda: work(1))
assert "child 1" == manager.retrieve("child-1")
say(manager.store("afterwards", key="afterwards"))
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
from memory_context.stores.sql.index import embedding_of_chunks_and_questions
embedding_of_chunks_and_questions.QUERY_SECONDS = 60
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
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    keys = done.stdout.split()
    with MemoryManager(url, user_id="ann") as manager:
        assert set(keys) == {
            item.memory_key for item in manager.memory_store.list_all(manager.scope)
        }
    return keys


@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_used_before(request: pytest.FixtureRequest, fixture: str) -> None:
    """Children of a process that has used its store, and parents of children that have, store and find everything."""
    keys = run(_CHILDREN, request.getfixturevalue(fixture))

    assert keys == ["parent", "child-0", "child-1", "afterwards"]


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
    """The library's locks are those that a fork frees."""
    found = {
        path.name
        for path in SOURCES
        if re.search(r"threading\.R?Lock\b|threading import .*Lock", path.read_text())
    }

    assert found <= {"after_fork.py"}
