"""The lexeme index on SQLite: a contentless FTS5 table, which lists the chunks that contain each lexeme.

It works with SQLite 3.40, where deleting from a contentless table needs the words that were put in,
so the chunk is analyzed again. The ranking is a sum over the lists, in SQL, because FTS5's own bm25
would count the chunks of all users. A *name* is a lexeme as it is written in the index: with its
owner's number before it, and a mark for how often it occurs (see `text.index.bm25`).
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from itertools import chain

import sqlalchemy as sa

from memory_context.stores.sql.prepared_statements import Prepared, Values, execute
from memory_context.stores.sql.schema import HELD_COLUMNS, HIT_COLUMNS, passages
from memory_context.text.index import bm25
from memory_context.text.index.bm25 import FINE_BITS, LENGTH_BITS, Owner, Statistics, step_of

TABLE = "agent_memory_index"
# All ASCII signs count as parts of a word, because the analyzer has split the text already, and FTS5
# should split it at spaces only. Quotes are left out, because they would end the clause.
_TOKEN_CHARS = string.punctuation.translate({ord("'"): None, ord('"'): None})
# detail=none and columnsize=0: positions and lengths are not stored, as the ranking below does not need them.
_CREATE_INDEX = f"""CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '{_TOKEN_CHARS}'")"""
_CREATE_TERMS = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_terms USING fts5vocab(agent_memory_index, row)"
)
# Looking up the length of each chunk would take most of a query's time. So the low bits of a chunk's
# id hold its length, as a step (`bm25.step_of`), and this is `bm25.length_at` in SQL.
_STEP = f"(i.rowid & {(1 << LENGTH_BITS) - 1})"
_FINE = 1 << FINE_BITS
_MANTISSA = f"({_FINE} + ({_STEP} & {_FINE - 1}))"
_COARSE = f"{_MANTISSA} << (({_STEP} >> {FINE_BITS}) - 1)"
_LENGTH = f"CASE WHEN {_STEP} < {2 * _FINE} THEN {_STEP} ELSE {_COARSE} END"
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'agent_memory_passages'"
_CHUNK = Prepared(
    sa.insert(passages),
    [column.name for column in passages.c if column.name != "lexemes"],
)
_ADD = Prepared(sa.text("INSERT INTO agent_memory_index(rowid, lexemes) VALUES (:id, :names)"))
# A command to FTS5 is an insert into the column with the table's own name.
_REMOVE = sa.text(
    "INSERT INTO agent_memory_index(agent_memory_index, rowid, lexemes)"
    " VALUES ('delete', :id, :names)"
)
_REMOVE_ALL = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('delete-all')"
OPTIMIZE = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('optimize')"
_FREQUENCIES = sa.text(
    "SELECT t.term, t.doc FROM json_each(:names) AS q JOIN agent_memory_terms AS t ON t.term = q.value"
)
# CROSS JOIN fixes SQLite's join order: from each name to its chunks in the index, and from these to
# their rows.
_SCORED = f"""
WITH query AS MATERIALIZED (
    SELECT value ->> 0 AS name, value ->> 1 AS weight, value ->> 2 AS base FROM json_each(:postings)
), scored AS (SELECT i.rowid AS id, sum(q.weight / (q.base + {_LENGTH})) AS score
    FROM query AS q CROSS JOIN agent_memory_index AS i ON i.agent_memory_index MATCH q.name GROUP BY i.rowid%s)
SELECT p.id, p.memory_id, p.start, p.stop, p.line, s.score
FROM scored AS s CROSS JOIN agent_memory_passages AS p ON p.id = s.id AND p.user_id = :user"""  # noqa: S608 - of our own parts
SCORED = sa.text(_SCORED % "").columns(*HIT_COLUMNS).subquery("scored")
# For a search without further conditions: only the rows of the best chunks are read.
BEST = (
    sa.text(_SCORED % " ORDER BY score DESC, id LIMIT :most")
    .columns(*HIT_COLUMNS)
    .subquery("scored")
)

# For each name, the chunks that contain it. Their ids are grouped into one JSON list per memory, because a
# common word of a large text has thousands, and so many result rows would take most of a query's time.
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


def add(connection: sa.Connection, rows: Sequence[Values]) -> None:
    """Insert rows of chunks, each with the ``names`` of its lexemes."""
    found = execute(connection, connection.engine, _LAST_ID).fetchone()
    number = (found[0] if found else 0) >> LENGTH_BITS
    with_ids: list[Values] = []
    for row in rows:
        number += 1
        chunk_id = (number << LENGTH_BITS) + step_of(row["length"])
        with_ids.append({**row, "id": chunk_id})
    _CHUNK.run(connection, with_ids)
    _ADD.run(connection, with_ids)


def remove(connection: sa.Connection, names: Mapping[int, str]) -> None:
    """Remove chunks from the index. *names* maps their ids to exactly the names with which they were added."""
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
) -> Values:
    """Return the parameters of `SCORED`."""
    frequencies = _frequencies(connection, statistics.owner, wanted)
    postings = [
        (quoted(posting.name), posting.weight, posting.base)
        for posting in bm25.postings(frequencies, statistics, terms)
    ]
    return {"postings": json.dumps(postings), "most": limit, "user": user_id}


def holding_of(
    connection: sa.Connection,
    user_id: str,  # noqa: ARG001 - for PostgreSQL only
    statistics: Statistics,
    lexemes: Sequence[str],
) -> dict[str, int]:
    """Return the number of the user's chunks that contain each lexeme."""
    frequencies = _frequencies(connection, statistics.owner, lexemes)
    return {lexeme: sum(counts) for lexeme, counts in frequencies.items() if any(counts)}


def quoted(name: str) -> str:
    """Quote a lexeme's name for a MATCH."""
    return f'"{name}"'


def _frequencies(
    connection: sa.Connection, owner: Owner, wanted: Sequence[str]
) -> dict[str, list[int]]:
    """Return, for each lexeme, the numbers of chunks that contain it under each of its names."""
    names = {lexeme: owner.names_of(lexeme) for lexeme in wanted}
    asked = list(chain.from_iterable(names.values()))
    rows = connection.execute(_FREQUENCIES, {"names": json.dumps(asked)})
    counts = {row.term: row.doc for row in rows}
    return {lexeme: [counts.get(name, 0) for name in named] for lexeme, named in names.items()}
