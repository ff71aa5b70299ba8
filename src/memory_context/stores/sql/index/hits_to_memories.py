"""Search: ranking chunks by keywords and vectors, and finding the memories they belong to that meet the conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.checked_numbers import LARGEST
from memory_context.model.item import Match, MemoryItem, is_secret
from memory_context.sentences_models_read import HIDDEN
from memory_context.stores.sql.index import keyword_index, vector_index
from memory_context.stores.sql.index.keyword_index import ChunkHit, MemoryIds
from memory_context.stores.sql.row_encoding import RECORDS, records
from memory_context.stores.sql.schema import MEMORY_IDS, AnySelect, Conditions, memories
from memory_context.stores.sql.scopes_and_filters_as_sql import checked_last
from memory_context.stores.sql.upserts_locks_and_settings import is_sqlite
from memory_context.text.index.analyzer import held_by, words_found_by
from memory_context.text.index.chunks_and_metadata_cards import card_of, searchable
from memory_context.text.index.keyword_and_vector_scores import fused
from memory_context.text.index.lexemes_looked_up import MAX_QUERY, MAX_TERMS, MAX_TRIED

# The number of chunks that are ranked for each memory that is wanted. If they belong to too few
# memories, it is multiplied by WIDER.
POOL = 6
WIDER = 16
BestChunks: TypeAlias = dict[UUID, ChunkHit]
"""The best chunk of each memory, by the memory's id; best memory first."""
FoundMemory: TypeAlias = tuple[MemoryItem, ChunkHit]
"""A memory, and its best chunk."""
# This costs less than reading what is pending, which is nearly always nothing.
IS_PENDING = sa.text("SELECT 1 FROM agent_memory_pending WHERE user_id = :user LIMIT 1")


class SearchRequest(NamedTuple):
    """A search, ready to be executed.

    Attributes:
        user_id: The user whose memories are searched.
        wanted: The lexemes of the query; none for a semantic search.
        vector: The table with the vectors to compare, and the query's vector; None for a keyword search.
        conditions: The conditions that the memories must meet.
        narrowed: Whether the conditions exclude many memories. If not, it is cheaper to rank all
            memories and check the conditions afterwards.
        limit: The largest number of memories.
        terms: The largest number of lexemes that count.
    """

    user_id: str
    wanted: Sequence[str]
    vector: vector_index.QueryVector | None
    conditions: Conditions
    narrowed: bool
    limit: int
    terms: int = MAX_TERMS


def best_if_indexed(connection: sa.Connection, request: SearchRequest) -> list[FoundMemory] | None:
    """Return the same as `best`; None if memories of the user are still to be indexed."""
    if connection.execute(IS_PENDING, {"user": request.user_id}).first():
        return None
    return best(connection, request)


def best(connection: sa.Connection, request: SearchRequest) -> list[FoundMemory]:
    """Return the memories with the best chunks, each with its best chunk, best first."""
    if request.narrowed:
        hits = _hits_under_conditions(connection, request)
        # A long query is reduced to the words that are rarest in all of the user's memories. If the
        # memories that meet the conditions lack these words, more of the query's words are tried.
        if request.terms < len(request.wanted) and len(hits) < request.limit:
            hits = _hits_under_conditions(connection, request._replace(terms=MAX_TRIED))
        return _with_items(connection, hits, request)
    hits = _hits(connection, request, None)
    found = _with_items(connection, hits, request)
    # Too many of the best memories did not meet the conditions, so rank only those that do.
    if len(found) < min(request.limit, len(hits)):
        return best(connection, request._replace(narrowed=True))
    return found


def _hits_under_conditions(connection: sa.Connection, request: SearchRequest) -> BestChunks:
    """Return the best chunks of the memories that meet the conditions.

    On SQLite it is much cheaper to rank all chunks of a user by keywords than a part of them. So that is tried first
    there, and the conditions are checked afterwards.
    """
    if request.vector is None and is_sqlite(connection):
        hits = _hits(connection, request, None)
        allowed = set(connection.scalars(_restricted(MEMORY_IDS, hits, request)))
        are_enough = len(allowed) >= request.limit
        are_all = len(hits) < request.limit
        if are_enough or are_all:
            for memory_id in hits.keys() - allowed:
                del hits[memory_id]
            return hits
    return _hits(connection, request, MEMORY_IDS.where(*request.conditions))


