"""What storing, reading and searching cost, against floors in the same run, and how often search is right.

    python benchmarks/search.py [RECORDINGS.jsonl[.gz]...] [--memories 10000] [--large 50] [--texts FOLDER...]

Floors: raw insert and raw select by the driver of the same row; the bare ranked FTS5 query (porter, the same words
without stop words joined by OR, ``ORDER BY rank LIMIT 10``) over the same passages, and PostgreSQL's `ts_rank` over
them. Texts are made, or taken from the files of a folder. PostgreSQL is a server of this run's own, or the one that
``MEMORY_CONTEXT_TEST_POSTGRES`` names.

With recordings (one run a line: ``{"id", "messages": [...]}`` in OpenAI's chat form) it measures recall. The question
is what the assistant said before a call; right are the passages of earlier outputs of that run that hold a value which
it then used; the passages of all runs are searched.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
from context import postgres  # type: ignore[import-not-found] # beside this file
from rich.console import Console
from rich.table import Table

from memory_context import MemoryManager
from memory_context.conversation.message import Message
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.scope import Scope
from memory_context.replay import read_recordings
from memory_context.replay.identifiers_needed_and_shown import needed_values
from memory_context.stores import SQLAlchemyStore
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.chunks_and_metadata_cards import end_of_chunk
from memory_context.text.words_and_names import STOP_WORDS

BENCH = Scope("bench")
SIZE = 20_000
QUERIES = 100
SUFFIXES = {
    ".py",
    ".md",
    ".rst",
    ".txt",
    ".json",
    ".html",
    ".js",
    ".c",
    ".h",
    ".po",
    ".xml",
    ".yaml",
    ".log",
}
console = Console(width=None if sys.stdout.isatty() else 120)


def memory(number: int, text: str) -> MemoryItem:
    """A record of `text`."""
    return MemoryItem(
        user_id="bench",
        memory_key=f"tool_{number:08x}",
        content=text,
        summary=f"output {number}",
        content_hash=hash_content(text),
        char_count=len(text),
        line_count=text.count("\n") + 1,
    )


def made_texts(count: int) -> Iterator[str]:
    """Logs, code and prose of 20 KB with a vocabulary like that of words: few are common, most are rare."""
    chance = random.Random(7)
    words = [
        f"{a}{b}{c}"
        for a in ("con", "re", "sub", "data")
        for b in ("net", "serv", "log", "work", "part")
        for c in ("", "er", "ing", "s")
    ]
    words += [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 10)))
        for _ in range(50_000)
    ]
    weights = [1 / (place + 10) for place in range(len(words))]
    for number in range(count):
        drawn = iter(chance.choices(words, weights, k=3300))
        lines = (
            " ".join((f"{number % 60:02}:{i % 60:02}", *(next(drawn) for _ in range(10))))
            for i in range(330)
        )
        yield "\n".join(lines)[:SIZE]


def folder_texts(folders: Sequence[Path], count: int) -> Iterator[str]:
    """The files of folders, cut into 20 KB, in random order."""
    files = [
        file
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if file.suffix in SUFFIXES and file.is_file()
    ]
    random.Random(1).shuffle(files)
    rest = ""
    for file in files:
        rest += file.read_text("utf-8", "replace").replace("\0", " ")[:400_000]
        while len(rest) >= SIZE and count:
            yield rest[:SIZE]
            rest, count = rest[SIZE:], count - 1


def questions(texts: Sequence[str]) -> list[str]:
    """Lines of the texts with five words or more."""
    chance = random.Random(3)
    found: list[str] = []
    while len(found) < QUERIES:
        lines = [line for line in chance.choice(texts).split("\n") if 30 < len(line) < 200]
        good = [line for line in lines if len(re.findall(r"[^\W\d_]{3,} ", line)) >= 5]
        found += chance.sample(good, 1) if good else []
    return found


def passages(text: str) -> Iterator[str]:
    """The passages that the index cuts a text into."""
    start = 0
    while start < len(text):
        stop = end_of_chunk(text, start)
        yield text[start:stop]
        start = stop


def plain_words(question: str) -> list[str]:
    """The words of a question without stop words."""
    return [
        word
        for word in dict.fromkeys(re.findall(r"\w+", question.lower()))
        if word not in STOP_WORDS
    ]


class BareFTS5:
    """The floor of a search: FTS5's own ranking over the same passages."""

    def __init__(self, path: Path | str, texts: Sequence[str]) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute(
            "CREATE VIRTUAL TABLE bare USING fts5(text, tokenize='porter unicode61')"
        )
        self._connection.execute("BEGIN")
        rows = ((passage,) for text in texts for passage in passages(text))
        self._connection.executemany("INSERT INTO bare (text) VALUES (?)", rows)
        self._connection.execute("COMMIT")

    def search(self, question: str, limit: int = 10) -> list[int]:
        """The row numbers of the best passages, from 0."""
        words = " OR ".join(f'"{word}"' for word in plain_words(question))
        sql = "SELECT rowid - 1 FROM bare WHERE bare MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._connection.execute(sql, (words, limit))] if words else []


