"""The lexemes on SQLite: a contentless FTS5 table of the chunks that each lexeme stands in.

SQLite 3.40 must do, which cannot delete from a contentless table without being told again what was
put in: the analyzer says it a second time. Ranking is a sum over these lists in SQL; FTS5's own
bm25 would count the chunks of all users.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from memory_context.stores.sql.prepared_statements import Prepared, execute
from memory_context.stores.sql.schema import HELD_COLUMNS, HIT_COLUMNS, passages
from memory_context.text.index import bm25
from memory_context.text.index.bm25 import FINE_BITS, LENGTH_BITS, Owner, Statistics, step_of

TABLE = "agent_memory_index"
# All ASCII signs belong to a word: the analyzer has split the text, and FTS5 should split at spaces
# only. Quotes are left out, because they would end the clause.
_TOKEN_CHARS = "".join(
    char for char in map(chr, range(33, 127)) if not char.isalnum() and char not in "'\""
)
# detail=none and columnsize=0: no positions and no lengths, which the ranking below does not need.
_CREATE_INDEX = f"""CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '{_TOKEN_CHARS}'")"""
_CREATE_TERMS = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_terms USING fts5vocab(agent_memory_index, row)"
)
# Looking up the length of each chunk would take most of a query's time. So a chunk's id carries
# it in its low bits, as a step (`bm25.step_of`), and this is `bm25.length_at` in SQL.
_STEP = f"(i.rowid & {(1 << LENGTH_BITS) - 1})"
_FINE = 1 << FINE_BITS
_COARSE = f"({_FINE} + ({_STEP} & {_FINE - 1})) << (({_STEP} >> {FINE_BITS}) - 1)"
_LENGTH = f"CASE WHEN {_STEP} < {2 * _FINE} THEN {_STEP} ELSE {_COARSE} END"
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'agent_memory_passages'"
_CHUNK = Prepared(
    sa.insert(passages),
    [column.name for column in passages.c if column.name != "lexemes"],
)
_ADD = Prepared(sa.text("INSERT INTO agent_memory_index(rowid, lexemes) VALUES (:id, :names)"))
# FTS5's commands are inserts into the column that is named like the table.
_REMOVE = sa.text(
    "INSERT INTO agent_memory_index(agent_memory_index, rowid, lexemes)"
    " VALUES ('delete', :id, :names)"
)
_REMOVE_ALL = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('delete-all')"
OPTIMIZE = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('optimize')"
_FREQUENCIES = sa.text(
    "SELECT q.key, t.doc FROM json_each(:names) AS q JOIN agent_memory_terms AS t ON t.term = q.value"
)
# CROSS JOIN keeps SQLite from any other order: from a name to its chunks in the index, and to
# their rows.
_SCORED = f"""
WITH query AS MATERIALIZED (
    SELECT value ->> 0 AS name, value ->> 1 AS weight, value ->> 2 AS base FROM json_each(:postings)
), scored AS (SELECT i.rowid AS id, sum(q.weight / (q.base + {_LENGTH})) AS score
    FROM query AS q CROSS JOIN agent_memory_index AS i ON i.agent_memory_index MATCH q.name GROUP BY i.rowid%s)
SELECT p.id, p.memory_id, p.start, p.stop, p.line, s.score
FROM scored AS s CROSS JOIN agent_memory_passages AS p ON p.id = s.id AND p.user_id = :user"""  # noqa: S608 - of our own parts
SCORED = sa.text(_SCORED % "").columns(*HIT_COLUMNS).subquery("scored")
# Where nothing is filtered afterwards, only the best are looked up.
BEST = (
    sa.text(_SCORED % " ORDER BY score DESC, id LIMIT :most")
    .columns(*HIT_COLUMNS)
    .subquery("scored")
)

# Each name is looked up by itself, and leads to the chunks that hold it. A common word of a large text
# has thousands: as many rows of a result would cost most of a question's time.
HOLDING = (
    sa.text("""
SELECT q.value ->> 0 AS lexeme, q.value ->> 2 AS often, p.memory_id, json_group_array(p.id) AS chunks
FROM json_each(:names) AS q
CROSS JOIN agent_memory_index AS i ON i.agent_memory_index MATCH (q.value ->> 1)
CROSS JOIN agent_memory_passages AS p ON p.id = i.rowid AND p.user_id = :user
GROUP BY q.key, p.memory_id
""")
    .columns(*HELD_COLUMNS)
    .subquery("held")
)


def create(connection: sa.Connection) -> None:
    """Create the virtual tables, which `metadata` cannot describe."""
    connection.exec_driver_sql(_CREATE_INDEX)
    connection.exec_driver_sql(_CREATE_TERMS)


def add(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows of chunks with their ``names``."""
    found = execute(connection, _LAST_ID).fetchone()
    number = (found[0] if found else 0) >> LENGTH_BITS
    placed: list[dict[str, Any]] = []
    for row in rows:
        number += 1
        placed.append(row | {"id": (number << LENGTH_BITS) + step_of(row["length"])})
    _CHUNK.run(connection, placed)
    _ADD.run(connection, placed)


def remove(connection: sa.Connection, names: Mapping[int, str]) -> None:
    """Take the chunks with these ids out; *names* must be what they were put in with."""
    rows = [{"id": passage_id, "names": text} for passage_id, text in names.items()]
    connection.execute(_REMOVE, rows)


def remove_all(connection: sa.Connection) -> None:
    """Empty the index."""
    connection.exec_driver_sql(_REMOVE_ALL)


def values_of(
    connection: sa.Connection,
    user_id: str,
    statistics: Statistics,
    wanted: Sequence[str],
    terms: int,
    limit: int,
) -> dict[str, Any]:
    """Return the parameters of `SCORED`."""
    frequencies = _frequencies(connection, statistics.owner, wanted)
    postings = [
        (f'"{posting.name}"', posting.weight, posting.base)
        for posting in bm25.postings(frequencies, statistics, terms)
    ]
    return {"postings": json.dumps(postings), "most": limit, "user": user_id}


def holding_of(
    connection: sa.Connection,
    user_id: str,  # noqa: ARG001 - for PostgreSQL only
    statistics: Statistics,
    lexemes: Sequence[str],
) -> dict[str, int]:
    """Return how many of the user's chunks hold each lexeme."""
    frequencies = _frequencies(connection, statistics.owner, lexemes)
    return {lexeme: sum(counts) for lexeme, counts in frequencies.items() if any(counts)}


def quoted(name: str) -> str:
    """Quote a lexeme's name for a MATCH."""
    return f'"{name}"'


def _frequencies(
    connection: sa.Connection, owner: Owner, wanted: Sequence[str]
) -> dict[str, list[int]]:
    """Return for each lexeme how many chunks hold it under each of its names."""
    names = [name for lexeme in wanted for name in owner.names_of(lexeme)]
    counts = [0] * len(names)
    for row in connection.execute(_FREQUENCIES, {"names": json.dumps(names)}):
        counts[row.key] = row.doc
    # Names stand in the order of the lexemes, each with all its steps.
    steps = len(bm25.STEPS)
    frequencies: dict[str, list[int]] = {}
    for position, lexeme in enumerate(wanted):
        frequencies[lexeme] = counts[position * steps : (position + 1) * steps]
    return frequencies
