"""The keyword index on either database: adding, removing and ranking chunks.

A chunk is kept as the set of its lexemes. A lexeme begins with its owner's number, so that a
query reads nothing of what other users have. Every function works in the caller's transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.stores.sql import blind_index_key
from memory_context.stores.sql.dialects import (
    insert_into,
    is_postgresql,
    is_sqlite,
    note_setting,
    setting,
)
from memory_context.stores.sql.filters_as_sql import Conditions, checked_last
from memory_context.stores.sql.index import fts5, tsvector
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.row_encoding import format_of
from memory_context.stores.sql.schema import (
    AnySelect,
    memories,
    owners,
    passages,
    pending,
)
from memory_context.text.index import bm25
from memory_context.text.index.analyzer import VERSION
from memory_context.text.index.bm25 import Owner, Statistics
from memory_context.text.index.chunks import Chunk
from memory_context.text.index.term_hits import ChunkPlace, TermHits, best_chunks

ANALYZER = "analyzer"
# Of a hashed lexeme: 80 bits, so that no two words of a database share one.
HASHED_BYTES = 10
MemoryIds: TypeAlias = AnySelect
_mine = owners.c.user_id == sa.bindparam("user")
_STATISTICS = Prepared(sa.select(owners.c.number, owners.c.passages, owners.c.length).where(_mine))
_more = {
    "passages": owners.c.passages + sa.bindparam("more", type_=sa.BigInteger),
    "length": owners.c.length + sa.bindparam("longer", type_=sa.BigInteger),
}
_COUNT = Prepared(sa.update(owners).where(_mine).values(_more))
_OF_CHUNKS = ("ordinal", "start", "stop", "line", "length")
_INDEXES = {"sqlite": fts5, "postgresql": tsvector}


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk that a query found, as `HIT_COLUMNS` have it behind its id."""

    memory_id: UUID
    start: int
    stop: int
    line: int
    score: float


def is_kept(connection: sa.Connection) -> bool:
    """Return whether words are indexed at all on this connection."""
    return format_of(connection).codec.index != "none"


def version_of(connection: sa.Connection) -> int:
    """Return the version of the analyzer that the index was built with; 0 without one."""
    return int(setting(connection, ANALYZER) or 0)


def renew(connection: sa.Connection) -> None:
    """Empty an index of an older analyzer, unless another process has done it meanwhile."""
    lock(connection, "SHARE ROW EXCLUSIVE")
    if version_of(connection) < VERSION:
        reset(connection)


def hide_words(connection: sa.Connection) -> None:
    """Make a database ready for a codec that hides words: with a key, and without words in another form.

    Raises:
        EncryptionError: There are memories that are not encrypted, and the codec does not accept them.
    """
    lock(connection, "SHARE ROW EXCLUSIVE")
    if blind_index_key.prepare(connection, format_of(connection).codec):
        reset(connection)


def lock(connection: sa.Connection, mode: str = "ROW EXCLUSIVE") -> None:
    """Wait on PostgreSQL until nobody empties the index.

    With the mode of `reset`, wait until nobody writes to it.

    Whoever writes to the index locks this table before any row, so that two processes never wait
    for each other.
    """
    if is_postgresql(connection):
        # The parts of a partitioned table need no locks of their own for it.
        connection.execute(sa.text(f"LOCK TABLE ONLY {passages.name} IN {mode} MODE"))


def reset(connection: sa.Connection) -> None:
    """Empty the index, and note that every memory is pending."""
    lock(connection, "SHARE ROW EXCLUSIVE")
    if is_sqlite(connection):
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages))
    connection.execute(sa.update(owners).values(passages=0, length=0))
    connection.execute(sa.delete(pending))
    # Without a WHERE, SQLite would take the ON of ON CONFLICT for that of a join.
    wanted = sa.true() if is_kept(connection) else sa.false()
    everything = sa.select(memories.c.user_id, memories.c.id).where(wanted)
    noted = insert_into(pending).from_select(["user_id", "memory_id"], everything)
    # A large text that was stored a moment ago has noted itself.
    connection.execute(noted.on_conflict_do_nothing())
    note_setting(connection, ANALYZER, str(VERSION))


def statistics_of(connection: sa.Connection, user_id: str) -> Statistics | None:
    """Return what BM25 must know of a user's index; None where nothing was indexed yet."""
    # Lexemes are hashed where the rows are encrypted.
    key = format_of(connection).index_key
    hashed = None if key is None else partial(blind_index_key.keyed_hash, key, size=HASHED_BYTES)
    for number, chunks, length in _STATISTICS.rows(connection, {"user": user_id}):
        return Statistics(Owner(number, hashed), chunks, length)
    return None


def add(
    connection: sa.Connection, user_id: str, found: Iterable[tuple[UUID, Sequence[Chunk]]]
) -> None:
    """Index chunks of a user's memories, each with its memory's id."""
    owner = _owner_of(connection, user_id)
    rows: list[dict[str, Any]] = []
    for memory_id, passages_found in found:
        for passage in passages_found:
            row = {name: getattr(passage, name) for name in _OF_CHUNKS}
            ids = {"user_id": user_id, "memory_id": memory_id}
            rows.append(row | ids | {"names": owner.named(passage.names)})
    _INDEXES[connection.dialect.name].add(connection, rows)
    count(connection, user_id, len(rows), sum(row["length"] for row in rows))


