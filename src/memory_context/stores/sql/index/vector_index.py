"""Vectors of chunks, in one table for each model and number of dimensions, so that models never mix.

On SQLite they are arrays of 32-bit floats, and numpy compares the query with all of the user's. That
is exact, and needs no extension, which many builds of Python cannot load. On PostgreSQL it is pgvector
with an HNSW index. Vectors that are compared by cosine are normalized; others are kept as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import MissingDependencyError, StoreError
from memory_context.model.batches import slices_of
from memory_context.model.item import MemoryItem
from memory_context.stores.sql import hash_partitioned_tables
from memory_context.stores.sql.index.keyword_index import ChunkHit, MemoryIds
from memory_context.stores.sql.schema import (
    MEMORY_IDS,
    AnyRow,
    Condition,
    count_rows,
    memories,
    passages,
    settings,
    this_memory,
)
from memory_context.stores.sql.upserts_locks_and_settings import (
    advisory_lock,
    insert_into,
    is_postgresql,
    is_sqlite,
)
from memory_context.text.index.embedders import Distance, EmbeddingModel, Vector
from memory_context.text.index.keyword_and_vector_scores import Chance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SETTING = "vectors:"
TABLE = "agent_memory_vectors_"
MAX_INDEXED = 2000
"""The largest number of dimensions for pgvector's HNSW index."""
# This many of a user's vectors are enough to estimate how similar a vector is by chance.
SAMPLE = 1000
# The number of chunks that are looked up in one statement. Each takes two parameters, of which SQLite
# allows 32,766 in a statement, and PostgreSQL 65,535.
ASKED_TOGETHER = 10_000
# An arbitrary number, as in `migrate`.
LOCK = 7_305_419_172_614_030
Similarities: TypeAlias = dict[tuple[UUID, int], float]
"""The similarities of chunks, by memory and ordinal, best first."""
QueryVector: TypeAlias = "tuple[sa.Table, NDArray[np.float32]]"
"""The vector of a query, and the table of the vectors to compare it with."""


class Measure(NamedTuple):
    """How pgvector compares vectors.

    Attributes:
        distance: The name of the distance function, which is smaller for more similar vectors.
        operators: The operator class for an index on it.
        most: The similarity of vectors at distance 0: similarity is *most* minus distance.
    """

    distance: str
    operators: str
    most: float


MEASURES = {
    "cosine": Measure("cosine_distance", "vector_cosine_ops", 1.0),
    "l2": Measure("l2_distance", "vector_l2_ops", 0.0),
    "inner_product": Measure("max_inner_product", "vector_ip_ops", 0.0),
}