def _hits(
    connection: sa.Connection, request: SearchRequest, inside: MemoryIds | None
) -> BestChunks:
    """Return the best chunk of each memory, by keywords, by vectors, or by both."""
    by_keywords: BestChunks = {}
    by_vectors: BestChunks = {}
    chance = None
    if request.wanted:
        rank = partial(
            keyword_index.ranked,
            connection,
            request.user_id,
            request.wanted,
            inside,
            terms=request.terms,
        )
        by_keywords = _best_chunks(rank, request.limit)
    if request.vector is not None:
        table, vector = request.vector
        rank = partial(vector_index.nearest, connection, table, request.user_id, vector, inside)
        by_vectors = _best_chunks(rank, request.limit)
        if by_keywords and by_vectors:
            chance = vector_index.chance(connection, table, request.user_id, vector)
    if not chance:
        return by_keywords or by_vectors
    # A memory that was found by both is shown by the chunk in which its words were found.
    hits = by_vectors | by_keywords
    scores = fused(_scores(by_keywords), _scores(by_vectors), chance)
    return {memory_id: hits[memory_id]._replace(score=score) for memory_id, score in scores.items()}


def _scores(hits: BestChunks) -> dict[UUID, float]:
    return {memory_id: hit.score for memory_id, hit in hits.items()}


def _best_chunks(rank: Callable[[int], list[ChunkHit]], limit: int) -> BestChunks:
    """Return the best chunk of each memory, of at least *limit* memories if there are as many."""
    pool = min(POOL * limit, LARGEST)
    while True:
        hits = rank(pool)
        best_of: BestChunks = {}
        for hit in hits:
            best_of.setdefault(hit.memory_id, hit)
        are_all = len(hits) < pool
        if are_all or len(best_of) >= limit:
            return best_of
        # Rank more chunks: all of the best ones may belong to one long memory.
        pool *= WIDER


def _with_items(
    connection: sa.Connection, hits: BestChunks, request: SearchRequest
) -> list[FoundMemory]:
    """Return the best memories that meet the conditions, with their hits.

    Of equally good ones, the one used last comes first.
    """
    # Twice as many as wanted, because ties at the limit are decided by the last use, which is only in the rows.
    limit = request.limit
    chosen = list(hits.values())[: 2 * limit]
    if not chosen:
        return []
    least = chosen[:limit][-1].score
    tied = {hit.memory_id: hit for hit in chosen if hit.score >= least}
    items = records(connection, _restricted(RECORDS, tied, request))

    def rank(item: MemoryItem) -> tuple[float, datetime]:
        # Rounded, because the databases add up floats in different orders: equal scores may differ in the tenth digit.
        return round(tied[item.id].score, 9), item.accessed_at or item.created_at

    items.sort(key=rank, reverse=True)
    return [(item, tied[item.id]) for item in items[:limit]]


def _restricted(statement: AnySelect, ids: Iterable[UUID], request: SearchRequest) -> AnySelect:
    """Narrow *statement* to those of *ids* that meet the conditions."""
    of_user = memories.c.user_id == request.user_id
    is_one = memories.c.id.in_(list(ids))
    return statement.where(of_user, is_one, checked_last(request.conditions))


def with_match(item: MemoryItem, hit: ChunkHit, query: str, wanted: Sequence[str]) -> MemoryItem:
    """Return the memory with a `Match`, which says how it was found. The content of a secret is masked."""
    text = searchable(item)[hit.start : hit.stop]
    held = held_by(text, wanted)
    if len(held) < len(wanted):
        held.update(set(card_of(item)).intersection(wanted))
    match = Match(hit.score, "", None, tuple(words_found_by(query[:MAX_QUERY], held)))
    if is_secret(item):
        return replace(item, content=HIDDEN, match=match)
    if text:
        passage = text.removesuffix("\n")
        lines = (hit.line, hit.line + passage.count("\n"))
        match = replace(match, passage=passage, lines=lines)
    return replace(item, match=match)
