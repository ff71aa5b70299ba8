"""What is well with an installation and its database, and what is not, and what to do about it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from memory_context.exceptions import MemoryContextError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore, as_store
from memory_context.stores.opening import FILES, database_url
from memory_context.stores.sql import inspection
from memory_context.stores.sql.index.keyword_index import version_of
from memory_context.stores.sql.inspection import look
from memory_context.stores.sql.migrate import HEAD, REVISIONS, revision_of
from memory_context.text.index.analyzer import VERSION
from memory_context.text.tokens.counter import default_counter

if TYPE_CHECKING:
    from memory_context.stores import FileStore, StoreWrapper

DISTRIBUTION = "memory-context"
USERS_LOOKED_AT = 20
ALL = "all"
_NEED = re.compile(r"([A-Za-z0-9._-]+).*;.*extra == ['\"]([a-z0-9-]+)['\"]")
_REINDEX = "memory-context reindex"
_MIGRATE = "memory-context migrate"


class Status(StrEnum):
    """How a check went out: a note is neither good nor bad, a warning costs something, a problem must be solved."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: How it went out.
        found: What was found, in words.
        remedy: What to do; nothing where nothing has to be done.
    """

    name: str
    status: Status
    found: str
    remedy: str = ""


def examined(store: str | None) -> Iterator[Check]:
    """The checks, one after the other: library, token counting, extras, and the database at the URL `store`.

    The database is only read: nothing is created, upgraded or indexed. What cannot be looked at because of an earlier
    problem is left out.
    """
    yield Check(
        "memory-context",
        Status.OK,
        f"{_installed(DISTRIBUTION)}, Python {platform.python_version()}",
    )
    yield _tokens()
    yield from _extras()
    if store:
        yield from _database(store)
    else:
        yield Check(
            "database",
            Status.NOTE,
            "not looked at",
            "name it: --store URL, or MEMORY_CONTEXT_STORE",
        )


def _tokens() -> Check:
    counter = default_counter()
    if counter.name != "estimate":
        return Check("token counting", Status.OK, f"exact, by {counter.name}")
    remedy = "let the machine reach the internet once, or put tiktoken's file of ranks into TIKTOKEN_CACHE_DIR"
    return Check(
        "token counting", Status.WARNING, "estimated: the ranks of o200k_base are not here", remedy
    )


def _extras() -> Iterator[Check]:
    for extra, needs in sorted(
        needs_of_extras(importlib.metadata.requires(DISTRIBUTION) or ()).items()
    ):
        versions = {need: _installed(need) for need in needs}
        lacking = sorted(need for need, version in versions.items() if version is None)
        there = ", ".join(f"{need} {version}" for need, version in versions.items() if version)
        if lacking:
            found = f"without {', '.join(lacking)}" + (f"; there: {there}" if there else "")
            yield Check(
                f"extra {extra}",
                Status.NOTE,
                found,
                f"if you need it: pip install '{DISTRIBUTION}[{extra}]'",
            )
        else:
            yield Check(f"extra {extra}", Status.OK, there)


def needs_of_extras(requirements: Iterable[str]) -> dict[str, list[str]]:
    """The packages of each extra, from the requirements that a distribution declares."""
    found: dict[str, list[str]] = defaultdict(list)
    for match in filter(None, map(_NEED.match, requirements)):
        if match[1] != DISTRIBUTION and match[2] != ALL:
            found[match[2]].append(match[1])
    return dict(found)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _database(url: str) -> Iterator[Check]:
    inside = database_url(url)
    try:
        if inside.startswith(FILES):
            yield from _folder(inside)
        elif path := inspection.missing_file(inside):
            yield Check(
                "database",
                Status.PROBLEM,
                f"there is no file {path!r}",
                f"check the path, or {_MIGRATE}",
            )
            return
        else:
            with SQLAlchemyStore(inside) as store:
                yield Check(
                    "database",
                    Status.OK,
                    f"{look(store, inspection.server)}, {store.url or 'in memory'}",
                )
                yield from _looked_into(store)
    except MemoryContextError as error:
        yield Check(
            "database",
            Status.PROBLEM,
            str(error),
            "check the URL, the server, and the rights of this user",
        )
        return
    if inside != url:
        yield _readable(url)


def _folder(url: str) -> Iterator[Check]:
    """Whether a folder's files are memories."""
    with cast("FileStore", as_store(url)) as store:
        if not store.directory.is_dir():
            yield Check(
                "folder",
                Status.PROBLEM,
                f"there is no folder {str(store.directory)!r}",
                "check the path",
            )
            return
        yield Check("folder", Status.OK, str(store.directory))
        damaged = store.damaged()
    if damaged:
        found = (
            f"{len(damaged):,} are no memories, the first: {damaged[0].path}, {damaged[0].reason}"
        )
        yield Check(
            "files", Status.WARNING, found, "mend or remove them; until then they are skipped"
        )
    else:
        yield Check("files", Status.OK, "all are memories")


