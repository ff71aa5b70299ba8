"""The lexeme index on PostgreSQL: a `tsvector` in the row of each chunk, and a GIN index.

The `tsvector` cannot be that of a whole text, because it holds at most 1 MB. PostgreSQL's own ranking
ignores how rare a word is, so one statement counts the chunks of each lexeme and weighs them by the
formula of `text.index.bm25`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlalchemy as sa

from memory_context.stores.sql.prepared_statements import Prepared, Values
from memory_context.stores.sql.schema import HELD_COLUMNS, HIT_COLUMNS
from memory_context.text.index import bm25
from memory_context.text.index.bm25 import Owner, Statistics
from memory_context.text.index.lexemes_looked_up import MAX_HELD, MAX_READ, MAX_TERMS, rarest

# A lexeme of a query is common if at least this many chunks contain it; counting stops there.
ENOUGH = 300
# array_to_tsvector takes lexemes as they are; to_tsvector would parse and stem them.
_ADD = Prepared(
    sa.text("""
INSERT INTO agent_memory_passages (user_id, memory_id, ordinal, start, stop, line, length, lexemes) VALUES
    (:user_id, :memory_id, :ordinal, :start, :stop, :line, :length, array_to_tsvector(string_to_array(:names, ' ')))
""")
)
_FREQUENCIES = sa.text("""
SELECT q.lexeme, (
    SELECT count(*) FROM (
        SELECT 1 FROM agent_memory_passages
        WHERE user_id = :user AND lexemes @@ CAST(q.names AS tsquery) LIMIT :enough
    ) AS found
) FROM json_to_recordset(CAST(:wanted AS json)) AS q(lexeme text, names text)
""")
# The formula is that of `bm25.postings`. OFFSET 0 keeps the planner from flattening the subquery,
# so that each name is looked up in the GIN index. The casts keep everything in float8, because a
# literal such as 0.5 would be a NUMERIC, which is slow.
SCORED = (
    sa.text("""
WITH query AS MATERIALIZED (
    SELECT * FROM json_to_recordset(CAST(:wanted AS json)) AS q(term int, often float8, name text)
), hits AS MATERIALIZED (
    SELECT q.term, q.often, p.* FROM query AS q CROSS JOIN LATERAL (
        SELECT id, memory_id, start, stop, line, length FROM agent_memory_passages
        WHERE user_id = :user AND lexemes @@ CAST(q.name AS tsquery) OFFSET 0
    ) AS p
), frequencies AS (
    SELECT term, often, CAST(sum(count(*)) OVER (PARTITION BY term) AS float8) AS holding
    FROM hits GROUP BY term, often
), weights AS (
    SELECT term, often, (often + CAST(:k1_1b AS float8)) * CAST(:scale AS float8) AS base,
        ln(1 + (greatest(CAST(:passages AS float8), holding) - holding + CAST(0.5 AS float8))
            / (holding + CAST(0.5 AS float8)))
        * often * CAST(:most AS float8) * CAST(:scale AS float8) AS weight
    FROM frequencies
)
SELECT id, memory_id, start, stop, line, sum(weight / (base + length)) AS score
FROM hits JOIN weights USING (term, often)
GROUP BY id, memory_id, start, stop, line
""")
    .columns(*HIT_COLUMNS)
    .subquery("scored")
)
# OFFSET 0 for the same reason.
HOLDING = (
    sa.text("""
SELECT q.lexeme, q.often, p.memory_id, json_agg(p.id) AS chunks
FROM (
    SELECT value ->> 0 AS lexeme, value ->> 1 AS name, CAST(value ->> 2 AS float8) AS often
    FROM json_array_elements(CAST(:names AS json))
) AS q
CROSS JOIN LATERAL (
    SELECT id, memory_id FROM agent_memory_passages
    WHERE user_id = :user AND lexemes @@ CAST(q.name AS tsquery) OFFSET 0
) AS p
GROUP BY q.lexeme, q.often, p.memory_id
""")
    .columns(*HELD_COLUMNS)
    .subquery("held")
)
# On PostgreSQL it costs no more to rank a part of the chunks than to rank all of them.
BEST = SCORED


def add(connection: sa.Connection, rows: Sequence[Values]) -> None:
    """Insert rows of chunks, each with the ``names`` of its lexemes."""
    _ADD.run(connection, rows)


def values_of(
    connection: sa.Connection,
    user_id: str,
    statistics: Statistics,
    wanted: Sequence[str],
    terms: int,
    limit: int,  # noqa: ARG001 - for FTS5 only
) -> Values:
    """Return the parameters of `SCORED`. Of a query with more than *terms* lexemes, only the rarest ones count."""
    rows: list[Values] = []
    if len(wanted) > terms:
        enough = ENOUGH
        # A second attempt (see `hits_to_memories.best`) tries more lexemes, and counts further, so that the ones that are
        # cheapest to read can be chosen.
        if terms != MAX_TERMS:
            enough = MAX_READ // MAX_TERMS
        found = _counted(connection, user_id, statistics.owner, wanted, enough)
        wanted = rarest({lexeme: [number] for lexeme, number in found.items()}, terms)
    for term, lexeme in enumerate(wanted):
        for name, (_, often) in zip(statistics.owner.names_of(lexeme), bm25.STEPS, strict=True):
            rows.append({"term": term, "often": often, "name": quoted(name)})
    return {
        "user": user_id,
        "wanted": json.dumps(rows),
        "passages": statistics.passages,
        "scale": bm25.scale(statistics),
        "k1_1b": bm25.K1 * (1 - bm25.B),
        "most": bm25.K1 + 1,
    }


def holding_of(
    connection: sa.Connection, user_id: str, statistics: Statistics, lexemes: Sequence[str]
) -> dict[str, int]:
    """Return the number of the user's chunks that contain each lexeme. Counting stops after `MAX_HELD`."""
    return _counted(connection, user_id, statistics.owner, lexemes, MAX_HELD)


def _counted(
    connection: sa.Connection, user_id: str, owner: Owner, lexemes: Sequence[str], enough: int
) -> dict[str, int]:
    """Return the number of chunks that contain each lexeme. Counting stops after *enough*."""
    rows = [
        {"lexeme": lexeme, "names": " | ".join(map(quoted, owner.names_of(lexeme)))}
        for lexeme in lexemes
    ]
    values = {"user": user_id, "wanted": json.dumps(rows), "enough": enough + 1}
    return {lexeme: count for lexeme, count in connection.execute(_FREQUENCIES, values) if count}


def quoted(name: str) -> str:
    """Quote a lexeme for a tsquery, in which quotes and backslashes are doubled."""
    return "'" + name.replace("\\", "\\\\").replace("'", "''") + "'"
