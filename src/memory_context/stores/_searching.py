"""From passages that a query found to the memories that a search answers with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context._analyzer import analyze, wanted_by, words_of
from memory_context._excerpt import excerpt
from memory_context._items import Match, MemoryItem, is_secret
from memory_context._passages import card_of, searchable
from memory_context._prompts import HIDDEN
from memory_context.stores import _keyword
from memory_context.stores._keyword import Hit
from memory_context.stores._rows import RECORDS, item_of
from memory_context.stores._schema import memories

MAX_QUERY = 100_000
POOL = 20
WIDER = 16
PASSAGE_CHARACTERS = 400
Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]
Wanted: TypeAlias = Sequence[str]


def wanted_of(query: str) -> Wanted:
    """The lexemes of a query; of a very long one, those of its beginning."""
    return wanted_by(query[:MAX_QUERY])


def best(
    connection: sa.Connection, user_id: str, wanted: Wanted, conditions: Conditions, limit: int, *, narrowed: bool
) -> list[tuple[MemoryItem, Hit]]:
    """The memories whose best passages hold most of what is wanted, with these passages, best first.

    Unless the search is `narrowed`, nearly all of a user's memories meet the conditions. Then it is cheaper to look
    after the ranking whether some of the best do not.
    """
    inside = sa.select(memories.c.id).where(*conditions) if narrowed else None
    hits = _best_passages(connection, user_id, wanted, inside, limit)
    found = list(_with_items(connection, hits, conditions, limit))
    if inside is None and len(found) < min(limit, len(hits)):
        return best(connection, user_id, wanted, conditions, limit, narrowed=True)
    return found


def _best_passages(
    connection: sa.Connection, user_id: str, wanted: Wanted, inside: _keyword.Inside, limit: int
) -> dict[UUID, Hit]:
    """The best passage of each memory, from as many passages as it takes to have `limit` memories."""
    pool = POOL * limit
    while True:
        hits = _keyword.ranked(connection, user_id, wanted, inside, pool)
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
    connection: sa.Connection, found: Mapping[UUID, Hit], conditions: Conditions, limit: int
) -> Iterator[tuple[MemoryItem, Hit]]:
    """The first memories, equally good ones by their last use."""
    chosen = list(found.values())[: 2 * limit]
    hits = {hit.memory_id: hit for hit in chosen if hit.score >= chosen[:limit][-1].score}
    rows = connection.execute(RECORDS.where(memories.c.id.in_(list(hits)), *conditions))
    items = sorted(map(item_of, rows), key=lambda item: item.accessed_at or item.created_at, reverse=True)
    items.sort(key=lambda item: -round(hits[item.id].score, 9))
    return ((item, hits[item.id]) for item in items[:limit])


def with_match(item: MemoryItem, hit: Hit, query: str, wanted: Wanted) -> MemoryItem:
    """The memory with what it was found by. The content of a secret is masked."""
    text = searchable(item)[hit.start : hit.stop]
    held = {*analyze(text).counts, *card_of(item)}.intersection(wanted)
    why = tuple(words_of(query[:MAX_QUERY], held))
    if is_secret(item):
        return replace(item, content=HIDDEN, match=Match(hit.score, "", None, why))
    if not text:
        return replace(item, match=Match(hit.score, "", None, why))
    shown = excerpt(text, query, PASSAGE_CHARACTERS, len).within(hit.line, item.line_count)
    lines = (hit.line, hit.line + text.removesuffix("\n").count("\n"))
    return replace(item, match=Match(hit.score, shown.render(), lines, why))