def _owner_of(connection: sa.Connection, user_id: str) -> Owner:
    """Return who names the lexemes of a user, who gets a number if there is none yet."""
    statistics = statistics_of(connection, user_id)
    # Another process may insert the same user at this moment; then its row is found the second
    # time.
    while statistics is None:
        insert = insert_into(owners).values(user_id=user_id)
        connection.execute(insert.on_conflict_do_nothing())
        statistics = statistics_of(connection, user_id)
    return statistics.owner


def count(connection: sa.Connection, user_id: str, more: int, longer: int) -> None:
    """Note how many chunks and lexemes a user has more.

    It locks the user's row, for which all who index for this user wait: do it last in a
    transaction.
    """
    _COUNT.run(connection, [{"user": user_id, "more": more, "longer": longer}])


def remove(connection: sa.Connection, user_id: str, found: Mapping[int, Chunk]) -> None:
    """Take chunks, by the ids of their rows, out of the index."""
    if is_sqlite(connection):
        owner = _owner_of(connection, user_id)
        names = {row_id: owner.named(passage.names) for row_id, passage in found.items()}
        fts5.remove(connection, names)
    chunks = sa.delete(passages).filter_by(user_id=user_id).where(passages.c.id.in_(list(found)))
    connection.execute(chunks)
    count(connection, user_id, -len(found), -sum(passage.length for passage in found.values()))


def ranks_all_cheaply(connection: sa.Connection) -> bool:
    """Return whether ranking all that a user has is much cheaper than ranking a part of it."""
    index = _INDEXES[connection.dialect.name]
    return index.BEST is not index.SCORED


def ranked(
    connection: sa.Connection,
    user_id: str,
    wanted: Sequence[str],
    inside: MemoryIds | None,
    limit: int,
    terms: int = bm25.MAX_TERMS,
) -> list[ChunkHit]:
    """Return the chunks that hold most of the lexemes *wanted*, best first.

    Args:
        connection: In a transaction.
        user_id: Whose.
        wanted: The lexemes of the query.
        inside: The memories that count; all of the user's without it.
        limit: How many chunks at most.
        terms: How many of the lexemes count at most: the rarest ones among all that the user has.
    """
    statistics = statistics_of(connection, user_id)
    if statistics is None:
        return []
    index = _INDEXES[connection.dialect.name]
    values = index.values_of(connection, user_id, statistics, bm25.tried(wanted), terms, limit)
    scored = index.BEST
    statement = sa.select(scored)
    if inside is not None:
        scored = index.SCORED
        statement = sa.select(scored).where(scored.c.memory_id.in_(inside))
    best = statement.order_by(scored.c.score.desc(), scored.c.id).limit(limit)
    return [ChunkHit(*hit) for _, *hit in connection.execute(best, values)]


def term_hits(
    connection: sa.Connection,
    user_id: str,
    terms: Sequence[Sequence[str]],
    conditions: Conditions,
) -> TermHits:
    """Return where the terms, of some lexemes each, stand in the memories that meet the conditions.

    Lexemes that stand in so many chunks that they tell nothing apart are counted only.
    """
    statistics = statistics_of(connection, user_id)
    lexemes = list(dict.fromkeys(chain.from_iterable(terms)))
    if statistics is None or not lexemes:
        return TermHits()
    index = _INDEXES[connection.dialect.name]
    holding = index.holding_of(connection, user_id, statistics, lexemes)
    names: list[tuple[str, str, float]] = []
    readable = bm25.readable(holding, statistics.passages)
    for lexeme in readable:
        of_lexeme = statistics.owner.names_of(lexeme)
        for name, (_, often) in zip(of_lexeme, bm25.STEPS, strict=True):
            names.append((lexeme, index.quoted(name), often))
    hits = TermHits(statistics.passages, holding, holding.keys() - set(readable))
    if not names:
        return hits
    listed = index.HOLDING
    statement = (
        sa.select(listed.c.lexeme, listed.c.often, memories.c.memory_key, listed.c.chunks)
        .join(memories, memories.c.id == listed.c.memory_id)
        .where(memories.c.user_id == user_id, checked_last(conditions))
    )
    held = defaultdict[str, dict[int, float]](dict)
    keys = dict[int, str]()
    values = {"names": json.dumps(names), "user": user_id}
    for lexeme, often, key, chunks in connection.execute(statement, values):
        held[lexeme].update(dict.fromkeys(chunks, often))
        keys.update(dict.fromkeys(chunks, key))
    best = best_chunks(terms, held, hits.rarity)
    places = sa.select(passages.c.id, passages.c.start, passages.c.stop)
    mine = places.filter_by(user_id=user_id).where(passages.c.id.in_(best))
    spans = {chunk: span for chunk, *span in connection.execute(mine)}
    found = [ChunkPlace(keys[chunk], *spans[chunk]) for chunk in best if chunk in spans]
    return replace(hits, here=hits.here | held.keys(), places=found)
