"""The lexemes on SQLite: a contentless table of FTS5 that holds for each lexeme the passages it stands in, no more.

SQLite 3.40 must do, which cannot delete from such a table without being told again what was put in: the analyzer says
it a second time. Ranking is a sum over these lists in SQL; FTS5's own bm25 would count the passages of all users.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from memory_context.stores.sql.schema import passages
from memory_context.text.index import bm25
from memory_context.text.index.bm25 import FINE_BITS, LENGTH_BITS, Statistics, step_of

TABLE = "agent_memory_index"
_JOINING = "".join(
    char for char in map(chr, range(33, 127)) if not char.isalnum() and char not in "'\""
)
_CREATE = (
    f"""CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '{_JOINING}'")""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_terms USING fts5vocab(agent_memory_index, row)",
)
# To look up the length of each passage would take most of a query's time. So a passage's number carries it.
_STEP = f"(i.rowid & {(1 << LENGTH_BITS) - 1})"
_FINE = 1 << FINE_BITS
_COARSE = f"({_FINE} + ({_STEP} & {_FINE - 1})) << (({_STEP} >> {FINE_BITS}) - 1)"
_LENGTH = f"CASE WHEN {_STEP} < {2 * _FINE} THEN {_STEP} ELSE {_COARSE} END"
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'agent_memory_passages'"
_ADD = sa.text("INSERT INTO agent_memory_index(rowid, lexemes) VALUES (:id, :names)")
_REMOVE = sa.text(
    "INSERT INTO agent_memory_index(agent_memory_index, rowid, lexemes) VALUES ('delete', :id, :names)"
)
_REMOVE_ALL = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('delete-all')"
_HOLDS = sa.text(
    "SELECT 1 FROM agent_memory_index WHERE agent_memory_index MATCH :quoted AND rowid = :id"
)
_FREQUENCIES = sa.text(
    "SELECT q.key, t.doc FROM json_each(:names) AS q JOIN agent_memory_terms AS t ON t.term = q.value"
)
# CROSS JOIN keeps SQLite from any other order: from a name to its passages in the index, and to their rows.
_QUERY = """
WITH query AS MATERIALIZED (
    SELECT value ->> 0 AS name, value ->> 1 AS weight, value ->> 2 AS base FROM json_each(:postings)
)"""
_SUM = """SELECT i.rowid AS id, sum(q.weight / (q.base + {length})) AS score
    FROM query AS q CROSS JOIN agent_memory_index AS i ON i.agent_memory_index MATCH q.name GROUP BY i.rowid"""
_PLACED = """
SELECT p.id, p.memory_id, p.start, p.stop, p.line, s.score
FROM scored AS s CROSS JOIN agent_memory_passages AS p ON p.id = s.id"""
_SCORED = _QUERY + ", scored AS ({sum}{most})" + _PLACED
SCORED = sa.text(_SCORED.format(sum=_SUM.format(length=_LENGTH), most=""))
BEST = sa.text(
    _SCORED.format(sum=_SUM.format(length=_LENGTH), most=" ORDER BY score DESC, id LIMIT :most")
)


def create(connection: sa.Connection) -> None:
    """Create the virtual tables, which `metadata` cannot describe."""
    for statement in _CREATE:
        connection.exec_driver_sql(statement)


def add(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows of passages with their ``names``."""
    first = ((connection.exec_driver_sql(_LAST_ID).scalar() or 0) >> LENGTH_BITS) + 1
    named = [
        row | {"id": (first + place << LENGTH_BITS) + step_of(row["length"])}
        for place, row in enumerate(rows)
    ]
    columns = [name for name in named[0] if name != "names"]
    connection.execute(
        sa.insert(passages), [{name: row[name] for name in columns} for row in named]
    )
    connection.execute(_ADD, [{"id": row["id"], "names": row["names"]} for row in named])


def remove(connection: sa.Connection, names: Mapping[int, str]) -> None:
    """Take the passages with these ids out; `names` must be what they were put in with."""
    connection.execute(_REMOVE, [{"id": id_, "names": text} for id_, text in names.items()])


def holds(connection: sa.Connection, passage: int, name: str) -> bool:
    """Whether the index leads from a lexeme's name to the passage."""
    return connection.execute(_HOLDS, {"quoted": f'"{name}"', "id": passage}).first() is not None


def remove_all(connection: sa.Connection) -> None:
    """Empty the index."""
    connection.exec_driver_sql(_REMOVE_ALL)


def values_of(
    connection: sa.Connection, statistics: Statistics, wanted: Sequence[str], terms: int, limit: int
) -> dict[str, Any]:
    """What `SCORED` takes."""
    postings = bm25.postings(_frequencies(connection, statistics.owner, wanted), statistics, terms)
    values = [(f'"{posting.name}"', posting.weight, posting.base) for posting in postings]
    return {"postings": json.dumps(values), "most": limit}


def _frequencies(
    connection: sa.Connection, owner: int, wanted: Sequence[str]
) -> dict[str, list[int]]:
    """For each lexeme, how many passages hold it under each of its names."""
    names = [name for lexeme in wanted for name in bm25.names_of(lexeme, owner)]
    rows = connection.execute(_FREQUENCIES, {"names": json.dumps(names)})
    holding: dict[int, int] = {row.key: row.doc for row in rows}
    steps = len(bm25.STEPS)
    return {
        lexeme: [holding.get(place * steps + step, 0) for step in range(steps)]
        for place, lexeme in enumerate(wanted)
    }