class BareTSVector:
    """The same on PostgreSQL: `ts_rank` over a GIN index."""

    def __init__(self, url: str, texts: Sequence[str]) -> None:
        self._connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
        self._connection.execute("DROP TABLE IF EXISTS bare")
        self._connection.execute("CREATE TABLE bare (id int, vector tsvector)")
        with self._connection.cursor() as cursor:
            rows = [
                (number, text)
                for number, text in enumerate(
                    passage for text in texts for passage in passages(text)
                )
            ]
            cursor.executemany("INSERT INTO bare VALUES (%s, to_tsvector('english', %s))", rows)
        self._connection.execute("CREATE INDEX bare_vector ON bare USING gin (vector)")
        self._connection.execute("ANALYZE bare")

    def search(self, question: str, limit: int = 10) -> list[int]:
        """The row numbers of the best passages, from 0."""
        words = " | ".join(f"'{word}'" for word in plain_words(question))
        sql = (
            "SELECT id FROM bare, to_tsquery('english', %s) AS q WHERE vector @@ q "
            "ORDER BY ts_rank(vector, q) DESC LIMIT %s"
        )
        return [row[0] for row in self._connection.execute(sql, (words, limit))] if words else []


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def spread(times: Sequence[float]) -> str:
    """Median and 95th percentile."""
    return f"{statistics.median(times):.2f} / {_95th(times):.2f} ms"


@dataclass(frozen=True, slots=True)
class Raw:
    """The floors of writing and reading one row."""

    insert: Callable[[str], object]
    select: Callable[[str], object]


