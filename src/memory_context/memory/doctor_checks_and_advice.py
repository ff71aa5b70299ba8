"""Check an installation and its database: what is in order, what is not, and what to do about it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from memory_context.exceptions import MemoryContextError
from memory_context.memory.filters_from_keywords import ANY_STATE
from memory_context.model.scope import Scope
from memory_context.runtime.version import __version__
from memory_context.stores import SQLAlchemyStore, as_store
from memory_context.stores.sql import doctor_looks_into_a_database
from memory_context.stores.sql.index.keyword_index import version_of
from memory_context.stores.sql.migrate import HEAD, REVISIONS, is_foreign, revision_of
from memory_context.stores.sql.transactions import Database
from memory_context.stores.store_of_a_url import FILES, database_url
from memory_context.text.index.analyzer import VERSION
from memory_context.text.tokens.counter import default_counter

if TYPE_CHECKING:
    from memory_context.stores import FileStore

# Each look at a user decrypts one record: enough to notice a wrong key, and quick with thousands of users.
USERS_LOOKED_AT = 20
_REINDEX = "memory-context reindex"
_MIGRATE = "memory-context migrate"


Status: TypeAlias = Literal["ok", "note", "warning", "problem"]
"""The outcome of a check. A note is neither good nor bad; a problem must be solved."""


class Check(NamedTuple):
    """One thing that was checked.

    Attributes:
        name: What was checked.
        found: What was found, in words.
        status: The outcome.
        remedy: What to do; "" where nothing has to be done.
    """

    name: str
    found: str
    status: Status = "ok"
    remedy: str = ""


def examined(store: str | None) -> Iterator[Check]:
    """Yield the checks of the library, of token counting, and of the database at the URL `store`.

    The database is only read: nothing is created, upgraded or indexed. Checks that an earlier
    problem makes impossible are left out.
    """
    yield Check("memory-context", f"{__version__}, Python {platform.python_version()}")
    yield _token_counting()
    if store:
        yield from _database(store)
    else:
        yield Check(
            "database", "not looked at", "note", "name it: --store URL, or MEMORY_CONTEXT_STORE"
        )


def _token_counting() -> Check:
    counter = default_counter()
    if counter.name != "estimate":
        return Check("token counting", f"exact, by {counter.name}")
    found = "estimated: the ranks of o200k_base are missing"
    remedy = (
        "pip install 'memory-context[exact]', let the machine reach the internet once, or put tiktoken's file of ranks "
        "into TIKTOKEN_CACHE_DIR"
    )
    return Check("token counting", found, "warning", remedy)


def _database(url: str) -> Iterator[Check]:
    innermost_url = database_url(url)
    has_our_schema = True
    try:
        if innermost_url.startswith(FILES):
            yield from _folder(innermost_url)
        # Before it is opened: SQLite would create the file.
        elif path := doctor_looks_into_a_database.missing_file(innermost_url):
            remedy = f"check the path, or {_MIGRATE}"
            yield Check("database", f"there is no file {path!r}", "problem", remedy)
            return
        else:
            with cast("SQLAlchemyStore", as_store(url.removeprefix("redacted+"))) as store:
                server = store.database.run_as_it_is(doctor_looks_into_a_database.server)
                found = f"{server}, {store.url or 'in memory'}"
                yield Check("database", found)
                for check in _schema_and_index(store.database):
                    if check.name == "schema" and check.status == "problem":
                        has_our_schema = False
                    yield check
    except MemoryContextError as error:
        remedy = "check the URL, the server, the rights of this user, and the space on the disk"
        yield Check("database", str(error), "problem", remedy)
        return
    if has_our_schema and innermost_url != url:
        yield _encoded_contents(url)


def _folder(url: str) -> Iterator[Check]:
    with cast("FileStore", as_store(url)) as store:
        folder = str(store.directory)
        if not store.directory.is_dir():
            yield Check("folder", f"there is no folder {folder!r}", "problem", "check the path")
            return
        yield Check("folder", folder)
        damaged = store.damaged()
    if not damaged:
        yield Check("files", "all are memories")
        return
    found = f"{len(damaged):,} are not memories, the first: {damaged[0].path}, {damaged[0].reason}"
    remedy = "repair or remove them; until then they are skipped"
    yield Check("files", found, "warning", remedy)


def _encoded_contents(url: str) -> Check:
    """Check with the newest memory of some users that the codec named in a URL can read what is stored."""
    try:
        with cast("SQLAlchemyStore", as_store(url)) as store:
            users = store.users()[:USERS_LOOKED_AT]
            for user in users:
                store.query(Scope(user), ANY_STATE, limit=1)
    except MemoryContextError as error:
        return Check("contents", str(error), "problem", "give the keys that it was written with")
    found = f"the newest of each user can be read (users looked at: {len(users)})"
    return Check("contents", found)


def _schema_and_index(database: Database) -> Iterator[Check]:
    look = database.run_as_it_is
    if look(is_foreign):
        found = "another program has made the table agent_memories"
        yield Check("schema", found, "problem", "see docs/howto/existing-tables.md")
        return
    revision = look(revision_of)
    yield _schema(revision, database.dialect)
    if revision != HEAD:
        return
    database.read_format()
    tables = _tables(database)
    yield tables
    if tables.status == "ok":
        yield _analyzer(look(version_of))
        yield _pending(look(doctor_looks_into_a_database.count_pending))
        yield _index(database)


def _schema(revision: str | None, dialect: str) -> Check:
    if revision == HEAD:
        return Check("schema", f"revision {revision}")
    if revision is None:
        remedy = f"nothing: the first use creates it; or {_MIGRATE}"
        return Check("schema", "none yet", "note", remedy)
    if revision not in REVISIONS:
        found = f"revision {revision}, this library knows {HEAD}"
        return Check("schema", found, "problem", "upgrade memory-context")
    found = f"revision {revision}, this library needs {HEAD}"
    if dialect == "sqlite":
        remedy = f"nothing: the next use upgrades it; or {_MIGRATE}"
        return Check("schema", found, "warning", remedy)
    return Check("schema", found, "problem", _MIGRATE)


def _tables(database: Database) -> Check:
    look = database.run_as_it_is
    if damage := look(doctor_looks_into_a_database.damage):
        found = f"the file is damaged: {'; '.join(damage)}"
        return Check("tables", found, "problem", "restore a backup")
    if missing := look(doctor_looks_into_a_database.missing):
        remedy = (
            "create them as postgresdb.sql in the project's repository does, or restore a backup"
        )
        return Check("tables", f"missing: {', '.join(missing)}", "problem", remedy)
    return Check("tables", "all tables and indexes are there")


def _analyzer(version: int) -> Check:
    if version == VERSION:
        return Check("analyzer", f"version {version}")
    found = f"the index was made by version {version}, this library has {VERSION}"
    remedy = _REINDEX
    if version > VERSION:
        remedy = "upgrade memory-context, or searches miss what others store"
    return Check("analyzer", found, "warning", remedy)


def _pending(count: int) -> Check:
    if not count:
        return Check("pending", "everything is indexed")
    found = f"memories not indexed yet: {count:,}"
    remedy = f"nothing: their owners' next searches index them; or {_REINDEX}"
    return Check("pending", found, "warning", remedy)


def _index(database: Database) -> Check:
    """Check that the index covers what is stored, and nothing else."""
    counts = database.run_as_it_is(doctor_looks_into_a_database.faults)
    faults = [f"{fault}: {count:,}" for fault, count in counts.items() if count]
    if faults:
        return Check("index", ", ".join(faults), "problem", _REINDEX)
    return Check("index", "it holds what is stored")