def load_numpy() -> Any:  # noqa: ANN401 - a module
    """Import and return numpy, which only vectors need.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import numpy  # noqa: ICN001, PLC0415 - an extra; np stands for its types only
    except ImportError as error:
        raise MissingDependencyError(
            "semantic search needs numpy: pip install 'memory-context[vector]'"
        ) from error
    return numpy


def as_array(
    vectors: Sequence[Vector | NDArray[np.float32]], distance: Distance = "cosine"
) -> NDArray[np.float32]:
    """Return *vectors* as the rows of an array. For cosines they are normalized, so that cosines are dot products.

    Raises:
        StoreError: They are not vectors of finite numbers with equal lengths.
    """
    numpy = load_numpy()
    try:
        rows: NDArray[np.float32] = numpy.asarray(vectors, dtype=numpy.float32)
    except (TypeError, ValueError):  # they are texts, or lists of different lengths
        rows = numpy.empty(0)
    # Checked, because an embedder is the user's own code, and a NaN would make every comparison false.
    if rows.ndim != 2 or not rows.size or not numpy.isfinite(rows).all():
        raise StoreError(
            f"an embedder must return one vector of finite numbers for each text, not an array of shape {rows.shape}"
        )
    if distance != "cosine":
        return rows
    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = rows / numpy.maximum(lengths, 1e-12)  # a zero vector stays zero
    return unit


def table_of(model: EmbeddingModel, dimensions: int, dialect: str) -> sa.Table:
    """Return the table of a model's vectors."""
    return sa.Table(
        f"{TABLE}{model.name}_{dimensions}",
        sa.MetaData(),
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        sa.Column("ordinal", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("vector", _vector_type(dimensions, dialect), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"], [memories.c.user_id, memories.c.id], ondelete="CASCADE"
        ),
        info={"distance": model.distance, "dimensions": dimensions},
    )


def _vector_type(dimensions: int, dialect: str) -> Any:  # noqa: ANN401 - pgvector ships no types
    if dialect == "sqlite":
        return sa.LargeBinary()
    try:
        from pgvector.sqlalchemy import Vector as PgVector  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingDependencyError(
            "semantic search on PostgreSQL needs pgvector: pip install 'memory-context[vector]'"
        ) from error
    return PgVector(dimensions)


def ensure(connection: sa.Connection, table: sa.Table) -> None:
    """Create a model's table if there is none; on PostgreSQL with an HNSW index."""
    # Without the lock, two processes could create the table at once, and one of them would fail.
    advisory_lock(connection, LOCK)
    if sa.inspect(connection).has_table(table.name):
        return
    if is_postgresql(connection):
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    hash_partitioned_tables.create(connection, table)
    if is_postgresql(connection) and table.info["dimensions"] <= MAX_INDEXED:
        operators = {"vector": MEASURES[table.info["distance"]].operators}
        index = sa.Index(None, table.c.vector, postgresql_using="hnsw", postgresql_ops=operators)
        index.create(connection)
    noted = sa.insert(settings).values(name=SETTING + table.name, value="")
    connection.execute(noted)


def forget(connection: sa.Connection, user_id: str, doomed: MemoryIds) -> None:
    """Delete the vectors of the user's memories *doomed*, for every model."""
    for table in tables(connection):
        mine = sa.delete(table).filter_by(user_id=user_id)
        connection.execute(mine.where(table.c.memory_id.in_(doomed)))


def tables(connection: sa.Connection) -> list[sa.TableClause]:
    """Return the tables of all models, including those that this process does not use."""
    name = settings.c.name
    noted = sa.select(name).where(name.startswith(SETTING))
    memory_id = sa.column("memory_id", sa.Uuid)
    user_id = sa.column("user_id", sa.Text)
    return [
        sa.table(setting.removeprefix(SETTING), memory_id, user_id)
        for setting in connection.scalars(noted)
    ]


def missing(
    connection: sa.Connection, table: sa.Table, user_id: str, memory_id: UUID
) -> Sequence[AnyRow]:
    """Return ordinal, start and stop of the chunks of a memory that have no vector of this model."""
    chunks = sa.select(passages.c.ordinal, passages.c.start, passages.c.stop)
    mine = chunks.filter_by(user_id=user_id, memory_id=memory_id).order_by(passages.c.ordinal)
    return connection.execute(mine.where(_lacks(connection, table))).all()


def incomplete(connection: sa.Connection, table: sa.Table, user_id: str) -> list[UUID]:
    """Return the user's memories with chunks that have no vector of this model."""
    mine = sa.select(passages.c.memory_id).filter_by(user_id=user_id).distinct()
    return list(connection.scalars(mine.where(_lacks(connection, table))))


def _lacks(connection: sa.Connection, table: sa.Table) -> Condition:
    """Match chunks without a vector. If somebody dropped the table, that is all of them."""
    if not sa.inspect(connection).has_table(table.name):
        return sa.true()
    key = ("user_id", "memory_id", "ordinal")
    same = [table.c[name] == passages.c[name] for name in key]
    return ~sa.exists().where(*same)


def add(
    connection: sa.Connection,
    table: sa.Table,
    item: MemoryItem,
    ordinals: Sequence[int],
    vectors: Sequence[Vector],
    *,
    replacing: bool = False,
) -> None:
    """Store the vectors of a memory's chunks. If *replacing*, delete all of its other vectors first.

    Nothing is changed if the memory was deleted or changed meanwhile. Vectors that another process has stored first
    are kept.
    """
    unchanged = MEMORY_IDS.where(
        *this_memory(item.user_id, item.id),
        # The memory may have been rewritten while the embedder ran, outside any transaction.
        memories.c.content_hash == item.content_hash,
    )
    if connection.execute(unchanged).first() is None:
        return
    if replacing:
        mine = sa.delete(table).filter_by(user_id=item.user_id, memory_id=item.id)
        connection.execute(mine)
    if not ordinals:
        return
    rows = as_array(vectors, table.info["distance"])
    if len(rows) != len(ordinals):
        raise StoreError(f"the embedder returned {len(rows)} vectors for {len(ordinals)} texts")
    # SQLite would keep vectors of any length, and each search would fail on them.
    if rows.shape[1] != table.info["dimensions"]:
        raise StoreError(
            f"the embedder returned vectors with {rows.shape[1]} numbers each where there were "
            f"{table.info['dimensions']} before; another model has another embedding_model="
        )
    as_bytes = is_sqlite(connection)
    values = [
        {
            "memory_id": item.id,
            "ordinal": ordinal,
            "user_id": item.user_id,
            "vector": row.tobytes() if as_bytes else row,
        }
        for ordinal, row in zip(ordinals, rows, strict=True)
    ]
    connection.execute(insert_into(table).on_conflict_do_nothing(), values)


def nearest(
    connection: sa.Connection,
    table: sa.Table,
    user_id: str,
    query: NDArray[np.float32],
    inside: MemoryIds | None,
    limit: int,
) -> list[ChunkHit]:
    """Return the chunks whose vectors are most similar to *query*, the vector of a query, best first."""
    if not sa.inspect(connection).has_table(table.name):
        return []
    distance = table.info["distance"]
    mine = sa.select(table.c.memory_id, table.c.ordinal).filter_by(user_id=user_id)
    if inside is not None:
        mine = mine.where(table.c.memory_id.in_(inside))
    if is_sqlite(connection):
        found = connection.execute(mine.add_columns(table.c.vector)).all()
        similarities = _compared(found, query, distance, limit)
    else:
        # Without the iterative scan, the HNSW index would return the nearest 40 vectors of all users,
        # and filter them afterwards, which may leave too few of this user's.
        connection.exec_driver_sql("SET LOCAL hnsw.iterative_scan = strict_order")
        measure = MEASURES[distance]
        separation = getattr(table.c.vector, measure.distance)(query).label("apart")
        nearest_first = mine.add_columns(separation).order_by(separation)
        similarities = {}
        for memory_id, ordinal, apart in connection.execute(nearest_first.limit(limit)):
            similarities[memory_id, ordinal] = measure.most - apart
    columns = (passages.c.memory_id, passages.c.ordinal)
    places = sa.select(*columns, passages.c.start, passages.c.stop, passages.c.line)
    mine = places.filter_by(user_id=user_id)
    place_of: dict[tuple[UUID, int], tuple[int, int, int]] = {}
    for chunks in slices_of(list(similarities), ASKED_TOGETHER):
        for row in connection.execute(mine.where(sa.tuple_(*columns).in_(chunks))):
            place_of[row.memory_id, row.ordinal] = (row.start, row.stop, row.line)
    # A vector of a text that a caller chose may not belong to any chunk.
    return [
        ChunkHit(chunk[0], *place_of.get(chunk, (0, 0, 1)), similarity)
        for chunk, similarity in similarities.items()
    ]


def chance(
    connection: sa.Connection, table: sa.Table, user_id: str, vector: NDArray[np.float32]
) -> Chance:
    """Return how similar the user's chunks are to *vector* by chance, estimated from 1,000 of them."""
    chunks = count_rows(connection, table, user_id=user_id)
    vectors = sa.select(table.c.vector).filter_by(user_id=user_id)
    sampled = list(connection.scalars(vectors.limit(SAMPLE)))
    if is_sqlite(connection):
        numpy = load_numpy()
        sampled = [numpy.frombuffer(data, dtype=numpy.float32) for data in sampled]
    [query] = as_array([vector])
    cosines = as_array(sampled) @ query
    return Chance(float(cosines.mean()), float(cosines.std()), chunks)


def _compared(
    rows: Sequence[AnyRow], query: NDArray[np.float32], distance: Distance, limit: int
) -> Similarities:
    """Return the similarities of the nearest vectors. Each row has a memory, an ordinal and a vector."""
    if not rows:
        return {}
    numpy = load_numpy()
    # One array over the joined bytes is faster than an array for each row.
    numbers = numpy.frombuffer(b"".join(row.vector for row in rows), dtype=numpy.float32)
    matrix = numbers.reshape(len(rows), -1)
    if distance == "l2":
        deltas = matrix - query
        similarities = -numpy.sqrt(numpy.einsum("ij,ij->i", deltas, deltas))
    else:
        similarities = matrix @ query
    order = numpy.argsort(-similarities, kind="stable")
    best: list[int] = order[:limit].tolist()
    return {
        (rows[index].memory_id, rows[index].ordinal): float(similarities[index]) for index in best
    }
