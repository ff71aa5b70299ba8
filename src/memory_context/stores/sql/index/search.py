"""From passages that a query found to the memories that a search answers with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import Match, MemoryItem, is_secret
from memory_context.runtime.prompts import HIDDEN
from memory_context.stores.sql.index import indexing, keyword_index, vector_index
from memory_context.stores.sql.index.keyword_index import Hit, Inside
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.schema import memories
from memory_context.text.index.analyzer import held_by, wanted_by, words_found_by
from memory_context.text.index.bm25 import MAX_TERMS, MAX_TRIED
from memory_context.text.index.chunks import card_of, searchable
from memory_context.text.index.embedders import Vector
from memory_context.text.index.fusion import fused

MAX_QUERY = 100_000
POOL = 6
WIDER = 16
Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]


def wanted_of(query: str) -> list[str]:
    """The lexemes of a query; of a very long one, those of its beginning."""
    return wanted_by(query[:MAX_QUERY])


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for.

    Attributes:
        user_id: Whose memories.
        query: The question.
        wanted: Its lexemes; none for a search by meaning alone.
        vector: Its vector, and the table to compare it with; None for a search by words alone.
        conditions: What the memories must meet.
        narrowed: Whether they leave out many. If not, it is cheaper to look after the ranking whether they do.
        limit: How many memories at most.
        terms: How many of the lexemes are gone by at most.
    """

    user_id: str
    query: str
    wanted: Sequence[str]
    vector: tuple[sa.Table, Vector] | None
    conditions: Conditions
    narrowed: bool
    limit: int
    terms: int = MAX_TERMS


def best_if_indexed(
    connection: sa.Connection, search: Search
) -> list[tuple[MemoryItem, Hit]] | None:
    """See `best`; None if the index lacks something of the user's."""
    return None if indexing.is_pending(connection, search.user_id) else best(connection, search)


def best(connection: sa.Connection, search: Search) -> list[tuple[MemoryItem, Hit]]:
    """The memories with the best passages, each with this passage, best first."""
    hits = _hits_inside(connection, search) if search.narrowed else _hits(connection, search, None)
    found = list(_with_items(connection, hits, search))
    if not search.narrowed and len(found) < min(search.limit, len(hits)):
        return best(connection, replace(search, narrowed=True))
    return found


def _hits_inside(connection: sa.Connection, search: Search) -> dict[UUID, Hit]:
    """The best passages of the memories that meet the conditions.

    The words of a long query that are rare in all that the user has may not be in these: then it goes by more of them.
    """
    hits = _hits_by(connection, search)
    if len(hits) < search.limit and search.terms < len(search.wanted):
        return _hits_by(connection, replace(search, terms=MAX_TRIED))
    return hits


def _hits_by(connection: sa.Connection, search: Search) -> dict[UUID, Hit]:
    """By so many of the words. Where most memories meet the conditions, it is cheaper to rank all, and look then."""
    inside = sa.select(memories.c.id).where(*search.conditions)
    if search.vector is None and keyword_index.ranks_all_cheaply(connection):
        hits = _hits(connection, search, None)
        allowed = set(connection.execute(_of(sa.select(memories.c.id), hits, search)).scalars())
        if len(allowed) >= search.limit or len(hits) < search.limit:
            return {id_: hit for id_, hit in hits.items() if id_ in allowed}
    return _hits(connection, search, inside)


def _hits(connection: sa.Connection, search: Search, inside: Inside) -> dict[UUID, Hit]:
    return _blended(
        _best_passages(partial(_by_words, connection, search, inside), search.limit),
        _best_passages(partial(_by_meaning, connection, search, inside), search.limit),
    )


def _by_words(connection: sa.Connection, search: Search, inside: Inside, pool: int) -> list[Hit]:
    if not search.wanted:
        return []
    return keyword_index.ranked(
        connection, search.user_id, search.wanted, inside, pool, search.terms
    )


def _by_meaning(connection: sa.Connection, search: Search, inside: Inside, pool: int) -> list[Hit]:
    if search.vector is None:
        return []
    table, vector = search.vector
    return vector_index.nearest(connection, table, search.user_id, vector, inside, pool)


def _blended(words: Mapping[UUID, Hit], meaning: Mapping[UUID, Hit]) -> dict[UUID, Hit]:
    """One ranking of two; a memory is shown by the passage that its words were found in, if there were any."""
    if not words or not meaning:
        return dict(words or meaning)
    scores = fused(_scores(words), _scores(meaning))
    return {
        id_: replace(words.get(id_) or meaning[id_], score=score) for id_, score in scores.items()
    }


def _scores(hits: Mapping[UUID, Hit]) -> dict[UUID, float]:
    return {id_: hit.score for id_, hit in hits.items()}


def _best_passages(ranked: Callable[[int], list[Hit]], limit: int) -> dict[UUID, Hit]:
    """The best passage of each memory, from as many passages as it takes to have `limit` memories."""
    pool = POOL * limit
    while True:
        hits = ranked(pool)
        found = _first_of_each(hits)
        if len(found) >= limit or len(hits) < pool:
            return found
        pool *= WIDER


def _first_of_each(hits: Iterable[Hit]) -> dict[UUID, Hit]:
    found: dict[UUID, Hit] = {}
    for hit in hits:
        found.setdefault(hit.memory_id, hit)
    return found


def _with_items(
    connection: sa.Connection, found: Mapping[UUID, Hit], search: Search
) -> Iterator[tuple[MemoryItem, Hit]]:
    """The first memories, equally good ones by their last use."""
    chosen = list(found.values())[: 2 * search.limit]
    hits = {hit.memory_id: hit for hit in chosen if hit.score >= chosen[: search.limit][-1].score}
    rows = connection.execute(_of(RECORDS, hits, search))
    items = sorted(
        map(item_of, rows), key=lambda item: item.accessed_at or item.created_at, reverse=True
    )
    items.sort(key=lambda item: -round(hits[item.id].score, 9))
    return ((item, hits[item.id]) for item in items[: search.limit])


def _of(
    statement: sa.Select[*tuple[Any, ...]], ids: Iterable[UUID], search: Search
) -> sa.Select[*tuple[Any, ...]]:
    """Those of `ids` that meet the conditions; in a form in which SQLite looks up the ids, and not the whole tier."""
    meets = sa.case((sa.and_(sa.true(), *search.conditions), 1), else_=0)
    return statement.where(memories.c.id.in_(list(ids)), meets == 1)


def with_match(item: MemoryItem, hit: Hit, query: str, wanted: Sequence[str]) -> MemoryItem:
    """The memory with what it was found by. The content of a secret is masked."""
    text = searchable(item)[hit.start : hit.stop]
    held = held_by(text, wanted)
    if len(held) < len(wanted):
        held |= set(card_of(item)).intersection(wanted)
    why = tuple(words_found_by(query[:MAX_QUERY], held))
    if is_secret(item):
        return replace(item, content=HIDDEN, match=Match(hit.score, "", None, why))
    if not text:
        return replace(item, match=Match(hit.score, "", None, why))
    lines = (hit.line, hit.line + text.removesuffix("\n").count("\n"))
    return replace(item, match=Match(hit.score, text.removesuffix("\n"), lines, why))
