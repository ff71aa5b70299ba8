"""Vectors of passages: one table for each model and number of dimensions, so that models never mix.

SQLite keeps them as arrays of 32-bit floats, and numpy compares all of a user's with the query: exact, without an
extension that many Pythons cannot load. PostgreSQL has pgvector, an HNSW index, and its iterative scan, without which a
search inside a filter comes back with too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from memory_context.exceptions import MissingDependencyError, StoreError
from memory_context.model.item import MemoryItem
from memory_context.runtime.forks import no_fork
from memory_context.stores.sql.index.keyword_index import Hit, Inside
from memory_context.stores.sql.schema import memories, passages, settings
from memory_context.text.index.embedders import EmbeddingModel, Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SETTING = "vectors:"
TABLE = "agent_memory_vectors_"
MAX_INDEXED = 2000
LOCK = 7_305_419_172_614_030
Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]
_PLACE = (passages.c.memory_id, passages.c.start, passages.c.stop, passages.c.line)


def load_numpy() -> Any:  # noqa: ANN401 - a module
    """numpy, which only vectors need."""
    try:
        with no_fork:
            import numpy  # noqa: ICN001, PLC0415 - an extra; np stands for its types only
    except ImportError as error:
        message = "searching by meaning needs numpy: pip install 'memory-context[vector]'"
        raise MissingDependencyError(message) from error
    return numpy


def as_array(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    """Rows of length 1, so that their products are cosines."""
    numpy = load_numpy()
    rows: NDArray[np.float32] = numpy.asarray(vectors, dtype=numpy.float32)
    if rows.ndim != 2 or not rows.size or not numpy.isfinite(rows).all():
        message = f"an embedder gives one vector of numbers for each text, not an array of shape {rows.shape}"
        raise StoreError(message)
    unit: NDArray[np.float32] = rows / numpy.maximum(
        numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-12
    )
    return unit


def table_of(model: EmbeddingModel, dimensions: int, dialect: str) -> sa.Table:
    """The table of a model's vectors."""
    name = f"{TABLE}{model.name}_{dimensions}"
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column(
            "memory_id",
            sa.Uuid(),
            sa.ForeignKey(memories.c.id, ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("ordinal", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Text, nullable=False, index=True),
        sa.Column("vector", _vector_type(dimensions, dialect), nullable=False),
    )


def _vector_type(dimensions: int, dialect: str) -> Any:  # noqa: ANN401 - pgvector ships no types
    if dialect == "sqlite":
        return sa.LargeBinary()
    try:
        with no_fork:
            from pgvector.sqlalchemy import Vector as PgVector  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = "searching by meaning on PostgreSQL needs pgvector: pip install 'memory-context[vector]'"
        raise MissingDependencyError(message) from error
    return PgVector(dimensions)


def ensure(connection: sa.Connection, table: sa.Table, dimensions: int) -> None:
    """Create a model's table where there is none, with an HNSW index on PostgreSQL (up to 2,000 dimensions)."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
    if sa.inspect(connection).has_table(table.name):
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    table.create(connection)
    if connection.dialect.name == "postgresql" and dimensions <= MAX_INDEXED:
        operators = {"vector": "vector_cosine_ops"}
        index = sa.Index(None, table.c.vector, postgresql_using="hnsw", postgresql_ops=operators)
        index.create(connection)
    connection.execute(sa.insert(settings).values(name=SETTING + table.name, value=""))


def forget(connection: sa.Connection, user_id: str, doomed: sa.Select[*tuple[UUID]]) -> None:
    """Delete the vectors of a user's memories, of every model."""
    for table in tables(connection):
        connection.execute(
            sa.delete(table).where(table.c.user_id == user_id, table.c.memory_id.in_(doomed))
        )


def tables(connection: sa.Connection) -> list[sa.TableClause]:
    """The tables of every model."""
    names = connection.execute(
        sa.select(settings.c.name).where(settings.c.name.startswith(SETTING))
    ).scalars()
    columns = (sa.column("memory_id", sa.Uuid), sa.column("user_id", sa.Text))
    return [sa.table(name.removeprefix(SETTING), *columns) for name in names]


def missing(
    connection: sa.Connection, table: sa.Table | None, memory_id: UUID
) -> list[tuple[int, int, int]]:
    """Ordinal, start and stop of a memory's passages that have no vector of this model."""
    statement = sa.select(passages.c.ordinal, passages.c.start, passages.c.stop).where(
        _lacks(connection, table)
    )
    rows = connection.execute(
        statement.where(passages.c.memory_id == memory_id).order_by(passages.c.ordinal)
    )
    return [(row.ordinal, row.start, row.stop) for row in rows]


def incomplete(connection: sa.Connection, table: sa.Table | None, user_id: str) -> list[UUID]:
    """The user's memories of which a passage has no vector of this model."""
    lacking = sa.exists(
        sa.select(passages.c.id).where(
            passages.c.memory_id == memories.c.id, _lacks(connection, table)
        )
    )
    mine = sa.select(memories.c.id).where(memories.c.user_id == user_id, lacking)
    return list(connection.execute(mine).scalars())


def _lacks(connection: sa.Connection, table: sa.Table | None) -> sa.ColumnElement[bool]:
    if table is None or not sa.inspect(connection).has_table(table.name):
        return sa.true()
    same = (table.c.memory_id == passages.c.memory_id) & (table.c.ordinal == passages.c.ordinal)
    return ~sa.exists(sa.select(table.c.ordinal).where(same))


def add(
    connection: sa.Connection,
    table: sa.Table,
    item: MemoryItem,
    ordinals: Sequence[int],
    vectors: Sequence[Vector],
) -> None:
    """Keep the vectors of a memory's passages, unless the memory is gone, or another process was first."""
    here = sa.select(memories.c.id).where(
        memories.c.user_id == item.user_id,
        memories.c.id == item.id,
        memories.c.content_hash == item.content_hash,
    )
    if connection.execute(here).first() is None:
        return
    rows = as_array(vectors)
    if len(rows) != len(ordinals):
        message = f"the embedder gave {len(rows)} vectors for {len(ordinals)} texts"
        raise StoreError(message)
    binary = connection.dialect.name == "sqlite"
    values = [
        {
            "memory_id": item.id,
            "ordinal": ordinal,
            "user_id": item.user_id,
            "vector": row.tobytes() if binary else row,
        }
        for ordinal, row in zip(ordinals, rows, strict=True)
    ]
    insert = sqlite.insert(table) if binary else postgresql.insert(table)
    connection.execute(insert.on_conflict_do_nothing(), values)


def nearest(
    connection: sa.Connection,
    table: sa.Table,
    user_id: str,
    vector: Vector,
    inside: Inside,
    limit: int,
) -> list[Hit]:
    """The passages whose vectors have the greatest cosine with `vector`, best first."""
    if not sa.inspect(connection).has_table(table.name):
        return []
    query = as_array([vector])[0]
    conditions = [table.c.user_id == user_id]
    if inside is not None:
        conditions.append(table.c.memory_id.in_(inside))
    find = _by_numpy if connection.dialect.name == "sqlite" else _by_pgvector
    found = find(connection, table, query, conditions, limit)
    return _placed(connection, found)


Near: TypeAlias = dict[tuple[UUID, int], float]


def _by_numpy(
    connection: sa.Connection,
    table: sa.Table,
    query: NDArray[np.float32],
    conditions: Conditions,
    limit: int,
) -> Near:
    numpy = load_numpy()
    rows = connection.execute(
        sa.select(table.c.memory_id, table.c.ordinal, table.c.vector).where(*conditions)
    ).all()
    if not rows:
        return {}
    matrix = numpy.frombuffer(b"".join(row.vector for row in rows), dtype=numpy.float32).reshape(
        len(rows), -1
    )
    cosines = matrix @ query
    best: list[int] = numpy.argsort(-cosines, kind="stable")[:limit].tolist()
    return {(rows[place].memory_id, rows[place].ordinal): float(cosines[place]) for place in best}


def _by_pgvector(
    connection: sa.Connection,
    table: sa.Table,
    query: NDArray[np.float32],
    conditions: Conditions,
    limit: int,
) -> Near:
    connection.exec_driver_sql("SET LOCAL hnsw.iterative_scan = strict_order")
    distance = table.c.vector.cosine_distance(query).label("distance")
    statement = sa.select(table.c.memory_id, table.c.ordinal, distance).where(*conditions)
    rows = connection.execute(statement.order_by(distance).limit(limit))
    return {(row.memory_id, row.ordinal): 1.0 - row.distance for row in rows}


def _placed(connection: sa.Connection, found: Near) -> list[Hit]:
    """The hits, with the places of their passages."""
    statement = sa.select(passages.c.ordinal, *_PLACE).where(
        sa.tuple_(passages.c.memory_id, passages.c.ordinal).in_(list(found))
    )
    if not found:
        return []
    places: dict[tuple[UUID, int], tuple[int, int, int]] = {
        (row.memory_id, row.ordinal): (row.start, row.stop, row.line)
        for row in connection.execute(statement)
    }
    return [Hit(key[0], *places[key], cosine) for key, cosine in found.items() if key in places]