def _readable(url: str) -> Check:
    """Whether the stores around a database can read what is in it: the newest memory of some users."""
    try:
        with cast("StoreWrapper", as_store(url)) as store:
            users = store.users()[:USERS_LOOKED_AT]
            for user in users:
                store.query(Scope(user), {"is_active": [True, False]}, limit=1)
    except MemoryContextError as error:
        return Check(
            "contents", Status.PROBLEM, str(error), "give the keys that it was written with"
        )
    return Check(
        "contents",
        Status.OK,
        f"can be read, of each user the newest (users looked at: {len(users)})",
    )


def _looked_into(store: SQLAlchemyStore) -> Iterator[Check]:
    revision = look(store, revision_of)
    yield schema_check(revision, look(store, lambda connection: connection.dialect.name))
    if revision != HEAD:
        return
    whole = _whole(store)
    yield whole
    if whole.status is Status.OK:
        yield analyzer_check(look(store, version_of))
        yield _waiting(look(store, inspection.count_pending))
        yield _index(store)
        yield _over(look(store, inspection.count_expired))


def schema_check(revision: str | None, dialect: str) -> Check:
    """What the revision of a database's schema means for this library."""
    if revision == HEAD:
        return Check("schema", Status.OK, f"revision {revision}")
    if revision is None:
        return Check(
            "schema", Status.NOTE, "none yet", f"nothing: the first use makes it; or {_MIGRATE}"
        )
    if revision not in REVISIONS:
        found = f"revision {revision}, this library knows {HEAD}"
        return Check("schema", Status.PROBLEM, found, "upgrade memory-context")
    found = f"revision {revision}, this library needs {HEAD}"
    if dialect == "sqlite":
        return Check(
            "schema", Status.WARNING, found, f"nothing: the next use upgrades it; or {_MIGRATE}"
        )
    return Check("schema", Status.PROBLEM, found, _MIGRATE)


def _whole(store: SQLAlchemyStore) -> Check:
    """Whether the file is sound, and tables and indexes are there."""
    if damage := look(store, inspection.damage):
        return Check(
            "tables",
            Status.PROBLEM,
            f"the file is damaged: {'; '.join(damage)}",
            "restore a backup",
        )
    if lacking := look(store, inspection.missing):
        remedy = "make them as postgresdb.sql in the project's repository does, or restore a backup"
        return Check("tables", Status.PROBLEM, f"missing: {', '.join(lacking)}", remedy)
    return Check("tables", Status.OK, "all tables and indexes are there")


def analyzer_check(version: int) -> Check:
    """What the version of the analyzer that made an index means."""
    if version == VERSION:
        return Check("analyzer", Status.OK, f"version {version}")
    found = f"the index was made by version {version}, this library has {VERSION}"
    if version > VERSION:
        return Check(
            "analyzer",
            Status.WARNING,
            found,
            "upgrade memory-context, or searches miss what others store",
        )
    return Check("analyzer", Status.WARNING, found, _REINDEX)


def _waiting(count: int) -> Check:
    if not count:
        return Check("pending", Status.OK, "everything is indexed")
    remedy = f"nothing: the next searches of their owners do it; or {_REINDEX}"
    return Check("pending", Status.WARNING, f"{count:,} memories are not indexed yet", remedy)


def _index(store: SQLAlchemyStore) -> Check:
    """Whether the index holds what is stored, and nothing else."""
    wrong = [
        f"{count:,} {what}"
        for count, what in (
            (look(store, inspection.count_unindexed), "memories are neither indexed nor pending"),
            (look(store, inspection.count_orphans), "rows belong to memories that are gone"),
            (len(look(store, inspection.miscounted)), "users have wrong counts"),
            (
                len(look(store, inspection.unfindable)),
                "sampled memories are indexed under other words",
            ),
        )
        if count
    ]
    if wrong:
        return Check("index", Status.PROBLEM, ", ".join(wrong), _REINDEX)
    return Check("index", Status.OK, "it holds what is stored")


def _over(count: int) -> Check:
    if not count:
        return Check("expired", Status.OK, "nothing is over its time")
    return Check(
        "expired",
        Status.NOTE,
        f"{count:,} memories are over their time",
        "memory-context gc deletes them",
    )
