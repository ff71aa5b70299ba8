"""The keyword index: what is indexed, what leaves it, what a query finds; the same on both databases.

A passage is kept as the set of its lexemes. A lexeme begins with its owner's number, so that a query reads nothing of
what other users have. Every function works in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from memory_context.stores.sql.index import fts5, tsvector
from memory_context.stores.sql.schema import memories, owners, passages, pending, settings
from memory_context.text.index import bm25
from memory_context.text.index.analyzer import VERSION
from memory_context.text.index.bm25 import Statistics
from memory_context.text.index.chunks import Chunk

ANALYZER = "analyzer"
Inside: TypeAlias = sa.Select[*tuple[UUID]] | None
_COLUMNS = ("ordinal", "start", "stop", "line", "length")
_STATISTICS = sa.select(owners).where(owners.c.user_id == sa.bindparam("user"))
_NEW_OWNER = {
    "sqlite": sqlite.insert(owners).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(owners).on_conflict_do_nothing(),
}
_COUNT = (
    sa.update(owners)
    .where(owners.c.user_id == sa.bindparam("user"))
    .values(
        passages=owners.c.passages + sa.bindparam("more", type_=sa.BigInteger),
        length=owners.c.length + sa.bindparam("longer", type_=sa.BigInteger),
    )
)
_INDEXES = {"sqlite": fts5, "postgresql": tsvector}
_HIT = [
    sa.column("id", sa.BigInteger),
    sa.column("memory_id", sa.Uuid),
    *(sa.column(name, sa.BigInteger) for name in ("start", "stop", "line")),
    sa.column("score", sa.Float),
]
_SCORED = {
    dialect: index.SCORED.columns(*_HIT).subquery("scored") for dialect, index in _INDEXES.items()
}
_BEST = {
    dialect: index.BEST.columns(*_HIT).subquery("scored") for dialect, index in _INDEXES.items()
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a query found."""

    memory_id: UUID
    start: int
    stop: int
    line: int
    score: float


def version_of(connection: sa.Connection) -> int:
    """The version of the analyzer that the index was made by; 0 if by none."""
    value = connection.execute(
        sa.select(settings.c.value).where(settings.c.name == ANALYZER)
    ).scalar()
    return int(value or 0)


def renew(connection: sa.Connection) -> None:
    """Empty an index of an older analyzer; nothing if another process has done it meanwhile."""
    lock(connection, "SHARE ROW EXCLUSIVE")
    if version_of(connection) < VERSION:
        reset(connection)


def lock(connection: sa.Connection, mode: str = "ROW EXCLUSIVE") -> None:
    """Wait on PostgreSQL until nobody empties the index; with the mode of `reset`, until nobody writes to it.

    Who writes to the index locks this table before any row, so that nobody waits for one who waits for him.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(f"LOCK TABLE {passages.name} IN {mode} MODE"))


def reset(connection: sa.Connection) -> None:
    """Empty the index, and note that every memory is pending."""
    lock(connection, "SHARE ROW EXCLUSIVE")
    if connection.dialect.name == "sqlite":
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages))
    connection.execute(sa.update(owners).values(passages=0, length=0))
    connection.execute(sa.delete(pending))
    everything = sa.select(memories.c.id, memories.c.user_id).where(
        sa.true()
    )  # or SQLite takes ON for a join's
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    noted = insert(pending).from_select(["memory_id", "user_id"], everything)
    connection.execute(
        noted.on_conflict_do_nothing()
    )  # of a large text that was stored a moment ago
    connection.execute(sa.delete(settings).where(settings.c.name == ANALYZER))
    connection.execute(sa.insert(settings).values(name=ANALYZER, value=str(VERSION)))


def statistics_of(connection: sa.Connection, user_id: str) -> Statistics | None:
    """What BM25 must know of a user's index; None where nothing was indexed yet."""
    row = connection.execute(_STATISTICS, {"user": user_id}).one_or_none()
    return Statistics(row.number, row.passages, row.length) if row else None


def add(connection: sa.Connection, user_id: str, memory_id: UUID, found: Sequence[Chunk]) -> None:
    """Index passages of a memory."""
    owner = _owner_of(connection, user_id)
    rows = [
        _row(memory_id, passage) | {"names": bm25.owned(passage.names, owner)} for passage in found
    ]
    _INDEXES[connection.dialect.name].add(connection, rows)
    count(connection, user_id, len(found), sum(passage.length for passage in found))


def _row(memory_id: UUID, passage: Chunk) -> dict[str, Any]:
    return {"memory_id": memory_id} | {name: getattr(passage, name) for name in _COLUMNS}


def _owner_of(connection: sa.Connection, user_id: str) -> int:
    statistics = statistics_of(connection, user_id)
    while statistics is None:
        connection.execute(_NEW_OWNER[connection.dialect.name], {"user_id": user_id})
        statistics = statistics_of(connection, user_id)
    return statistics.owner


def count(connection: sa.Connection, user_id: str, more: int, longer: int) -> None:
    """Note how many passages and lexemes a user has more. It locks the user's row: the last thing of a transaction."""
    connection.execute(_COUNT, {"user": user_id, "more": more, "longer": longer})


def remove(connection: sa.Connection, user_id: str, found: Mapping[int, Chunk]) -> None:
    """Take passages, by the ids of their rows, out of the index."""
    if connection.dialect.name == "sqlite":
        owner = _owner_of(connection, user_id)
        fts5.remove(
            connection, {id_: bm25.owned(passage.names, owner) for id_, passage in found.items()}
        )
    connection.execute(sa.delete(passages).where(passages.c.id.in_(list(found))))
    count(connection, user_id, -len(found), -sum(passage.length for passage in found.values()))


def ranks_all_cheaply(connection: sa.Connection) -> bool:
    """Whether to rank everything a user has is much cheaper than to rank a part of it."""
    index = _INDEXES[connection.dialect.name]
    return index.BEST is not index.SCORED


def ranked(
    connection: sa.Connection,
    user_id: str,
    wanted: Sequence[str],
    inside: Inside,
    limit: int,
    terms: int = bm25.MAX_TERMS,
) -> list[Hit]:
    """The passages that hold most of the lexemes `wanted`, best first.

    Args:
        connection: In a transaction.
        user_id: Whose.
        wanted: The lexemes of the query.
        inside: The memories that count; all of the user's without it.
        limit: How many passages at most.
        terms: How many of the lexemes it goes by at most: the rarest ones among all that the user has.
    """
    statistics = statistics_of(connection, user_id)
    if statistics is None:
        return []
    dialect = connection.dialect.name
    values = _INDEXES[dialect].values_of(connection, statistics, bm25.tried(wanted), terms, limit)
    scored = (_BEST if inside is None else _SCORED)[dialect]
    chosen = (
        sa.select(scored)
        if inside is None
        else sa.select(scored).where(scored.c.memory_id.in_(inside))
    )
    rows = connection.execute(
        chosen.order_by(scored.c.score.desc(), scored.c.id).limit(limit), values
    )
    return [Hit(row.memory_id, row.start, row.stop, row.line, row.score) for row in rows]
