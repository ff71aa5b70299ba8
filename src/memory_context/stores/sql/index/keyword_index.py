"""The keyword index on either database: adding, removing and ranking chunks.

A chunk is kept as the set of its lexemes. In the index, a lexeme begins with its owner's number, so
that a query never reads entries of other users. Every function works in the caller's transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.stores.sql import index_key_of_encrypted_databases as index_key
from memory_context.stores.sql.index import fts5, tsvector
from memory_context.stores.sql.prepared_statements import Prepared, Values
from memory_context.stores.sql.row_encoding import format_of
from memory_context.stores.sql.schema import (
    AnySelect,
    Conditions,
    memories,
    owners,
    passages,
    pending,
)
from memory_context.stores.sql.scopes_and_filters_as_sql import checked_last
from memory_context.stores.sql.upserts_locks_and_settings import (
    insert_into,
    is_postgresql,
    is_sqlite,
    note_setting,
    setting,
)
from memory_context.text.index import bm25, lexemes_looked_up
from memory_context.text.index.analyzer import VERSION
from memory_context.text.index.bm25 import Owner, Statistics
from memory_context.text.index.chunks_and_metadata_cards import Chunk
from memory_context.text.index.term_hits import ChunkPlace, TermHits, best_chunks

ANALYZER = "analyzer"
# The size of a hashed lexeme: with 80 bits, no two words of a database will have the same hash.
HASHED_BYTES = 10
MemoryIds: TypeAlias = AnySelect
_STATISTICS = Prepared(
    sa.select(owners.c.number, owners.c.passages, owners.c.length).filter_by(
        user_id=sa.bindparam("user")
    )
)
_COUNT = Prepared(
    sa.text(
        "UPDATE agent_memory_owners SET passages = passages + :more, length = length + :longer WHERE user_id = :user"
    )
)
# There must be a WHERE: without one, SQLite would parse the ON of ON CONFLICT as that of a join.
_NOTE_ALL_AS_PENDING = """
INSERT INTO agent_memory_pending (user_id, memory_id) SELECT user_id, id FROM agent_memories WHERE true
ON CONFLICT DO NOTHING
"""
_CHUNK_FIELDS = ("ordinal", "start", "stop", "line", "length")
_INDEXES = {"sqlite": fts5, "postgresql": tsvector}


class ChunkHit(NamedTuple):
    """A chunk that a query found. The fields are those of `HIT_COLUMNS` after the id."""

    memory_id: UUID
    start: int
    stop: int
    line: int
    score: float


def version_of(connection: sa.Connection) -> int:
    """Return the version of the analyzer that the index was built with; 0 if it was never built."""
    return int(setting(connection, ANALYZER) or 0)


def renew(connection: sa.Connection) -> None:
    """Empty an index that was built by an older analyzer, unless another process has done it meanwhile."""
    lock(connection)
    if version_of(connection) < VERSION:
        reset(connection)


def hide_words(connection: sa.Connection) -> None:
    """Prepare a database for a codec that hides words: make a key, and empty an index with words in another form.

    Raises:
        EncryptionError: There are memories that are not encrypted, and the codec does not accept them.
    """
    lock(connection)
    if index_key.prepare(connection, format_of(connection).codec):
        reset(connection)


def lock(connection: sa.Connection) -> None:
    """On PostgreSQL, wait until nobody else is writing memories, and let nobody begin until the transaction ends.

    Everybody who writes to the index locks a memory first. So they wait before they have locked or counted anything.
    """
    if is_postgresql(connection):
        # ONLY: the parts of a partitioned table need not be locked as well.
        connection.execute(sa.text(f"LOCK TABLE ONLY {memories.name} IN EXCLUSIVE MODE"))


def reset(connection: sa.Connection) -> None:
    """Empty the index, and note every memory as pending."""
    lock(connection)
    if is_sqlite(connection):
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages))
    connection.execute(sa.update(owners).values(passages=0, length=0))
    connection.execute(sa.delete(pending))
    if format_of(connection).codec.index != "none":
        # A large text that was stored a moment ago is noted already: hence ON CONFLICT.
        connection.exec_driver_sql(_NOTE_ALL_AS_PENDING)
    note_setting(connection, ANALYZER, str(VERSION))


def statistics_of(connection: sa.Connection, user_id: str) -> Statistics | None:
    """Return the statistics of a user's index for BM25; None if nothing was indexed yet."""
    # Lexemes are hashed if the rows are encrypted.
    key = format_of(connection).index_key
    hashed = partial(index_key.keyed_hash, key, size=HASHED_BYTES) if key else None
    for number, chunks, length in _STATISTICS.rows(
        connection, connection.engine, {"user": user_id}
    ):
        return Statistics(Owner(number, hashed), chunks, length)
    return None