def raw_sqlite(path: Path) -> Raw:
    """By sqlite3."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for statement in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=NORMAL",
        "CREATE TABLE floor (id TEXT PRIMARY KEY, content TEXT)",
    ):
        connection.execute(statement)
    return _raw(
        lambda sql, values: connection.execute(sql.replace("%s", "?"), values), lambda: None
    )


def raw_postgres(url: str) -> Raw:
    """By psycopg."""
    connection = psycopg.connect(url.replace("+psycopg", ""))
    connection.execute("DROP TABLE IF EXISTS floor")
    connection.execute("CREATE TABLE floor (id TEXT PRIMARY KEY, content TEXT)")
    connection.commit()
    return _raw(connection.execute, connection.commit)


def _raw(execute: Callable[[str, tuple[str, ...]], object], commit: Callable[[], object]) -> Raw:
    def insert(text: str) -> str:
        key = uuid4().hex
        execute("INSERT INTO floor VALUES (%s, %s)", (key, text))
        commit()
        return key

    def select(key: str) -> object:
        found = execute("SELECT * FROM floor WHERE id = %s", (key,))
        return found.fetchall(), commit()  # type: ignore[attr-defined] # a cursor of either driver

    return Raw(insert, select)


def notes(url: str, raw: Raw, table: Table, kind: str) -> None:
    """Short notes: written and read."""
    with MemoryManager(url, user_id="bench") as manager:
        manager.store("open it")
        texts = [
            f"note {number}: the deployment of service {number * 7919} was moved to friday"
            for number in range(300)
        ]
        keys: list[str] = []
        floor = [timed(lambda text=text: raw.insert(text)) for text in texts]  # type: ignore[misc]
        ours = [timed(lambda text=text: keys.append(manager.store(text))) for text in texts]  # type: ignore[misc]
        table.add_row(f"store a note, {kind}", spread(floor), spread(ours), ratio(ours, floor))
        raw_key = str(raw.insert("x"))
        floor = [timed(lambda: raw.select(raw_key)) for _ in keys]
        ours = [timed(lambda key=key: manager.get(key)) for key in keys]  # type: ignore[misc]
        table.add_row(f"get a note, {kind}", spread(floor), spread(ours), ratio(ours, floor))


def ratio(ours: Sequence[float], floor: Sequence[float]) -> str:
    """Ours by the floor, at the median and the 95th percentile."""
    median = statistics.median(ours) / statistics.median(floor)
    return f"{median:.2f} / {_95th(ours) / _95th(floor):.2f}"


def _95th(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def memories(url: str, raw: Raw, texts: Sequence[str], table: Table, kind: str) -> None:
    """Many memories of 20 KB: written one by one."""
    with SQLAlchemyStore(url) as store:
        store.count(BENCH)
        ours = [
            timed(lambda n=n, t=text: store.put(BENCH, memory(n, t)))  # type: ignore[misc]
            for n, text in enumerate(texts)
        ]
    floor = [timed(lambda text=text: raw.insert(text)) for text in texts[:1000]]  # type: ignore[misc]
    table.add_row(f"put 20 KB, {kind}", spread(floor), spread(ours), ratio(ours, floor))
    tenth = max(len(ours) // 10, 1)
    table.add_row(
        f"  the first tenth of {len(texts)}, the last",
        spread(ours[:tenth]),
        spread(ours[-tenth:]),
        ratio(ours[-tenth:], ours[:tenth]),
    )
    table.add_row(
        "  throughput of 1 writer", "", f"{len(texts) * SIZE / sum(ours) / 1000:.1f} MB/s", ""
    )


def writers(url: str, table: Table, kind: str, count: int = 8) -> None:
    """Several threads that write at once."""
    texts = list(made_texts(count * 50))
    with SQLAlchemyStore(url) as store:
        work = [
            lambda n=n: [
                store.put(BENCH, memory(10**6 + n * 50 + i, texts[n * 50 + i])) for i in range(50)
            ]
            for n in range(count)
        ]
        threads = [threading.Thread(target=one) for one in work]
        spent = timed(lambda: _run_all(threads))
    table.add_row(
        f"  throughput of {count} writers, {kind}",
        "",
        f"{len(texts) * SIZE / spent / 1000:.1f} MB/s",
        "",
    )


def _run_all(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def searches(
    url: str, bare: Callable[[str], object], asked: Sequence[str], table: Table, kind: str
) -> None:
    """Questions of many words, and single rare words, in turn with the floor."""
    rare = [max(re.findall(r"\w+", question), key=len) for question in asked]
    with SQLAlchemyStore(url) as store:
        for name, queries in (("search, many words", asked), ("search, one word", rare)):
            for query in queries[:10]:
                bare(query), store.search(BENCH, query, limit=10)
            floor, ours = list[float](), list[float]()
            for query in queries:
                floor.append(timed(lambda query=query: bare(query)))  # type: ignore[misc]
                ours.append(timed(lambda query=query: store.search(BENCH, query, limit=10)))  # type: ignore[misc]
            table.add_row(f"{name}, {kind}", spread(floor), spread(ours), ratio(ours, floor))


def large(url: str, megabytes: int, table: Table, kind: str) -> None:
    """One large text: stored, searched, deleted; the client's peak memory in sizes of the text."""
    unit = next(made_texts(1)).replace("\n", " \n")
    text = (
        "".join(f"{number} {unit}" for number in range(megabytes * 1_000_000 // len(unit)))
        + "\nthe needle-4711 is here"
    )
    item = memory(2 * 10**6, text)
    with SQLAlchemyStore(url) as store:
        store.put(BENCH, memory(3 * 10**6, "another"))
        tracemalloc.start()
        stored = timed(lambda: store.put(BENCH, item))
        found = timed(lambda: store.search(BENCH, "where is needle-4711?"))
        gone = timed(lambda: store.delete(BENCH, item.memory_key))
        peak = tracemalloc.get_traced_memory()[1] / sys.getsizeof(text)
        tracemalloc.stop()
    table.add_row(
        f"{megabytes} MB, {kind} (traced): store, search, delete",
        "",
        f"{stored / 1000:.1f} s, {found:.0f} ms, {gone / 1000:.1f} s",
        f"peak {peak:.2f} x",
    )


def disk(folder: Path, texts: Sequence[str], table: Table) -> None:
    """Bytes of the SQLite file per byte of content."""
    with SQLAlchemyStore(f"sqlite:///{folder / 'disk.db'}") as store:
        for number, text in enumerate(texts):
            store.put(BENCH, memory(number, text))
    content = sum(len(text.encode()) for text in texts)
    size = sum(file.stat().st_size for file in folder.glob("disk.db*"))
    table.add_row(
        "SQLite bytes per byte of content", "1", f"{size / content:.2f}", f"{size / content:.2f}"
    )


def throughput(texts: Sequence[str], table: Table) -> None:
    """The analyzer alone."""
    spent = timed(lambda: [analyze(passage) for text in texts for passage in passages(text)])
    table.add_row("analyzer alone", "", f"{sum(map(len, texts)) / spent / 1000:.1f} MB/s", "")


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said before a call, and the numbers of the passages that hold a value which it then used."""

    question: str
    right: frozenset[int]


def retrieval_set(paths: Sequence[Path]) -> tuple[list[str], list[Asked]]:
    """The passages of all outputs, each once, and what is asked of them."""
    numbers: dict[str, int] = {}
    asked: list[Asked] = []
    for path in paths:
        for recording in read_recordings(path):
            asked += _asked(recording.messages, numbers)
    return list(numbers), asked


def _asked(messages: Sequence[Message], numbers: dict[str, int]) -> Iterator[Asked]:
    outputs, others, here = list[str](), list[str](), list[str]()
    for message in messages:
        if message.role == "tool":
            outputs.append(message.text)
            here += passages(message.text)
            for passage in here:
                numbers.setdefault(passage, len(numbers))
            continue
        said, call = message.text, " ".join(one.arguments for one in message.calls)
        for value in (
            needed_values(call, outputs, [*others, said]) if said and call and outputs else ()
        ):
            right = frozenset(numbers[passage] for passage in here if value in passage)
            if right:
                yield Asked(said, right)
        others.append(f"{said} {call}")


def recall(paths: Sequence[Path], folder: Path, server: str) -> None:
    """How often a right passage is among the first 5 and 10, for each way to search."""
    from rank_bm25 import BM25Okapi  # noqa: PLC0415 - of the group `bench`, for this only

    texts, asked = retrieval_set(paths)
    table = Table(
        "ranking", "recall@5", "recall@10", title=f"{len(asked)} questions, {len(texts)} passages"
    )
    words = [
        [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]
        for text in texts
    ]
    okapi = BM25Okapi(words)
    bare = BareFTS5(":memory:", texts)
    ways: dict[str, Callable[[str], list[int]]] = {
        "FTS5 porter, without stop words": bare.search,
        "rank_bm25": lambda question: _best(okapi.get_scores(plain_words(question))),
    }
    stores = {
        "SQLite": SQLAlchemyStore(f"sqlite:///{folder / 'recall.db'}"),
        "PostgreSQL": SQLAlchemyStore(server),
    }
    scope = Scope("recall")
    for kind, store in stores.items():
        for number, text in enumerate(texts):
            item = MemoryItem(user_id="recall", memory_key=str(number), content=text)
            store.put(scope, item)
        ways[f"memory-context, keyword, {kind}"] = lambda question, store=store: [  # type: ignore[misc]
            int(hit.memory_key) for hit in store.search(scope, question, limit=10, passages=False)
        ]
    for name, way in ways.items():
        found = {one.question: way(one.question) for one in asked}
        shares = [
            statistics.mean(bool(one.right & set(found[one.question][:k])) for one in asked)
            for k in (5, 10)
        ]
        table.add_row(name, *(f"{share:.3f}" for share in shares))
    for store in stores.values():
        store.close()
    console.print(table)


def _best(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda number: -scores[number])[:10]


def costs(options: argparse.Namespace, folder: Path, server: str) -> None:
    """Everything that is timed."""
    made = (
        folder_texts(options.texts, options.memories)
        if options.texts
        else made_texts(options.memories)
    )
    texts = list(made)
    asked = questions(texts)
    table = Table(
        "what (median / p95)",
        "floor",
        "memory-context",
        "ratio",
        title=f"{len(texts)} memories of 20 KB",
    )
    throughput(texts[:300], table)
    disk(folder, texts[:500], table)
    for kind, url, raw in (
        ("SQLite", f"sqlite:///{folder / 'memory.db'}", raw_sqlite(folder / "floor.db")),
        ("PostgreSQL", server, raw_postgres(server)),
    ):
        notes(url, raw, table, kind)
        memories(url, raw, texts, table, kind)
        bare = (
            BareFTS5(folder / "bare.db", texts) if kind == "SQLite" else BareTSVector(server, texts)
        )
        searches(url, bare.search, asked, table, kind)
        writers(url, table, kind)
        large(url, options.large, table, kind)
    table.caption = (
        f"peak of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"
    )
    console.print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description="What storing, reading and searching cost, and how often it is right."
    )
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=50, help="MB of the large text")
    parser.add_argument(
        "--texts",
        type=Path,
        nargs="*",
        default=(),
        help="folders with text files, instead of made texts",
    )
    parser.add_argument("--only-recall", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        if options.recordings:
            recall(options.recordings, Path(name), server)
        if not options.only_recall:
            costs(options, Path(name), server)


if __name__ == "__main__":
    main()