def add(
    connection: sa.Connection, user_id: str, chunks: Iterable[tuple[UUID, Sequence[Chunk]]]
) -> None:
    """Index chunks of a user's memories, given by the memories' ids."""
    owner = _owner_of(connection, user_id)
    rows: list[Values] = []
    for memory_id, chunks_of_memory in chunks:
        for chunk in chunks_of_memory:
            # Not `asdict`, which takes 70 times as long.
            row = {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
            names = owner.named(chunk.names)
            rows.append({**row, "user_id": user_id, "memory_id": memory_id, "names": names})
    _INDEXES[connection.dialect.name].add(connection, rows)
    count(connection, user_id, len(rows), sum(row["length"] for row in rows))


def _owner_of(connection: sa.Connection, user_id: str) -> Owner:
    """Return the owner of a user's lexemes. The user gets a number if there is none yet."""
    statistics = statistics_of(connection, user_id)
    # If another process inserts the same user at this moment, its row is found in the second round.
    while not statistics:
        connection.execute(insert_into(owners).values(user_id=user_id).on_conflict_do_nothing())
        statistics = statistics_of(connection, user_id)
    return statistics.owner


def count(connection: sa.Connection, user_id: str, more: int, longer: int) -> None:
    """Add to a user's totals *more* chunks and *longer*, the sum of their lengths. Both may be negative.

    It locks the user's row, for which everybody who indexes for this user waits, so call it last in a
    transaction.
    """
    _COUNT.run(connection, [{"user": user_id, "more": more, "longer": longer}])


def remove(connection: sa.Connection, user_id: str, chunks: Mapping[int, Chunk]) -> None:
    """Remove chunks, given by the ids of their rows, from the index on SQLite."""
    owner = _owner_of(connection, user_id)
    names = {row_id: owner.named(chunk.names) for row_id, chunk in chunks.items()}
    fts5.remove(connection, names)
    mine = sa.delete(passages).filter_by(user_id=user_id)
    connection.execute(mine.where(passages.c.id.in_(list(chunks))))
    length = sum(chunk.length for chunk in chunks.values())
    count(connection, user_id, -len(chunks), -length)


def ranked(
    connection: sa.Connection,
    user_id: str,
    wanted: Sequence[str],
    inside: MemoryIds | None,
    limit: int,
    terms: int = lexemes_looked_up.MAX_TERMS,
) -> list[ChunkHit]:
    """Return the chunks that match the lexemes *wanted* best, by BM25, best first.

    Args:
        connection: A connection in a transaction.
        user_id: The user.
        wanted: The lexemes of the query.
        inside: Selects the ids of the memories to rank; None for all of the user's.
        limit: The largest number of chunks.
        terms: The largest number of lexemes that count. These are the ones that are rarest in all of the user's
            chunks.
    """
    statistics = statistics_of(connection, user_id)
    if not statistics:
        return []
    index = _INDEXES[connection.dialect.name]
    tried = lexemes_looked_up.tried(wanted)
    values = index.values_of(connection, user_id, statistics, tried, terms, limit)
    scored = index.BEST
    statement = sa.select(scored)
    if inside is not None:
        scored = index.SCORED
        statement = sa.select(scored).where(scored.c.memory_id.in_(inside))
    best_first = statement.order_by(scored.c.score.desc(), scored.c.id)
    return [ChunkHit(*hit) for _, *hit in connection.execute(best_first.limit(limit), values)]


def term_hits(
    connection: sa.Connection,
    user_id: str,
    terms: Sequence[Sequence[str]],
    conditions: Conditions,
) -> TermHits:
    """Return where terms occur in the memories that meet the conditions. Each term is given as its lexemes.

    Lexemes that occur in so many chunks that they distinguish nothing are counted, but their chunks are not looked up.
    """
    statistics = statistics_of(connection, user_id)
    lexemes = list(dict.fromkeys(chain.from_iterable(terms)))
    if not statistics or not lexemes:
        return TermHits()
    index = _INDEXES[connection.dialect.name]
    holding = index.holding_of(connection, user_id, statistics, lexemes)
    names: list[tuple[str, str, float]] = []
    readable = lexemes_looked_up.readable(holding, statistics.passages)
    for lexeme in readable:
        for name, (_, often) in zip(statistics.owner.names_of(lexeme), bm25.STEPS, strict=True):
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
    places = sa.select(passages.c.id, passages.c.start, passages.c.stop).filter_by(user_id=user_id)
    rows = connection.execute(places.where(passages.c.id.in_(best)))
    spans = {chunk: span for chunk, *span in rows}
    found = [ChunkPlace(keys[chunk], *spans[chunk]) for chunk in best if chunk in spans]
    return replace(hits, here=hits.here | held.keys(), places=found)
